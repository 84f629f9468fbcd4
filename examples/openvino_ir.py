"""An OpenVINO IR of a fixed batch, repaired and compiled.  Needs the extra `openvino`.

Writes fixed.xml and dynamic.xml, each with its .bin, into the working folder.
"""

from __future__ import annotations

import numpy as np
import openvino as ov
from openvino import opset13 as ops

import onereshape as orx

# --8<-- [start:build]
x = ops.parameter([1, 4, 6], np.float32, name="x")
heads = ops.reshape(x, np.array([1, 4, 2, 3]), special_zero=False)  # the batch: 1
turned = ops.transpose(heads, np.array([0, 2, 1, 3]))
merged = ops.reshape(turned, np.array([1, 2, -1]), special_zero=False)  # and here
model = ov.Model([merged], [x], "heads")
ov.save_model(model, "fixed.xml", compress_to_fp16=False)
# --8<-- [end:build]

# --8<-- [start:fix]
for finding in orx.check(model, batch=True):
    print(f"{finding.node}: {finding.message}")
fixed = orx.fix(model, batch=True)  # or orx.fix("fixed.xml", batch=True)
print(fixed.certificate.status, "-", fixed.certificate.reason)
orx.save(fixed.model, "dynamic.xml")
# --8<-- [end:fix]

# --8<-- [start:run]
compiled = ov.Core().compile_model(fixed.model.openvino(), "CPU")
print("batch 5:", compiled(np.zeros((5, 4, 6), np.float32))[0].shape)
# --8<-- [end:run]
