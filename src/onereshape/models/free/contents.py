"""What small integer tensors hold when some dims are free: elements are numbers, formulas, or not known (None)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.errors import INT64_MAX
from onereshape.models.free.formula import Formula, Size, cut, exact, product
from onereshape.models.free.state import State, sizes
from onereshape.models.inference.integer_rules import MOST, Array, Call, array_of, rule_of
from onereshape.models.record import record_of

_INTEGERS = frozenset({ir.DataType.INT64, ir.DataType.INT32})


def follow(state: State, node: ir.Node, index: int) -> Array | None:
    """The elements of an output of a node of which an input, or its dims, depend on what is free; None: not known."""
    try:
        return _found(state, node, index)
    except (ValueError, IndexError, KeyError, TypeError, ArithmeticError):
        return None  # what does not fit together is not known


def _found(state: State, node: ir.Node, index: int) -> Array | None:
    if node.domain not in {"", "ai.onnx"}:
        return None
    if node.op_type in {"Shape", "Size"} and node.inputs[0] is not None:
        return _dims(state, node, node.inputs[0])
    arrays = [None if value is None else state.live(value) for value in node.inputs]
    if any(array is None and value is not None for array, value in zip(arrays, node.inputs, strict=True)):
        return None
    if record_of(node).carries:
        rule = rule_of(node)
        return None if rule is None else rule(Call(node, arrays, index))
    return _calculated(node, [array for array in arrays if array is not None])


def _calculated(node: ir.Node, arrays: list[Array]) -> Array | None:
    if node.op_type == "Cast":
        return arrays[0] if ir.DataType(node.attributes["to"].value) in _INTEGERS else None
    if node.op_type == "ReduceProd" and arrays[0].ndim == 1:
        keep = node.attributes.get("keepdims")
        total = None if None in arrays[0].tolist() else _fitting(product(arrays[0].tolist()))
        return array_of([total], () if keep is not None and not keep.value else (1,))
    element = _ELEMENTS.get(node.op_type)
    if prod(np.broadcast_shapes(*(array.shape for array in arrays))) > MOST:
        return None
    return None if element is None else np.asarray(np.frompyfunc(element, len(arrays), 1)(*arrays), dtype=object)


def _dims(state: State, node: ir.Node, value: ir.Value) -> Array | None:
    dims = state.dims(value)
    if dims is None:
        return None
    found = sizes(dims)
    if node.op_type == "Size":
        return array_of([None if None in found else product(size for size in found if size is not None)], ())
    start, end = (node.attributes.get(name) for name in ("start", "end"))
    return array_of(found[None if start is None else start.value : None if end is None else end.value])


def _known(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *elements: None if None in elements else _fitting(function(*elements))


def _fitting(element: Any) -> Any:
    """An element, None for a number beyond int64: at run time it is another one."""
    return None if isinstance(element, int) and abs(element) > INT64_MAX else element


def _divided(top: Size, bottom: Size) -> Size | None:
    """The quotient; sizes are not negative, so cutting it towards 0 is rounding down."""
    if isinstance(top, int) and isinstance(bottom, int):
        return None if bottom == 0 else abs(top) // abs(bottom) * (1 if (top < 0) == (bottom < 0) else -1)
    return cut(top, bottom) if isinstance(bottom, int) and bottom > 0 else exact(top, bottom)


def _remainder(one: Size, other: Size) -> Size | None:
    """What is left of a size that is not negative."""
    return one - cut(one, other) * other if isinstance(other, int) and other > 0 else None


def _equal(one: Any, other: Any) -> bool | None:
    if isinstance(one, Formula) or isinstance(other, Formula):
        number = other if isinstance(one, Formula) else one
        return True if one == other else False if isinstance(number, int) and number < 0 else None
    return bool(one == other)


def _chosen(condition: Any, one: Any, other: Any) -> Any:
    if condition is None:
        return one if one == other else None
    return one if condition else other


def _most(choose: Callable[[int, int], int]) -> Callable[..., Any]:
    def found(one: Any, other: Any) -> Any:
        if isinstance(one, int) and isinstance(other, int):
            return choose(one, other)
        return one if one == other else None

    return _known(found)


_ELEMENTS: dict[str, Callable[..., Any]] = {
    "Add": _known(lambda one, other: one + other),
    "Sub": _known(lambda one, other: one - other),
    "Mul": _known(lambda one, other: one * other),
    "Div": _known(_divided),
    "Mod": _known(_remainder),
    "Neg": _known(lambda one: one * -1),
    "Equal": _known(_equal),
    "Not": _known(lambda one: not one),
    "Where": _chosen,
    "Max": _most(max),
    "Min": _most(min),
}
