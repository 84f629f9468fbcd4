"""A bare copy of a model for the engine to write into: its nodes and types, without what the file declares inside.

Large constants are known by their dims only, so that no weight is ever read.  Both spellings of ONNX's own domain are
one here, and nodes come after those that they need.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir

_MOST_INTEGERS = 4096
"""The longest constant of integers whose elements can matter for a shape."""
_MOST_OTHERS = 64
"""The same for other types: the scales of a Resize, the limits of a Range."""
_COUNTING = frozenset("INT64 INT32 INT16 INT8 UINT64 UINT32 UINT16 UINT8 BOOL".split())


class Copy:
    """The copy, and the way back to the original."""

    def __init__(self, model: ir.Model) -> None:
        self.values: dict[ir.Value, ir.Value] = {}
        """Original -> copy."""
        self.nodes: dict[ir.Node, ir.Node] = {}
        """Copy -> original."""
        self.large: dict[ir.Node, Any] = {}
        """Constant nodes of the copy whose tensor is known by its dims only."""
        self._fixed = model.ir_version < 4
        """Initializers had to be inputs too, and yet nobody could give them another value."""
        self.opset_imports = imports(model.graph.opset_imports)
        self.graph = self._graph(model.graph, outputs=False)
        self.functions: dict[Any, ir.Function] = {}
        for key, function in model.functions.items():
            inner = self._graph(function.graph)
            inner.opset_imports.update(imports(function.opset_imports))
            attributes = list(function.attributes.values())
            self.functions[key] = ir.Function(
                function.domain, function.name, function.overload, graph=inner, attributes=attributes
            )

    def _value(self, value: ir.Value) -> ir.Value:
        if value not in self.values:
            self.values[value] = ir.Value(name=value.name, type=_own_type(value.type))
        return self.values[value]

    def _graph(self, graph: Any, *, outputs: bool = True) -> ir.Graph:
        inputs = [self._value(value) for value in graph.inputs if not (self._fixed and value.is_initializer())]
        initializers = [self._initializer(value) for value in graph.initializers.values()]
        late = False
        nodes: list[ir.Node] = []
        for node in graph:
            late = late or any(value in self.values for value in node.outputs)
            nodes.append(self._node(node))
        ends = self._ends(graph.outputs, nodes) if outputs else []
        copy = ir.Graph(inputs, ends, nodes=nodes, initializers=[value for value in initializers if value is not None])
        if late:
            copy.sort()
        return copy

    def _initializer(self, value: ir.Value) -> ir.Value | None:
        """An initializer of the copy; of a large one only the dims and the type are known."""
        copy = self._value(value)
        if value.const_value is None:
            return None
        copy.shape = ir.Shape(value.const_value.shape.numpy())
        copy.dtype = value.const_value.dtype
        if self._fixed or not value.is_graph_input():  # of an input it is the default only
            copy.const_value = small(value.const_value)
        return None if copy.const_value is None else copy

    def _node(self, node: ir.Node) -> ir.Node:
        inputs = [None if value is None else self._value(value) for value in node.inputs]
        attributes = [self._attribute(attribute) for attribute in node.attributes.values()]
        outputs = [self._value(value) for value in node.outputs]
        copy = ir.Node(
            node.domain, node.op_type, inputs, attributes, overload=node.overload, outputs=outputs, name=node.name
        )
        self.nodes[copy] = node
        for name in ("value_ints", "value_floats") if node.domain == "" and node.op_type == "Constant" else ():
            attribute = node.attributes.get(name)
            if attribute is not None and not attribute.is_ref() and len(attribute.value) > _MOST_INTEGERS:
                kind = ir.DataType.INT64 if name == "value_ints" else ir.DataType.FLOAT
                self.large[copy] = ir.Tensor(np.asarray(attribute.value, kind.numpy()), dtype=kind)
        if node.domain == "" and node.op_type == "Constant" and "value" in node.attributes:
            attribute = node.attributes["value"]
            if attribute.type == ir.AttributeType.TENSOR and not attribute.is_ref():
                tensor = attribute.as_tensor()
                if (read := small(tensor, own=True)) is None:
                    self.large[copy] = tensor
                else:
                    copy.attributes["value"] = ir.AttrTensor("value", read)
        return copy

    def _attribute(self, attribute: ir.Attr) -> ir.Attr:
        if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
            return ir.AttrGraph(attribute.name, self._graph(attribute.as_graph()))
        if attribute.type == ir.AttributeType.GRAPHS and not attribute.is_ref():
            return ir.AttrGraphs(attribute.name, [self._graph(graph) for graph in attribute.as_graphs()])
        return attribute

    def _ends(self, outputs: Iterable[ir.Value], nodes: list[ir.Node]) -> list[ir.Value]:
        """The outputs of a subgraph; one from outside, or given twice, through an Identity: a value has one graph."""
        inside = set(nodes)
        ends: list[ir.Value] = []
        for value in outputs:
            end = self._value(value)
            if end.producer() not in inside or end in ends:
                through = ir.Node("", "Identity", [end])
                nodes.append(through)
                end = through.outputs[0]
                end.type = _own_type(value.type)
            ends.append(end)
        return ends


def imports(declared: Any) -> dict[str, int]:
    """The imports of a graph, with ONNX's own domain under its short name; version 1 where it is not imported."""
    known = dict(declared)
    known.setdefault("", known.get("ai.onnx", 1))
    return known


def small(tensor: Any, *, own: bool = False) -> Any:
    """The tensor, if it is small enough to be read; one that lies in a file is read here and the file is let go.

    With `own` it is always another: onnx-ir gives names to the tensors of Constant nodes that it looks at.
    """
    most = _MOST_INTEGERS if tensor.dtype.name in _COUNTING else _MOST_OTHERS
    if prod(tensor.shape.numpy()) > most:
        return None
    outside = isinstance(tensor, ir.ExternalTensor)
    if not own and not outside:
        return tensor
    if tensor.dtype == ir.DataType.STRING:
        return None
    try:
        array = np.array(tensor.numpy())
    except Exception:  # noqa: BLE001 - a file that is not there, or data that are too short
        return None
    if outside:
        tensor.release()
    return ir.Tensor(array, dtype=tensor.dtype, name=tensor.name)


def _own_type(type_: Any) -> Any:
    """A type of the copy's own: the engine writes into those that it finds."""
    if isinstance(type_, ir.TensorType):
        return ir.TensorType(type_.dtype)
    if isinstance(type_, ir.SequenceType | ir.OptionalType):
        return type(type_)(_own_type(type_.elem_type))
    return None


def inner_graphs(node: ir.Node) -> Iterable[ir.Graph]:
    """The branches and bodies of a node."""
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
            yield attribute.as_graph()
