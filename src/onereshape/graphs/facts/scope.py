"""Scope: what a walk knows of the values of one graph, or of one call of a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import onnx_ir as ir

from onereshape.graphs.constants import dims_of_tensor
from onereshape.graphs.facts.elements import ElementArray, array_of
from onereshape.graphs.facts.walk_limits import SHORT
from onereshape.graphs.node_view import Refused
from onereshape.ground.errors import ReshapeError
from onereshape.rule.condition import Condition
from onereshape.rule.sizes import Size

Dims = tuple[Size, ...]
Parts = tuple[Dims | None, ...]
"""The dims of each tensor in a sequence, None for one of which not even the rank is known."""
Shapes = Sequence[Dims | None]
"""The dims of all outputs, None for one of which not even the rank is known."""

_SHORT_ONES = (ir.DataType.INT64, ir.DataType.INT32, ir.DataType.FLOAT)
"""The types of targets, indices and sizes, and of scales: of a short vector at least the length is known."""


class Walking(Protocol):
    """The walk over the whole model, as its scopes and the rules for shapes see it: `Walk`, which makes them."""

    model: ir.Model
    plain: bool
    conditions: dict[ir.Node, tuple[Condition, ...]]
    errors: dict[ir.Node, ReshapeError]
    unnamed: set[str]
    loops: int

    def graph(self, graph: ir.Graph, scope: Scope) -> None: ...
    def is_fixed(self, value: ir.Value) -> bool: ...
    def constant(self, tensor: Any) -> ElementArray | None: ...
    def require(self, node: ir.Node, *conditions: Condition) -> None: ...
    def new(self) -> Size: ...
    def together(self, one: Size, other: Size) -> Size: ...


class Scope:
    """A graph, or one call of a function: what is known in it."""

    def __init__(self, walk: Walking, imports: Mapping[str, int], attributes: Mapping[str, Any] | None = None) -> None:
        self.walk = walk
        self.opset = imports.get("", imports.get("ai.onnx", 1))
        self.imports = imports
        self.attributes = attributes
        """Those that the caller of a function gave; None: this is no function, or nobody calls it."""
        self.dims: dict[ir.Value, Dims] = {}
        self.kinds: dict[ir.Value, ir.DataType] = {}
        self.elements: dict[ir.Value, ElementArray | None] = {}
        self.parts: dict[ir.Value, Parts] = {}
        """The tensors in sequences."""
        self.constants: dict[ir.Value, Any] = {}
        """The tensors of Constant nodes, whose elements are read when they are asked for."""

    def attribute(self, _: ir.Node, name: str, default: Any = None) -> Any:
        """An attribute that refers to one of the caller's."""
        reference = _.attributes[name].ref_attr_name
        if self.attributes is None:
            raise Refused(f"its attribute {name} is chosen by the caller")
        found = self.attributes.get(reference or "")
        return default if found is None else found

    def dims_of(self, value: ir.Value) -> Dims | None:
        """The dims of a value, None for an unknown rank."""
        found = self.dims.get(value)
        if found is None and value.const_value is not None and self.walk.is_fixed(value):
            found = self.dims[value] = dims_of_tensor(value.const_value)
        return found

    def kind_of(self, value: ir.Value) -> ir.DataType | None:
        """The element type of a value."""
        found = self.kinds.get(value)
        if found is None:
            tensor = value.const_value
            found = tensor.dtype if tensor is not None else value.dtype if value.producer() is None else None
            if found is not None:
                self.kinds[value] = found
        return found

    def held(self, value: ir.Value) -> ElementArray | None:
        """What a value holds, None where not even the number of its elements is known, or they are many."""
        if value in self.elements:
            return self.elements[value]
        if value.const_value is not None and self.walk.is_fixed(value):
            found = self.walk.constant(value.const_value)
        else:
            tensor = self.constants.get(value)
            found = None if tensor is None else self.walk.constant(tensor)
            if found is None and self.kind_of(value) in _SHORT_ONES:
                found = self._nothing(value)
        self.elements[value] = found
        return found

    def read_constants(self) -> None:
        """Reads the elements of all Constant nodes."""
        for value in self.constants:
            self.held(value)

    def _nothing(self, value: ir.Value) -> ElementArray | None:
        """Elements of which none is known, of a short vector."""
        dims = self.dims_of(value)
        if dims is None or len(dims) > 1 or not all(isinstance(size, int) and size <= SHORT for size in dims):
            return None
        return array_of([None] * (dims[0] if dims else 1), dims)  # type: ignore[arg-type, operator]

    def new(self) -> Size:
        """A size of which nothing is known."""
        return self.walk.new()

    def together(self, one: Size, other: Size) -> Size:
        """The size that two have together where they are broadcast."""
        return self.walk.together(one, other)

    def forget(self, value: ir.Value) -> None:
        """Takes back what was found of a value."""
        self.dims.pop(value, None)
        self.parts.pop(value, None)
        self.elements.pop(value, None)
        self.constants.pop(value, None)
