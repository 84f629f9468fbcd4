"""How the rows of a box lie in a GPU's shared memory: pitches that make its banks work side by side.

Shared memory gives one word from each of 32 banks at a time.  For each way of reading rows and of sharing runs among
the lanes of a warp, the turns that gathering takes are counted on two samples, and the cheapest is kept.  Where turns
are few, instructions are what counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, gcd, inf, prod
from typing import NamedTuple

CopyDim = tuple[int, int, int]
"""Size, stride in the source and stride in the destination."""

WalkDim = tuple[int, int, int, int]
"""Axis, count, step and last of one dim of a walk."""

_Samples = list[tuple[int, list[int]]]
"""Dims, each with the places along it of the lanes' units."""

ROOM = 60 * 1024
"""The bytes of shared memory that the rows of a box may take."""

TABLE = 1024
"""The rows of the source, and the runs of the destination, in one box."""

SECTOR = 32
"""The bytes that the memory moves at least."""

_LONG = 96
"""The bytes of a row whose reads begin with a sector, so that no two warps share one."""

LINE, _LINED = 128, 64
"""The bytes of a line, and those of a row whose reads begin with one where lines count."""

NOT_TURNED = 31
"""Log2 of more words than a run has."""

_SEGMENT = {False: 1.0, True: 8.0}
"""The turns of shared memory that a piece of memory costs which a warp writes at once, by whether lines count."""

_ISSUED = 4
"""The instructions of a block that are issued while shared memory takes one turn."""

_PER_STRIP, _PER_BATCH, _PER_SQUARE = 36, 12, 34
"""The instructions of a warp for runs side by side, for each few words that it gathers together, and for four words."""

_PER_WORD = {1: 15, 2: 9}
_PER_UNIT = 5
"""The instructions for a word of units of 1 or 2 bytes, and for a unit of a word or more."""

_ENOUGH = 0.9
"""A way that may cost less than this share of the best is worth counting."""

_GRAINS = (16, SECTOR), (16, 16), (8, 8), (4, 4)
"""The bytes of a read, and what the rows lie at the same place modulo."""

_TWICE = {1: 2, 2: 2}
_TWICE_WORDS = 8
"""What 32 reads of half a sector cost, by the unit and for others: with halves in two lines, a sector comes twice."""

_PER_READ = 12
"""What 32 reads cost besides their words, in turns."""

_PADDED = 4
"""The share of a row that may be added to its pitch, at least a few reads."""


@dataclass(frozen=True, slots=True)
class BankedRead:
    """Bytes of a read, what rows lie at the same place modulo, the span of a row, how its reads begin, and how many.

    Then pitches by dim, log2 of a warp's words along a run and of those whose units come in one order, and all bytes.
    """

    grain: int
    modulus: int
    span: int
    slot: int
    chunks: int
    pitch: dict[int, int]
    lanes: int
    turned: int
    stage: int


@dataclass(frozen=True, slots=True)
class Gather:
    """What is gathered: dims and extents of a box, the dims along which rows go on, and what boxes begin at.

    Then the unit, the units of a run and the runs, words of a run, runs, the runs that a word reaches across in squares
    (else 0), what runs begin at multiples of in the destination, whether words begin anywhere in shared memory, and
    whether lines count more than banks.  `flat` are the dims that the last one stands for, if it stands for many.
    """

    dims: tuple[CopyDim, ...]
    extents: tuple[int, ...]
    joined: frozenset[int]
    aligned: int
    unit: int
    units_of: list[WalkDim]
    runs_of: list[WalkDim]
    words: int
    runs: int
    across: int
    begins: int
    loose: bool
    lined: bool
    flat: tuple[CopyDim, ...]


class _ReadWay(NamedTuple):
    """A width of reads and a number of lanes, with the least that it may cost."""

    least: float
    grain: int
    modulus: int
    lanes: int
    turned: int
    kept: int
    tiles: float
    fixed: float


def held(gather: Gather) -> BankedRead | None:
    """The cheapest way; None where none fits."""
    best: tuple[float, BankedRead] | None = None
    samples: dict[tuple[int, int], _Samples] = {}
    for way in _ways(gather):
        if best is not None and way.least >= best[0] * _ENOUGH:
            break
        key = way.lanes, way.turned
        if key not in samples:
            samples[key] = _sampled(gather, way)
        found = _pitched(gather, way, samples[key], inf if best is None else best[0] * 0.97)
        best = best if found is None else found
    return None if best is None else best[1]


def _order(gather: Gather) -> tuple[list[int], list[int]]:
    """The dims that the source walks, the nearest first, and those of them that rows go on along."""
    dims, extents = gather.dims, gather.extents
    order = sorted((a for a in range(len(dims)) if dims[a][1] and extents[a] > 1), key=lambda a: abs(dims[a][1]))
    return order, [axis for axis in order if axis in gather.joined]


def _span(gather: Gather, inner: list[int]) -> int:
    return gather.unit + sum((gather.extents[axis] - 1) * abs(gather.dims[axis][1]) for axis in inner)


