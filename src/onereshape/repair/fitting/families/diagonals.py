"""Diagonals: constants of two positions that depend on their difference only.

Masks, triangles and bands, are of two values.  Distances, clipped or not, go on as they end: in a line.  Of all other
tables no one knows more than the largest export has.
"""

from __future__ import annotations

from itertools import chain, islice

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit, Limit, agrees, distinct
from onereshape.repair.fitting.families.differences import Ends, Table, nodes_of, tables, value_at

_END = 3
"""Entries of a mask at each end that must be alike, from which it is taken to go on so."""
_LINE = 4
"""Entries at each end that must lie in a line."""
_RUNS = 3
"""Runs of alike entries in a mask: a band has three."""


def diagonals(exported: Exported) -> Fit | None:
    """A table of differences whose ends are known to go on; from the starts and from the ends are two readings."""
    found = tables(exported)
    fits = [fit for table in found if (fit := _ended(exported, table)) is not None]
    if not fits:
        return None
    cuts = (fit for table in found if (fit := _cut(exported, table)) is not None)
    return distinct(islice(chain(fits, cuts), len(found)), exported)


def diagonals_cut(exported: Exported) -> Fit | None:
    """A table of differences, as far as the largest export has it."""
    fits = [fit for table in tables(exported) if (fit := _cut(exported, table)) is not None]
    return distinct(fits, exported)


def _ended(exported: Exported, table: Table) -> Fit | None:
    """The table with ends that go on."""
    lines = table.lines
    known = _band(table, lines) or _clipped(table, lines, _least(exported))
    if known is None:
        return None
    middle, ends, words = known

    def at(binding: Binding) -> Array:
        return value_at(middle, binding, ends)

    fit = Fit(words, at, lambda writer: nodes_of(writer, middle, exported.dims, ends))
    return fit if agrees(fit, exported) else None


def _cut(exported: Exported, table: Table) -> Fit | None:
    """The table as it is."""
    if min(min(array.shape[axis] for axis in exported.growing) for array in exported.arrays) < 2:
        return None

    def at(binding: Binding) -> Array:
        return value_at(table, binding)

    rows, columns = exported.growing
    why = f"the table of differences between axis {rows} and axis {columns} goes no further"
    if table.rows.sized:  # both end at 0
        most = {exported.dims[rows]: table.high + 1, exported.dims[columns]: 1 - table.low}
    else:
        most = {exported.dims[rows]: 1 - table.low}
        most[exported.dims[columns]] = min(table.high + 1, most.get(exported.dims[columns], table.high + 1))
    limits = tuple(Limit(size, number, why) for size, number in most.items())
    words = f"depends on the difference between axis {rows} and axis {columns}"
    fit = Fit(words, at, lambda writer: nodes_of(writer, table, exported.dims), limits)
    return fit if agrees(fit, exported) else None


KnownTable = tuple[Table, Ends, str]


def _band(table: Table, lines: Array) -> KnownTable | None:
    """A mask: two values in each line, in no more runs than a band has."""
    changes = np.flatnonzero(np.any(_differ(lines[:, 1:], lines[:, :-1]), axis=0))
    if not len(changes) or any(_distinct(line) > 2 for line in lines):
        return None
    first, last = int(changes[0]), int(changes[-1]) + 1
    if len(changes) >= _RUNS or first + 1 < _END or lines.shape[1] - last < _END:
        return None
    # The entries beside the first and the last change stand for the ends.
    middle = table.between(table.low + first, table.low + last)
    shape = _sides(table)
    zeros = np.zeros(shape, table.entries.dtype)
    words = f"is a mask by the difference between axis {table.rows.axis} and axis {table.columns.axis}"
    return middle, Ends(zeros, zeros), words


def _distinct(line: Array) -> int:
    """How many values a line has, what is no number counted once."""
    found = set(line.tolist())
    numbers = {each for each in found if each == each}  # noqa: PLR0124 - but NaN
    return len(numbers) + (len(numbers) < len(found))


