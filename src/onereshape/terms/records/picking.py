"""Picking elements by an index: by numbers it is movement, by data a function of the index and of all it may pick.

An index within [-L, L) counts from the end if it is negative, so that it stands for its remainder modulo L; bounds of
an index bound what it may pick, which then counts from the lower bound on.  An index of several numbers picks from a
box, and counts through it in its order: one of i and j in a box of 2 by 3 is i * 3 + j in one of 6.  Where the bounds
leave one place, that is picked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array, Words
from onereshape.terms.integers import moderate
from onereshape.terms.records.quotients import modulo
from onereshape.terms.tensor import Tensor, terms

_BOXES: Final = 1 << 14
"""The most different ranges that the indices of a node may have."""


def places(call: Call, index: Tensor, length: int) -> Array:
    """Known indices, counted from the front."""
    found = index.array.astype(np.int64)
    if found.size and (found.min() < -length or found.max() >= length):
        call.refuse(f"an index is not within the {length} places that there are")
    return np.where(found < 0, found + length, found)


def check_index(call: Call, index: Tensor, data: Tensor, axis: int) -> None:
    """Notes an index that need not pick of its own sample for every N.

    Along a dim of p * N * q it is c + slope * N + q * s, with slope a multiple of q below p * q and c within [0, q):
    at the first sample c is not below 0, and at the last it does not reach the next round.
    """
    slope, place = np.asarray(index.integers.slope), np.asarray(index.integers.place)
    inner = data.inner(axis)
    if not inner:
        if np.any(slope) or np.any(place):
            call.not_for_all("picks by a number that depends on the number of samples")
        return
    low, high = index.each_bounds()
    if not index.size:
        return
    if not (moderate(low) and moderate(high)) or np.any(place != inner):
        call.not_for_all("picks fixed places of a dim that grows with the number of samples")
    elif np.any(slope % inner) or np.any(slope < 0) or np.any(slope > data.growth[axis] - inner):
        call.not_for_all("picks places of a dim that need not be there for another number of samples")
    elif np.any(low - slope * call.samples < 0) or np.any(high - slope * call.samples >= inner * call.samples):
        call.not_for_all("picks places of a dim that need not be the sample's own for another number of samples")


def growth_of(tensor: Tensor, axis: int) -> int:
    """By how much a dim grows with N."""
    return tensor.growth[axis] if tensor.growth else 0


def columned(index: Tensor) -> Tensor:
    """Indices of a single number, with a last axis of 1: `[2, 3] -> [2, 3, 1]`."""
    return index.moved(lambda array: array[..., None])


@dataclass(frozen=True, slots=True)
class Reach:
    """Indices of w numbers: the box of places `low` to `high` that an index may point to, and the place within it."""

    low: Array
    high: Array
    """The bounds of an index's numbers, in the last axis, of length w."""
    columns: tuple[Words, ...]
    """The words of each of the w numbers, counted from its lower bound."""

    @property
    def settled(self) -> bool:
        """Whether every index may point to a single place only."""
        return bool(np.all(self.low == self.high))

    @property
    def words(self) -> Words:
        """The words of the place that an index has in its box, counted in row-major order."""
        found, step = np.zeros(self.low.shape[:-1], np.uint64), np.ones(self.low.shape[:-1], np.uint64)
        for axis in reversed(range(len(self.columns))):
            found = found + self.columns[axis] * step
            step = step * (self.high[..., axis] - self.low[..., axis] + 1).astype(np.uint64)
        return found


def reach(call: Call, index: Tensor, lengths: Sequence[int]) -> Reach:
    """Where indices point to along axes of some lengths; the last axis of the index has a number for each."""
    if index.size and 0 in lengths:
        call.refuse("points into nothing")
    if index.known:
        numbers = [places(call, column(index, axis), length) for axis, length in enumerate(lengths)]
        low = np.stack(numbers, -1)
        return Reach(low, low, (np.zeros(low.shape[:-1], np.uint64),) * len(lengths))
    parts = [windows(call, column(index, axis), length) for axis, length in enumerate(lengths)]
    low, high = (np.stack([part[side] for part in parts], -1) for side in (1, 2))
    columns = [np.where(low[..., axis] == high[..., axis], np.uint64(0), part[0]) for axis, part in enumerate(parts)]
    return Reach(low, high, tuple(columns))


def column(index: Tensor, axis: int) -> Tensor:
    """A number of each index: of indices `[2, 3, w]` those at `[:, :, axis]`."""
    return index.moved(lambda array: array[..., axis])


