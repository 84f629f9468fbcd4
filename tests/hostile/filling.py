"""Operators that make tensors out of sizes, and sizes out of tensors."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import numpy_helper

from tests.hostile.makers import makes
from tests.hostile.sizes import Hint, scalar, shape_of, vector
from tests.hostile.sketch import Misfit, Sketch, Value


@makes("Shape", weight=1.5)
def shape(g: Sketch, _: str) -> None:
    """The sizes as data: an output, or a factor."""
    value = g.pick("f", 1)
    name = shape_of(g, value)
    sizes = Value(name, g.arrays[name])
    if g.dice.chance(0.3):
        g.keep(sizes)
        return
    size = g.op("Cast", g.op("Gather", sizes, g.const(g.axis(value, 0.3), np.int64), axis=0), to=1)
    factor = g.pick("f")
    if factor.array.dtype != np.float32:
        raise Misfit
    g.keep(g.op(g.dice.pick(["Mul", "Add"]), factor, size, batch=factor.batch))


@makes("Size", weight=0.8)
def size(g: Sketch, op: str) -> None:
    value = g.pick("f")
    count = g.op("Cast", g.op(op, value), to=1)
    if g.dice.chance(0.3) or value.array.dtype != np.float32:
        g.keep(count)
        return
    g.keep(g.op("Mul", value, count, batch=value.batch))


@makes("ConstantOfShape:9", weight=1.5)
def filled(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    dims = [
        size if axis == value.batch or g.dice.chance(0.6) else g.dice.number(1, 3)
        for axis, size in enumerate(value.dims)
    ]
    hints: list[Hint] = [(value, axis) if size == value.dims[axis] else None for axis, size in enumerate(dims)]
    fill = g.dice.pick([None, numpy_helper.from_array(np.array([2], np.float32))])
    made = g.op(op, vector(g, dims, hints), batch=value.batch, value=fill)
    if made.dims == value.dims and made.array.dtype == value.array.dtype and g.dice.chance(0.5):
        made = g.op("Add", made, value, batch=value.batch)
    g.keep(made)


@makes("Range:11", weight=1.5)
def counted(g: Sketch, op: str) -> None:
    """0, 1, 2 .. up to a dim, as positions of elements or of samples."""
    value = g.pick("f", 1)
    axis = g.axis(value, 0.35)
    limit = scalar(g, value.dims[axis], (value, axis))
    start, step = g.const(g.dice.pick([0, 0, 0, -1]), np.int64), g.const(1, np.int64)
    numbers = g.op(op, start, limit, step, batch=0 if axis == value.batch else None)
    g.keep(numbers)
    if g.dice.chance(0.5) and value.array.dtype == np.float32:
        factors = g.op("Cast", numbers, to=1)
        shape_ = [-1 if place == axis else 1 for place in range(value.rank)]
        factors = g.op("Reshape", factors, g.const(shape_[axis:], np.int64))
        if factors.array.size == value.dims[axis]:
            g.keep(g.op("Mul", value, factors, batch=value.batch))


@makes("EyeLike:9", weight=1)
def eye(g: Sketch, op: str) -> None:
    value = g.pick("f", 2, 2)
    g.keep(g.op(op, value, k=g.dice.number(-1, 1)))


@makes("CenterCropPad:18", weight=0.4)
def cropped(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axes = g.axes(value)
    sizes = [g.dice.number(1, 4) for _ in axes]
    g.keep(g.op(op, value, vector(g, sizes), batch=value.batch, axes=axes))


@makes("ReverseSequence:10", weight=0.5)
def reversed_(g: Sketch, op: str) -> None:
    value = g.pick("f", 2)
    batch = value.batch if value.batch in {0, 1} else g.dice.number(0, 1)
    longest, count = value.dims[1 - batch], value.dims[batch]
    if not longest or not prod(value.dims):
        raise Misfit
    if g.dice.chance(0.4):
        lengths = vector(g, [g.dice.number(1, longest)] * count)
    else:
        home = 0 if batch == value.batch else None
        lengths = g.given(np.full(count, longest, np.int64), home, low=1, high=longest).name
    g.keep(g.op(op, value, lengths, batch=value.batch, batch_axis=batch, time_axis=1 - batch))
