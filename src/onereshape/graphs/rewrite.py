"""Rewriter: the nodes, constants and targets that a repair adds to a model, each made once.

What depends on nothing but the sizes of the inputs stands at the front of the graph; a tensor that is spread over the
batch is spread right after it was made, for all who need it so; copies of nodes stand before those that need them, in
the graphs inside of nodes too, which see what stands outside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from math import lcm
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import domain_of, opset_of
from onereshape.graphs.constants import DEFAULTS
from onereshape.graphs.unneeded import names_of
from onereshape.rule.sizes import Atom, Formula, Size

Entry = Size | ir.Value
"""An element of a vector of sizes: a size, or a vector of one element."""
Sources = Mapping[str, tuple[str, int]]
"""Symbol -> the input and the axis where it is a dim."""

LAST = 2**63 - 1
"""The end of a slice that takes all there is."""

_BARE: Mapping[str, Any] = {}
_NO_SOURCES: Sources = {}


class Rewriter:
    """Adds to the graphs of a model; what is added without a place stands before all other nodes of the main one."""

    def __init__(self, model: ir.Model, sources: Sources = _NO_SOURCES) -> None:
        self.graph = model.graph
        self.opset = opset_of(model.graph)
        self.added: list[ir.Node] = []
        self.left: list[ir.Value] = []
        """Values that lost a user."""
        self._model = model
        self._sources = sources
        self._inputs = {value.name: value for value in model.graph.inputs}
        self._front = next(iter(self.graph), None)
        self._fronted: set[ir.Node] = set()
        self._firsts: dict[ir.Graph, ir.Node | None] = {}
        self._made: dict[Hashable, ir.Value] = {}
        self._names: set[str] | None = None
        self._counts: dict[str, int] = {}

    @property
    def symbols(self) -> tuple[str, ...]:
        """The sizes that the inputs say."""
        return tuple(self._sources)

    def once(self, key: Hashable, make: Callable[[], ir.Value]) -> ir.Value:
        """What was made for a key, or is made now."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def unused(self, name: str, *, numbered: bool = False) -> str:
        """A name that no other value or node has; `numbered`: the first one has a number too."""
        if self._names is None:
            self._names = names_of(self._model)
        count = self._counts.get(name, 0)
        while (found := f"{name}_{count}" if count or numbered else name) in self._names:
            count += 1
        self._counts[name] = count
        self._names.add(found)
        return found

    # Constants

    def constant(self, array: np.ndarray[Any, Any]) -> ir.Value:
        """An initializer of its own, shared only with other additions."""
        key = ("constant", array.dtype.str, array.shape, array.tobytes())
        return self.once(key, lambda: self._held(_initializer(self.graph, self.unused("onereshape/constant"), array)))

    def _held(self, value: ir.Value) -> ir.Value:
        """An initializer of the main graph; once all of them had to be inputs too, which nobody could give."""
        if self._model.ir_version < DEFAULTS:
            self.graph.inputs.append(value)
        return value

    def integers(self, numbers: Sequence[int]) -> ir.Value:
        """A constant vector."""
        return self.constant(np.array(numbers, np.int64))

    def target(self, node: ir.Node, root: ir.Graph | ir.Function, words: Sequence[int]) -> ir.Value:
        """The constant target of a Reshape in any graph: an initializer there; where there can be none, a Constant."""
        graph, array = node.graph, np.array(words, np.int64)
        name = partial(self.unused, "onereshape/target", numbered=True)
        if isinstance(graph, ir.Graph) and not isinstance(root, ir.Function) and self._model.ir_version >= DEFAULTS:
            key = ("target", graph, tuple(words))
            return self.once(key, lambda: _initializer(graph, name(), array))
        called = name()
        tensor = ir.tensor(array, name=called)
        made = ir.Node(domain_of(root), "Constant", [], [ir.AttrTensor("value", tensor)], name=called, num_outputs=1)
        value = made.outputs[0]
        value.name, value.shape, value.type = called, ir.Shape(array.shape), ir.TensorType(tensor.dtype)
        graph.insert_before(node, made)  # type: ignore[union-attr]
        return value

    # Sizes

    def size(self, size: Size) -> ir.Value:
        """A size, as a vector of one element."""
        if isinstance(size, int):
            return self.integers([size])
        return self.once(("size", size), lambda: self._sum(size))

    def vector(self, entries: Sequence[Entry], before: ir.Node | None = None) -> ir.Value:
        """A vector of sizes; a constant where all are numbers."""
        parts = self._pieces(entries)
        if len(parts) == 1:
            return parts[0]
        if any(isinstance(entry, ir.Value) for entry in entries):
            return self.insert(before, "Concat", parts, {"axis": 0})
        return self.once(("vector", *entries), lambda: self.front("Concat", parts, {"axis": 0}))

    def summed(self, sizes: Sequence[Size]) -> ir.Value:
        """A vector of sizes written as a sum, for sizes that may be 0: onnxruntime takes -1 for a size in a Concat."""
        whole = np.array([size if isinstance(size, int) else 0 for size in sizes], np.int64)
        total = self.constant(whole)
        for place, size in enumerate(sizes):
            if not isinstance(size, int):
                alone = self.constant(np.eye(len(sizes), dtype=np.int64)[place])
                total = self.front("Add", [total, self.front("Mul", [self.size(size), alone])])
        return total

    def scalar(self, size: Size) -> ir.Value:
        """A size, as a tensor without dims."""
        if isinstance(size, int):
            return self.constant(np.array(size, np.int64))
        # A Reshape, since every opset says it alike.
        return self.once(("scalar", size), lambda: self.front("Reshape", [self.size(size), self.integers([])]))

    def count(self, size: Size) -> ir.Value:
        """0, 1, 2 ... as many as the size: a Range; before opset 11 the places of as many ones, or a loop's turns."""

        def make() -> ir.Value:
            if self.opset >= 11:
                return self.front("Range", [self.scalar(each) for each in (0, size, 1)])
            if self.opset < 9:
                return self._turns(size)
            one = {"value": ir.tensor(np.ones(1, np.int64))}
            places = self.front("NonZero", [self.front("ConstantOfShape", [self.size(size)], one)])
            return self.front("Reshape", [places, self.integers([-1])])

        return self.once(("count", size), make)

    def _turns(self, size: Size) -> ir.Value:
        """The numbers of the turns of a loop that does nothing else; the first Loop must hand something on."""
        turn, goes, last = (
            ir.Value(name=self.unused(f"onereshape/{name}"), shape=ir.Shape([]), type=ir.TensorType(kind))
            for name, kind in (("turn", ir.DataType.INT64), ("goes", ir.DataType.BOOL), ("last", ir.DataType.INT64))
        )
        nodes = [self._node("Identity", [each], _BARE) for each in (goes, turn, turn)]
        for node in nodes:
            node.outputs[0].shape = ir.Shape([])
        ends = [node.outputs[0] for node in nodes]
        body = ir.Graph([turn, goes, last], ends, nodes=nodes, name=self.unused("onereshape/counting"))
        given = [self.scalar(size), self.constant(np.array(True)), self.scalar(0)]
        found = self.front("Loop", given, {"body": body})
        loop = found.producer()
        loop.resize_outputs(2)  # type: ignore[union-attr]
        turns = loop.outputs[1]  # type: ignore[union-attr]
        turns.name, turns.type = self.unused("onereshape/turns"), found.type
        return turns

    def typed(self, integers: ir.Value, kind: ir.DataType | None, before: ir.Node) -> ir.Value:
        """A vector in the type that its place asks for."""
        if kind != ir.DataType.INT32:
            return integers
        return self.insert(before, "Cast", [integers], {"to": int(ir.DataType.INT32)})

    def _pieces(self, entries: Sequence[Size | ir.Value]) -> list[ir.Value]:
        """Vectors that make up a list of sizes; numbers side by side are one constant."""
        parts: list[ir.Value] = []
        numbers: list[int] = []
        for entry in entries:
            if isinstance(entry, int):
                numbers.append(entry)
                continue
            if numbers:
                parts.append(self.integers(numbers))
                numbers = []
            parts.append(entry if isinstance(entry, ir.Value) else self.size(entry))
        return [*parts, self.integers(numbers)] if numbers or not parts else parts

    def _sum(self, size: Formula) -> ir.Value:
        scale = lcm(*(coefficient.denominator for _, coefficient in size.terms))
        if scale > 1:  # exact, wherever the model runs at all
            return self.front("Div", [self.size(size * scale), self.integers([scale])])
        total: ir.Value | None = None
        number = 0
        for monomial, coefficient in size.terms:
            if not monomial:
                number = int(coefficient)
                continue
            term = self._product(monomial)
            if coefficient != 1:
                term = self.front("Mul", [term, self.integers([int(coefficient)])])
            total = term if total is None else self.front("Add", [total, term])
        if total is None:
            return self.integers([number])
        return total if not number else self.front("Add", [total, self.integers([number])])

    def _product(self, monomial: tuple[Atom, ...]) -> ir.Value:
        *rest, last = monomial
        if not rest:
            return self.once(("atom", last), lambda: self._atom(last))
        factors = (tuple(rest), (last,))
        return self.once(("product", monomial), lambda: self.front("Mul", [self._product(each) for each in factors]))

    def _atom(self, atom: Atom) -> ir.Value:
        if isinstance(atom, str):
            source, axis = self._sources[atom]
            return self._dim(self._inputs[source], axis, atom)
        # Sizes are not negative, so a quotient that is cut towards 0 is rounded down.
        op = atom.name if atom.name in {"Max", "Min"} else "Div"
        return self.front(op, [self.size(part) for part in atom.parts])

    def _dim(self, source: ir.Value, axis: int, name: str) -> ir.Value:
        """A dim of a value at run time, as a vector of one element."""
        if self.opset >= 15:
            return self.front("Shape", [source], {"start": axis, "end": axis + 1}, name)
        whole = self.once(("shape", source), lambda: self.front("Shape", [source]))
        return self.front("Gather", [whole, self.integers([axis])], {"axis": 0}, name)

    # Nodes

    def front(
        self, op: str, inputs: Sequence[ir.Value], attributes: Mapping[str, Any] = _BARE, name: str = ""
    ) -> ir.Value:
        """A new node before all others."""
        node = self._node(op, inputs, attributes, name)
        self._fronted.add(node)
        self._at_front(node)
        return node.outputs[0]

    def after(
        self, value: ir.Value, op: str, inputs: Sequence[ir.Value], attributes: Mapping[str, Any] = _BARE
    ) -> ir.Value:
        """A new node right after the one that makes `value`."""
        maker = value.producer()
        home = value.graph if maker is None else maker.graph
        if home in (self.graph, None) and (maker is None or maker in self._fronted):
            return self.front(op, inputs, attributes)
        node = self._node(op, inputs, attributes)
        if maker is not None:
            maker.graph.insert_after(maker, node)  # type: ignore[union-attr]
        else:  # an input, or a constant, of a graph inside
            self._begin(home, node)  # type: ignore[arg-type]
        return node.outputs[0]

    def insert(
        self, before: ir.Node | None, op: str, inputs: Sequence[ir.Value | None], attributes: Mapping[str, Any] = _BARE
    ) -> ir.Value:
        """A new node right before another."""
        if before is None:
            return self.front(op, [each for each in inputs if each is not None], attributes)
        node = self._node(op, inputs, attributes)
        before.graph.insert_before(before, node)  # type: ignore[union-attr]
        return node.outputs[0]

    def copy(self, node: ir.Node, inputs: Sequence[ir.Value | None], before: ir.Node) -> ir.Value:
        """A copy of a node with these inputs, put right before another node; returns its output."""
        attributes = list(node.attributes.values())
        copy = ir.Node(node.domain, node.op_type, inputs, attributes, overload=node.overload)
        copy.name = self.unused(f"{node.name or node.op_type}/free")
        copy.outputs[0].name = self.unused(f"{node.outputs[0].name}/free")
        copy.outputs[0].type = node.outputs[0].type
        before.graph.insert_before(before, copy)  # type: ignore[union-attr]
        self.added.append(copy)
        return copy.outputs[0]

    def replace(
        self, node: ir.Node, op: str, inputs: Sequence[ir.Value | None], attributes: Mapping[str, Any] = _BARE
    ) -> None:
        """Another node in the place of one with a single output."""
        value = node.outputs[0]
        new = self.insert(node, op, [each for each in inputs if each is not None], attributes)
        self._take_place(node, value, new)
        self._remove(node, new.producer())

    def reshape_output(self, node: ir.Node, target: ir.Value, place: int = 0) -> None:
        """A Reshape after a node, to these dims, for all who use its output."""
        value = node.outputs[place]
        last = self._node("Reshape", [value, target], _BARE)
        node.graph.insert_after(node, last)  # type: ignore[union-attr]
        self._take_place(last, value, last.outputs[0])

    def end(self, graph: ir.Graph, place: int, value: ir.Value, dims: ir.Shape | None) -> None:
        """Another value as an output of a graph inside a node; one from outside is handed on there."""
        old = graph.outputs[place]
        if value.graph is not graph:
            node = self._node("Identity", [value], _BARE)
            graph.append(node)
            value = node.outputs[0]
        value.type, value.shape = old.type, dims
        graph.outputs[place] = value

    def inline(self, node: ir.Node, graph: ir.Graph) -> list[ir.Value]:
        """Moves all that is in a graph inside a node to right before that node; what the outputs of the graph were."""
        ends, home = list(graph.outputs), node.graph
        graph.outputs.clear()
        for name, value in list(graph.initializers.items()):
            del graph.initializers[name]
            value.name = self.unused(name)
            self.graph.register_initializer(self._held(value))
        for inner in list(graph):
            graph.remove(inner)
            inner.name = self.unused(inner.name or inner.op_type)
            for value in inner.outputs:
                value.name = self.unused(value.name) if value.name else value.name
            home.insert_before(node, inner)  # type: ignore[union-attr]
            self._begins_with(node, inner)
        return ends

    def replace_outputs(self, node: ir.Node, values: Sequence[ir.Value]) -> None:
        """Others, which stand before a node, in the place of its outputs; the node goes."""
        for old, new in zip(node.outputs, values, strict=True):
            self._take_place(node, old, new)
        self._remove(node, values[0].producer())

    def _remove(self, node: ir.Node, instead: ir.Node | None) -> None:
        self._begins_with(node, instead)
        node.graph.remove(node, safe=True)  # type: ignore[union-attr]

    def _begins_with(self, node: ir.Node, instead: ir.Node | None) -> None:
        """Notes which node is the first of a graph, where it was another one."""
        if node is self._front:
            self._front = instead
        for graph, first in self._firsts.items():
            if first is node:
                self._firsts[graph] = instead

    def reroute(self, node: ir.Node, source: ir.Value) -> bool:
        """Puts `source` in the place of a node's output and removes the node; an output of a graph keeps its name."""
        output, graph = node.outputs[0], node.graph
        if graph is None:
            return False
        if output.is_graph_output():
            maker = source.producer()
            twice = sum(each is output for each in graph.outputs) > 1
            if maker is None or maker.graph is not graph or source.is_graph_output() or twice:
                return False
            output.name, source.name = None, output.name
            output.replace_all_uses_with(source, replace_graph_outputs=True)
            source.type, source.shape = output.type or source.type, output.shape or source.shape
        else:
            output.replace_all_uses_with(source)
        self.left += [value for value in node.inputs if value is not None]
        graph.remove(node, safe=True)
        return True

    def _begin(self, graph: ir.Graph, node: ir.Node) -> None:
        """Puts a node before all others of a graph inside a node, but for those that were put there before."""
        first = self._firsts.setdefault(graph, next(iter(graph), None))
        if first is None:
            graph.append(node)
        else:
            graph.insert_before(first, node)

    def _at_front(self, node: ir.Node) -> None:
        if self._front is None:
            self.graph.append(node)
        else:
            self.graph.insert_before(self._front, node)

    def _node(
        self, op: str, inputs: Sequence[ir.Value | None], attributes: Mapping[str, Any], name: str = ""
    ) -> ir.Node:
        """A new node that is not in the graph yet."""
        called = self.unused(name or f"onereshape/{op}")
        node = ir.node(op, inputs, dict(attributes), domain=domain_of(self.graph), name=called)
        node.outputs[0].name = called
        node.outputs[0].type = _type(op, inputs, attributes)
        self.added.append(node)
        return node

    def _take_place(self, node: ir.Node, old: ir.Value, new: ir.Value) -> None:
        """Gives the uses, the name and the declaration of a value to another, of which `node` must stay a user."""
        new.shape, new.type = old.shape, old.type
        old.shape = None
        for user, index in tuple(old.uses()):
            if user is not node and user is not new.producer():
                user.replace_input_with(index, new)
        if old.is_graph_output():
            outputs = node.graph.outputs  # type: ignore[union-attr]
            for index, output in enumerate(outputs):
                if output is old:
                    outputs[index] = new
        old.name, new.name = new.name, old.name


def _initializer(graph: ir.Graph, name: str, array: np.ndarray[Any, Any]) -> ir.Value:
    tensor = ir.tensor(np.ascontiguousarray(array).reshape(array.shape), name=name)
    kind = ir.TensorType(tensor.dtype)
    value = ir.Value(name=name, shape=ir.Shape(array.shape), type=kind, const_value=tensor)
    graph.register_initializer(value)
    return value


def _type(op: str, inputs: Sequence[ir.Value | None], attributes: Mapping[str, Any]) -> ir.TypeProtocol | None:
    """The type of a new node's output: that of its first input, as for all operators that are added but these."""
    if op == "Shape":
        return ir.TensorType(ir.DataType.INT64)
    if op == "Cast":
        return ir.TensorType(ir.DataType(attributes["to"]))
    if op in {"Less", "Equal"}:
        return ir.TensorType(ir.DataType.BOOL)
    if op in {"ConvInteger", "MatMulInteger"}:
        return ir.TensorType(ir.DataType.INT32)
    if op == "ConstantOfShape":
        return ir.TensorType(attributes["value"].dtype)
    first = inputs[2 if op in {"QuantizeLinear", "Where"} else 0]
    return None if op == "Scan" or first is None else first.type
