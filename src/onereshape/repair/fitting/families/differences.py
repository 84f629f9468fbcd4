"""Differences: a constant of two positions that depends on their difference only, read as a table of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported
from onereshape.repair.fitting.families.positions import Position
from onereshape.repair.fitting.families.writing import bounded, cast, key_of
from onereshape.rule.sizes import Size

_NEIGHBOURS = (((0, 0), (1, 1)), ((-1, -1), (-2, -2)), ((0, -2), (1, -1)), ((-2, 0), (-1, 1)))
"""Two on a diagonal, of the first one or of the outermost."""


class Table(NamedTuple):
    """The entries for each difference, the place along the second axis less that along the first."""

    entries: Array
    """The axes of the constant, but with the differences in place of the first axis, and the second one of size 1."""
    low: int
    """The least difference."""
    rows: Position
    columns: Position

    @property
    def high(self) -> int:
        """The greatest difference."""
        return self.low + int(self.entries.shape[self.rows.axis]) - 1

    @property
    def lines(self) -> Array:
        """The entries, one line of differences after another."""
        moved = np.moveaxis(self.entries, self.rows.axis, -1)
        return moved.reshape(-1, moved.shape[-1])

    def between(self, low: int, high: int) -> Table:
        """The table from one difference to another."""
        kept = _between(self.entries, self.rows.axis, low - self.low, high - self.low + 1)
        return self._replace(entries=kept, low=low)


class Ends(NamedTuple):
    """How much more there is with each difference beyond the ends of a table."""

    before: Array
    after: Array
    """Both have the axes of the constant; those of the positions have size 1."""


def tables(exported: Exported) -> list[Table]:
    """The table of a constant whose two axes that grow only count by their difference: from the starts, or the ends."""
    if len(exported.growing) != 2 or any(_crossed(array, *exported.growing) for array in exported.arrays):
        return []
    found: list[Table] = []
    one, other = exported.growing
    sizes = exported.dims[one], exported.dims[other]
    starts: list[tuple[Size, Size]] = [(0, 0)]
    if sizes[0] != sizes[1]:
        starts.append((1 - sizes[0], 1 - sizes[1]))
    for first, second in starts:
        rows, columns = Position(one, sizes[0], 1, first), Position(other, sizes[1], 1, second)
        parts = [_table(array, rows, columns, binding) for array, binding in _cases(exported)]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts) and (joined := _joined(known)) is not None:
            found.append(joined)
    return found


def _cases(exported: Exported) -> Iterator[tuple[Array, Binding]]:
    return zip(exported.arrays, exported.bindings, strict=True)


def _crossed(array: Array, one: int, other: int) -> bool:
    """Whether two neighbours on a diagonal differ, of the first one or of the outermost: then there is no table."""
    if min(array.shape[one], array.shape[other]) < 2 or 0 in array.shape:
        return False
    wide = array.size > array.shape[one] * array.shape[other]
    for end in (0, -1) if wide else (0,):
        place = [end] * array.ndim
        for here, beside in _NEIGHBOURS:
            place[one], place[other] = here
            first = array.item(*place)
            place[one], place[other] = beside
            second = array.item(*place)
            if first != second and (first == first or second == second):  # noqa: PLR0124 - or both are NaN
                return True  # as most do

    def at(place: int) -> Array:
        found: list[slice | int] = [slice(None)] * array.ndim
        found[one] = found[other] = place
        return array[tuple(found)]

    numbers = array.dtype.kind == "f"
    return not all(np.array_equal(at(a), at(b), equal_nan=numbers) for a, b in ((0, 1), (-1, -2)))


def _table(array: Array, rows: Position, columns: Position, binding: Binding) -> Table | None:
    """The table of one export; None if entries of one difference differ."""
    if 0 in array.shape or not _is_table(array, rows.axis, columns.axis):
        return None
    along_rows = _between(_between(array, columns.axis, 0, 1), rows.axis, None, None, -1)
    along_columns = _between(_between(array, rows.axis, 0, 1), columns.axis, 1, None)
    entries = np.concatenate([along_rows, np.swapaxes(along_columns, rows.axis, columns.axis)], axis=rows.axis)
    low = columns.first(binding) - rows.first(binding) - (array.shape[rows.axis] - 1)
    return Table(entries, low, rows, columns)


def _is_table(array: Array, one: int, other: int) -> bool:
    """Whether each entry is the next one on its diagonal."""
    here, next_one = (_between(_between(array, one, *ends), other, *ends) for ends in ((None, -1), (1, None)))
    return bool((here == next_one).all() or np.array_equal(here, next_one, equal_nan=array.dtype.kind == "f"))


def _between(array: Array, axis: int, start: int | None, end: int | None, step: int = 1) -> Array:
    """The entries from one place to another, along an axis."""
    return array[(*(slice(None),) * axis, slice(start, end, step))]


def _joined(parts: list[Table]) -> Table | None:
    """One table from the least difference of all to the greatest; None if they overlap by less than 3, or differ."""
    ordered = sorted(parts, key=lambda part: part.low)
    whole = ordered[0]
    for part in ordered[1:]:
        low, high = max(whole.low, part.low), min(whole.high, part.high)
        if high - low < 2:
            return None
        one, other = whole.between(low, high).entries, part.between(low, high).entries
        if one.shape != other.shape or not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
            return None
        if part.high > whole.high:
            more = part.between(whole.high + 1, part.high).entries
            whole = whole._replace(entries=np.concatenate([whole.entries, more], axis=whole.rows.axis))
    return whole


def value_at(table: Table, binding: Binding, ends: Ends | None = None) -> Array:
    """The constant at given sizes; beyond its ends the table goes on as these say, or not at all."""
    rank, (one, other) = table.entries.ndim, (table.rows.axis, table.columns.axis)
    place = table.columns.at(binding, rank) - table.rows.at(binding, rank)
    matrix = place.reshape(place.shape[one], place.shape[other])
    if matrix.min(initial=0) < table.low or matrix.max(initial=0) > table.high:
        if ends is None:
            raise ValueError(f"a table of differences from {table.low} to {table.high} does not go on")
        matrix = np.minimum(np.maximum(matrix, table.low), table.high)
    flat = table.entries.reshape([size for axis, size in enumerate(table.entries.shape) if axis != other])
    where: tuple[slice | Array, ...] = (*(slice(None),) * one, matrix - table.low)
    found = flat[where]
    if other != one + 1:
        found = np.moveaxis(found, one + 1, other)
    if ends is not None and ends.before.any():
        found = found + ends.before * np.minimum(place - table.low, 0).astype(found.dtype)
    if ends is not None and ends.after.any():
        found = found + ends.after * np.maximum(place - table.high, 0).astype(found.dtype)
    return np.asarray(found)


def nodes_of(writer: Rewriter, table: Table, dims: tuple[Size, ...], ends: Ends | None = None) -> ir.Value:
    """The nodes that compute the constant."""
    rank, rows, columns = table.entries.ndim, table.rows, table.columns
    sides = () if ends is None else ends

    def make() -> ir.Value:
        flat = rows._replace(axis=0), columns._replace(axis=1)
        matrix = writer.front("Sub", [flat[1].make(writer, 2), flat[0].make(writer, 2)])
        if ends is not None:
            matrix = bounded(writer, matrix, table.low, table.high)
        if table.low:
            matrix = writer.front("Add", [matrix, writer.integers([-table.low])])
        if ends is None:
            matrix = stopping(writer, matrix, table.high - table.low + 1)
        entries = writer.constant(np.squeeze(table.entries, axis=columns.axis))
        found = writer.front("Gather", [entries, matrix], {"axis": rows.axis})
        if columns.axis != rows.axis + 1:
            order = [each for each in range(rank) if each != rows.axis + 1]
            order.insert(columns.axis, rows.axis + 1)
            found = writer.front("Transpose", [found], {"perm": order})
        return found if ends is None else _sloped(writer, table, found, ends)

    key = ("differences", table.low, rows, columns, dims, *key_of(table.entries, *sides))
    return writer.once(key, make)


def stopping(writer: Rewriter, places: ir.Value, count: int) -> ir.Value:
    """Places in a table of so many entries; one below 0, which would count from the end, becomes one too large."""
    below = writer.front("Less", [places, writer.integers([0])])
    return writer.front("Where", [below, writer.integers([count]), places])


def _sloped(writer: Rewriter, table: Table, found: ir.Value, ends: Ends) -> ir.Value:
    """What was found in the table, and what there is more beyond its ends."""
    rank = table.entries.ndim
    for slope, edge, bounds in ((ends.before, table.low, (None, 0)), (ends.after, table.high, (0, None))):
        if np.any(slope):
            place = writer.front("Sub", [table.columns.make(writer, rank), table.rows.make(writer, rank)])
            beyond = writer.front("Sub", [place, writer.integers([edge])])
            far = cast(writer, bounded(writer, beyond, *bounds), slope.dtype)
            found = writer.front("Add", [found, writer.front("Mul", [far, writer.constant(slope)])])
    return found
