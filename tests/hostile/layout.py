"""Operators that move elements: Reshape and its relatives."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.hostile.makers import makes
from tests.hostile.pointwise import axes_of
from tests.hostile.sizes import Hint, vector
from tests.hostile.sketch import Misfit, Sketch, Value

Entry = tuple[int, Hint]


def _regrouped(g: Sketch, value: Value, axes: range) -> list[Entry]:
    """Some neighbouring dims, taken apart and put together at random."""
    parts: list[Entry] = []
    for axis in axes:
        size = value.dims[axis]
        factors = [factor for factor in (2, 3) if size % factor == 0 and size > factor]
        if factors and g.dice.chance(0.3):
            factor = g.dice.pick(factors)
            parts += [(factor, None), (size // factor, (value, axis))]
        else:
            parts.append((size, (value, axis)))
        if g.dice.chance(0.12):
            parts.append((1, None))
    while len(parts) > 1 and g.dice.chance(0.4):
        place = g.dice.number(0, len(parts) - 2)
        (one, hint), (two, other) = parts[place : place + 2]
        parts[place : place + 2] = [(one * two, g.dice.pick([hint, other]))]
    return parts


def _target(g: Sketch, value: Value) -> tuple[list[Entry], int | None]:
    """Dims that hold the elements of a tensor, and where the samples are then."""
    way = g.dice.weighed({"kept": 5, "merged": 3, "like": 3, "flat": 0.5, "any": 0.4, "same": 0.6})
    if way == "like":
        count = value.array.size
        fit = [each for each in g.values if each.array.size == count and each.dims != value.dims]
        if fit:
            other = g.dice.pick(fit)
            return [(size, (other, axis)) for axis, size in enumerate(other.dims)], other.batch
    if way == "same":
        return [(size, (value, axis)) for axis, size in enumerate(value.dims)], value.batch
    if way == "flat":
        return [(value.array.size, None)], 0
    if way == "any" or value.batch is None or value.batch >= value.rank:
        return _regrouped(g, value, range(value.rank)), None
    before = _regrouped(g, value, range(value.batch))
    after = _regrouped(g, value, range(value.batch + 1, value.rank))
    middle: list[Entry] = [(value.dims[value.batch], (value, value.batch))]
    if way == "merged":
        if after and g.dice.chance(0.6):
            middle = [(middle[0][0] * after[0][0], middle[0][1])]
            after = after[1:]
        elif before:
            middle = [(middle[0][0] * before[-1][0], middle[0][1])]
            before = before[:-1]
    return [*before, *middle, *after], len(before)


@makes("Reshape:5", weight=9)
def reshape(g: Sketch, op: str) -> None:
    value = g.pick("ffffib")
    entries, batch = _target(g, value)
    numbers, hints = [entry[0] for entry in entries], [entry[1] for entry in entries]
    if g.dice.chance(0.5) and numbers:
        place = batch if batch is not None and g.dice.chance(0.5) else g.dice.number(0, len(numbers) - 1)
        numbers[place], hints[place] = -1, None
    flag = {"allowzero": 1} if g.opset >= 14 and g.dice.chance(0.12) else {}
    if not flag:
        for place in range(min(value.rank, len(numbers))):
            if numbers[place] == value.dims[place] and g.dice.chance(0.25):
                numbers[place], hints[place] = 0, None
    others = [[-1 if axis == place else size for axis, size in enumerate(numbers)] for place in range(len(numbers))]
    target = vector(g, numbers, hints, [each for each in others if each.count(-1) < 2 and 0 not in each])
    g.keep(g.op(op, value, target, batch=batch, **flag))


@makes("Reshape:5", weight=3)
def woven(g: Sketch, op: str) -> None:
    """The samples inside another axis, as attention and shuffles of channels have them; and perhaps back again."""
    value = g.pick("f", 2, 5)
    if value.batch is None:
        raise Misfit
    order = g.dice.shuffled(range(value.rank))
    place = order.index(value.batch)
    turned = g.op("Transpose", value, perm=order, batch=place) if order != sorted(order) else value
    start, end = g.dice.number(0, place), g.dice.number(place, value.rank - 1)
    if start == end:
        raise Misfit
    dims = turned.dims
    numbers = [*dims[:start], -1 if g.dice.chance(0.4) else prod(dims[start : end + 1]), *dims[end + 1 :]]
    hints: list[Hint] = [(turned, axis) for axis in range(start)]
    hints += [(turned, place), *((turned, axis) for axis in range(end + 1, value.rank))]
    hints = [None if number < 0 else hint for number, hint in zip(numbers, hints, strict=True)]
    joined = g.op(op, turned, vector(g, numbers, hints), batch=start)
    g.keep(turned, joined)
    if g.dice.chance(0.5):
        between = g.op(g.dice.pick(["Relu", "Neg", "Abs"]), joined, batch=start)
        target = vector(g, dims, [(turned, axis) for axis in range(value.rank)])
        g.keep(g.op(op, between, target, batch=place))


@makes("Transpose", weight=3)
def transpose(g: Sketch, op: str) -> None:
    value = g.pick("fffib", 1)
    order = g.dice.shuffled(range(value.rank)) if g.dice.chance(0.9) else None
    batch = value.batch
    if batch is not None:
        batch = order.index(batch) if order is not None else value.rank - 1 - batch
    g.keep(g.op(op, value, batch=batch, perm=order))


def squeeze(g: Sketch, value: Value, axes: list[int] | None) -> Value:
    """A Squeeze, as the opset writes it."""
    gone = [axis for axis, size in enumerate(value.dims) if size == 1] if axes is None else axes
    batch = None if value.batch in gone else value.batch
    if batch is not None:
        batch -= sum(axis < batch for axis in gone)
    said = None if axes is None else [g.signed(axis, value.rank) if g.opset >= 11 else axis for axis in axes]
    if g.opset < 13:
        return g.op("Squeeze", value, batch=batch, axes=said)
    return g.op("Squeeze", value, *([] if said is None else [axes_of(g, said)]), batch=batch)


@makes("Squeeze", weight=1.5)
def squeezing(g: Sketch, _: str) -> None:
    fit = [each for each in g.values if 1 in each.dims]
    if not fit:
        raise Misfit
    value = g.dice.pick(fit)
    ones = [axis for axis, size in enumerate(value.dims) if size == 1]
    if value.batch in ones and len(ones) > 1 and g.dice.chance(0.85):
        ones.remove(value.batch)
    bare = g.dice.chance(0.2) and not any(node.op_type == "Einsum" for node in g.nodes)
    g.keep(squeeze(g, value, None if bare else g.dice.some(ones, 1)))


def unsqueeze(g: Sketch, value: Value, axes: list[int]) -> Value:
    """An Unsqueeze, as the opset writes it."""
    rank = value.rank + len(axes)
    rest = [axis for axis in range(rank) if axis not in axes]
    batch = None if value.batch is None else rest[value.batch]
    said = [g.signed(axis, rank) if g.opset >= 11 else axis for axis in axes]
    if g.opset < 13:
        return g.op("Unsqueeze", value, batch=batch, axes=said)
    return g.op("Unsqueeze", value, axes_of(g, said), batch=batch)


@makes("Unsqueeze", weight=1.5)
def unsqueezing(g: Sketch, _: str) -> None:
    value = g.pick("fffib", 0, 4)
    count = g.dice.pick([1, 1, 2])
    g.keep(unsqueeze(g, value, sorted(g.dice.shuffled(range(value.rank + count))[:count])))


@makes("Flatten:9", weight=1.2)
def flatten(g: Sketch, op: str) -> None:
    value = g.pick("f")
    axis = g.dice.number(0, value.rank)
    batch = None if value.batch is None else int(value.batch >= axis)
    said = g.signed(axis, value.rank) if g.opset >= 11 and axis < value.rank else axis
    g.keep(g.op(op, value, batch=batch, axis=said if g.dice.chance(0.9) else None))


@makes("Expand:8", weight=2)
def expand(g: Sketch, op: str) -> None:  # noqa: C901 - as many ways as exporters have
    if g.dice.chance(0.35):  # what all samples share, once for each
        dims = g.dice.pick([[1, 3], [1, 1, 2], [3], [1], [2, 1], []])
        value = g.given(g.dice.constant(dims)) if g.dice.chance(0.3) else None
        table = g.dice.constant(dims)
        value = value or Value(g.const(table), table)
    else:
        value = g.pick("ffib", 0, 4)
    dims = [g.dice.number(2, 3) if size == 1 and g.dice.chance(0.6) else size for size in value.dims]
    hints: list[Hint] = [(value, axis) if size == dims[axis] else None for axis, size in enumerate(value.dims)]
    batch = value.batch
    if batch is None:  # the samples of another tensor
        live = [each for each in g.values if each.batch is not None]
        places = [axis for axis, size in enumerate(value.dims) if size == 1]
        if live:
            other = g.dice.pick(live)
            size, hint = other.dims[other.batch or 0], (other, other.batch or 0)
            if places and g.dice.chance(0.7):
                batch = g.dice.pick(places)
                dims[batch], hints[batch] = size, hint
            elif len(dims) < 5:
                dims, hints, batch = [size, *dims], [hint, *hints], 0
    elif batch is not None and value.dims[batch] == 1:
        dims[batch], hints[batch] = 1, (value, batch)
    if batch is not None and value.batch is not None and g.dice.chance(0.3) and len(dims) < 5:
        dims, hints, batch = [g.dice.number(1, 3), *dims], [None, *hints], batch + 1
    if g.dice.chance(0.25):  # fewer entries than dims
        cut = g.dice.number(0, len(dims))
        if len(dims) - cut <= value.rank:
            dims, hints = dims[cut:], hints[cut:]
            batch = value.batch if len(dims) < value.rank else batch
    for axis, size in enumerate(dims):
        place = axis - len(dims) + value.rank
        if place >= 0 and value.dims[place] == size and g.dice.chance(0.3):
            dims[axis], hints[axis] = 1, None
    g.keep(g.op(op, value, vector(g, dims, hints), batch=batch))


@makes("Tile:6", weight=1.5)
def tile(g: Sketch, op: str) -> None:
    value = g.pick("ffi", 1, 4)
    times = [
        1 if axis == value.batch and g.dice.chance(0.9) else g.dice.pick([1, 1, 2, 3]) for axis in range(value.rank)
    ]
    hints: list[Hint] = [None] * value.rank
    batch, live = value.batch, [each for each in g.values if each.batch is not None]
    if batch is None and live and g.dice.chance(0.6):
        other = g.dice.pick(live)
        axis = g.dice.number(0, value.rank - 1)
        times[axis], hints[axis], batch = other.dims[other.batch or 0], (other, other.batch or 0), axis
    others = [[1 if axis == value.batch else g.dice.number(1, 3) for axis in range(value.rank)]]
    g.keep(g.op(op, value, vector(g, times, hints, others), batch=batch))


@makes("Concat:4", weight=2.5)
def concat(g: Sketch, op: str) -> None:
    value = g.pick("fffi", 1)
    axis = g.axis(value)
    parts = [value]
    for _ in range(g.dice.number(0, 2)):
        fit = [
            each
            for each in g.values
            if each.rank == value.rank
            and each.array.dtype == value.array.dtype
            and all(a == b for place, (a, b) in enumerate(zip(each.dims, value.dims, strict=True)) if place != axis)
        ]
        if len(fit) > 1 and g.dice.chance(0.6):
            parts.append(g.dice.pick(fit))
            continue
        dims = [g.dice.number(1, 2) if place == axis else size for place, size in enumerate(value.dims)]
        table = g.dice.constant(dims, value.array.dtype)
        if value.batch is not None and axis != value.batch and (g.tame or g.dice.chance(0.7)):
            table = np.repeat(np.take(table, [0], value.batch), dims[value.batch], value.batch)
        parts.append(Value(g.const(table), table) if g.dice.chance(0.8) else g.given(table))
    batch = next((part.batch for part in parts if part.batch is not None), None)
    g.keep(g.op(op, *g.dice.shuffled(parts), batch=batch, axis=g.signed(axis, value.rank) if g.opset >= 11 else axis))


@makes("Split:2", weight=2)
def split(g: Sketch, op: str) -> None:
    value = g.pick("fffi", 1)
    axis = g.axis(value, 0.12)
    size = value.dims[axis]
    count = g.dice.number(1, min(3, size)) if size else 1
    even = size % count == 0 and g.dice.chance(0.4)
    cuts = sorted(g.dice.shuffled(range(1, size))[: count - 1])
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    if even:
        sizes = [size // count] * count
    attributes: dict[str, object] = {"axis": g.signed(axis, value.rank) if g.opset >= 11 else axis}
    given = []
    if g.opset < 13:
        attributes |= {} if even and g.dice.chance(0.5) else {"split": sizes}
    elif even and g.dice.chance(0.6):
        attributes |= {"num_outputs": count} if g.opset >= 18 else {}
    else:
        given = [vector(g, sizes, [(value, axis)] * count, [g.dice.shuffled(sizes)])]
    parts = g.ops(op, count, value, *given, **attributes)
    g.keep(*(part._replace(batch=value.batch) for part in parts))


def sliced(g: Sketch, value: Value, axes: list[int]) -> Value:
    """A Slice of some axes."""
    starts, ends, steps = [], [], []
    for axis in axes:
        size = value.dims[axis]
        start = g.dice.number(0, max(0, size - 1))
        end = g.dice.number(start + 1, max(size, start + 1))
        step = g.dice.pick([1, 1, 1, 2]) if g.opset >= 10 else 1
        if axis == value.batch and g.tame:  # all samples, by a number
            start, end, step = 0, size, 1
        far = end >= size and g.dice.chance(0.4)
        if g.opset >= 10 and g.dice.chance(0.2) and (axis != value.batch or not g.tame):
            start, end, step = end - 1, start - 1, -g.dice.pick([1, 1, 2])
            far = end < 0
        if far:
            end = g.dice.pick([2**63 - 1, 2**31 - 1, 2**31, size + 7] if step > 0 else [-(2**63), -(2**31), -size - 1])
        elif end > 0 and g.dice.chance(0.3) and end < size:
            end -= size
        elif end < 0:
            end = -size - 1
        starts.append(start - size if g.dice.chance(0.25) else start)
        ends.append(end)
        steps.append(step)
    named = [g.signed(axis, value.rank) if g.opset >= 11 else axis for axis in axes]
    if g.opset < 10:
        return g.op("Slice", value, batch=value.batch, starts=starts, ends=ends, axes=named)
    hints: list[Hint] = [(value, axis) for axis in axes]
    given = [vector(g, starts, others=[[0] * len(axes)]), vector(g, ends, hints)]
    if axes != list(range(len(axes))) or g.dice.chance(0.8) or set(steps) != {1}:
        given.append(axes_of(g, named))
    if set(steps) != {1} or g.dice.chance(0.2):
        given += [g.const([], np.int64)] * 0 + [vector(g, steps)]
    return g.op("Slice", value, *given, batch=value.batch)


@makes("Slice", weight=3)
def slicing(g: Sketch, _: str) -> None:
    value = g.pick("fffib", 1)
    axes = g.axes(value, 0.12)[:2] if value.rank > 1 or not g.tame else []
    if value.batch is not None and g.dice.chance(0.3):
        axes = sorted({*axes, value.batch})
    if not axes:
        raise Misfit
    g.keep(sliced(g, value, axes))


@makes("Pad:2", weight=1.5)
def pad(g: Sketch, op: str) -> None:
    value = g.pick("f", 1, 4)
    axes = g.axes(value)
    mode = g.dice.pick(["constant", "constant", "constant", "reflect", "edge"])
    least = -1 if mode == "constant" and g.dice.chance(0.2) else 0
    pads = [0] * (2 * value.rank)
    for axis in axes:
        pads[axis], pads[axis + value.rank] = g.dice.number(least, 2), g.dice.number(least, 2)
    if g.opset < 11:
        g.keep(g.op(op, value, batch=value.batch, pads=pads, mode=mode))
        return
    given = [pads]
    extra: list[str] = []
    if g.opset >= 18 and g.dice.chance(0.4):
        given = [[pads[axis] for axis in axes] + [pads[axis + value.rank] for axis in axes]]
        extra = ["", axes_of(g, [g.signed(axis, value.rank) for axis in axes])]
    others = [[abs(each) for each in given[0]], [0] * len(given[0])]
    if not extra and g.dice.chance(0.3):
        extra = [g.const(2, value.array.dtype)]
    g.keep(g.op(op, value, vector(g, given[0], others=others), *extra, batch=value.batch, mode=mode))


@makes("DepthToSpace SpaceToDepth", weight=1.5)
def blocks(g: Sketch, op: str) -> None:
    value = g.pick("f", 4, 4)
    mode = {"mode": g.dice.pick(["DCR", "CRD"])} if op == "DepthToSpace" and g.opset >= 11 else {}
    g.keep(g.op(op, value, batch=value.batch if value.batch == 0 else None, blocksize=g.dice.pick([1, 2, 2]), **mode))
