"""The truth of a freed batch: what the original answers to each piece, the repaired model answers to all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from typing import Final

import numpy as np

from onereshape.prove.engines.engine import Array, Session
from onereshape.prove.evidence import Differs, Sizes, Terms
from onereshape.prove.judge import judge
from onereshape.prove.runs.asking import OriginalAnswers, OriginalQuestion
from onereshape.prove.runs.compare import Meter, samples
from onereshape.prove.runs.dynamic import fixed_agrees
from onereshape.prove.runs.examples import Comparing, FedRun, SampleTwice
from onereshape.prove.runs.extremes import Extreme, judge_unusual, stand_out
from onereshape.prove.runs.neighbours import OpenModel, run_company
from onereshape.prove.runs.reference import Reference
from onereshape.prove.runs.rounding_decides import RoundingCheck
from onereshape.prove.runs.settings import Chooser, Setting
from onereshape.prove.runs.steadiness import FLOAT_KINDS
from onereshape.prove.runs.term_runs import Settings, batch_terms
from onereshape.prove.runs.trial import Answers, Feeds, Stop, Trial, untestable
from onereshape.prove.runs.truth import Truth
from onereshape.prove.runs.wanted import Wanted, alone, compare, joined, rows, settle, together
from onereshape.prove.values.draw import Manner, draw
from onereshape.terms.proof import said

_TIMES: Final = (1, 2, 3, 5)
"""The batches that are run, as numbers of pieces of the original's size,"""
_FEW: Final = (1, 2, 3)
"""and where terms prove the model for every batch."""
_SINGLES: Final = 16
"""Samples of a piece that are also run alone,"""
_UNUSUAL_SINGLES: Final = 256
"""and those on values beyond the usual."""


