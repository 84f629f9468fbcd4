"""RoundingCheck: whether rounding decides the answers to the pieces on which a batch differs from the original."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from onereshape.prove.engines.engine import Array, Refusal
from onereshape.prove.runs.compare import finite, samples
from onereshape.prove.runs.reference import Reference
from onereshape.prove.runs.steadiness import MOVES, SLIGHTLY, moved, steady
from onereshape.prove.runs.trial import Answers, Feeds, Trial


@dataclass(frozen=True, slots=True)
class RoundingCheck:
    """The original's answers beside those of the repaired model, on `count` pieces at once."""

    trial: Trial
    reference: Reference
    moved: Collection[str]
    """The inputs that can be moved a little."""
    got: Answers
    """The repaired model's answers to these pieces."""
    again: Callable[[Sequence[Feeds]], Answers]
    """The answers of the repaired model to other pieces."""
    count: int = 1
    _known: dict[int, dict[str, Array] | None] = field(default_factory=dict)
    """What was steady: of the original on a piece, and, under -1, of the repaired model on all of them."""

    def wavers(self, name: str) -> bool:
        """Whether rounding decides an output, in either model, on every piece on which the models differ in it."""
        meter, mine = self.reference.meters[name], self._split(self.got[name], name)
        if mine is None:
            return False
        for place in range(self.count):
            part, want = self._part(mine, name, place), self._wanted(name, place)
            if meter.distance(part, want).units > 1 and not self._unsure(name, place, part, want):
                return False
        return True

    def _unsure(self, name: str, place: int, part: Array, want: Array) -> bool:
        if place not in self._known:
            asked = self.reference.pieces(self.trial.size)[place]
            self._known[place] = steady(self.trial, asked, self.reference.meters, self.moved, SLIGHTLY)
        same = self._known[place]
        if same is not None and np.any(~same[name] & finite(want)):
            return True
        if -1 not in self._known:
            self._known[-1] = self._steady()
        same = self._known[-1]
        return same is not None and bool(np.any(~self._part(same[name], name, place) & finite(part)))

    def _steady(self) -> dict[str, Array] | None:
        """The elements in which the repaired model agrees with itself, samples first; None where it does not run."""
        rng = np.random.default_rng(self.trial.asked.seed)
        found: dict[str, Array] = {}
        for _ in range(MOVES if self.moved else 0):
            pieces = [moved(rng, each, self.moved, SLIGHTLY) for each in self.reference.feeds[: self.count]]
            try:
                again = self.again(pieces)
            except Refusal:
                return None
            for name, meter in self.reference.meters.items():
                mine, other = (self._split(each[name], name) for each in (self.got, again))
                if mine is None or other is None or mine.shape != other.shape:
                    return None
                found[name] = found.get(name, np.True_) & meter.near(other, mine)
        return found or None

    def _split(self, answer: Array, name: str) -> Array | None:
        return samples(answer, self.reference.meters[name].carried, self.count * self.trial.size)

    def _part(self, split: Array, name: str, place: int) -> Array:
        """The samples of one piece; all of an output that carries no batch."""
        size = self.trial.size
        return split[place * size : (place + 1) * size] if self.reference.meters[name].carried else split

    def _wanted(self, name: str, place: int) -> Array:
        found = samples(self.reference.answers[place][name], self.reference.meters[name].carried, self.trial.size)
        assert found is not None  # noqa: S101 - the meter was made of it
        return found
