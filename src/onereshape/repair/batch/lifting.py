"""Single elements without an axis, given some: of one sample, `[]` and `[1, 1]` are often the same.

An export of one sample squeezes what it compares, or takes one entry of it, so that N has no place there.  Where
nothing but conditions is made of such an element, it may as well be `[1]`: the model is the same, and N has a place.
So has a reduction of all that a sample is, `x - x.mean()`, which keeps its dims where it only meets tensors of as many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX
from onereshape.graphs.edit import Change, origin_of
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.facts.order import inner_graphs
from onereshape.graphs.node_view import label_of
from onereshape.graphs.rewrite import Rewriter

_BROADCASTS = 8
"""The opset from which all operators broadcast alike."""
_CONDITIONS = {"If": (0,), "Loop": (0, 1)}
"""The inputs that are one element, whatever its dims."""
_ELEMENTWISE = frozenset(
    "Abs Add And Cast Ceil Cos Div Equal Erf Exp Floor Greater GreaterOrEqual Identity IsInf IsNaN Less LessOrEqual "
    "Log Max Mean Min Mod Mul Neg Not Or Pow Reciprocal Relu Round Sigmoid Sign Sin Sqrt Sub Sum Tanh Where Xor".split()
)
"""Operators that broadcast all their inputs."""
_REDUCTIONS = frozenset(
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare".split()
)
_PLACES = frozenset({"ArgMax", "ArgMin"})


class _Lifting(NamedTuple):
    """An element without an axis, the values made of it, and the node that chooses by them."""

    values: tuple[ir.Value, ...]
    """The element, and all that is made of it element by element."""
    unsqueezed: tuple[ir.Node, ...]
    """The nodes that give it an axis."""
    chosen: str
    """The label of an If or a Loop that chooses by it."""


def lift(model: ir.Model, label: str, opset: int, facts: Facts) -> Change | None:
    """Gives the one element that the node with this label makes an axis, in place; None where that matters."""
    node = next((each for each in model.graph.all_nodes() if label_of(each) == label), None)
    make = None if node is None or opset < _BROADCASTS else _maker(node, facts)
    if node is None or make is None:
        return None
    way = _way(model, node.outputs[0], facts)
    if way is None:
        return None
    value = node.outputs[0]
    message = f"{label} leaves one element without an axis, and {way.chosen} chooses by it for each sample"
    change = Change("baked-dim", label, node.op_type, value.name or "", origin_of(value), message, "[]", "[1]")
    build = Rewriter(model)
    for user in way.unsqueezed:
        dims = facts.dims_of(user.outputs[0]) or ()
        build.replace(user, "Reshape", [user.inputs[0], build.integers([1] * len(dims))])
    for each in way.values:
        each.shape = None if each.type is None else ir.Shape([1])
    made = make(build)
    build.replace(node, "Reshape", [made, build.integers([-1])])
    maker = build.added[-1] if made is node.inputs[0] else made.producer()
    if maker is not None:  # a refusal names what the model had
        maker.name = label
    return change


def keep(model: ir.Model, label: str, opset: int, facts: Facts) -> Change | None:
    """Has the reduction with this label, of all axes, keep them, in place; None where their number matters."""
    node = next((each for each in model.graph if label_of(each) == label), None)
    data = None if node is None else node.inputs[0]
    dims = None if data is None else facts.dims_of(data)
    if node is None or data is None or dims is None or len(dims) < 2 or opset < _BROADCASTS:
        return None
    if node.domain not in ONNX or node.op_type not in _REDUCTIONS or facts.dims_of(node.outputs[0]) != ():
        return None
    values = _spread(node.outputs[0], len(dims), facts)
    if values is None:
        return None
    value, ones = node.outputs[0], [1] * len(dims)
    message = f"{label} reduces one sample to an element without an axis"
    change = Change("baked-dim", label, node.op_type, value.name or "", origin_of(value), message, "[]", str(ones))
    build = Rewriter(model)
    for each in values:
        each.shape = None if each.type is None else ir.Shape(ones)
    build.replace(node, node.op_type, [data], _kept(node))
    return change


def _spread(value: ir.Value, rank: int, facts: Facts) -> list[ir.Value] | None:
    """An element, and all that is made of it alone; None where it meets anything but tensors of that rank or more."""
    values = [value]
    for each in values:  # it grows
        if each.is_graph_output():
            return None
        for user, _ in each.uses():
            output = user.outputs[0]
            dims = facts.dims_of(output)
            if user.domain not in ONNX or user.op_type not in _ELEMENTWISE or dims is None or 0 < len(dims) < rank:
                return None
            values += [output] if dims == () and output not in values else []
    return values


def may_lift(model: ir.Model, label: str) -> bool:
    """Whether a node with this label may make a single element without an axis."""
    nodes = list(model.graph.all_nodes())
    makers = {"Squeeze", "Reshape", "Gather"} | _REDUCTIONS | _PLACES
    return any(node.op_type in _CONDITIONS or _is_bare(node) for node in nodes) and any(
        label_of(node) == label and node.op_type in makers for node in nodes
    )


def has_elements(model: ir.Model) -> bool:
    """Whether a model may have single elements that get axes: graphs that are chosen, or reductions of everything."""
    return any(node.op_type in _CONDITIONS or _is_bare(node) for node in model.graph)


def _is_bare(node: ir.Node) -> bool:
    """Whether a reduction takes all axes, and keeps none."""
    if node.op_type not in _REDUCTIONS or node.attributes.get_int("keepdims", 1) != 0:
        return False
    return "axes" not in node.attributes and (len(node.inputs) < 2 or node.inputs[1] is None)


_MakeValue = Callable[[Rewriter], ir.Value]


def _maker(node: ir.Node, facts: Facts) -> _MakeValue | None:
    """The function that writes the element of a node with dims of 1 around it, `[] -> [1, 1]`; None for other nodes."""
    data = node.inputs[0] if node.inputs else None
    dims = None if data is None else facts.dims_of(data)
    if data is None or dims is None or node.domain not in ONNX or facts.dims_of(node.outputs[0]) != ():
        return None
    if node.op_type in {"Squeeze", "Reshape"}:
        return lambda _: data
    size = dims[0] if len(dims) == 1 and isinstance(dims[0], int) else None
    if node.op_type == "Gather":
        return _gathered(node, data, size, facts)
    if (node.op_type in _REDUCTIONS and len(dims) > 1) or (node.op_type in _REDUCTIONS | _PLACES and size is not None):
        return _reduced(node, data, size)
    return None


def _gathered(node: ir.Node, data: ir.Value, size: int | None, facts: Facts) -> _MakeValue | None:
    at = node.inputs[1]
    if at is None or size is None or facts.dims_of(at) != ():
        return None

    def make(build: Rewriter) -> ir.Value:
        one = build.insert(node, "Reshape", [at, build.integers([1])])
        return build.insert(node, "Gather", [_row(build, node, data, size), one], {"axis": 1})

    return make


def _reduced(node: ir.Node, data: ir.Value, size: int | None) -> _MakeValue:
    kept = _kept(node) | ({"axis": 1} if node.op_type in _PLACES else {})
    return lambda build: build.insert(node, node.op_type, [_row(build, node, data, size)], kept)


def _kept(node: ir.Node) -> dict[str, Any]:
    """The attributes of a reduction of all axes that keeps them."""
    others = {"axes", "noop_with_empty_axes"}
    return {name: each.value for name, each in node.attributes.items() if name not in others} | {"keepdims": 1}


def _row(build: Rewriter, node: ir.Node, data: ir.Value, size: int | None) -> ir.Value:
    """Data of one axis as a row, so that N has an axis of its own; others as they are."""
    return data if size is None else build.insert(node, "Reshape", [data, build.integers([-1, size])])


def _way(model: ir.Model, value: ir.Value, facts: Facts) -> _Lifting | None:
    """What is made of an element; None where it gets anywhere that its missing axis may matter."""
    ends = dict(_ends(model))
    values, unsqueezed, chosen = [value], list[ir.Node](), ""
    for each in values:  # it grows
        if each.is_graph_output() and each not in ends:
            return None
        chosen = chosen or ends.get(each, "")
        for user, slot in each.uses():
            output = user.outputs[0]
            dims = facts.dims_of(output)
            if user.domain not in ONNX or dims is None:
                return None
            if slot in _CONDITIONS.get(user.op_type, ()):
                chosen = chosen or label_of(user)
            elif user.op_type in _ELEMENTWISE:
                values += [output] if dims == () and output not in values else []
                chosen = chosen or ("" if dims == () else _chooser(output))
            elif user.op_type in {"Unsqueeze", "Reshape"} and slot == 0:
                unsqueezed += [user] if user.op_type == "Unsqueeze" else []
                chosen = chosen or _chooser(output)
            else:
                return None
    return _Lifting(tuple(values), tuple(unsqueezed), chosen) if chosen else None


def _chooser(value: ir.Value) -> str:
    """The If or Loop that chooses by a value with an axis, or by what is made of it; "" without one."""
    values = [value]
    for each in values:  # it grows
        for user, slot in each.uses():
            if slot in _CONDITIONS.get(user.op_type, ()):
                return label_of(user)
            if user.op_type in {*_ELEMENTWISE, "Unsqueeze", "Reshape"} and user.outputs[0] not in values:
                values.append(user.outputs[0])
    return ""


def _ends(model: ir.Model) -> Iterator[tuple[ir.Value, str]]:
    """The conditions that bodies of Loops give, and nothing else gives, with the label of the Loop."""
    for node in model.graph.all_nodes():
        for body in inner_graphs(node) if node.op_type == "Loop" else ():
            if body.outputs and sum(each is body.outputs[0] for each in body.outputs) == 1:
                yield body.outputs[0], label_of(node)
