"""Values beyond the usual: large, negative, all equal, far integers; what hides behind a gate is tried too.

Only what the original takes is asked, and answers as finite as usual; where the repaired model differs, only elements
count in which the original agrees with itself, without optimisations and when its inputs are moved a little: what
rounding decides is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from onereshape.prove.counterexample import Compared
from onereshape.prove.engines.engine import Array, Refusal, Session
from onereshape.prove.runs.compare import Meter, comparable, samples
from onereshape.prove.runs.examples import Comparing
from onereshape.prove.runs.reference import Reference, meters_of
from onereshape.prove.runs.settings import Chooser
from onereshape.prove.runs.steadiness import FLOAT_KINDS, steady, wavering
from onereshape.prove.runs.trial import Answers, Feeds, Stop, Trial, amount, contrast
from onereshape.prove.values.draw import SIZES, Manner
from onereshape.terms.proof import said_at

_MOVED: Final = 1e-4
"""How far inputs are moved, relative to themselves."""
_MOVES: Final = 2
_SURELY: Final = 32
"""How often they are moved before an answer counts as another one."""
_MOSTLY: Final = 0.5
_LADDERS: Final[tuple[tuple[str, tuple[Manner, ...]], ...]] = (
    ("large", (Manner(scale=1e3), Manner(scale=30.0))),
    ("negative", (Manner(scale=1e3, sign="negative"), Manner(scale=30.0, sign="negative"), Manner(sign="negative"))),
    ("huge", (Manner(scale=1e6), Manner(scale=1e4))),
    ("equal", (Manner(scale=2.0, sign="equal"),)),
)
_SHARED: Final = (1e6, 1e3, 30.0)
_INTEGERS: Final[tuple[tuple[str, tuple[Manner, ...]], ...]] = (
    ("large integers", (Manner(integers="large"),)),
    ("negative integers", (Manner(integers="negative"),)),
)
_FAR: Final = frozenset({"integer", "mask", "index"})

Mix = Callable[[Sequence[Feeds]], list[Feeds]]
"""Values made of others, to be asked in their place; none where each is asked as it is."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """Values beyond the usual, and the original's answers to them."""

    words: str
    feeds: Feeds
    answers: Answers
    meters: Mapping[str, Meter]
    moved: Collection[str]
    """The inputs that are numbers, and so can be moved a little."""


@dataclass(frozen=True, slots=True)
class Asker:
    """The original, open to be asked for more."""

    trial: Trial
    session: Session
    chooser: Chooser
    manner: Manner
    draw: Callable[[Manner], Feeds]
    usual: Reference

    def extremes(self, mix: Mix) -> list[Extreme]:
        """The original's answers where the inputs that each sample has for itself are beyond the usual."""
        names = self._names(own=True)
        found: list[Extreme] = []
        for words, manners in self._ladders(names):
            asked = (self._asked(words, self.usual.feeds[0], self._drawn(each, names)) for each in manners)
            found += islice((each for each in asked if each is not None), 1)
        self.trial.extremes += [each.words for each in found]
        mixed = mix([self.usual.feeds[0], *(each.feeds for each in found)]) if found else []
        words = "large, negative and equal beside each other"
        together = [self._asked(words, feeds, {}) for feeds in mixed]
        return [each for each in together if each is not None] if mixed else found

    def shared(self) -> list[Extreme]:
        """The original's answers on two samples, where the inputs that all samples share are large."""
        names = self._names(own=False)
        for scale in _SHARED if self.chooser.own and self._ladders(names) else ():
            values = self._drawn(Manner(scale=scale, integers="large"), names)
            taken = [self._asked("large, where samples share them", feeds, values) for feeds in self.usual.feeds[:2]]
            found = [each for each in taken if each is not None]
            if len(found) == len(taken):
                self.trial.extremes.append(found[0].words)
                return found
        return []

    def _names(self, *, own: bool) -> list[str]:
        """The names of inputs, but sizes, that each sample has for itself (`own`), or that all samples share."""
        suits, mine = self.chooser.suits, self.chooser.own or self.chooser.suits.keys()
        return [name for name in self.usual.feeds[0] if suits[name].kind not in SIZES and (name in mine) == own]

    def _ladders(self, names: Sequence[str]) -> list[tuple[str, tuple[Manner, ...]]]:
        kinds = {self.chooser.suits[name].kind for name in names}
        return [*(_LADDERS if kinds & FLOAT_KINDS else ()), *(_INTEGERS if kinds & _FAR else ())]

    def _drawn(self, manner: Manner, names: Sequence[str]) -> Feeds:
        drawn = self.draw(replace(manner, default=self.manner.default, style=self.manner.style))
        return {name: drawn[name] for name in names}

    def _asked(self, words: str, usual: Feeds, values: Feeds) -> Extreme | None:
        """The answers, if they have the usual dims, and as much in them is finite."""
        feeds = usual | values
        if not all(comparable(array) == array.size for array in feeds.values()):
            return None
        try:
            answers = self.session.run(feeds)
        except Refusal:
            return None
        wanted = self.usual.answers[0]
        if any(array.shape != wanted[name].shape for name, array in answers.items()):
            return None
        if any(comparable(array) < comparable(wanted[name]) for name, array in answers.items()):
            return None
        moved = [name for name in feeds if self.chooser.suits[name].kind in FLOAT_KINDS]
        return Extreme(words, feeds, answers, meters_of(self.trial, [wanted, answers]), moved)


