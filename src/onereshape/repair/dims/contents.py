"""What small integer tensors hold when some dims are free: elements are numbers, formulas, or not known (None)."""

from __future__ import annotations

import onnx_ir as ir

from onereshape.graphs.facts.elements import ElementArray, evaluated
from onereshape.graphs.free_rules.state import FreeState, sizes
from onereshape.rule.sizes import Size


def follow(state: FreeState, node: ir.Node) -> list[ElementArray | None]:
    """The elements of the outputs of a node of which an input, or its dims, depend on what is free; None: not known."""

    def dims(value: ir.Value) -> list[Size | None] | None:
        found = state.dims(value)
        return None if found is None else sizes(found)

    inputs = [None if value is None else state.live(value) for value in node.inputs]
    kinds = state.facts.kinds
    return evaluated(node, inputs, dims, state.opset, lambda value: value.dtype or kinds.get(value), plain=True)
