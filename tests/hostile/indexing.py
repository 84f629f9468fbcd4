"""Operators that read and write at indices."""

from __future__ import annotations

import numpy as np

from tests.hostile.engine import Array
from tests.hostile.makers import makes
from tests.hostile.sizes import dim, squeezed, vector
from tests.hostile.sketch import Misfit, Sketch, Value


def indices(g: Sketch, dims: list[int], size: int, batch: int | None, dtype: type = np.int64) -> Value:
    """Indices into an axis of so many elements: constants, an input of all samples, or one with samples of its own."""
    if not size:
        raise Misfit
    low = -size if g.opset >= 11 and g.dice.chance(0.6) else 0
    array: Array = g.dice.rng.integers(low, size, dims).astype(dtype)
    way = g.dice.weighed({"constant": 3, "given": 1.5, "samples": 2 if batch is not None else 0})
    if way == "constant":
        if batch is not None and g.dice.chance(0.7):
            array = np.repeat(np.take(array, [0], batch), dims[batch], batch)
        return Value(g.const(array), array)
    return g.given(array, batch if way == "samples" else None, low=low, high=size - 1)


@makes("Gather", weight=3)
def gather(g: Sketch, op: str) -> None:
    value = g.pick("fffib", 1)
    axis = g.axis(value)
    way = g.dice.number(0, 5)
    if way == 0:
        index = indices(g, [], value.dims[axis], None)
    elif way == 1 and axis != value.batch:  # each sample chooses for all: the samples are in the indices
        index = indices(g, [g.size, g.dice.number(1, 2)], value.dims[axis], 0)
    else:
        index = indices(g, [g.dice.number(1, 3) for _ in range(g.dice.pick([1, 1, 2]))], value.dims[axis], None)
    batch = value.batch
    if batch is None:
        batch = None if index.batch is None else axis + index.batch
    elif batch > axis:
        batch += index.rank - 1
    elif batch == axis:
        batch = None
    g.keep(g.op(op, value, index, batch=batch, axis=g.signed(axis, value.rank)))


@makes("Gather", weight=1.2)
def embedding(g: Sketch, op: str) -> None:
    """A table that every sample reads at its own indices, which may be computed."""
    rows = g.dice.number(2, 5)
    table = g.const(g.dice.constant([rows, g.dice.number(1, 3)]))
    if g.dice.chance(0.5):
        dims = [g.size, g.dice.number(1, 3)] if g.dice.chance(0.7) else [g.size]
        index = g.given(g.dice.rng.integers(0, rows, dims), 0, low=-rows if g.opset >= 11 else 0, high=rows - 1)
    else:
        value = g.pick("f")
        if g.opset < 11 or value.array.dtype != np.float32:
            raise Misfit
        zero = g.const(0, np.float32)
        clean = g.op("Where", g.op("IsNaN", value), zero, value, batch=value.batch)
        clean = g.op("Clip", clean, zero, g.const(rows - 1, np.float32), batch=value.batch)
        index = g.op("Cast", clean, batch=value.batch, to=g.dice.pick([6, 7]))
    g.keep(g.op(op, table, index, batch=index.batch, axis=0))


@makes("Gather", weight=2.5)
def counting(g: Sketch, op: str) -> None:
    """Rows by numbers that count the samples, shifted or not."""
    value = g.pick("f", 1)
    if value.batch is None or g.opset < 11:
        raise Misfit
    count = squeezed(g, dim(g, value, value.batch))
    numbers = g.op("Range", g.const(0, np.int64), count, g.const(1, np.int64))
    if g.dice.chance(0.4):
        numbers = g.op("Add", numbers, g.const(g.dice.pick([-1, 0]), np.int64))
    if g.dice.chance(0.3):
        numbers = g.op("Mul", numbers, g.const(g.dice.pick([0, 1, -1, 2]), np.int64))
    g.keep(g.op(op, value, numbers, batch=value.batch, axis=value.batch))


