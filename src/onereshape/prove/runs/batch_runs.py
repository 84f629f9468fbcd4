"""The runs that certify a freed batch: the repaired model at several sizes, beside the original on the pieces."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final

import numpy as np

from onereshape.graphs.exports import Freed
from onereshape.prove.engines.engine import Array, Session
from onereshape.prove.runs.asking import OriginalQuestion, consult
from onereshape.prove.runs.beyond_runs import Beyond, joined, run_beyond
from onereshape.prove.runs.compare import Meter, samples
from onereshape.prove.runs.dynamic import DYNAMIC, fixed_agrees
from onereshape.prove.runs.examples import Comparing, FedRun, SampleTwice
from onereshape.prove.runs.reference import Reference, settle
from onereshape.prove.runs.rounding_decides import RoundingCheck
from onereshape.prove.runs.settings import Chooser, Setting
from onereshape.prove.runs.steadiness import FLOAT_KINDS
from onereshape.prove.runs.trial import Answers, Feeds, Sizes, Stop, Trial, amount, compare
from onereshape.prove.values.draw import Manner, draw
from onereshape.prove.values.input_roles import roles_of
from onereshape.terms.proof import said

_TIMES: Final = (1, 2, 3, 5)
_SINGLES: Final = 16
"""Samples of a piece that are also run alone."""


def run_batch(trial: Trial, freed: Freed) -> Reference:
    """The repaired model at several batches, beside the original on the pieces; what both were asked first."""
    axes = {name: axis for name, places in freed.items() for axis in places}
    symbols = {symbol for places in freed.values() for symbol in places.values()}
    if len(symbols) != 1 or any(len(places) > 1 for places in freed.values()):
        raise Stop("untested", "a batch is one name, on one axis of each input that carries it")
    if not trial.size:
        raise Stop("untested", "the original has 0 samples, which say nothing of what one gives")
    (symbol,) = symbols
    suits = roles_of(trial.original)
    size, several, times = trial.size, trial.size > 1, _times(trial)

    def make(rng: np.random.Generator, manner: Manner, setting: Setting, number: int) -> list[Feeds]:
        sizes = {**setting.sizes, symbol: size}  # the original may name the batch too
        drawing = partial(draw, suits=suits, manner=manner, given=setting.values)
        drawn = [drawing(trial.original, rng, sizes) for _ in range(number + 1)]
        return [drawn[0] | {name: piece[name] for name in axes} for piece in drawn[1:]]

    trial.steps = max(times) + len(times) + 2 * several + 1
    question = OriginalQuestion(
        make,
        times,
        [each * size for each in times],
        lambda pieces: [_shuffled(pieces, axes, size)] if several else [],
        lambda pieces: [_rotated(pieces, axes, size, turn) for turn in range(len(pieces))] if several else [],
    )
    asked = consult(trial, Chooser(trial.original, suits, {symbol: size}, axes.keys(), trial.seed), question)
    first = asked.references[0]
    if several:
        _check_rows(trial, first)
    session = trial.opened()
    moved = [name for name, suit in suits.items() if suit.kind in FLOAT_KINDS]
    _beside(_OpenModel(trial, session, axes, symbol, moved), times, asked.references)
    if several:
        at = {symbol: 1, **first.setting.sizes}
        trial.step(said(at))
        _singles(trial, session, first, axes, at)
        settle(trial, asked.references, at)
    if trial.doubts:
        return first
    trial.step("values beyond the usual")
    usual = [] if several else [first.feeds[0]]
    own = {symbol: size, **first.setting.sizes}
    for extremes, beside in ((asked.extremes, usual), (asked.shared, [])):
        if extremes:
            run_beyond(Beyond(trial, session, axes, own), extremes, beside)
    return first


@dataclass(frozen=True, slots=True)
class _OpenModel:
    """The repaired model, and where its batch is."""

    trial: Trial
    session: Session
    axes: Mapping[str, int]
    symbol: str
    moved: Collection[str]
    """The inputs that can be moved a little."""

    def run(self, each: int, reference: Reference) -> tuple[Answers, Sizes]:
        """The model's answers to the first `each` pieces as one batch, and the sizes of that run."""
        at = {self.symbol: each * self.trial.size, **reference.setting.sizes}
        return self.trial.run(self.session, joined(reference.feeds[:each], self.axes), at), at


