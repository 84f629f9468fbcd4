"""One Reshape, in several dialects, on arrays of several libraries.  Needs numpy; torch only for its part."""

from __future__ import annotations

import numpy as np
import torch

import onereshape as orx

# --8<-- [start:rules]
print(orx.resolve([2, 3, 4], [0, -1], "onnx"))  # a 0 copies, a -1 is what is left
print(orx.infer(["N", "S", 768], [0, 0, 12, -1], "onnx"))  # dims that are not known yet

# The same integers, two meanings.
for spec, flags in [("onnx", {}), ("openvino", {"special_zero": True})]:
    try:
        print(spec, orx.resolve([0, 3], [0, -1], spec, **flags))
    except orx.ReshapeError as refusal:
        print(spec, "refuses:", refusal.sentence)
# --8<-- [end:rules]

# --8<-- [start:arrays]
x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
y = orx.reshape(x, [0, -1], "onnx")
print(y.shape, "a view:", np.shares_memory(x, y))
z = orx.reshape(x.transpose(0, 2, 1), [0, -1], "onnx")  # no view can say this
print(z.shape, "a view:", np.shares_memory(x, z))
# --8<-- [end:arrays]

# --8<-- [start:operator]
op = orx.Reshape("onednn-static", shape=(0, -1), special_zero=True)
print(op(x).shape, op(torch.from_numpy(x)).shape)
# --8<-- [end:operator]

# --8<-- [start:translate]
print(orx.translate(orx.Reshape("onnx-24", allowzero=1), "openvino", target=[0, 4]))
# --8<-- [end:translate]
