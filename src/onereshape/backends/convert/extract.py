"""One Reshape of a model as a model of its own."""

from __future__ import annotations

from onereshape.backends.convert.steps import planned
from onereshape.formats.model import Model
from onereshape.formats.model_data import ReshapeNode
from onereshape.formats.naming import node_named
from onereshape.formats.reshape_plan import ReshapePlan
from onereshape.rule.specs import opset_of, spec as find_spec


def extract(model: Model, name: str, spec: str) -> ReshapePlan:
    """The Reshape of that name, or at that place, with its dims and the names data, shape and output."""
    row = find_spec(spec)
    step = planned(_told(model, node_named(model, name)), row, None, ("data", "shape", "output"))
    inputs = (step.data,) if step.target is None else (step.data, step.target)
    return ReshapePlan(row, opset_of(spec), inputs, (step,), (step.output,))


def _told(model: Model, node: ReshapeNode) -> ReshapeNode:
    """A Reshape with what its file leaves out, where the values between inputs and outputs need not be declared."""
    if opset_of(node.spec.name) is None or None not in (node.element_type, node.data, node.output, node.target):
        return node
    from onereshape.backends.convert.inferred import completed  # noqa: PLC0415 - onnx takes long

    return completed(model, node)
