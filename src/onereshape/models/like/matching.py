"""Exports of one model side by side, from the outputs backwards: the constants in which they differ.

Values that several exports compute by the same nodes are one place; where the nodes differ, but every export computes
the place from constants alone, it is a constant.  What differs in any other way has no place, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.errors import FixError
from onereshape.models.batch.folding import Folding
from onereshape.models.constants import constant_tensor
from onereshape.models.record import operator_of
from onereshape.models.shapes import facts_of

Array = np.ndarray[Any, Any]
Values = tuple[ir.Value | None, ...]
"""One value of each export."""
Nodes = tuple[ir.Node, ...]

_NUMBERS = frozenset(
    {ir.AttributeType.INT, ir.AttributeType.INTS, ir.AttributeType.FLOAT, ir.AttributeType.FLOATS}
)
_GRAPHS = frozenset({ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS})


class Use(NamedTuple):
    """A place at which the exports differ: an input, or an attribute, of a node of the first one."""

    node: ir.Node
    slot: int | str
    """Which input, or which attribute."""
    arrays: tuple[Array, ...]
    """What each export has there."""
    names: tuple[str, ...]
    """What each export calls it."""


def differing(models: Sequence[ir.Model]) -> list[Use]:
    """The places at which exports differ, in the order of the first one's graph.

    Where the first one shares a node that the others have several of, it gets as many: it is changed, though not in
    what it computes.
    """
    found = _Matching(models)
    found.pair()
    found.unshare()
    places = {node: place for place, node in enumerate(models[0].graph.all_nodes())}
    return sorted(found.uses(), key=lambda use: (places[use.node], str(use.slot)))


class _Matching:
    def __init__(self, models: Sequence[ir.Model]) -> None:
        self.models = models
        self.children: dict[Nodes, list[Values]] = {}
        """The nodes that are paired, and their inputs; those of graphs inside them too."""
        self.parents: dict[Values, list[Nodes]] = {}
        self.leaves: dict[Values, tuple[Array, ...]] = {}
        """The constants that differ."""
        self.broken: dict[Values, str] = {}
        """What cannot be paired, and why."""
        self.cut: set[Nodes] = set()
        """Nodes of which all that is asked is a constant."""
        self._inner: dict[ir.Value, tuple[Nodes, int]] = {}
        self._foldings: list[Folding | None] = [None] * len(models)

    def pair(self) -> None:
        """Pairs all that the outputs need."""
        outputs = [model.graph.outputs for model in self.models]
        names = [[value.name for value in each] for each in outputs]
        other = next((each for each in names if each != names[0]), None)
        if other is not None:
            raise FixError("unlike", why=f"their outputs are {_listed(names[0])} and {_listed(other)}")
        tops: list[Values] = [tuple(map(_plain, each)) for each in zip(*outputs, strict=True)]
        self._walk(tops)
        self._mend(tops)
        for values in tops:
            if values in self.leaves and values[0] is not None:
                raise FixError("unlike", why=f"the output {values[0].name} is a constant, and another in each export")

    def _walk(self, tops: Sequence[Values]) -> None:
        pending = list(tops)
        seen: set[Values] = set()
        while pending:
            values = pending.pop()
            if values in seen:
                continue
            seen.add(values)
            why, nodes = self._compare(values)
            if why:
                self.broken[values] = why
            elif nodes is not None and nodes not in self.children:
                children = self._inputs(nodes)
                if isinstance(children, str):
                    self.broken[values] = children
                    continue
                self.children[nodes] = children
                for child in children:
                    self.parents.setdefault(child, []).append(nodes)
                    pending.append(child)

    def _compare(self, values: Values) -> tuple[str, Nodes | None]:
        """Why values do not match, and the nodes that make them where they are made by some."""
        if all(value is None for value in values):
            return "", None
        if any(value is None for value in values):
            return "an input that one export gives is missing in another", None
        known = [value for value in values if value is not None]
        tensors = [constant_tensor(value) for value in known]
        if all(tensor is not None for tensor in tensors):
            return self._constants(values, tensors), None
        makers = [value.producer() for value in known]
        if all(maker is None for maker in makers):
            if any(tensor is not None for tensor in tensors) or not self._same_input(known):
                return f"{_told(known[0])} of one export stands beside {_told(_other(known))} of another", None
            return "", None
        nodes = tuple(maker for maker in makers if maker is not None)
        if len(nodes) < len(makers) or any(tensor is not None for tensor in tensors):
            return f"{_told(known[0])} of one export stands beside {_told(_other(known))} of another", None
        indices = {value.index() for value in known}
        if len({_signature(node) for node in nodes}) > 1 or len(indices) > 1:
            return _apart(known, nodes), None
        return "", nodes

    def _same_input(self, values: Sequence[ir.Value]) -> bool:
        """Whether inputs are the same one: of the model by their name; of a graph inside by their place."""
        inner = [self._inner.get(value) for value in values]
        if any(each is not None for each in inner):
            return len({*inner}) == 1
        return len({value.name for value in values}) == 1

    def _constants(self, values: Values, tensors: Sequence[Any]) -> str:
        first, *others = tensors
        if any(tensor.dtype != first.dtype for tensor in others):
            return "a constant has another type"
        if all(tensor is first for tensor in others):
            return ""
        arrays = tuple(np.asarray(tensor.numpy()) for tensor in tensors)
        if any(array.ndim != arrays[0].ndim for array in arrays):
            return "a constant has another number of dims"
        if not all(_equal(array, arrays[0]) for array in arrays[1:]):
            self.leaves[values] = arrays
        return ""

    def _inputs(self, nodes: Nodes) -> list[Values] | str:
        """The inputs of nodes side by side, what graphs inside give among them; or why there are none."""
        children: list[Values] = [tuple(map(_plain, each)) for each in zip(*(node.inputs for node in nodes), strict=True)]
        for name in nodes[0].attributes:
            attributes = [node.attributes[name] for node in nodes]
            if attributes[0].type in _GRAPHS:
                graphs = [_graphs(attribute) for attribute in attributes]
                for inside in zip(*graphs, strict=True):
                    if any(len(each.inputs) != len(inside[0].inputs) or len(each.outputs) != len(inside[0].outputs) for each in inside):
                        return "a graph inside has other inputs or outputs"
                    for place, inputs in enumerate(zip(*(each.inputs for each in inside), strict=True)):
                        for value in inputs:
                            self._inner[value] = nodes, place
                    children += [tuple(map(_plain, each)) for each in zip(*(each.outputs for each in inside), strict=True)]
        return children

    # What does not match may be a constant in every export

    def _mend(self, tops: Sequence[Values]) -> None:
        """Makes a constant of every place that does not match; where that is none, the nodes that need it do not match."""
        pending = list(self.broken)
        first = self.broken.get(pending[0], "") if pending else ""
        ends = set(tops)
        while pending:
            values = pending.pop()
            why = self.broken[values]
            if self._folded(values):
                del self.broken[values]
                continue
            if values in ends:
                raise FixError("unlike", why=why or first)
            for nodes in self.parents.get(values, ()):
                if nodes in self.cut:
                    continue
                self.cut.add(nodes)
                for output in zip(*(node.outputs for node in nodes), strict=True):
                    if output in self.parents or output in ends:
                        self.broken[output] = why
                        pending.append(output)

    def _folded(self, values: Values) -> bool:
        """Whether every export computes a place from constants alone."""
        arrays: list[Array] = []
        for place, value in enumerate(values):
            found = None if value is None else self._folding(place).array(value)
            if found is None:
                return False
            arrays.append(found)
        if any(array.dtype != arrays[0].dtype or array.ndim != arrays[0].ndim for array in arrays):
            return False
        if all(_equal(array, arrays[0]) for array in arrays[1:]):
            return True
        self.leaves[values] = tuple(arrays)
        return True

    def _folding(self, place: int) -> Folding:
        found = self._foldings[place]
        if found is None:
            model = self.models[place]
            imports = model.graph.opset_imports
            found = Folding(facts_of(model).dims_of, imports.get("", imports.get("ai.onnx", 1)))
            self._foldings[place] = found
        return found

    # What one export shares, and another does not

    def unshare(self) -> None:
        """Gives the first export a node for each that is another one in the others."""
        kept = self._reached()
        several: dict[ir.Node, int] = {}
        for nodes in kept:
            several[nodes[0]] = several.get(nodes[0], 0) + 1
        if all(count == 1 for count in several.values()):
            return
        marks: dict[Nodes, int] = {}
        known: dict[tuple[Any, ...], int] = {}
        homes: dict[int, ir.Node] = {}
        taken: set[ir.Node] = set()
        renamed: dict[Nodes, Nodes] = {}
        for nodes in self._ordered(kept):
            signs = tuple(self._sign(child, marks) for child in self.children[nodes])
            key = (nodes[0], signs, tuple(_attributes(nodes)))
            mark = marks[nodes] = known.setdefault(key, len(known))
            if mark not in homes:
                homes[mark] = nodes[0] if nodes[0] not in taken else _copy(nodes[0], len(homes))
                taken.add(nodes[0])
            renamed[nodes] = (homes[mark], *nodes[1:])
        self._rewire(renamed)

    def _reached(self) -> list[Nodes]:
        """The pairs that the outputs need, without what is below constants."""
        pending: list[Values] = [tuple(map(_plain, each)) for each in zip(*(model.graph.outputs for model in self.models), strict=True)]
        found: dict[Nodes, None] = {}
        while pending:
            values = pending.pop()
            nodes = self._made(values)
            if nodes is not None and nodes not in found:
                found[nodes] = None
                pending += self.children[nodes]
        return list(found)

    def _made(self, values: Values) -> Nodes | None:
        """The nodes that make values, where these are paired and no constants."""
        if values in self.leaves or any(value is None for value in values):
            return None
        nodes = tuple(value.producer() for value in values if value is not None)
        return nodes if nodes in self.children and nodes not in self.cut else None  # type: ignore[comparison-overlap,return-value]

    def _ordered(self, kept: Sequence[Nodes]) -> Iterator[Nodes]:
        """Each after those that it needs."""
        done: set[Nodes] = set()
        for top in kept:
            pending = [(top, False)]
            while pending:
                nodes, ready = pending.pop()
                if nodes in done:
                    continue
                if ready:
                    done.add(nodes)
                    yield nodes
                    continue
                pending.append((nodes, True))
                made = (self._made(child) for child in self.children[nodes])
                pending += [(each, False) for each in made if each is not None and each not in done]

    def _sign(self, values: Values, marks: Mapping[Nodes, int]) -> Any:
        """What tells one input from another."""
        if values in self.leaves:
            return tuple((array.shape, array.tobytes()) for array in self.leaves[values])
        nodes = self._made(values)
        if nodes is None:
            return values[0]
        return marks[nodes], values[0].index() if values[0] is not None else None

    def _rewire(self, renamed: Mapping[Nodes, Nodes]) -> None:
        """Has every node of the first export read what its pair says."""
        children = {}
        leaves = dict(self.leaves)
        for nodes, new in renamed.items():
            inputs: list[Values] = []
            for slot, values in enumerate(self.children[nodes]):
                made = self._made(values)
                if made is not None and values[0] is not None and slot < len(new[0].inputs):
                    output = renamed[made][0].outputs[values[0].index() or 0]
                    if new[0].inputs[slot] is not output and _plain(new[0].inputs[slot]) is not output:
                        new[0].replace_input_with(slot, output)
                    inputs.append((output, *values[1:]))
                else:
                    inputs.append(values)
            children[new] = inputs
        self.children = {**{nodes: each for nodes, each in self.children.items() if nodes not in renamed}, **children}
        self.leaves = leaves

    def uses(self) -> Iterator[Use]:
        """The places that differ."""
        for nodes in self._reached():
            for slot, values in enumerate(self.children[nodes]):
                if values in self.leaves and slot < len(nodes[0].inputs):
                    names = tuple((value.name or "") if value is not None else "" for value in values)
                    yield Use(nodes[0], slot, self.leaves[values], names)
                elif values in self.leaves:
                    raise FixError("unlike", why=f"what a graph inside {_label(nodes[0])} gives is another constant")
            for name, arrays in _attributes(nodes):
                label = f"attribute {name} of {_label(nodes[0])}"
                yield Use(nodes[0], name, tuple(map(np.array, arrays)), (label,) * len(nodes))


def _attributes(nodes: Nodes) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The attributes of numbers that differ."""
    for name, attribute in nodes[0].attributes.items():
        if attribute.type in _NUMBERS and not attribute.is_ref():
            found = tuple(_hashable(node.attributes[name].value) for node in nodes)
            if len({*found}) > 1:
                yield name, found


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, Sequence) else value


