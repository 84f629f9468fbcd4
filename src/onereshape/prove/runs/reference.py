"""Reference: a model's answers on values drawn to suit it, and what measures how far others are from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import onnx_ir as ir

from onereshape.ground.errors import FixError
from onereshape.prove.engines.engine import Refusal, Session, engine_of
from onereshape.prove.evidence import Carried
from onereshape.prove.runs.compare import Distance, Meter, rounding, samples, scale_of, tolerances
from onereshape.prove.runs.examples import FedRun
from onereshape.prove.runs.settings import Setting
from onereshape.prove.runs.trial import Answers, Feeds, Trial, untestable

_NOISE_RUNS: Final = 3
LITTLE: Final = 1 / 32
"""The part of the scale by which sums in another order may differ, where much cancels."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The feeds of a model in one setting, its answers, and a meter for each output."""

    setting: Setting
    feeds: Sequence[Feeds]
    answers: Sequence[Answers]
    meters: Mapping[str, Meter]

    def pieces(self, size: int = 1) -> list[FedRun]:
        """Each run, which has so many samples."""
        return [FedRun(*each, size) for each in zip(self.feeds, self.answers, strict=True)]


def meters_of(trial: Trial, answers: Sequence[Answers]) -> dict[str, Meter]:
    """A meter for each output, from all answers of a model."""
    _check_dims(answers)
    rough = coarsest(trial.original)
    found = {}
    for name, first in answers[0].items():
        carried = trial.outputs.get(name)
        split = [samples(answer[name], carried, trial.size) for answer in answers]
        if any(array is None for array in split):
            where = "it has none" if carried is None else _place(carried, trial.size)
            raise untestable("no-batch-there", output=name, dims=list(first.shape), where=where)
        scale = scale_of(array for array in split if array is not None)
        found[name] = Meter(name, carried, scale, *tolerances(first.dtype, rough))
    return found


def whole_meters(trial: Trial, answers: Sequence[Answers]) -> dict[str, Meter]:
    """A meter for each output, by its name, that takes a whole answer for one sample."""
    _check_dims(answers)
    rough = coarsest(trial.original)
    return {
        name: Meter(name, None, scale_of(answer[name][None] for answer in answers), *tolerances(first.dtype, rough))
        for name, first in answers[0].items()
    }


def _check_dims(answers: Sequence[Answers]) -> None:
    """Stops where the dims of an output differ between answers: they depend on the values that were fed."""
    for name in answers[0]:
        if len({answer[name].shape for answer in answers}) > 1:
            raise untestable("value-dims", output=name)


def _place(carried: Carried, size: int) -> str:
    """How large the axis should be for so many samples."""
    what = f"{carried.outer * size * (carried.inner or 1)}"
    return f"axis {carried.axis} should be {'' if carried.inner is not None else 'a multiple of '}{what}"


def check_repeats(trial: Trial, reference: Reference, again: Answers) -> None:
    """The original gives the same answer twice."""
    for name, found in _apart(trial, reference, 0, again).items():
        if found.units > 1:
            raise untestable("not-repeated", output=name, difference=found.absolute)


def noise(trial: Trial, references: Sequence[Reference]) -> dict[str, Distance]:
    """How far the original is from itself, where the engine runs it without optimisations."""
    found: dict[str, Distance] = {}
    runs = {id(feeds): (each, place) for each in references for place, feeds in enumerate(each.feeds)}
    try:
        session = Session(trial.original, trial.base_dir, optimize=False)
        for reference, place in [*runs.values()][:_NOISE_RUNS]:
            for name, apart in _apart(trial, reference, place, session.run(reference.feeds[place])).items():
                found[name] = found.get(name, Distance()).worse(apart)
    except Refusal:
        return found
    return found


def _apart(trial: Trial, reference: Reference, place: int, again: Answers) -> dict[str, Distance]:
    """How far other answers to the values at one place are from the original's."""
    found = {}
    for name, meter in reference.meters.items():
        first, second = (
            samples(answers[name], meter.carried, trial.size) for answers in (reference.answers[place], again)
        )
        if first is None or second is None or first.shape != second.shape:
            found[name] = Distance(inf, inf, inf)
        else:
            found[name] = meter.distance(second, first)
    return found


def opened(model: ir.Model, base_dir: str, what: str) -> Session:
    """A model in the engine; a refusal is an error, since without it nothing can be certified."""
    try:
        return Session(model, base_dir)
    except Refusal as said:
        raise FixError("engine-refused", engine=engine_of(model), what=f"load the {what}", why=said.why) from None


def answered(session: Session, feeds: Feeds, what: str) -> Answers:
    """The answers of a session; a FixError, naming the model as `what`, where the engine refuses to run."""
    try:
        return session.run(feeds)
    except Refusal as said:
        raise FixError("engine-refused", engine=session.engine, what=f"run the {what}", why=said.why) from None


def coarsest(model: ir.Model) -> float:
    """The rounding of the coarsest float type that the model computes in."""
    types: set[Any] = {value.dtype for value in (*model.graph.inputs, *model.graph.initializers.values())}
    for node in model.graph.all_nodes():
        types |= {value.dtype for value in node.outputs}
        to = node.attributes.get("to")
        if to is not None and not to.is_ref() and node.op_type == "Cast":
            types.add(ir.DataType(to.as_int()))
    return max((rounding(kind.numpy()) for kind in types if kind is not None and kind.is_floating_point()), default=0.0)
