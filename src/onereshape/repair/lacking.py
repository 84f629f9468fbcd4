"""Whether a model that no rule frees has a batch at all: what its inputs declare, and what operators make of them."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.likely_batch import Declared, Shapes, is_length, unlikely, without
from onereshape.graphs.node_view import label_of
from onereshape.graphs.request import inputs_of, shapes_of
from onereshape.graphs.shapes import facts_of
from onereshape.ground.errors import FixError

_MOST_FOLLOWED = 64
"""Nodes that are looked at, one after the other."""


def lacking(model: ir.Model, axes: Mapping[str, int], refusal: FixError) -> FixError | None:
    """Why the first of the inputs at these likely axes has no batch, if that is why they were refused."""
    shapes = shapes_of(inputs_of(model))
    name, axis = next(iter(axes.items()))
    dims = shapes[name]
    if refusal.code == "mixes-samples" and axis == 0:
        front = _put_in_front(model, name)
        if front is not None:
            return without(name, dims, f" ({front} puts one in front)")
    if _are_features(shapes, axes, refusal):
        return without(name, dims)
    return unlikely(shapes, axes)


def is_one(model: ir.Model, axes: Mapping[str, int]) -> bool:
    """Whether an axis that may be no batch has the size of one, so that samples could lie side by side there."""
    shapes = shapes_of(inputs_of(model))
    return all(shapes[name][axis] == 1 for name, axis in axes.items())


def _are_features(shapes: Shapes, axes: Mapping[str, int], refusal: FixError) -> bool:
    """Whether the axes are no samples, but numbers that belong together: all that there is, or beside a length."""
    first, *others = [shapes[name] for name in axes]
    size: Declared = first[0]
    if not isinstance(size, int) or size == 1 or any(axes.values()):
        return False
    if refusal.code == "mixes-samples":
        return (len(first) == 1 and all(len(dims) == 1 for dims in others)) or any(map(is_length, first))
    return refusal.code == "cannot-free" and all(len(dims) == 1 for dims in (first, *others))


def _put_in_front(model: ir.Model, name: str) -> str | None:
    """The node that puts a new axis in front of all dims of an input, where all that reads it goes through that."""
    value = inputs_of(model)[name]
    facts = facts_of(model)
    for _ in range(_MOST_FOLLOWED):
        uses = [*value.uses()]
        if len(uses) != 1 or value.is_graph_output():
            return None
        node = uses[0].node
        if _puts_in_front(node, value, facts):
            return label_of(node)
        before, after = facts.dims_of(value), facts.dims_of(node.outputs[0])
        if before is None or after is None or len(before) != len(after) or before[0] != after[0]:
            return None
        value = node.outputs[0]
    return None


def _puts_in_front(node: ir.Node, value: ir.Value, facts: Facts) -> bool:
    """Whether a node makes [1, ...] of [...], and could not have put the 1 elsewhere."""
    if node.op_type not in {"Unsqueeze", "Reshape"} or node.inputs[0] is not value:
        return False
    before, after = facts.dims_of(value), facts.dims_of(node.outputs[0])
    if before is None or after is None or tuple(after) != (1, *before):
        return False
    if before[0] != 1:
        return True
    return node.op_type == "Unsqueeze" and 0 in _axes(node, facts)


def _axes(node: ir.Node, facts: Facts) -> list[object]:
    """The axes of an Unsqueeze."""
    if "axes" in node.attributes:
        return [*node.attributes["axes"].as_ints()]
    held = None if len(node.inputs) < 2 or node.inputs[1] is None else facts.held(node.inputs[1])
    return [] if held is None else [*held.reshape(-1).tolist()]
