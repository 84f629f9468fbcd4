"""Truth: whoever says what is wanted of the repaired model, what the original is asked, and what terms are compared.

Where nothing was freed it is the original on the same values, in several settings, whatever engine runs it; the truths
of a batch (`sample_by_sample`) and of other dims (`other_exports`) are made of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np

from onereshape.prove.counterexample import Role
from onereshape.prove.engines.engine import Session
from onereshape.prove.evidence import Contrast, Sizes, Terms
from onereshape.prove.runs.asking import OriginalAnswers, OriginalQuestion, unusual
from onereshape.prove.runs.extremes import Extreme, judge_unusual, stand_out
from onereshape.prove.runs.reference import Reference
from onereshape.prove.runs.settings import Chooser, Setting
from onereshape.prove.runs.term_runs import Settings, same_terms
from onereshape.prove.runs.trial import Feeds, Trial
from onereshape.prove.runs.wanted import compare, settle, whole
from onereshape.prove.values.draw import Manner, draw
from onereshape.prove.values.input_roles import InputRole, roles_of
from onereshape.terms.proof import said

_DRAWS: Final = 3
"""Values on which the original size is compared; of these two,"""
_FEW: Final = 2
"""where terms prove that the models are the same, and in each further setting."""
_OTHERS: Final = 3
"""Further settings of a model whose inputs have named dims, or serve as sizes."""


@dataclass(frozen=True)
class Truth:
    """The original, whose answers to the same values are wanted as they are."""

    trial: Trial

    @cached_property
    def suits(self) -> Mapping[str, InputRole]:
        """What each input is taken for."""
        return roles_of(self.trial.original)

    @cached_property
    def chooser(self) -> Chooser:
        """The settings that there are."""
        return Chooser(self.trial.original, self.suits, {}, (), self.trial.asked.seed)

    def question(self) -> OriginalQuestion:
        """Values for the original in its first and in other settings."""
        few = self.trial.proven
        return self.drawing(_FEW if few else _DRAWS, _OTHERS, 0 if few else 1)

    def drawing(self, draws: int, others: int, more: int) -> OriginalQuestion:
        """So many values for the first setting, and a few for other ones; `more` steps follow."""

        def make(rng: np.random.Generator, manner: Manner, setting: Setting, number: int) -> list[Feeds]:
            drawing = partial(draw, suits=self.suits, manner=manner, given=setting.values)
            return [drawing(self.trial.original, rng, setting.sizes) for _ in range(number)]

        counts = [draws, *[_FEW] * (others if self.chooser.varies else 0)]
        self.trial.steps = 1 + len(counts) + sum(counts) + more
        return OriginalQuestion(make, counts)

    def terms(self, settings: Settings) -> list[Terms]:
        """Both models at these settings, and at sizes beside them."""
        return same_terms(self.trial, settings)

    @property
    def settings(self) -> Settings | None:
        """The only setting, of a model that has no other."""
        return None if self.chooser.varies else [({}, {})]

    def listen(self, asked: OriginalAnswers) -> None:
        """Nobody else knows an answer."""

    def unusual(self, asked: OriginalAnswers) -> Sequence[Sequence[Extreme]]:
        """The original's answers to values beyond the usual."""
        return unusual(self.trial, self.chooser, self.question(), asked)

    def compare(self, session: Session, asked: OriginalAnswers) -> None:
        """The repaired model in each setting."""
        for reference in asked.references:
            contrast_answers(self.trial, reference)
            run_beside(self.trial, session, reference, asked.references, reference.setting.sizes)

    def compare_unusual(self, session: Session, groups: Sequence[Sequence[Extreme]]) -> None:
        """The repaired model on values beyond the usual."""
        run_beyond(self.trial, session, groups[0])

    def look_further(self, session: Session, asked: OriginalAnswers) -> None:
        """There is nothing that the original does not answer."""


def contrast_answers(trial: Trial, reference: Reference) -> None:
    """Notes how different the answers are that a model gave to different values."""
    for name, meter in reference.meters.items():
        group = np.stack([answer[name] for answer in reference.answers])
        trial.evidence.append(Contrast(name, meter.contrast(group)))


def run_beside(  # noqa: PLR0913, PLR0917 - what is run, and beside whom
    trial: Trial, session: Session, asked: Reference, original: Sequence[Reference], at: Sizes, who: Role = "original"
) -> None:
    """The repaired model beside the answers of a model that has these sizes, and is called `who`."""
    for piece in asked.pieces():
        trial.step(said(at))
        wanted = whole(piece, asked.meters, at, who)
        got = trial.run(session, wanted.feeds, at)
        settle(trial, wanted, got, compare(trial, wanted, got), original)


def run_beyond(
    trial: Trial, session: Session, extremes: Sequence[Extreme], at: Sizes | None = None, who: Role = "original"
) -> None:
    """The repaired model beside another, on values beyond the usual; `at`: the sizes, if not those of the setting."""
    seen = []
    for each in extremes:
        wanted = whole(each.run, each.meters, each.setting.sizes if at is None else at, who)
        mine = trial.run(session, wanted.feeds, wanted.sizes, listed=False)
        first = {name: array[None] for name, array in mine.items()}
        seen.append(judge_unusual(trial, each, first, wanted.beside(mine)))
    stand_out(trial, extremes, seen)
