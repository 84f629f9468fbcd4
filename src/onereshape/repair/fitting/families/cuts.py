"""Cuts: tables that no formula continues, of which every export has a part of the largest.

Only what the files show is taken: each export's table is, byte by byte, the start of the largest one, or its middle, or
its end.  The sizes end with the largest table, which is said as a limit.
"""

from __future__ import annotations

from itertools import islice, product
from math import gcd

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit, Limit, dims_at
from onereshape.repair.fitting.families.writing import bounded
from onereshape.rule.sizes import Formula, Size, cut, exact

_SIDES = ("start", "middle", "end")
_FEWEST = 2
"""Entries along an axis that the smallest table must have."""
_MOST_PART = 64
"""Entries in a row, at most, of which an axis may be made."""
_TRIED = 64
"""Sizes at which two ways to cut a table are compared."""

Sides = tuple[str, ...]


def cut_of(exported: Exported) -> Fit | None:
    """A constant of which each export has a part of the largest: the start, the middle or the end of each axis."""
    growing = exported.growing
    table = _largest(exported)
    if table is None or any(array.shape[axis] < _FEWEST for array in exported.arrays for axis in growing):
        return None
    if any(_tells_nothing(exported, table, axis) for axis in growing):
        return None
    choices = [_SIDES if _has_middle(exported, table, axis) else ("start", "end") for axis in growing]
    ways = [sides for sides in product(*choices) if _holds(exported, table, sides)]
    kept: list[Sides] = []
    for sides in ways:
        if not any(_same(exported, table, sides, other) for other in kept):
            kept.append(sides)
    if not kept or (any(side != _SIDES[0] for side in kept[0]) and not _rich(exported)):
        return None
    first, *others = (_fit(exported, table, sides) for sides in kept)
    return first._replace(others=tuple(others))


def is_one_start(exported: Exported) -> bool:
    """Whether each export has the start of the largest table: no entry depends on a size then."""
    table = _largest(exported)
    return table is not None and _holds(exported, table, (_SIDES[0],) * len(exported.growing))


def _fit(exported: Exported, table: Array, sides: Sides) -> Fit:
    dims, growing = exported.dims, exported.growing

    def at(binding: Binding) -> Array:
        return _taken(table, dims_at(dims, binding), growing, sides)

    def make(writer: Rewriter) -> ir.Value:
        starts = [_start(dims[axis], table.shape[axis], side) for axis, side in zip(growing, sides, strict=True)]
        ends = [start + dims[axis] for axis, start in zip(growing, starts, strict=True)]
        first = writer.vector(starts)
        if any(starts):  # beyond the table it would be below 0, and count from the end
            first = bounded(writer, first, 0, None)
        return writer.front("Slice", [writer.constant(table), first, writer.vector(ends), writer.integers(growing)])

    words = " and ".join(f"the {side} of a table along axis {axis}" for axis, side in zip(growing, sides, strict=True))
    limits = [
        Limit(dims[axis], table.shape[axis], "the largest table that an export has ends there") for axis in growing
    ]
    return Fit(f"is {words}", at, make, tuple(dict.fromkeys(limits)))


def _largest(exported: Exported) -> Array | None:
    """The table that is the largest along every axis, None if there is none, or none that is smaller."""
    most = tuple(max(sizes) for sizes in zip(*(array.shape for array in exported.arrays), strict=True))
    found = next((array for array in exported.arrays if array.shape == most), None)
    growing = exported.growing
    varied = all(min(array.shape[axis] for array in exported.arrays) < most[axis] for axis in growing)
    return found if growing and varied else None


def _holds(exported: Exported, table: Array, sides: Sides) -> bool:
    """Whether each export has this part of the largest table."""
    growing = exported.growing
    for array in exported.arrays:
        if array is table:
            continue
        taken = _taken(table, array.shape, growing, sides)
        if taken.flat[:1].tobytes() != array.flat[:1].tobytes() or taken.tobytes() != array.tobytes():
            return False
    return True


def _tells_nothing(exported: Exported, table: Array, axis: int) -> bool:
    """Whether all entries along an axis are equal but in the largest table: what differs there may be at its end."""
    others = (array for array in exported.arrays if array.shape[axis] < table.shape[axis])
    return not _is_even(table, axis) and all(_is_even(array, axis) for array in others)


def _is_even(array: Array, axis: int) -> bool:
    first = array.take([0], axis)
    return bool(np.all((array == first) | ((array != array) & (first != first))))  # noqa: PLR0124 - NaN


def _has_middle(exported: Exported, table: Array, axis: int) -> bool:
    """Whether an axis has a middle whatever its size, and an export shows that it is not one of whole parts.

    The middle of `8*H` entries is not that of H rows of 8, if the rows around it are an odd number.
    """
    size = exported.dims[axis]
    if exact(table.shape[axis] - size, 2) is None:
        return False
    part = next((each for each in range(_MOST_PART, 1, -1) if exact(size, each) is not None), 1) if _many(size) else 1
    return part == 1 or any((table.shape[axis] - array.shape[axis]) // 2 % part for array in exported.arrays)


def _many(size: Size) -> bool:
    """Whether a size may be a multiple of a number, whatever the symbols are."""
    numbers = [number for _, number in size.terms] if isinstance(size, Formula) else [size]
    whole = [number for number in numbers if isinstance(number, int)]
    return len(whole) < len(numbers) or gcd(*whole) > 1


def _same(exported: Exported, table: Array, sides: Sides, others: Sides) -> bool:
    """Whether two ways to cut are one at all sizes between those of the exports."""
    growing = exported.growing
    sizes = list(dict.fromkeys(exported.dims[axis] for axis in growing))
    ranges = []
    for size in sizes:
        lengths = [array.shape[axis] for axis in growing for array in exported.arrays if exported.dims[axis] == size]
        ranges.append(range(min(lengths), max(lengths) + 1))
    for chosen in islice(product(*ranges), _TRIED):
        shape = list(table.shape)
        for axis in growing:
            shape[axis] = chosen[sizes.index(exported.dims[axis])]
        one, other = (_taken(table, tuple(shape), growing, each) for each in (sides, others))
        if one.tobytes() != other.tobytes():
            return False
    return True


def _rich(exported: Exported) -> bool:
    """Whether no two entries along any axis that grows are equal in the smallest table: only then its place is sure."""
    smallest = min(exported.arrays, key=lambda array: array.size)
    for axis in exported.growing:
        rows = [row.tobytes() for row in np.moveaxis(smallest, axis, 0)]
        if len(set(rows)) < len(rows):
            return False
    return True


def _taken(table: Array, shape: tuple[int, ...], growing: tuple[int, ...], sides: Sides) -> Array:
    places = [slice(None)] * table.ndim
    for axis, side in zip(growing, sides, strict=True):
        start = _start(shape[axis], table.shape[axis], side)
        if not isinstance(start, int) or start < 0 or shape[axis] > table.shape[axis]:
            raise ValueError(f"a table of {table.shape[axis]} entries has no {shape[axis]}")
        places[axis] = slice(start, start + shape[axis])
    return table[tuple(places)]


def _start(size: Size, most: int, side: str) -> Size:
    """Where a part of some size starts in a table of `most` entries: end of 399 -> `399 - S`."""
    if side == "start":
        return 0
    rest = most - size
    return rest if side == "end" else cut(rest, 2)