def judge(trial: Trial, extreme: Extreme, mine: Answers, comparing: Comparing) -> set[str]:
    """Stops where the repaired model's answers, with their samples first, are not the original's.

    `comparing` says what was fed.  Returned are the outputs that agree in all elements.
    """
    at = comparing.at
    far: dict[str, Array] = {}
    for name, meter in extreme.meters.items():
        want = samples(extreme.answers[name], meter.carried, trial.size)
        if want is None or want.shape != mine[name].shape or want.dtype != mine[name].dtype:
            what: Compared = "dims" if want is None or want.dtype == mine[name].dtype else "type"
            kind = "other dims" if what == "dims" else "another type"
            why = f"output {name!r} has {kind}{said_at(at)}, on inputs that are {extreme.words}"
            raise Stop("differs", why, comparing.unlike(name, what))
        if meter.distance(mine[name], want).units > trial.widened.get(name, 1.0):
            far[name] = want
    same = steady(trial, extreme, _MOVED, _MOVES) if far else None
    for name, want in far.items() if same is not None else ():  # what it does not take twice, it may not take at all
        _judge_far(trial, extreme, name, _Far(mine[name], want, (same or {})[name]), comparing)
    return extreme.meters.keys() - far.keys()


class _Far(NamedTuple):
    """What is given and what is wanted, and the elements in which the original agrees with itself."""

    given: Array
    wanted: Array
    same: Array


def _judge_far(trial: Trial, extreme: Extreme, name: str, far: _Far, comparing: Comparing) -> None:
    """Stops where an output differs in what the original is sure of, or has the terms decide."""
    # Where most elements are unsteady, the others only happen to be steady.
    at, count, most = comparing.at, far.same & (far.same.mean() >= _MOSTLY), trial.widened.get(name, 1.0)
    found = extreme.meters[name].distance(far.given, far.wanted, where=count)
    if found.units > most:  # of thousands, a few elements happen to stay where they are when they are moved twice
        surely = steady(trial, extreme, _MOVED, _SURELY) or {}
        count &= surely.get(name, np.True_)
        found = extreme.meters[name].distance(far.given, far.wanted, where=count)
    if found.units <= most:
        return
    where = said_at(at)
    why = f"output {name!r} differs by {amount(found)}{where}, on inputs that are {extreme.words}"
    example = comparing.element(extreme.meters[name], count)
    if trial.kind != "batch" or far.same.all():
        raise Stop("differs", why, example)
    if example is not None:
        trial.shown[name] = example
    trial.doubts[name] = f"{why}; {wavering(name, _MOVED)}"


def stand_out(trial: Trial, extremes: Sequence[Extreme], agree: Sequence[Collection[str]]) -> None:
    """Notes the contrast of samples on values beyond the usual, for outputs that agreed on all of them."""
    for name, meter in meters_of(trial, [each.answers for each in extremes]).items() if extremes else ():
        split = [samples(each.answers[name], meter.carried, trial.size) for each in extremes]
        if (meter.carried or trial.kind != "batch") and all(name in names for names in agree):
            contrast(trial, meter, np.concatenate([array for array in split if array is not None]))
