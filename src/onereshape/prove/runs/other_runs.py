"""The runs that certify freed dims other than a batch.

They are compared with the original at its size and with other exports, where there are any, at their own: those that
the repair was fitted on, and witnesses, which it did not use.  Elsewhere there is nobody to ask, and the repaired model
can only be seen to run, with the dims that inference promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.exports import Freed
from onereshape.prove.certificate import RefusedSize
from onereshape.prove.counterexample import Role
from onereshape.prove.engines.engine import Refusal, Session, folder_of
from onereshape.prove.runs.asking import OriginalAnswers
from onereshape.prove.runs.compare import CLEARLY
from onereshape.prove.runs.comparison import Comparison, Promised
from onereshape.prove.runs.extremes import Asker, Extreme
from onereshape.prove.runs.reference import Reference, answered, meters_of, opened
from onereshape.prove.runs.same_runs import ask_whole, contrast_answers, run_beside, run_beyond, stacked
from onereshape.prove.runs.settings import Chooser, Setting
from onereshape.prove.runs.trial import (
    Answers,
    Beside,
    Feeds,
    Sizes,
    Stop,
    Trial,
    check_declared,
    check_interface,
    said_dims,
)
from onereshape.prove.values.draw import Manner, draw
from onereshape.prove.values.input_roles import InputRole, fed, roles_of
from onereshape.rule.condition import Clause
from onereshape.terms.proof import said

_WITNESSED: Final = 2
_OTHERS: Final = 2
"""Further settings at the original size, of dims that have a name already and inputs that serve as sizes."""
_TRIES: Final = 4
_NEAR: Final = 1024
"""How far the nearest size is looked for that fulfils what is stated."""
_NEEDED: Final = 2
"""The number of other sizes that each freed dim must have had."""
_LADDER: Final[tuple[Callable[[int], int], ...]] = (
    lambda size: 2 * size,
    lambda size: size // 2,
    lambda size: size + 1,
    lambda size: 3 * size,
)
_FURTHER: Final[tuple[Callable[[int], int], ...]] = (
    lambda size: size - 1,
    lambda size: size // 4,
    lambda size: 4 * size,
    lambda size: size + 2,
)
"""Rungs that are tried where the model runs at too few of the ladder."""


class _Other(NamedTuple):
    """Another export at sizes of its own, a witness or one that the repair was fitted on, and its answers."""

    what: Role
    trial: Trial
    """The same trial, with this export in the original's place."""
    sizes: Sizes
    """The sizes of the freed dims in this export."""
    reference: Reference
    extremes: Sequence[Extreme]


@dataclass(frozen=True, slots=True)
class _Climb:
    """A search for sizes beyond the exports at which the repaired model runs."""

    trial: Trial
    session: Session
    asked: OriginalAnswers
    suits: Mapping[str, InputRole]
    promised: Promised | None
    clauses: tuple[Clause, ...]
    rng: np.random.Generator

    def allowed(self, sizes: Sizes) -> dict[str, int] | None:
        """These sizes, or the next larger or smaller ones that all clauses allow; None where no such sizes are near."""
        found: dict[str, int] = {}
        for symbol, size in sizes.items():
            own = [clause for clause in self.clauses if clause.names == {symbol}]
            near = (size + sign * more for more in range(_NEAR) for sign in (1, -1))
            fits = (each for each in near if each > 0 and not any(clause.excludes({symbol: each}) for clause in own))
            found[symbol] = next(fits, 0)
        possible = min(found.values(), default=1) > 0
        return found if possible and not any(clause.excludes(found) for clause in self.clauses) else None


