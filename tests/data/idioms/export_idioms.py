"""Makes the small models beside it: `python export_idioms.py`, with PyTorch and onnxscript installed.

Each is a way to write that PyTorch code has, which an export bakes the batch into: assignments by index, numbers of
samples, places of the largest.  Both exporters write it, the newer one (dynamo) and the older one, which traces (ts),
with one sample and with two.  What PyTorch itself answers for five samples is in truth.npz.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch  # type: ignore[import-not-found, unused-ignore]
from torch import nn  # type: ignore[import-not-found, unused-ignore]

HERE = Path(__file__).parent
ROWS, IMAGE = (5, 6), (2, 4, 6)


def index_fill(x: Any) -> Any:
    return x.index_fill(1, torch.tensor([0, 3]), 2.0)


def index_put(x: Any) -> Any:
    y = x.clone()
    y[:, torch.tensor([1, 3])] = 7.0
    return y


def index_copy(x: Any) -> Any:
    return x.index_copy(1, torch.tensor([0, 2]), x[:, 3:5] * 2)


def last_put(x: Any) -> Any:
    y = x.clone()
    y[..., torch.tensor([0, 2])] = y[..., torch.tensor([1, 3])] * 2
    return y


def slice_put(x: Any) -> Any:
    y = x.clone()
    y[:, ::2] = x[:, ::2] + 1
    return y


def zeros_put(x: Any) -> Any:
    y = torch.zeros(x.shape[0], 7, 6)
    y[:, 1:6] = x
    return y


def rows_put(x: Any, z: Any) -> Any:
    y = x.clone()
    y[torch.arange(x.shape[0]), z[:, 0]] = x[:, 0] * 2
    return y


def end_of_text(x: Any, z: Any) -> Any:
    return x[torch.arange(x.shape[0]), (z.int() == 4).int().argmax(-1)]


def each_by_index(x: Any, z: Any) -> Any:
    return x[torch.arange(x.shape[0]).unsqueeze(1), z]


def stacked(x: Any) -> Any:
    return torch.stack([x[place] * 2 for place in range(x.shape[0])], 0)


def strided(x: Any) -> Any:
    n = x.shape[0]
    return x.reshape(-1).as_strided((n, 2, 4, 3), (30, 6, 6, 2)) * 2


def largest(x: Any) -> Any:
    _, places = nn.functional.max_pool2d(x, 2, return_indices=True)
    return x.flatten(2).gather(2, places.flatten(2))


def unpool(x: Any) -> Any:
    found, places = nn.functional.max_pool2d(x, 2, return_indices=True)
    return nn.functional.max_unpool2d(found, places, [2])


def mask_put(x: Any) -> Any:
    y = x.clone()
    y[x < 0] = 0.5
    return y


def reversed_samples(x: Any) -> Any:
    return x.flip(0)


IDIOMS: list[tuple[Callable[..., Any], tuple[int, ...], bool]] = [
    *((each, ROWS, False) for each in (index_fill, index_put, index_copy, last_put, slice_put, zeros_put)),
    *((each, ROWS, True) for each in (rows_put, end_of_text, each_by_index)),
    *((each, ROWS, False) for each in (stacked, strided, mask_put, reversed_samples)),
    *((each, IMAGE, False) for each in (largest, unpool)),
]
"""The function, the dims of a sample of x, and whether there are numbers z beside it."""


class Idiom(nn.Module):  # type: ignore[misc, unused-ignore]
    """One of them as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: Any) -> Any:
        return self.function(*given)


def export() -> None:
    """Writes every model by both exporters, and the truth."""
    truth: dict[str, Any] = {}
    for function, dims, numbers in IDIOMS:
        name, module, draw = function.__name__, Idiom(function).eval(), torch.Generator().manual_seed(1)
        many = [torch.randn((5, *dims), generator=draw)]
        many += [torch.randint(0, 5, (5, 3), generator=draw)] if numbers else []
        for called, array in zip("xzy", [*many, *(() if numbers else (None,)), module(*many)], strict=True):
            if array is not None:
                truth[f"{name}.{called}"] = array.numpy()
        for size in (1, 2):
            for exporter in ("ts", "dynamo"):
                path = HERE / f"{name}.{exporter}.{size}.onnx"
                named: dict[str, Any] = {"input_names": ["x", "z"][: len(many)], "output_names": ["y"]}
                with suppress(Exception):  # not every exporter can write all of them
                    torch.onnx.export(
                        module, tuple(each[:size] for each in many), str(path), dynamo=exporter == "dynamo",
                        opset_version=18, external_data=False, **named,
                    )  # fmt: skip
                    _bare(path)
    np.savez_compressed(HERE / "truth.npz", **truth)


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
