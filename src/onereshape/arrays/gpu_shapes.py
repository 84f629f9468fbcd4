"""Which boxes a copy's elements are cut into: of several lengths of runs the cheapest, by the bytes that memory moves.

The innermost dims of the destination are taken whole, one after the other, until runs of bytes are long there; then
those of the source, by their strides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod
from typing import NamedTuple

from onereshape.arrays.gpu_banks import ROOM, SECTOR, TABLE, CopyDim

Trims = tuple[tuple[int, int], ...]

_TARGETS = (32, 64, 128, 256, 512, 1024)
_FINE = (32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""The bytes of runs that are tried, and those for units of a word or more."""

_GAP = 16
"""The bytes between elements that are read along with them rather than skipped."""

_LINES = 64, 32
"""The bytes that a run of the destination, and a row of the source, cost beyond their own: the parts of sectors."""

_ALIGNED = 8
"""The bytes that runs and rows cost beyond their own where all begin with a sector."""

TRIMS = (SECTOR, 8), (4, 40)
"""The bytes at whose multiples writes may begin where neighbours overlap, and the cost of a run beyond its bytes."""

TRIMMED = 4
"""The bytes of a unit up to which that pays."""

_ROUNDED = 2
"""How much longer than asked for parts may be that are whole sectors."""

_EACH = 1024
"""What a box costs besides its runs, in bytes."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A box: extents by dim, how far apart boxes begin, the dims that rows of the source go on along, and the cost.

    Where boxes overlap along the dim that runs are cut at, each writes from a multiple of `trim` bytes to another.
    """

    extents: tuple[int, ...]
    steps: tuple[int, ...]
    joined: frozenset[int]
    trim: int
    cost: float


class _Layout(NamedTuple):
    """Dims, the bytes moved as one, and the dims that the source walks, the nearest first."""

    dims: tuple[CopyDim, ...]
    unit: int
    by_source: list[int]
    trims: Trims


@lru_cache(maxsize=64)
def best(dims: tuple[CopyDim, ...], unit: int, room: int, trims: Trims = TRIMS) -> Shape | None:
    """The cheapest of the boxes that hold runs of these lengths."""
    by_source = sorted(
        (axis for axis, (_, stride, _) in enumerate(dims) if stride), key=lambda axis: (abs(dims[axis][1]), -axis)
    )
    layout = _Layout(dims, unit, by_source, trims)
    found: Shape | None = None
    seen: set[tuple[int, ...]] = set()
    for extents in _grown(dims, by_source, unit, room):
        _fill(dims, extents, unit, room)
        if tuple(extents) in seen:
            continue
        seen.add(tuple(extents))
        for shape in _shapes(layout, tuple(extents)):
            if found is None or shape.cost < found.cost:
                found = shape
    return found


def _grown(dims: tuple[CopyDim, ...], by_source: list[int], unit: int, room: int) -> Iterator[list[int]]:
    """The extents that hold runs of each two lengths, the destination's and the source's, until nothing grows."""
    seen: set[tuple[int, ...]] = set()
    targets = _TARGETS if unit < 4 else _FINE
    for to in targets:
        first, more_to = _grown_destination(dims, unit, to)
        if prod(first) * unit > room:
            return
        for of in targets:
            extents, more_of = _grown_source(dims, first, by_source, unit, of)
            if prod(extents) * unit > room:
                break
            key = tuple(extents)
            if key not in seen:
                seen.add(key)
                yield extents
            if not more_of:
                break
        if not more_to:
            return


