"""Spans: how large the entries of an integer tensor can get, as a formula of the sizes.

Positions go up to the length of the sequence; a table of positions that they are looked up in limits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import onnx_ir as ir

from onereshape.sizes import Formula, Size
from onereshape.models.free.state import FreeState
from onereshape.models.record import record_of

_DEEPEST = 24


class Spans(NamedTuple):
    """What is known of some values already."""

    state: FreeState
    known: Mapping[ir.Value, Size | None]


def span_of(state: FreeState, value: ir.Value) -> Size | None:
    """The largest entry of a tensor of integers or truth values, None if it is not known."""
    return span_within(Spans(state, {}), value, 0)


def added_span(spans: Spans, node: ir.Node) -> Size | None:
    """The largest entry of what a node makes, where the inputs are those that are known."""
    return _made(spans, node, 0)


def span_within(spans: Spans, value: ir.Value | None, depth: int) -> Size | None:
    """The largest entry of a tensor that is so many nodes away from what was asked."""
    if value is None or depth > _DEEPEST:
        return None
    if value in spans.known:
        return spans.known[value]
    if value.dtype == ir.DataType.BOOL:
        return 1
    node = value.producer()
    if node is not None and node.op_type != "Constant":
        found = _made(spans, node, depth)
        if found is not None:
            return found
    if spans.state.matters(value) or (value.dtype is not None and not value.dtype.is_integer()):
        return None
    array = spans.state.folding.array(value)
    return int(array.max()) if array is not None and array.size and array.dtype.kind in "iu" else None


def _made(spans: Spans, node: ir.Node, depth: int) -> Size | None:
    record = record_of(node)
    if record.moves:
        return span_within(spans, node.inputs[0], depth + 1)
    return None if record.span is None else record.span(spans, node, depth)


def combined(spans: Spans, node: ir.Node, depth: int) -> Size | None:
    """Of a sum, a product, or the largest of several: all operands must be known."""
    inputs = node.inputs[1:] if node.op_type == "Where" else node.inputs
    parts = [span_within(spans, value, depth + 1) for value in inputs]
    known = [part for part in parts if part is not None]
    return _joined(spans.state, node.op_type, known) if len(known) == len(parts) else None


def _joined(state: FreeState, op: str, parts: list[Size]) -> Size | None:
    total = parts[0]
    for part in parts[1:]:
        if op == "Add":
            total = total + part
        elif op == "Mul":
            total = total * part
        else:
            first, second = state.then(total), state.then(part)
            if not (isinstance(first, int) and isinstance(second, int)):
                return None
            # The larger in the original; a formula wins a draw, since it can grow.
            total = part if (second, isinstance(part, Formula)) > (first, isinstance(total, Formula)) else total
    return total
