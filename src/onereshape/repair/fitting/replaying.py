"""Replaying: a node that was read before, with the same facts of its inputs, says the same, and is not read again.

A model is walked once more after each number that is told, and most of its nodes are not concerned.  What a node says
depends on what is known of its inputs and on the steps of the sizes, and on nothing else that two walks do not share.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.facts.elements import ElementArray
from onereshape.graphs.facts.order import inner_graphs
from onereshape.graphs.facts.scope import Dims, Scope
from onereshape.repair.fitting.regrouping import Must, Target
from onereshape.rule.sizes import Formula

_MOST_COMPARED = 64
"""Elements of tensors that are compared one by one; more of them are the same only if they are one object."""


class Fact(NamedTuple):
    """What is known of a value."""

    dims: Dims | None
    elements: ElementArray | None


class _Read(NamedTuple):
    """One reading of a node: facts of its inputs and outputs, steps, and which sizes must be equal or whole."""

    inputs: Sequence[Fact]
    steps: Mapping[str, int]
    outputs: Sequence[Fact]
    kinds: Sequence[ir.DataType | None]
    must: Sequence[Must]


class Replay:
    """A memory that the walks over one model share: the last reading of every node, and what targets asked for."""

    def __init__(self) -> None:
        self._targets: dict[Hashable, Target] = {}
        self._nodes: dict[ir.Node, _Read] = {}
        self._calculated: dict[ir.Node, Sequence[ir.Value] | None] = {}

    def target(self, asked: Hashable, steps: Mapping[str, int], find: Callable[[], Target]) -> Target:
        """What the target of a Reshape asks for; what is not told may be told in the next walk."""
        key = (asked, *steps.items())
        found = self._targets.get(key) or find()
        if found.dims is not None:
            self._targets[key] = found
        return found

    def facts(self, node: ir.Node, scope: Scope) -> Sequence[Fact] | None:
        """What is known of the inputs of a node, but for constants; None if it has bodies, which read more."""
        if node not in self._calculated:
            inputs = [value for value in node.inputs if value is not None and _is_calculated(value)]
            self._calculated[node] = None if inner_graphs(node) else inputs
        values = self._calculated[node]
        return None if values is None else _facts(values, scope)

    def note(
        self, node: ir.Node, inputs: Sequence[Fact], steps: Mapping[str, int], must: Sequence[Must], scope: Scope
    ) -> None:
        """Notes what a node said; not where a size is unknown, since that has another name in the next walk."""
        outputs = _facts(node.outputs, scope)
        if not scope.walk.unnamed or not any(_names(fact, scope.walk.unnamed) for fact in outputs):
            kinds = [scope.kinds.get(value) for value in node.outputs]
            self._nodes[node] = _Read(inputs, steps, outputs, kinds, must)

    def again(
        self, node: ir.Node, inputs: Sequence[Fact], steps: Mapping[str, int], scope: Scope
    ) -> Sequence[Must] | None:
        """Says of a node what its last reading said, if inputs and steps are equal; what must hold then, or None."""
        read = self._nodes.get(node)
        if read is None or read.steps != steps or not all(map(_same, read.inputs, inputs)):
            return None
        for value, fact, kind in zip(node.outputs, read.outputs, read.kinds, strict=True):
            if fact.dims is not None:
                scope.dims[value] = fact.dims
            if fact.elements is not None:
                scope.elements[value] = fact.elements
            if kind is not None:
                scope.kinds[value] = kind
        return read.must


def _is_calculated(value: ir.Value) -> bool:
    """Whether another walk may know something else of a value."""
    producer = value.producer()
    return producer is not None and producer.op_type != "Constant"


def _facts(values: Sequence[ir.Value], scope: Scope) -> list[Fact]:
    return [Fact(scope.dims.get(value), scope.elements.get(value)) for value in values]


def _same(one: Fact, other: Fact) -> bool:
    if one.dims is not other.dims and one.dims != other.dims:
        return False
    first, second = one.elements, other.elements
    if first is None or second is None or first is second:
        return first is second
    if first.shape != second.shape or first.size > _MOST_COMPARED:
        return False
    return all(map(_same_element, first.flat, second.flat))


def _same_element(one: object, other: object) -> bool:
    return one is other or (type(one) is type(other) and not isinstance(one, np.floating) and one == other)


def _names(fact: Fact, unnamed: set[str]) -> bool:
    """Whether the dims or the elements of a value depend on a size without a name."""
    held = () if fact.elements is None else fact.elements.flat
    formulas = (size for sizes in (fact.dims or (), held) for size in sizes if isinstance(size, Formula))
    return any(not size.symbols.isdisjoint(unnamed) for size in formulas)
