"""What small tensors hold, as far as dims and constants decide it.

The engine follows a few operators, and lists only.  Exporters calculate targets with many more, which `content_rules`
knows; here is what is known in one walk, and how the engine is told.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import sympy  # type: ignore[import-untyped]
from onnx_shape_inference._symbolic_shapes import dim_to_expr  # type: ignore[import-untyped]

from onereshape.models.inference.formulas import Formulas
from onereshape.models.inference.limits import LARGEST, MOST_FORMULAS, Limits, is_small
from onereshape.models.inference.content_rules import (
    FOLLOWED,
    INTEGERS,
    RULES,
    Array,
    Question,
    array_of,
    elements_of,
    is_number,
)

_LIMIT = 2**63
_LARGE = 2**31
"""A number in a formula of sizes from which on the result may wrap around at run time."""


class Contents:
    """The elements of the tensors of one walk."""

    def __init__(self, formulas: Formulas, limits: Limits) -> None:
        self._known: dict[ir.Value, Array] = {}
        self._formulas = formulas
        self._limits = limits

    def forget(self, value: ir.Value) -> None:
        """Takes back what was found of a value."""
        self._known.pop(value, None)

    def follow(self, context: Any, node: ir.Node) -> None:
        """Finds what the outputs of a node hold, and tells the engine."""
        if node.domain != "" or (rule := RULES.get(node.op_type)) is None:
            if node.op_type == "Shape" and node.inputs and node.inputs[0] is not None:
                self._formulas.note(node.inputs[0].shape or ())
            return
        kinds = {value.dtype.name for value in node.outputs if value.dtype is not None}
        if not kinds <= FOLLOWED:
            return
        for value in node.outputs:  # what the engine's own rules found is not held
            context.forget_elements(value)
        inputs = [None if value is None else self._of(context, value) for value in node.inputs]
        if any(array is None and value is not None for array, value in zip(inputs, node.inputs, strict=True)):
            return
        asked = Question(node, inputs, self._formulas.signed, context.opset)
        found = rule(asked)
        if asked.lost:
            self._limits.unread.setdefault(node, asked.lost)
        for value, array in zip(node.outputs, found, strict=False):
            if array is not None and self._follows(node, array):
                self._known[value] = _bounded(array, value.dtype)
                self._tell(context, value, self._known[value])

    def _follows(self, node: ir.Node, array: Array) -> bool:
        """Whether the elements are few enough to go on with."""
        formulas = sum(not (each is None or is_number(each)) for each in array.flat)
        if formulas <= MOST_FORMULAS and self._limits.elements(array.size):
            return True
        what = f"{formulas} formulas" if formulas > MOST_FORMULAS else f"{array.size} elements"
        self._limits.unread.setdefault(node, f"it holds {what}, which is more than is followed")
        return False

    def _of(self, context: Any, value: ir.Value) -> Array | None:
        if value in self._known:
            return self._known[value]
        tensor = ir.convenience.get_const_tensor(value)
        if tensor is not None:
            if tensor.dtype.name not in FOLLOWED or not self._limits.elements(tensor.size):
                return None
            return elements_of(tensor)
        if value.shape is None or len(value.shape) > 1:
            return None
        known = context.get_symbolic_value(value)
        if known is None or (len(value.shape) == 1 and value.shape[0] != len(known)):
            return None
        array = array_of([dim if isinstance(dim, int) else dim_to_expr(dim) for dim in known])
        return array.reshape(()) if len(value.shape) == 0 and array.size == 1 else array

    def _tell(self, context: Any, value: ir.Value, array: Array) -> None:
        """Writes a constant, or a list of dims, where the engine reads them, in place of what it found itself."""
        elements = array.reshape(-1).tolist()
        context.forget(value)
        value.shape = ir.Shape(array.shape)
        if all(is_number(each) and -_LIMIT <= each < _LIMIT for each in elements):
            kind = ir.DataType.INT64 if value.dtype is None else value.dtype
            value.const_value = ir.Tensor(array.astype(kind.numpy()), dtype=kind, name=value.name)
        elif (
            array.ndim <= 1
            and value.dtype is not None
            and value.dtype.name in INTEGERS
            and any(each is not None for each in elements)
        ):
            kept = [
                context.new_symbolic_dim() if each is None else self._formulas.dim(sympy.sympify(each))
                for each in elements
            ]
            context.set_symbolic_value(value, kept)


def _bounded(array: Array, kind: ir.DataType | None) -> Array:
    """The elements, without those that the type cannot hold: at run time they wrap around."""
    least, most = -LARGEST - 1, LARGEST
    if kind is not None:
        if kind.name not in INTEGERS:
            return array
        least, most = (int(limit) for limit in (np.iinfo(kind.numpy()).min, np.iinfo(kind.numpy()).max))
    bounded = [each if _fits(each, least, most) else None for each in array.reshape(-1).tolist()]
    return array_of(bounded).reshape(array.shape)


def _fits(element: Any, least: int, most: int) -> bool:
    if element is None or is_number(element):
        return element is None or least <= element <= most
    return is_small(element) and all(abs(number) < _LARGE for number in element.atoms(sympy.Integer))
