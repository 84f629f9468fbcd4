"""The last nodes before an output, where they drop the batch of one sample and leave N no place: they are cut off.

Squeeze, Reshape and their like keep all elements in their order.  So what they are made of says all that the output
says, and an output with a new first axis (`stacking`) can be made of it directly.
"""

from __future__ import annotations

from typing import NamedTuple

import onnx_ir as ir

from onereshape.models.constants import constant_tensor
from onereshape.models.facts.facts import Facts
from onereshape.models.node_view import label_of
from onereshape.sizes import Size

_ORDERLY = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})


class Cut(NamedTuple):
    """An output whose last nodes are cut off: what it was."""

    dims: tuple[Size, ...]
    shape: ir.Shape | None
    """As it was declared."""


def cut(model: ir.Model, label: str, facts: Facts) -> tuple[str, Cut] | None:
    """Cuts the node with this label, and those around it, from before the output that it makes; None if it makes none.

    The model is changed: the output of that name is what the nodes were made of.
    """
    graph = model.graph
    for place, output in enumerate(graph.outputs):
        chain, value = _chain(output, facts)
        dims = facts.dims_of(output)
        if dims is None or not any(label_of(node) == label for node in chain):
            continue
        if sum(each is output for each in graph.outputs) > 1:
            return None
        name, shape = output.name or "", output.shape
        last = ir.node("Identity", [value], name=f"{name}/samples")
        graph.append(last)
        graph.outputs[place] = last.outputs[0]
        for node in chain:
            graph.remove(node, safe=True)
        last.outputs[0].name, last.outputs[0].type = name, output.type
        return name, Cut(tuple(dims), shape)
    return None


def may_cut(model: ir.Model, label: str) -> bool:
    """Whether a node with this label may be among the last before an output."""
    for output in model.graph.outputs:
        value: ir.Value | None = output
        while value is not None and (maker := value.producer()) is not None:
            if maker.op_type not in {*_ORDERLY, "Gather"} or not maker.inputs:
                break
            if label_of(maker) == label:
                return True
            value = maker.inputs[0]
    return False


def _chain(output: ir.Value, facts: Facts) -> tuple[list[ir.Node], ir.Value]:
    """The nodes before an output, from the last on, that keep the elements in their order and serve nobody else."""
    chain: list[ir.Node] = []
    value = output
    while (maker := value.producer()) is not None and _keeps(maker, facts):
        uses = len(value.uses())
        data = maker.inputs[0]
        if data is None or uses > (1 if chain else 0) or (chain and value.is_graph_output()):
            break
        chain.append(maker)
        value = data
    return chain, value


def _keeps(node: ir.Node, facts: Facts) -> bool:
    """Whether a node gives the elements of its first input, all of them, in their order."""
    if node.domain not in {"", "ai.onnx"} or len(node.outputs) != 1:
        return False
    if node.op_type in _ORDERLY:
        return True
    if node.op_type != "Gather" or node.inputs[0] is None or node.inputs[1] is None:
        return False
    dims, indices = facts.dims_of(node.inputs[0]), constant_tensor(node.inputs[1])
    axis = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
    return dims is not None and dims[axis] == 1 and indices is not None and indices.size == 1
