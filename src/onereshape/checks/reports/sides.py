"""A model as it is drawn: its nodes under names that last from the original to what was repaired.

The layers of an IR are what its image is drawn with: all nodes of one layer are one box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import onnx_ir as ir

from onereshape.checks.show import SizeNames, given_places, listed_dims
from onereshape.formats.ir_as_onnx.drawing import KEY, Net, mark_of, net_of
from onereshape.formats.onnx.onnx_graphs import nodes, roots, subgraphs
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.shapes import GivenAxes, facts_of
from onereshape.rule.sizes import Formula

_MOST_WORDS = 64
"""Elements of a constant that are read to be shown."""


class Side:
    """One model, the original or the repaired one, with the dims that are to be free."""

    def __init__(self, model: ir.Model, freed: GivenAxes) -> None:
        self.model = model
        self.net: Net | None = net_of(model.graph)
        named = given_places(model)
        self._freed = {name: {**named.get(name, {}), **freed.get(name, {})} for name in {**named, **freed}}
        self._keys: dict[ir.Node, str] = {}
        self._layers: dict[str, str] = {}
        self.boxes: dict[str, list[ir.Node]] = {}
        """The nodes of each box, by its key."""
        self.owners: dict[ir.Graph, ir.Node] = {}
        """The node whose branch or body a graph is."""
        for root, start in roots(model):
            self._name(root, "" if start == "graph" else f"{start}\n")

    @cached_property
    def facts(self) -> Facts:
        """What is known of its values."""
        return facts_of(self.model, self._freed)

    @cached_property
    def _words(self) -> SizeNames:
        return SizeNames(self.facts)

    def __contains__(self, node: object) -> bool:
        return node in self._keys

    def key(self, node: ir.Node) -> str:
        """The key of the box that a node is in."""
        return self._keys[node]

    def title(self, key: str) -> tuple[str, str]:
        """The operator of a box and its name."""
        node = self.boxes[key][-1]
        mark = mark_of(node)
        if self.net is not None and mark is not None:
            layer = self.net.body.layers[mark.drawing.layer]
            return layer.get("type", ""), layer.get("name", "")
        return node.op_type, node.name or ""

    def dims(self, value: ir.Value) -> str:
        """The dims of a value in words; empty where not even their number is known."""
        found = self.facts.dims.get(value) if self.facts.dims_of(value) is not None else None
        return "" if found is None else listed_dims(self._words.dims(found))

    def carries(self, value: ir.Value, names: frozenset[str]) -> bool:
        """Whether a size of these names is in the dims of a value, or in what it holds."""
        dims = self.facts.dims_of(value) or ()
        if any(isinstance(size, Formula) and not names.isdisjoint(size.symbols) for size in dims):
            return True
        held = self.facts.held(value)
        if held is None or held.size > _MOST_WORDS:
            return False
        return any(isinstance(each, Formula) and not names.isdisjoint(each.symbols) for each in held.flat)

    def constant(self, value: ir.Value) -> str | None:
        """What a constant holds, in words; None for a value that a run makes."""
        maker = value.producer()
        if value.const_value is None and (maker is None or maker.op_type != "Constant"):
            return None
        held = self.facts.held(value)
        if held is None or held.size > _MOST_WORDS or any(each is None for each in held.flat):
            return f"constant {self.dims(value)}".rstrip()
        words = held.reshape(-1).tolist()
        return str(words[0]) if held.ndim == 0 else listed_dims(tuple(words))

    def called(self, value: ir.Value) -> str:
        """The name of a constant."""
        maker = value.producer()
        number = value.meta.get(KEY)
        if self.net is not None and isinstance(number, str) and number in self.net.body.layers:
            return self.net.body.layers[number].get("name", "")
        return (maker.name if maker is not None else None) or value.name or ""

    @cached_property
    def places(self) -> Mapping[str, str]:
        """The key of the box at each place, as findings name them."""
        if self.net is None:
            found = (each for root, start in roots(self.model) for each in nodes(root, start))
            return {place: self._keys[node] for node, place in found}
        layers = {layer.get("id", ""): place for layer, place in self.net.body.places()}
        known: dict[str, str] = {}
        for node, key in self._keys.items():
            if (mark := mark_of(node)) is not None and mark.drawing.layer in layers:
                known.setdefault(layers[mark.drawing.layer], key)
        return known

    @cached_property
    def names(self) -> Mapping[str, str]:
        """The key of the box of each name, the first where several have it; a node without one by its output too."""
        found: dict[str, str] = {}
        for key, members in self.boxes.items():
            node = members[-1]
            found.setdefault(self.title(key)[1], key)
            if node.outputs:
                found.setdefault(f"{node.op_type} of {node.outputs[0].name}", key)
        found.pop("", None)
        return found

    def _name(self, graph: ir.Graph | ir.Function, prefix: str) -> None:
        for node in graph:
            key = self._new_key(node, prefix)
            self._keys[node] = key
            self.boxes.setdefault(key, []).append(node)
            for label, inner in subgraphs(node):
                self.owners[inner] = node
                self._name(inner, f"{key}\n{label}\n")

    def _new_key(self, node: ir.Node, prefix: str) -> str:
        mark = mark_of(node)
        if self.net is not None and mark is not None:
            number = mark.drawing.layer
            if number not in self._layers:
                name = f"{prefix}{self.net.body.layers[number].get('name') or number}"
                self._layers[number] = name if name not in self.boxes else f"{name}\t{number}"
            return self._layers[number]
        key = f"{prefix}{node.name}" if node.name else f"{prefix}\t{node.outputs[0].name if node.outputs else ''}"
        if key in self.boxes:  # two nodes of one name: by what they make
            key = f"{key}\t{node.outputs[0].name if node.outputs else len(self.boxes)}"
        while key in self.boxes:
            key += "\t"
        return key


def inputs_of(side: Side, key: str) -> Iterator[ir.Value]:
    """The values that come into a box from outside of it."""
    members = set(side.boxes[key])
    for node in side.boxes[key]:
        for value in node.inputs:
            if value is not None and value.producer() not in members:
                yield value


def outputs_of(side: Side, key: str) -> Iterator[ir.Value]:
    """The values that leave a box."""
    members = set(side.boxes[key])
    for node in side.boxes[key]:
        for value in node.outputs:
            if value.is_graph_output() or any(use.node not in members for use in value.uses()):
                yield value
