"""Writing: what the families need to write their constants as nodes, and to read them from arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache, reduce

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Items, size_at
from onereshape.rule.sizes import Formula, Size, symbol

_FIRST, _ALL = slice(0, 1), slice(None)


def first_along(array: Array, axes: Sequence[int]) -> Array:
    """The first entry along some axes, which stay as axes of size 1."""
    return array[tuple([_FIRST if axis in axes else _ALL for axis in range(array.ndim)])]


def along(rank: int, axis: int) -> tuple[int, ...]:
    """The dims of a vector that lies along an axis."""
    return (*(1,) * axis, -1, *(1,) * (rank - axis - 1))


def sizes_of(exported: Exported) -> list[Formula]:
    """The sizes that a constant may depend on: of its axes, and the symbols; those that differ between the exports."""
    return [*_sizes_of(exported.dims, exported.items)]


@lru_cache(maxsize=256)
def _sizes_of(dims: tuple[Size, ...], items: Items) -> tuple[Formula, ...]:
    bindings = [dict(each) for each in items]
    names = [symbol(name) for name in sorted(set().union(*bindings))]
    found = dict.fromkeys([*(size for size in dims if isinstance(size, Formula)), *names])
    return tuple(size for size in found if len({size_at(size, binding) for binding in bindings}) > 1)


def dims_of(writer: Rewriter, dims: Sequence[Size]) -> ir.Value:
    """Dims as a vector."""
    return writer.vector(list(dims))


def spread(writer: Rewriter, value: ir.Value, shape: Sequence[Size], dims: Sequence[Size]) -> ir.Value:
    """A value of dims `shape`, expanded to `dims`: `[1, S] -> [4, S]`; as it is where both are equal."""
    return value if tuple(shape) == tuple(dims) else writer.front("Expand", [value, dims_of(writer, dims)])


def cast(writer: Rewriter, value: ir.Value, kind: np.dtype[np.generic]) -> ir.Value:
    """A value in the type of an array."""
    wanted = ir.DataType.from_numpy(kind)
    if isinstance(value.type, ir.TensorType) and value.type.dtype == wanted:
        return value
    return writer.once(("cast", value, wanted), lambda: writer.front("Cast", [value], {"to": int(wanted)}))


def total(writer: Rewriter, parts: Sequence[ir.Value]) -> ir.Value:
    """The sum of values."""
    return reduce(lambda one, other: writer.front("Add", [one, other]), parts)


def bounded(writer: Rewriter, value: ir.Value, low: int | None, high: int | None) -> ir.Value:
    """Integers, none below or above a number."""
    for bound, op in ((low, "Max"), (high, "Min")):
        if bound is None:
            continue
        limit = writer.integers([bound])
        if writer.opset >= 12:
            value = writer.front(op, [value, limit])
        else:  # there it is for floating-point numbers only
            outside = writer.front("Less", [value, limit] if op == "Max" else [limit, value])
            value = writer.front("Where", [outside, limit, value])
    return value


def key_of(*arrays: Array) -> tuple[object, ...]:
    """Types, dims and bytes of arrays: the key by which `Rewriter.once` writes equal constants once."""
    return tuple((array.dtype.str, array.shape, array.tobytes()) for array in arrays)


def probes(exported: Exported) -> Iterator[Binding]:
    """Sizes that were not exported: a few more, of other residues, and multiples, by which what is divided is whole."""
    names = sorted(set().union(*exported.bindings))
    for more in (1, 2, 5):
        for binding in exported.bindings:
            yield {
                name: binding[name] + (more + place) * exported.steps.get(name, 1) for place, name in enumerate(names)
            }
    for factors in ((2, 3, 5, 7), (5, 7, 2, 3)):
        for binding in exported.bindings:
            yield {name: binding[name] * factors[place % len(factors)] for place, name in enumerate(names)}
