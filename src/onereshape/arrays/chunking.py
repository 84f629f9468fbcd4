"""Which elements of which chunk go where, when a chunked array is reshaped: integers only, no array is touched.

A reshape falls apart into *parts*: shortest runs of axes of data and of output that hold the same elements, each on its
own, so that [N, 6, 2] by [N, 3, 4] is N by N and [6, 2] by [3, 4].  Axes of size 1 belong to no part.

Within a part all axes are runs of *digits*, as those of a mixed radix number: data and output merge the same digits in
different ways.  [6, 2] by [3, 4] has the digits 3, 2, 2: data merges the first two, output the last two.  Where no such
digits exist ([2, 3] by [3, 2]), or where it serves better, the output is taken as one flat axis, which merges all axes
of data; its chunks must then be contiguous in C order.

A chunk of one axis is an interval of a mixed radix number, and so a few boxes of digits (at most 2 n - 1 of n digits).
What a chunk of data gives to a chunk of output is where their boxes meet.  Which chunks the output should have is
chosen in `chunk_choice`; the graph is built in `dask_arrays`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise, product
from math import prod

from onereshape.ground.integers import Dims

Chunks = tuple[Dims, ...]
"""The sizes of the chunks along each axis, as Dask writes them."""
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class AxisGroup:
    """Axes of data and axes of output that hold the same elements, whatever the other axes do."""

    data_axes: Dims
    output_axes: Dims
    data: Dims
    output: Dims
    digits: Dims | None
    """The digits that both sides merge; None where none serve both."""


def parts(data: Dims, output: Dims) -> list[AxisGroup]:
    """The independent parts of a reshape of arrays that are not empty, in the order of the axes.

    >>> [(part.data, part.output, part.digits) for part in parts((5, 6, 1, 2), (5, 3, 4))]
    [((5,), (5,), (5,)), ((6, 2), (3, 4), (3, 2, 2))]
    """
    left = [(axis, dim) for axis, dim in enumerate(data) if dim != 1]
    right = [(axis, dim) for axis, dim in enumerate(output) if dim != 1]
    found: list[AxisGroup] = []
    i = j = 0
    while i < len(left):
        first, second = i, j
        volume, reached = left[i][1], right[j][1]
        i, j = i + 1, j + 1
        while volume != reached:
            if volume < reached:
                volume, i = volume * left[i][1], i + 1
            else:
                reached, j = reached * right[j][1], j + 1
        sides = left[first:i], right[second:j]
        dims = [tuple(dim for _, dim in side) for side in sides]
        axes = [tuple(axis for axis, _ in side) for side in sides]
        found.append(AxisGroup(axes[0], axes[1], dims[0], dims[1], _digits(dims[0], dims[1])))
    return found


def strides(dims: Dims) -> Dims:
    """The number of elements that one step along each axis passes over.

    >>> strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(accumulate(reversed(dims[1:]), int.__mul__, initial=1))[::-1] if dims else ()


