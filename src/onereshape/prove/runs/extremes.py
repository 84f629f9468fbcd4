"""Values beyond the usual: large, negative, all equal, far integers; what hides behind a gate is tried too.

Only what the original takes is asked, and answers as finite as usual; where the repaired model differs, only elements
count in which the original agrees with itself, without optimisations and when its inputs are moved a little: what
rounding decides is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import numpy as np

from onereshape.prove.counterexample import Compared
from onereshape.prove.engines.engine import Array, Refusal, Session
from onereshape.prove.evidence import Contrast, Differs, Rounding, Unusual
from onereshape.prove.runs.compare import Meter, comparable, samples
from onereshape.prove.runs.examples import Comparing, FedRun
from onereshape.prove.runs.reference import Reference, meters_of
from onereshape.prove.runs.settings import Chooser, Setting
from onereshape.prove.runs.steadiness import FLOAT_KINDS, steady
from onereshape.prove.runs.trial import Answers, Feeds, Stop, Trial
from onereshape.prove.runs.wanted import value_code
from onereshape.prove.values.draw import SIZES, Manner

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
    run: FedRun
    meters: Mapping[str, Meter]
    moved: Collection[str]
    """The inputs that are numbers, and so can be moved a little."""
    setting: Setting
    """The sizes of the run."""
    kinds: tuple[str, ...]
    """The words of all that it holds: its own, or those of the values that it was mixed of."""


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
        mixed = mix([self.usual.feeds[0], *(dict(each.run.feeds) for each in found)]) if found else []
        words, kinds = "large, negative and equal beside each other", tuple(each.words for each in found)
        together = [self._asked(words, feeds, {}) for feeds in mixed]
        return [replace(each, kinds=kinds) for each in together if each is not None] if mixed else found

    def shared(self) -> list[Extreme]:
        """The original's answers on two samples, where the inputs that all samples share are large."""
        names = self._names(own=False)
        for scale in _SHARED if self.chooser.own and self._ladders(names) else ():
            values = self._drawn(Manner(scale=scale, integers="large"), names)
            taken = [self._asked("large, where samples share them", feeds, values) for feeds in self.usual.feeds[:2]]
            found = [each for each in taken if each is not None]
            if len(found) == len(taken):
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
        return Extreme(
            words,
            FedRun(feeds, answers, self.trial.size),
            meters_of(self.trial, [wanted, answers]),
            moved,
            self.usual.setting,
            (words,),
        )


def judge_unusual(
    trial: Trial, extreme: Extreme, got: Answers, comparing: Comparing, part: slice = slice(None)
) -> set[str]:
    """Stops where the repaired model's answers are not the original's; the outputs that agree in all elements.

    `got` has its samples first, those that are a `part` of the original's; `comparing` says what was fed.
    """
    parts = {name: part if meter.carried else slice(None) for name, meter in extreme.meters.items()}
    wanted = {name: array[parts[name]] for name, array in _by_sample(trial, extreme).items()}
    for name in extreme.meters:
        mine, want = got[name], wanted.get(name)
        if want is None or want.shape != mine.shape or want.dtype != mine.dtype:
            what: Compared = "dims" if want is None or want.dtype == mine.dtype else "type"
            unlike = comparing.unlike(name, what)
            words = {"wanted": unlike.values[0], "got": unlike.values[1]}
            raise Stop(Differs(what, {"output": name, "at": dict(comparing.at), "on": extreme.words, **words}, unlike))
    widened = trial.widened
    limits = {name: widened.get(name, 1.0) for name in extreme.meters}
    meters = extreme.meters.items()
    far = [name for name, meter in meters if meter.distance(got[name], wanted[name]).units > limits[name]]
    same = _steady(trial, extreme, _MOVES) if far else None
    for name in far if same else ():  # what it does not take twice, it may not take at all
        # Where most elements are unsteady, the others only happen to be steady.
        meter, count, most = extreme.meters[name], (same or {})[name][parts[name]], limits[name]
        sure = bool(count.all())
        count = count & (count.mean() >= _MOSTLY)
        if meter.distance(got[name], wanted[name], where=count).units > most:
            # Of thousands, a few elements happen to stay where they are when they are moved twice.
            count &= (_steady(trial, extreme, _SURELY) or {}).get(name, np.ones((1,), bool))[parts[name]]
        found = meter.distance(got[name], wanted[name], where=count)
        if found.units <= most:
            continue
        told = {"output": name, "difference": found.absolute, "at": dict(comparing.at), "on": extreme.words}
        example = comparing.element(meter, count)
        code = value_code(wanted[name])
        if trial.kind != "batch" or sure:
            raise Stop(Differs(code, told, example))
        trial.evidence.append(Rounding(code, {**told, "moved": _MOVED}, example, name))
    return {*extreme.meters} - {*far}


def _by_sample(trial: Trial, extreme: Extreme) -> dict[str, Array]:
    """The original's answers, samples first."""
    meters, answers = extreme.meters, extreme.run.answers
    split = {name: samples(answers[name], meter.carried, trial.size) for name, meter in meters.items()}
    return {name: array for name, array in split.items() if array is not None}


def _steady(trial: Trial, extreme: Extreme, moves: int) -> dict[str, Array] | None:
    return steady(trial, extreme.run, extreme.meters, extreme.moved, _MOVED, moves)


def stand_out(trial: Trial, extremes: Sequence[Extreme], agree: Sequence[Collection[str]]) -> None:
    """Notes values beyond the usual that were compared, and the contrast of outputs that agreed on all of them."""
    trial.evidence += [Unusual(kind) for kind in dict.fromkeys(kind for each in extremes for kind in each.kinds)]
    split = [_by_sample(trial, each) for each in extremes]
    for name, meter in meters_of(trial, [each.run.answers for each in extremes]).items() if extremes else ():
        if (meter.carried or trial.kind != "batch") and all(name in names for names in agree):
            units = meter.contrast(np.concatenate([each[name] for each in split if name in each]))
            trial.evidence.append(Contrast(name, units))
