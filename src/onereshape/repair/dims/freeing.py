"""Freeing: from a model of one size (a sequence length, a height, a width), the model of any size.

The dims of every tensor are followed as formulas of the freed symbols, node by node; constants that hold the old size
are generalised so that at that size they are what they were.  That is a reading and no proof: a number that happens to
be the old size may mean something else.  So only what can be read in one way is changed, everything that was
generalised is reported, and what could be read in several ways is refused unless a later node leaves only one.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import opset_of
from onereshape.graphs.edit import apply_edits, declare
from onereshape.graphs.exports import Freed
from onereshape.graphs.folding.folding import Folding
from onereshape.graphs.free_rules.state import FreeState
from onereshape.graphs.shapes import facts_of, telling
from onereshape.ground.errors import FixError
from onereshape.repair.dims.numbers import check_numbers
from onereshape.repair.dims.plan import FreePlan, FreeSymbol, plan_of
from onereshape.repair.dims.search import decide
from onereshape.rule.sizes import symbol

__all__ = ["FreePlan", "FreeSymbol", "apply_free", "free_plan"]


def free_plan(model: ir.Model, freed: Freed) -> FreePlan:
    """Decides how the freed dims go through the graph; changes nothing."""
    graph = model.graph
    inputs = {value.name or "": value for value in graph.inputs}
    originals = _originals(inputs, freed)
    asked = {
        name: {axis: called for axis, called in axes.items() if called in originals} for name, axes in freed.items()
    }
    sized = {name: {axis: originals[called] for axis, called in axes.items()} for name, axes in asked.items()}
    facts = facts_of(model, sized)
    opset = opset_of(graph)
    folding = Folding(facts.dims_of, opset, fixed=facts.fixed)
    sources = _sources(inputs, freed)
    state = FreeState(facts, folding, originals, opset, frozenset(sources))
    for name, axes in asked.items():
        dims = list(state.dims(inputs[name]) or ())
        for axis, called in axes.items():
            dims[axis] = (symbol(called),)
        if axes:
            state.tensors[inputs[name]] = tuple(dims)
    with telling(facts):
        edits = decide(graph, state)
        check_numbers(graph, state)
    return plan_of(graph, state, edits, sources)


def _originals(inputs: Mapping[str, ir.Value], freed: Freed) -> dict[str, int]:
    """The sizes that the symbols have in the model as it is; one that is free everywhere already has none."""
    found: dict[str, int] = {}
    for name, axes in freed.items():
        shape = inputs[name].shape
        for axis, called in axes.items():
            dim = None if shape is None else shape[axis]
            if isinstance(dim, int) and found.setdefault(called, dim) != dim:
                here = f"{name}[{axis}] = {dim}"
                raise FixError("name-taken", name=called, first=str(found[called]), second=here)
    return found


def _sources(inputs: Mapping[str, ir.Value], freed: Freed) -> dict[str, tuple[str, int]]:
    """An input and an axis for each symbol, the freed ones first."""
    found: dict[str, tuple[str, int]] = {}
    for name, axes in freed.items():
        for axis, called in axes.items():
            found.setdefault(called, (name, axis))
    for name, value in inputs.items():
        for axis, dim in enumerate(value.shape or ()):
            if isinstance(dim, ir.SymbolicDim) and dim.value and dim.value.isidentifier():
                found.setdefault(dim.value, (name, axis))
    return found


def apply_free(model: ir.Model, plan: FreePlan, freed: Freed) -> None:
    """Rewrites the model, of which the plan was made, in place."""
    for value, dims in plan.dims.items():
        if value.shape is not None and len(value.shape) == len(dims):
            declare(value, dict(enumerate(dims)))
    inputs = {value.name: value for value in model.graph.inputs}
    for name, axes in freed.items():
        declare(inputs[name], axes)
    apply_edits(model, plan.edits, plan.sources)
