"""A model that no rule frees, and that needs no repair: as it is, or with its batch declared, it answers like itself.

Rules know operators; that a model with an operator which nobody wrote a rule for takes any batch already is shown by
running it, sample by sample and at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import onnx_ir as ir

from onereshape.apart.limits import limited
from onereshape.errors import FixError, ReshapeError
from onereshape.formats.model import Model
from onereshape.formats.model_files import refreshed
from onereshape.models.certificates.compare import Carried
from onereshape.models.certificates.comparison import Comparison
from onereshape.models.edit import declare
from onereshape.models.exports import Freed
from onereshape.models.likely import other_axes, said, unlikely
from onereshape.models.pairing import carried
from onereshape.models.request import batch_size, inputs_of, requested, shapes_of
from onereshape.models.step import Fixed, Wish, certificate_of, step

Asked = Mapping[str, Mapping[int, str]]

_MOST_PLACES = 4
"""Of the batch that are tried by running a model that no rule frees."""
_NO_RULE = frozenset({"cannot-free", "no-batching-rule", "mixes-samples"})
"""The refusals of a rule, which may know too little."""
WAY_OUT = "with --per-sample (per_sample=True) the model would run once for each sample instead, which is slower"


def may_work(refusal: FixError) -> bool:
    """Whether a refusal leaves open that the model works all the same."""
    return refusal.code in _NO_RULE


def has_way_out(model: ir.Model, axes: Mapping[str, int], refusal: FixError) -> bool:
    """Whether a model that mixes its samples, or may, can be run sample by sample."""
    return refusal.code in {"mixes-samples", "no-batching-rule"} and batch_size(model, axes) == 1


def believed(refusal: FixError, status: str, *, declared: bool) -> bool:
    """Whether what runs and terms say outweighs the refusal of a rule.

    A rule that saw samples mixed is believed unless the terms prove that they are not; so is any, of a model that was
    exported for one batch and would be written with another one.
    """
    return status == "proven" or (status == "certified" and not declared and refusal.code != "mixes-samples")


def with_batch(model: ir.Model, asked: Asked) -> tuple[ir.Model, bool]:
    """The model with the batch declared under its name, and whether that had been a number."""
    inputs = {value.name or "": value for value in model.graph.inputs}
    places = [(name, axis) for name, axes in asked.items() for axis in axes]
    fixed = any(isinstance((inputs[name].shape or ())[axis], int) for name, axis in places)
    copy = model.clone()
    for value in copy.graph.inputs:
        declare(value, asked.get(value.name or "", {}))
    if fixed:  # what else is declared may be for the old batch only
        for node in copy.graph.all_nodes():
            for value in node.outputs:
                value.shape = None
    return copy, fixed


def declared_outputs(original: ir.Model, copy: ir.Model, outputs: Mapping[str, Carried | None], name: str) -> bool:
    """Declares where outputs have their samples; False where one has them beside something else, as rows of rows.

    `[1, 6400, 1]` that becomes `[1, 6400*N, 1]` holds all samples, and is no batch that anybody expects.
    """
    after = {value.name: value for value in copy.graph.outputs}
    for value in original.graph.outputs:
        place, shape = outputs.get(value.name or ""), value.shape
        if place is not None:
            alone = place.inner == 1 if shape is None else place.axis < len(shape) and shape[place.axis] == 1
            if place.outer != 1 or not alone:
                return False
        after[value.name].shape = shape
        declare(after[value.name], {} if place is None else {place.axis: name})
    return True


def has_other_names(model: ir.Model, asked: Asked) -> bool:
    """Whether an input has a dim, other than the batch, that is no number."""
    return any(
        not isinstance(dim, int) and axis not in asked.get(value.name or "", {})
        for value in model.graph.inputs
        for axis, dim in enumerate(value.shape or ())
    )


def otherwise(found: Fixed, asked: Freed, wish: Wish, refusal: FixError, *, simplify: bool) -> Fixed:
    """The batch of a model that no rule frees: there already, or sample by sample where that is wished."""
    axes = {name: axis for name, dims in asked.items() for axis in dims}
    works = _as_it_is(found.model, asked, wish, refusal) or _elsewhere(found.model, axes, wish, refusal)
    if works is not None:
        return works
    other = unlikely(shapes_of(inputs_of(found.model.ir)), axes) if wish.likely and may_work(refusal) else None
    if other is not None:
        raise other
    if wish.per_sample and not refusal.usage:
        return _one_by_one(found, axes, wish, simplify=simplify)
    if not wish.per_sample and has_way_out(found.model.ir, axes, refusal):
        refusal.add_note(WAY_OUT)
    raise refusal


def _as_it_is(given: Model, asked: Freed, wish: Wish, refusal: FixError) -> Fixed | None:
    """The model without any repair, where a rule refuses it, and runs and terms say that it works all the same."""
    if not wish.certify or not may_work(refusal):
        return None
    copy, fixed = with_batch(given.ir, asked)
    size = batch_size(given.ir, {name: axis for name, dims in asked.items() for axis in dims})
    names = {name for dims in asked.values() for name in dims.values()}
    if fixed and (size != 1 or has_other_names(given.ir, asked)):  # a proof at some sizes of theirs is none at others
        return None
    try:
        with limited(wish.limit):
            outputs = carried(given.ir, copy, asked, size, base_dir=str(Path(given.path).parent))
            if fixed and not declared_outputs(given.ir, copy, outputs, next(iter(names))):
                return None
            asking = Comparison("batch", size, outputs, seed=wish.seed, progress=wish.progress)
            certificate = certificate_of(given, replace(given, ir=copy), asked, asking)
    except ReshapeError:
        return None
    if not believed(refusal, certificate.status, declared=fixed):
        return None
    return Fixed(refreshed(replace(given, ir=copy)) if fixed else given, (), certificate, (), asked)


def _elsewhere(given: Model, axes: Mapping[str, int], wish: Wish, refusal: FixError) -> Fixed | None:
    """The same with the batch at other axes than the likely ones, where nobody named them: a state at its second."""
    shapes = shapes_of(inputs_of(given.ir))
    if not wish.likely or any(isinstance(shapes[name][axis], int) for name, axis in axes.items()):
        return None
    for other in islice((each for level in other_axes(shapes, axes) for each in level), _MOST_PLACES):
        works = _as_it_is(given, requested(given, other), wish, refusal)
        if works is not None:
            moved = {name: axis for name, axis in other.items() if axes.get(name) != axis}
            return replace(works, notes=(f"took {said(moved)}: runs show that the batch is there too",))
    return None


def _one_by_one(found: Fixed, axes: Mapping[str, int], wish: Wish, *, simplify: bool) -> Fixed:
    """The model run sample by sample; one whose outputs may have other dims for each is believed by its terms alone."""
    doubts: list[str] = []
    from onereshape.models.batch_work import per_sample_work  # noqa: PLC0415 - only who asks for it needs it

    work = partial(per_sample_work, axes=axes, doubts=doubts)
    fixed = step(found.model, work, wish, simplify=simplify, owned=False, before=found.conditions)
    if doubts and (fixed.certificate is None or fixed.certificate.status != "proven"):
        why = "its dims may be others for each sample, so that those of several cannot be put side by side"
        raise FixError("cannot-free", node=doubts[0], op="output", why=why)
    return fixed
