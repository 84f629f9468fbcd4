"""The batch freed inside an export pipeline, by a pass of onnx_ir.  Needs torch, onnxscript and onnxruntime.

Writes dynamic.onnx into the working folder.
"""

from __future__ import annotations

import onnx_ir
import torch

from onereshape.passes import FreeBatch

net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.Flatten()).eval()
example = torch.zeros(1, 3, 8, 8)

# --8<-- [start:pass]
program = torch.onnx.export(net, (example,), dynamo=True)
free = FreeBatch()
onnx_ir.passes.Sequential(free)(program.model)
print(free.fixed.certificate.status)
program.save("dynamic.onnx")
# --8<-- [end:pass]
