"""Cases for operators that ONNX tried before opset 10, in the opsets in which onnxruntime runs them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle
from typing import Any

from tests.laws.batching_pointwise import IMAGES, PLACES
from tests.laws.batching_sketch import Sketch

_UNARY: dict[str, dict[str, Any]] = {
    "Affine": {"alpha": 2.0, "beta": 1.0},
    "ParametricSoftplus": {"alpha": 2.0, "beta": 0.5},
    "Scale": {"scale": 3.0},
    "ScaledTanh": {"alpha": 2.0, "beta": 0.5},
}


def experimental() -> Iterator[Sketch]:
    turn = cycle((7, 8, 9))
    for dims, axis, outer, inner, size in PLACES:
        for op, attributes in _UNARY.items():
            s = Sketch(op, next(turn), size)
            yield s.out(s.op(op, s.x(dims, axis, outer, inner), **attributes))
        for along in range(len(dims)):
            for listed in (True, False):
                axes = [along] if listed else list(range(along + 1))
                s = Sketch("DynamicSlice", next(turn), size, free=axis not in axes)
                x = s.x(dims, axis, outer, inner)
                bounds = [s.ints(*(0 for _ in axes)), s.ints(*(max(1, dims[each] - 1) for each in axes))]
                yield s.out(s.op("DynamicSlice", x, *bounds, *([s.ints(*axes)] if listed else [])))
    for dims, axis, outer, inner, size in IMAGES:
        if len(dims) != 4:
            continue
        s = Sketch("ImageScaler", next(turn), size, free=axis != 1)
        x = s.x(dims, axis, outer, inner)
        yield s.out(s.op("ImageScaler", x, scale=2.0, bias=[0.5 * channel for channel in range(dims[1])]))
        for scale in (None, [1, 1]):
            s = Sketch("Crop", next(turn), size, free=axis < 2)
            x = s.x(dims, axis, outer, inner)
            border = [0, 0, int(dims[3] > 1), int(dims[2] > 1)]
            yield s.out(s.op("Crop", x, border=border, scale=scale))
    for axis, bias in ((0, 3), (2, 3), (3, 3)):
        s = Sketch("ImageScaler", next(turn))
        wide = [2, bias, 4, 4]
        wide[axis] = 1
        yield s.out(s.op("ImageScaler", s.x(wide, axis), scale=0.5, bias=[1.0, 2.0, 3.0]))
