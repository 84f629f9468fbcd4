"""Writer: the nodes that a freed model needs, each made once.

Sizes are formulas of the dims of the inputs, and are computed at the front of the graph; copies of nodes stand before
those that need them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.models.free.formula import Atom, Formula, Size

_NO_ATTRIBUTES: Mapping[str, Any] = {}


class Writer:
    """Adds nodes to the main graph of a model."""

    def __init__(self, model: ir.Model, sources: Mapping[str, tuple[str, int]]) -> None:
        self.graph = model.graph
        self.opset = model.graph.opset_imports.get("", model.graph.opset_imports.get("ai.onnx", 1))
        self.added: list[ir.Node] = []
        self._domain = "" if "" in model.graph.opset_imports else "ai.onnx"
        self._front = next(iter(self.graph), None)
        self._inputs = {value.name: value for value in model.graph.inputs}
        self._sources = sources
        self._made: dict[Hashable, ir.Value] = {}
        self._names = _names(model)

    def once(self, key: Hashable, make: Callable[[], ir.Value]) -> ir.Value:
        """What was made for a key, or is made now."""
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def constant(self, array: np.ndarray[Any, Any]) -> ir.Value:
        """An initializer of its own."""

        def make() -> ir.Value:
            name = self._unused("onereshape/constant")
            tensor = ir.tensor(np.ascontiguousarray(array).reshape(array.shape), name=name)
            kind = ir.TensorType(tensor.dtype)
            value = ir.Value(name=name, shape=ir.Shape(array.shape), type=kind, const_value=tensor)
            self.graph.register_initializer(value)
            return value

        return self.once(("constant", array.dtype.str, array.shape, array.tobytes()), make)

    def integers(self, numbers: Sequence[int]) -> ir.Value:
        """A constant vector."""
        return self.constant(np.array(numbers, np.int64))

    def front(
        self,
        op: str,
        inputs: Sequence[ir.Value],
        attributes: Mapping[str, Any] = _NO_ATTRIBUTES,
        kind: ir.DataType = ir.DataType.INT64,
        name: str = "",
    ) -> ir.Value:
        """A new node before all others."""
        called = self._unused(name or f"onereshape/{op}")
        node = ir.node(op, inputs, dict(attributes), domain=self._domain, name=called)
        node.outputs[0].name = called
        node.outputs[0].type = ir.TensorType(kind)
        self.added.append(node)
        if self._front is None:
            self.graph.append(node)
        else:
            self.graph.insert_before(self._front, node)
        return node.outputs[0]

    def copy(self, node: ir.Node, inputs: Sequence[ir.Value | None], before: ir.Node) -> ir.Value:
        """The same operator on other inputs."""
        attributes = list(node.attributes.values())
        copy = ir.Node(node.domain, node.op_type, inputs, attributes, overload=node.overload)
        copy.name = self._unused(f"{node.name or node.op_type}/free")
        copy.outputs[0].name = self._unused(f"{node.outputs[0].name}/free")
        copy.outputs[0].type = node.outputs[0].type
        self.graph.insert_before(before, copy)
        self.added.append(copy)
        return copy.outputs[0]

    # Sizes

    def size(self, size: Size) -> ir.Value:
        """A size, as a vector of one element."""
        if isinstance(size, int):
            return self.integers([size])
        return self.once(("size", size), lambda: self._sum(size))

    def vector(self, entries: Sequence[Size]) -> ir.Value:
        """A vector of sizes; a constant where all are numbers."""
        numbers = [entry for entry in entries if isinstance(entry, int)]
        if len(numbers) == len(entries):
            return self.integers(numbers)
        return self.once(("vector", *entries), lambda: self._vector(entries))

    def scalar(self, size: Size) -> ir.Value:
        """A size, as a tensor without dims."""
        if isinstance(size, int):
            return self.constant(np.array(size, np.int64))
        # A Reshape, since every opset says it alike.
        return self.once(("scalar", size), lambda: self.front("Reshape", [self.size(size), self.integers([])]))

    def count(self, size: Size) -> ir.Value:
        """0, 1, 2 ... as many as the size."""
        bounds = [0, size, 1]
        return self.once(("count", size), lambda: self.front("Range", [self.scalar(each) for each in bounds]))

    def _vector(self, entries: Sequence[Size]) -> ir.Value:
        parts: list[ir.Value] = []
        numbers: list[int] = []
        for entry in entries:
            if isinstance(entry, int):
                numbers.append(entry)
                continue
            if numbers:
                parts.append(self.integers(numbers))
                numbers = []
            parts.append(self.size(entry))
        if numbers:
            parts.append(self.integers(numbers))
        return parts[0] if len(parts) == 1 else self.front("Concat", parts, {"axis": 0})

    def _sum(self, size: Formula) -> ir.Value:
        total: ir.Value | None = None
        for monomial, coefficient in size.terms:
            if not monomial:
                continue
            term = self._product(monomial)
            if coefficient != 1:
                term = self.front("Mul", [term, self.integers([coefficient])])
            total = term if total is None else self.front("Add", [total, term])
        number = dict(size.terms).get((), 0)
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
            return self._symbol(atom)
        # Sizes are not negative, so a quotient that is cut towards 0 is rounded down.
        return self.front("Div", [self.size(atom.top), self.integers([atom.bottom])])

    def _symbol(self, name: str) -> ir.Value:
        source, axis = self._sources[name]
        value = self._inputs[source]
        if self.opset >= 15:
            return self.front("Shape", [value], {"start": axis, "end": axis + 1}, name=name)
        whole = self.once(("shape", source), lambda: self.front("Shape", [value]))
        return self.front("Gather", [whole, self.integers([axis])], {"axis": 0}, name=name)

    def _unused(self, name: str) -> str:
        """A name that no other value or node has."""
        count, found = 0, name
        while found in self._names:
            count += 1
            found = f"{name}_{count}"
        self._names.add(found)
        return found


def _names(model: ir.Model) -> set[str]:
    """All names of values and nodes, in subgraphs too."""
    names: set[str] = set()
    for graph in model.graphs():
        names.update(value.name or "" for value in (*graph.inputs, *graph.initializers.values()))
        for node in graph:
            names.add(node.name or "")
            names.update(value.name or "" for value in node.outputs)
    return names
