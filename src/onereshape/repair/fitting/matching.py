"""Exports of one model side by side, from the outputs backwards: the constants in which they differ.

Values that all exports compute by the same nodes are one place; where the nodes differ, but every export computes the
place from constants alone, it is a constant.  A node that an export has not, since it does nothing there, is added to
it.  What differs in any other way has no place, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.graphs.constants import constant_tensor, dims_of_tensor
from onereshape.graphs.export_sizes import listed
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.facts.order import nodes_of
from onereshape.graphs.folding.folding import Folding
from onereshape.graphs.record import record_of
from onereshape.graphs.registry import operator_of
from onereshape.graphs.shapes import facts_of
from onereshape.ground.errors import FixError
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.idle import IDLE, handed_on, idling
from onereshape.repair.fitting.likeness import (
    GRAPHS,
    Nodes,
    equal,
    graphs_of,
    same_kind,
    signature,
    stored_alike,
    unlikeness,
)
from onereshape.rule.sizes import Size

_MOST_IDLE = 3
"""Nodes one after the other that an export does not have."""

Counterparts = tuple[ir.Value | None, ...]
"""One value of each export."""


class Matched:
    """Exports side by side."""

    def __init__(self, models: Sequence[ir.Model]) -> None:
        self.models = models
        self.inputs: dict[Nodes, list[Counterparts]] = {}
        """The nodes that are paired, with their inputs, and with what the graphs inside of them give."""
        self.constants: dict[Counterparts, tuple[Array, ...]] = {}
        """Counterparts that are constants and differ -> the constant in each export."""
        self._apart: dict[Counterparts, str] = {}
        """What is not paired, and why."""
        self._left: set[Nodes] = set()
        """Nodes that need something that is not paired."""
        self._inner: dict[ir.Value, tuple[Nodes, int]] = {}
        """The inputs of graphs inside, by node and place."""
        self.added: set[ir.Node] = set()
        """Nodes that do nothing, and are in no graph: where an export has none, and another one has."""
        self._places: dict[Counterparts, Counterparts] = {}
        """What stands for values: the same, or what added nodes give."""
        self._makers: dict[Counterparts, Nodes] = {}
        self._facts: dict[int, Facts] = {}
        self._foldings: dict[int, Folding] = {}
        self.outputs = self._outputs()
        self._pair()
        firsts = {nodes[0] for nodes in self.inputs}
        self.alike = not self._apart and not self.added and len(firsts) == len(self.inputs)
        """Whether every node of the first export has its own in the others, so that none depends on the order."""
        self._users = self._read_by() if self._apart else {}
        self._mend()

    def made(self, values: Counterparts) -> Nodes | None:
        """The nodes that make values, where these are paired and are no constants."""
        nodes = self._makers.get(values)
        return None if nodes is None or nodes in self._left or values in self.constants else nodes

    def _outputs(self) -> list[Counterparts]:
        outputs = [model.graph.outputs for model in self.models]
        names = [[value.name for value in each] for each in outputs]
        other = next((each for each in names if each != names[0]), None)
        if other is not None:
            raise FixError("unlike", why=f"their outputs are {listed(names[0])} and {listed(other)}")
        return [tuple(map(handed_on, each)) for each in zip(*outputs, strict=True)]

    def _pair(self) -> None:
        """Pairs all that the outputs need."""
        places, makers, inputs = self._places, self._makers, self.inputs
        self.outputs = [self._placed(values) for values in self.outputs]
        pending = [nodes for values in self.outputs if (nodes := makers.get(values)) is not None]
        while pending:
            nodes = pending.pop()
            if nodes in inputs:
                continue
            inputs[nodes] = read = [places.get(values) or self._placed(values) for values in self._read(nodes)]
            pending += [made for values in read if (made := makers.get(values)) is not None and made not in inputs]

    def _placed(self, values: Counterparts) -> Counterparts:
        """The counterparts that stand for values: the same, or alike ones behind idle nodes or in front of Casts."""
        place = self._places.get(values)
        if place is not None:
            return place
        nodes = self._compare(values)
        if nodes is not None:
            self._makers[values] = nodes
        found = (self._uncast(values) or self._bridged(values)) if values in self._apart else None
        if found is not None:
            del self._apart[values]
        place = self._places[values] = values if found is None else self._placed(found)
        return place

    def _compare(self, values: Counterparts) -> Nodes | None:
        """Notes why values do not match, or how they differ; the nodes that make them, where some do."""
        computed = _computed(values)
        if computed is not None and _one(computed, values):  # type: ignore[arg-type]
            return computed  # as most do
        if None in values:
            if any(value is not None for value in values):
                self._apart[values] = "a node of one export has an input that it does not have in another"
            return None
        known: tuple[ir.Value, ...] = values  # type: ignore[assignment]
        tensors = [tensor for value in known if (tensor := constant_tensor(value)) is not None]
        if len(tensors) == len(known):
            self._constants(values, tensors)
            return None
        nodes = tuple([maker for value in known if (maker := value.producer()) is not None])
        if tensors or 0 < len(nodes) < len(known):
            self._apart[values] = unlikeness(known)
        elif not nodes:
            if not self._same_input(known):
                self._apart[values] = unlikeness(known)
        elif not _one(nodes, known):
            self._apart[values] = unlikeness(known)
        else:
            return nodes
        return None

    # A node that some exports have only, since it does nothing in the others

    def _bridged(self, values: Counterparts) -> Counterparts | None:
        """The outputs of an idle node, added where an export lacks it; None unless just one makes values alike."""
        known = [value for value in values if value is not None]
        steps = self._steps(known, _MOST_IDLE) if len(known) == len(values) else []
        if len(steps) != 1:  # of two orders of two nodes, none is known to be right
            return None
        place = steps[0]
        node = known[place].producer()
        if node is None:
            return None
        mark = signature(node)
        found: list[ir.Value] = []
        for other, value in enumerate(known):
            maker = value.producer()
            if maker is None or signature(maker) != mark:
                dims = self._known_dims(other, value)
                if dims is None:
                    return None
                maker = idling(node, lambda slot: self._given(place, node, slot), value, dims)
                if maker is None:
                    return None
                self.added.add(maker)
            found.append(maker.outputs[0])
        return tuple(found)

    def _uncast(self, values: Counterparts) -> Counterparts | None:
        """Values in front of Casts to the type that their data have already; None if no value comes from one."""
        found = list(values)
        for place, value in enumerate(values):
            maker = None if value is None else value.producer()
            data = maker.inputs[0] if maker is not None and operator_of(maker) == "Cast" else None
            if maker is not None and data is not None:
                same = self._fact(place).kinds.get(data) == maker.attributes.get_int("to")
                found[place] = handed_on(data) if same else value
        return tuple(found) if found != list(values) else None

    def _steps(self, values: Sequence[ir.Value], most: int) -> list[int]:
        """An export whose node the others lack, for each first one of as few such nodes as make values alike."""
        paths = [[(values, -1)]]
        for _ in range(most):
            paths = [[*path, step] for path in paths for step in _peeled(path[-1][0])]
            alike = [path for path in paths if self._alike(path[-1][0])]
            if alike:
                return list({path[1][1]: None for path in alike})
        return []

    def _alike(self, values: Sequence[ir.Value]) -> bool:
        nodes = [maker for value in values if (maker := value.producer()) is not None]
        if any(constant_tensor(value) is not None for value in values):
            return False
        if not nodes:
            return self._same_input(values)
        return len(nodes) == len(values) and _one(nodes, values)

    def _known_dims(self, place: int, value: ir.Value) -> list[int] | None:
        dims = self._fact(place).dims_of(value) or [None]
        known = [size for size in dims if isinstance(size, int)]
        return known if len(known) == len(dims) else None

    def _given(self, place: int, node: ir.Node, slot: int) -> Array | None:
        value = node.inputs[slot] if slot < len(node.inputs) else None
        return None if value is None else self._folding(place).array(value)

    def _same_input(self, values: Sequence[ir.Value]) -> bool:
        """Whether inputs are the same one: of the model by their name; of a graph inside by their place."""
        inner = [self._inner.get(value) for value in values]
        if any(each is not None for each in inner):
            return len({*inner}) == 1
        return len({value.name for value in values}) == 1

    def _constants(self, values: Counterparts, tensors: Sequence[Any]) -> None:
        first, *others = tensors
        if len(others) == 1 and stored_alike(*tensors):
            return  # as most are
        if all(stored_alike(tensor, first) for tensor in others):
            return
        kind, rank = first.dtype, len(dims_of_tensor(first))
        if any(tensor.dtype != kind or len(dims_of_tensor(tensor)) != rank for tensor in others):
            name = values[0].name if values[0] is not None else ""
            self._apart[values] = f"the constant {name} has another type, or another number of dims, in another export"
            return
        arrays = tuple(np.asarray(tensor.numpy()) for tensor in tensors)
        if not all(equal(array, arrays[0]) for array in arrays[1:]):
            self.constants[values] = arrays

    def _read(self, nodes: Nodes) -> list[Counterparts]:
        """What nodes read, side by side: their inputs, and what the graphs inside of them give."""
        read = [node.inputs for node in nodes]
        found: list[Counterparts] = [tuple(map(handed_on, each)) for each in zip(*read, strict=True)]
        for name, attribute in nodes[0].attributes.data.items():
            if attribute.type not in GRAPHS:
                continue  # as most are
            for graphs in zip(*(graphs_of(node.attributes[name]) for node in nodes), strict=True):
                for place, inputs in enumerate(zip(*(graph.inputs for graph in graphs), strict=True)):
                    self._inner.update(dict.fromkeys(inputs, (nodes, place)))
                found += [
                    tuple(map(handed_on, each)) for each in zip(*(graph.outputs for graph in graphs), strict=True)
                ]
        return found

    # What does not match may be a constant in every export

    def _mend(self) -> None:
        """Makes a constant of each place that is not paired; where it is none, what needs it is not paired either."""
        ends = set(self.outputs)
        for root in self._ordered(self._apart):
            pending = [root]
            while pending:
                values = pending.pop()
                if self._folded(values):
                    continue
                if values in ends:
                    raise FixError("unlike", why=self._apart[root])
                for nodes in self._users.get(values, ()):
                    if nodes not in self._left:
                        self._left.add(nodes)
                        outputs = zip(*(node.outputs for node in nodes), strict=True)
                        pending += [output for output in outputs if output in self._users or output in ends]
        for output, values in zip(self.models[0].graph.outputs, self.outputs, strict=True):
            if values in self.constants:
                raise FixError("unlike", why=f"the output {output.name} is a constant, and another in each export")

    def _read_by(self) -> dict[Counterparts, list[Nodes]]:
        """Which nodes read values."""
        found: dict[Counterparts, list[Nodes]] = {}
        for nodes, read in self.inputs.items():
            for values in read:
                found.setdefault(values, []).append(nodes)
        return found

    def _ordered(self, places: Iterable[Counterparts]) -> list[Counterparts]:
        """Places in the order of the first export's graph: by what makes them, or by what reads them first."""
        order = {node: number for number, node in enumerate(nodes_of(self.models[0].graph))} if places else {}

        def number(values: Counterparts) -> int:
            maker = values[0].producer() if values[0] is not None else None
            nodes = [maker] if maker is not None else [each[0] for each in self._users.get(values, ())]
            return min((order.get(node, len(order)) for node in nodes), default=len(order))

        return sorted(places, key=number)

    def _folded(self, values: Counterparts) -> bool:
        """Whether every export computes a place from constants alone."""
        arrays: list[Array] = []
        for place, value in enumerate(values):
            found = None if value is None else self._folding(place).array(value)
            if found is None or (arrays and (found.dtype, found.ndim) != (arrays[0].dtype, arrays[0].ndim)):
                return False
            arrays.append(found)
        if not all(equal(array, arrays[0]) for array in arrays[1:]):
            self.constants[values] = tuple(arrays)
        return True

    def _folding(self, place: int) -> Folding:
        if place not in self._foldings:
            imports = self.models[place].graph.opset_imports
            opset = imports.get("", imports.get("ai.onnx", 1))
            self._foldings[place] = Folding(partial(self._read_dims, place), opset)
        return self._foldings[place]

    def _read_dims(self, place: int, value: ir.Value) -> Sequence[Size | None] | None:
        """The dims of a value that a Shape reads; how large all else is that is folded shows when it is."""
        if place not in self._facts and not any(record_of(node).from_dims for node, _ in value.uses()):
            return None
        return self._fact(place).dims_of(value)

    def _fact(self, place: int) -> Facts:
        if place not in self._facts:
            self._facts[place] = facts_of(self.models[place])
        return self._facts[place]