def _begins(gather: Gather, row_axes: list[int]) -> int:
    """What rows begin at multiples of."""
    return gcd(gather.aligned, *(gather.dims[axis][1] for axis in row_axes))


def _slots(begins: int, grain: int, span: int, lined: bool) -> tuple[int, int]:
    """What the reads of a row begin at a multiple of, and how many they are; the row begins anywhere in the first."""
    if lined and span >= _LINED and grain == LINE // 8:
        return LINE, -(-(span + LINE - gcd(LINE, begins)) // LINE) * 8
    slot = SECTOR if span >= _LONG else grain
    return slot, -(-(span + slot - gcd(slot, begins)) // grain)


def _ways(gather: Gather) -> list[_ReadWay]:
    """All ways, the most promising first."""
    found: list[_ReadWay] = []
    order, inner = _order(gather)
    shares = []
    for lanes in (5, 4, 3) if not gather.across else (5, 4, 3, 2, 1):
        if lanes == 5 or gather.runs >= 32 >> lanes:
            groups = -(-gather.runs // (32 >> lanes))
            columns = _columns(gather, lanes)
            tiles = columns * groups
            fixed = groups * _issued(gather, columns)
            if not gather.across:
                fixed += tiles * _SEGMENT[gather.lined] * (32 >> lanes)
            else:
                fixed += tiles * max(gather.across, gather.across**2 >> lanes)
                tiles *= 1 + gather.loose
            shares.append((lanes, tiles, fixed))
    for kept in range(len(inner), -1, -1):
        span = _span(gather, inner[:kept])
        row_axes = [axis for axis in order if axis not in inner[:kept]]
        rows = prod([gather.extents[axis] for axis in row_axes])
        begins = _begins(gather, row_axes)
        if rows > TABLE or (kept < len(inner) and span < 64):
            break
        for grain, modulus in _GRAINS:
            if grain > 4 and grain >= 2 * span:
                continue
            each = _PER_READ + max(1, grain // 4) + (_TWICE.get(gather.unit, _TWICE_WORDS) if modulus == 16 else 0)
            reads = rows * _slots(begins, grain, span, gather.lined)[1] / 32 * each
            turned = _turned(gather, grain, row_axes)
            fewest = _fewest(gather.unit)
            found += [
                _ReadWay(reads + fixed + tiles * fewest, grain, modulus, lanes, turned, kept, tiles, reads + fixed)
                for lanes, tiles, fixed in shares
            ]
    found.sort()
    return found


def _columns(gather: Gather, lanes: int) -> float:
    """The words of a run by those of a warp, which begin with a line wherever the run begins."""
    if gather.across:
        return -(-gather.words // (1 << lanes))
    word = max(4, gather.unit)
    segment = min(word << lanes, 128)
    loose = segment - gcd(segment, gather.begins)
    return (gather.words + loose / word) / (1 << lanes) if loose else -(-gather.words // (1 << lanes))


def _issued(gather: Gather, columns: float) -> float:
    """What the instructions cost that write runs side by side, in turns of shared memory."""
    each = _PER_SQUARE if gather.across else _PER_WORD.get(gather.unit, _PER_UNIT)
    together = 4 if gather.unit in (4, 8) else 2
    whole = ceil(columns)
    batches = whole // 4 + -(-(whole % 4) // together)
    return (_PER_STRIP + _PER_BATCH * batches + each * whole) / _ISSUED


def _turned(gather: Gather, grain: int, row_axes: list[int]) -> int:
    """Log2 of the words of a run after which they lie in the same banks again, where the units of one may be turned."""
    axis, count, *_ = gather.units_of[0] if gather.units_of else (0, 0)
    stride = grain if axis in row_axes else abs(gather.dims[axis][1])
    if gather.unit >= 4 or count < 32 or not stride or gather.across:
        return NOT_TURNED
    banks = gcd(32, stride // gather.unit)
    return NOT_TURNED if banks == 1 else 5 - (banks.bit_length() - 1)


def _pitched(gather: Gather, way: _ReadWay, samples: _Samples, below: float) -> tuple[float, BankedRead] | None:
    """The pitches with the fewest turns for the samples, and what that costs; None where all cost as much as that."""
    order, joined = _order(gather)
    inner = joined[: way.kept]
    span = _span(gather, inner)
    row_axes = [axis for axis in order if axis not in inner]
    begins = _begins(gather, row_axes)
    modulus = max(way.modulus, gather.unit)
    loose = 0 if begins % way.grain == 0 and span % way.grain == 0 else way.grain - 1
    loose += modulus if gather.flat else 0
    fixed = [0] * len(samples[0][1])
    for axis, places in samples:
        if axis not in row_axes:
            fixed = _added(fixed, places, gather.dims[axis][1])
    along = [sample for sample in samples if sample[0] in row_axes]
    half, fewest = len(fixed) // 2, _fewest(gather.unit)
    best: tuple[float, dict[int, int], int] | None = None
    for pads in _pads(len(row_axes), span, modulus):
        pitch, reach = _pitches(gather, row_axes, (span, loose, modulus), pads)
        stage = -(-(reach + 2 * modulus + 8) // 16) * 16
        cost = way.fixed + stage / 256
        if stage > ROOM or cost + way.tiles * fewest >= below:
            continue
        apart = [(places, pitch[axis] if gather.dims[axis][1] > 0 else -pitch[axis]) for axis, places in along]
        turns = 0.0
        for sample in (slice(half), slice(half, None)):
            offsets = fixed[sample]
            for places, by in apart:
                offsets = _added(offsets, places[sample], by)
            turns += _turns(offsets, gather.unit) / 2
            # The other sample may take the fewest turns.
            if cost + way.tiles * (turns + (fewest / 2 if sample.start is None else 0)) >= below:
                break
        else:
            below = cost + way.tiles * turns
            best = below, pitch, stage
        if turns <= fewest:
            break
    if best is None:
        return None
    slot, chunks = _slots(begins, way.grain, span, gather.lined)
    return best[0], BankedRead(way.grain, modulus, span, slot, chunks, best[1], way.lanes, way.turned, best[2])


def _pads(dims: int, span: int, modulus: int) -> list[tuple[int, int]]:
    """What is added to the pitch of the nearest rows and of the others, in reads: all that moves them to new banks."""
    first = range(min(128 // modulus, max(4, span // (_PADDED * modulus) + 1))) if dims else range(1)
    return [(pad, other) for other in range(2 if dims > 1 else 1) for pad in first]


def _added(sums: list[int], places: list[int], apart: int) -> list[int]:
    return [so_far + place * apart for so_far, place in zip(sums, places, strict=True)]


def _pitches(
    gather: Gather, row_axes: list[int], row: tuple[int, int, int], pads: tuple[int, int]
) -> tuple[dict[int, int], int]:
    """How far apart rows lie along each dim, and how far all reach, by a row's span, what lies beside it, a modulus."""
    reach, loose, modulus = row
    pitch: dict[int, int] = {}
    for number, axis in enumerate(row_axes):
        least = reach + loose + pads[number > 0] * modulus
        pitch[axis] = least + (abs(gather.dims[axis][1]) - least) % modulus
        reach += (gather.extents[axis] - 1) * pitch[axis]
    return pitch, reach


def _sampled(gather: Gather, way: _ReadWay) -> _Samples:
    """The places of the first units that a warp gathers in the midst of a box, and of the last at three quarters."""
    per_word, word = max(1, 4 // gather.unit), max(4, gather.unit)
    across, wide = 32 >> way.lanes, 1 << way.lanes
    columns, groups = -(-gather.words // wide), -(-gather.runs // across)
    most = prod(count for _, count, _, _ in gather.units_of) - 1
    units: list[int] = []
    runs: list[int] = []
    for quarters, unit in ((2, 0), (3, per_word - 1)):
        # The last words of a run may be fewer than the lanes.
        column, group = (columns - 1) * quarters // 4 * wide, (groups - 1) * quarters // 4 * across
        for run in range(group, min(group + across, gather.runs)):
            begin = 0 if gather.across else _begin(gather, run)
            first = column - begin // word % min(wide, 128 // word)
            shift = begin % word // gather.unit
            units += [
                min(max(at * per_word + (unit + (at >> way.turned)) % per_word - shift, 0), most)
                for at in range(first, first + wide)
            ]
            runs += [run] * wide
    return [*_placed(units, gather.units_of), *_placed(runs, gather.runs_of)]


def _begin(gather: Gather, run: int) -> int:
    """Where a run of a box begins in the destination."""
    begin = 0
    for axis, count, step, last in gather.runs_of:
        run, at = divmod(run, count)
        begin += min(at * step, last) * gather.dims[axis][2]
    return begin


def _placed(numbers: list[int], parts: list[WalkDim]) -> _Samples:
    found: _Samples = []
    before = 1
    for axis, count, step, last in parts:
        if step > 1:
            found.append((axis, [min(number // before % count * step, last) for number in numbers]))
        else:
            found.append((axis, [number // before % count for number in numbers]))
        before *= count
    return found


def _fewest(unit: int) -> int:
    """The fewest turns in which shared memory gives each lane of a warp a word: no two lanes meet in a bank."""
    return max(1, 4 // unit) * max(1, unit // 4)


def _turns(offsets: list[int], unit: int) -> float:
    """The turns that shared memory takes for one word of each lane of a warp, by the first unit of each."""
    at_once = {8: 16, 16: 8}.get(unit, 32)
    turns = 0
    for first in range(0, len(offsets), at_once):
        words = {offset >> 2 for offset in offsets[first : first + at_once]}
        banks = bytes([word & 31 for word in words])
        alone = set(banks)
        turns += 1 if len(alone) == len(banks) else max(map(banks.count, alone))
    return turns * max(1, 4 // unit) * 32 / len(offsets)