def _signature(node: ir.Node) -> tuple[Any, ...]:
    """What paired nodes have in common: the operator, and all of its attributes that are no numbers."""
    attributes = [_attribute(name, attribute) for name, attribute in sorted(node.attributes.items())]
    present = tuple(value is None for value in node.inputs)
    return operator_of(node), present, len(node.outputs), tuple(attributes)


def _attribute(name: str, attribute: ir.Attr) -> tuple[Any, ...]:
    if attribute.is_ref():
        return name, attribute.ref_attr_name
    if attribute.type in _NUMBERS:
        count = len(attribute.value) if isinstance(attribute.value, Sequence) else None
        return name, attribute.type, count
    if attribute.type in _GRAPHS:
        return name, attribute.type, len(_graphs(attribute))
    if attribute.type == ir.AttributeType.TENSOR:
        array = np.asarray(attribute.value.numpy())
        return name, array.dtype.str, array.shape, array.tobytes()
    return name, str(attribute.value)


def _graphs(attribute: ir.Attr) -> Sequence[ir.Graph]:
    return [attribute.as_graph()] if attribute.type == ir.AttributeType.GRAPH else list(attribute.as_graphs())


def _plain(value: ir.Value | None) -> ir.Value | None:
    """A value without the Identity nodes that hand it on."""
    while value is not None and (maker := value.producer()) is not None and operator_of(maker) == "Identity":
        value = maker.inputs[0]
    return value


