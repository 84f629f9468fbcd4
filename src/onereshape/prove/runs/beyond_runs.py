"""The runs of a freed batch on values beyond the usual: all pieces as one batch, and single samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from onereshape.prove.engines.engine import Array, Session
from onereshape.prove.runs.compare import Carried, samples
from onereshape.prove.runs.examples import Comparing, FedRun, SampleTwice
from onereshape.prove.runs.extremes import Extreme, judge, stand_out
from onereshape.prove.runs.trial import Feeds, Sizes, Trial

_SINGLES: Final = 256
"""Samples of a piece that are run alone."""


@dataclass(frozen=True, slots=True)
class Beyond:
    """The repaired model, and where its batch is."""

    trial: Trial
    session: Session
    axes: Mapping[str, int]
    own: Sizes
    """The batch of the original, and the sizes of its other dims."""

    def at(self, batch: int) -> Sizes:
        """The sizes with another batch."""
        return {**self.own, next(iter(self.own)): batch}


def joined(pieces: Sequence[Feeds], axes: Mapping[str, int]) -> Feeds:
    """The pieces as one batch, joined at each input's batch axis: three `[2, 4] -> [6, 4]`."""
    return pieces[0] | {name: np.concatenate([piece[name] for piece in pieces], axis) for name, axis in axes.items()}


def run_beyond(beyond: Beyond, extremes: Sequence[Extreme], beside: Sequence[Feeds]) -> None:
    """Runs extremes and the usual pieces `beside` as one batch; single samples too, if the original has several."""
    trial, size = beyond.trial, beyond.trial.size
    pieces = [*beside, *(each.feeds for each in extremes)]
    at = beyond.at(len(pieces) * size)
    feeds = joined(pieces, beyond.axes)
    answers = trial.run(beyond.session, feeds, at, listed=False)
    whole = FedRun(feeds, answers, len(pieces) * size)
    seen = []
    for place, extreme in enumerate(extremes, start=len(beside)):
        mine = {}
        for name, meter in extreme.meters.items():
            split = _split(answers[name], meter.carried, len(pieces) * size)
            mine[name] = split[place * size : (place + 1) * size] if meter.carried else split
        own = FedRun(extreme.feeds, extreme.answers, size)
        pairs = [SampleTwice(own, whole, was, place * size + was) for was in range(size)]
        seen.append(judge(trial, extreme, mine, Comparing(pairs, at)))
    stand_out(trial, extremes, seen)
    if size > 1:
        _singles(beyond, extremes[0])


def _singles(beyond: Beyond, extreme: Extreme) -> None:
    """The samples of one piece, one at a time; of very many those at even distances."""
    at, size = beyond.at(1), beyond.trial.size
    places = range(0, size, -(-size // _SINGLES))
    found, pairs, own = [], [], FedRun(extreme.feeds, extreme.answers, size)
    for place in places:
        row = {name: extreme.feeds[name].take([place], axis) for name, axis in beyond.axes.items()}
        feeds = extreme.feeds | row
        found.append(beyond.trial.run(beyond.session, feeds, at, listed=False))
        pairs.append(SampleTwice(own, FedRun(feeds, found[-1]), place))
    mine = {}
    for name, meter in extreme.meters.items():
        answers = [_split(each[name], meter.carried, 1) for each in found]
        mine[name] = np.concatenate(answers) if meter.carried else answers[0]
        whole = _split(extreme.answers[name], meter.carried, size)
        if len(places) < size and meter.carried and mine[name].shape[1:] == whole.shape[1:]:
            asked, mine[name] = mine[name], whole.astype(mine[name].dtype)  # those that were not asked are as wanted
            mine[name][:: places.step] = asked
    every = [pairs[place // places.step] for place in range(size)]  # those that were not asked are as wanted
    judge(beyond.trial, extreme, mine, Comparing(every, at))


def _split(array: Array, carried: Carried | None, size: int) -> Array:
    """An answer with its samples first; nothing where its dims have no place for them."""
    found = samples(array, carried, size)
    return array[:0] if found is None else found
