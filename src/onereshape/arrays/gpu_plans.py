"""Boxes of one shape as the kernels read them: walks, sizes and places, packed as `gpu_box.cuh` has them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import gcd, prod
from typing import NamedTuple

from onereshape.arrays.gpu_banks import SECTOR, TABLE, BankedRead, CopyDim, Gather, held
from onereshape.arrays.gpu_runs import Runs, run_starts, runs_in
from onereshape.arrays.gpu_shapes import Shape, boxes_along
from onereshape.arrays.gpu_squares import FULL, Middle, middle_of, woven

STEPS = 24
"""The dims of all walks together; as in the kernels."""

_FULL = 24 << 10
"""The bytes of shared memory from which on words are moved by more threads: fewer blocks fit a processor."""

_LONG, _MOVED = 192, 64
"""The bytes of a row whose lines are asked for as wholes, and those that the memory itself moves at least."""

_NO_STEP = 0xFFFFFFFF

BoxWalk = list[tuple[int, int, int, int, int]]
"""Dims, the innermost first: count, step, last, x, y.  Place i is min(i * step, last)."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """One call of a kernel: what it is compiled for, its shared memory, the boxes, and its parameters as bytes.

    `run` is the bytes of a run of the destination, `cost` what the memory moves, as a multiple of the fewest bytes.
    """

    unit: int
    grain: int
    threads: int
    shared: int
    boxes: int
    parameters: bytes
    extents: tuple[int, ...]
    run: int
    cost: float
    squares: bool


class Layout(NamedTuple):
    """What is copied: dims, the bytes that are moved as one, and what the source begins at a multiple of.

    `lined`: reads and writes are to begin with lines, whatever that costs in banks.  `flat` are the dims that the last
    one stands for, if it stands for many: where its places lie in the source, these say.
    """

    dims: tuple[CopyDim, ...]
    unit: int
    alignment: int
    lined: bool
    flat: tuple[CopyDim, ...] = ()


class _CutBoxes(NamedTuple):
    """Boxes cut in runs: where they begin in the destination, their lowest byte, and the tables of places of a run."""

    runs: Runs
    gather: Gather
    starts: list[int]
    low: int
    shifts: int


class _Walks(NamedTuple):
    """Boxes in that order of dims, rows of the source, runs of the destination, units of a run."""

    order: list[int]
    boxes: BoxWalk
    rows: BoxWalk
    runs: BoxWalk
    units: BoxWalk


class _BoxSizes(NamedTuple):
    """Rows and runs of a box, threads, all shared memory, and where the middle begins in it."""

    rows: int
    runs: int
    threads: int
    shared: int
    kept: int


def boxes_in(layout: Layout, shape: Shape, threads: int, side: int | None) -> Boxes | None:
    """Boxes of this shape, in squares where there is a `side`; None where shared memory does not hold them."""
    dims, unit, *_ = layout
    cut = _cut(layout, shape, side)
    found = None if cut is None else held(cut.gather)
    if cut is None or found is None:
        return None
    gather = cut.gather
    walks = _walks(gather, shape, found.pitch)
    middle = Middle(0, 0, 0, 0, unit * prod(count for _, count, _, _ in gather.units_of), 0, False)
    if side is not None:
        weave = not shape.trim and woven(dims, shape.extents, unit, side)
        middle = middle_of(gather, found.lanes, shape.extents[side], weave)
        walks.runs[:1] = [] if weave else [(middle.sides, 1, middle.sides - 1, *walks.runs[0][3:])]
    sizes = _sizes(cut, found, middle, threads)
    count = prod(count for count, *_ in walks.boxes)
    if sizes is None or max(sizes.runs, sizes.rows) > TABLE or count >= 1 << 30:
        return None
    if sum(map(len, walks[1:])) > STEPS or max(size for size, _, _ in dims) >= 1 << 31:
        return None
    packed = _packed(cut, found, middle, walks, sizes)
    squares = side is not None
    return Boxes(
        unit, found.grain, sizes.threads, sizes.shared, count, packed, shape.extents, middle.run, shape.cost, squares
    )


def _cut(layout: Layout, shape: Shape, side: int | None) -> _CutBoxes | None:
    dims, unit, alignment, lined, flat = layout
    extents, per_word = shape.extents, max(1, 4 // unit)
    runs = runs_in(dims, shape, unit, side)
    if runs is None:
        return None
    starts = run_starts(dims, shape, runs)
    units = prod(count for _, count, _, _ in runs.units)
    shifts = 1 if side is not None or all(start % 4 == 0 for start in starts) else per_word
    words = -(-(units + shifts - 1) // per_word)
    # Along dims that the source walks backwards the first element has the highest place.
    low = sum((extents[axis] - 1) * stride for axis, (_, stride, _) in enumerate(dims) if stride < 0)
    source = [
        at * dims[a][1]
        for a in range(len(dims))
        for at in (shape.steps[a], dims[a][0] - extents[a])
        if extents[a] < dims[a][0]
    ]
    gather = Gather(
        dims,
        extents,
        shape.joined,
        gcd(SECTOR, alignment, low, *source),
        unit,
        runs.units,
        runs.runs,
        words,
        prod(count for _, count, _, _ in runs.runs),
        0 if side is None else per_word,
        gcd(128, *starts),
        side is not None and _loose(dims, runs),
        lined,
        flat,
    )
    return _CutBoxes(runs, gather, starts, low, shifts)


def _sizes(cut: _CutBoxes, found: BankedRead, middle: Middle, threads: int) -> _BoxSizes | None:
    """None where the middle is too large for its places."""
    gather = cut.gather
    per_word = max(1, 4 // gather.unit)
    rows = prod(gather.extents[axis] for axis in found.pitch)
    runs, full = gather.runs, _FULL if gather.unit >= 4 else None
    if gather.across:
        runs, full = runs // middle.along * (1 if middle.woven else middle.sides), FULL
    shared = found.stage + 32 + 8 * rows + 16 * runs + 2 * cut.shifts * gather.words * per_word
    kept = 0
    if gather.across:
        size = runs * middle.pitch * (middle.sides if middle.woven else 1)
        if max(size, middle.run) >= 1 << 16:
            return None
        kept = -(-shared // 16) * 16
        shared = kept + size + 32
    many = full is not None and shared >= full
    return _BoxSizes(rows, runs, threads or (512 if many else 256), shared, kept)


def magic(number: int) -> tuple[int, int]:
    """The multiplier m and the shift s by which `x * m >> s` is `x // number` for every x below 2^31."""
    bits = (number - 1).bit_length()
    return -(-(1 << 31 + bits) // number), 31 + bits


def _packed(cut: _CutBoxes, found: BankedRead, middle: Middle, walks: _Walks, sizes: _BoxSizes) -> bytes:
    runs, gather = cut.runs, cut.gather
    units = prod(count for _, count, _, _ in gather.units_of)
    word, per_word = max(4, gather.unit), max(1, 4 // gather.unit)
    segment = min(word << found.lanes, 128)
    turns = segment // word - 1 if any(start % segment for start in cut.starts) else 0
    if gather.across:
        strips = _strips(gather.words, gather.runs, found.lanes, sizes.threads // 32)
        ends = any(start % 16 for start in cut.starts) or units * gather.unit % 16 > 0
    else:
        strips = _strips(gather.words + turns, gather.runs, found.lanes, sizes.threads // 16)
        ends = cut.shifts > 1 or units % per_word > 0
    strip, pieces, all_strips = strips
    before = len(walks.boxes) + len(walks.rows)
    low_run, low_unit = (sum(-y * last for _, _, last, _, y in walk if y < 0) for walk in (walks.runs, walks.units))
    lengths = [len(walk) for walk in walks[1:]]
    last = len(gather.dims) - 1
    packed = struct.pack(
        "=49I4xq",
        *(sum(lengths[: number + 1]) for number in range(4)),
        *(prod(count for count, *_ in walks.boxes), sizes.rows, sizes.runs, units),
        *(found.span, found.chunks, *divmod(sizes.threads, found.chunks)),
        *(middle.run, gather.words, cut.shifts),
        *(found.lanes, strip, all_strips, pieces, *magic(pieces)),
        *(found.stage, low_run, low_unit, turns, int(ends)),
        *(found.slot - 1, max(0, runs.trim - 1)),
        _NO_STEP if runs.cut is None else walks.order.index(runs.cut),
        _NO_STEP if runs.split is None or not runs.trim else before + runs.split,
        *(found.turned, int(found.span >= _LONG and _dense(gather.dims, gather.unit))),
        *(middle.sides, middle.groups, middle.along, *magic(max(1, middle.along)), int(gather.loose)),
        *(sizes.kept, middle.pitch, middle.outs, *magic(max(1, middle.outs)), found.modulus - 1),
        *(int(middle.woven), *magic(units * gather.unit)),
        *((walks.order.index(last) + 1, found.pitch[last]) if gather.flat else (0, 0)),
        cut.low,
    )
    for size, step, last, x, y in (row for walk in walks[1:] for row in walk):
        packed += struct.pack("=6I2q", size, *magic(size), step, last, 0, x, y)
    return packed + bytes(40 * (STEPS - sum(lengths)))


def _loose(dims: tuple[CopyDim, ...], runs: Runs) -> bool:
    """Whether words across runs begin anywhere in the words of shared memory."""
    return any(dims[axis][1] * at % 4 for axis, _, *steps in (*runs.units, *runs.runs) for at in steps)


def _dense(dims: tuple[CopyDim, ...], unit: int) -> bool:
    """Whether all of the source between its first byte and its last is read, by one box or another."""
    span = unit
    for stride, size in sorted((abs(stride), size) for size, stride, _ in dims):
        if stride - span >= _MOVED:
            return False
        span += (size - 1) * stride
    return True


def _order(dims: tuple[CopyDim, ...], shape: Shape) -> list[int]:
    """The dims along which there are several boxes, in the order in which they follow each other.

    First the one that runs are cut at and the one that rows are cut at, so that neighbours, which share sectors of
    both, are not far apart.
    """
    cut = [axis for axis in reversed(range(len(dims))) if shape.extents[axis] < dims[axis][0]]
    rows = next((axis for axis in cut if axis in shape.joined), None)
    near = [axis for axis in cut if axis in (cut[0], rows)]
    near.sort(key=lambda axis: boxes_along(dims[axis][0], shape.extents[axis], shape.steps[axis]))
    return [*near, *(axis for axis in cut if axis not in near)]


def _walks(gather: Gather, shape: Shape, pitch: dict[int, int]) -> _Walks:
    dims, extents = gather.dims, gather.extents
    order = _order(dims, shape)
    inside = {axis: abs(dims[axis][1]) for axis in gather.joined} | pitch
    boxes: BoxWalk = []
    for axis in order:
        size, stride, into = dims[axis]
        count = boxes_along(size, extents[axis], shape.steps[axis])
        boxes.append((count, shape.steps[axis], size - extents[axis], stride, into))
    rows: BoxWalk = [(extents[a], 1, extents[a] - 1, abs(dims[a][1]), step) for a, step in pitch.items()]
    runs: BoxWalk = [(n, by, last, dims[a][2], _signed(dims, inside, a)) for a, n, by, last in gather.runs_of]
    units: BoxWalk = [(n, by, last, 0, _signed(dims, inside, a)) for a, n, by, last in gather.units_of]
    if gather.flat:
        boxes = [(*box[:3], 0, box[4]) if box[3] == dims[-1][1] else box for box in boxes]
        rows, units = [(size, 1, size - 1, stride, 0) for size, stride, _ in reversed(gather.flat)], []
    return _Walks(order, boxes, rows, runs, units)


def _strips(words: int, runs: int, lanes: int, warps: int) -> tuple[int, int, int]:
    """The words of a run that a warp takes one after the other, the pieces that makes of a run, and all pieces."""
    columns, groups = -(-words >> lanes), -(-runs // (32 >> lanes))
    pieces = min(columns, max(1, -(-warps // groups)))
    strip = -(-columns // pieces) << lanes
    pieces = -(-words // strip)
    return strip, pieces, pieces * groups


def _signed(dims: tuple[CopyDim, ...], inside: dict[int, int], axis: int) -> int:
    """How far apart neighbours along a dim lie in shared memory, backwards where the source has them so."""
    stride = dims[axis][1]
    if not stride:
        return 0
    return -abs(inside[axis]) if stride < 0 else abs(inside[axis])
