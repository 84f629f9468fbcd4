"""The truth of freed dims other than a batch: the original at its size, and other exports at their own.

Those are the exports that the repair was fitted on, and witnesses, which it did not use.  Elsewhere there is nobody to
ask, and the repaired model can only be seen to run, with the dims that inference promised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.prove.counterexample import Role
from onereshape.prove.engines.engine import Refusal, Session, folder_of
from onereshape.prove.evidence import (
    CLEARLY,
    Differs,
    Exported,
    FittedOn,
    Noise,
    Ran,
    RefusedSize,
    Sizes,
    Terms,
    Witnessed,
)
from onereshape.prove.runs.asking import OriginalAnswers, OriginalQuestion
from onereshape.prove.runs.extremes import Asker, Extreme
from onereshape.prove.runs.reference import Reference, answered, meters_of, opened
from onereshape.prove.runs.settings import Chooser, Setting
from onereshape.prove.runs.term_runs import OtherExport, Settings, export_terms
from onereshape.prove.runs.trial import Answers, Feeds, Stop, Trial, check_interface, failed, untestable
from onereshape.prove.runs.truth import Truth, contrast_answers, run_beside, run_beyond
from onereshape.prove.runs.wanted import check_declared, said_dims
from onereshape.prove.values.draw import Manner, draw
from onereshape.prove.values.input_roles import fed, roles_of
from onereshape.terms.proof import said

_DRAWS: Final = 3
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


class _Answered(NamedTuple):
    """Another export at sizes of its own, and its answers."""

    who: Role
    trial: Trial
    """The same question, with this export in the original's place."""
    sizes: Sizes
    """The sizes of the freed dims in this export."""
    reference: Reference
    extremes: list[Extreme]
    """Its answers to values beyond the usual, as soon as it was asked for them."""

    @property
    def at(self) -> Sizes:
        """The sizes of all named dims, freed or not."""
        return {**self.sizes, **self.reference.setting.sizes}


@dataclass(frozen=True)
class OtherExports(Truth):
    """The original, and other exports, each at its own sizes."""

    own: Sizes = field(default_factory=dict)
    """The sizes of freed dims in the original."""
    answered: list[_Answered] = field(default_factory=list)

    def question(self) -> OriginalQuestion:
        """The original in a few settings."""
        others = len(self.trial.asked.fitted) + len(self.trial.asked.witnesses)
        return self.drawing(_DRAWS, _OTHERS, len(_LADDER) + 2 * _WITNESSED * others)

    def terms(self, settings: Settings) -> list[Terms]:
        """The repaired model beside the original and what else it was fitted on, and beside witnesses."""
        exports = {
            who: [
                OtherExport(each.trial.original, each.at, each.reference.setting.values)
                for each in self.answered
                if each.who == who
            ]
            for who in ("export", "witness")
        }
        return export_terms(self.trial, self.own, settings, exports["export"], exports["witness"])

    @property
    def settings(self) -> None:
        """Nobody knows what other exports take before they are asked."""

    def listen(self, asked: OriginalAnswers) -> None:
        """The answers of other exports."""
        asked_of: list[tuple[Role, ir.Model]] = [("export", each) for each in self.trial.asked.fitted]
        asked_of += [("witness", each) for each in self.trial.asked.witnesses]
        contrast_answers(self.trial, asked.first)
        for who, model in asked_of:
            self.answered.append(self._answers(who, model, asked))
            sizes = self.answered[-1].sizes
            self.trial.evidence.append(FittedOn(sizes) if who == "export" else Witnessed(sizes))

    def _answers(self, who: Role, model: ir.Model, asked: OriginalAnswers) -> _Answered:
        trial = self.trial
        check_interface(trial.original, model, who)
        sizes = sizes_of(model, trial, who)
        if sizes == self.own:
            raise untestable("no-other-export", model=who, export=said(sizes))
        own = replace(trial, original=model, base_dir=folder_of(model) or trial.base_dir, evidence=[])
        session = opened(model, own.base_dir, who)
        setting = _setting(model, session, asked, {}, trial.asked.seed)
        rng = np.random.default_rng(trial.asked.seed)
        feeds = [
            draw(model, rng, setting.sizes, suits=self.suits, manner=asked.manner, given=setting.values)
            for _ in range(_WITNESSED)
        ]
        answers: list[Answers] = []
        for each in feeds:
            trial.step(f"{who}, {said(sizes)}")
            answers.append(answered(session, each, who))
        found = Reference(setting, feeds, answers, meters_of(trial, answers))
        contrasts = (meter.contrast(np.stack([each[name] for each in answers])) for name, meter in found.meters.items())
        if all(units <= CLEARLY for units in contrasts):
            raise untestable("silent-export", model=who, export=said(sizes))
        contrast_answers(trial, found)  # what the original has nothing of, or one entry, may depend on what is fed here
        return _Answered(who, own, sizes, found, [])

    def unusual(self, asked: OriginalAnswers) -> Sequence[Sequence[Extreme]]:
        """The answers of all exports to values beyond the usual."""
        for other in self.answered:
            model, setting = other.trial.original, other.reference.setting

            def extreme(manner: Manner, model: ir.Model = model, setting: Setting = setting) -> Feeds:
                rng = np.random.default_rng([self.trial.asked.seed, 99])
                return draw(model, rng, setting.sizes, suits=self.suits, manner=manner, given=setting.values)

            session = opened(model, other.trial.base_dir, other.who)
            chooser = Chooser(model, self.suits, {}, (), self.trial.asked.seed)
            asker = Asker(other.trial, session, chooser, asked.manner, extreme, other.reference)
            other.extremes.extend(asker.extremes(lambda _: []))
        return super().unusual(asked)

    def compare(self, session: Session, asked: OriginalAnswers) -> None:
        """The repaired model beside the original in each setting, and beside each export at its sizes."""
        trial = self.trial
        for reference in asked.references:
            run_beside(trial, session, reference, asked.references, {**self.own, **reference.setting.sizes})
        for other in self.answered:
            with _stated(trial, other.sizes):
                run_beside(trial, session, other.reference, asked.references, other.at, other.who)

    def compare_unusual(self, session: Session, groups: Sequence[Sequence[Extreme]]) -> None:
        """The same on values beyond the usual."""
        run_beyond(self.trial, session, groups[0], self.own)
        noise = [each for each in self.trial.evidence if isinstance(each, Noise)]
        for other in self.answered:
            other.trial.evidence.extend(noise)
            with _stated(self.trial, other.sizes):
                run_beyond(other.trial, session, other.extremes, other.at, other.who)

    def look_further(self, session: Session, asked: OriginalAnswers) -> None:
        """Sizes that nobody else can run, until every dim has had enough of them."""
        _Climb(self.trial, session, asked, self.own, np.random.default_rng(self.trial.asked.seed + 1)).all()