def windows(call: Call, index: Tensor, length: int) -> tuple[Words, Array, Array]:
    """Words of data-dependent indices counted from their lower bounds, and their bounds."""
    low, high = index.each_bounds()
    required = (low < -length) | (high >= length)
    if np.any(required):
        call.require(call.hashing.key("within", length), index.hashed(call.hashing)[required])
    if not index.size or length == 1:
        nothing = np.zeros(index.shape, np.int64)
        return nothing.astype(np.uint64), nothing, nothing
    beyond = (low < 0) | (high >= length)
    if np.any(beyond):
        if np.any(beyond & ((index.slopes() != 0) | (index.places() != 0))):
            call.not_for_all("picks by a number that depends on the number of samples and has no bounds")
        index = modulo(call, index, np.asarray(length, np.int64))
        low, high = index.each_bounds()
    return index.hashed(call.hashing) - low.astype(np.uint64) * call.hashing.unit, low, high


@dataclass(frozen=True, slots=True)
class Source:
    """Data from which indices pick elements, along `count` axes in a row."""

    call: Call
    data: Tensor
    axis: int
    """The first of these axes; there are `count`."""
    count: int

    @property
    def lengths(self) -> tuple[int, ...]:
        """The sizes of the axes that are picked from."""
        return self.data.shape[self.axis : self.axis + self.count]

    def contents(self, low: Array, high: Array) -> Words:
        """The content of each box, in its order, for all elements before and behind the axes.

        The content of a box of one place is the element itself.
        """
        around = (prod(self.data.shape[: self.axis]), prod(self.data.shape[self.axis + self.count :]))
        self.call.check_size([len(low), *around])
        found = np.empty((len(low), *around), np.uint64)
        for place, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            found[place] = self._content(first, last).reshape(around)
        return found

    def _content(self, first: Sequence[int], last: Sequence[int]) -> Words:
        axes = tuple(range(self.axis, self.axis + self.count))
        part = self.data
        if any(first) or any(end + 1 < length for end, length in zip(last, self.lengths, strict=True)):
            box = tuple(slice(start, end + 1) for start, end in zip(first, last, strict=True))
            part = self.data.moved(lambda array: array[(slice(None),) * self.axis + box])
        if all(start == end for start, end in zip(first, last, strict=True)):
            return part.linear(self.call.hashing)
        return part.folded(self.call.hashing, axes)


def _boxes(call: Call, found: Reach) -> tuple[Array, Array, Array]:
    """The different boxes of indices: their lower and upper bounds, and the number of each index's box."""
    width = found.low.shape[-1]
    rows = np.concatenate([found.low, found.high], -1).reshape(-1, 2 * width)
    unique, which = np.unique(rows, axis=0, return_inverse=True)
    if len(unique) > _BOXES:
        call.refuse(f"its indices have {len(unique)} different ranges")
    return unique[:, :width], unique[:, width:], which.reshape(found.low.shape[:-1])


def _picked(call: Call, data: Tensor, found: Reach, contents: Words, words: Words) -> Tensor:
    """The picked elements: the content of an index's box, mixed with its place there, unless the box is one element."""
    if data.depends:
        call.not_for_all("picks by data among numbers that depend on the number of samples")
    one = np.all(found.low == found.high, -1).reshape(words.shape)
    picked = call.hashing.mix(call.key(op="Pick"), words, contents)
    if np.any(one):
        picked = np.where(one, contents, picked)
    low, high = data.bounds() if data.is_integer else (None, None)
    if low is None or high is None or not low.size:
        return terms(picked, data.dtype)
    return terms(picked, data.dtype, np.asarray(int(low.min())), np.asarray(int(high.max())))


def _gather(call: Call) -> Sequence[Tensor]:
    data, index = call.tensor(0), call.tensor(1)
    axis = call.axis(call.attribute("axis", 0), data.rank)
    shape = (*data.shape[:axis], *index.shape, *data.shape[axis + 1 :])
    call.check_size(shape)
    check_index(call, index, data, axis)
    found = reach(call, columned(index), data.shape[axis : axis + 1])
    if found.settled:
        picked = found.low[..., 0]
        return [data.moved(lambda array: np.take(array, picked, axis))]
    if _counts(data) and index.dtype == data.dtype:
        return [modulo(call, index, np.asarray(data.size, np.int64))]
    low, high, which = _boxes(call, found)
    contents = Source(call, data, axis, 1).contents(low, high)
    each = contents.swapaxes(0, 1) if len(low) == 1 else np.moveaxis(contents[which.ravel()], 0, 1)
    result = _picked(call, data, found, each, found.words.reshape(1, -1, 1))
    return [result.moved(lambda array: array.reshape(shape))]


