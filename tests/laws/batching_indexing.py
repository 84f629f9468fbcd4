"""Cases for the operators that pick elements by number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import numpy as np

from tests.laws.batching_pointwise import PLACES
from tests.laws.batching_sketch import INT, Sketch

# Data, axis, indices (None: scalar), and whether they can be freed; indices that carry no samples are constants.
GATHERS: list[tuple[Any, int, Any, bool]] = [
    (((1, 4), 0), 1, ((2,), None), True),
    (((1, 4), 0), -1, ((), None), True),
    (((1, 4), 0), 1, ((2, 3), None), True),
    (((3, 1), 1), 0, ((2, 2), None), True),
    (((3, 1, 2), 1), 0, ((), None), True),
    (((3, 1, 2), 1), 2, ((2, 2), None), True),
    (((5, 3), None), 0, ((1, 2), 0), True),
    (((3, 5), None), 1, ((2, 1), 1), True),
    (((5, 3), None), 0, ((6, 2), 0, 2, 3), True),
    (((5,), None), 0, ((1,), 0), True),
    (((4, 3), 0, 1, 4), 0, ((2,), None), True),
    (((4, 3), 0, 1, 4), 0, ((3, 2), None), True),
    (((4, 3), 0, 1, 4), 0, ((1,), None), True),
    (((2, 4), 1, 1, 4), 1, ((2,), None), True),
    (((1, 3), 0), 0, ((1,), None), True),
    (((1, 3), 0), 0, ((2,), None), True),
    (((1, 3, 2), 0), 0, ((), None), True),
    (((2, 1, 3), 1), 1, ((), None), True),
    (((1,), 0), 0, ((2, 1), None), True),
    (((4, 3), 0, 1, 4), 0, ((1, 2), 0), True),
    (((4, 3), 0, 1, 4), 0, ((2, 1), 1), True),
    (((4, 3), 0, 1, 4), 0, ((6,), 0, 1, 6), True),
    (((2, 4), 1, 1, 4), 1, ((1, 3), 0), True),
    (((1, 4), 0), 1, ((1, 2), 0), True),
    (((1, 4, 2), 0), 1, ((1, 2, 3), 0), True),
    (((1, 4, 2), 0), 1, ((1,), 0), True),
    (((1, 2, 4), 0), 2, ((1, 2), 0), False),
    (((4, 3), 0, 4, 1), 0, ((2,), None), False),
    (((6, 3), 0, 2, 3), 0, ((1, 2), 0), False),
    (((6, 3), 0, 2, 3), 1, ((2,), None), True),
]


def gathers() -> Iterator[Sketch]:
    turn = cycle((12, 13, 17, 22, 13))
    for row in GATHERS:
        for negative in (False, True):
            yield _gather(next(turn), row, negative=negative)
    for size, data, axis, indices, free in (
        (2, ((2, 3), 0), 1, ((2,), None), True),
        (2, ((3, 2), 1), 0, ((2, 2), None), True),
        (2, ((2, 3), 0), 0, ((2,), None), False),
        (2, ((5, 3), None), 0, ((2, 2), 0), True),
        (3, ((5, 3), None), 1, ((2, 3), 1), True),
    ):
        s = Sketch("Gather", 13, size, free=free)
        x = s.floats(*data[0]) if data[1] is None else s.x(*data)
        yield s.out(s.op("Gather", x, _numbers(s, indices, 0, min(data[0][axis], 3)), axis=axis))
    yield from _counted_gathers()
    for opset in (7, 9):
        s = Sketch("Gather", opset)
        yield s.out(s.op("Gather", s.x((1, 3)), s.ints(2, 0), axis=1))


def _gather(opset: int, row: tuple[Any, int, Any, bool], *, negative: bool) -> Sketch:
    data, axis, indices, free = row
    s = Sketch("Gather", opset, free=free)
    x = s.floats(*data[0]) if data[1] is None else s.x(*data)
    count = data[0][axis]
    if data[1] is not None and data[1] == axis % len(data[0]):
        count //= data[2] if len(data) > 2 else 1
    low, high = (-count, 0) if negative else (0, count)
    return s.out(s.op("Gather", x, _numbers(s, indices, low, high), axis=axis))


def _counted_gathers() -> Iterator[Sketch]:
    """Indices along the batch, in opsets that have no Range (11), no Mod (10) or no NonZero (9)."""
    for row in GATHERS:
        data, axis, _, _ = row
        if data[1] is not None and data[1] == axis % len(data[0]):
            for opset in (7, 8, 9, 10):
                for negative in (False, True):
                    yield _gather(opset, row, negative=negative)


def _numbers(s: Sketch, place: Any, low: int, high: int) -> str:
    kind = np.int32 if s.opset % 2 else np.int64
    if place[1] is not None:
        return s.x(*place, dtype=kind, low=low, high=high)
    count = int(np.prod(place[0], dtype=np.int64))
    return s.const((np.arange(count) % (high - low) + low).reshape(place[0]), kind)


def elements() -> Iterator[Sketch]:
    """GatherElements, ScatterElements and Scatter: one number per element."""
    for dims, axis, outer, inner, size in PLACES:
        rank = len(dims)
        for along in range(-1, rank - 1):
            for number, marks in enumerate(((True, True), (True, False), (False, True))):
                free = along % rank != axis
                s = Sketch("GatherElements", (11, 13, 17)[number], size, free=free and (size == 1 or outer == 1))
                data, indices = _both(s, along, (dims, axis, outer, inner), marks)
                yield s.out(s.op("GatherElements", data, indices, axis=along))
                op = "Scatter" if number == 2 else "ScatterElements"
                opset, reduction = {0: (11, None), 1: (18, "add"), 2: (9, None)}[number]
                s = Sketch(op, opset, size, free=free and (size == 1 or outer == 1))
                data, indices = _both(s, along, (dims, axis, outer, inner), marks, apart=True)
                updates = s.x(dims, axis, outer, inner) if number != 1 else s.const(np.full(dims, 0.5), np.float32)
                where = along % rank if opset < 11 else along
                yield s.out(s.op(op, data, indices, updates, axis=where, reduction=reduction))


def _both(s: Sketch, along: int, place: Any, marks: Any, *, apart: bool = False) -> tuple[str, str]:
    """Data and numbers for it; `apart`: no number twice on a line, so that what is written last is no question."""
    dims = place[0]
    count = dims[along]
    line = np.arange(count).reshape([count if each == along % len(dims) else 1 for each in range(len(dims))])
    data = s.x(*place) if marks[0] else s.const(np.broadcast_to(line + 0.5, dims), np.float32)
    if not marks[1]:
        return data, s.const(np.broadcast_to((line + 1) % count, dims), INT)
    if not apart:
        return data, s.x(*place, dtype=INT, low=-count, high=count)
    moved = s.x(*place, dtype=INT, low=0, high=1)  # zeros: they carry the samples, the lines carry the numbers
    return data, s.op("Add", moved, s.const(line, INT))


# Data, indices, batch_dims, the sizes that the numbers count, whether they can be freed.
GATHERS_ND: list[tuple[Any, Any, int, bool]] = [
    (((1, 4), 0), ((2, 2), None), 0, True),
    (((1, 4), 0), ((1, 2), None), 0, True),
    (((1, 4), 0), ((3, 1, 2), None), 0, True),
    (((1, 4), 0), ((1, 3, 2), 0), 0, True),
    (((1, 4, 2), 0), ((1, 3, 2), 0), 0, True),
    (((4, 1), 1), ((2, 1), None), 0, True),
    (((4, 1), 1), ((2, 2), None), 0, True),
    (((4, 1), 1), ((1, 2, 2), 0), 0, True),
    (((4, 2, 1), 2), ((3, 1), None), 0, True),
    (((4, 2, 1), 2), ((2, 2, 2), None), 0, True),
    (((4, 3), None), ((1, 2, 1), 0), 0, True),
    (((4, 3), None), ((2, 1, 2), 1), 0, True),
    (((4, 3), None), ((6, 2), 0, 2, 3), 0, True),
    (((1, 4, 2), 0), ((1, 3, 1), 0), 1, True),
    (((1, 4, 2), 0), ((1, 3, 1), None), 1, True),
    (((1, 4, 2), None), ((1, 3, 1), 0), 1, True),
    (((2, 1, 4), 1), ((2, 1, 3, 1), 1), 2, True),
    (((2, 1, 4), 1), ((2, 3, 2), None), 1, True),
    (((2, 4, 1), 2), ((2, 3, 1), None), 1, True),
    (((4, 3), 0, 1, 4), ((2, 1), None), 0, True),
    (((4, 3), 0, 1, 4), ((1, 2, 1), 0), 0, True),
    (((4, 3), 0, 1, 4), ((6, 2), 0, 1, 6), 0, True),
    (((1, 4), 0), ((2,), None), 0, False),
    (((4, 3), 0, 4, 1), ((2, 1), None), 0, False),
    (((4, 1), 1), ((1, 2, 1), 0), 0, False),
]


def gathers_nd() -> Iterator[Sketch]:
    turn = cycle((12, 13, 17, 22))
    for data, indices, lead, free in GATHERS_ND:
        for negative in (False, True):
            s = Sketch("GatherND", 11 if lead == 0 and negative else next(turn), free=free)
            x = s.floats(*data[0]) if data[1] is None else s.x(*data)
            width = indices[0][-1]
            limits = list(data[0][lead : lead + width])
            yield s.out(s.op("GatherND", x, rows_of_numbers(s, indices, limits, negative), batch_dims=lead or None))
    for data, indices, lead, free in (
        (((2, 4), 0), ((2, 3, 1), 0), 1, True),
        (((2, 4), 0), ((3, 2), None), 0, False),
        (((4, 3), None), ((2, 2), 0), 0, True),
    ):
        s = Sketch("GatherND", 13, 2, free=free)
        x = s.floats(*data[0]) if data[1] is None else s.x(*data)
        limits = list(data[0][lead : lead + indices[0][-1]])
        yield s.out(s.op("GatherND", x, rows_of_numbers(s, indices, limits, False), batch_dims=lead or None))


def rows_of_numbers(s: Sketch, place: Any, limits: list[int], negative: bool) -> str:
    """Indices of GatherND and ScatterND: each column within its own limit."""
    dims, width = place[0], place[0][-1]
    rows = int(np.prod(dims[:-1], dtype=np.int64))
    columns = [(np.arange(rows) * (column + 1) + column) % limit for column, limit in enumerate(limits)]
    array = np.stack(columns, -1).reshape(*dims) - (np.array(limits) if negative else 0)
    if place[1] is None:
        return s.const(array, INT)
    # What the samples carry is taken modulo the limit, so that the numbers stay within it.
    return str(s.op("Mod", s.x(*place, dtype=INT, low=0, high=9), s.const(np.array(limits[:width]), INT)))


# Data, indices, updates: dims and places; whether they can be freed.
SCATTERS: list[tuple[Any, Any, Any, bool]] = [
    (((1, 4), 0), ((2, 2), None), ((2,), None), True),
    (((1, 4), 0), ((2, 2), None), ((2,), 0, 1, 2), True),
    (((1, 4), 0), ((1, 2, 2), None), ((1, 2), 0), True),
    (((1, 4), 0), ((1, 2), None), ((1,), 0), True),
    (((1, 4), 0), ((1, 1), None), ((1, 4), 0), True),
    (((1, 4), 0), ((1, 1, 2), 0), ((1, 1), 0), True),
    (((1, 4), 0), ((1, 1, 2), 0), ((1, 1), None), True),
    (((1, 4), None), ((1, 1, 2), 0), ((1, 1), 0), True),
    (((1, 4), None), ((2, 2), None), ((2,), 0, 1, 2), True),
    (((4, 1), 1), ((2, 1), None), ((2, 1), 1), True),
    (((4, 1), 1), ((2, 1), None), ((2, 1), None), True),
    (((4, 1), None), ((2, 1), None), ((2, 1), 1), True),
    (((4, 2, 1), 2), ((2, 2), None), ((2, 1), 1), True),
    (((4, 2, 1), 2), ((2, 1), None), ((2, 2, 1), 2), True),
    (((4, 3), 0, 1, 4), ((2, 1), None), ((2, 3), None), True),
    (((4, 3), 0, 1, 4), ((1, 2, 1), 0), ((1, 2, 3), 0), True),
    (((1, 2, 4), 0), ((2, 2, 3), None), ((2, 2), None), True),
    (((4, 3), 0, 4, 1), ((2, 1), None), ((2, 3), None), False),
    (((4, 1), 1), ((1, 2, 1), 0), ((1, 2, 1), 0), False),
]


def scatters_nd() -> Iterator[Sketch]:
    turn = cycle((11, 13, 16, 18))
    for data, indices, updates, free in SCATTERS:
        for negative in (False, True):
            s = Sketch("ScatterND", next(turn), free=free)
            x = s.floats(*data[0]) if data[1] is None else s.x(*data)
            width = indices[0][-1]
            numbers = rows_of_numbers(s, indices, list(data[0][:width]), negative)
            new = s.floats(*updates[0], low=-7) if updates[1] is None else s.x(*updates)
            yield s.out(s.op("ScatterND", x, numbers, new, reduction="add" if s.opset >= 16 else None))
    for data, indices, updates, free in (
        (((3, 2), 1), ((2, 1), None), ((2, 2), 1), True),
        (((3, 2), 1), ((2, 1), None), ((2, 2), None), False),
        (((2, 3), 0), ((2, 2), None), ((2,), None), False),
    ):
        s = Sketch("ScatterND", 13, 2, free=free)
        numbers = rows_of_numbers(s, indices, list(data[0][: indices[0][-1]]), False)
        new = s.floats(*updates[0]) if updates[1] is None else s.x(*updates)
        yield s.out(s.op("ScatterND", s.x(*data), numbers, new))


# What a model can do with the numbers of its samples, and whether it can be freed.
COUNTED: list[tuple[Callable[[Sketch, str, str], str], bool]] = [
    (lambda s, x, n: s.op("Gather", x, n), True),
    (lambda s, _, n: s.op("Gather", s.x((4, 2), 0, 1, 4), s.op("Mul", n, s.ints(4))), True),
    (lambda s, x, n: s.op("GatherND", x, _pairs(s, n)), True),
    (lambda s, x, n: s.op("ScatterND", x, _pairs(s, n), s.floats(1)), True),
    (lambda s, x, n: s.op("Gather", x, s.op("Expand", _column(s, n), s.ints(1, 2))), True),
    (lambda s, x, n: s.op("Add", x, s.op("Cast", _column(s, n), to=1)), True),
    (lambda s, x, n: s.op("Gather", x, s.op("Cast", n, to=6)), True),
    (lambda s, x, n: s.op("Gather", x, s.op("Transpose", s.op("Reshape", n, s.ints(1, -1)))), True),
    (lambda s, x, n: s.op("Gather", x, s.op("Sub", s.op("Add", n, s.ints(1)), s.ints(1))), True),
    (lambda s, _, n: s.op("Add", n, s.ints(1)), False),
]


def counted() -> Iterator[Sketch]:
    """A Range over the batch: where it numbers the samples, and where it is a number like another."""
    for opset, (use, free) in zip(cycle((11, 13, 17, 22)), COUNTED, strict=False):
        s = Sketch("Range", opset, free=free)
        x = s.x((1, 3))
        yield s.out(s.op("Relu", x), use(s, x, numbers_of(s, x)))
    for start, step in ((1, 1), (0, 2), (-1, 1)):
        s = Sketch("Range", 13)
        x = s.x((1, 3))
        limit = s.op("Add", _size(s, x), s.const(start, INT))
        numbers = s.op("Range", s.const(start, INT), limit, s.const(step, INT))
        yield s.out(s.op("Add", x, s.op("Cast", _column(s, numbers), to=1)))
    for free in (True, False):
        s = Sketch("Range", 13, 2, free=free)
        x = s.x((2, 3))
        table = s.const(np.ones((9, 3)) if free else np.arange(27).reshape(9, 3), np.float32)
        yield s.out(s.op("Add", x, s.op("Gather", table, numbers_of(s, x))))


def _column(s: Sketch, numbers: str) -> str:
    return str(s.op("Reshape", numbers, s.ints(-1, 1)))


def _pairs(s: Sketch, numbers: str) -> str:
    """The number of each sample, and a 2."""
    column = _column(s, numbers)
    return str(s.op("Concat", column, s.op("Expand", s.const([[2]], INT), s.op("Shape", column)), axis=1))


def _size(s: Sketch, x: str) -> str:
    return str(s.op("Reshape", s.dim(x, 0), s.const([], INT)))


def numbers_of(s: Sketch, x: str) -> str:
    """The numbers of the samples, from 0 on."""
    return str(s.op("Range", s.const(0, INT), _size(s, x), s.const(1, INT)))


def indexing() -> Iterator[Sketch]:
    for family in (gathers, elements, gathers_nd, scatters_nd, counted):
        yield from family()