def _clipped(table: Table, lines: Array, least: int) -> KnownTable | None:
    """Lines that end straight on both sides, with nothing or one straight piece between."""
    if lines.dtype.kind not in "if" or lines.shape[1] < 2 * _LINE or np.any(np.isnan(lines)):
        return None
    whole = table
    if lines.dtype.kind == "f":
        table = table._replace(entries=_finite(table.entries))
        lines = table.lines
    wide = lines.astype(np.float64 if lines.dtype.kind == "f" else np.int64)
    eps = 8 * float(np.finfo(lines.dtype).eps) if lines.dtype.kind == "f" else 0
    # Beside its neighbours only, as a mask may stand in the same line.
    near = np.abs(wide)[:, 2:] + np.abs(wide)[:, 1:-1] + np.abs(wide)[:, :-2]
    turned = np.any(np.abs(np.diff(wide, 2, axis=1)) > eps * near, axis=0)
    bends = np.flatnonzero(turned) + 1
    if not len(bends):
        return None
    first, last = int(bends[0]), int(bends[-1])
    low, high = table.low + first, table.low + last
    between = last - first - 1
    if between > 0 and (between < 3 or np.any(turned[first + 1 : last - 2])):
        return None
    # Each end must be as long again as what comes before, and begin where the smallest export shows it too:
    # buckets that become wider with the distance look like a clipped count for a while.
    if low - table.low + 1 < _LINE or table.low > 2 * low or high * 2 > table.high:
        return None
    if table.high - high + 1 < _LINE or max(-low, high) > least - 2:
        return None
    edges = min(low, high), max(low, high)
    ends = Ends(_slope(table, table.low, edges[0]), _slope(table, edges[1], table.high))
    middle = table.between(*edges)
    words = f"goes straight on with the difference between axis {table.rows.axis} and axis {table.columns.axis}"
    return (whole.between(*edges), ends, words) if _straight(table, middle, ends, eps) else None


def _finite(entries: Array) -> Array:
    """What is not finite as a number that is far off, in a line with itself; and none so far that it overflows."""
    far = np.finfo(entries.dtype).max / 4
    found = np.where(np.isinf(entries), np.copysign(far, entries), entries)
    return np.asarray((np.clip(found, -far, far) if entries.dtype.itemsize > 4 else found).astype(entries.dtype))


def _slope(table: Table, one: int, other: int) -> Array:
    """The growth per difference, from the entries of one difference to those of another; integers rounded down."""
    first, second = (table.between(each, each).entries for each in (one, other))
    if first.dtype.kind != "f":
        return np.asarray((second - first) // (other - one))
    wide = (second.astype(np.float64) - first.astype(np.float64)) / (other - one)
    return np.asarray(wide.astype(first.dtype))


def _straight(table: Table, middle: Table, ends: Ends, eps: float) -> bool:
    """Whether a table is its middle and what goes on beyond."""
    axis = table.rows.axis
    for edge, other, slope in ((middle.low, table.low, ends.before), (middle.high, table.high, ends.after)):
        low, high = min(edge, other), max(edge, other)
        far = (np.arange(low, high + 1) - edge).reshape([-1 if each == axis else 1 for each in range(slope.ndim)])
        start = table.between(edge, edge).entries
        there = table.between(low, high).entries
        off = np.abs((start + slope * far.astype(slope.dtype)).astype(np.float64) - there)
        if np.any(off > eps * (np.abs(there.astype(np.float64)) + np.abs(start.astype(np.float64)))):
            return False
    return True


def _sides(table: Table) -> tuple[int, ...]:
    """The dims of what stands beside a table."""
    axes = table.rows.axis, table.columns.axis
    return tuple(1 if axis in axes else size for axis, size in enumerate(table.entries.shape))


def _least(exported: Exported) -> int:
    """The smallest size of an axis that grows, in the smallest export."""
    return int(min(array.shape[axis] for array in exported.arrays for axis in exported.growing))


def _differ(one: Array, other: Array) -> Array:
    unequal = one != other
    if one.dtype.kind == "f":
        unequal &= ~(np.isnan(one) & np.isnan(other))
    return np.asarray(unequal)