@dataclass(frozen=True)
class SampleBySample(Truth):
    """The original on pieces of its own batch, beside the repaired model on several at once."""

    axes: Mapping[str, int]
    symbol: str

    @cached_property
    def chooser(self) -> Chooser:
        """The settings that there are."""
        trial = self.trial
        return Chooser(trial.original, self.suits, {self.symbol: trial.size}, self.axes.keys(), trial.asked.seed)

    def at(self, batch: int, setting: Setting) -> Sizes:
        """The sizes of a run."""
        return {self.symbol: batch, **setting.sizes}

    def question(self) -> OriginalQuestion:
        """Pieces of the original's own batch; where it has several samples, these at other places too."""
        size, axes, times, proven = self.trial.size, self.axes, self._times, self.trial.proven
        several = size > 1 and not proven

        def make(rng: np.random.Generator, manner: Manner, setting: Setting, number: int) -> list[Feeds]:
            sizes = {**setting.sizes, self.symbol: size}  # the original may name the batch too
            drawing = partial(draw, suits=self.suits, manner=manner, given=setting.values)
            drawn = [drawing(self.trial.original, rng, sizes) for _ in range(number + 1)]
            return [drawn[0] | {name: piece[name] for name in axes} for piece in drawn[1:]]

        self.trial.steps = 1 + max(times) + len(times) + (0 if proven else 2 * several + 1)
        return OriginalQuestion(
            make,
            times,
            [each * size for each in times],
            lambda pieces: [_shuffled(pieces, axes, size)] if several else [],
            lambda pieces: [_rotated(pieces, axes, size, turn) for turn in range(len(pieces))] if several else [],
        )

    def terms(self, settings: Settings) -> list[Terms]:
        """The proof that was found before, or one in each setting."""
        return batch_terms(self.trial, settings)

    def unusual(self, asked: OriginalAnswers) -> Sequence[Sequence[Extreme]]:
        """The original's answers to values beyond the usual; it must keep its own samples apart."""
        groups = super().unusual(asked)
        if self.trial.size > 1:
            _check_rows(self.trial, asked.first)
        return groups

    def compare(self, session: Session, asked: OriginalAnswers) -> None:
        """The repaired model at each batch, and on single samples."""
        trial, size = self.trial, self.trial.size
        for place, (each, reference) in enumerate(zip(self._times, asked.references, strict=True)):
            wanted = self._together(each, reference)
            trial.step(said(wanted.sizes))
            got = trial.run(session, wanted.feeds, wanted.sizes)
            apart = compare(trial, wanted, got)
            try:
                wavers = self._check(session, reference, got, each).wavers
                settle(trial, wanted, got, apart, asked.references, wavers)
            except Stop as stop:
                if not isinstance(stop.record, Differs):
                    for further in range(place + 1, len(self._times)):  # that it runs can still be seen
                        other = self._together(self._times[further], asked.references[further])
                        trial.run(session, other.feeds, other.sizes)
                elif fixed_agrees(trial, wanted.meters, wanted.feeds, wanted.answers):
                    told = {**stop.record.fields, "dynamic": "openvino"}
                    raise Stop(Differs(stop.record.code, told, stop.record.example)) from None
                raise
        if size > 1:
            self._singles(session, asked)

    def _together(self, each: int, reference: Reference) -> Wanted:
        """So many pieces as one batch."""
        pieces = reference.pieces(self.trial.size)[:each]
        return together(pieces, reference.meters, self.axes, self.at(each * self.trial.size, reference.setting))

    def _check(self, session: Session, reference: Reference, got: Answers, each: int) -> RoundingCheck:
        moved = [name for name, suit in self.suits.items() if suit.kind in FLOAT_KINDS]
        return RoundingCheck(
            self.trial, reference, moved, got, lambda pieces: session.run(joined(pieces, self.axes)), each
        )

    def _singles(self, session: Session, asked: OriginalAnswers) -> None:
        """Samples of the first piece, one at a time."""
        trial, first = self.trial, asked.first
        at, (piece, *_) = self.at(1, first.setting), first.pieces(trial.size)
        trial.step(said(at))
        for place in range(0, trial.size, -(-trial.size // _SINGLES)):
            wanted = alone(piece, place, first.meters, self.axes, at)
            got = trial.run(session, wanted.feeds, at)
            settle(trial, wanted, got, compare(trial, wanted, got), asked.references)

    def compare_unusual(self, session: Session, groups: Sequence[Sequence[Extreme]]) -> None:
        """All unusual pieces as one batch, beside a usual one if the original has one sample; single samples too."""
        size = self.trial.size
        usual = [self.trial.first] if size == 1 and self.trial.first is not None else []
        for extremes, beside in zip(groups, (usual, []), strict=True):
            if extremes:
                self._beyond(session, extremes, beside)
                if size > 1:
                    self._unusual_singles(session, extremes[0])

    def _beyond(self, session: Session, extremes: Sequence[Extreme], beside: Sequence[FedRun]) -> None:
        trial, size, meters = self.trial, self.trial.size, extremes[0].meters
        pieces = [*beside, *(each.run for each in extremes)]
        wanted = together(pieces, meters, self.axes, self._at(extremes[0], len(pieces) * size))
        answers = trial.run(session, wanted.feeds, wanted.sizes, listed=False)
        split = _split(meters, answers, len(pieces) * size)
        pairs, seen = wanted.beside(answers).pairs, []
        for place, extreme in enumerate(extremes, start=len(beside)):
            mine = slice(place * size, (place + 1) * size)
            got = {name: array[mine] if meters[name].carried else array for name, array in split.items()}
            seen.append(judge_unusual(trial, extreme, got, Comparing(pairs[mine], wanted.sizes)))
        stand_out(trial, extremes, seen)

    def _unusual_singles(self, session: Session, extreme: Extreme) -> None:
        """The samples of one piece, one at a time; of very many those at even distances."""
        trial, size = self.trial, self.trial.size
        for place in range(0, size, -(-size // _UNUSUAL_SINGLES)):
            wanted = alone(extreme.run, place, extreme.meters, self.axes, self._at(extreme, 1))
            answers = trial.run(session, wanted.feeds, wanted.sizes, listed=False)
            got = _split(extreme.meters, answers, 1)
            judge_unusual(trial, extreme, got, wanted.beside(answers), slice(place, place + 1))

    def _at(self, extreme: Extreme, batch: int) -> Sizes:
        return self.at(batch, extreme.setting)

    def look_further(self, session: Session, asked: OriginalAnswers) -> None:
        """Larger batches, for what only a number of samples decides; and samples among others that change."""
        proven = judge(self.trial.evidence) == "proven" and not self.trial.asked.thorough
        run_company(OpenModel(self.trial, session, asked.first, self.axes, self.symbol, self.suits), proven=proven)

    @property
    def _times(self) -> tuple[int, ...]:
        """The batches to run; at least one is a size that no other dim has."""
        graph = self.trial.original.graph
        if self.trial.proven and not self.chooser.varies:
            return _FEW
        values = [
            *graph.inputs,
            *graph.initializers.values(),
            *(each for node in graph.all_nodes() for each in node.outputs),
        ]
        dims = {dim for value in values for dim in value.shape or () if isinstance(dim, int)}
        if any(each > 1 and each * self.trial.size not in dims for each in _TIMES):
            return _TIMES
        return (*_TIMES[:-1], next(each for each in count(_TIMES[-1]) if each * self.trial.size not in dims))


def sample_by_sample(trial: Trial) -> SampleBySample:
    """The truth of a batch; a Stop where what was freed is none."""
    axes = {name: axis for name, places in trial.freed.items() for axis in places}
    symbols = {symbol for places in trial.freed.values() for symbol in places.values()}
    if len(symbols) != 1 or any(len(places) > 1 for places in trial.freed.values()):
        raise untestable("several-axes")
    if not trial.size:
        raise untestable("no-samples")
    return SampleBySample(trial, axes, next(iter(symbols)))


def _shuffled(pieces: Sequence[Feeds], axes: Mapping[str, int], size: int) -> Feeds:
    """A piece made of samples of the first two, each at another place and among others than before."""
    feeds, places = dict(pieces[0]), np.arange(size)
    for name, axis in axes.items():
        feeds[name] = _picked([piece[name] for piece in pieces[:2]], axis, places % 2, size - 1 - places)
    return feeds


def _rotated(pieces: Sequence[Feeds], axes: Mapping[str, int], size: int, turn: int) -> Feeds:
    """A piece whose samples are taken from the pieces in turn: sample k from piece `turn + k`."""
    feeds, places = dict(pieces[0]), np.arange(size)
    for name, axis in axes.items():
        feeds[name] = _picked([piece[name] for piece in pieces], axis, (turn + places) % len(pieces), places)
    return feeds


def _picked(pieces: Sequence[Array], axis: int, which: Array, places: Array) -> Array:
    """A piece put together of samples: its sample k is number `places[k]` of piece `which[k]`."""
    found = np.empty_like(pieces[0])
    ahead = np.moveaxis(found, axis, 0)
    for number, piece in enumerate(pieces):
        ahead[which == number] = np.moveaxis(piece, axis, 0)[places[which == number]]
    return found


def _check_rows(trial: Trial, reference: Reference) -> None:
    """A sample in the original's own batch depends on nothing but itself."""
    size = trial.size
    asked = [reference.pieces(size)[place] for place in (0, 1, -1)]
    for name, meter in reference.meters.items():
        if meter.carried is None:
            continue
        first, second, shuffled = (rows(meter, [piece]) for piece in asked)
        places = np.arange(size)
        found = meter.distance(shuffled, _picked([first, second], 0, places % 2, size - 1 - places))
        if found.most > 1:
            pairs = [SampleTwice(asked[now % 2], asked[2], size - 1 - now, now) for now in range(size)]
            example = Comparing(pairs, {}, ("original", "original")).element(meter)
            raise Stop(Differs("mixes", {"size": size, "output": name, "difference": found.absolute}, example))


def _split(meters: Mapping[str, Meter], answers: Answers, size: int) -> dict[str, Array]:
    """Answers with their samples first; nothing where their dims have no place for them."""
    split = {name: samples(answers[name], meter.carried, size) for name, meter in meters.items()}
    return {name: answers[name][:0] if array is None else array for name, array in split.items()}
