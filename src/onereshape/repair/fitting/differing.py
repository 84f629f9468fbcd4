"""differing(): the places of a model at which its exports differ, each an input or an attribute of one node.

A node of the first export may stand for several of another: it shares what is the same at its sizes only.  Then it is
written as often as there are different ones.  A node that the first export has not, since it does nothing there, is
written into it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.constants import DEFAULTS
from onereshape.graphs.facts.order import nodes_of
from onereshape.graphs.unneeded import names_of
from onereshape.ground.errors import FixError
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.idle import handed_on
from onereshape.repair.fitting.likeness import Nodes, differing_numbers, graphs_of, label
from onereshape.repair.fitting.matching import Counterparts, Matched


class Use(NamedTuple):
    """A place at which the exports differ: an input, or an attribute, of a node of the first one."""

    node: ir.Node
    slot: int | str
    """Which input, or which attribute."""
    arrays: tuple[Array, ...]
    """The constant at this place in each export."""
    name: str
    """The name of the constant in the first export, or of the attribute."""


def differing(models: Sequence[ir.Model]) -> list[Use]:
    """The places at which exports differ, in the order of the first one's graph, written apart where it has to be."""
    matched = Matched(models)
    pairs = _reached(matched)
    _insert(models[0], [nodes[0] for nodes in pairs if nodes[0] in matched.added])
    homes = _unshared(matched, pairs)
    places = {node: place for place, node in enumerate(nodes_of(models[0].graph))}
    found = [use for nodes in pairs for use in _uses(matched, nodes, homes)]
    once = {(use.node, use.slot): use for use in found}
    return sorted(once.values(), key=lambda use: (places[use.node], str(use.slot)))


def _reached(matched: Matched) -> list[Nodes]:
    """The paired nodes that the outputs need, makers before readers; nodes that only make constants are left out."""
    if matched.alike:
        return list(matched.inputs)[::-1]
    order: dict[Nodes, None] = {}
    pending = [(nodes, False) for values in matched.outputs if (nodes := matched.made(values)) is not None]
    while pending:
        nodes, ready = pending.pop()
        if nodes in order:
            continue
        if ready:
            order[nodes] = None
            continue
        pending.append((nodes, True))
        made = map(matched.made, matched.inputs[nodes])
        pending += [(each, False) for each in made if each is not None and each not in order]
    return list(order)


def _uses(matched: Matched, nodes: Nodes, homes: Mapping[Nodes, ir.Node]) -> Iterator[Use]:
    read, constants = matched.inputs[nodes], matched.constants
    numbers_of = differing_numbers(nodes) if nodes[0].attributes.data else ()
    if not numbers_of and constants.keys().isdisjoint(read):
        return  # as most are
    home = homes.get(nodes, nodes[0])
    for slot, values in enumerate(read):
        arrays = constants.get(values)
        if arrays is not None:
            if slot >= len(home.inputs):
                raise FixError(
                    "unlike", why=f"what a graph inside {label(home)} gives is another constant in each export"
                )
            yield Use(home, slot, arrays, (values[0].name if values[0] is not None else None) or "")
    for name, numbers in numbers_of:
        yield Use(home, name, tuple(map(np.array, numbers)), f"attribute {name} of {label(home)}")


def _unshared(matched: Matched, pairs: Sequence[Nodes]) -> dict[Nodes, ir.Node]:
    """The node of the first export that stands for each pair, new ones among them; none where it stays as it is."""
    shared = max(Counter(nodes[0] for nodes in pairs).values(), default=1) > 1
    if not shared and not any(nodes[0] in matched.added for nodes in pairs):
        return {}
    marks: dict[Nodes, int] = {}
    known: dict[tuple[Any, ...], int] = {}
    homes: dict[Nodes, ir.Node] = {}
    written: dict[int, ir.Node] = {}
    taken: set[ir.Node] = set()
    for nodes in pairs:
        read = [_mark(matched, values, marks) for values in matched.inputs[nodes]]
        key = (nodes[0], *read, *differing_numbers(nodes))
        mark = marks[nodes] = known.setdefault(key, len(known))
        if mark not in written:
            written[mark] = _again(nodes[0], mark) if nodes[0] in taken else nodes[0]
            taken.add(nodes[0])
        homes[nodes] = written[mark]
    for nodes, home in homes.items():
        _rewire(matched, nodes, home, homes)
    _hand_out(matched, [matched.models[0].graph], matched.outputs, homes)
    return homes


