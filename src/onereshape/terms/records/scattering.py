"""Writing elements by an index: by numbers it is movement, by data a function of all that may be written.

Indices that may meet share a box; what is in it is a function of what was there, of its place in the box, and of all
indices and updates of the box in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array, Words
from onereshape.terms.integers import small
from onereshape.terms.records.merging import merged
from onereshape.terms.records.picking import Reach, check_around, check_index, column, cut_around, growth_of, reach
from onereshape.terms.tensor import Tensor, numbers, terms

_BOXES: Final = 1 << 14
"""The most different ranges of indices that are told apart; more ranges share one box."""

_TURNS: Final = 1 << 16
"""The most updates of a place, which follow one another."""

_REDUCED: Final = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}


_EXACT: Final[dict[str, Any]] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


@dataclass(frozen=True, slots=True)
class _Writing:
    """Updates [G, Q, R] for data [G, K1, ..., Kw, R], by indices [G, Q, w]."""

    call: Call
    data: Tensor
    updates: Tensor
    found: Reach
    reduction: str

    @property
    def lengths(self) -> tuple[int, ...]:
        """The sizes K1, ..., Kw of the axes that indices point into."""
        return self.data.shape[1:-1]

    def known(self) -> Tensor:
        """The data after updates whose indices are numbers: updates of the same place follow one another."""
        call, count = self.call, prod(self.lengths)
        low = self.found.low
        flat = np.ravel_multi_index(tuple(np.moveaxis(low, -1, 0)), self.lengths) if low.size else low[..., 0]
        lines, order = flat.shape
        places = flat + count * np.arange(lines)[:, None]
        turns = _turns(places.ravel()).reshape(lines, order)
        if self.reduction == "none":
            if turns.size and turns.max():
                call.refuse("writes twice to one place")
            return merged(call, [self.data, self.updates], lambda arrays: _written(arrays[0], arrays[1], places))
        if self.data.depends or self.updates.depends:
            call.not_for_all("reduces numbers that depend on the number of samples")
        if call.tensor(1).grows and not call.tensor(0).grows:
            call.not_for_all("reduces as many numbers as there are samples")
        if self.data.is_integer and self.data.known and self.updates.known:
            return self._numbers(places)
        rest = self.data.shape[-1]
        words = np.array(self.data.hashed(call.hashing)).reshape(lines * count, rest)
        given = self.updates.hashed(call.hashing).reshape(lines * order, rest)
        ranked = np.argsort(turns, axis=None, kind="stable")
        counts = np.bincount(turns.ravel()) if turns.size else np.zeros(0, np.int64)
        if len(counts) > _TURNS:
            call.refuse(f"writes {len(counts)} times to one place")
        for end, count in zip(np.cumsum(counts).tolist(), counts.tolist(), strict=True):
            now = ranked[end - count : end]
            where = places.ravel()[now]
            words[where] = self._reduced(words[where], given[now])
        return terms(words.reshape(self.data.shape), self.data.dtype)

    def _numbers(self, places: Array) -> Tensor:
        """The data after updates of known integers, which have the same sum in any order."""
        values = np.array(self.data.array).reshape(-1, self.data.shape[-1])
        _EXACT[self.reduction].at(values, places.ravel(), self.updates.array.reshape(-1, values.shape[-1]))
        return numbers(values.reshape(self.data.shape), self.data.dtype)

    def _reduced(self, before: Words, update: Words) -> Words:
        """The words of elements `before` reduced with an update: their sum, product, largest or least."""
        if self.reduction == "add" and self.data.is_integer and self._small:
            return before + update
        if self.reduction in {"max", "min"} and not self.data.is_integer:  # engines differ in what is no number
            return self.call.hashing.mix(self.call.key("reduced", self.reduction, op="Scatter"), before, update)
        return self.call.hashing.blend(self.call.key(op=_REDUCED[self.reduction]), before, update)

    @property
    def _small(self) -> bool:
        """Whether sums stay linear: twice what has no bounds, time and again, would be 0 whatever it is."""
        return small(*self.data.bounds(), *self.updates.bounds())

    def by_data(self) -> Tensor:
        """The data after updates by data: an element depends on all updates that may be written to it."""
        call, hashing = self.call, self.call.hashing
        if self.data.depends or self.updates.depends:
            call.not_for_all("writes by data among numbers that depend on the number of samples")
        words, given = np.array(self.data.hashed(hashing)), self.updates.hashed(hashing)
        low, high = self.found.low, self.found.high
        both = np.concatenate([low, high], -1)
        patterns, which = np.unique(both.reshape(len(low), -1), axis=0, return_inverse=True)
        if len(patterns) > _BOXES:
            call.refuse(f"its indices have {len(patterns)} different ranges")
        for number, pattern in enumerate(patterns):
            lines = np.flatnonzero(which.ravel() == number)
            ends = pattern.reshape(low.shape[1], 2, -1)
            for first, last, members in _shared(ends, self.lengths):
                self._write(words, given, lines, (first, last), members)
        return terms(words, self.data.dtype, *self._ends())

    def _write(self, words: Words, given: Words, lines: Array, box: tuple[Array, Array], members: Array) -> None:
        """Writes into `words`, at a box of these lines, the updates of the indices `members`, which point into it."""
        call, hashing = self.call, self.call.hashing
        first, last = box
        sizes = last - first + 1
        part: Any = (lines, *_box(first, last))
        before, updates = words[part], given[lines[:, None], members]
        if np.all(sizes == 1):
            if self.reduction == "none" and len(members) > 1:
                call.refuse("writes twice to one place")
            now = before.reshape(len(lines), -1)
            for turn in range(len(members)):
                now = updates[:, turn] if self.reduction == "none" else self._reduced(now, updates[:, turn])
            words[part] = now.reshape(before.shape)
            return
        where = self._within(lines, members, first, sizes)
        content = hashing.fold(hashing.mix(call.key("update", op="Scatter"), where[..., None], updates), (1,))
        place = hashing.constants(np.arange(prod(sizes.tolist())).reshape(*sizes, 1), "INT64")
        content = content.reshape(len(lines), *[1] * len(sizes), content.shape[-1])
        words[part] = hashing.mix(call.key(self.reduction, op="Scatter"), before, place, content)

    def _within(self, lines: Array, members: Array, first: Array, sizes: Array) -> Words:
        """The words of the place of indices `members` in a box that begins at `first`, which may exceed their own."""
        chosen: Any = np.ix_(lines, members)
        found = np.zeros((len(lines), len(members)), np.uint64)
        step = 1
        for axis in reversed(range(len(sizes))):
            start = (self.found.low[chosen][..., axis] - first[axis]).astype(np.uint64) * self.call.hashing.unit
            found = found + (self.found.columns[axis][chosen] + start) * np.uint64(step)
            step *= int(sizes[axis])
        return found

    def _ends(self) -> tuple[Array | None, Array | None]:
        """The bounds of the data after updates that replace integers: the least and the largest of both; else None."""
        if self.reduction != "none" or not self.data.is_integer:
            return None, None
        ends = [each.bounds() for each in (self.data, self.updates) if each.size]
        lows, highs = [low for low, _ in ends if low is not None], [high for _, high in ends if high is not None]
        if len(lows) < len(ends) or len(highs) < len(ends) or not ends:
            return None, None
        return np.asarray(min(int(low.min()) for low in lows)), np.asarray(max(int(high.max()) for high in highs))


def _turns(places: Array) -> Array:
    """For each update the number of earlier updates of the same place.

    >>> _turns(np.array([4, 2, 4, 4, 2])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(places, kind="stable")
    ranked = places[order]
    new = np.r_[True, ranked[1:] != ranked[:-1]] if len(ranked) else np.zeros(0, bool)
    starts = np.flatnonzero(new)
    found = np.empty(len(places), np.int64)
    found[order] = np.arange(len(places)) - starts[np.cumsum(new) - 1] if len(starts) else 0
    return found


def _written(data: Array, updates: Array, places: Array) -> Array:
    """Data whose rows at `places` are those of `updates`."""
    found = np.array(data).reshape(-1, data.shape[-1])
    found[places.ravel()] = updates.reshape(-1, data.shape[-1])
    return found.reshape(data.shape)


def _shared(ends: Array, lengths: Sequence[int]) -> Iterator[tuple[Array, Array, Array]]:
    """The boxes of indices, merged until none overlap: lower and upper ends, and the numbers of a box's indices."""
    boxes, which = np.unique(ends, axis=0, return_inverse=True)
    which = which.ravel()
    if len(boxes) > _BOXES:
        yield ends[:, 0].min(0), ends[:, 1].max(0), np.arange(len(ends))
        return
    owner = np.full(tuple(lengths), -1, np.int32)
    groups: dict[int, tuple[Array, Array, list[int]]] = {}
    for number, (first, last) in enumerate(boxes):
        low, high, members = first, last, [number]
        while len(met := np.unique(owner[_box(low, high)])) > 1 or (len(met) and met[0] >= 0):
            for each in met[met >= 0].tolist():
                start, end, others = groups.pop(each)
                owner[_box(start, end)] = -1
                low, high = np.minimum(low, start), np.maximum(high, end)
                members += others
        owner[_box(low, high)] = number
        groups[number] = low, high, members
    for low, high, members in groups.values():
        yield low, high, np.flatnonzero(np.isin(which, members))


def _box(low: Array, high: Array) -> tuple[slice, ...]:
    return tuple(slice(start, end + 1) for start, end in zip(low.tolist(), high.tolist(), strict=True))


def _reduction(call: Call) -> str:
    found = call.attribute("reduction", "none")
    if found != "none" and found not in _REDUCED:
        call.refuse(f"there is no reduction {found!r}")
    return str(found)


def _scatter_nd(call: Call) -> Sequence[Tensor]:
    data, index, updates = call.tensor(0), call.tensor(1), call.tensor(2)
    if not data.rank or not index.rank or not 1 <= index.shape[-1] <= data.rank:
        call.refuse(f"its index of dims {list(index.shape)} does not go with data of dims {list(data.shape)}")
    width = index.shape[-1]
    if updates.shape != (*index.shape[:-1], *data.shape[width:]):
        call.refuse(f"its updates have dims {list(updates.shape)}")
    for place in range(width):
        check_index(call, column(index, place), data, place)
    found = reach(call, index.moved(lambda array: array.reshape(1, -1, width)), data.shape[:width])
    rest = prod(data.shape[width:])
    writing = _Writing(
        call,
        data.moved(lambda array: array.reshape(1, *data.shape[:width], rest)),
        updates.moved(lambda array: array.reshape(1, prod(index.shape[:-1]), rest)),
        found,
        _reduction(call),
    )
    result = writing.known() if found.settled else writing.by_data()
    return [result.moved(lambda array: array.reshape(data.shape))]


def _scatter_elements(call: Call) -> Sequence[Tensor]:
    data, index, updates = call.tensor(0), call.tensor(1), call.tensor(2)
    axis = call.axis(call.attribute("axis", 0), data.rank)
    check_around(call, data, index, axis)
    call.dims("*S", "*I", "*I")
    check_index(call, index, data, axis)
    part = cut_around(index.shape, axis)

    def lines(array: Array) -> Array:
        moved = np.moveaxis(array, axis, -1)
        return moved.reshape(prod(moved.shape[:-1]), moved.shape[-1], 1)

    found = reach(call, index.moved(lines), data.shape[axis : axis + 1])
    inner = data.moved(lambda array: lines(array[part]))
    writing = _Writing(call, inner, updates.moved(lines), found, _reduction(call))
    result = writing.known() if found.settled else writing.by_data()
    dims = [*(dim for other, dim in enumerate(index.shape) if other != axis), data.shape[axis]]
    placed = result.moved(lambda array: np.moveaxis(array.reshape(dims), -1, axis))
    if placed.shape == data.shape:
        return [placed]

    def together(arrays: Sequence[Array]) -> Array:
        whole = np.array(arrays[0])
        whole[part] = arrays[1]
        return whole

    return [merged(call, [data, placed], together)]


def _tensor_scatter(call: Call) -> Sequence[Tensor]:
    data, updates = call.tensor(0), call.tensor(1)
    circular = call.attribute("mode", "linear") == "circular"
    if not circular and call.attribute("mode", "linear") != "linear":
        call.refuse(f"there is no mode {call.attribute('mode')!r}")
    axis = call.axis(call.attribute("axis", -2), data.rank)
    length, count = data.shape[axis], updates.shape[axis] if updates.rank == data.rank else 0
    around = [dim for other, dim in enumerate(data.shape) if other != axis]
    if not axis or updates.rank != data.rank or [*np.delete(updates.shape, axis)] != around or count > length:
        call.refuse(f"its updates of dims {list(updates.shape)} do not go along axis {axis} of {list(data.shape)}")
    if growth_of(data, axis) or growth_of(updates, axis):
        call.not_for_all("writes to fixed places of a dim that grows with the number of samples")
    call.dims("N *S", "N *U", "N ?")
    rows = np.arange(data.shape[0])[:, None]
    if not call.has(2) or call.tensor(2).known:
        starts = call.numbers(2) if call.has(2) else np.zeros(len(rows), np.int64)
        places = starts.reshape(-1, 1) + np.arange(count)
        if starts.size and starts.min() < 0:
            call.refuse("writes to a place below 0")
        places = places % length if circular and length else places
        if places.size and places.max() >= length:
            call.refuse(f"writes to place {places.max()} of {length}")

        def together(arrays: Sequence[Array]) -> Array:
            found, new = (np.moveaxis(np.array(each), axis, 1) for each in arrays)
            found[rows, places] = new
            return np.moveaxis(found, 1, axis)

        return [merged(call, [data, updates], together)]
    steps = call.hashing.constants(np.arange(length), "INT64").reshape(-1, *[1] * (data.rank - axis - 1))
    apart = steps - call.words(2).reshape(-1, *[1] * (data.rank - 1))
    content = np.expand_dims(updates.folded(call.hashing, (axis,)), axis)
    return [call.mixed(data.dtype, call.key(count, circular and length), call.words(0), apart, content)]


RECORDS: Final[dict[str, Record]] = {
    "Scatter": record(_scatter_elements, carries=True),
    "ScatterElements": record(_scatter_elements, carries=True),
    "ScatterND": record(_scatter_nd, carries=True),
    "TensorScatter": record(_tensor_scatter),
}
