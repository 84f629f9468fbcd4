"""Builder: the few nodes that a repair adds to a graph, each made once.

What depends on nothing but N stands at the front of the graph; a tensor that is spread over the batch is spread right
after it was made, for all who need it so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.dims import Product, Size
from onereshape.models.additions import NO_ATTRIBUTES, Additions
from onereshape.models.batch.marks import Mark, times

Entry = Size | ir.Value
"""An element of a vector of sizes: a number, a multiple of N, or a vector of one element."""

LAST = 2**63 - 1
"""The end of a slice that takes all there is."""


class Shift(NamedTuple):
    """How far indices that count along the batch move from sample to sample."""

    step: int
    """The entries that one sample has there."""
    home: Mark
    """Where the indices carry N."""
    rank: int
    column: int | None = None
    """Which column of the last axis counts along the batch; None: there are no columns."""
    width: int = 0
    short: bool = False
    """Whether the indices are int32."""


class Builder(Additions):
    """Adds nodes to the main graph of a model."""

    def __init__(self, model: ir.Model, source: str, axis: int, symbol: str) -> None:
        super().__init__(model)
        self.symbol = symbol
        self._source = next(value for value in self.graph.inputs if value.name == source)
        self._axis = axis

    def batch(self) -> ir.Value:
        """N, as a vector of one element."""
        return self.once(("batch",), lambda: self.dim(self._source, self._axis, self.symbol))

    def multiple(self, size: Size) -> ir.Value:
        """A multiple of N, as a vector of one element."""
        if isinstance(size, Product) and size.symbols != (self.symbol,):
            raise KeyError(size)
        number = size if isinstance(size, int) else size.coefficient
        if isinstance(size, int):
            return self.integers([number])
        if number == 1:
            return self.batch()
        return self.once(("multiple", number), lambda: self.front("Mul", [self.batch(), self.integers([number])]))

    def vector(self, entries: Sequence[Entry], before: ir.Node | None = None) -> ir.Value:
        """A vector of sizes; a constant where all are numbers."""
        if all(isinstance(entry, int) for entry in entries):
            return self.integers([entry for entry in entries if isinstance(entry, int)])
        parts = self.pieces(entries, lambda entry: entry if isinstance(entry, ir.Value) else self.multiple(entry))
        if len(parts) == 1:
            return parts[0]
        if any(isinstance(entry, ir.Value) for entry in entries):
            return self.insert(before, "Concat", parts, {"axis": 0})
        return self.once(("vector", *entries), lambda: self.front("Concat", parts, {"axis": 0}))

    def typed(self, integers: ir.Value, kind: ir.DataType | None, before: ir.Node) -> ir.Value:
        """A vector in the type that its place asks for."""
        if kind != ir.DataType.INT32:
            return integers
        return self.insert(before, "Cast", [integers], {"to": int(ir.DataType.INT32)})

    def range(self) -> ir.Value:
        """0 to N - 1."""

        def make() -> ir.Value:
            # A Range of scalars; the vector of one element becomes one by a Reshape, which every opset says alike.
            limit = self.front("Reshape", [self.batch(), self.constant(np.empty(0, np.int64))])
            scalars = [self.constant(np.array(number, np.int64)) for number in (0, 1)]
            return self.front("Range", [scalars[0], limit, scalars[1]])

        return self.once(("range",), make)

    def offsets(self, step: int, home: Mark, rank: int) -> ir.Value:
        """`step` times the number of the sample, laid along an axis."""

        def make() -> ir.Value:
            numbers = self.range()
            if step != 1:
                numbers = self.front("Mul", [numbers, self.integers([step])])
            if home.inner != 1:  # each number as often as a sample has entries there
                column = self.front("Reshape", [numbers, self.integers([-1, 1])])
                numbers = self.front("Expand", [column, self.vector([1, home.inner])])
            dims = [-1 if each == home.axis else 1 for each in range(rank)]
            return numbers if rank == 1 and home.inner == 1 else self.front("Reshape", [numbers, self.integers(dims)])

        return self.once(("offsets", step, home, rank), make)

    def spread(self, value: ir.Value, dims: Sequence[Size], mark: Mark) -> ir.Value:
        """The tensor, which is the same for all samples, with N of it at the place of the mark."""

        def make() -> ir.Value:
            ones: list[Entry] = [1] * len(dims)
            if mark.outer == 1:
                ones[mark.axis] = Product(1, (self.symbol,))
                op = "Expand" if mark.inner == 1 and self.opset >= 8 else "Tile"
                return self.after(value, op, [value, self.vector(ones)])
            split: list[Entry] = [*dims[: mark.axis], mark.outer, 1, mark.inner, *dims[mark.axis + 1 :]]
            apart = self.after(value, "Reshape", [value, self.vector(split)])
            wide: list[Entry] = [1] * len(split)
            wide[mark.axis + 1] = Product(1, (self.symbol,))
            many = self.after(apart, "Expand" if self.opset >= 8 else "Tile", [apart, self.vector(wide)])
            joined: list[Entry] = [*dims]
            joined[mark.axis] = times(mark.outer, Product(1, (self.symbol,)), mark.inner)
            return self.after(many, "Reshape", [many, self.vector(joined)])

        return self.once(("spread", value, mark), make)

    def first(self, value: ir.Value, axis: int, count: int) -> ir.Value:
        """The first `count` entries along an axis."""

        def make() -> ir.Value:
            if self.opset < 10:
                bounds = {"starts": [0], "ends": [count], "axes": [axis]}
                return self.after(value, "Slice", [value], bounds)
            return self.after(value, "Slice", [value, *(self.integers([each]) for each in (0, count, axis))])

        return self.once(("first", value, axis, count), make)

    def after(
        self, value: ir.Value, op: str, inputs: Sequence[ir.Value], attributes: Mapping[str, Any] = NO_ATTRIBUTES
    ) -> ir.Value:
        """A new node right after the one that makes `value`."""
        maker = value.producer()
        if maker is None or maker in self._fronted:
            return self.front(op, inputs, attributes)
        node = self.node(op, inputs, attributes)
        self.graph.insert_after(maker, node)
        return node.outputs[0]

    def insert(
        self, before: ir.Node | None, op: str, inputs: Sequence[ir.Value], attributes: Mapping[str, Any] = NO_ATTRIBUTES
    ) -> ir.Value:
        """A new node right before another."""
        if before is None:
            return self.front(op, inputs, attributes)
        node = self.node(op, inputs, attributes)
        self.graph.insert_before(before, node)
        return node.outputs[0]

    def replace(
        self, node: ir.Node, op: str, inputs: Sequence[ir.Value | None], attributes: Mapping[str, Any] = NO_ATTRIBUTES
    ) -> None:
        """Another node in the place of one with a single output."""
        value = node.outputs[0]
        new = self.insert(node, op, [each for each in inputs if each is not None], attributes)
        self._take_place(node, value, new)
        if node is self._front:
            self._front = new.producer()
        self.graph.remove(node, safe=True)

    def reshape_output(self, node: ir.Node, dims: Sequence[Size]) -> None:
        """A Reshape after a node, to these dims, for all who use its output."""
        value = node.outputs[0]
        target = self.vector(list(dims))
        last = self.node("Reshape", [value, target], NO_ATTRIBUTES)
        self.graph.insert_after(node, last)
        self._take_place(last, value, last.outputs[0])

    def shifted(self, node: ir.Node, indices: ir.Value, shift: Shift) -> ir.Value:
        """Indices within one sample, as indices within all: `step` entries further for each sample."""
        kind: Any = np.int32 if shift.short else np.int64
        offsets = self.offsets(shift.step, shift.home, shift.rank)
        if kind is np.int32:
            offsets = self._short(offsets)
        if shift.column is None:
            within = self.insert(node, "Mod", [indices, self.constant(np.array([shift.step], kind))])
            return self.insert(node, "Add", [within, offsets])
        # The other columns stay: of those, nothing is taken modulo 1 and moved, and all is kept.
        chosen = np.zeros(shift.width, kind)
        chosen[shift.column] = 1
        cycle = self.constant(np.where(chosen == 1, shift.step, 1).astype(kind))
        within = self.insert(node, "Mod", [indices, cycle])
        kept = self.insert(node, "Mul", [indices, self.constant((1 - chosen).astype(kind))])
        column = self.once(
            ("column", offsets, shift.width, shift.column),
            lambda: self.front("Mul", [offsets, self.constant(chosen)]),
        )
        return self.insert(node, "Add", [self.insert(node, "Add", [kept, within]), column])

    def _short(self, integers: ir.Value) -> ir.Value:
        to = {"to": int(ir.DataType.INT32)}
        return self.once(("short", integers), lambda: self.front("Cast", [integers], to))

    def _take_place(self, node: ir.Node, old: ir.Value, new: ir.Value) -> None:
        """Gives the uses, the name and the declaration of a value to another, of which `node` must stay a user."""
        new.shape, new.type = old.shape, old.type
        old.shape = None
        for user, index in tuple(old.uses()):
            if user is not node and user is not new.producer():
                user.replace_input_with(index, new)
        if old.is_graph_output():
            for index, output in enumerate(self.graph.outputs):
                if output is old:
                    self.graph.outputs[index] = new
        old.name, new.name = new.name, old.name
