"""Whether the original agrees with itself when hardly anything changes: where rounding decides, its answer is none.

Of two scores that are equal but for rounding either may be the largest, and which kernel runs depends on the batch; so
a TopK, an ArgMax, or what is gathered by them, may be another one without anything being wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np

from onereshape.prove.engines.engine import Array, Refusal, Session
from onereshape.prove.runs.compare import Meter, rounding, samples
from onereshape.prove.runs.examples import FedRun
from onereshape.prove.runs.trial import Answers, Feeds, Trial

FLOAT_KINDS: Final = frozenset({"float", "positive"})
"""The inputs that can be moved a little."""
SLIGHTLY: Final = 1e-6
"""How far inputs are moved to see whether rounding decides."""
MOVES: Final = 8


def steady(  # noqa: PLR0913, PLR0917 - what was asked, and how it is moved
    trial: Trial, asked: FedRun, meters: Mapping[str, Meter], names: Collection[str], step: float, moves: int = MOVES
) -> dict[str, Array] | None:
    """The elements in which the original agrees with itself, samples first; None where it does not run again.

    The inputs of these names can be moved a little.
    """
    rng = np.random.default_rng(trial.asked.seed)
    again: list[Answers]
    try:
        again = [Session(trial.original, trial.base_dir, optimize=False).run(asked.feeds)]
        session = Session(trial.original, trial.base_dir)
        again += [session.run(moved(rng, asked.feeds, names, step)) for _ in range(moves if names else 0)]
    except Refusal:
        return None
    found = {}
    for name, meter in meters.items():
        want = samples(asked.answers[name], meter.carried, trial.size)
        if want is None:
            continue
        same = np.ones(want.shape, bool)
        for each in again:
            near = samples(each[name], meter.carried, trial.size)
            same &= np.False_ if near is None else meter.near(near, want)
        found[name] = same
    return found


def moved(rng: np.random.Generator, feeds: Answers, names: Collection[str], step: float) -> Feeds:
    """Feeds whose inputs with these names are moved a little: by two roundings of their type at least."""
    found = dict(feeds)
    for name in names:
        least = max(step, 2 * rounding(feeds[name].dtype))
        array = feeds[name].astype(np.float64) * (1 + least * rng.uniform(-1, 1, feeds[name].shape))
        found[name] = array.astype(feeds[name].dtype)
    return found
