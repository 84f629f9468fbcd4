"""Plane: the base and the slopes of one array whose entries lie on a plane over the axes that grow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, eps_of
from onereshape.repair.fitting.families.writing import along, first_along

_BEYOND = 2**52 + 1
"""Integers from here on are marks, not numbers that count."""


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
    rounding = rounding_of(array, axes)
    most, limit = (rounding, np.inf) if kind == np.float64 else (np.abs(array.astype(np.float64)), _BEYOND)
    if not most.max() < limit:  # or no number
        return None
    base = first_along(array, axes).astype(kind)
    slopes: dict[int, Array] = {}
    foretold, twice = base, 2 * rounding
    for axis in axes:
        line = first_along(array, [other for other in axes if other != axis]).astype(kind)
        slopes[axis] = _slope(line, axis)
        grown = slopes[axis] * np.arange(array.shape[axis]).reshape(along(array.ndim, axis))
        if (np.abs(base + grown - line) > twice).any():
            return None  # before all of it is looked at
        foretold = foretold + grown
    if len(axes) > 1 and not (np.abs(foretold - array) <= twice).all():
        return None
    return Plane(base, slopes, array.shape, rounding)


def is_bent(exported: Exported) -> bool:
    """Whether a few entries of an export already lie on no plane, as of most arrays that do not."""
    axes = exported.growing
    numbers = exported.of.largest_first
    if exported.arrays[0].dtype.kind not in "iuf" or not numbers:
        return True
    wide = [size for axis, size in enumerate(exported.dims) if axis not in axes and size != 1]
    for at in (-1, 0) if wide else (0,):  # at the end of the largest most of them do
        for number in numbers:
            for bend in _bends(exported.arrays[number], axes, at):
                if bend and exported.off(number, bend, 3):
                    return True
    return False


def is_bent_along(exported: Exported, axis: int) -> bool:
    """Whether a few entries along an axis, at the start of all other axes, already lie in no line."""
    for number, array in enumerate(exported.arrays):
        for bend in _bends(array, (axis,), 0) if array.size else ():
            if bend and exported.off(number, bend, 3):
                return True
    return False


def _bends(array: Array, axes: Sequence[int], at: int) -> Iterator[float]:
    """How far a few entries are from a plane, at the first place of the axes that do not grow, or at the last."""
    place = [0 if axis in axes else at for axis in range(array.ndim)]
    corner = list(place)
    start: float = array.item(*place)
    total: float = 0
    for axis in axes:
        end = corner[axis] = place[axis] = array.shape[axis] - 1
        rise: float = array.item(*place) - start
        total += rise
        for each in (1, 2, (end + 1) // 2, end - 1):
            if 0 < each < end:
                place[axis] = each
                yield abs((array.item(*place) - start) * end - rise * each) / end
        place[axis] = 0
    if len(axes) > 1:
        yield float(abs(array.item(*corner) - start - total))


def rounding_of(array: Array, axes: Sequence[int]) -> Array:
    """How far entries may be off, for each entry of the axes that do not grow: no more than its largest is rounded."""
    if array.dtype.kind != "f":
        return np.zeros([1 if axis in axes else size for axis, size in enumerate(array.shape)])
    largest = np.abs(array).max(axis=tuple(axes), keepdims=True, initial=0).astype(np.float64)
    return np.asarray(largest * (8 * eps_of(array.dtype)))


def near(found: Array, array: Array, axes: Sequence[int], times: float = 1.0) -> bool:
    """Whether an array is another one: integers exactly, floats to so many times the rounding of each line."""
    if found.shape != array.shape or array.dtype.kind != "f":
        return bool(np.array_equal(found, array))
    off = np.abs(found.astype(np.float64) - array.astype(np.float64))
    return bool((off <= times * rounding_of(array, axes)).all())


def _slope(line: Array, axis: int) -> Array:
    """From the first to the last entry of a line, of integers from the first to the second."""
    size = line.shape[axis]
    if size < 2:
        return np.zeros_like(line)
    first, second, last = (line[(*(slice(None),) * axis, slice(place, place + 1))] for place in (0, 1, size - 1))
    slope = (last - first) / (size - 1) if line.dtype.kind == "f" else second - first
    return np.asarray(slope)
