"""The nodes of a graph, each after those that it needs, and the graphs inside of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter

import onnx_ir as ir


class CircleError(ValueError):
    """The nodes of a graph need one another in a circle."""


def inner_graphs(node: ir.Node) -> Iterator[ir.Graph]:
    """The branches and bodies of a node."""
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
            yield attribute.as_graph()
        elif attribute.type == ir.AttributeType.GRAPHS and not attribute.is_ref():
            yield from attribute.as_graphs()


def values_of(graph: ir.Graph) -> Iterable[ir.Value]:
    """All values of a graph and of those in it."""
    yield from graph.inputs
    yield from graph.initializers.values()
    for node in graph:
        yield from node.outputs
        for inner in inner_graphs(node):
            yield from values_of(inner)


def ordered(graph: ir.Graph) -> Iterable[ir.Node]:
    """The nodes, each after those that it needs; files may list them in another order."""
    seen: set[ir.Value] = set()
    nodes = list(graph)
    made = {value for node in nodes for value in node.outputs}
    for node in nodes:
        for value in _read(node):
            if value in made and value not in seen:
                return _sorted(nodes)
        seen.update(node.outputs)
    return nodes


def _sorted(nodes: Sequence[ir.Node]) -> list[ir.Node]:
    here = set(nodes)
    needs = {
        node: {maker for value in _read(node) if (maker := value.producer()) in here and maker is not None}
        for node in nodes
    }
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError:
        raise CircleError from None


def _read(node: ir.Node) -> Iterator[ir.Value]:
    """The values that a node reads, in the graphs inside it too."""
    for value in node.inputs:
        if value is not None:
            yield value
    for graph in inner_graphs(node):
        for inner in graph:
            yield from _read(inner)
        yield from graph.outputs
