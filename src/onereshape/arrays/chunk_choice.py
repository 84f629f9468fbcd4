"""Which chunks the output of a chunked reshape should have: integers only, no array is touched.

Chunks of output are as large as those of data, unless that makes far more pieces than chunks: then larger ones, within
the limit, and if that does not help either, data is to be chunked anew first.  What goes where is in `chunking`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise, product
from math import lcm, prod

from onereshape.arrays.chunking import AxisGroup, Chunks, PartPlan, count, is_contiguous, largest, parts, strides
from onereshape.ground.integers import Dims

_FEW = 4
"""Pieces for each chunk of a part, beyond which larger chunks are tried."""
_MANY = 8
"""Pieces for each chunk of the array, beyond which data is chunked anew first."""
_SAMPLES = 32


@dataclass(frozen=True, slots=True)
class Planned:
    """One part of a reshape: the chunks of its data and of its output, and the moves between them."""

    part: AxisGroup
    data: Chunks
    output: Chunks
    moves: PartPlan

    @property
    def is_heavy(self) -> bool:
        """Whether the pieces are many for these chunks."""
        return pieces(self.moves, self.output) > _FEW * (count(self.data) + count(self.output))


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """A chunked reshape as it is to be done: its independent parts, and the chunks of the output."""

    planned: tuple[Planned, ...]
    output: Chunks
    """Of every axis of output, those of size 1 too."""

    @property
    def pieces(self) -> int:
        """How many pieces move, by a count of samples."""
        return prod(pieces(part.moves, part.output) for part in self.planned)

    @property
    def is_heavy(self) -> bool:
        """Whether the pieces are so many that data should be chunked anew first."""
        chunks = prod(count(part.data) for part in self.planned) + prod(count(part.output) for part in self.planned)
        return self.pieces > _MANY * chunks


def plan(data: Dims, chunks: Chunks, output: Dims, limit: int, *, regular: bool = False) -> ChunkPlan:
    """Chunks of output of at most `limit` elements, and what each takes from the chunks of data.

    `regular`: along each axis all chunks of output have one size, but for a smaller last one, and each chunk of a part
    is contiguous.
    """
    split = parts(data, output)
    sides = [tuple(chunks[axis] for axis in part.data_axes) for part in split]
    budgets = within([largest(side) for side in sides], limit)
    planned: list[Planned] = []
    for number, (part, side) in enumerate(zip(split, sides, strict=True)):
        room = limit // prod(budget for other, budget in enumerate(budgets) if other != number)
        found = _choose(part, side, budgets[number], room, regular=regular)
        budgets[number] = largest(found.output)
        planned.append(found)
    return ChunkPlan(tuple(planned), _whole(output, planned))


def plan_given(data: Dims, chunks: Chunks, output: Dims, given: Chunks) -> ChunkPlan | None:
    """The plan to the chunks of output that are given, or None where they cannot be reached in one step."""
    planned: list[Planned] = []
    for part in parts(data, output):
        side = tuple(chunks[axis] for axis in part.data_axes)
        wanted = tuple(given[axis] for axis in part.output_axes)
        flat = is_contiguous(part.output, wanted)
        if not flat and part.digits is None:
            return None
        planned.append(Planned(part, side, wanted, PartPlan(part, side, wanted, flat=flat)))
    return ChunkPlan(tuple(planned), given)


def chunks_before(chunks: Chunks, heavy: ChunkPlan, limit: int) -> Chunks:
    """The chunks that data should have first, where the pieces of a plan are too many: contiguous where it matters."""
    found = [tuple(size for size in sizes if size) for sizes in chunks]
    sizes = [largest(part.output) for part in heavy.planned]
    for number, part in enumerate(heavy.planned):
        others = prod(size for other, size in enumerate(sizes) if other != number)
        budget = max(1, min(sizes[number], limit // others))
        if part.part.data == part.part.output:
            side = part.output
        elif part.is_heavy or largest(part.data) > budget:
            side = contiguous(part.part.data, budget, strides(part.part.output))
        else:
            continue
        for axis, new in zip(part.part.data_axes, side, strict=True):
            found[axis] = new
    return tuple(found)


def divided(chunks: Chunks, limit: int) -> Chunks:
    """Chunks of at most `limit` elements: those that hold more are cut.

    >>> divided(((4, 4), (6,)), 12)
    ((2, 2, 2, 2), (6,))
    """
    budgets = within([max(sizes, default=1) for sizes in chunks], limit)
    return tuple(_cut(sizes, budget) for sizes, budget in zip(chunks, budgets, strict=True))


def within(sizes: list[int], limit: int) -> list[int]:
    """The sizes, made smaller from the left until their product is within the limit.

    >>> within([10, 10, 10], 50)
    [1, 5, 10]
    """
    found = [max(1, size) for size in sizes]
    for number, size in enumerate(found):
        volume = prod(found)
        if volume <= limit:
            break
        found[number] = max(1, limit // (volume // size))
    return found


def pieces(moves: PartPlan, output: Chunks) -> int:
    """How many pieces the chunks of output take in all; of many chunks only some are looked at."""
    counts = tuple(len(sizes) for sizes in output)
    total = prod(counts)
    if total <= _SAMPLES:
        return sum(moves.weight(index) for index in product(*map(range, counts)))
    units = strides(counts)
    looked = [total * sample // _SAMPLES for sample in range(_SAMPLES)]
    found = sum(
        moves.weight(tuple(place // unit % size for unit, size in zip(units, counts, strict=True))) for place in looked
    )
    return found * total // _SAMPLES


def _choose(part: AxisGroup, side: Chunks, budget: int, room: int, *, regular: bool) -> Planned:
    """The chunks of one part: the smallest that are made of few pieces, or else those of the fewest."""
    best: tuple[int, Planned] | None = None
    while True:
        for output, flat in _candidates(part, side, budget, room, regular=regular):
            found = Planned(part, side, output, PartPlan(part, side, output, flat=flat))
            cost = pieces(found.moves, output) + count(output)
            if best is None or cost < best[0]:
                best = cost, found
        if best is None:
            raise AssertionError  # there is always a candidate
        if not best[1].is_heavy or budget >= min(room, prod(part.data)):
            return best[1]
        budget = min(2 * budget, room)


def _candidates(
    part: AxisGroup, side: Chunks, budget: int, room: int, *, regular: bool
) -> Iterator[tuple[Chunks, bool]]:
    if part.data == part.output:
        sizes = _cut(side[0], budget)
        yield (sizes if not regular or _is_regular(sizes) else even(part.output[0], budget),), True
        return
    if not regular and is_contiguous(part.data, side):
        snapped = _snapped(part, side, min(room, 2 * budget))
        if snapped is not None:
            yield snapped, True
    yield contiguous(part.output, budget, strides(part.data)), True
    if not regular and part.digits is not None and len(part.output) > 1:
        yield _tiles(part, side, budget), False


def contiguous(dims: Dims, budget: int, wanted: Dims) -> Chunks:
    """Regular chunks that are contiguous in C order; cut, if the budget allows it, at multiples of a wanted size."""
    units = strides(dims)
    pivot = next(axis for axis, unit in enumerate(units) if unit <= budget)
    unit = units[pivot]
    step = next((lcm(unit, size) for size in wanted if lcm(unit, size) <= budget), unit) // unit
    sizes = even(dims[pivot], budget // unit, step)
    return (*((1,) * dim for dim in dims[:pivot]), sizes, *((dim,) for dim in dims[pivot + 1 :]))


def _snapped(part: AxisGroup, side: Chunks, most: int) -> Chunks | None:
    """Chunks of output cut where those of data are, as nearly as its rows allow."""
    row = strides(part.output)[0]
    ends = sorted({-(-end // row) for end in _ends(part.data, side)})
    sizes = tuple(after - before for before, after in pairwise([0, *ends]))
    if max(sizes) * row > most:
        return None
    return (sizes, *((dim,) for dim in part.output[1:]))


def _ends(dims: Dims, side: Chunks) -> Iterator[int]:
    """Where contiguous chunks end in C order."""
    units = strides(dims)
    cut = [axis for axis, sizes in enumerate(side) if max(sizes) < dims[axis]]
    pivot = cut[-1] if cut else 0
    for before in range(0, prod(dims), units[pivot] * dims[pivot]):
        yield from (before + end * units[pivot] for end in accumulate(size for size in side[pivot] if size))


def _tiles(part: AxisGroup, side: Chunks, budget: int) -> Chunks:
    """Chunks with about as many values of each digit as those of data have."""
    assert part.digits is not None  # noqa: S101 - the caller has looked
    digits = list(part.digits)
    values: list[int] = []
    for dim, sizes in zip(reversed(part.data), reversed(side), strict=True):
        left, volume = max(sizes), 1
        while volume < dim:
            digit = digits.pop()
            values.append(min(digit, left))
            left, volume = max(1, left // digit), volume * digit
    values.reverse()
    tiles: list[int] = []
    runs: list[Dims] = []
    at = 0
    for dim in part.output:
        end, volume = at, 1
        while volume < dim:
            volume, end = volume * part.digits[end], end + 1
        runs.append(part.digits[at:end])
        tiles.append(prod(values[at:end]))
        at = end
    tiles = within(tiles, budget)
    for axis in reversed(range(len(tiles))):  # what the budget allows beyond, in C order
        tiles[axis] = min(part.output[axis], tiles[axis] * (budget // prod(tiles)))
    return tuple(
        even(dim, tile, next(unit for unit in strides(run) if unit <= tile))
        for dim, tile, run in zip(part.output, tiles, runs, strict=True)
    )


def even(dim: int, most: int, step: int = 1) -> Dims:
    """Chunks of one size, a multiple of `step` and at most `most`, as few as that allows and then as even.

    >>> even(10, 4), even(10, 4, 3), even(12, 100)
    ((4, 4, 2), (3, 3, 3, 1), (12,))
    """
    steps = -(-dim // step)
    number = -(-steps // max(1, most // step))
    size = min(dim, -(-steps // number) * step)
    return (size,) * (dim // size) + ((dim % size,) if dim % size else ())


def _cut(sizes: Dims, most: int) -> Dims:
    """The chunks along one axis, each cut evenly where it is larger than `most`; those of size 0 go."""
    return tuple(piece for size in sizes if size for piece in even(size, most))


def _is_regular(sizes: Dims) -> bool:
    return all(size == sizes[0] for size in sizes[:-1]) and sizes[-1] <= sizes[0]


def _whole(output: Dims, planned: list[Planned]) -> Chunks:
    found: list[Dims] = [(1,)] * len(output)
    for part in planned:
        for axis, sizes in zip(part.part.output_axes, part.output, strict=True):
            found[axis] = sizes
    return tuple(found)
