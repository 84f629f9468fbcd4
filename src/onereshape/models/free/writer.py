"""Writer: the nodes that a freed model needs, each made once.

Sizes are formulas of the dims of the inputs, and are computed at the front of the graph; copies of nodes stand before
those that need them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx_ir as ir

from onereshape.models.additions import Additions
from onereshape.models.free.formula import Atom, Formula, Size


class Writer(Additions):
    """Adds nodes to the main graph of a model."""

    def __init__(self, model: ir.Model, sources: Mapping[str, tuple[str, int]]) -> None:
        super().__init__(model)
        self._inputs = {value.name: value for value in model.graph.inputs}
        self._sources = sources

    def copy(self, node: ir.Node, inputs: Sequence[ir.Value | None], before: ir.Node) -> ir.Value:
        """The same operator on other inputs."""
        attributes = list(node.attributes.values())
        copy = ir.Node(node.domain, node.op_type, inputs, attributes, overload=node.overload)
        copy.name = self.unused(f"{node.name or node.op_type}/free")
        copy.outputs[0].name = self.unused(f"{node.outputs[0].name}/free")
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
        parts = self.pieces(entries, self.size)
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
        return self.dim(self._inputs[source], axis, name)
