"""The runs that certify a freed batch: the repaired model at several sizes, beside the original on the pieces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from onereshape.models.certificates.compare import Meter, samples
from onereshape.models.certificates.draw import Manner, draw
from onereshape.models.certificates.engine import Array, Session
from onereshape.models.certificates.reference import Reference, ask, settle
from onereshape.models.certificates.suits import suits_of
from onereshape.models.certificates.trial import Answers, Feeds, Freed, Sizes, Stop, Trial, amount, compare, said

_TIMES: Final = (1, 2, 3, 5)
"""The batches that are run, in pieces of the original size."""
_SINGLES: Final = 16
"""Samples of a piece that are also run alone."""


def run_batch(trial: Trial, freed: Freed) -> None:
    """The repaired model at several batches, beside the original on the pieces."""
    axes = {name: axis for name, places in freed.items() for axis in places}
    symbols = {symbol for places in freed.values() for symbol in places.values()}
    if len(symbols) != 1 or any(len(places) > 1 for places in freed.values()):
        raise Stop("untested", "a batch is one name, on one axis of each input that carries it")
    (symbol,) = symbols
    suits = suits_of(trial.original)
    count, several = sum(_TIMES), trial.size > 1

    def make(rng: np.random.Generator, manner: Manner, number: int) -> list[Feeds]:
        sizes, number_drawn = {symbol: trial.size}, min(number, count) + 1  # the original may name the batch too
        drawn = [draw(trial.original, rng, sizes, suits=suits, manner=manner) for _ in range(number_drawn)]
        feeds = [drawn[0] | {name: piece[name] for name in axes} for piece in drawn[1:]]
        return feeds if number <= count else [*feeds, _shuffled(feeds, axes, trial.size)]

    trial.steps = count + len(_TIMES) + 2 * several
    reference = ask(trial, make, count + several)
    if several:
        _check_rows(trial, reference)
    session = trial.opened()
    begin = 0
    for times in _TIMES:
        end = begin + times
        pieces, answers = reference.feeds[begin:end], reference.answers[begin:end]
        begin = end
        at = {symbol: times * trial.size}
        trial.step(said(at))
        joined = {name: np.concatenate([piece[name] for piece in pieces], axis) for name, axis in axes.items()}
        wanted = {name: _together(meter, answers, trial.size) for name, meter in reference.meters.items()}
        compare(trial, reference.meters, trial.run(session, pieces[0] | joined, at), wanted, at)
        settle(trial, reference, at)
    if several:
        trial.step(said({symbol: 1}))
        _singles(trial, session, reference, axes, {symbol: 1})
        settle(trial, reference, {symbol: 1})


def _together(meter: Meter, answers: Sequence[Answers], size: int) -> Array:
    """The answers on the pieces, samples first."""
    found = (samples(answer[meter.name], meter.carried, size) for answer in answers)
    return np.concatenate([array for array in found if array is not None])


def _shuffled(pieces: Sequence[Feeds], axes: Mapping[str, int], size: int) -> Feeds:
    """A piece made of samples of the first two, each at another place and among others than before."""
    feeds = dict(pieces[0])
    for name, axis in axes.items():
        rows = [np.split(piece[name], size, axis) for piece in pieces[:2]]
        feeds[name] = np.concatenate([rows[place % 2][size - 1 - place] for place in range(size)], axis)
    return feeds


def _check_rows(trial: Trial, reference: Reference) -> None:
    """A sample in the original's own batch depends on nothing but itself."""
    for name, meter in reference.meters.items():
        if meter.carried is None:
            continue
        first, second, shuffled = (_together(meter, [reference.answers[place]], trial.size) for place in (0, 1, -1))
        want = np.stack([(first, second)[place % 2][trial.size - 1 - place] for place in range(trial.size)])
        found = meter.distance(shuffled, want)
        if found.most > 1:
            raise Stop(
                "differs",
                f"the original mixes the {trial.size} samples of its batch: output {name!r} of a sample differs by "
                f"{amount(found)} beside other samples",
            )


def _singles(trial: Trial, session: Session, reference: Reference, axes: Mapping[str, int], at: Sizes) -> None:
    """Samples of the first piece, one at a time."""
    rows = {name: np.split(reference.feeds[0][name], trial.size, axis) for name, axis in axes.items()}
    whole = {name: _together(meter, reference.answers[:1], trial.size) for name, meter in reference.meters.items()}
    for place in range(0, trial.size, -(-trial.size // _SINGLES)):
        feeds = reference.feeds[0] | {name: split[place] for name, split in rows.items()}
        wanted = {
            name: whole[name][place : place + 1] if meter.carried else whole[name]
            for name, meter in reference.meters.items()
        }
        compare(trial, reference.meters, trial.run(session, feeds, at), wanted, at)