def run_other(trial: Trial, freed: Freed, comparison: Comparison) -> None:
    """The repaired model beside the original, beside other exports, and alone."""
    suits = roles_of(trial.original)
    own = trial.own = _sizes_of(trial.original, freed, "original")
    others: list[tuple[Role, ir.Model]] = [("export", each) for each in comparison.fitted]
    others += [("witness", each) for each in comparison.witnesses]
    asked = ask_whole(trial, suits, _OTHERS, len(_LADDER) + 2 * _WITNESSED * len(others))
    contrast_answers(trial, asked.references[0])
    answering = [_witnessed(trial, (what, each), freed, suits, asked) for what, each in others]
    session = trial.opened()
    for reference in asked.references:
        run_beside(trial, session, reference, asked.references, {**own, **reference.setting.sizes})
    run_beyond(trial, session, asked.extremes, own)
    for other in answering:
        setting = other.reference.setting
        at = {**other.sizes, **setting.sizes}
        seen_at = trial.fitted if other.what == "export" else trial.witnesses
        seen_at.append(Beside(other.trial.original, other.sizes, at, setting.values))
        try:
            run_beside(trial, session, other.reference, asked.references, at, other.what)
            run_beyond(other.trial, session, other.extremes, at, other.what)
        except Stop as stop:
            unmet = next((clause.text for clause in comparison.clauses if clause.excludes(other.sizes)), None)
            raise (
                stop if unmet is None else Stop(stop.status, f"{stop.reason}; it only holds if {unmet}", stop.example)
            ) from None
    rng = np.random.default_rng(trial.seed + 1)
    _alone(_Climb(trial, session, asked, suits, comparison.promised, comparison.clauses, rng), own)


def _sizes_of(model: ir.Model, freed: Freed, what: str) -> dict[str, int]:
    """The sizes of the freed dims in an export, which fixes them: `{"S": 16}`."""
    found: dict[str, int] = {}
    for value in fed(model):
        for axis, symbol in freed.get(value.name or "", {}).items():
            dim = None if value.shape is None else value.shape[axis]
            if not isinstance(dim, int):
                raise Stop("untested", f"input {value.name!r} of the {what} has no fixed size at axis {axis}")
            if found.setdefault(symbol, dim) != dim:
                raise Stop("untested", f"{symbol} is both {found[symbol]} and {dim} in the {what}")
    return found


def _witnessed(
    trial: Trial, other: tuple[Role, ir.Model], freed: Freed, suits: Mapping[str, InputRole], asked: OriginalAnswers
) -> _Other:
    """The answers of another export, to values beyond the usual too."""
    what, model = other
    check_interface(trial.original, model, what)
    sizes = _sizes_of(model, freed, what)
    if sizes == trial.own:
        raise Stop("untested", f"the {what} has the sizes of the original ({said(sizes)}), and so shows nothing")
    own = replace(trial, original=model, base_dir=folder_of(model) or trial.base_dir, extremes=[], contrasts={})
    session = opened(model, own.base_dir, what)
    setting = _setting(model, session, asked, {}, trial.seed)
    rng = np.random.default_rng(trial.seed)
    drawing = partial(draw, suits=suits, manner=asked.manner, given=setting.values)
    feeds = [drawing(model, rng, setting.sizes) for _ in range(_WITNESSED)]
    answers: list[Answers] = []
    for each in feeds:
        trial.step(f"{what}, {said(sizes)}")
        answers.append(answered(session, each, what))
    found = Reference(setting, feeds, answers, meters_of(trial, answers))
    if all(meter.contrast(stacked(answers, name)) <= CLEARLY for name, meter in found.meters.items()):
        why = f"no output of the {what} ({said(sizes)}) depends on what is fed, and so it shows nothing"
        raise Stop("untested", why)
    contrast_answers(trial, found)  # what the original has nothing of, or one entry, may depend on what is fed here

    def extreme(manner: Manner) -> Feeds:
        return draw(
            model,
            np.random.default_rng([trial.seed, 99]),
            setting.sizes,
            suits=suits,
            manner=manner,
            given=setting.values,
        )

    asker = Asker(own, session, Chooser(model, suits, {}, (), trial.seed), asked.manner, extreme, found)
    return _Other(what, own, sizes, found, asker.extremes(lambda _: []) if trial.gates else [])


def _setting(model: ir.Model, session: Session, asked: OriginalAnswers, sizes: Sizes, seed: int) -> Setting:
    """The first setting again; inputs that serve as sizes get values that a model of other sizes takes."""
    first = asked.references[0].setting
    sizes = {**first.sizes, **sizes}
    if not first.values:
        return Setting(sizes, {})
    chooser = Chooser(model, roles_of(model), {}, (), seed)
    for place in range(_TRIES):
        values = chooser.values(np.random.default_rng([seed, place]), sizes, asked.manner)
        try:
            session.run(draw(model, np.random.default_rng(seed), sizes, manner=asked.manner, given=values))
        except Refusal:
            continue
        return Setting(sizes, values)
    return Setting(sizes, first.values)