def other_exports(trial: Trial) -> OtherExports:
    """The truth of freed dims; a Stop where the original has no size of them."""
    own = sizes_of(trial.original, trial, "original")
    trial.evidence.append(Exported(own))
    return OtherExports(trial, own)


def sizes_of(model: ir.Model, trial: Trial, what: str) -> dict[str, int]:
    """The sizes of the freed dims in an export, which fixes them: `{"S": 16}`."""
    found: dict[str, int] = {}
    for value in fed(model):
        for axis, symbol in trial.freed.get(value.name or "", {}).items():
            dim = None if value.shape is None else value.shape[axis]
            if not isinstance(dim, int):
                raise untestable("not-fixed", name=value.name, model=what, axis=axis)
            if found.setdefault(symbol, dim) != dim:
                raise untestable("two-sizes", symbol=symbol, one=found[symbol], other=dim, model=what)
    return found


@contextmanager
def _stated(trial: Trial, sizes: Sizes) -> Iterator[None]:
    """Says of a difference at these sizes which condition they do not meet."""
    try:
        yield
    except Stop as stop:
        unmet = next((clause.text for clause in trial.asked.clauses if clause.excludes(dict(sizes))), None)
        record = stop.record
        if unmet is None:
            raise
        raise Stop(replace(record, fields={**record.fields, "unmet": unmet})) from None


def _setting(model: ir.Model, session: Session, asked: OriginalAnswers, sizes: Sizes, seed: int) -> Setting:
    """The first setting again; inputs that serve as sizes get values that a model of other sizes takes."""
    first = asked.first.setting
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


