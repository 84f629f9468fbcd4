"""Same: a constant that is the same all along the axes that grow, entry by entry or block by block."""

from __future__ import annotations

from itertools import pairwise, product
from math import gcd

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit, Limit, agrees, dims_at, unlike
from onereshape.repair.fitting.families.writing import dims_of, first_along, spread
from onereshape.rule.sizes import Size, exact

_LONGEST_BLOCK = 64


def same(exported: Exported) -> Fit | None:
    """The same entries all along the axes that grow; of truth values for pairs, only as far as it was seen.

    Truth values of two positions are a mask: where all are alike, a window may end beyond the largest export.
    """
    axes = exported.growing
    if not axes or exported.of.starts_differ or _ends_differ(exported):
        return None  # as most do
    slices = [first_along(array, axes) for array in exported.arrays]
    if any(one.shape != other.shape or not _equal(one, other) for one, other in pairwise(slices)):
        return None
    piece, dims = slices[0], exported.dims
    if any(unlike(_some_along(array, axes), piece, array) for array in exported.arrays):
        return None

    def at(binding: Binding) -> Array:
        return np.broadcast_to(piece, dims_at(dims, binding)).copy()

    def make(writer: Rewriter) -> ir.Value:
        key = ("same", piece.dtype.str, piece.shape, piece.tobytes(), dims)
        return writer.once(key, lambda: spread(writer, writer.constant(piece), piece.shape, dims))

    listed = " and ".join(map(str, axes))
    fit = Fit(f"is the same all along axis {listed}", at, make, _mask_limits(exported))
    return fit if _seen(exported) and agrees(fit, exported) else None


def blocks(exported: Exported) -> Fit | None:
    """The same block again and again along one axis that grows, whose size is a multiple of the block's."""
    if len(exported.growing) != 1 or not exported.arrays[0].size:
        return None
    (axis,) = exported.growing
    sizes = [array.shape[axis] for array in exported.arrays]
    common = gcd(*sizes)
    # Twice in one of them at least, or it is a table that was cut and not a block that comes again.
    for length in range(2, min(_LONGEST_BLOCK, max(sizes) // 2, *sizes) + 1):
        if common % length or not _starts_again(exported, axis, length):
            continue
        many = exact(exported.dims[axis], length)
        if many is None or not _again(exported, axis, length):
            continue
        if agrees(fit := _tiled(exported, axis, length, many), exported):
            return fit
    return None


def corners_alike(exported: Exported) -> bool:
    """Whether the corners of all exports are the same, as of what is the same all along all parts of its axes."""
    axes, numbers = exported.growing, exported.arrays[0].dtype.kind == "f"
    if any(not array.size for array in exported.arrays):
        return True
    for corner in product((0, -1), repeat=len(axes)):
        places = dict(zip(axes, corner, strict=True))
        at = [places.get(axis, 0) for axis in range(len(exported.dims))]
        first, *others = [array.item(*at) for array in exported.arrays]
        for other, rounding in zip(others, exported.of.rounding[1:] if numbers else others, strict=True):
            near = numbers and abs(other - first) <= rounding + exported.of.rounding[0]
            if other != first and not near and (first == first or other == other):  # noqa: PLR0124 - or both are NaN
                return False
    return True


def _ends_differ(exported: Exported) -> bool:
    """Whether a few entries along the axes that grow are not the first one, in an export: the last, and the second.

    The last one where the other axes start, and where they end.
    """
    axes = exported.growing
    last = [-1 if axis in axes else 0 for axis in range(len(exported.dims))]
    start = [-1 - place for place in last]
    for number, array in enumerate(exported.arrays):
        if not array.size:
            continue
        first = array.item(0)
        for one, other in ((array.item(*last), first), (array.item(-1), array.item(*start))):
            if one != other and _apart(exported, number, one, other):
                return True
        for axis in axes:
            if array.shape[axis] > 1:
                place = [0] * array.ndim
                place[axis] = 1
                if array.item(*place) != first and _apart(exported, number, array.item(*place), first):
                    return True
    return False


def _apart(exported: Exported, number: int, one: float, other: float) -> bool:
    """Whether two entries of an export that differ do so by more than they are rounded."""
    return exported.arrays[0].dtype.kind != "f" or exported.off(number, abs(one - other))


def _some_along(array: Array, axes: tuple[int, ...]) -> Array:
    """A few entries along some axes, from the last one backwards."""
    steps = [-max(1, size // 3) if axis in axes else 1 for axis, size in enumerate(array.shape)]
    return array[tuple(slice(None, None, step) for step in steps)]


def _starts_again(exported: Exported, axis: int, length: int) -> bool:
    """Whether the first number comes again after so many entries, or as near to it as numbers are rounded."""
    place = [0] * len(exported.dims)
    place[axis] = length
    first, numbers = exported.arrays[0].item(0), exported.arrays[0].dtype.kind == "f"
    for number, array in enumerate(exported.arrays):
        if array.shape[axis] > length:
            one = array.item(*place)
            if one != first and not (numbers and not exported.off(number, abs(one - first))):
                return False
    return True


def _again(exported: Exported, axis: int, length: int) -> bool:
    """Whether the first entries come again after so many, as far as that tells anything."""
    first = exported.arrays[0]
    longer = [array for array in exported.arrays if array.shape[axis] > length]
    start, again = ((*(slice(None),) * axis, slice(place, place + 1)) for place in (0, length))
    return not any(unlike(array[again], first[start], array) for array in longer)


def _tiled(exported: Exported, axis: int, length: int, many: Size) -> Fit:
    block = np.take(exported.arrays[0], range(length), axis=axis)
    ones: list[Size] = [many if each == axis else 1 for each in range(block.ndim)]

    def at(binding: Binding) -> Array:
        return np.tile(block, dims_at(tuple(ones), binding))

    def make(writer: Rewriter) -> ir.Value:
        key = ("tiled", block.dtype.str, block.shape, block.tobytes(), axis, many)
        return writer.once(key, lambda: writer.front("Tile", [writer.constant(block), dims_of(writer, ones)]))

    return Fit(f"is the same {length} entries again and again along axis {axis}", at, make)


def _equal(one: Array, other: Array) -> bool:
    return bool(np.all(one == other)) or bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fc"))


def _seen(exported: Exported) -> bool:
    """Whether each axis that grows has two entries or more somewhere, so that being the same says something."""
    return all(max(array.shape[axis] for array in exported.arrays) >= 2 for axis in exported.growing)


def _mask_limits(exported: Exported) -> tuple[Limit, ...]:
    if exported.arrays[0].dtype.kind != "b" or len(exported.growing) != 2:
        return ()
    why = "a mask is the same for all pairs of positions so far, and a window may end beyond"
    found = {exported.dims[axis]: max(array.shape[axis] for array in exported.arrays) for axis in exported.growing}
    return tuple(Limit(size, most, why) for size, most in found.items())
