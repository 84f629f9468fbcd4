"""The nodes of a graph in an order in which makers stand before readers, and the graphs inside of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush

import onnx_ir as ir

_GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


class CircleError(ValueError):
    """The nodes of a graph need one another in a circle, so that no order is right."""


def inner_graphs(node: ir.Node) -> list[ir.Graph]:
    """The branches and bodies of a node."""
    found: list[ir.Graph] = []
    for attribute in node.attributes.data.values():  # of the dict itself: this is asked of every node
        kind = attribute.type
        if kind not in _GRAPHS or attribute.is_ref():
            continue
        found += [attribute.as_graph()] if kind == ir.AttributeType.GRAPH else attribute.as_graphs()
    return found


def nodes_of(graph: ir.Graph) -> Iterator[ir.Node]:
    """The nodes of a graph and of the graphs inside its nodes, a node before what is inside it."""
    for node in graph:
        yield node
        for inner in inner_graphs(node) if node.attributes.data else ():
            yield from nodes_of(inner)


def values_of(graph: ir.Graph) -> Iterable[ir.Value]:
    """All values of a graph and of those in it."""
    yield from graph.inputs
    yield from graph.initializers.values()
    for node in graph:
        yield from node.outputs
        for inner in inner_graphs(node):
            yield from values_of(inner)


def ordered(graph: ir.Graph) -> Iterable[ir.Node]:
    """The nodes of a graph, makers before readers, whatever order the file has."""
    nodes = list(graph)
    used: set[ir.Value | None] = set()
    for node in nodes:
        used.update(_read(node) if node.attributes.data and inner_graphs(node) else node.inputs)
        if not used.isdisjoint(node.outputs):
            return _sorted(nodes)
    return nodes


def _sorted(nodes: Sequence[ir.Node]) -> list[ir.Node]:
    """The nodes sorted so that makers stand before readers, else in the order of the file; a circle is refused."""
    places = {node: place for place, node in enumerate(nodes)}
    readers: list[list[int]] = [[] for _ in nodes]
    missing = [0] * len(nodes)
    for place, node in enumerate(nodes):
        needs = {places[maker] for value in _read(node) if (maker := value.producer()) in places and maker is not None}
        missing[place] = len(needs)
        for need in needs:
            readers[need].append(place)
    ready = [place for place, count in enumerate(missing) if count == 0]  # a heap, as it rises
    found: list[ir.Node] = []
    while ready:
        place = heappop(ready)
        found.append(nodes[place])
        for reader in readers[place]:
            missing[reader] -= 1
            if missing[reader] == 0:
                heappush(ready, reader)
    if len(found) < len(nodes):
        raise CircleError
    return found


def _read(node: ir.Node) -> Iterator[ir.Value]:
    """The values that a node reads, in the graphs inside it too."""
    for value in node.inputs:
        if value is not None:
            yield value
    for graph in inner_graphs(node):
        for inner in graph:
            yield from _read(inner)
        yield from graph.outputs