def _counts(data: Tensor) -> bool:
    """Whether data are 0, 1, 2 ..., of which an index picks its own place."""
    whole = data.known and data.is_integer and data.rank == 1 and not data.depends and not data.grows
    return whole and np.array_equal(data.array, np.arange(data.size))


def check_around(call: Call, data: Tensor, index: Tensor, axis: int) -> None:
    """Refuses an index that has more along other axes than the data, and notes one that has less of a growing dim."""
    if index.rank != data.rank:
        call.refuse(f"its index has {index.rank} dims, and the data {data.rank}")
    for other, (mine, theirs) in enumerate(zip(data.shape, index.shape, strict=True)):
        if other == axis or mine == theirs:
            continue
        if theirs > mine:
            call.refuse(f"the dims {list(index.shape)} of its index reach beyond {list(data.shape)}")
        if growth_of(data, other) or growth_of(index, other):
            call.not_for_all("uses a part of a dim that grows with the number of samples")


def cut_around(shape: Sequence[int], axis: int) -> tuple[slice, ...]:
    """The part of the data that an index has lines for."""
    return tuple(slice(None) if other == axis else slice(dim) for other, dim in enumerate(shape))


def _gather_elements(call: Call) -> Sequence[Tensor]:
    data, index = call.tensor(0), call.tensor(1)
    axis = call.axis(call.attribute("axis", 0), data.rank)
    check_around(call, data, index, axis)
    check_index(call, index, data, axis)
    part = cut_around(index.shape, axis)
    if data.shape != tuple(data.shape[other] if other == axis else dim for other, dim in enumerate(index.shape)):
        data = data.moved(lambda array: array[part])
    found = reach(call, columned(index), data.shape[axis : axis + 1])
    if found.settled:
        picked = found.low[..., 0]
        return [data.moved(lambda array: np.take_along_axis(array, picked, axis))]
    low, high, which = _boxes(call, found)
    contents = Source(call, data, axis, 1).contents(low, high)
    lines = (prod(index.shape[:axis]), index.shape[axis], prod(index.shape[axis + 1 :]))
    before, behind = np.arange(lines[0])[:, None, None], np.arange(lines[2])
    each = contents.swapaxes(0, 1) if len(low) == 1 else contents[which.reshape(lines), before, behind]
    result = _picked(call, data, found, each, found.words.reshape(lines))
    return [result.moved(lambda array: array.reshape(index.shape))]


def _gather_nd(call: Call) -> Sequence[Tensor]:
    data, index = call.tensor(0), call.tensor(1)
    lead = call.attribute("batch_dims", 0)
    if not data.rank or not index.rank or not 0 <= lead < min(data.rank, index.rank):
        call.refuse(f"has {lead} batch_dims for data of rank {data.rank} and an index of rank {index.rank}")
    width = index.shape[-1]
    if not 1 <= width <= data.rank - lead or data.shape[:lead] != index.shape[:lead]:
        call.refuse(f"its index of dims {list(index.shape)} does not go with data of dims {list(data.shape)}")
    shape = (*index.shape[:-1], *data.shape[lead + width :])
    call.check_size(shape)
    for place in range(width):
        check_index(call, column(index, place), data, lead + place)
    source = Source(call, data, lead, width)
    found = reach(call, index, source.lengths)
    rows = (prod(index.shape[:lead]), prod(index.shape[lead:-1]))
    before = np.arange(rows[0])[:, None]
    if found.settled:
        which = tuple(np.moveaxis(found.low, -1, 0).reshape(width, *rows))
        flat = (rows[0], *source.lengths, prod(data.shape[lead + width :]))
        return [data.moved(lambda array: array.reshape(flat)[(before, *which)].reshape(shape))]
    low, high, boxes = _boxes(call, found)
    contents = source.contents(low, high)
    each = contents.swapaxes(0, 1) if len(low) == 1 else contents[boxes.reshape(rows), before]
    result = _picked(call, data, found, each, found.words.reshape(*rows, 1))
    return [result.moved(lambda array: array.reshape(shape))]


RECORDS: Final[dict[str, Record]] = {
    "Gather": record(_gather, carries=True),
    "GatherElements": record(_gather_elements, carries=True),
    "GatherND": record(_gather_nd, carries=True),
}
