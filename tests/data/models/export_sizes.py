"""Makes the pairs of small models beside it: `python export_sizes.py`, with PyTorch (and onnxscript) installed.

Each module is exported at two sizes with the same weights, so that one file can tell what the other, with its size
freed, must answer.  `NAME.ts.8.onnx` was exported at size 8 by the older exporter, `NAME.dynamo.8.onnx` by the newer.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import onnx
import torch  # type: ignore[import-not-found, unused-ignore]
from torch import nn  # type: ignore[import-not-found, unused-ignore]

HERE = Path(__file__).parent
WIDTH, HEADS, WORDS, LONGEST = 8, 2, 20, 24


class Block(nn.Module):  # type: ignore[misc, unused-ignore]
    """One layer of a transformer, with a mask that is added or none."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Any, mask: Any = None) -> Any:
        batch, sequence, width = x.shape
        query, key, value = (
            part.view(batch, sequence, HEADS, width // HEADS).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = query @ key.transpose(-2, -1) * 0.5
        weights = (scores if mask is None else scores + mask).softmax(dim=-1)
        return self.norm(x + self.out((weights @ value).transpose(1, 2).reshape(batch, sequence, width)))


class Encoder(nn.Module):  # type: ignore[misc, unused-ignore]
    """Words without positions."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.layers = nn.Embedding(WORDS, WIDTH), nn.ModuleList(Block() for _ in range(2))

    def forward(self, ids: Any) -> Any:
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x)
        return x


class Positions(Encoder):
    """Words with learned positions, of which there are more than the sequence has words, and padding."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Embedding(LONGEST, WIDTH)
        self.register_buffer("order", torch.arange(LONGEST)[None])

    def forward(self, ids: Any, mask: Any = None) -> Any:
        length = ids.shape[1]
        x = self.words(ids) + self.places(self.order[:, :length])  # type: ignore[index]
        padding = (1.0 - mask[:, None, None, :].expand(ids.shape[0], 1, length, length).float()) * -1e4
        for layer in self.layers:
            x = layer(x, padding)
        return x[:, 0]


class Decoder(Encoder):
    """Words that see only those before them."""

    def forward(self, ids: Any) -> Any:
        length = ids.shape[1]
        mask = torch.full((length, length), -1e4).triu(1)[None, None]
        x = self.words(ids)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class Table(Encoder):
    """Words with one learned vector for each place of the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(1, 8, WIDTH))

    def forward(self, ids: Any) -> Any:
        return self.layers[0](self.words(ids) + self.table)


class Convolutions(nn.Module):  # type: ignore[misc, unused-ignore]
    """An image, a mean over all of it, and a few numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 6, 3, 2, 1)
        self.norm, self.head = nn.GroupNorm(2, 4), nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        x = self.second(self.norm(self.first(x)).relu()).relu()
        return self.head(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Unet(nn.Module):  # type: ignore[misc, unused-ignore]
    """Down twice and up again, joined with what was there before; once by a size, once by a transposed convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 4, 3, 2, 1)
        self.up, self.last = nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(7, 2, 1)

    def forward(self, x: Any) -> Any:
        half = self.down(x).relu()
        deep = self.deep(half).relu()
        wide = nn.functional.interpolate(deep, size=half.shape[2:], mode="nearest")
        return self.last(torch.cat([self.up(torch.cat([wide, half], 1)), x], 1))


class Windows(nn.Module):  # type: ignore[misc, unused-ignore]
    """Attention within windows of 4 by 4, with a learned bias for each pair of places in a window."""

    def __init__(self) -> None:
        super().__init__()
        self.into, self.layer = nn.Conv2d(3, WIDTH, 1), Block()
        self.bias = nn.Parameter(torch.randn(1, HEADS, 16, 16))

    def forward(self, x: Any) -> Any:
        x = self.into(x)
        batch, width, high, wide = x.shape
        x = x.view(batch, width, high // 4, 4, wide // 4, 4).permute(0, 2, 4, 3, 5, 1).reshape(-1, 16, width)
        x = self.layer(x, self.bias)
        x = x.view(batch, high // 4, wide // 4, 4, 4, width).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(batch, width, high, wide)


def words(size: int) -> tuple[Any, ...]:
    return (torch.zeros(1, size, dtype=torch.int64),)


def words_and_mask(size: int) -> tuple[Any, ...]:
    return (*words(size), torch.ones(1, size, dtype=torch.int64))


def image(size: int) -> tuple[Any, ...]:
    return (torch.zeros(1, 3, size, size + 8),)


CASES: list[tuple[str, type[Any], Any, tuple[int, int], tuple[str, ...]]] = [
    ("encoder", Encoder, words, (8, 13), ("ts", "dynamo")),
    ("positions", Positions, words_and_mask, (8, 13), ("ts",)),
    ("decoder", Decoder, words, (8, 13), ("ts", "dynamo")),
    ("table", Table, words, (8, 8), ("ts",)),
    ("convolutions", Convolutions, image, (16, 27), ("ts",)),
    ("unet", Unet, image, (16, 24), ("ts", "dynamo")),
    ("windows", Windows, image, (16, 24), ("ts",)),
]


def main() -> None:
    warnings.simplefilter("ignore")
    for name, module, inputs, sizes, exporters in CASES:
        torch.manual_seed(0)
        model = module().eval()
        for exporter in exporters:
            for size in dict.fromkeys(sizes):
                path = HERE / f"{name}.{exporter}.{size}.onnx"
                given = inputs(size)
                names = ["x", "mask"][: len(given)]
                options: Any = (
                    {"opset_version": 18, "dynamo": True, "verbose": False}
                    if exporter == "dynamo"
                    else {"opset_version": 17, "dynamo": False}
                )
                torch.onnx.export(model, given, str(path), input_names=names, output_names=["y"], **options)
                slim = onnx.load(path)
                del slim.graph.value_info[:]
                slim.doc_string = ""
                for node in slim.graph.node:
                    node.doc_string = ""
                    del node.metadata_props[:]
                for value in (*slim.graph.input, *slim.graph.output):
                    del value.metadata_props[:]
                onnx.save(slim, path)
                path.with_suffix(".onnx.data").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