def _beside(repaired: _OpenModel, times: Sequence[int], references: Sequence[Reference]) -> None:
    """The repaired model at each batch, beside the original on the pieces."""
    trial, turns = repaired.trial, [*zip(times, references, strict=True)]
    for place, (each, reference) in enumerate(turns):
        trial.step(said({repaired.symbol: each * trial.size, **reference.setting.sizes}))
        meters = reference.meters
        wanted = {name: together(meter, reference.answers[:each], trial.size) for name, meter in meters.items()}
        got, at = repaired.run(each, reference)
        feeds = joined(reference.feeds[:each], repaired.axes)
        compare(trial, meters, got, wanted, Comparing(_pairs(trial, reference, feeds, got, each), at))
        try:
            again = partial(_again, repaired)
            settle(trial, references, at, RoundingCheck(trial, reference, repaired.moved, got, again, each).wavers)
        except Stop as stop:
            for other in turns[place + 1 :] if stop.status == "untested" else ():
                repaired.run(*other)  # that it runs can still be seen
            if stop.status == "differs" and fixed_agrees(trial, meters, feeds, wanted):
                raise Stop(stop.status, f"{stop.reason}; {DYNAMIC}", stop.example) from None
            raise


def _pairs(trial: Trial, reference: Reference, feeds: Feeds, got: Answers, pieces: int) -> list[SampleTwice]:
    """Each sample of a batch that was made of the first pieces, there and in its own piece."""
    size, whole = trial.size, FedRun(feeds, got, pieces * trial.size)
    parts = [FedRun(reference.feeds[place], reference.answers[place], size) for place in range(pieces)]
    return [SampleTwice(parts[now // size], whole, now % size, now) for now in range(pieces * size)]


def _again(repaired: _OpenModel, pieces: Sequence[Feeds]) -> Answers:
    return repaired.session.run(joined(pieces, repaired.axes))


def _times(trial: Trial) -> tuple[int, ...]:
    """The batches to run, as numbers of pieces of the original's size; at least one is a size that no other dim has."""
    values = [*trial.original.graph.all_nodes()]
    shapes = [value.shape for node in values for value in node.outputs]
    shapes += [value.shape for value in (*trial.original.graph.inputs, *trial.original.graph.initializers.values())]
    dims = {dim for shape in shapes for dim in shape or () if isinstance(dim, int)}
    if any(each > 1 and each * trial.size not in dims for each in _TIMES):
        return _TIMES
    return (*_TIMES[:-1], next(each for each in count(_TIMES[-1]) if each * trial.size not in dims))


def together(meter: Meter, answers: Sequence[Answers], size: int) -> Array:
    """The answers on the pieces, samples first."""
    found = (samples(answer[meter.name], meter.carried, size) for answer in answers)
    return np.concatenate([array for array in found if array is not None])


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
    for name, meter in reference.meters.items():
        if meter.carried is None:
            continue
        first, second, shuffled = (together(meter, [reference.answers[place]], trial.size) for place in (0, 1, -1))
        places = np.arange(trial.size)
        want = _picked([first, second], 0, places % 2, trial.size - 1 - places)
        found = meter.distance(shuffled, want)
        if found.most > 1:
            why = f"the original mixes the {trial.size} samples of its batch: output {name!r} of a sample differs by"
            asked = [FedRun(reference.feeds[place], reference.answers[place], trial.size) for place in (0, 1, -1)]
            last = trial.size - 1
            pairs = [SampleTwice(asked[now % 2], asked[2], last - now, now) for now in range(trial.size)]
            example = Comparing(pairs, {}, ("original", "original")).element(meter)
            raise Stop("differs", f"{why} {amount(found)} beside other samples", example)


def _singles(trial: Trial, session: Session, reference: Reference, axes: Mapping[str, int], at: Sizes) -> None:
    """Samples of the first piece, one at a time."""
    whole = {name: together(meter, reference.answers[:1], trial.size) for name, meter in reference.meters.items()}
    for place in range(0, trial.size, -(-trial.size // _SINGLES)):
        first = reference.feeds[0]
        feeds = first | {name: first[name].take([place], axis) for name, axis in axes.items()}
        wanted = {
            name: whole[name][place : place + 1] if meter.carried else whole[name]
            for name, meter in reference.meters.items()
        }
        got = trial.run(session, feeds, at)
        pair = SampleTwice(FedRun(first, reference.answers[0], trial.size), FedRun(feeds, got), place)
        compare(trial, reference.meters, got, wanted, Comparing([pair], at))