def _equal(one: Array, other: Array) -> bool:
    return one.shape == other.shape and (one is other or one.tobytes() == other.tobytes())


def _copy(node: ir.Node, number: int) -> ir.Node:
    """The same node once more, right behind it."""
    graph = node.graph
    made = ir.Node(node.domain, node.op_type, node.inputs, list(node.attributes.values()), overload=node.overload, num_outputs=len(node.outputs))
    made.name = f"{node.name or node.op_type}/again{number}"
    for old, new in zip(node.outputs, made.outputs, strict=True):
        new.name, new.type, new.shape = f"{old.name}/again{number}", old.type, old.shape
    if graph is not None:
        graph.insert_after(node, made)
    return made


def _told(value: ir.Value) -> str:
    maker = value.producer()
    if maker is None:
        return f"{'the constant' if value.is_initializer() else 'the input'} {value.name}"
    return f"{maker.op_type} {maker.name or value.name}"


def _apart(values: Sequence[ir.Value], nodes: Nodes) -> str:
    """How nodes differ."""
    counts = [len(node.inputs) for node in nodes]
    if len({node.op_type for node in nodes}) == 1 and len({*counts}) > 1:
        several = " and ".join(map(str, dict.fromkeys(counts)))
        return f"{_told(values[0])} has {several} inputs, as if a loop over a size had been written out"
    return f"{_told(values[0])} of one export stands beside {_told(_other(values))} of another"


def _other(values: Sequence[ir.Value]) -> ir.Value:
    first = _told(values[0])
    return next((value for value in values if _told(value) != first), values[-1])


def _label(node: ir.Node) -> str:
    return node.name or f"{node.op_type} of {node.outputs[0].name}"


def _listed(names: Sequence[str | None]) -> str:
    return ", ".join(map(str, names[:8])) or "none"
