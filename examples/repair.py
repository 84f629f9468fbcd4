"""Export a model at batch 1, see why it fails at batch 4, repair it, and run it at batch 4.

Needs torch and onnxscript (for the export) and onnxruntime.  Writes exported.onnx and dynamic.onnx.
"""

from __future__ import annotations

import numpy as np
import onnxruntime
import torch

import onereshape as orx


# --8<-- [start:model]
class Attention(torch.nn.Module):
    """Self-attention with two heads."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Linear(16, 48)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.project(x).view(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2), dim=-1)
        return (weights @ v).transpose(1, 2).reshape(batch, length, 16)
        # --8<-- [end:model]


# --8<-- [start:export]
net, example = Attention().eval(), torch.randn(1, 10, 16)
program = torch.onnx.export(net, (example,), input_names=["x"], dynamo=True)
program.save("exported.onnx")
# --8<-- [end:export]

# --8<-- [start:check]
for finding in orx.check("exported.onnx", batch=True):
    print(f"{finding.node}: {finding.code}: {finding.message}")
# --8<-- [end:check]

# --8<-- [start:fix]
fixed = orx.fix("exported.onnx", batch=True)  # or orx.fix(program, batch=True)
for change in fixed.changes:
    print(f"{change.node}: {change.before} -> {change.after}")
print(fixed.certificate.status, "-", fixed.certificate.reason)
fixed.model.save("dynamic.onnx")
# --8<-- [end:fix]

# --8<-- [start:run]
four = np.random.default_rng(0).standard_normal((4, 10, 16), np.float32)
session = onnxruntime.InferenceSession("dynamic.onnx")
together = session.run(None, {"x": four})[0]
alone = [session.run(None, {"x": one[None]})[0] for one in four]
print("batch 4 differs from one at a time by", np.abs(together - np.concatenate(alone)).max())
# --8<-- [end:run]
