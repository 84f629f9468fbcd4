"""Examples: which element of which run shows that two models differ, as a counterexample has it.

Answers are compared with their samples first; an example goes back to the answers as they were given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from onereshape.ground.dtypes import type_name
from onereshape.prove.counterexample import Compared, Counterexample, Role
from onereshape.prove.engines.engine import Array
from onereshape.prove.runs.compare import Meter, samples


class FedRun(NamedTuple):
    """One run: what was fed, the answers, and how many samples there are in them."""

    feeds: Mapping[str, Array]
    answers: Mapping[str, Array]
    samples: int = 1


class SampleTwice(NamedTuple):
    """A sample in two runs, and its number in each of them."""

    before: FedRun
    after: FedRun
    was: int = 0
    now: int = 0


@dataclass(frozen=True, slots=True)
class Comparing:
    """Two models beside each other: the samples that are compared, the sizes of the second, and who they are."""

    pairs: Sequence[SampleTwice]
    at: Mapping[str, int]
    models: tuple[Role, Role] = ("original", "repaired")

    def unlike(self, name: str, what: Compared, values: tuple[str, str] | None = None) -> Counterexample:
        """An output that has other dims or another type; `values`: both in words, if not those that were given."""
        pair = self.pairs[0]
        if values is None:
            one, two = (each.answers[name] for each in (pair.before, pair.after))
            values = (type_name(one.dtype), type_name(two.dtype)) if what == "type" else (_dims(one), _dims(two))
        return Counterexample(name, what, self.models, values, None, dict(self.at), pair.before.feeds, pair.after.feeds)

    def element(self, meter: Meter, where: Array | None = None) -> Counterexample | None:
        """The element of an output that is farthest from what it should be; None where none is far.

        `where` says which elements count, samples first.
        """
        found, best = None, 0.0
        for number, pair in enumerate(self.pairs):
            count = None if where is None else where[min(number, len(where) - 1)][None]
            rows = _rows(pair, meter)
            if rows is None:
                continue
            (want, before), (got, after) = rows
            units, place = meter.farthest(got, want, count)
            if units > best:
                best = units
                found = self._at(meter.name, pair, int(before.reshape(-1)[place]), int(after.reshape(-1)[place]))
        return found

    def bits(self, meter: Meter) -> Counterexample | None:
        """The first element of an output that is not the same to the last bit."""
        for pair in self.pairs:
            rows = _rows(pair, meter)
            for place in () if rows is None else _other_bits(rows[0][0], rows[1][0]):
                before, after = (int(each.reshape(-1)[place]) for _, each in rows or ())
                return self._at(meter.name, pair, before, after)
        return None

    def _at(self, name: str, pair: SampleTwice, before: int, after: int) -> Counterexample:
        one, two = pair.before.answers[name], pair.after.answers[name]
        values = text_of(one.reshape(-1)[before]), text_of(two.reshape(-1)[after])
        indices = place_of(before, one), place_of(after, two)
        sizes, fed = dict(self.at), (pair.before.feeds, pair.after.feeds)
        return Counterexample(name, "value", self.models, values, indices, sizes, *fed)


def text_of(element: object) -> str:
    """An element as text, with all digits that its type has: `np.float32(0.1) -> 0.1`."""
    return element.decode(errors="replace") if isinstance(element, bytes) else str(element)


def place_of(number: int, array: Array) -> tuple[int, ...]:
    """The index of an element by its number: `5` in dims `[2, 4]` -> `(1, 1)`."""
    return tuple(int(each) for each in np.unravel_index(number, array.shape))


def _dims(array: Array) -> str:
    return str([*array.shape])


def _rows(pair: SampleTwice, meter: Meter) -> tuple[tuple[Array, Array], tuple[Array, Array]] | None:
    """A sample of an output in both runs, each beside the numbers of its elements there; None where dims differ."""
    rows = [_row(pair.before, meter, pair.was), _row(pair.after, meter, pair.now)]
    one, two = rows
    if one is None or two is None or one[0].shape != two[0].shape:
        return None
    return one, two


def _row(asked: FedRun, meter: Meter, number: int) -> tuple[Array, Array] | None:
    whole = asked.answers[meter.name]
    split = samples(whole, meter.carried, asked.samples)
    places = samples(np.arange(whole.size).reshape(whole.shape), meter.carried, asked.samples)
    if split is None or places is None:
        return None
    number = number if meter.carried else 0
    return split[number : number + 1], places[number : number + 1]


def _other_bits(one: Array, two: Array) -> Iterator[int]:
    """The numbers of elements whose bytes differ."""
    if one.dtype.kind == "O":
        yield from np.flatnonzero(np.asarray(one != two)).tolist()
        return
    width = one.dtype.itemsize
    bytes_ = [np.ascontiguousarray(each).reshape(-1).view(np.uint8).reshape(-1, width) for each in (one, two)]
    yield from np.flatnonzero((bytes_[0] != bytes_[1]).any(axis=1)).tolist()
