"""The runs that certify a model in which no dim was freed: both models on the same values, at several sizes."""

from __future__ import annotations

from typing import Final

import numpy as np

from onereshape.models.certificates.certificate import RefusedSize
from onereshape.models.certificates.draw import Manner, draw
from onereshape.models.certificates.engine import Refusal
from onereshape.models.certificates.reference import Reference, ask, meters_of, opened, settle
from onereshape.models.certificates.suits import fed, suits_of
from onereshape.models.certificates.trial import Answers, Feeds, Sizes, Trial, compare, contrast, said

_DRAWS: Final = 3
_OTHERS: Final = 3
"""Further sizes of a model whose inputs have named dims."""


def run_same(trial: Trial) -> None:
    """Both models, on values of every size that is tried."""
    suits = suits_of(trial.original)
    dims = [dim.value for value in fed(trial.original) for dim in value.shape or () if not isinstance(dim, int)]
    names = sorted({name for name in dims if name})

    def make(rng: np.random.Generator, manner: Manner, number: int) -> list[Feeds]:
        return [draw(trial.original, rng, {}, suits=suits, manner=manner) for _ in range(number)]

    trial.steps = 2 * _DRAWS + (_OTHERS if names else 0)
    reference = ask(trial, make, _DRAWS)
    for name, meter in reference.meters.items():
        contrast(trial, meter, np.stack([answer[name] for answer in reference.answers]))
    session = trial.opened()
    first = dict.fromkeys(names, reference.manner.default)
    for feeds, answers in zip(reference.feeds, reference.answers, strict=True):
        trial.step(said(first))
        compare(trial, reference.meters, trial.run(session, feeds, first), _first(answers), first)
        settle(trial, reference, first)
    original = opened(trial.original, trial.base_dir, "original model") if names else None
    for other in range(_OTHERS if names else 0):
        sizes: Sizes = {name: 1 + (other * 3 + place * 2) % 7 for place, name in enumerate(names)}
        trial.step(said(sizes))
        feeds = draw(trial.original, np.random.default_rng(trial.seed + other), sizes, suits=suits)
        try:
            answers = original.run(feeds) if original is not None else {}
        except Refusal as refusal:
            trial.refused.append(RefusedSize(dict(sizes), refusal.why))
            continue
        asked = Reference(reference.manner, [feeds], [answers], meters_of(trial, [answers]))
        compare(trial, asked.meters, trial.run(session, feeds, sizes), _first(answers), sizes)
        settle(trial, asked, sizes)


def _first(answers: Answers) -> Answers:
    return {name: array[None] for name, array in answers.items()}
