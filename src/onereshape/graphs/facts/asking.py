"""Asking: one node in the walk over a model, and what the rule for its shape may ask of its inputs."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from onereshape.graphs.facts.elements import ElementArray, is_number
from onereshape.graphs.facts.scope import Dims, Parts, Scope, Shapes
from onereshape.graphs.node_view import NodeView, Ranked, Refused
from onereshape.rule.condition import Condition, Written
from onereshape.rule.sizes import Formula, Size, bounds, is_size, met

__all__ = ["Asking", "Dims", "Parts", "Shapes"]


class Asking(NodeView):
    """One node, as the rule for its shape sees it.

    A rule answers with the dims of each output, None for one of which not even the rank is known; a refusal (`Refused`)
    leaves all of them unknown.  What it says must hold in every run.
    """

    __slots__ = ("scope",)

    def __init__(self, node: ir.Node, scope: Scope) -> None:
        super().__init__(node)
        self.scope = scope

    @property
    def opset(self) -> int:
        """The version of ONNX's own operators."""
        return self.scope.opset

    @property
    def count(self) -> int:
        """How many outputs there are."""
        return len(self.node.outputs)

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, in the body of a function that of its caller."""
        found = self.node.attributes.data.get(name)
        if found is None:
            return default
        return self.scope.attribute(self.node, name, default) if found.is_ref() else found.value

    def known(self, index: int = 0) -> Dims | None:
        """The dims of an input, None where there is none or its rank is not known."""
        inputs = self.node.inputs
        value = inputs[index] if index < len(inputs) else None
        return None if value is None else self.scope.dims_of(value)

    def dims(self, index: int = 0) -> Dims:
        """The dims of an input, of which at least the rank must be known."""
        found = self.scope.dims_of(self.value(index))
        if found is None:
            raise Refused("its rank is not known")
        return Ranked(found)

    def rank(self, index: int = 0) -> int:
        """The rank of an input."""
        return len(self.dims(index))

    def parts(self, index: int = 0) -> Parts:
        """The tensors in an input that is a sequence, of which at least the number must be known."""
        found = self.scope.parts.get(self.value(index))
        if found is None:
            raise Refused("how many tensors are in it is not known")
        return found

    def give(self, parts: Parts) -> Shapes:
        """Says what is in the output, which is a sequence, and has no dims."""
        self.scope.parts[self.node.outputs[0]] = parts
        return [None]

    def held(self, index: int) -> ElementArray | None:
        """The elements of an input; None where nothing is known of them."""
        return self.scope.held(self.node.inputs[index]) if self.has(index) else None  # type: ignore[arg-type]

    def elements(self, index: int) -> list[Size | None] | None:
        """The integers that an input holds, None for each that is not known; None: not even how many."""
        found = self.held(index)
        return None if found is None else found.reshape(-1).tolist()

    def integers(self, index: int) -> list[int] | None:
        """The integers that an input holds, if all are known as numbers."""
        found = self.elements(index)
        return [int(each) for each in found] if found is not None and all(type(each) is int for each in found) else None  # type: ignore[arg-type]

    def floats(self, index: int) -> list[Any] | None:
        """The numbers that an input holds, each in its own type."""
        found = self.held(index)
        if found is None:
            return None
        listed = list(found.reshape(-1))
        return listed if all(map(is_number, listed)) else None

    def length(self, index: int) -> int | None:
        """How many elements a vector has."""
        dims = self.known(index)
        return dims[0] if dims is not None and len(dims) == 1 and isinstance(dims[0], int) else None

    def kind(self, index: int = 0) -> ir.DataType | None:
        """The element type of an input."""
        inputs = self.node.inputs
        value = inputs[index] if index < len(inputs) else None
        return None if value is None else self.scope.kind_of(value)

    def new(self) -> Size:
        """A dim of which nothing is known."""
        return self.scope.new()

    def size(self, size: Size | None) -> Size:
        """A dim, of which nothing is known where it is None, or a formula that may be negative."""
        if isinstance(size, int):
            if size < 0:
                raise Refused(f"it asks for a size of {size}")
            return size
        return size if size is not None and (self.scope.walk.plain or is_size(size)) else self.new()

    def first(self, index: int) -> Size:
        """A dim that an input holds as its only element."""
        found = self.elements(index)
        return self.told(found[0] if found is not None and len(found) == 1 else None)

    def told(self, size: Size | None) -> Size:
        """A dim read from an input that must not be negative: formulas stay, None is a new size, -1 a refusal."""
        return size if isinstance(size, Formula) else self.size(size)

    def unknown(self, rank: int) -> Dims:
        """Dims of which only the number is known."""
        return tuple(self.new() for _ in range(rank))

    def at_least(self, size: Size, least: int) -> None:
        """Notes that what is said of this node is so where a size is no smaller."""
        known = bounds(size)[0]
        if known is None or known < least:
            self.scope.walk.require(self.node, Condition("least", Written(1, (str(size),)), least))

    def meet(self, one: Size, other: Size) -> Size:
        """The size that two dims have together where they are broadcast: 1 gives way.

        Where N meets M, M decides if N is 1: that is a size of its own, the same wherever the same two meet.
        """
        if other in (one, 1):
            return one
        if one == 1:
            return other
        if isinstance(one, int):
            if isinstance(other, int):
                raise Refused(f"{one} meets {other}")
            return one
        if isinstance(other, int):
            return other
        found = met(one, other)
        return self.together(one, other) if found is None else found

    def together(self, one: Size, other: Size) -> Size:
        """The size that two have together of which neither is known to give way."""
        return self.scope.together(one, other)

    def broadcast(self, *shapes: Dims) -> Dims:
        """The dims that several have together, from the right."""
        if len(shapes) == 2 and shapes[0] == shapes[1]:
            return tuple(shapes[0])  # as most are
        rank = max((len(dims) for dims in shapes), default=0)
        found: list[Size] = [1] * rank
        for dims in shapes:
            for place, size in enumerate(dims, rank - len(dims)):
                found[place] = self.meet(found[place], size)
        return tuple(found)