def _one(nodes: Sequence[ir.Node], values: Sequence[ir.Value]) -> bool:
    """Whether nodes have one signature, and the values are outputs of theirs at one index."""
    first, index = nodes[0], values[0].index()
    for place in range(1, len(nodes)):
        if values[place].index() != index or not same_kind(nodes[place], first):
            return False
    return True


def _computed(values: Counterparts) -> Nodes | None:
    """The nodes that make values; None where one of them is a constant, or an input, or is missing."""
    found: list[ir.Node] = []
    for value in values:
        maker = None if value is None or value.const_value is not None else value.producer()
        if maker is None or maker.op_type == "Constant":
            return None
        found.append(maker)
    return tuple(found)


def _peeled(values: Sequence[ir.Value]) -> list[tuple[list[ir.Value], int]]:
    """For each kind of idle node that an export lacks: values in front of it, and the number of an export with it."""
    makers = [value.producer() for value in values]
    marks = [
        None if maker is None or operator_of(maker) not in IDLE or value.index() else signature(maker)
        for maker, value in zip(makers, values, strict=True)
    ]
    found: list[tuple[list[ir.Value], int]] = []
    for mark in dict.fromkeys(mark for mark in marks if mark is not None):
        below: list[ir.Value] = []
        for own, maker, value in zip(marks, makers, values, strict=True):
            data = handed_on(maker.inputs[0]) if own == mark and maker is not None else value
            below += [] if data is None else [data]
        if len(below) == len(values) and marks.count(mark) < len(values):
            found.append((below, marks.index(mark)))
    return found
