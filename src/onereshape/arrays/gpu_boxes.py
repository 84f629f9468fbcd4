"""From the plan of a copy to boxes of its elements, for the kernel in `gpu_copy.cu`: integers alone, by a fixed rule.

A box has an extent along each dim; `gpu_shapes` chooses them, and `gpu_banks` how a box lies in shared memory.  Sizes,
strides and tables are run-time numbers, so that a new shape compiles nothing: there is one kernel for each unit of
bytes and each width of a read.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod

from onereshape.arrays.gpu_banks import SECTOR, TABLE, Dim, Gather, held
from onereshape.arrays.gpu_shapes import Shape, best, boxes_along
from onereshape.arrays.gpu_runs import run_starts, runs_in
from onereshape.arrays.layout import CopyPlan

STEPS = 24
"""The dims of all walks together; as in the kernel."""

_ROOMS = 32768, 16384, 8192
"""The bytes of a box, the next only where no box of more fits."""

_LARGE, _LESS = 49152, 0.98
"""The bytes of a box of units of a word or more where those of less cost more: fewer of them fit a processor."""

_AT_LEAST = 512
"""The boxes of a copy, where they hold some KB."""

_FULL = 24 << 10
"""The bytes of shared memory from which on words are moved by more threads: fewer blocks fit a processor."""

_LONG, _MOVED = 192, 64
"""The bytes of a row whose lines are asked for as wholes, and those that the memory itself moves at least."""

_NO_STEP = 0xFFFFFFFF

Walk = list[tuple[int, int, int, int, int]]
"""Dims, the innermost first: count, step, last, x, y.  Place i is min(i * step, last)."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """One call of the kernel: what it is compiled for, its shared memory, the boxes, and its parameters as bytes.

    `cost` is the bytes that the memory moves, as a multiple of the fewest.
    """

    unit: int
    grain: int
    threads: int
    shared: int
    boxes: int
    parameters: bytes
    extents: tuple[int, ...]
    cost: float


@lru_cache(maxsize=4096)
def boxes_of(plan: CopyPlan, alignment: int, room: int = _ROOMS[0], threads: int = 0) -> Boxes | None:
    """The launch for a plan whose source begins at a multiple of `alignment` bytes; None where there is no box.

    Other boxes than the rule's have another `room`, in bytes, or other `threads`.
    """
    if plan.dims == (1,):
        return None
    unit = gcd(16, alignment, plan.item, *plan.source)
    dims = list(zip(plan.dims, plan.source, plan.destination, strict=True))
    if plan.item > unit:
        dims.append((plan.item // unit, unit, unit))
    share = max(2048, plan.nbytes // _AT_LEAST)
    for most in (room, *(less for less in _ROOMS if less < room)):
        shape = best(dims, unit, min(most, share))
        if shape is not None and most == _ROOMS[0] < share and unit >= 4:
            larger = best(dims, unit, min(_LARGE, share))
            shape = larger if larger is not None and larger.cost < _LESS * shape.cost else shape
        found = None if shape is None else _launch(dims, unit, shape, alignment, threads)
        if found is not None:
            return found
    return None


def _magic(number: int) -> tuple[int, int]:
    """A multiplier and a shift that divide what is below 2^31."""
    bits = (number - 1).bit_length()
    return -(-(1 << 31 + bits) // number), 31 + bits


def _launch(dims: list[Dim], unit: int, shape: Shape, alignment: int, threads: int) -> Boxes | None:
    extents, per_word = shape.extents, max(1, 4 // unit)
    runs = runs_in(dims, shape, unit)
    starts = run_starts(dims, shape, runs)
    units = prod(count for _, count, _, _ in runs.units)
    lines = prod(count for _, count, _, _ in runs.runs)
    shifts = 1 if all(start % 4 == 0 for start in starts) else per_word
    words = -(-(units + shifts - 1) // per_word)
    # Along dims that the source walks backwards the first element has the highest place.
    low = sum((extents[axis] - 1) * stride for axis, (_, stride, _) in enumerate(dims) if stride < 0)
    source = [
        at * dims[a][1]
        for a in range(len(dims))
        for at in (shape.steps[a], dims[a][0] - extents[a])
        if extents[a] < dims[a][0]
    ]
    aligned = gcd(SECTOR, alignment, low, *source)
    across = 1 if runs.side is None else 4
    begins = gcd(128, *starts)
    gather = Gather(dims, extents, shape.joined, aligned, unit, runs.units, runs.runs, words, lines, across, begins)
    found = held(gather)
    if found is None:
        return None
    rows = prod(extents[axis] for axis in found.pitch)
    shared = found.stage + 32 + 8 * rows + 16 * lines + 2 * shifts * words * per_word
    threads = threads or (512 if unit >= 4 and shared >= _FULL else 256)
    order = _order(dims, shape)
    walks = _walks(gather, shape, order, found.pitch)
    count = prod(count for count, *_ in walks[0])
    places = sum(map(len, walks))
    if max(lines, rows) > TABLE or places > STEPS or count >= 1 << 30 or max(size for size, _, _ in dims) >= 1 << 31:
        return None
    run_low, unit_low = (sum(-y * last for _, _, last, _, y in walk if y < 0) for walk in walks[2:])
    word = max(4, unit)
    segment = min(word << found.lanes, 128)
    turns = segment // word - 1 if any(start % segment for start in starts) else 0
    strip, pieces, strips = _strips(words + turns, lines, found.lanes, threads // 16)
    packed = struct.pack(
        "=32I2q",
        *(sum(map(len, walks[: number + 1])) for number in range(4)),
        *(count, rows, lines, units),
        *(found.span, found.chunks, *divmod(threads, found.chunks)),
        *(units * unit, words, shifts),
        *(found.lanes, strip, strips, pieces, *_magic(pieces)),
        *(found.stage, run_low, unit_low, turns, int(shifts > 1 or units % per_word > 0)),
        *(found.slot - 1, max(0, runs.trim - 1)),
        _NO_STEP if runs.cut is None else order.index(runs.cut),
        _NO_STEP if runs.split is None or not runs.trim else len(walks[0]) + len(walks[1]) + runs.split,
        *(found.turned, int(found.span >= _LONG and _dense(dims, unit))),
        *(low, 0 if runs.side is None else dims[runs.side][2]),
    )
    for size, step, last, x, y in (row for walk in walks for row in walk):
        packed += struct.pack("=6I2q", size, *_magic(size), step, last, 0, x, y)
    packed += bytes(40 * (STEPS - places))
    return Boxes(unit, found.grain, threads, shared, count, packed, extents, shape.cost)


def _dense(dims: list[Dim], unit: int) -> bool:
    """Whether all of the source between its first byte and its last is read, by one box or another."""
    span = unit
    for stride, size in sorted((abs(stride), size) for size, stride, _ in dims):
        if stride - span >= _MOVED:
            return False
        span += (size - 1) * stride
    return True


def _order(dims: list[Dim], shape: Shape) -> list[int]:
    """The dims along which there are several boxes, in the order in which they follow each other.

    First the one that runs are cut at and the one that rows are cut at, so that neighbours, which share sectors of
    both, are not far apart.
    """
    cut = [axis for axis in reversed(range(len(dims))) if shape.extents[axis] < dims[axis][0]]
    rows = next((axis for axis in cut if axis in shape.joined), None)
    near = [axis for axis in cut if axis in (cut[0], rows)]
    near.sort(key=lambda axis: boxes_along(dims[axis][0], shape.extents[axis], shape.steps[axis]))
    return [*near, *(axis for axis in cut if axis not in near)]


def _walks(gather: Gather, shape: Shape, order: list[int], pitch: dict[int, int]) -> tuple[Walk, Walk, Walk, Walk]:
    """Boxes, rows of the source, runs of the destination, units of a run."""
    dims, extents = gather.dims, gather.extents
    inside = {axis: abs(dims[axis][1]) for axis in gather.joined} | pitch
    boxes: Walk = []
    for axis in order:
        size, stride, into = dims[axis]
        count = boxes_along(size, extents[axis], shape.steps[axis])
        boxes.append((count, shape.steps[axis], size - extents[axis], stride, into))
    rows: Walk = [(extents[a], 1, extents[a] - 1, abs(dims[a][1]), step) for a, step in pitch.items()]
    runs: Walk = [(n, by, last, dims[a][2], _signed(dims, inside, a)) for a, n, by, last in gather.runs_of]
    units: Walk = [(n, by, last, 0, _signed(dims, inside, a)) for a, n, by, last in gather.units_of]
    return boxes, rows, runs, units


def _strips(words: int, runs: int, lanes: int, warps: int) -> tuple[int, int, int]:
    """The words of a run that a warp takes one after the other, the pieces that makes of a run, and all pieces."""
    columns, groups = -(-words >> lanes), -(-runs // (32 >> lanes))
    pieces = min(columns, max(1, -(-warps // groups)))
    strip = -(-columns // pieces) << lanes
    pieces = -(-words // strip)
    return strip, pieces, pieces * groups


def _signed(dims: list[Dim], inside: dict[int, int], axis: int) -> int:
    """How far apart neighbours along a dim lie in shared memory, backwards where the source has them so."""
    stride = dims[axis][1]
    if not stride:
        return 0
    return -abs(inside[axis]) if stride < 0 else abs(inside[axis])
