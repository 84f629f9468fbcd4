"""by_shape(): the free rule of an operator that only moves dims, makes dims of its own and is given dims.

Its shape rule says all there is to say.  Every dim that has several factors, or is not known, goes through it under a
name of its own, and comes out again as what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import onnx_ir as ir

from onereshape.graphs.facts.asking import Asking, Dims
from onereshape.graphs.facts.elements import ElementArray
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.state import Axes, FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Ranked, Refused
from onereshape.graphs.registry import record_of
from onereshape.rule.sizes import Size, symbol


def by_shape(view: FreeView) -> Iterator[FreeAnswer]:
    """The dims that the operator's shape rule gives where some are free."""
    rule: Callable[[Asking], Sequence[Dims | None]] | None = record_of(view.node).shape
    if rule is None:
        raise Refused("it has no rule for its shape")
    asking = _FreeAsking(view)
    found = rule(asking)
    yield FreeAnswer(
        tuple(asking.axes_of(index, dims) for index, dims in zip(range(asking.count), found, strict=False))
    )


class _FreeAsking(Asking):
    """A node as its shape rule sees it, with the dims and the elements that there are when the symbols are free."""

    __slots__ = ("_named", "_view")

    def __init__(self, view: FreeView) -> None:
        super().__init__(view.node, None)  # type: ignore[arg-type]  # all that reads it is below
        self._view = view
        self._named: dict[str, Axis | None] = {}

    @property
    def opset(self) -> int:
        return self._view.opset

    def attribute(self, name: str, default: object = None) -> object:
        return self._view.attribute(name, default)

    def known(self, index: int = 0) -> Dims | None:
        found = self._view.state.dims(self._view.value(index)) if self.has(index) else None
        return None if found is None else tuple(map(self._named_size, found))

    def dims(self, index: int = 0) -> Dims:
        return Ranked(map(self._named_size, self._view.dims(index)))

    def held(self, index: int) -> ElementArray | None:
        return self._view.state.live(self._view.value(index)) if self.has(index) else None

    def kind(self, index: int = 0) -> ir.DataType | None:
        value = self._view.value(index)
        return value.dtype or self._view.state.facts.kinds.get(value)

    def new(self) -> Size:
        return self._named_size(None)

    def size(self, size: Size | None) -> Size:
        """A dim; every formula is taken for a size."""
        return self.new() if size is None else size

    def at_least(self, size: Size, least: int) -> None:
        """What engines disagree on where a size is small was noted in the walk over the model."""

    def together(self, _: Size, __: Size) -> Size:
        return self.new()

    def _named_size(self, axis: Axis | None) -> Size:
        if axis is not None and len(axis) == 1:
            return axis[0]
        name = f"\0{len(self._named)}"  # which no file calls a dim
        self._named[name] = axis
        return symbol(name)

    def axes_of(self, index: int, dims: Dims | None) -> Axes:
        """The dims of an output: with their factors, None for one that is not known."""
        if dims is None:
            return (None,) * len(self._view.output(index))
        return tuple(map(self._axis, dims))

    def _axis(self, size: Size) -> Axis | None:
        if isinstance(size, int) or size.symbols.isdisjoint(self._named):
            return (size,)
        if size.name is not None:
            return self._named[size.name]
        within = [self._named[name] for name in size.symbols if name in self._named]
        if None in within:
            return None
        known = {name: size_of(axis) for name, axis in self._named.items() if axis is not None}
        return (size.bind(known),)
