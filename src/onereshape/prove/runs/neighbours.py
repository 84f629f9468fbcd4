"""What a sample gives must not depend on those beside it, however little: the batch again, in other company.

Usual samples stay where they are, and all others become something else: zeros, values beyond all bounds, what is no
number.  The dims are the same in all these runs, and so is what the engine does; so not a bit of theirs may change.
And larger batches are run, for what only a number of samples decides, as far as there is room for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from random import Random
from typing import Final, NamedTuple

import numpy as np

from onereshape.ground.isolation.budget import OutOfTime
from onereshape.prove.engines.engine import Array, Refusal, Session
from onereshape.prove.engines.inside import MOST, elements_inside
from onereshape.prove.evidence import Differs, Neighbours, NotRun, Sizes
from onereshape.prove.runs.compare import Meter, samples
from onereshape.prove.runs.examples import Comparing, FedRun, SampleTwice
from onereshape.prove.runs.reference import Reference
from onereshape.prove.runs.trial import Answers, Feeds, NoRoom, Stop, Trial
from onereshape.prove.runs.wanted import compare, joined, settle, together
from onereshape.prove.values.draw import SIZES
from onereshape.prove.values.input_roles import InputRole

_FIVE: Final = 5
_PLACES: Final = ((1, 3), (0, 2, 4))
"""The places of pieces that stay the same in a batch of five, whose other pieces are changed."""
_MANY: Final = (4, 8, 17, 130)
"""Larger batches."""
_TURNS: Final = 122
"""What the turns of two pieces in a larger batch are drawn from: in no rhythm, or a sample could be another one."""
_MOST_ALONE: Final = 4
"""The most inputs that are changed one at a time."""


class NeighbourKind(NamedTuple):
    """A kind of neighbours: floats made from usual ones, and which of its values an integer has."""

    words: str
    numbers: Callable[[Array], Array | float]
    integers: float
    """The value of an integer: 0 the smallest that suits, 1 the largest; below or above, far from all that suit."""


def _far(factor: float) -> Callable[[Array], Array]:
    return lambda usual: (np.abs(usual) + 1) * factor


_COMPANY: Final = (
    NeighbourKind("zero", lambda _: 0.0, 0),
    NeighbourKind("one", lambda _: 1.0, 1),
    NeighbourKind("large", _far(1e6), 2),
    NeighbourKind("negative", _far(-1e6), -1),
    NeighbourKind("faint", lambda usual: usual * 1e-6, 0.5),
    NeighbourKind("huge", _far(1e15), 1),
    NeighbourKind("huge and negative", _far(-1e15), 0),
    NeighbourKind(
        "of all signs", lambda usual: np.where(np.arange(usual.size).reshape(usual.shape) % 2, 1e9, -1e9), 0.5
    ),
    NeighbourKind("beyond all bounds", _far(1e30), 1),
    NeighbourKind("beneath all bounds", _far(-1e30), 0),
    NeighbourKind("infinite", lambda _: inf, 1),
    NeighbourKind("infinite and negative", lambda _: -inf, 0),
    NeighbourKind("no numbers", lambda _: nan, 0),
)
_ALONE: Final = tuple(each for each in _COMPANY if each.words in {"large", "negative", "no numbers"})
_AGAIN: Final = frozenset({"the same", "large", "negative", "beyond all bounds", "beneath all bounds", "no numbers"})
"""The kinds of neighbours that are tried at the second places too."""
_FAR: Final = 3000


@dataclass(frozen=True, slots=True)
class OpenModel:
    """The repaired model in its engine, with usual values and the axes of its batch."""

    trial: Trial
    session: Session
    usual: Reference
    axes: Mapping[str, int]
    symbol: str
    suits: Mapping[str, InputRole]

    def at(self, pieces: int) -> Sizes:
        return {self.symbol: pieces * self.trial.size, **self.usual.setting.sizes}


def run_company(repaired: OpenModel, *, proven: bool) -> None:
    """Stops where the answer to a sample changes with its neighbours; notes the neighbours that were tried.

    `proven`: at some batches the terms show that nothing beside a sample matters, so that only others are run.
    """
    trial = repaired.trial
    try:
        for words in () if proven else _unchanged(repaired):
            trial.evidence.append(Neighbours(words))
        _many(repaired)
    except OutOfTime as over:
        if not proven:
            raise
        trial.evidence.append(NotRun(tuple(repaired.at(pieces) for pieces in _MANY), over.after))


def _unchanged(repaired: OpenModel) -> Iterator[str]:
    """The kinds of neighbours beside which no sample changed; a Stop where a sample did."""
    trial, (first, second) = repaired.trial, repaired.usual.feeds[:2]
    for places in _PLACES:
        feeds = _among(repaired, second, places)
        whole = trial.run(repaired.session, feeds, repaired.at(_FIVE), listed=False)
        alike = _stayed(repaired, whole, places)
        company = [("the same", first), *_others(repaired, second)]
        for words, others in company if places == _PLACES[0] else [each for each in company if each[0] in _AGAIN]:
            changed = _among(repaired, others, places)
            try:
                answers = repaired.session.run(changed)
            except Refusal:
                continue  # what it does not take says nothing of the others
            for name, rows in _stayed(repaired, answers, places).items():
                if not np.array_equal(_bits(rows), _bits(alike[name])):
                    count = _FIVE * trial.size
                    before, after = FedRun(feeds, whole, count), FedRun(changed, answers, count)
                    numbers = [place * trial.size + each for place in places for each in range(trial.size)]
                    pairs = [SampleTwice(before, after, each, each) for each in numbers]
                    comparing = Comparing(pairs, repaired.at(_FIVE), ("repaired", "repaired"))
                    told = {"output": name, "values": words, "at": repaired.at(_FIVE)}
                    raise Stop(Differs("neighbours", told, comparing.bits(repaired.usual.meters[name])))
            yield words


def _others(repaired: OpenModel, usual: Feeds) -> Iterator[tuple[str, Feeds]]:
    """A piece in every company: all inputs of a sample at once, and one at a time where there are several."""
    own = [name for name in repaired.axes if repaired.suits[name].kind not in SIZES]
    for each in _COMPANY:
        yield each.words, usual | {name: _made(usual[name], repaired.suits[name], each) for name in own}
    for name in own[:_MOST_ALONE] if len(own) > 1 else ():
        for each in _ALONE:
            yield f"{each.words} in {name}", usual | {name: _made(usual[name], repaired.suits[name], each)}


def _made(usual: Array, suit: InputRole, company: NeighbourKind) -> Array:
    """An input of a sample that is something else."""
    if usual.dtype.kind == "O":
        return usual
    with np.errstate(all="ignore"):
        if usual.dtype.kind not in "iub":
            return np.broadcast_to(company.numbers(usual.astype(np.float64)), usual.shape).astype(usual.dtype)
        low, high = _bounds(suit)
        if 0 <= company.integers <= 1 or suit.kind in {"index", "mask", "bool"}:
            share = min(max(company.integers, 0), 1)
            return np.full_like(usual, low + round(share * (high - low)))
        return np.full_like(usual, np.clip(np.sign(company.integers) * _FAR, *_range(usual.dtype)))


def _bounds(suit: InputRole) -> tuple[int, int]:
    if suit.kind == "index":
        return suit.low, suit.high - 1
    return (0, 1) if suit.kind in {"mask", "bool"} else (0, 9)


def _range(dtype: np.dtype) -> tuple[int, int]:
    return (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def _among(repaired: OpenModel, others: Feeds, places: Sequence[int]) -> Feeds:
    """A batch of five pieces: the two usual ones in turn at `places`, and `others` elsewhere."""
    pieces = [others] * _FIVE
    for turn, place in enumerate(places):
        pieces[place] = repaired.usual.feeds[turn % 2]
    return joined(pieces, repaired.axes)


def _stayed(repaired: OpenModel, answers: Answers, places: Sequence[int]) -> dict[str, Array]:
    """The answers to the pieces at these places of a batch; all of an output that carries no batch."""
    size, meters = repaired.trial.size, repaired.usual.meters
    return {name: _rows(meter, answers[name], size, places) for name, meter in meters.items()}


def _rows(meter: Meter, answer: Array, size: int, places: Sequence[int]) -> Array:
    split = samples(answer, meter.carried, _FIVE * size)
    if split is None or meter.carried is None:
        return answer
    return np.concatenate([split[place * size : (place + 1) * size] for place in places])


def _bits(array: Array) -> Array:
    """The bytes of an array, by which NaN equals NaN."""
    return array if array.dtype.kind == "O" else np.ascontiguousarray(array).view(np.uint8)


def turns_of(pieces: int) -> list[int]:
    """Which of two pieces is at each place of a larger batch.

    Numbers of samples that are kept in a byte begin again from -128: with the two in turn, what is read there instead
    would be the same one.
    """
    drawn = Random(_TURNS).getrandbits(pieces)  # noqa: S311 - an order, and no secret
    return [drawn >> place & 1 for place in range(pieces)]


def _many(repaired: OpenModel) -> None:
    """Larger batches, beside the original on the pieces; notes those that have no room, or no time, and why."""
    trial, usual = repaired.trial, repaired.usual
    inside = elements_inside(trial.original, usual.feeds[0])
    why = f"more than {MOST} elements in a run"
    fits = [pieces for pieces in _MANY if pieces * inside <= MOST]
    own = usual.pieces(trial.size)
    for place, pieces in enumerate(fits):
        wanted = together([own[turn] for turn in turns_of(pieces)], usual.meters, repaired.axes, repaired.at(pieces))
        try:
            got = trial.run(repaired.session, wanted.feeds, wanted.sizes)
        except NoRoom as stop:
            fits, why = fits[:place], stop.why
            break
        except OutOfTime as over:
            fits, why = fits[:place], over.after
            break
        settle(trial, wanted, got, compare(trial, wanted, got), [usual])
    if missing := tuple(repaired.at(pieces) for pieces in _MANY[len(fits) :]):
        trial.evidence.append(NotRun(missing, why))
