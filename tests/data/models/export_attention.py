"""Makes the small attention models beside it: `python export_attention.py`, with PyTorch and onnxscript installed.

Each is exported with a dynamic batch and sequence by both of PyTorch's exporters: the newer one (dynamo) and the older
one, which traces (ts).
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import onnx
import torch  # type: ignore[import-not-found, unused-ignore]
from torch import nn  # type: ignore[import-not-found, unused-ignore]

HERE = Path(__file__).parent
WIDTH, HEADS = 16, 4


class FusedHeads(nn.Module):  # type: ignore[misc, unused-ignore]
    """Many heads: one projection for query, key and value, then a permutation that splits them."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        batch, sequence, width = x.shape
        qkv = self.qkv(x).reshape(batch, sequence, 3, HEADS, width // HEADS).permute(2, 0, 3, 1, 4)
        query, key, value = qkv[0], qkv[1], qkv[2]
        weights = (query @ key.transpose(-2, -1) * (width // HEADS) ** -0.5).softmax(dim=-1)
        return self.out((weights @ value).transpose(1, 2).reshape(batch, sequence, width))


class SplitHeads(nn.Module):  # type: ignore[misc, unused-ignore]
    """Many heads: three projections, heads split by `view` with an inferred batch."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, WIDTH)

    def split(self, x: Any) -> Any:
        return x.view(x.size(0), -1, HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x: Any) -> Any:
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        weights = (query @ key.transpose(-2, -1)).softmax(dim=-1)
        mixed = (weights @ value).transpose(1, 2).contiguous()
        return self.out(mixed.view((*mixed.size()[:-2], WIDTH)))


class MergedHeads(nn.Module):  # type: ignore[misc, unused-ignore]
    """Heads merged into the batch, as in torch's own layer before fusion: [N*heads, S, width/heads]."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Any) -> Any:
        batch, sequence, width = x.shape
        query, key, value = (
            part.reshape(batch, sequence, HEADS, width // HEADS).transpose(1, 2).flatten(0, 1)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        mixed = torch.bmm(torch.bmm(query, key.transpose(1, 2)).softmax(dim=-1), value)
        mixed = mixed.reshape(batch, HEADS, sequence, width // HEADS).transpose(1, 2)
        return self.out(mixed.reshape(batch * sequence, width)).reshape(batch, sequence, width)


class OneHead(nn.Module):  # type: ignore[misc, unused-ignore]
    """One head over the pixels of an image: rows and columns become the sequence and come back."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Conv2d(WIDTH, WIDTH, 1) for _ in range(3))

    def forward(self, x: Any) -> Any:
        batch, width, rows, columns = x.shape
        query, key, value = (
            part(x).reshape(batch, width, rows * columns) for part in (self.query, self.key, self.value)
        )
        weights = torch.bmm(query.transpose(1, 2), key).softmax(dim=-1)
        return x + torch.bmm(value, weights.transpose(1, 2)).reshape(batch, width, rows, columns)


MODELS: dict[str, tuple[Any, tuple[int, ...], dict[int, str]]] = {
    "fused": (FusedHeads, (2, 5, WIDTH), {0: "batch", 1: "sequence"}),
    "split": (SplitHeads, (2, 5, WIDTH), {0: "batch", 1: "sequence"}),
    "merged": (MergedHeads, (2, 5, WIDTH), {0: "batch", 1: "sequence"}),
    "image": (OneHead, (2, WIDTH, 3, 4), {0: "batch", 2: "rows", 3: "columns"}),
}


def export() -> None:
    """Writes every model by both exporters."""
    for name, (kind, dims, names) in MODELS.items():
        torch.manual_seed(0)
        module, x = kind().eval(), torch.randn(dims)
        dynamic = {axis: torch.export.Dim(called) for axis, called in names.items()}
        file = str(HERE / f"attention_{name}.dynamo.onnx")
        torch.onnx.export(
            module, (x,), file, input_names=["x"], output_names=["y"], dynamic_shapes=(dynamic,), dynamo=True,
            external_data=False,
        )  # fmt: skip
        file = str(HERE / f"attention_{name}.ts.onnx")
        torch.onnx.export(
            module, (x,), file, input_names=["x"], output_names=["y"], dynamic_axes={"x": names}, dynamo=False,
            opset_version=17,
        )  # fmt: skip
    for path in HERE.glob("attention_*.onnx"):
        _bare(path)


def _bare(path: Path) -> None:
    """Takes out what tells of the machine that exported it."""
    proto = onnx.load(path)
    for message in (proto, proto.graph, *proto.graph.node, *proto.graph.value_info, *proto.graph.output):
        message.ClearField("metadata_props")
        message.ClearField("doc_string")
    onnx.save(proto, path)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    export()