def _digits(data: Dims, output: Dims) -> Dims | None:
    """The coarsest dims that both sides merge, if there are any."""
    units = sorted({*strides(data), *strides(output), prod(data)}, reverse=True)
    if any(larger % smaller for larger, smaller in pairwise(units)):
        return None
    return tuple(larger // smaller for larger, smaller in pairwise(units))


@dataclass(frozen=True, slots=True)
class Box:
    """An interval of an axis that is a box of its digits."""

    start: int
    ranges: tuple[Range, ...]

    @property
    def dims(self) -> Dims:
        """How many values each digit takes."""
        return tuple(stop - start for start, stop in self.ranges)


def boxes(start: int, stop: int, digits: Dims) -> list[Box]:
    """The interval of a mixed radix number, cut into boxes of its digits, in order.

    >>> [box.ranges for box in boxes(2, 7, (3, 3))]
    [((0, 1), (2, 3)), ((1, 2), (0, 3)), ((2, 3), (0, 1))]
    """
    units = strides(digits)
    return [
        Box(sum(unit * low for unit, (low, _) in zip(units, ranges, strict=True)), ranges)
        for ranges in _ranges(start, stop, digits)
    ]


def _ranges(start: int, stop: int, digits: Dims) -> Iterator[tuple[Range, ...]]:
    if len(digits) == 1:
        yield ((start, stop),)
        return
    row = prod(digits[1:])
    first, within = divmod(start, row)
    last, rest = divmod(stop, row)
    if first == last:
        yield from (((first, first + 1), *inner) for inner in _ranges(within, rest, digits[1:]))
        return
    if within:
        yield from (((first, first + 1), *inner) for inner in _ranges(within, row, digits[1:]))
        first += 1
    if first < last:
        yield ((first, last), *((0, digit) for digit in digits[1:]))
    if rest:
        yield from (((last, last + 1), *inner) for inner in _ranges(0, rest, digits[1:]))


@dataclass(frozen=True, slots=True)
class BlockPlace:
    """A box within a block: an interval of each axis, which is split into `dims`, and then a range of each of those."""

    intervals: tuple[Range, ...]
    dims: Dims
    within: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class BlockMove:
    """Elements that go from a place in a block of data to a place in a block of output, in the same order."""

    source: BlockPlace
    destination: BlockPlace

    @property
    def volume(self) -> int:
        """How many elements move."""
        return prod(stop - start for start, stop in self.source.within)


@dataclass(frozen=True, slots=True)
class _Met:
    """The part of a box of digits that one chunk along an axis of data holds."""

    number: int
    interval: Range
    """Within the chunk."""
    dims: Dims
    """What the interval is split into."""
    within: tuple[Range, ...]
    """The part of these dims that the box has."""
    common: tuple[Range, ...]
    """The digits themselves."""


@dataclass(slots=True)
class _DataAxis:
    """An axis of data: its digits, and the boxes of its chunks; those of size 0 take no part."""

    digits: Dims
    first: int
    """Which digit of the part is its first."""
    sizes: Dims
    starts: list[int] = field(init=False)
    numbers: list[int] = field(init=False)
    known: dict[tuple[Range, ...], list[_Met]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        begin = list(accumulate(self.sizes, initial=0))
        self.numbers = [number for number, size in enumerate(self.sizes) if size]
        self.starts = [begin[number] for number in self.numbers]

    def meets(self, asked: tuple[Range, ...]) -> list[_Met]:
        """The elements of a box of digits in each chunk along the axis."""
        if asked not in self.known:
            self.known[asked] = list(self._meet(asked))
        return self.known[asked]

    def _meet(self, asked: tuple[Range, ...]) -> Iterator[_Met]:
        units = strides(self.digits)
        low = sum(unit * start for unit, (start, _) in zip(units, asked, strict=True))
        high = sum(unit * (stop - 1) for unit, (_, stop) in zip(units, asked, strict=True))
        for place in range(bisect_right(self.starts, low) - 1, bisect_right(self.starts, high)):
            number, start = self.numbers[place], self.starts[place]
            for box in boxes(start, start + self.sizes[number], self.digits):
                common = tuple(map(_common, asked, box.ranges))
                if all(begin < end for begin, end in common):
                    begin = box.start - start
                    within = tuple(map(_shifted, common, box.ranges))
                    yield _Met(number, (begin, begin + prod(box.dims)), box.dims, within, common)


def _common(one: Range, other: Range) -> Range:
    return max(one[0], other[0]), min(one[1], other[1])


def _shifted(one: Range, other: Range) -> Range:
    return one[0] - other[0], one[1] - other[0]


Moves = dict[Dims, list[BlockMove]]
"""The moves into one chunk of output, by the numbers of the chunk of data that they take from."""


class PartPlan:
    """The moves of one part of a reshape: the elements that each chunk of output takes from chunks of data."""

    def __init__(self, part: AxisGroup, data: Chunks, output: Chunks, *, flat: bool) -> None:
        """`flat`: the chunks of output are contiguous, and blocks of output are seen as one axis."""
        self.flat = flat
        self._output = output
        self._starts = tuple(tuple(accumulate(sizes, initial=0)) for sizes in output)
        self._units = strides(part.output)
        digits = part.data if flat else part.digits
        if digits is None:
            raise ValueError("chunks that are not contiguous need digits")
        self._merged = [digits] if flat else [found for _, found in _runs(part.output, digits)]
        self._axes = [
            _DataAxis(found, first, sizes) for (first, found), sizes in zip(_runs(part.data, digits), data, strict=True)
        ]
        self._known: dict[Dims, Moves] = {}

    def moves(self, index: Dims) -> Moves:
        """The moves into the chunk of output at `index`, by the chunk of data that they take from."""
        if index not in self._known:
            self._known[index] = self._find(index)
        return self._known[index]

    def weight(self, index: Dims) -> int:
        """The number of moves into the chunk of output at `index`, counted without making them."""
        return sum(prod(map(len, meets)) for _, _, meets in self._asked(self._intervals(index)))

    def _asked(self, intervals: list[Range]) -> Iterator[tuple[tuple[Box, ...], tuple[Range, ...], list[list[_Met]]]]:
        """Each box of digits of a chunk of output, and the chunks along each axis of data that meet it."""
        if any(start == stop for start, stop in intervals):
            return
        cut = [boxes(start, stop, digits) for (start, stop), digits in zip(intervals, self._merged, strict=True)]
        for chosen in product(*cut):
            asked = tuple(one for box in chosen for one in box.ranges)
            yield chosen, asked, [axis.meets(asked[axis.first : axis.first + len(axis.digits)]) for axis in self._axes]

    def _find(self, index: Dims) -> Moves:
        found: Moves = {}
        intervals = self._intervals(index)
        for chosen, asked, meets in self._asked(intervals):
            dims = tuple(dim for box in chosen for dim in box.dims)
            there = tuple(
                (box.start - start, box.start - start + prod(box.dims))
                for box, (start, _) in zip(chosen, intervals, strict=True)
            )
            for met in product(*meets):
                source = BlockPlace(
                    tuple(one.interval for one in met),
                    tuple(dim for one in met for dim in one.dims),
                    tuple(span for one in met for span in one.within),
                )
                common = (span for one in met for span in one.common)
                destination = BlockPlace(there, dims, tuple(map(_shifted, common, asked)))
                found.setdefault(tuple(one.number for one in met), []).append(BlockMove(source, destination))
        return found

    def _intervals(self, index: Dims) -> list[Range]:
        ends = [(starts[number], starts[number + 1]) for starts, number in zip(self._starts, index, strict=True)]
        if not self.flat:
            return ends
        start = sum(unit * low for unit, (low, _) in zip(self._units, ends, strict=True))
        return [(start, start + prod(high - low for low, high in ends))]


def _runs(dims: Dims, digits: Dims) -> list[tuple[int, Dims]]:
    """Which digits each axis merges: the number of the first, and the digits."""
    found: list[tuple[int, Dims]] = []
    at = 0
    for dim in dims:
        end, volume = at, 1
        while volume < dim:
            volume, end = volume * digits[end], end + 1
        found.append((at, digits[at:end]))
        at = end
    return found


def is_contiguous(dims: Dims, chunks: Chunks) -> bool:
    """Whether every chunk is one interval in C order: ones, then any sizes along one axis, then whole axes.

    >>> is_contiguous((4, 6), ((1,) * 4, (3, 3))), is_contiguous((4, 6), ((2, 2), (3, 3)))
    (True, False)
    """
    cut = [axis for axis, sizes in enumerate(chunks) if max(sizes, default=0) < dims[axis]]
    return not cut or all(max(sizes) <= 1 for sizes in chunks[: cut[-1]])


def largest(chunks: Sequence[Sequence[int]]) -> int:
    """The number of elements of the largest chunk."""
    return prod(max(sizes, default=0) for sizes in chunks)


def count(chunks: Sequence[Sequence[int]]) -> int:
    """The number of chunks."""
    return prod(len(sizes) for sizes in chunks)
