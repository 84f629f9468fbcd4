"""The runs that certify a model in which no dim was freed: both models on the same values, in several settings."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from onereshape.models.certificates.asking import Question, consult
from onereshape.models.certificates.draw import Manner, draw
from onereshape.models.certificates.extremes import judge, stand_out
from onereshape.models.certificates.reference import settle
from onereshape.models.certificates.settings import Chooser, Setting
from onereshape.models.certificates.suits import suits_of
from onereshape.models.certificates.trial import Answers, Feeds, Trial, compare, contrast, said

_DRAWS: Final = 3
_OTHERS: Final = 3
"""Further settings of a model whose inputs have named dims, or serve as sizes."""


def run_same(trial: Trial) -> None:
    """Both models, on values of every size that is tried."""
    suits = suits_of(trial.original)
    chooser = Chooser(trial.original, suits, {}, (), trial.seed)

    def make(rng: np.random.Generator, manner: Manner, setting: Setting, number: int) -> list[Feeds]:
        drawing = partial(draw, suits=suits, manner=manner, given=setting.values)
        return [drawing(trial.original, rng, setting.sizes) for _ in range(number)]

    counts = [_DRAWS, *[2] * (_OTHERS if chooser.varies else 0)]
    trial.steps = len(counts) + sum(counts) + 1
    asked = consult(trial, chooser, Question(make, counts))
    session = trial.opened()
    for reference in asked.references:
        at = reference.setting.sizes
        for name, meter in reference.meters.items():
            contrast(trial, meter, np.stack([answer[name] for answer in reference.answers]))
        for feeds, answers in zip(reference.feeds, reference.answers, strict=True):
            trial.step(said(at))
            compare(trial, reference.meters, trial.run(session, feeds, at), _first(answers), at)
            settle(trial, asked.references, at)
    at = asked.references[0].setting.sizes
    trial.step("values beyond the usual")
    runs = [trial.run(session, extreme.feeds, at, listed=False) for extreme in asked.extremes]
    seen = [judge(trial, each, _first(mine), at) for each, mine in zip(asked.extremes, runs, strict=True)]
    stand_out(trial, asked.extremes, seen)


def _first(answers: Answers) -> Answers:
    return {name: array[None] for name, array in answers.items()}
