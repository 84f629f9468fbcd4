"""Modules whose numbers come from a size, exported at that size, each with its truth at every size in NumPy.

An export holds the number and not where it came from, so that a model freed from one export runs at other sizes and
answers wrongly there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from tests.models import model

Array = np.ndarray[Any, Any]
SEQUENCE = {"x": {1: "S"}}
PICTURE = {"x": {2: "H", 3: "W"}}


@dataclass(frozen=True, slots=True)
class Module:
    """A module: its export at a size (for all freed dims), and what it means at any."""

    freed: dict[str, dict[int, str]]
    body: str
    """HALF stands for half of the size."""
    constants: Callable[[int], dict[str, Array]]
    truth: Callable[[Array], Array]
    """Of dims that the freed ones, when they are equal, give any size."""

    def exported(self, size: int) -> onnx.ModelProto:
        """The export at a size."""
        return self._made([size] * len(self.freed["x"]), size)

    def renamed(self, size: int) -> onnx.ModelProto:
        """The worst repair: the dims have names, and all numbers stay those of an export."""
        return self._made([*self.freed["x"].values()], size)

    def drawn(self, size: int) -> Array:
        """A value of the input."""
        dims = [1, size, 4] if self.freed is SEQUENCE else [1, 2, size, size]
        return np.random.default_rng(size).standard_normal(dims).astype(np.float32)

    def _made(self, dims: list[Any], size: int) -> onnx.ModelProto:
        shape = [1, *dims, 4] if self.freed is SEQUENCE else [1, 2, *dims]
        body = self.body.replace("HALF", str(size // 2))
        proto = model(f"g (float[{', '.join(map(str, shape))}] x) => (float[a] y) {{ {body} }}")
        proto.graph.output[0].type.tensor_type.ClearField("shape")
        proto.graph.initializer.extend(
            numpy_helper.from_array(array, name) for name, array in self.constants(size).items()
        )
        return proto


def number(value: float) -> Array:
    return np.array(value, np.float32)


def numbers(*values: int) -> Array:
    return np.array(values, np.int64)


def two_bins(x: Array) -> Array:
    """Adaptive pooling: bin i of n is [floor(i*s/n), ceil((i+1)*s/n))."""
    for axis in (2, 3):
        size = x.shape[axis]
        bins = (range(place * size // 2, -(-(place + 1) * size // 2)) for place in range(2))
        x = np.stack([x.take(bin_, axis).mean(axis) for bin_ in bins], axis)
    return x


MODULES = {
    "unbiased variance": Module(
        SEQUENCE,
        "m = ReduceMean <keepdims = 1> (x, axes) d = Sub(x, m) q = Mul(d, d) s = ReduceSum <keepdims = 1> (q, axes) "
        "y = Div(s, less)",
        lambda size: {"axes": numbers(1), "less": number(size - 1)},
        lambda x: x.var(1, ddof=1, keepdims=True),
    ),
    "a sum over H*W": Module(
        PICTURE,
        "s = ReduceSum <keepdims = 0> (x, axes) y = Mul(s, part)",
        lambda size: {"axes": numbers(2, 3), "part": number(1 / size**2)},
        lambda x: x.mean((2, 3)),
    ),
    "x over the root of S": Module(
        SEQUENCE,
        "y = Div(x, root)",
        lambda size: {"root": number(size**0.5)},
        lambda x: x / np.float32(x.shape[1] ** 0.5),
    ),
    "a roll by half": Module(
        SEQUENCE,
        "a = Slice(x, from, end, axes) b = Slice(x, zero, from, axes) y = Concat <axis = 1> (a, b)",
        lambda size: {
            "from": numbers(size - size // 2),
            "zero": numbers(0),
            "end": numbers(2**63 - 1),
            "axes": numbers(1),
        },
        lambda x: np.roll(x, x.shape[1] // 2, 1),
    ),
    "pooling to two bins": Module(
        PICTURE,
        "y = AveragePool <kernel_shape = [HALF, HALF], strides = [HALF, HALF]> (x)",
        lambda _: {},
        two_bins,
    ),
    "interpolation to 12": Module(
        PICTURE,
        'y = Resize <mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> '
        "(x, , , sizes)",
        lambda _: {"sizes": numbers(1, 2, 12, 12)},
        lambda x: x.take(np.arange(12) * x.shape[2] // 12, 2).take(np.arange(12) * x.shape[3] // 12, 3),
    ),
    "windows of three": Module(
        SEQUENCE,
        "y = Gather <axis = 1> (x, places)",
        lambda size: {"places": np.arange(size - 2)[:, None] + np.arange(3)},
        lambda x: np.moveaxis(np.lib.stride_tricks.sliding_window_view(x, 3, 1), -1, 2),
    ),
    "a grid of its own places": Module(
        PICTURE,
        "y = GridSample <align_corners = 1> (x, grid)",
        lambda size: {
            "grid": np.stack(np.meshgrid(*[np.linspace(-1, 1, size, dtype=np.float32)] * 2), -1)[None],
        },
        lambda x: x,
    ),
}
