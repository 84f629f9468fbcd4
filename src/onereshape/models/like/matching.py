"""Exports of one model side by side, from the outputs backwards: the constants in which they differ.

Values that all exports compute by the same nodes are one place; where the nodes differ, but every export computes the
place from constants alone, it is a constant.  What differs in any other way has no place, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.errors import FixError
from onereshape.models.batch.folding import Folding
from onereshape.models.constants import constant_tensor
from onereshape.models.like.likeness import Array, Nodes, apart, equal, graphs_of, handed_on, listed, signature
from onereshape.models.shapes import facts_of

Values = tuple[ir.Value | None, ...]
"""One value of each export."""


class Matched:
    """Exports side by side."""

    def __init__(self, models: Sequence[ir.Model]) -> None:
        self.models = models
        self.inputs: dict[Nodes, list[Values]] = {}
        """The nodes that are paired, with their inputs, and with what the graphs inside of them give."""
        self.constants: dict[Values, tuple[Array, ...]] = {}
        """The constants that differ, as each export has them."""
        self._users: dict[Values, list[Nodes]] = {}
        self._apart: dict[Values, str] = {}
        """What is not paired, and why."""
        self._left: set[Nodes] = set()
        """Nodes that need something that is not paired."""
        self._inner: dict[ir.Value, tuple[Nodes, int]] = {}
        """The inputs of graphs inside, by node and place."""
        self._foldings: list[Folding | None] = [None] * len(models)
        self.outputs = self._outputs()
        self._pair()
        self._mend()

    def made(self, values: Values) -> Nodes | None:
        """The nodes that make values, where these are paired and are no constants."""
        if values in self.constants:
            return None
        makers = tuple(value.producer() for value in values if value is not None)
        nodes = tuple(maker for maker in makers if maker is not None)
        return nodes if nodes in self.inputs and nodes not in self._left else None

    def _outputs(self) -> list[Values]:
        outputs = [model.graph.outputs for model in self.models]
        names = [[value.name for value in each] for each in outputs]
        other = next((each for each in names if each != names[0]), None)
        if other is not None:
            raise FixError("unlike", why=f"their outputs are {listed(names[0])} and {listed(other)}")
        return [tuple(map(handed_on, each)) for each in zip(*outputs, strict=True)]

    def _pair(self) -> None:
        """Pairs all that the outputs need."""
        pending = list(self.outputs)
        seen: set[Values] = set()
        while pending:
            values = pending.pop()
            if values in seen:
                continue
            seen.add(values)
            nodes = self._compare(values)
            if nodes is not None and nodes not in self.inputs:
                self.inputs[nodes] = self._read(nodes)
                for each in self.inputs[nodes]:
                    self._users.setdefault(each, []).append(nodes)
                    pending.append(each)

    def _compare(self, values: Values) -> Nodes | None:
        """Notes why values do not match, or how they differ; the nodes that make them, where some do."""
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            if known:
                self._apart[values] = "a node of one export has an input that it does not have in another"
            return None
        tensors = [constant_tensor(value) for value in known]
        if all(tensor is not None for tensor in tensors):
            self._constants(values, tensors)
            return None
        nodes = tuple(maker for value in known if (maker := value.producer()) is not None)
        if any(tensor is not None for tensor in tensors) or 0 < len(nodes) < len(known):
            self._apart[values] = apart(known)
        elif not nodes:
            if not self._same_input(known):
                self._apart[values] = apart(known)
        elif len({signature(node) for node in nodes}) > 1 or len({value.index() for value in known}) > 1:
            self._apart[values] = apart(known)
        else:
            return nodes
        return None

    def _same_input(self, values: Sequence[ir.Value]) -> bool:
        """Whether inputs are the same one: of the model by their name; of a graph inside by their place."""
        inner = [self._inner.get(value) for value in values]
        if any(each is not None for each in inner):
            return len({*inner}) == 1
        return len({value.name for value in values}) == 1

    def _constants(self, values: Values, tensors: Sequence[Any]) -> None:
        first, *others = tensors
        if any(tensor.dtype != first.dtype or len(tensor.shape) != len(first.shape) for tensor in others):
            name = values[0].name if values[0] is not None else ""
            self._apart[values] = f"the constant {name} has another type, or another number of dims, in another export"
            return
        arrays = tuple(np.asarray(tensor.numpy()) for tensor in tensors)
        if not all(equal(array, arrays[0]) for array in arrays[1:]):
            self.constants[values] = arrays

    def _read(self, nodes: Nodes) -> list[Values]:
        """What nodes read, side by side: their inputs, and what the graphs inside of them give."""
        read = [node.inputs for node in nodes]
        found: list[Values] = [tuple(map(handed_on, each)) for each in zip(*read, strict=True)]
        for name in nodes[0].attributes:
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
        pending = list(self._apart)
        ends = set(self.outputs)
        while pending:
            values = pending.pop()
            if self._folded(values):
                continue
            if values in ends:
                raise FixError("unlike", why=self._apart[values])
            for nodes in self._users.get(values, ()):
                if nodes not in self._left:
                    self._left.add(nodes)
                    for output in zip(*(node.outputs for node in nodes), strict=True):
                        if output in self._users or output in ends:
                            self._apart[output] = self._apart[values]
                            pending.append(output)
        for values in self.outputs:
            if values in self.constants and values[0] is not None:
                raise FixError("unlike", why=f"the output {values[0].name} is a constant, and another in each export")

    def _folded(self, values: Values) -> bool:
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
        found = self._foldings[place]
        if found is None:
            model = self.models[place]
            imports = model.graph.opset_imports
            found = Folding(facts_of(model).dims_of, imports.get("", imports.get("ai.onnx", 1)))
            self._foldings[place] = found
        return found