@dataclass(frozen=True, slots=True)
class _Climb:
    """A search for sizes beyond the exports at which the repaired model runs."""

    trial: Trial
    session: Session
    asked: OriginalAnswers
    own: Sizes
    rng: np.random.Generator

    def all(self) -> None:
        """Sizes that nobody else can run, until every dim has had enough of them."""
        own, trial = self.own, self.trial
        for sizes in _rungs(own, _LADDER):
            trial.step(said(sizes))
            self._try(sizes)
        for symbol in own if len(own) > 1 else ():  # two dims that were only ever changed together may be tied
            self._try({**own, symbol: 2 * own[symbol]})
        for symbol in own:
            for sizes in _rungs({symbol: own[symbol]}, (*_LADDER, *_FURTHER)):
                if self._had(symbol) < _NEEDED:
                    self._try({**own, **sizes})
        short = [symbol for symbol in own if self._had(symbol) < _NEEDED]
        refused = self._refused()
        if short and (
            refused or not self.trial.asked.fitted
        ):  # else what is stated leaves no others than those of the exports
            why = {"because": refused[0].why} if refused else {}
            if not any(map(self._had, short)):
                raise failed("no-other-size", names=", ".join(short), **why)
            raise untestable("one-other-size", names=", ".join(short), **why)

    def _ran(self) -> list[Sizes]:
        """The sizes at which it ran, compared or not."""
        return [each.sizes for each in self.trial.evidence if isinstance(each, Ran)]

    def _refused(self) -> list[RefusedSize]:
        return [each for each in self.trial.evidence if isinstance(each, RefusedSize)]

    def _had(self, symbol: str) -> int:
        """The number of sizes, other than its own, at which a freed dim ran."""
        return len({sizes[symbol] for sizes in self._ran()} - {self.own[symbol]})

    def _allowed(self, sizes: Sizes) -> dict[str, int] | None:
        """These sizes, or the next larger or smaller ones that all clauses allow; None where no such sizes are near."""
        found: dict[str, int] = {}
        clauses = self.trial.asked.clauses
        for symbol, size in sizes.items():
            own = [clause for clause in clauses if clause.names == {symbol}]
            near = (size + sign * more for more in range(_NEAR) for sign in (1, -1))
            fits = (each for each in near if each > 0 and not any(clause.excludes({symbol: each}) for clause in own))
            found[symbol] = next(fits, 0)
        possible = min(found.values(), default=1) > 0
        return found if possible and not any(clause.excludes(found) for clause in clauses) else None

    def _try(self, sizes: dict[str, int]) -> None:
        """Runs the repaired model at sizes near these that the conditions allow; notes them as run or as refused."""
        near = self._allowed(sizes)
        if near != sizes:
            self._answers(sizes)  # it need not stop there, but must not make something else of the dims
        if near is None or near in [each.sizes for each in self._refused()]:
            return
        found = self._answers(near)
        if isinstance(found, str):
            self.trial.evidence.append(RefusedSize(near, found))
        elif found is not None:
            self.trial.evidence.append(Ran(found))

    def _answers(self, sizes: dict[str, int]) -> Sizes | str | None:
        """The sizes at which the model ran, or why it did not; None if it ran there before.

        What it answers must have the dims that were promised.
        """
        trial, usual = self.trial, self.asked.manner
        setting = _setting(trial.repaired, self.session, self.asked, sizes, trial.asked.seed)
        if setting.sizes in self._ran():
            return None
        why, suits = "", roles_of(trial.original)
        for manner in (usual, Manner(cautious=True, default=usual.default)):
            feeds = draw(trial.repaired, self.rng, setting.sizes, suits=suits, manner=manner, given=setting.values)
            try:
                answers = self.session.run(feeds)
                break
            except Refusal as refusal:
                why = refusal.why
        else:
            return why
        promised = {} if trial.asked.promised is None else trial.asked.promised(sizes)
        for name, array in answers.items():
            check_declared(trial, name, array, sizes, feeds)
            dims = promised.get(name, (None,) * array.ndim)
            if len(dims) != array.ndim or any(
                want not in {None, dim} for want, dim in zip(dims, array.shape, strict=True)
            ):
                wanted = [dim if dim is not None else "?" for dim in dims]
                told = {"output": name, "got": [*array.shape], "at": dict(sizes), "wanted": wanted}
                raise Stop(Differs("inferred", told, said_dims("inferred", name, dims, array, sizes, feeds)))
        return setting.sizes


def _rungs(own: Sizes, rungs: tuple[Callable[[int], int], ...]) -> Iterator[dict[str, int]]:
    """Sizes with all dims on one rung of a ladder: `own` H = 4, W = 6 -> 8 and 12, 2 and 3; without repetitions."""
    seen = [dict(own)]
    for rung in rungs:
        sizes = {symbol: rung(size) for symbol, size in own.items()}
        if min(sizes.values()) > 0 and sizes not in seen:
            seen.append(sizes)
            yield sizes
