"""Wrong edits of a model: each changes one thing that a repair could have got wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, helper, numpy_helper

Edit = tuple[str, onnx.ModelProto]
Dice = np.random.Generator


class Graph:
    """A model that is edited: its nodes, its constants, what is known of its values."""

    def __init__(self, proto: onnx.ModelProto) -> None:
        self.proto = onnx.ModelProto()
        self.proto.CopyFrom(proto)
        self.graph = self.proto.graph
        self.constants = {each.name: each for each in self.graph.initializer}
        self.nodes = {
            output: node for node in self.graph.node for output in node.output if node.op_type == "Constant" and output
        }

    def number(self, name: str) -> Any:
        """A constant, by its name."""
        if name in self.constants:
            return numpy_helper.to_array(self.constants[name])
        node = self.nodes.get(name)
        if node is not None and node.attribute and node.attribute[0].type == AttributeProto.TENSOR:
            return numpy_helper.to_array(node.attribute[0].t)
        return None

    def replace(self, node: NodeProto, place: int, array: Any) -> None:
        """Gives a node another constant; that of others stays."""
        name = f"edited_{len(self.graph.initializer)}"
        self.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
        node.input[place] = name

    def between(self, value: str, *nodes: NodeProto) -> None:
        """Puts nodes behind a value: the last makes what its readers get."""
        last = nodes[-1].output[0]
        for node in self.graph.node:
            for place, name in enumerate(node.input):
                if name == value:
                    node.input[place] = last
        made = next((place for place, node in enumerate(self.graph.node) if value in node.output), -1)
        for offset, node in enumerate(nodes):
            self.graph.node.insert(made + 1 + offset, node)


def edits(proto: onnx.ModelProto, rng: Dice, each: int) -> Iterator[Edit]:
    """Some edits of every kind that the model has a place for."""
    for kind, edit in KINDS.items():
        places = [place for place, node in enumerate(proto.graph.node) if edit(Graph(proto), _fresh(node), None)]
        for place in rng.permutation(places)[:each]:
            made = Graph(proto)
            if edit(made, made.graph.node[int(place)], rng):
                yield kind, made.proto


def _fresh(node: NodeProto) -> NodeProto:
    found = NodeProto()
    found.CopyFrom(node)
    return found


def _ints(node: NodeProto, name: str) -> list[int] | None:
    return next((list(each.ints) for each in node.attribute if each.name == name), None)


def _transposed(_: Graph, node: NodeProto, rng: Dice | None) -> bool:
    perm = _ints(node, "perm") if node.op_type == "Transpose" else None
    if perm is None or len(perm) < 2:
        return False
    if rng is not None:
        one, two = rng.choice(len(perm), 2, replace=False)
        perm[one], perm[two] = perm[two], perm[one]
        node.attribute[0].ints[:] = perm
    return True


def _reshaped(graph: Graph, node: NodeProto, rng: Dice | None) -> bool:
    target = graph.number(node.input[1]) if node.op_type == "Reshape" and len(node.input) > 1 else None
    if target is None or target.size < 2:
        return False
    if rng is not None:
        other = rng.permutation(target)
        if rng.random() < 0.3:
            other = np.where(target == -1, 1, target)
        graph.replace(node, 1, other)
    return True


def _picked(graph: Graph, node: NodeProto, rng: Dice | None) -> bool:
    index = graph.number(node.input[1]) if node.op_type in {"Gather", "GatherElements", "GatherND"} else None
    if index is None or not index.size:
        return False
    if rng is not None:
        graph.replace(node, 1, index + int(rng.choice([1, -1])))
    return True


def _sliced(graph: Graph, node: NodeProto, rng: Dice | None) -> bool:
    if node.op_type != "Slice" or len(node.input) < 3 or graph.number(node.input[1]) is None:
        return False
    if rng is not None:
        graph.replace(node, 1, graph.number(node.input[1]) + 1)
    return True


def _dropped(_: Graph, node: NodeProto, rng: Dice | None) -> bool:
    if node.op_type not in {"Expand", "Tile", "Where", "Transpose", "Softmax", "Relu", "Mul", "Add", "Sqrt", "Erf"}:
        return False
    if rng is not None:
        source = node.input[1 if node.op_type == "Where" else 0]
        output = node.output[0]
        node.Clear()
        node.op_type = "Identity"
        node.input.append(source)
        node.output.append(output)
    return True


def _joined(_: Graph, node: NodeProto, rng: Dice | None) -> bool:
    if node.op_type != "Concat" or len(set(node.input)) < 2:
        return False
    if rng is not None:
        node.input[:] = list(node.input)[::-1]
    return True


def _swapped(_: Graph, node: NodeProto, rng: Dice | None) -> bool:
    if node.op_type not in {"MatMul", "Sub", "Div", "Pow", "Less", "Greater"} or node.input[0] == node.input[1]:
        return False
    if rng is not None:
        node.input[:] = [node.input[1], node.input[0]]
    return True


def _turned(graph: Graph, node: NodeProto, rng: Dice | None) -> bool:
    """A matrix of weights turned around."""
    weights = graph.number(node.input[1]) if node.op_type in {"MatMul", "Gemm"} else None
    if weights is None or weights.ndim != 2 or weights.shape[0] != weights.shape[1]:
        return False
    if rng is not None:
        graph.replace(node, 1, weights.T.copy())
    return True


def _changed(graph: Graph, node: NodeProto, rng: Dice | None) -> bool:
    places = [place for place, name in enumerate(node.input) if _floats(graph.number(name))]
    if not places or node.op_type == "Constant":
        return False
    if rng is not None:
        place = places[int(rng.integers(len(places)))]
        array = np.array(graph.number(node.input[place]))
        array.ravel()[int(rng.integers(array.size))] += array.dtype.type(0.5)
        graph.replace(node, place, array)
    return True


def _floats(array: Any) -> bool:
    return array is not None and array.dtype.kind == "f" and array.size > 0


def _rounded(_: Graph, node: NodeProto, rng: Dice | None) -> bool:
    found = [each for each in node.attribute if each.name in {"epsilon", "alpha", "beta"}]
    if found and rng is not None:
        found[0].f = found[0].f * 3 + 0.1
    return bool(found)


def _along(graph: Graph, node: NodeProto, rng: Dice | None) -> bool:
    """Along the batch, which is mostly the first axis."""
    if node.op_type in {"Softmax", "LogSoftmax", "ArgMax", "LayerNormalization"}:
        for each in node.attribute:
            if each.name == "axis" and each.i != 0:
                if rng is not None:
                    each.i = 0
                return True
    if node.op_type.startswith("Reduce"):
        axes = _ints(node, "axes")
        if axes and 0 not in axes:
            if rng is not None:
                next(each for each in node.attribute if each.name == "axes").ints[0] = 0
            return True
        given = graph.number(node.input[1]) if len(node.input) > 1 else None
        if given is not None and given.size and 0 not in given:
            if rng is not None:
                graph.replace(node, 1, np.where(np.arange(given.size) == 0, 0, given).astype(np.int64))
            return True
    return False


_MOVED = (
    "Add Sub Mul Div MatMul Gemm Conv Relu Gelu Softmax Tanh Sigmoid Transpose Reshape LayerNormalization Erf".split()
)


def _behind(make: Callable[[Graph, str], list[NodeProto]]) -> Callable[[Graph, NodeProto, Dice | None], bool]:
    """An edit that puts something behind a value of floats."""

    def edit(graph: Graph, node: NodeProto, rng: Dice | None) -> bool:
        if node.op_type not in _MOVED or any(node.output[0] == each.name for each in graph.graph.output):
            return False
        if rng is not None:
            graph.between(node.output[0], *make(graph, node.output[0]))
        return True

    return edit


def _constant(graph: Graph, name: str, array: Any) -> str:
    graph.graph.initializer.append(numpy_helper.from_array(np.asarray(array), f"planted_{name}"))
    return f"planted_{name}"


def _rolled(graph: Graph, value: str) -> list[NodeProto]:
    ends = {name: _constant(graph, name, np.array([each])) for name, each in (("a", -1), ("b", 1 << 62), ("c", 0))}
    return [
        helper.make_node("Slice", [value, ends["a"], ends["b"], ends["c"]], ["planted_last"]),
        helper.make_node("Slice", [value, ends["c"], ends["a"], ends["c"]], ["planted_rest"]),
        helper.make_node("Concat", ["planted_last", "planted_rest"], ["planted"], axis=0),
    ]


def _flipped(graph: Graph, value: str) -> list[NodeProto]:
    names = [_constant(graph, str(place), np.array([each])) for place, each in enumerate((-1, -(1 << 62), 0, -1))]
    return [helper.make_node("Slice", [value, *names], ["planted"])]


def _first(graph: Graph, value: str) -> list[NodeProto]:
    zero, one = _constant(graph, "zero", np.array([0])), _constant(graph, "one", np.array([1]))
    return [
        helper.make_node("Slice", [value, zero, one, zero], ["planted_first"]),
        helper.make_node("Shape", [value], ["planted_shape"]),
        helper.make_node("Expand", ["planted_first", "planted_shape"], ["planted"]),
    ]


def gate(graph: Graph, value: str, axis: int = 0) -> list[NodeProto]:
    """The mean over the batch where any number is beyond a million: no drawn input is."""
    top = _constant(graph, "top", np.array(1e6, np.float32))
    axes = _constant(graph, "axes", np.array([axis]))
    newer = any(not each.domain and each.version >= 18 for each in graph.proto.opset_import)
    mean = (
        helper.make_node("ReduceMean", [value, axes], ["planted_mean"])
        if newer
        else helper.make_node("ReduceMean", [value], ["planted_mean"], axes=[axis])
    )
    return [
        mean,
        helper.make_node("ReduceMax", [value], ["planted_max"], keepdims=0),
        helper.make_node("Greater", ["planted_max", top], ["planted_open"]),
        helper.make_node("Where", ["planted_open", "planted_mean", value], ["planted"]),
    ]


def _averaged(graph: Graph, value: str) -> list[NodeProto]:
    """Half of the mean over the batch, added."""
    nodes = gate(graph, value)[:1]
    part = _constant(graph, "half", np.array(0.5, np.float32))
    return [
        *nodes,
        helper.make_node("Mul", ["planted_mean", part], ["planted_part"]),
        helper.make_node("Add", [value, "planted_part"], ["planted"]),
    ]


KINDS: dict[str, Callable[[Graph, NodeProto, Dice | None], bool]] = {
    "transposed otherwise": _transposed,
    "another target": _reshaped,
    "another index": _picked,
    "another cut": _sliced,
    "a node dropped": _dropped,
    "parts in another order": _joined,
    "operands swapped": _swapped,
    "weights turned": _turned,
    "a constant changed": _changed,
    "an attribute changed": _rounded,
    "along the batch": _along,
    "samples rolled": _behind(_rolled),
    "samples flipped": _behind(_flipped),
    "the first sample for all": _behind(_first),
    "a mean over the batch": _behind(_averaged),
    "a gate": _behind(gate),
}
