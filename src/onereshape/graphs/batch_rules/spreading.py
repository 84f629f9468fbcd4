"""Nodes written for N samples: shared tensors spread over the batch, and the numbers of samples, 0 to N - 1."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set as AbstractSet
from math import lcm
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.rewrite import Entry, Rewriter
from onereshape.rule.sizes import Atom, Formula, Size, product, symbol


class DimOfValue(NamedTuple):
    """A dim of a value."""

    value: ir.Value
    axis: int


class Shift(NamedTuple):
    """How far indices that count along the batch move from sample to sample."""

    step: Size
    """The entries that one sample has there; a number, where anything is written."""
    home: Mark
    """Where the indices carry N."""
    rank: int
    column: int | None = None
    """Which column of the last axis counts along the batch; None: there are no columns."""
    width: int = 0
    short: bool = False
    """Whether the indices are int32."""


def offsets(writer: Rewriter, step: Size, home: Mark, rank: int) -> ir.Value:
    """`step` times the number of the sample, laid along an axis."""

    def make() -> ir.Value:
        numbers = writer.count(_batch(writer))
        if step != 1:
            numbers = writer.front("Mul", [numbers, writer.size(step)])
        if home.inner != 1:  # each number as often as a sample has entries there
            column = writer.front("Reshape", [numbers, writer.integers([-1, 1])])
            numbers = writer.front("Expand" if writer.opset >= 8 else "Tile", [column, writer.vector([1, home.inner])])
        dims = [-1 if each == home.axis else 1 for each in range(rank)]
        return numbers if rank == 1 and home.inner == 1 else writer.front("Reshape", [numbers, writer.integers(dims)])

    return writer.once(("offsets", step, home, rank), make)


def spread(writer: Rewriter, value: ir.Value, dims: Sequence[Size], mark: Mark) -> ir.Value:
    """The tensor, which is the same for all samples, with N of it at the place of the mark."""

    def make() -> ir.Value:
        ones: list[Entry] = [1] * len(dims)
        if mark.outer == 1:
            ones[mark.axis] = _batch(writer)
            op = "Expand" if mark.inner == 1 and writer.opset >= 8 else "Tile"
            return writer.after(value, op, [value, writer.vector(ones)])
        split: list[Entry] = [*dims[: mark.axis], mark.outer, 1, mark.inner, *dims[mark.axis + 1 :]]
        apart = writer.after(value, "Reshape", [value, writer.vector(split)])
        wide: list[Entry] = [1] * len(split)
        wide[mark.axis + 1] = _batch(writer)
        many = writer.after(apart, "Expand" if writer.opset >= 8 else "Tile", [apart, writer.vector(wide)])
        joined: list[Entry] = [*dims]
        joined[mark.axis] = product([mark.outer, _batch(writer), mark.inner])
        return writer.after(many, "Reshape", [many, writer.vector(joined)])

    return writer.once(("spread", value, mark), make)


def first(writer: Rewriter, value: ir.Value, axis: int, count: int) -> ir.Value:
    """The first `count` entries along an axis."""

    def make() -> ir.Value:
        if writer.opset < 10:
            bounds = {"starts": [0], "ends": [count], "axes": [axis]}
            return writer.after(value, "Slice", [value], bounds)
        return writer.after(value, "Slice", [value, *(writer.integers([each]) for each in (0, count, axis))])

    return writer.once(("first", value, axis, count), make)


def shifted(writer: Rewriter, node: ir.Node, indices: ir.Value, shift: Shift) -> ir.Value:
    """Indices within one sample, as indices within all: `step` entries further for each sample."""
    kind: Any = np.int32 if shift.short else np.int64
    step = shift.step if isinstance(shift.step, int) else 0
    moved = offsets(writer, shift.step, shift.home, shift.rank)
    if kind is np.int32:
        whole, to = moved, {"to": int(ir.DataType.INT32)}
        moved = writer.once(("short", whole), lambda: writer.front("Cast", [whole], to))
    if shift.column is None:
        within = _within(writer, node, indices, step, kind)
        return writer.insert(node, "Add", [within, moved])
    # The other columns stay: of those, nothing is taken modulo 1 and moved, and all is kept.
    chosen = np.zeros(shift.width, kind)
    chosen[shift.column] = 1
    cycle = writer.constant(np.where(chosen == 1, step, 1).astype(kind))
    within = writer.insert(node, "Mod", [indices, cycle])
    kept = writer.insert(node, "Mul", [indices, writer.constant((1 - chosen).astype(kind))])
    column = writer.once(
        ("column", moved, shift.width, shift.column),
        lambda: writer.front("Mul", [moved, writer.constant(chosen)]),
    )
    return writer.insert(node, "Add", [writer.insert(node, "Add", [kept, within]), column])


def _within(writer: Rewriter, node: ir.Node, indices: ir.Value, step: int, kind: Any) -> ir.Value:
    """Indices within `step` entries, counted from the first of them."""
    if writer.opset >= 10:
        return writer.insert(node, "Mod", [indices, writer.constant(np.array([step], kind))])
    # Before there is a Mod: what is picked of 0, 1, 2 ... is its place.
    return writer.insert(node, "Gather", [writer.constant(np.arange(step, dtype=kind)), indices], {"axis": 0})


def named_dims(
    graph: ir.Graph, before: ir.Node, names: AbstractSet[str], dims: Callable[[ir.Value], Sequence[Size] | None]
) -> dict[str, DimOfValue]:
    """For each name a value that has it for a dim: an input of the graph, or what is made before a node."""
    found: dict[str, DimOfValue] = {}

    def look(values: Iterable[ir.Value]) -> bool:
        for value in values:
            for axis, size in enumerate(dims(value) or ()):
                name = size.name if isinstance(size, Formula) else None
                if name is not None and name in names:
                    found.setdefault(name, DimOfValue(value, axis))
        return len(found) == len(names)

    if look(graph.inputs):
        return found
    for node in graph:
        if node is before or look(node.outputs):
            break
    return found


def computed(writer: Rewriter, node: ir.Node, size: Size, places: Mapping[str, DimOfValue]) -> ir.Value:
    """A size, as a vector of one element, that is computed right before a node from the dims of values."""

    def of(part: Size) -> ir.Value:
        if isinstance(part, int):
            return writer.integers([part])
        if (scale := lcm(*(coefficient.denominator for _, coefficient in part.terms))) > 1:
            return writer.insert(node, "Div", [of(part * scale), writer.integers([scale])])
        terms = [[*map(atom, monomial), *_factor(int(coefficient), monomial)] for monomial, coefficient in part.terms]
        products = [chained("Mul", each) for each in terms]
        return chained("Add", products)

    def _factor(coefficient: int, monomial: Sequence[Atom]) -> list[ir.Value]:
        return [] if coefficient == 1 and monomial else [writer.integers([coefficient])]

    def chained(op: str, values: Sequence[ir.Value]) -> ir.Value:
        total, *others = values
        for other in others:
            total = writer.insert(node, op, [total, other])
        return total

    def atom(each: Atom) -> ir.Value:
        if isinstance(each, str):
            if each not in places:
                return writer.size(symbol(each))
            shape = writer.insert(node, "Shape", [places[each].value])
            return writer.insert(node, "Gather", [shape, writer.integers([places[each].axis])], {"axis": 0})
        # Sizes are not negative, so a quotient that is cut towards 0 is rounded down.
        op = each.name if each.name in {"Max", "Min"} else "Div"
        return writer.insert(node, op, [of(part) for part in each.parts])

    return of(size)


def _batch(writer: Rewriter) -> Formula:
    """N, which is the first symbol."""
    return symbol(writer.symbols[0])
