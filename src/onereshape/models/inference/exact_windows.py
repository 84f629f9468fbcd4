"""Shape rules of our own for windows that slide over data, and for data that are resized."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import onnx_ir as ir
import sympy  # type: ignore[import-untyped]

from onereshape.models.inference.asked import Asked, axis_of
from onereshape.models.inference.formulas import TheirDim, ceil_div

_FLOAT_EXACT = 2**24
"""Integers that a 32-bit float holds exactly."""
_CROP = "tf_crop_and_resize"


def pool(asked: Asked) -> None:
    """A window that begins beyond the data, in the padding at the end, is none."""
    dims = asked.dims()
    kernel = asked.attribute("kernel_shape")
    outputs = range(len(asked.node.outputs))
    types = [None, ir.DataType.INT64]
    if dims is None or kernel is None or len(kernel) != len(dims) - 2:
        for output in outputs:
            asked.say(None, output, types[output])
        return
    rank = len(kernel)
    strides = asked.attribute("strides") or [1] * rank
    dilations = asked.attribute("dilations") or [1] * rank
    pads = asked.attribute("pads") or [0] * (2 * rank)
    mode = asked.attribute("auto_pad", "NOTSET")
    ceil = bool(asked.attribute("ceil_mode", 0))
    found: list[TheirDim] = []
    for axis in range(rank):
        span = dilations[axis] * (kernel[axis] - 1) + 1
        size = asked.formulas.expr(dims[axis + 2])
        if mode in {"SAME_UPPER", "SAME_LOWER"}:  # with dilations onnxruntime pads by less than the specification
            same = asked.formulas.dim(ceil_div(size, strides[axis]))
            found.append(same if dilations[axis] == 1 else asked.new())
            continue
        begin, end = (0, 0) if mode == "VALID" else (pads[axis], pads[axis + rank])
        room = size + begin + end - span
        if ceil:
            windows = sympy.Min(ceil_div(room, strides[axis]) + 1, ceil_div(size + begin, strides[axis]))
        else:
            windows = sympy.floor(room / strides[axis]) + 1
        found.append(asked.formulas.dim(windows))
    for output in outputs:
        asked.say([*dims[:2], *found], output, types[output])


def resize(asked: Asked) -> None:
    """By sizes as they are given; by scales where floats cannot round another way."""
    dims = asked.dims()
    if dims is None:
        return asked.say(None)
    opset = asked.context.opset
    axes = asked.attribute("axes")
    places = list(range(len(dims))) if axes is None else [axis_of(axis, len(dims)) for axis in axes]
    scales = asked.attribute("scales") if opset < 9 else asked.floats(1 if opset in {9, 10} else 2)
    sizes = asked.context.get_symbolic_value(asked.node.inputs[3]) if asked.has(3) else None
    policy = asked.attribute("keep_aspect_ratio_policy", "stretch")
    if scales and len(scales) == len(places) and asked.attribute("coordinate_transformation_mode") != _CROP:
        for axis, scale in zip(places, scales, strict=True):
            dims[axis] = _scaled(asked, dims[axis], scale)
    elif not scales and sizes and len(sizes) == len(places):
        chosen = sizes if policy == "stretch" else _kept(policy, [dims[axis] for axis in places], sizes)
        for axis, size in zip(places, chosen, strict=True):
            dims[axis] = asked.new() if size is None else size
    else:
        for axis in places:
            dims[axis] = asked.new()
    return asked.say(dims)


def _scaled(asked: Asked, dim: TheirDim, scale: Any) -> TheirDim:
    """The floor of a dim times a scale, which engines calculate in 32-bit floats."""
    exact = Fraction(float(scale))
    if isinstance(dim, int):
        floored = exact * dim // 1
        rounded = int(np.float32(scale) * np.float32(dim))
        return rounded if rounded == floored else asked.new()
    if exact.denominator > 64 or exact.numerator >= _FLOAT_EXACT:
        return asked.new()
    size = asked.formulas.expr(dim)
    return asked.formulas.dim(sympy.floor(size * exact.numerator / exact.denominator))


def _kept(policy: str, dims: Sequence[TheirDim], sizes: Sequence[TheirDim]) -> list[int | None]:
    """The sizes that keep the aspect ratio: all dims by one scale, rounded; a half may go either way."""
    numbers = [
        (dim, size) for dim, size in zip(dims, sizes, strict=True) if isinstance(dim, int) and isinstance(size, int)
    ]
    if len(numbers) < len(dims) or any(dim == 0 for dim, _ in numbers):
        return [None] * len(dims)
    ratios = [Fraction(size, dim) for dim, size in numbers]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [None if (scale * dim) % 1 == Fraction(1, 2) else round(scale * dim) for dim, _ in numbers]