def _mark(matched: Matched, values: Counterparts, marks: Mapping[Nodes, int]) -> Any:
    """A key of an input of paired nodes: equal inputs have equal keys."""
    arrays = matched.constants.get(values)
    if arrays is not None:
        return tuple((array.shape, array.tobytes()) for array in arrays)
    nodes = matched.made(values)
    first = values[0]
    return first if nodes is None or first is None else (marks[nodes], first.index())


def _insert(model: ir.Model, nodes: Sequence[ir.Node]) -> None:
    """Puts nodes right behind what they read, and their constants among the model's."""
    names = names_of(model) if nodes else set()
    for node in nodes:
        for value in node.inputs[1:]:
            if value is not None and value.const_value is not None:
                value.name = _unused(value.name, names)
                model.graph.register_initializer(value)
                if model.ir_version < DEFAULTS:
                    model.graph.inputs.append(value)
        node.name, node.outputs[0].name = _unused(node.name, names), _unused(node.outputs[0].name, names)
        data = node.inputs[0]
        maker = None if data is None else data.producer()
        graph = model.graph if data is None else data.graph or model.graph
        if maker is not None and maker.graph is not None:
            maker.graph.insert_after(maker, node)
        elif (first := next(iter(graph), None)) is not None:
            graph.insert_before(first, node)
        else:
            graph.append(node)


def _unused(name: str | None, names: set[str]) -> str:
    found = name or "idle"
    while found in names:
        found += "_"
    names.add(found)
    return found


def _rewire(matched: Matched, nodes: Nodes, home: ir.Node, homes: Mapping[Nodes, ir.Node]) -> None:
    """Has a node of the first export read what its pair says."""
    read = matched.inputs[nodes]
    for slot, values in enumerate(read[: len(home.inputs)]):
        output = _home(matched, values, homes)
        if output is not None and handed_on(home.inputs[slot]) is not output:
            home.replace_input_with(slot, output)
    graphs = [graph for attribute in home.attributes.data.values() for graph in graphs_of(attribute)]
    _hand_out(matched, graphs, read[len(home.inputs) :], homes)


def _home(matched: Matched, values: Counterparts, homes: Mapping[Nodes, ir.Node]) -> ir.Value | None:
    """What stands for values in the first export, where a node makes them."""
    made, first = matched.made(values), values[0]
    return None if made is None or first is None else homes[made].outputs[first.index() or 0]


def _hand_out(
    matched: Matched, graphs: Sequence[ir.Graph], given: Sequence[Counterparts], homes: Mapping[Nodes, ir.Node]
) -> None:
    """Has graphs of the first export give what their pairs say, under the names that they had."""
    places = [(graph, place) for graph in graphs for place in range(len(graph.outputs))]
    for (graph, place), values in zip(places, given, strict=True):
        output, old = _home(matched, values, homes), graph.outputs[place]
        if output is None or handed_on(old) is output:
            continue
        maker = old.producer()
        if maker is not None and handed_on(old) is not old:
            maker.replace_input_with(0, output)
            continue
        if maker is None or output.is_graph_output() or output.graph is not graph:
            raise FixError("unlike", why=f"the output {old.name} is made by other nodes in another export")
        output.type, output.shape = old.type, old.shape
        old.name, output.name = output.name, old.name
        graph.outputs[place] = output


def _again(node: ir.Node, number: int) -> ir.Node:
    """A second node with the inputs and attributes of the first, right behind it; its output y is `y/again3`."""
    attributes = list(node.attributes.values())
    if any(graphs_of(attribute) for attribute in attributes):
        raise FixError(
            "unlike", why=f"{label(node)}, which has a graph inside, stands for several nodes of another export"
        )
    count = len(node.outputs)
    made = ir.Node(node.domain, node.op_type, node.inputs, attributes, overload=node.overload, num_outputs=count)
    made.name = f"{node.name or node.op_type}/again{number}"
    for old, new in zip(node.outputs, made.outputs, strict=True):
        new.name, new.type, new.shape = f"{old.name}/again{number}", old.type, old.shape
    if node.graph is not None:
        node.graph.insert_after(node, made)
    return made
