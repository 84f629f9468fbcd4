"""What a repaired model still needs: its names, the nodes and constants that somebody uses, and the rest removed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX, roots, subgraphs


def names_of(model: ir.Model) -> set[str]:
    """All names of values and nodes, in subgraphs and functions too."""
    names: set[str] = set()
    pending = [root for root, _ in roots(model)]
    while pending:
        graph = pending.pop()
        names.update(value.name or "" for value in graph.inputs)
        names.update(getattr(graph, "initializers", {}))
        for node in graph:
            names.add(node.name or "")
            names.update(value.name or "" for value in node.outputs)
            if node.attributes:
                pending += [inner for _, inner in subgraphs(node)]
    return names


def needed(graph: ir.Graph) -> Iterator[ir.Node | ir.Value]:
    """The nodes and constants that somebody uses."""
    for node in graph:
        if any(map(_is_used, node.outputs)):
            yield node
    for value in graph.initializers.values():
        if _is_used(value):
            yield value


def live_nodes(graph: ir.Graph, instead: Mapping[ir.Node, Sequence[ir.Value]] = MappingProxyType({})) -> set[ir.Node]:
    """The nodes that outputs of a graph are computed by; `instead`: values that nodes read in place of their inputs."""
    found: set[ir.Node] = set()
    pending: list[ir.Value | None] = list(graph.outputs)
    while pending:
        value = pending.pop()
        maker = None if value is None else value.producer()
        if maker is None or maker.graph is not graph or maker in found:
            continue
        found.add(maker)
        pending += instead.get(maker, maker.inputs)
        for _, inner in subgraphs(maker):
            pending += list(inner.outputs)
            for node in inner.all_nodes():
                pending += node.inputs
    return found


def remove_unused(graph: ir.Graph, candidates: set[ir.Node | ir.Value]) -> None:
    """Removes those of the nodes and constants that nobody uses any more."""
    for node in reversed(list(graph)):
        if node in candidates and not any(map(_is_used, node.outputs)):
            graph.remove(node, safe=True)
    for name, value in list(graph.initializers.items()):
        if value in candidates and not (_is_used(value) or value.is_graph_input()):
            del graph.initializers[name]


def bury(model: ir.Model, left: list[ir.Value]) -> None:
    """Removes what nobody needs any more of all that lost a user, in any graph; the list is empty then."""
    while left:
        value = left.pop()
        if _is_used(value):
            continue
        maker = value.producer()
        if maker is None:
            if value.is_initializer() and not value.is_graph_input() and value.graph is not None:
                value.graph.initializers.pop(value.name or "")
            continue
        if maker.graph is not None and _removable(maker, model):
            left += [each for each in maker.inputs if each is not None]
            maker.graph.remove(maker, safe=True)


def _is_used(value: ir.Value) -> bool:
    return bool(value.uses()) or value.is_graph_output()


def _removable(node: ir.Node, model: ir.Model) -> bool:
    """Whether a node does nothing but make outputs that nobody needs."""
    plain = node.domain in ONNX and node.op_identifier() not in model.functions and not any(subgraphs(node))
    return plain and not any(map(_is_used, node.outputs))