@lru_cache(maxsize=4096)
def _even(size: int, extent: int, run: int) -> int:
    """Parts of at most about that extent and of one length, in whole sectors of those runs where that costs little."""
    if extent >= size:
        return size
    whole = SECTOR // gcd(SECTOR, run)
    count = -(-size // extent)
    even = -(-size // count)
    if even % whole == 0:
        return even
    parts = [-(-size // (number * whole)) * whole for number in range(max(2, count - 1), count + 4)]
    best = min(parts, key=lambda part: (-(-size // part) * part, -part))
    return best if best < min(size, _ROUNDED * extent) and -(-size // best) * best * 50 <= 53 * size else even


def quantum(run: int) -> int:
    """How many runs make whole sectors."""
    return SECTOR // gcd(SECTOR, run)


def _grown_destination(dims: tuple[CopyDim, ...], unit: int, target: int) -> tuple[list[int], bool]:
    """The extents that hold runs of `target` bytes of the destination, and whether there is more to grow."""
    extents = [1] * len(dims)
    run = unit
    for axis in reversed(range(len(dims))):
        if run >= target:
            return extents, True
        size = dims[axis][0]
        extents[axis] = extent = _even(size, -(-target // run), run)
        run *= extent
        if extent < size:
            return extents, True
    return extents, False


def _grown_source(
    dims: tuple[CopyDim, ...], first: list[int], by_source: list[int], unit: int, target: int
) -> tuple[list[int], bool]:
    """The extents `first` grown until runs of the source have `target` bytes, and whether there is more to grow."""
    extents = first.copy()
    span = unit
    for axis in by_source:
        size, stride, _ = dims[axis]
        stride = abs(stride)
        if stride - span > _GAP and not _joins(stride, span, unit):
            return extents, False
        if span >= target:
            return extents, True
        extent = extents[axis]
        if extent < size:
            extents[axis] = extent = max(extent, _even(size, -(-target // stride), stride))
        span += (extent - 1) * stride
        if extent < size:
            return extents, True
    return extents, False


def _joins(stride: int, span: int, unit: int) -> bool:
    """Whether a dim goes on where the rows before it end, or nearly."""
    return stride - span <= _GAP or (span == unit and stride <= 2 * unit)


def _fill(dims: tuple[CopyDim, ...], extents: list[int], unit: int, room: int) -> None:
    """More of the dims as the destination has them, while there is room; in whole sectors where that costs little."""
    held = prod(extents) * unit
    for axis in reversed(range(len(dims))):
        more = room // held
        if more < 2:
            return
        size, stride, into = dims[axis]
        extent = extents[axis]
        if extent < size:
            apart, most = min(into & -into, stride & -stride or into), extent * more
            extents[axis] = max(extent, _even(size, most, apart if most * min(apart, SECTOR) >= 8 * SECTOR else SECTOR))
            held = held // extent * extents[axis]


def cut_at(dims: tuple[CopyDim, ...], extents: tuple[int, ...]) -> int | None:
    """The dim that runs of the destination are cut at."""
    return next((axis for axis in reversed(range(len(dims))) if extents[axis] < dims[axis][0]), None)


def _shapes(layout: _Layout, extents: tuple[int, ...]) -> Iterator[Shape]:
    """The boxes of these extents, and those that overlap so that writes begin with a sector or with a word."""
    dims, unit = layout.dims, layout.unit
    axis = cut_at(dims, extents)
    run = unit * prod(extents[axis or 0 :])
    starts = [*box_starts(dims, extents, extents), run if prod(extents[: axis or 0]) > 1 else 0]
    aligned = all(start % SECTOR == 0 for start in starts)
    plain = _shape(layout, extents, extents, 0, _ALIGNED if aligned else _LINES[0])
    if plain is not None:
        yield plain
    if axis is None or aligned or unit > TRIMMED:
        return
    inner = run // extents[axis]
    word = 4 // gcd(4, inner)
    for trim, line in layout.trims:
        if all(start % trim == 0 for start in starts):
            break
        overlap = -(-(trim - unit) // (inner * word)) * word
        wider = (*extents[:axis], extents[axis] + overlap, *extents[axis + 1 :])
        if 0 < 4 * overlap <= extents[axis] and run >= 2 * trim and wider[axis] < dims[axis][0]:
            shape = _shape(layout, wider, extents, trim, line)
            if shape is not None:
                yield shape


def _shape(layout: _Layout, extents: tuple[int, ...], steps: tuple[int, ...], trim: int, line: int) -> Shape | None:
    """A box of these extents with its cost; `line` is the cost of a run beyond its bytes."""
    dims, unit = layout.dims, layout.unit
    span = unit
    joined: list[int] = []
    for axis in layout.by_source:
        stride = abs(dims[axis][1])
        if not _joins(stride, span, unit):
            break
        joined.append(axis)
        span += (extents[axis] - 1) * stride
        if extents[axis] < dims[axis][0]:
            break
    rest = layout.by_source[len(joined) :]
    rows = prod(extents[axis] for axis in rest)
    run_axis = cut_at(dims, extents) or 0
    runs = prod(extents[:run_axis])
    if rows > TABLE or runs > TABLE or rows * (span + SECTOR) > ROOM:
        return None
    source_line = _LINES[1]
    inside = [dims[axis][1] * steps[axis] for axis in joined if extents[axis] < dims[axis][0]]
    if all(start % SECTOR == 0 for start in [*inside, *(dims[axis][1] for axis in rest)]):
        source_line = _ALIGNED
    boxes = prod(boxes_along(dim[0], extent, step) for dim, extent, step in zip(dims, extents, steps, strict=True))
    each = rows * (span + source_line) + runs * (unit * prod(steps[run_axis:]) + line) + _EACH
    cost = boxes * each / (2 * unit * prod(size for size, _, _ in dims))
    return Shape(extents, steps, frozenset(joined), trim, cost)


def boxes_along(size: int, extent: int, step: int) -> int:
    return 1 - (extent - size) // step


def box_starts(dims: tuple[CopyDim, ...], extents: tuple[int, ...], steps: tuple[int, ...]) -> list[int]:
    """How far apart boxes begin in the destination."""
    return [
        at * into
        for (size, _, into), extent, step in zip(dims, extents, steps, strict=True)
        if extent < size
        for at in (step, size - extent)
    ]
