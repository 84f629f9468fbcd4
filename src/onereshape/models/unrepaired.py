"""A model that no rule frees, and that needs no repair: as it is, or with its batch declared, it answers like itself.

Rules know operators; that a model with an operator which nobody wrote a rule for takes any batch already is shown by
running it, sample by sample and at once.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from onereshape.errors import FixError
from onereshape.models.certificates.compare import Carried
from onereshape.models.edit import declare
from onereshape.models.request import batch_size

Asked = Mapping[str, Mapping[int, str]]

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
            alone = place.inner == 1 if shape is None else shape[place.axis] == 1
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
