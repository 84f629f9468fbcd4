"""Asked: one node in the walk of the shape engine, and what a rule of our own may ask and say of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.models.inference.formulas import Formulas, TheirDim


class Asked:
    """One node, and what its rule may ask and say."""

    def __init__(self, context: Any, node: ir.Node, formulas: Formulas) -> None:
        self.context = context
        self.node = node
        self.formulas = formulas

    def has(self, index: int) -> bool:
        """Whether the node has this input; one without a name is none."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def dims(self, index: int = 0) -> list[TheirDim] | None:
        """The dims of an input, None if not even their number is known."""
        value = self.node.inputs[index] if self.has(index) else None
        if value is None or value.shape is None:
            return None
        self.formulas.note(value.shape)
        return list(value.shape)

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute."""
        found = self.node.attributes.get(name)
        return default if found is None else found.value

    def integers(self, index: int) -> list[int] | None:
        """The elements of an input, if all are known as numbers."""
        known = self.context.get_symbolic_value(self.node.inputs[index]) if self.has(index) else None
        return known if known is not None and all(isinstance(each, int) for each in known) else None

    def floats(self, index: int) -> list[Any] | None:
        """The elements of a constant of floats, each in its own type."""
        value = self.node.inputs[index] if self.has(index) else None
        tensor = None if value is None else ir.convenience.get_const_tensor(value)
        return None if tensor is None else list(np.asarray(tensor.numpy()).reshape(-1))

    def count(self, index: int) -> int | None:
        """How many elements a vector has."""
        dims = self.dims(index)
        return dims[0] if dims is not None and len(dims) == 1 and isinstance(dims[0], int) else None

    def say(self, dims: Sequence[TheirDim | None] | None, output: int = 0, dtype: Any = None) -> None:
        """The dims of an output, None for one that is not known; its type is that of the first input."""
        if output >= len(self.node.outputs):
            return
        value, first = self.node.outputs[output], self.node.inputs[0]
        value.shape = None if dims is None else ir.Shape([self.new() if dim is None else dim for dim in dims])
        if dtype is None and first is not None:
            dtype = first.dtype
        if dtype is not None:
            value.dtype = dtype

    def new(self) -> ir.SymbolicDim:
        """A dim of which nothing is known."""
        return self.context.new_symbolic_dim()  # type: ignore[no-any-return]


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front; an IndexError where data has none such."""
    if not -rank <= axis < rank:
        raise IndexError(axis)
    return axis % rank
