"""replay(): two models on the input of a kept counterexample, and whether they still differ there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
import onnx_ir as ir

from onereshape.formats.model import Model
from onereshape.formats.onnx.onnx_sound import blamed, check_data
from onereshape.graphs.irs import imaged
from onereshape.ground.errors import FixError
from onereshape.ground.isolation.budget import Limits, limited
from onereshape.prove.counterexample import Counterexample
from onereshape.prove.engines.engine import Array, Refusal, Session
from onereshape.prove.runs.compare import Meter, Scale, scale_of, tolerances
from onereshape.prove.runs.examples import Comparing, FedRun, SampleTwice, text_of
from onereshape.prove.runs.reference import answered, coarsest, opened


@dataclass(frozen=True, slots=True)
class Replayed:
    """What two models answer to the input of a counterexample."""

    counterexample: Counterexample
    """The same input, with the answers of now."""
    holds: bool
    """Whether they agree on it."""

    @property
    def sentence(self) -> str:
        """The answers in words: `differs: output 'y' is ...`."""
        return f"{'agrees' if self.holds else 'differs'}: {self.counterexample.sentence}"


def replay(kept: Counterexample, original: Model, repaired: Model, limit: Limits) -> Replayed:
    """Runs both models on what is fed, and nothing else; a FixError where the engine refuses one of them."""
    models = [_checked(original), _checked(repaired)]
    kept = replace(kept, first="")
    with limited(limit), blamed(models[1]), blamed(models[0]):
        before, after = (models[role == "repaired"] for role in kept.models)
        one = None if kept.beside is None else _answers(before, kept.beside, kept)
        two = _answers(after, kept.feeds, kept)
        if one is None:
            return _beside_words(kept, two, after.ir)
        if kept.models != ("original", "repaired") or kept.beside is not kept.feeds:
            return _one_element(kept, one, two, before.ir)
        found = _anywhere(kept, one, two, before.ir)
        return _one_element(kept, one, two, before.ir) if found is None else Replayed(found, holds=False)


def _checked(model: Model) -> Model:
    found = imaged(model)
    if found.format != "onnx":
        raise FixError("unsupported-model", why=f"{found.path}: only ONNX models and OpenVINO IRs are run")
    check_data(found)
    return found


def _answers(model: Model, feeds: Mapping[str, Array], kept: Counterexample) -> Mapping[str, Array]:
    what = f"model {model.path}"
    found = answered(_loaded(model, what), dict(feeds), what)
    if kept.output not in found and kept.what != "tensors":
        raise FixError("unlike", why=f"{model.path} has no output {kept.output!r}")
    return found


def _loaded(model: Model, what: str) -> Session:
    """A model in the engine, as a certificate has it: not optimised, where it is not loaded otherwise."""
    for optimize in (True, False):
        with suppress(Refusal):
            return Session(model.ir, model.folder, optimize=optimize)
    return opened(model.ir, model.folder, what)


def _anywhere(
    kept: Counterexample, one: Mapping[str, Array], two: Mapping[str, Array], original: ir.Model
) -> Counterexample | None:
    """What differs now, where both models were fed the same: the output that is named, or else any other one."""
    comparing = Comparing([SampleTwice(FedRun(kept.feeds, one), FedRun(kept.feeds, two))], kept.sizes, kept.models)
    for name in [kept.output, *one.keys() - {kept.output}]:
        if name not in one or name not in two:
            return replace(kept, output=name, what="tensors", values=_given(name, one, two), indices=None)
        if one[name].dtype != two[name].dtype:
            return comparing.unlike(name, "type")
        if one[name].shape != two[name].shape:
            return comparing.unlike(name, "dims")
        meter = _meter(name, one[name], original)
        if meter.distance(two[name][None], one[name][None]).units > 1:
            return comparing.element(meter)
    return None


def _one_element(
    kept: Counterexample, one: Mapping[str, Array], two: Mapping[str, Array], original: ir.Model
) -> Replayed:
    """The answers in the one place that a counterexample names; dims are held against those that should be."""
    if kept.what == "tensors":
        values = _given(kept.output, one, two)
        return Replayed(replace(kept, values=values), holds=values[0] == values[1])
    before, after = one[kept.output], two[kept.output]
    if kept.what == "type":
        found = replace(kept, values=(str(before.dtype), str(after.dtype)))
        return Replayed(found, holds=before.dtype == after.dtype)
    if kept.indices is None:
        found = replace(kept, values=(kept.values[0], str([*after.shape])))
        return Replayed(found, holds=found.values[0] == found.values[1])
    for place, array in zip(kept.indices, (before, after), strict=True):
        if len(place) != array.ndim or any(at >= size for at, size in zip(place, array.shape, strict=True)):
            raise FixError("unlike", why=f"output {kept.output!r} has dims {[*array.shape]}, and no {[*place]}")
    want, got = (array[place] for place, array in zip(kept.indices, (before, after), strict=True))
    found = replace(kept, values=(text_of(want), text_of(got)))
    if before.dtype != after.dtype or kept.models == ("repaired", "repaired"):
        return Replayed(found, holds=before.dtype == after.dtype and found.values[0] == found.values[1])
    meter = _meter(kept.output, before, original)
    scale = Scale((), float(meter.scale.whole[kept.indices[0]]))
    small = Meter(kept.output, None, scale, meter.usual, meter.most)
    return Replayed(found, holds=small.distance(np.asarray(got)[None], np.asarray(want)[None]).units <= 1)


def _beside_words(kept: Counterexample, two: Mapping[str, Array], repaired: ir.Model) -> Replayed:
    """The dims of an output beside those that the model declares, or that were said in the file."""
    dims = [*two[kept.output].shape]
    said = kept.values[0]
    if kept.models[0] == "declared":
        shape = next((value.shape for value in repaired.graph.outputs if value.name == kept.output), None)
        told = [dim if isinstance(dim, int) else "?" for dim in shape or ()]
        said = f"[{', '.join(map(str, told))}]"
    wanted = said.strip("[]").split(", ") if said != "[]" else []
    holds = len(wanted) == len(dims) and all(
        not want.isdecimal() or int(want) == dim for want, dim in zip(wanted, dims, strict=True)
    )
    return Replayed(replace(kept, values=(said, str(dims))), holds=holds)


def _given(name: str, one: Mapping[str, Array], two: Mapping[str, Array]) -> tuple[str, str]:
    before, after = ("given" if name in each else "not given" for each in (one, two))
    return before, after


def _meter(name: str, before: Array, original: ir.Model) -> Meter:
    return Meter(name, None, scale_of([before[None]]), *tolerances(before.dtype, coarsest(original)))
