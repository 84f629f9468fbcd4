"""integer_values(): the elements of an integer tensor that is computed from constants and from dims.

An element is an int, a product of sizes, or None where it is not known; True or False in a tensor of truth values.  The
dims of other tensors are somebody else's knowledge, and what the elements are good for is too.  The rules for the
operators are in `integer_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import onnx_ir as ir

from onereshape.dims import Size
from onereshape.models.inference.integer_rules import MOST, Array, Call, array_of, constant_array, rule_of

DimsOf = Callable[[ir.Value], Sequence[Size | None] | None]
"""The dims of a value, None for each that is not known; None for an unknown rank."""
Known = dict[ir.Value, Array | None]
"""What was found, for the next question; None: nothing is known of the elements."""

_ONNX = frozenset({"", "ai.onnx"})
_FROM_DIMS = frozenset({"Shape", "Size"})

__all__ = ["Array", "DimsOf", "Known", "constant_array", "integer_values"]


def integer_values(value: ir.Value, dims_of: DimsOf, known: Known) -> Array | None:
    """The elements of a tensor, an array of objects; None if not even their number is known, or it is large.

    What is in `known` is taken as it is, and what is found is added.  An initializer that the caller of the model can
    override is not known.  A product is one of dims, so it is negative only where its coefficient is.
    """
    pending, entered = [value], set[ir.Value]()
    while pending:
        current = pending[-1]
        if current in known:
            pending.pop()
            continue
        node = current.producer()
        missing = [] if current in entered else [each for each in _needed(node) if each not in known]
        entered.add(current)
        if missing:
            pending += missing
            continue
        known[current] = _evaluated(current, node, dims_of, known)
        pending.pop()
    return known[value]


def _needed(node: ir.Node | None) -> list[ir.Value]:
    """The tensors whose elements decide those of a node's output."""
    if node is None or node.domain not in _ONNX or node.op_type in _FROM_DIMS or rule_of(node) is None:
        return []
    return [value for value in node.inputs if value is not None]


def _evaluated(value: ir.Value, node: ir.Node | None, dims_of: DimsOf, known: Known) -> Array | None:
    if node is None:
        given = value.is_initializer() and not value.is_graph_input()
        return constant_array(value.const_value) if given and value.const_value is not None else None
    rule = rule_of(node)
    if node.domain not in _ONNX or rule is None:
        return None
    if node.op_type in _FROM_DIMS:
        data = node.inputs[0] if node.inputs else None
        dims = None if data is None else dims_of(data)
        inputs: list[Array | None] = [None if dims is None or len(dims) > MOST else array_of(dims)]
    else:
        inputs = [None if each is None else known.get(each) for each in node.inputs]
    wanted = [index for index, each in enumerate(node.inputs) if each is not None]
    if any(inputs[index] is None for index in wanted):
        return None
    try:
        found = rule(Call(node, inputs, node.outputs.index(value)))
    except (ValueError, IndexError, KeyError, TypeError, ArithmeticError):
        return None  # a node that breaks the rules of its operator has no elements
    return found if found is not None and found.size <= MOST else None
