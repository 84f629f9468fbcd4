"""Random uses of sizes that a model computes: wherever an operator takes a number, it may be one that depends on N."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from tests.laws.batching_dice import MOST, Tensor, World, changed
from tests.laws.batching_sketch import INT

Number = tuple[str, int]
"""A vector of one element, and what it is in the original."""


def size(w: World) -> Number:
    """A dim, or what is computed from dims."""
    x = w.pick(1)
    axis = w.axis(x)
    name, value = w.sketch.dim(x.name, axis), x.dims[axis]
    for _ in range(w.rng.choice((0, 0, 1, 2))):
        name, value = w.rng.choice(STEPS)(w, (name, value))
    return name, value


def _scaled(w: World, number: Number) -> Number:
    factor = w.rng.choice((1, 2, 3))
    return w.sketch.op("Mul", number[0], w.sketch.ints(factor)), number[1] * factor


def _more(w: World, number: Number) -> Number:
    return w.sketch.op("Add", number[0], w.sketch.ints(1)), number[1] + 1


def _less(w: World, number: Number) -> Number:
    return w.sketch.op("Sub", number[0], w.sketch.ints(1)), number[1] - 1


def _divided(w: World, number: Number) -> Number:
    return w.sketch.op("Div", number[0], w.sketch.ints(2)), number[1] // 2


def _at_most(w: World, number: Number) -> Number:
    return w.sketch.op("Min", number[0], w.sketch.ints(2)), min(number[1], 2)


def _chosen(w: World, number: Number) -> Number:
    same = w.sketch.op("Equal", number[0], w.sketch.ints(w.size))
    return w.sketch.op("Where", same, number[0], w.sketch.ints(2)), number[1] if number[1] == w.size else 2


def _times_another(w: World, number: Number) -> Number:
    other = w.pick(1)
    return w.sketch.op("Mul", number[0], w.sketch.dim(other.name, 0)), number[1] * other.dims[0]


def _cast(w: World, number: Number) -> Number:
    there = w.sketch.op("Cast", number[0], to=w.rng.choice((1, 6)))
    return w.sketch.op("Cast", there, to=7), number[1]


STEPS: list[Callable[[World, Number], Number]] = [
    *(_scaled, _scaled, _more, _less, _divided, _at_most, _chosen, _times_another, _cast)
]


def _relu(w: World, x: Tensor) -> Tensor:
    return w.op("Relu", x.dims, x.name)


def cut(w: World) -> Tensor:
    x, (end, value) = w.pick(1), size(w)
    axis = w.axis(x)
    if value < 1:
        return _relu(w, x)
    given = (w.sketch.ints(0), end, w.sketch.ints(axis))
    return w.op("Slice", changed(x.dims, axis, min(value, x.dims[axis])), x.name, *given)


def cut_from(w: World) -> Tensor:
    x, (start, value) = w.pick(1), size(w)
    axis = w.axis(x)
    if not 0 <= value < x.dims[axis]:
        return _relu(w, x)
    given = (start, w.sketch.ints(2**63 - 1), w.sketch.ints(axis))
    return w.op("Slice", changed(x.dims, axis, x.dims[axis] - value), x.name, *given)


def grown(w: World) -> Tensor:
    x, (entry, value) = w.pick(1), size(w)
    axis = w.axis(x)
    if value < 1 or x.dims[axis] not in (1, value):
        return _relu(w, x)
    parts = [entry if each == axis else w.sketch.ints(w.rng.choice((1, dim))) for each, dim in enumerate(x.dims)]
    return w.op("Expand", changed(x.dims, axis, value), x.name, w.sketch.op("Concat", *parts, axis=0))


def repeated(w: World) -> Tensor:
    x, (count, value) = w.pick(1), size(w)
    axis = w.axis(x)
    if not 1 <= value <= 3:
        return _relu(w, x)
    parts = [count if each == axis else w.sketch.ints(1) for each in range(len(x.dims))]
    return w.op("Tile", changed(x.dims, axis, value * x.dims[axis]), x.name, w.sketch.op("Concat", *parts, axis=0))


def surrounded(w: World) -> Tensor:
    x, (count, value) = w.pick(1), size(w)
    axis, rank = w.axis(x), len(x.dims)
    if not 0 <= value <= 3:
        return _relu(w, x)
    parts = [count if each == axis else w.sketch.ints(0) for each in range(2 * rank)]
    return w.op("Pad", changed(x.dims, axis, x.dims[axis] + value), x.name, w.sketch.op("Concat", *parts, axis=0))


def reshaped(w: World) -> Tensor:
    x, (entry, value) = w.pick(), size(w)
    if value < 1 or prod(x.dims) % value:
        return _relu(w, x)
    rest = prod(x.dims) // value
    first = w.rng.random() < 0.6
    minus = w.sketch.ints(w.rng.choice((-1, rest)))
    target = w.sketch.op("Concat", *((entry, minus) if first else (minus, entry)), axis=0)
    return w.op("Reshape", (value, rest) if first else (rest, value), x.name, target)


def filled(w: World) -> Tensor:
    x, (count, value) = w.pick(1), size(w)
    if value < 1 or x.dims[0] not in (1, value):
        return _relu(w, x)
    ones = [w.sketch.ints(1)] * (len(x.dims) - 1)
    zeros = w.sketch.op("ConstantOfShape", w.sketch.op("Concat", count, *ones, axis=0))
    return w.op("Add", changed(x.dims, 0, value), x.name, zeros)


def counted(w: World) -> Tensor:
    """A Range up to the size, added or picked by."""
    x, (limit, value) = w.pick(1), size(w)
    if value < 1 or x.dims[0] not in (1, value):
        return _relu(w, x)
    limit = w.sketch.op("Squeeze", limit, w.sketch.ints(0))
    numbers = w.sketch.op("Range", w.sketch.const(0, INT), limit, w.sketch.const(1, INT))
    if w.rng.random() < 0.4 and value <= x.dims[0]:
        return w.op("Gather", changed(x.dims, 0, value), x.name, numbers, axis=0)
    column = w.sketch.op("Reshape", numbers, w.sketch.ints(-1, *[1] * (len(x.dims) - 1)))
    return w.op("Add", changed(x.dims, 0, value), x.name, w.sketch.op("Cast", column, to=1))


def picked(w: World) -> Tensor:
    x, (index, value) = w.pick(1), size(w)
    axis = w.axis(x)
    if not -x.dims[axis] <= value < x.dims[axis]:
        return _relu(w, x)
    return w.op("Gather", changed(x.dims, axis, 1), x.name, index, axis=axis)


def largest(w: World) -> Tensor:
    x, (count, value) = w.pick(1), size(w)
    axis = w.axis(x)
    if not 1 <= value <= x.dims[axis]:
        return _relu(w, x)
    values, _ = w.sketch.op("TopK", x.name, count, axis=axis, outputs=2)
    return Tensor(values, changed(x.dims, axis, value))


def multiplied(w: World) -> Tensor:
    x, (number, _) = w.pick(), size(w)
    return w.op("Mul", x.dims or (1,), x.name, w.sketch.op("Cast", number, to=1))


def divided(w: World) -> Tensor:
    x, (first, value) = w.pick(1), size(w)
    axis = w.axis(x)
    if not 1 <= value < x.dims[axis]:
        return _relu(w, x)
    sizes = w.sketch.op("Concat", first, w.sketch.ints(x.dims[axis] - value), axis=0)
    a, b = w.sketch.op("Split", x.name, sizes, axis=axis, outputs=2)
    w.tensors.append(Tensor(a, changed(x.dims, axis, value)))
    return Tensor(b, changed(x.dims, axis, x.dims[axis] - value))


def numbered_axis(w: World) -> Tensor:
    """An axis whose number is a size."""
    x, (axis, value) = w.pick(1), size(w)
    if not -len(x.dims) <= value < len(x.dims):
        return _relu(w, x)
    if w.rng.random() < 0.5:
        return w.op("CumSum", x.dims, x.name, w.sketch.op("Squeeze", axis, w.sketch.ints(0)))
    place = value if value >= 0 else value + len(x.dims) + 1
    return w.op("Unsqueeze", (*x.dims[:place], 1, *x.dims[place:]), x.name, axis)


def hot(w: World) -> Tensor:
    """Classes as many as the size."""
    x, (depth, value) = w.pick(), size(w)
    if not 1 <= value <= 4 or prod(x.dims) * value > MOST:
        return _relu(w, x)
    whole = w.sketch.op("Cast", x.name, to=7)
    return w.op("OneHot", (*x.dims, value), whole, depth, w.sketch.const([0, 1], np.float32))


USES: list[Callable[[World], Tensor]] = [
    *(cut, cut_from, grown, repeated, surrounded, reshaped, reshaped, filled, counted, picked, largest, multiplied),
    *(divided, numbered_axis, hot),
]
