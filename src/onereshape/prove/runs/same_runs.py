"""The runs that certify a model in which no dim was freed: both models on the same values, in several settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import numpy as np

from onereshape.prove.counterexample import Role
from onereshape.prove.engines.engine import Array, Session
from onereshape.prove.runs.asking import OriginalAnswers, OriginalQuestion, consult
from onereshape.prove.runs.examples import Comparing, FedRun, SampleTwice
from onereshape.prove.runs.extremes import Extreme, judge, stand_out
from onereshape.prove.runs.reference import Reference, settle
from onereshape.prove.runs.settings import Chooser, Setting
from onereshape.prove.runs.trial import Answers, Feeds, Sizes, Trial, compare, contrast
from onereshape.prove.values.draw import Manner, draw
from onereshape.prove.values.input_roles import InputRole, roles_of
from onereshape.terms.proof import said

_DRAWS: Final = 3
"""Values on which the original size is compared."""
_OTHERS: Final = 3
"""Further settings of a model whose inputs have named dims, or serve as sizes."""


def run_same(trial: Trial) -> None:
    """Both models, on values of every size that is tried."""
    asked = ask_whole(trial, roles_of(trial.original), _OTHERS, 1)
    session = trial.opened()
    for reference in asked.references:
        contrast_answers(trial, reference)
        run_beside(trial, session, reference, asked.references, reference.setting.sizes)
    trial.step("values beyond the usual")
    run_beyond(trial, session, asked.extremes, asked.references[0].setting.sizes)


def ask_whole(trial: Trial, suits: Mapping[str, InputRole], others: int, more: int) -> OriginalAnswers:
    """The original's answers, each compared as one sample, in its first and in other settings; `more` steps follow."""
    chooser = Chooser(trial.original, suits, {}, (), trial.seed)

    def make(rng: np.random.Generator, manner: Manner, setting: Setting, number: int) -> list[Feeds]:
        drawing = partial(draw, suits=suits, manner=manner, given=setting.values)
        return [drawing(trial.original, rng, setting.sizes) for _ in range(number)]

    counts = [_DRAWS, *[2] * (others if chooser.varies else 0)]
    trial.steps = len(counts) + sum(counts) + more
    return consult(trial, chooser, OriginalQuestion(make, counts))


def contrast_answers(trial: Trial, reference: Reference) -> None:
    """Notes how different the answers are that a model gave to different values."""
    for name, meter in reference.meters.items():
        contrast(trial, meter, stacked(reference.answers, name))


def stacked(answers: Sequence[Answers], name: str) -> Array:
    """The answers of an output on top of each other: three `[2, 4] -> [3, 2, 4]`."""
    return np.stack([answer[name] for answer in answers])


def run_beside(  # noqa: PLR0913, PLR0917 - what is run, and beside whom
    trial: Trial, session: Session, asked: Reference, original: Sequence[Reference], at: Sizes, who: Role = "original"
) -> None:
    """The repaired model beside the answers of a model that has these sizes, and is called `who`."""
    for feeds, answers in zip(asked.feeds, asked.answers, strict=True):
        trial.step(said(at))
        got = trial.run(session, feeds, at)
        pair = SampleTwice(FedRun(feeds, answers), FedRun(feeds, got))
        compare(trial, asked.meters, got, _first(answers), Comparing([pair], at, (who, "repaired")))
        settle(trial, original, at)


def run_beyond(trial: Trial, session: Session, extremes: Sequence[Extreme], at: Sizes, who: Role = "original") -> None:
    """The repaired model beside another, on values beyond the usual."""
    runs = [trial.run(session, extreme.feeds, at, listed=False) for extreme in extremes]
    seen = []
    for each, mine in zip(extremes, runs, strict=True):
        pair = SampleTwice(FedRun(each.feeds, each.answers), FedRun(each.feeds, mine))
        seen.append(judge(trial, each, _first(mine), Comparing([pair], at, (who, "repaired"))))
    stand_out(trial, extremes, seen)


def _first(answers: Answers) -> Answers:
    """Answers with a first axis of 1 for the sample: `[2, 4] -> [1, 2, 4]`."""
    return {name: array[None] for name, array in answers.items()}
