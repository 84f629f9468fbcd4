"""Which axis of each output grows with the batch, seen by running a model at two batches.

Nothing is compared here: a certificate that is told a wrong place finds other samples there, and refuses.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.graphs.exports import Freed
from onereshape.prove.engines.engine import Refusal, Session
from onereshape.prove.evidence import Carried
from onereshape.prove.runs.asking import opening_of
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.settings import Chooser, Setting
from onereshape.prove.runs.trial import Feeds, Trial, batch_of
from onereshape.prove.values.draw import Manner, Undrawable, draw
from onereshape.prove.values.input_roles import roles_of
from onereshape.prove.values.naming import with_named_dims

_TIMES: Final = 3


def grown(model: ir.Model, asked: Freed, size: int, base_dir: str) -> dict[str, Carried | None]:
    """Where each output has more at a larger batch; nothing of one that tells no single axis, or does not run.

    `model` names the dims of its batch as `asked` does.
    """
    axes, symbol = batch_of(asked)
    model = with_named_dims(model)
    suits = roles_of(model)

    def make(rng: np.random.Generator, manner: Manner, setting: Setting, number: int, batch: int) -> list[Feeds]:
        sizes = {**setting.sizes, symbol: batch}
        return [draw(model, rng, sizes, suits=suits, manner=manner, given=setting.values) for _ in range(number)]

    chooser = Chooser(model, suits, {symbol: size}, axes.keys())
    trial = Trial(model, model, asked, Comparison("other"), base_dir)
    try:
        session = Session(model, base_dir)
        opening = opening_of(trial, session, chooser, partial(make, batch=size))
        rng = np.random.default_rng(trial.asked.seed)
        (feeds,) = make(rng, opening.manner, opening.setting, 1, _TIMES * size)
        larger = session.run(feeds)
    except (Refusal, Undrawable):
        return {}
    shapes = {name: (array.shape, larger[name].shape) for name, array in opening.answers[0].items()}
    return {name: place for name, both in shapes.items() for place in _places(*both)}


def _places(before: tuple[int, ...], after: tuple[int, ...]) -> list[Carried | None]:
    """The axis that has grown as the batch has, None where none has; nothing where that cannot be said."""
    if after == (_TIMES, *before):  # it has no axis for one sample
        return [Carried(0, new=len(before), lost=True)]
    if len(before) != len(after):
        return []
    differ = [axis for axis, (one, two) in enumerate(zip(before, after, strict=True)) if one != two]
    if not differ:
        return [None]
    (axis, *others) = differ
    return [Carried(axis, 1, None)] if not others and after[axis] == _TIMES * before[axis] else []
