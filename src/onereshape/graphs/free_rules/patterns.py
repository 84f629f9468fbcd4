"""Patterns: constants of which it is certain how they go on when an axis grows.

Only these are known: the same entries all along the axis; a count, one more with each entry (of integers with any
start, of floating-point numbers from 0); the difference of two such counts; and a triangle of two values, as causal
masks are.  Whether a constant must grow at all is decided by others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Size

_FEWEST = 3
"""Entries from which a pattern can be read."""


class Pattern(NamedTuple):
    """How a constant goes on."""

    words: str
    make: Callable[[Rewriter], ir.Value]
    largest: Size | None
    """Its largest entry, of integers."""


def pattern_of(array: Array, wanted: Mapping[int, Size]) -> Pattern | None:
    """The pattern of a constant along the axes that must take these sizes; None if there is none, or no certain one."""
    if any(array.shape[axis] < 2 for axis in wanted) or array.dtype.kind not in "biuf":
        return None
    return _count(array, wanted) or _triangle(array, wanted)


def _count(array: Array, wanted: Mapping[int, Size]) -> Pattern | None:
    """The pattern of a constant that counts by 1, -1 or 0 along each wanted axis: `[0, 1, 2] -> 0, 1 ... S - 1`."""
    base = _first(array, wanted)
    steps: dict[int, Array] = {}
    foretold = base if array.dtype.kind == "b" else base + np.zeros_like(base)
    for axis in wanted:
        step = _step(array, base, wanted, axis)
        if step is None:
            return None
        if np.any(step):
            steps[axis] = step
            numbers = np.arange(array.shape[axis]).astype(array.dtype).reshape(_along(array.ndim, axis))
            foretold = foretold + step * numbers
    with np.errstate(invalid="ignore"):
        if not np.array_equal(np.broadcast_to(foretold, array.shape), array, equal_nan=array.dtype.kind == "f"):
            return None
    if not _certain(array, base, steps):
        return None
    words = _words(wanted, steps)
    return Pattern(words, lambda writer: _counted(writer, array, wanted, base, steps), _largest(array, wanted, steps))


def _step(array: Array, base: Array, wanted: Mapping[int, Size], axis: int) -> Array | None:
    """What one entry more along an axis adds; None if it is no whole step."""
    if array.dtype.kind == "b":
        return np.zeros(base.shape, np.int64)
    second = _first(np.take(array, [1], axis=axis), {other: size for other, size in wanted.items() if other != axis})
    with np.errstate(invalid="ignore"):
        step = np.where(second == base, np.zeros_like(base), second - base)
    steps = (0, 1) if array.dtype.kind == "u" else (-1, 0, 1)
    return step if np.all(np.isin(step, steps)) else None


def _certain(array: Array, base: Array, steps: Mapping[int, Array]) -> bool:
    """Whether a count can only be read in one way: from the old size, or backwards, it would depend on the size."""
    for axis, step in steps.items():
        size = array.shape[axis]
        counted = np.broadcast_to(step != 0, base.shape)
        starts = base[counted]
        if size < _FEWEST or (array.dtype.kind == "f" and np.any(starts != 0)):
            return False
        if np.any(np.abs(starts) >= size - 1) or np.any(base[np.broadcast_to(step < 0, base.shape)] != 0):
            return False
    return True


def _words(wanted: Mapping[int, Size], steps: Mapping[int, Array]) -> str:
    kinds = [f"counts along axis {axis}" if axis in steps else f"is the same all along axis {axis}" for axis in wanted]
    return " and ".join(kinds)


def _largest(array: Array, wanted: Mapping[int, Size], steps: Mapping[int, Array]) -> Size | None:
    """The largest entry: a sum of a start and of the last numbers of the counts, none of which is below 0."""
    if array.dtype.kind not in "iu" or array.size == 0:
        return int(array.max()) if array.dtype.kind == "b" and array.size else None
    total: Size = int(_first(array, wanted).max())
    for axis, step in steps.items():
        if np.any(step > 0):
            total = (wanted[axis] - 1) + total
    return total


def _counted(
    writer: Rewriter, array: Array, wanted: Mapping[int, Size], base: Array, steps: Mapping[int, Array]
) -> ir.Value:

    def make() -> ir.Value:
        total: ir.Value | None = None if steps and not np.any(base) else writer.constant(base)
        for axis, step in steps.items():
            term = _numbers(writer, array, wanted[axis], axis)
            if not np.all(step == 1):
                term = writer.front("Mul", [term, writer.constant(step.astype(array.dtype))])
            total = term if total is None else writer.front("Add", [total, term])
        if total is None:
            raise ValueError(wanted)
        return (
            total
            if len(steps) == len(wanted) and _no_others(array, wanted)
            else writer.front("Expand", [total, _dims(writer, array, wanted)])
        )

    key = ("counted", array.dtype.str, array.shape, array.tobytes(), tuple(sorted(wanted.items(), key=str)))
    return writer.once(key, make)


def _no_others(array: Array, wanted: Mapping[int, Size]) -> bool:
    return all(size == 1 or axis in wanted for axis, size in enumerate(array.shape))


def _dims(writer: Rewriter, array: Array, wanted: Mapping[int, Size]) -> ir.Value:
    return writer.vector([wanted.get(axis, size) for axis, size in enumerate(array.shape)])


def _numbers(writer: Rewriter, array: Array, size: Size, axis: int) -> ir.Value:
    """The numbers from 0 on, along one axis, in the type of the constant."""
    kind, rank = ir.DataType.from_numpy(array.dtype), array.ndim

    def make() -> ir.Value:
        numbers = writer.count(size)
        if kind != ir.DataType.INT64:
            numbers = writer.front("Cast", [numbers], {"to": int(kind)})
        if rank > 1:
            numbers = writer.front("Reshape", [numbers, writer.integers(_along(rank, axis))])
        return numbers

    return writer.once(("numbers", size, axis, rank, kind), make)


def _triangle(array: Array, wanted: Mapping[int, Size]) -> Pattern | None:
    """Two values, one where the second place is not beyond the first, another where it is."""
    if len(wanted) != 2:
        return None
    rows, columns = sorted(wanted)
    size = array.shape[rows]
    if array.shape[columns] != size or wanted[rows] != wanted[columns] or size < _FEWEST:
        return None
    matrices = np.moveaxis(array, (rows, columns), (-2, -1)).reshape(-1, size, size)
    below, above = _corners(array, wanted)
    if below == above or not all(np.array_equal(matrix, matrices[0]) for matrix in matrices):
        return None
    kinds = [strict for strict in (False, True) if _is_triangle(matrices[0], below, above, strict=strict)]
    if not kinds:
        return None
    words = f"is a triangle of {below} below and {above} above the diagonal"
    return Pattern(words, lambda writer: _drawn(writer, array, wanted, strict=kinds[0]), None)


def _corners(array: Array, wanted: Mapping[int, Size]) -> tuple[Any, Any]:
    """The values below and above the diagonal."""
    matrix = np.moveaxis(array, sorted(wanted), (-2, -1)).reshape(-1, *(array.shape[axis] for axis in sorted(wanted)))[
        0
    ]
    return matrix[1, 0], matrix[0, 1]


def _is_triangle(matrix: Array, below: Any, above: Any, *, strict: bool) -> bool:
    places = np.tri(len(matrix), k=-int(strict), dtype=bool)
    return np.array_equal(np.where(places, below, above), matrix)


def _drawn(writer: Rewriter, array: Array, wanted: Mapping[int, Size], *, strict: bool) -> ir.Value:
    below, above = _corners(array, wanted)

    def make() -> ir.Value:
        places = np.empty(array.shape, np.int64)
        row, column = (_numbers(writer, places, wanted[axis], axis) for axis in sorted(wanted))
        # Below the diagonal the column comes before the row; on it neither does.
        inside = writer.front("Less", [column, row] if strict else [row, column])
        first, second = (below, above) if strict else (above, below)
        if array.dtype.kind == "b":
            found = inside if first else writer.front("Not", [inside])
        else:
            values = [writer.constant(np.array(each, array.dtype)) for each in (first, second)]
            found = writer.front("Where", [inside, *values])
        return found if _no_others(array, wanted) else writer.front("Expand", [found, _dims(writer, array, wanted)])

    key = ("drawn", array.dtype.str, array.shape, array.tobytes(), tuple(sorted(wanted.items(), key=str)))
    return writer.once(key, make)


def _first(array: Array, axes: Mapping[int, Any]) -> Array:
    """The first entry along some axes, which stay as axes of size 1."""
    return array[tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(array.ndim))]


def _along(rank: int, axis: int) -> list[int]:
    return [-1 if each == axis else 1 for each in range(rank)]
