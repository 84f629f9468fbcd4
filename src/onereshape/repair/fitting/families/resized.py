"""Resized: tables over a grid that a model interpolates to the size of its picture, as positions of patches are.

One export has the grid itself, and every other one what PyTorch makes of it: by lines or by cubics, corners on corners
or not, with or without smoothing where it shrinks.  Which export has the grid, and which way was taken, is found by
trying them; only one may fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit, Limit, alike, at_least, dims_at
from onereshape.repair.fitting.families.lengths import changes
from onereshape.rule.sizes import Size

_LARGEST = 1e4
"""Beyond are the marks of masks, beside which all else is lost in rounding."""
_FEWEST = 2
"""Entries of the grid along an axis."""

_ALL = slice(None)

SizeSteps = tuple[tuple[int, int, int], ...]
_LARGER: SizeSteps = ((2, 1, 1), (3, 2, 0), (1, 1, 1))
_SMALLER: SizeSteps = ((1, 2, 0), (2, 3, 0))
_SIZES = (*_LARGER, *_SMALLER)
"""Times and parts of the sizes of a grid at which two ways are compared, and how many more."""


class Interpolation(NamedTuple):
    """How a grid is interpolated."""

    cubic: bool
    smooth: bool = False
    """Over all entries that one new entry covers, where it shrinks."""
    corners: bool = False
    """The first and the last entry stay."""

    @property
    def coefficient(self) -> float:
        return -0.5 if self.smooth else -0.75

    def __str__(self) -> str:
        kind = "cubic" if self.cubic else "linear"
        return kind + ", smoothed" * self.smooth + ", corners on corners" * self.corners


WAYS = (
    Interpolation(cubic=True),
    Interpolation(cubic=True, smooth=True),
    Interpolation(cubic=True, corners=True),
    Interpolation(cubic=False),
    Interpolation(cubic=False, smooth=True),
    Interpolation(cubic=False, corners=True),
)


class _Middle(NamedTuple):
    """One entry in the middle of a plane, which tells of most arrays that they are not interpolated."""

    place: tuple[int, int]
    sizes: tuple[int, int]
    value: float
    allowed: float
    """How far it may be off."""

    @classmethod
    def of(cls, array: Array, axes: tuple[int, ...], rounding: float) -> _Middle:
        height, width = (array.shape[axis] for axis in axes)
        place = {axes[0]: height // 3, axes[1]: width // 3}
        value: float = array.item(*(place.get(axis, 0) for axis in range(array.ndim)))
        return cls((height // 3, width // 3), (height, width), value, 2 * rounding)

    def ways(self, plane: Array) -> list[Interpolation]:
        """The interpolations that make this entry of a plane of the grid."""
        rows, columns = (_taps(*each) for each in zip(plane.shape, self.sizes, self.place, strict=True))
        values = ((rows @ plane) * columns).sum(axis=1).tolist()
        return [way for way, value in zip(WAYS, values, strict=True) if abs(value - self.value) <= self.allowed]


def resized(exported: Exported) -> Fit | None:
    """A table over two axes that grow, of which one export has the grid and the others what is interpolated from it."""
    axes = exported.growing
    if exported.arrays[0].dtype != np.float32 or len(axes) != 2 or axes[1] != axes[0] + 1:
        return None
    if not exported.of.varied or not all((np.abs(array) < _LARGEST).all() for array in exported.arrays):
        return None
    kept: list[tuple[Array, Interpolation]] = []
    limits: tuple[Limit, ...] = ()
    for reading in _readings(exported, axes):
        if any(_same(reading, other, axes, _SIZES) for other in kept):
            continue
        if len(kept) == 1 and reading[0] is kept[0][0] and (seen := _as_far_as(exported, kept[0], reading, axes)):
            limits = seen
        else:
            kept.append(reading)
    fits = [_fit(exported, axes, *reading, limits) for reading in kept]
    return fits[0]._replace(others=tuple(fits[1:])) if fits else None


def _as_far_as(
    exported: Exported, one: tuple[Array, Interpolation], other: tuple[Array, Interpolation], axes: tuple[int, ...]
) -> tuple[Limit, ...]:
    """Up to where two readings are one, if all other exports are larger than the grid, or all are smaller."""
    grid = one[0]
    shapes = [array.shape for array in exported.arrays]
    dims = dict.fromkeys((exported.dims[axis], grid.shape[axis]) for axis in axes)
    if all(shape[axis] >= grid.shape[axis] for shape in shapes for axis in axes) and _same(one, other, axes, _LARGER):
        return tuple(at_least(size, number, "the table only grew in the exports") for size, number in dims)
    if all(shape[axis] <= grid.shape[axis] for shape in shapes for axis in axes) and _same(one, other, axes, _SMALLER):
        return tuple(Limit(size, number, "the table only shrank in the exports") for size, number in dims)
    return ()


def _fit(exported: Exported, axes: tuple[int, ...], grid: Array, way: Interpolation, limits: tuple[Limit, ...]) -> Fit:
    dims = exported.dims

    def at(binding: Binding) -> Array:
        shape = dims_at(dims, binding)
        return interpolated(grid, axes, (shape[axes[0]], shape[axes[1]]), way)

    words = f"is a table of {grid.shape[axes[0]]} x {grid.shape[axes[1]]} entries, interpolated ({way})"
    return Fit(words, at, lambda writer: _made(writer, grid, dims, axes, way), limits, 18 if way.smooth else 11)


def _readings(exported: Exported, axes: tuple[int, ...]) -> Iterator[tuple[Array, Interpolation]]:
    """Arrays of exports that may be the grid, with an interpolation that makes the arrays of all others from it."""
    first, second = axes
    for grid in exported.arrays:
        if min(grid.shape[first], grid.shape[second]) < _FEWEST:
            continue
        others = [array for array in exported.arrays if array is not grid]  # any way leaves the grid itself as it is
        plane = grid[tuple([_ALL if axis in axes else 0 for axis in range(grid.ndim)])]
        known = zip(exported.arrays, exported.of.rounding, strict=True)
        middles = [_Middle.of(array, axes, off) for array, off in known if array is not grid and array.size]
        likely = [middle.ways(plane) for middle in middles]
        ways = [way for way in WAYS if all(way in each for each in likely)]
        if (
            not ways
            or not any(_mixed(grid, array) for array in others)
            or any(_even(grid, axis) or _straight(grid, axis) for axis in axes)
        ):
            continue
        for way in ways:
            if all(
                alike(interpolated(grid, axes, (array.shape[first], array.shape[second]), way), array)
                for array in others
            ):
                yield grid, way


def _even(grid: Array, axis: int) -> bool:
    """Whether two neighbours along an axis are the same, which any interpolation leaves as they are."""
    rows = np.moveaxis(grid, axis, 0).reshape(grid.shape[axis], -1)
    return bool(np.any(np.all(rows[1:] == rows[:-1], axis=1)))


def _straight(grid: Array, axis: int) -> bool:
    """Whether all lines along an axis are straight: any interpolation leaves them so, and it is no table."""
    return not changes(grid, axis).any()


def _mixed(grid: Array, array: Array) -> bool:
    """Whether enough entries are between those of the grid, and not some of these."""
    return 4 * int(np.isin(array, grid).sum()) < 3 * array.size


def _same(
    one: tuple[Array, Interpolation], other: tuple[Array, Interpolation], axes: tuple[int, ...], sizes: SizeSteps
) -> bool:
    """Whether two readings are one at sizes that are so many parts of the grid's, and some more."""
    height, width = (one[0].shape[axis] for axis in axes)
    tried = [(-(-height * up // down) + more, -(-width * up // down) + 2 * more) for up, down, more in sizes]
    return all(alike(*(interpolated(grid, axes, size, way) for grid, way in (one, other))) for size in tried)


def interpolated(grid: Array, axes: tuple[int, ...], sizes: tuple[int, int], way: Interpolation) -> Array:
    """A grid interpolated to sizes along two axes, as PyTorch does it."""
    found = grid.astype(np.float64)
    for axis, size in zip(axes, sizes, strict=True):
        found = np.moveaxis(
            np.tensordot(_weights(grid.shape[axis], np.arange(size), size, way), found, (1, axis)), 0, axis
        )
    return found.astype(grid.dtype)


@lru_cache(maxsize=256)
def _taps(old: int, new: int, place: int) -> Array:
    """The weights of the old entries along an axis in the new entry at a place: a row for each of `WAYS`."""
    return np.concatenate([_weights(old, np.array([place]), new, way) for way in WAYS])


def _weights(old: int, places: Array, new: int, way: Interpolation) -> Array:
    """How much of each old entry is in each of some new ones, of so many."""
    if way.corners:
        centres = places * ((old - 1) / (new - 1)) if new > 1 else places * 0.0
        scale = 1.0
    else:
        scale = old / new
        centres = (places + 0.5) * scale - 0.5
    if way.smooth:
        return _smooth(old, centres, max(scale, 1.0), way)
    if not way.cubic:
        centres = np.clip(centres, 0, old - 1)
    base = np.floor(centres).astype(np.int64)
    weights, rows = np.zeros((len(places), old)), np.arange(len(places))
    for step in range(-1, 3) if way.cubic else range(2):
        share = _kernel(centres - (base + step), way)
        np.add.at(weights, (rows, np.clip(base + step, 0, old - 1)), share)
    return weights


def _smooth(old: int, centres: Array, scale: float, way: Interpolation) -> Array:
    """Weights of the old entries by a kernel as wide as a new entry; each row adds up to 1 without entries outside."""
    shares = _kernel((np.arange(old) - centres[:, None]) / scale, way)
    total: Array = shares / shares.sum(axis=1, keepdims=True)
    return total


def _kernel(distance: Array, way: Interpolation) -> Array:
    """How much an entry counts at a distance."""
    x = np.abs(distance)
    if not way.cubic:
        return np.maximum(0.0, 1.0 - x)
    a = way.coefficient
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


def _made(writer: Rewriter, grid: Array, dims: tuple[Size, ...], axes: tuple[int, ...], way: Interpolation) -> ir.Value:
    """A Resize of the grid, with its two axes last."""
    others = [axis for axis in range(grid.ndim) if axis not in axes]
    order = [*others, *axes]
    height, width = (grid.shape[axis] for axis in axes)
    planes = np.transpose(grid, order).reshape(1, -1, height, width)
    target = [1, planes.shape[1], *(dims[axis] for axis in axes)]
    attributes: dict[str, object] = {
        "mode": "cubic" if way.cubic else "linear",
        "coordinate_transformation_mode": "align_corners" if way.corners else "half_pixel",
    }
    if way.cubic:
        attributes["cubic_coeff_a"] = way.coefficient
    if way.smooth:
        attributes |= {"antialias": 1, "exclude_outside": 1}
    nothing = writer.constant(np.zeros(0, np.float32))
    value = writer.front("Resize", [writer.constant(planes), nothing, nothing, writer.vector(target)], attributes)
    value = writer.front("Reshape", [value, writer.vector([dims[axis] for axis in order])])
    back = [order.index(axis) for axis in range(grid.ndim)]
    return value if back == sorted(back) else writer.front("Transpose", [value], {"perm": back})
