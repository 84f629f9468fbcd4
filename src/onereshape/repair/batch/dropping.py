"""The last nodes before an output, where they drop the batch of one sample and leave N no place: they are taken out.

Squeeze, Reshape and their like keep all elements in their order, and a reduction that keeps its axes does too.  So what
they are made of says all that the output says, and an output with a new first axis (`stacking`) can be made of it.
What works element by element between them stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.constants import constant_tensor
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.node_view import label_of
from onereshape.rule.sizes import Size

_ORDERLY = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
_ALONE = frozenset(
    {"Abs", "Cast", "Erf", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Neg", "Not", "Reciprocal", "Relu"}
    | {"Round", "Sigmoid", "Softplus", "Sqrt", "Tanh"}
)
_BESIDE = frozenset({"Add", "Div", "Mul", "Sub"})
"""Element by element, beside one number."""
_ENDS = frozenset(
    {"ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin"}
    | {"ReduceProd", "ReduceSum", "ReduceSumSquare"}
)


class Cut(NamedTuple):
    """The dims of an output as they were before nodes in front of it were taken out."""

    dims: tuple[Size, ...]
    shape: ir.Shape | None
    """The declared dims."""


def cut(model: ir.Model, label: str, facts: Facts) -> tuple[str, Cut] | None:
    """Takes out the last nodes before an output, of which one has this label; None if no output has such.

    The output has the dims of what those nodes read then; its name, and the dims that it had, are returned.
    """
    graph = model.graph
    for place, output in enumerate(graph.outputs):
        chain = _chain(output, facts)
        dims = facts.dims_of(output)
        mine = [node for node in chain if label_of(node) == label and node.op_type not in _ALONE | _BESIDE]
        if dims is None or not mine or sum(each is output for each in graph.outputs) > 1:
            continue
        found = output.name or "", Cut(tuple(dims), output.shape)
        _take_out(graph, place, chain)
        return found
    return None


def may_cut(model: ir.Model, label: str) -> bool:
    """Whether a node with this label may be among the last before an output."""
    for output in model.graph.outputs:
        value: ir.Value | None = output
        while value is not None and (maker := value.producer()) is not None:
            if maker.op_type not in {*_ORDERLY, *_ALONE, *_BESIDE, *_ENDS, "Gather"}:
                break
            if label_of(maker) == label:
                return True
            value = next((each for each in maker.inputs if each is not None and not each.is_initializer()), None)
    return False


def _take_out(graph: ir.Graph, place: int, chain: Iterable[ir.Node]) -> None:
    for node in chain:
        value, data = node.outputs[0], _data(node)
        if node.op_type in _ENDS:
            node.attributes["keepdims"] = ir.AttrInt64("keepdims", 1)
        elif node.op_type in _ALONE | _BESIDE:
            pass
        elif data is not None:
            if value.is_graph_output():
                last = ir.node("Identity", [data], name=f"{value.name}/samples")
                graph.append(last)
                graph.outputs[place] = last.outputs[0]
                last.outputs[0].name, last.outputs[0].type, value.name = value.name, value.type, None
            else:
                value.replace_all_uses_with(data)
            graph.remove(node, safe=True)
            continue
        value.shape = None


def _chain(output: ir.Value, facts: Facts) -> list[ir.Node]:
    """The nodes before an output, from the last on, that serve nobody else, up to one that reduces or does more."""
    chain: list[ir.Node] = []
    value = output
    while (maker := value.producer()) is not None and _keeps(maker, facts):
        data = _data(maker)
        if data is None or len(value.uses()) > (1 if chain else 0) or (chain and value.is_graph_output()):
            break
        chain.append(maker)
        if maker.op_type in _ENDS:
            break
        value = data
    return chain


def _keeps(node: ir.Node, facts: Facts) -> bool:
    """Whether a node keeps the elements of its data in their order, but for dims of 1."""
    if node.domain not in {"", "ai.onnx"} or len(node.outputs) != 1:
        return False
    op, data = node.op_type, _data(node)
    if data is None or op in _ORDERLY | _ALONE | _BESIDE:
        return data is not None
    if op in _ENDS:
        kept = node.attributes.get("keepdims")
        return kept is not None and not kept.is_ref() and kept.as_int() == 0
    if op != "Gather":
        return False
    dims, indices = facts.dims_of(data), None if node.inputs[1] is None else constant_tensor(node.inputs[1])
    axis = node.attributes["axis"].as_int() if "axis" in node.attributes else 0
    return dims is not None and dims[axis] == 1 and indices is not None and indices.size == 1


def _data(node: ir.Node) -> ir.Value | None:
    """The input whose elements a node keeps; None where it has none, or others beside it."""
    if node.op_type not in _BESIDE:
        return node.inputs[0] if node.inputs else None
    kinds = [(value, None if value is None else constant_tensor(value)) for value in node.inputs]
    data = [value for value, tensor in kinds if tensor is None]
    one = [tensor for _, tensor in kinds if tensor is not None and tensor.size == 1 and len(tensor.shape) < 2]
    return data[0] if len(data) == len(one) == 1 else None