@makes("GatherElements:11")
def gather_elements(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.axis(value)
    dims = [g.dice.number(1, 3) if place == axis else size for place, size in enumerate(value.dims)]
    index = indices(g, dims, value.dims[axis], value.batch)
    g.keep(g.op(op, value, index, batch=value.batch, axis=g.signed(axis, value.rank)))


def _rows(g: Sketch, value: Value, batch_dims: int) -> tuple[Array, int]:
    """Indices of GatherND, and how many dims they choose in."""
    depth = g.dice.number(1, value.rank - batch_dims)
    lead = [*value.dims[:batch_dims], g.dice.number(1, 3)]
    sizes = value.dims[batch_dims : batch_dims + depth]
    if 0 in sizes:
        raise Misfit
    columns = [g.dice.rng.integers(0, size, lead) for size in sizes]
    return np.stack(columns, -1), depth


@makes("GatherND:11")
def gather_nd(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    most = 0 if g.opset < 12 else min(2, value.rank - 1)
    if g.naming:  # it reads beyond indices that have fewer rows than the data
        most = 0
    inside = 1 if value.batch == 0 and most and g.dice.chance(0.6) else g.dice.number(0, most)
    array, depth = _rows(g, value, inside)
    size = min(value.dims[inside : inside + depth])
    way = g.dice.number(0, 2)
    if way == 0:
        index = Value(g.const(array), array)
    elif inside and value.batch == 0 and way == 1:
        index = g.given(array, 0, low=0, high=size - 1)
    else:
        index = g.given(array, low=0, high=size - 1)
    batch = value.batch
    if batch is not None and batch >= inside:
        batch = None if batch < inside + depth else batch - depth + 1
    g.keep(g.op(op, value, index, batch=batch, **({"batch_dims": inside} if inside else {})))


@makes("ScatterElements:11")
@makes("Scatter:9", until=10, weight=2)
def scatter(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.axis(value)
    dims = [g.dice.number(1, 2) if place == axis else size for place, size in enumerate(value.dims)]
    if dims[axis] > value.dims[axis]:
        raise Misfit
    rows = np.arange(dims[axis]).reshape([-1 if place == axis else 1 for place in range(value.rank)])
    index = g.const(np.broadcast_to(rows, dims).copy())  # none twice: the order would decide
    table = g.dice.constant(dims, value.array.dtype)
    given = value.batch is not None and g.dice.chance(0.5)
    updates = g.given(table, value.batch) if given else Value(g.const(table), table)
    how = {"reduction": g.dice.pick(["none", "add", "mul"])} if g.opset >= 16 else {}
    g.keep(g.op(op, value, index, updates, batch=value.batch, axis=axis, **how))


@makes("ScatterND:11")
def scatter_nd(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    depth = g.dice.number(1, value.rank)
    sizes = value.dims[:depth]
    if 0 in sizes:
        raise Misfit
    count = g.dice.number(1, min(3, int(np.prod(sizes))))
    places = g.dice.shuffled(range(int(np.prod(sizes))))[:count]
    rows = np.stack(np.unravel_index(places, sizes), -1).astype(np.int64)
    if value.batch is not None and value.batch < depth and g.dice.chance(0.7):  # the same rows of every sample
        every = [
            np.concatenate([np.where(np.arange(depth) == value.batch, n, rows[:1] * 1)])
            for n in range(sizes[value.batch])
        ]
        rows = np.concatenate(every)
    table = g.dice.constant([len(rows), *value.dims[depth:]], value.array.dtype)
    how = {"reduction": g.dice.pick(["none", "add"])} if g.opset >= 16 else {}
    g.keep(g.op(op, value, g.const(rows), g.const(table), batch=value.batch, **how))


@makes("OneHot:9")
def one_hot(g: Sketch, op: str) -> None:
    depth = g.dice.number(2, 4)
    dims = [g.size, g.dice.number(1, 3)]
    index = g.given(g.dice.rng.integers(0, depth, dims), 0, low=-depth if g.opset >= 11 else 0, high=depth - 1)
    axis = g.dice.number(-1, 2)
    batch = 1 if axis == 0 else 0
    size = (
        g.const([depth], np.int64) if g.dice.chance(0.7) else g.given(np.array([depth]), choices=(np.array([depth]),))
    )
    g.keep(g.op(op, index, size, g.const([0.0, 2.0], np.float32), batch=batch, axis=axis))


@makes("TopK")
def top_k(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.axis(value)
    size = value.dims[axis]
    if not size:
        raise Misfit
    k = g.dice.number(1, size)
    attributes: dict[str, object] = {"axis": axis}
    if g.opset < 10:
        given, attributes["k"] = [], k
    else:
        given = [vector(g, [k], [(value, axis)], [[1], [size]])]
    if g.opset >= 11:
        attributes |= {"largest": g.dice.number(0, 1)}
    values, index = g.ops(op, 2, value, *given, **attributes)
    g.keep(index._replace(batch=value.batch), values._replace(batch=value.batch))


@makes("NonZero:9 Unique:11", weight=0.4)
def found(g: Sketch, op: str) -> None:
    """As many as the values say."""
    value = g.pick("f", 1)
    axis = {} if op == "NonZero" or g.dice.chance(0.4) else {"axis": g.axis(value)}
    made = g.op(op, value, **axis)
    if made.array.dtype.kind == "i":
        made = g.op("Cast", made, to=1)
    g.keep(made._replace(batch=value.batch if axis else None))


@makes("Compress:9", weight=0.6)
def compress(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.axis(value)
    chosen = g.dice.rng.integers(0, 2, value.dims[axis] - g.dice.number(0, 1) if value.dims[axis] else 0).astype(bool)
    if not chosen.any():
        raise Misfit
    which = g.given(chosen).name if g.dice.chance(0.5) else g.const(chosen)
    g.keep(g.op(op, value, which, batch=value.batch, axis=axis))


@makes("Range:11", weight=0.3)
def range_of_data(g: Sketch, op: str) -> None:
    """As many numbers as an input says."""
    limit = g.given(np.array(3), low=1, high=5)
    made = g.op(op, g.const(0, np.int64), limit, g.const(1, np.int64))
    g.keep(g.op("Cast", made, to=1))


@makes("Tile:6 ConstantOfShape:9", weight=0.3)
def by_an_index(g: Sketch, op: str) -> None:
    """A size that is the value of an input, or of a dim less one."""
    count = vector(g, [g.dice.number(1, 3)], others=[[1], [2]])
    if op == "ConstantOfShape":
        g.keep(g.op(op, count))
        return
    value = g.pick("f", 1, 1)
    g.keep(g.op(op, value, count))
