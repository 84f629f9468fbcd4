"""The runs of the destination in a box: what is gathered together, from where to where, and what overlaps."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from onereshape.arrays.gpu_banks import SECTOR, CopyDim, WalkDim
from onereshape.arrays.gpu_shapes import TRIMMED, Shape, box_starts, boxes_along, cut_at, quantum

_UNITS = 1024
"""The units of a run that the table of places holds; longer runs are several."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The units of a run, and the runs of a box, the nearest in the source first.

    Where runs overlap, writes begin at multiples of `trim` bytes: those of neighbouring boxes along the dim `cut`, and
    those of a box by the entry `split` of its runs.  In squares each run stands for some, along the dim `side`.
    """

    units: list[WalkDim]
    runs: list[WalkDim]
    trim: int
    cut: int | None
    split: int | None
    side: int | None


def runs_in(dims: tuple[CopyDim, ...], shape: Shape, unit: int, side: int | None) -> Runs | None:
    """The runs of a box, in squares where there is a `side`; None where runs that overlap would end before it."""
    runs = _overlapping(dims, shape, unit, side)
    return None if side is not None and shape.trim and runs.cut is None else runs


def run_starts(dims: tuple[CopyDim, ...], shape: Shape, runs: Runs) -> list[int]:
    """How far apart boxes, and the runs in them, begin in the destination; without those of a square."""
    inside = [at * dims[axis][2] for axis, _, *steps in runs.runs for at in steps if axis != runs.side]
    beside = [] if runs.side is None else [dims[runs.side][2]]
    return [*box_starts(dims, shape.extents, shape.steps), *inside, *beside]


def _overlapping(dims: tuple[CopyDim, ...], shape: Shape, unit: int, side: int | None) -> Runs:
    runs = _cut(dims, shape, unit, side, 0)
    apart = any(start % SECTOR for start in run_starts(dims, shape, runs))
    if shape.trim or (runs.split is not None and apart and unit <= TRIMMED):
        return _cut(dims, shape, unit, side, shape.trim or SECTOR)
    return runs


def _cut(dims: tuple[CopyDim, ...], shape: Shape, unit: int, side: int | None, trim: int) -> Runs:
    """Runs end before the dim `side`, and where the table of places does."""
    units_of: list[WalkDim] = []
    runs_of: list[WalkDim] = []
    units, whole = 1, True
    last = split = None
    for axis in reversed(range(len(dims))):
        size, extent = dims[axis][0], shape.extents[axis]
        whole = whole and axis != side
        if whole:
            last = axis
        if whole and units * extent <= _UNITS:
            if extent > 1:
                units_of.append((axis, extent, 1, extent - 1))
            units *= extent
        elif whole:
            part = _part(units * unit, extent, _UNITS // units)
            overlap = _overlap(units * unit, unit, trim)
            if 4 * overlap > part:
                trim = overlap = 0
            if part > 1:
                units_of.append((axis, part, 1, part - 1))
            runs_of.append((axis, boxes_along(extent, part, part - overlap), part - overlap, extent - part))
            whole, split = False, axis
        elif extent > 1:
            runs_of.append((axis, extent, 1, extent - 1))
        whole = whole and extent == size
    runs_of.sort(key=lambda part: abs(dims[part[0]][1]) * part[2])
    if side is not None:
        extent, across = shape.extents[side], 4 // unit
        runs_of = [
            (side, -(-extent // across), across, extent - across),
            *(part for part in runs_of if part[0] != side),
        ]
    cut = last if shape.trim and trim and last == cut_at(dims, shape.extents) else None
    number = next((at for at, part in enumerate(runs_of) if part[0] == split), None)
    return Runs(units_of, runs_of, trim, cut, number, side)


def _part(inner: int, extent: int, most: int) -> int:
    """How much of a dim a run takes: parts of one length, in whole sectors where there are."""
    part = min(-(-extent // -(-extent // most)), most)
    whole = quantum(inner)
    if -(-part // whole) * whole <= most:
        return -(-part // whole) * whole
    return part // whole * whole if part >= 8 * whole else part


def _overlap(inner: int, unit: int, trim: int) -> int:
    """How much of a dim neighbours share, in whole words."""
    word = 4 // gcd(4, inner)
    return -(-max(0, trim - unit) // (inner * word)) * word
