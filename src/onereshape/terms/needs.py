"""Needs: the nodes of a graph that an output rests on, and the node after which each value is needed no more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import onnx_ir as ir

GRAPHS: Final = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
"""The kinds of attributes that are graphs inside a node."""


def unneeded(graph: ir.Graph) -> frozenset[ir.Node]:
    """The nodes that no output needs; of an If whose condition is a constant, what the other branch reads."""
    needed: set[ir.Node] = set()
    pending: list[ir.Value | None] = list(graph.outputs)
    while pending:
        value = pending.pop()
        maker = None if value is None else value.producer()
        if maker is None or maker in needed:
            continue
        needed.add(maker)
        pending += maker.inputs
        for inner in _taken(maker):
            pending += [*inner.outputs, *(each for node in inner.all_nodes() for each in node.inputs)]
    return frozenset(node for node in graph if node not in needed)


def _taken(node: ir.Node) -> list[ir.Graph]:
    """The graphs inside of a node that may be run."""
    found = {
        name: [each.as_graph()] if each.type == ir.AttributeType.GRAPH else list(each.as_graphs())
        for name, each in node.attributes.items()
        if each.type in GRAPHS and not each.is_ref()
    }
    chosen = node.inputs[0] if node.op_type == "If" and node.inputs else None
    if (
        chosen is not None
        and chosen.is_initializer()
        and not chosen.is_graph_input()
        and chosen.const_value is not None
    ):
        taken = "then_branch" if np.all(chosen.const_value.numpy()) else "else_branch"
        return found.get(taken, [])
    return [graph for graphs in found.values() for graph in graphs]


def last_uses(nodes: Sequence[ir.Node], outputs: Iterable[ir.Value]) -> dict[int, list[ir.Value]]:
    """The values that are read for the last time, by the place of the node that reads them."""
    last: dict[ir.Value, int] = {}
    for place, node in enumerate(nodes):
        for value in (*node.outputs, *_read(node)):
            last[value] = place
    kept = set(outputs)
    found: dict[int, list[ir.Value]] = {}
    for value, place in last.items():
        if value not in kept:
            found.setdefault(place, []).append(value)
    return found


def _read(node: ir.Node) -> Iterator[ir.Value]:
    """All values that a node reads, in its bodies too."""
    yield from (value for value in node.inputs if value is not None)
    for attribute in node.attributes.values():
        if attribute.is_ref() or attribute.type not in GRAPHS:
            continue
        for graph in [attribute.as_graph()] if attribute.type == ir.AttributeType.GRAPH else attribute.as_graphs():
            yield from graph.outputs
            for inner in graph:
                yield from _read(inner)