def _alone(climb: _Climb, own: Sizes) -> None:
    """Sizes that nobody else can run, until every dim has had enough of them."""
    trial = climb.trial
    for sizes in _rungs(own, _LADDER):
        trial.step(said(sizes))
        _try(climb, sizes)
    for symbol in own if len(own) > 1 else ():  # two dims that were only ever changed together may be tied
        _try(climb, {**own, symbol: 2 * own[symbol]})
    for symbol in own:
        for sizes in _rungs({symbol: own[symbol]}, (*_LADDER, *_FURTHER)):
            if _had(trial, symbol, own) < _NEEDED:
                _try(climb, {**own, **sizes})
    short = [symbol for symbol in own if _had(trial, symbol, own) < _NEEDED]
    if short and (trial.refused or not trial.fitted):  # else what is stated leaves no others than those of the exports
        why = f": {trial.refused[0].why}" if trial.refused else ""
        if not any(_had(trial, symbol, own) for symbol in short):
            raise Stop("failed", f"the repaired model runs with no other size of {', '.join(short)}{why}")
        raise Stop("untested", f"the repaired model runs with only one other size of {', '.join(short)}{why}")


def _rungs(own: Sizes, rungs: tuple[Callable[[int], int], ...]) -> Iterator[dict[str, int]]:
    """Sizes with all dims on one rung of a ladder: `own` H = 4, W = 6 -> 8 and 12, 2 and 3; without repetitions."""
    seen = [dict(own)]
    for rung in rungs:
        sizes = {symbol: rung(size) for symbol, size in own.items()}
        if min(sizes.values()) > 0 and sizes not in seen:
            seen.append(sizes)
            yield sizes


def _had(trial: Trial, symbol: str, own: Sizes) -> int:
    """The number of sizes, other than its own, at which a freed dim ran."""
    return len({sizes[symbol] for sizes in trial.ran} - {own[symbol]})


def _try(climb: _Climb, sizes: dict[str, int]) -> None:
    """Runs the repaired model at sizes near these that the conditions allow; notes the sizes as run or as refused."""
    trial, near = climb.trial, climb.allowed(sizes)
    if near != sizes:
        _answers(climb, sizes)  # it need not stop there, but must not make something else of the dims
    if near is None or near in [each.sizes for each in trial.refused]:
        return
    found = _answers(climb, near)
    if isinstance(found, str):
        trial.refused.append(RefusedSize(near, found))
    elif found is not None:
        trial.ran.append(found)


def _answers(climb: _Climb, sizes: dict[str, int]) -> Sizes | str | None:
    """The sizes at which the model ran, or why it did not; None if it ran there before.

    What it answers must have the dims that were promised.
    """
    trial, usual = climb.trial, climb.asked.manner
    setting = _setting(trial.repaired, climb.session, climb.asked, sizes, trial.seed)
    if setting.sizes in trial.ran:
        return None
    why = ""
    for manner in (usual, Manner(cautious=True, default=usual.default)):
        feeds = draw(trial.repaired, climb.rng, setting.sizes, suits=climb.suits, manner=manner, given=setting.values)
        try:
            answers = climb.session.run(feeds)
            break
        except Refusal as refusal:
            why = refusal.why
    else:
        return why
    promised = {} if climb.promised is None else climb.promised(sizes)
    for name, array in answers.items():
        check_declared(trial, name, array, sizes, feeds)
        dims = promised.get(name, (None,) * array.ndim)
        if len(dims) != array.ndim or any(want not in {None, dim} for want, dim in zip(dims, array.shape, strict=True)):
            wanted = [dim if dim is not None else "?" for dim in dims]
            why = f"output {name!r} has dims {list(array.shape)} at {said(sizes)}, and {wanted} were inferred"
            raise Stop("differs", why, said_dims("inferred", name, dims, array, sizes, feeds))
    return setting.sizes
