"""Additions: new nodes and constants in a graph, each made once; and what nobody needs after them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

NO_ATTRIBUTES: Mapping[str, Any] = {}


class Additions:
    """Adds to the main graph of a model; what is added without a place stands before all other nodes."""

    def __init__(self, model: ir.Model) -> None:
        self.graph = model.graph
        self.opset = model.graph.opset_imports.get("", model.graph.opset_imports.get("ai.onnx", 1))
        self.added: list[ir.Node] = []
        self._domain = "" if "" in model.graph.opset_imports else "ai.onnx"
        self._front = next(iter(self.graph), None)
        self._fronted: set[ir.Node] = set()
        self._made: dict[Hashable, ir.Value] = {}
        self._names = _names(model)

    def once(self, key: Hashable, make: Callable[[], ir.Value]) -> ir.Value:
        """What was made for a key, or is made now."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def unused(self, name: str) -> str:
        """A name that no other value or node has."""
        count, found = 0, name
        while found in self._names:
            count += 1
            found = f"{name}_{count}"
        self._names.add(found)
        return found

    def constant(self, array: np.ndarray[Any, Any]) -> ir.Value:
        """An initializer of its own, shared only with other additions."""

        def make() -> ir.Value:
            name = self.unused("onereshape/constant")
            tensor = ir.tensor(np.ascontiguousarray(array).reshape(array.shape), name=name)
            kind = ir.TensorType(tensor.dtype)
            value = ir.Value(name=name, shape=ir.Shape(array.shape), type=kind, const_value=tensor)
            self.graph.register_initializer(value)
            return value

        return self.once(("constant", array.dtype.str, array.shape, array.tobytes()), make)

    def integers(self, numbers: Sequence[int]) -> ir.Value:
        """A constant vector."""
        return self.constant(np.array(numbers, np.int64))

    def dim(self, source: ir.Value, axis: int, name: str) -> ir.Value:
        """A dim of a value at run time, as a vector of one element."""
        if self.opset >= 15:
            return self.front("Shape", [source], {"start": axis, "end": axis + 1}, name)
        whole = self.once(("shape", source), lambda: self.front("Shape", [source]))
        return self.front("Gather", [whole, self.integers([axis])], {"axis": 0}, name)

    def pieces(self, entries: Sequence[Any], size: Callable[[Any], ir.Value]) -> list[ir.Value]:
        """Vectors that make up a list of sizes: numbers side by side are one constant, the others what `size` gives."""
        parts: list[ir.Value] = []
        numbers: list[int] = []
        for entry in [*entries, None]:
            if isinstance(entry, int):
                numbers.append(entry)
                continue
            if numbers:
                parts.append(self.integers(numbers))
                numbers = []
            if entry is not None:
                parts.append(size(entry))
        return parts

    def front(
        self, op: str, inputs: Sequence[ir.Value], attributes: Mapping[str, Any] = NO_ATTRIBUTES, name: str = ""
    ) -> ir.Value:
        """A new node before all others."""
        node = self.node(op, inputs, attributes, name)
        self._fronted.add(node)
        self._at_front(node)
        return node.outputs[0]

    def _at_front(self, node: ir.Node) -> None:
        if self._front is None:
            self.graph.append(node)
        else:
            self.graph.insert_before(self._front, node)

    def node(self, op: str, inputs: Sequence[ir.Value], attributes: Mapping[str, Any], name: str = "") -> ir.Node:
        """A new node that is not in the graph yet."""
        called = self.unused(name or f"onereshape/{op}")
        node = ir.node(op, inputs, dict(attributes), domain=self._domain, name=called)
        node.outputs[0].name = called
        node.outputs[0].type = _type(op, inputs, attributes)
        self.added.append(node)
        return node


def needed(graph: ir.Graph) -> Iterator[ir.Node | ir.Value]:
    """The nodes and constants that somebody uses."""
    for node in graph:
        if any(value.uses() or value.is_graph_output() for value in node.outputs):
            yield node
    for value in graph.initializers.values():
        if value.uses() or value.is_graph_output():
            yield value


def remove_unused(graph: ir.Graph, candidates: set[ir.Node | ir.Value]) -> None:
    """Removes those of the nodes and constants that nobody uses any more."""
    for node in reversed(list(graph)):
        if node in candidates and not any(value.uses() or value.is_graph_output() for value in node.outputs):
            graph.remove(node, safe=True)
    for name, value in list(graph.initializers.items()):
        if value in candidates and not (value.uses() or value.is_graph_output() or value.is_graph_input()):
            del graph.initializers[name]


def _type(op: str, inputs: Sequence[ir.Value], attributes: Mapping[str, Any]) -> ir.TypeProtocol | None:
    """The type of a new node's output: that of its first input, as for all operators that are added but these."""
    if op == "Shape":
        return ir.TensorType(ir.DataType.INT64)
    if op == "Cast":
        return ir.TensorType(ir.DataType(attributes["to"]))
    if op == "Less":
        return ir.TensorType(ir.DataType.BOOL)
    if op == "Where":
        return inputs[1].type
    return None if op == "Scan" else inputs[0].type


def _names(model: ir.Model) -> set[str]:
    """All names of values and nodes, in subgraphs too."""
    names: set[str] = set()
    for graph in model.graphs():
        names.update(value.name or "" for value in (*graph.inputs, *graph.initializers.values()))
        for node in graph:
            names.add(node.name or "")
            names.update(value.name or "" for value in node.outputs)
    return names
