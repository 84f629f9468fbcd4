"""Plane: the base and the slopes of one array whose entries lie on a plane over the axes that grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from onereshape.models.like.exported import Array
from onereshape.models.like.families.writing import along, first_along

_LARGEST = 2**52
"""Integers beyond this are marks, not numbers that count."""


class Plane(NamedTuple):
    """The base and the slopes; int64 of integers, float64 of floating-point numbers."""

    base: Array
    slopes: Mapping[int, Array]
    shape: tuple[int, ...]
    rounding: Array
    """How far the entries may be off, for each entry of the axes that do not grow."""

    def rough(self, axis: int) -> Array | None:
        """How far the slope along an axis may be off; None where the axis has one entry and there is no slope."""
        return None if self.shape[axis] < 2 else 2 * self.rounding / (self.shape[axis] - 1)

    def plain(self, axis: int) -> bool:
        """Whether it counts 0, 1, 2 along an axis, wherever it counts at all."""
        slope = self.slopes[axis]
        return bool(np.all(np.isin(slope, (0, 1)) & ((slope == 0) | (self.base == 0))))


def plane_of(array: Array, axes: Sequence[int]) -> Plane | None:
    """The plane on which all entries lie; None if there is none."""
    if array.dtype.kind not in "iuf" or 0 in array.shape:
        return None
    kind = np.float64 if array.dtype.kind == "f" else np.int64
    with np.errstate(invalid="ignore"):
        rounding = rounding_of(array, axes)
    largest = float(np.abs(array.astype(np.float64)).max()) if array.dtype.kind != "f" else 0
    if not np.all(np.isfinite(rounding)) or largest > _LARGEST:
        return None
    base = first_along(array, axes).astype(kind)
    slopes: dict[int, Array] = {}
    foretold = base
    for axis in axes:
        line = first_along(array, [other for other in axes if other != axis]).astype(kind)
        slopes[axis] = _slope(line, axis)
        grown = slopes[axis] * np.arange(array.shape[axis]).reshape(along(array.ndim, axis))
        if np.any(np.abs(base + grown - line) > 2 * rounding):
            return None  # before all of it is looked at
        foretold = foretold + grown
    off = np.abs(foretold - array)
    return Plane(base, slopes, array.shape, rounding) if np.all(off <= 2 * rounding) else None


def is_bent(array: Array, axes: Sequence[int]) -> bool:
    """Whether a few entries already lie on no plane, as of most arrays that do not."""
    if array.dtype.kind not in "iuf" or 0 in array.shape:
        return True
    allowed = 24 * float(np.finfo(array.dtype).eps) * float(np.abs(array).max()) if array.dtype.kind == "f" else 0
    return _bend(array, axes, 0) > allowed or _bend(array, axes, -1) > allowed


def _bend(array: Array, axes: Sequence[int], at: int) -> float:
    """How far a few entries are from a plane, at the first place of the axes that do not grow, or at the last."""
    first = [0 if axis in axes else at for axis in range(array.ndim)]
    start: float = array.item(*first)

    def rise(axis: int, place: int) -> float:
        found: float = array.item(*first[:axis], place, *first[axis + 1 :]) - start
        return found

    last = {axis: array.shape[axis] - 1 for axis in axes if array.shape[axis] > 1}
    ends = {axis: rise(axis, end) for axis, end in last.items()}
    off = [
        abs(rise(axis, place) * end - ends[axis] * place) / end
        for axis, end in last.items()
        for place in {1, 2, (end + 1) // 2, end - 1}
        if place < end
    ]
    corner: float = array.item(*(last.get(axis, place) for axis, place in enumerate(first)))
    most: float = max([*off, abs(corner - start - sum(ends.values()))])
    return most


def rounding_of(array: Array, axes: Sequence[int]) -> Array:
    """How far entries may be off, for each entry of the axes that do not grow: no more than its largest is rounded."""
    largest = np.abs(array.astype(np.float64)).max(axis=tuple(axes), keepdims=True, initial=0)
    return np.asarray(largest * (8 * float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else 0))


def near(found: Array, array: Array, axes: Sequence[int]) -> bool:
    """Whether an array is another one: integers exactly, floats to the rounding of each line along the axes."""
    if found.shape != array.shape or array.dtype.kind != "f":
        return bool(np.array_equal(found, array))
    off = np.abs(found.astype(np.float64) - array.astype(np.float64))
    return bool(np.all(off <= rounding_of(array, axes)))


def _slope(line: Array, axis: int) -> Array:
    """From the first to the last entry of a line, of integers from the first to the second."""
    size = line.shape[axis]
    if size < 2:
        return np.zeros_like(line)
    first, second, last = (np.take(line, [place], axis=axis) for place in (0, 1, size - 1))
    slope = (last - first) / (size - 1) if line.dtype.kind == "f" else second - first
    return np.asarray(slope)
