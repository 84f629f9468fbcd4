"""Spans: how large the entries of an integer tensor can get, as a formula of the sizes.

Positions go up to the length of the sequence; a table of positions that they are looked up in limits it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import onnx_ir as ir

from onereshape.models.free.alignment import size_of
from onereshape.models.free.formula import Formula, Size
from onereshape.models.free.state import State
from onereshape.models.free.view import View

_DEEPEST = 24
_MOVED = frozenset(
    "Identity Cast Unsqueeze Squeeze Reshape Expand Transpose Slice Gather GatherND GatherElements Flatten Tile".split()
)
_TRUTH = frozenset("Equal Less LessOrEqual Greater GreaterOrEqual Not And Or Xor IsNaN IsInf".split())


class Spans(NamedTuple):
    """What is known of some values already."""

    state: State
    known: Mapping[ir.Value, Size | None]


def span_of(state: State, value: ir.Value) -> Size | None:
    """The largest entry of a tensor of integers or truth values, None if it is not known."""
    return _span(Spans(state, {}), value, 0)


def added_span(spans: Spans, node: ir.Node) -> Size | None:
    """The largest entry of what a node makes, where the inputs are those that are known."""
    return _made(spans, node, 0)


def _span(spans: Spans, value: ir.Value | None, depth: int) -> Size | None:
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
    if node.domain not in {"", "ai.onnx"}:
        return None
    if node.op_type in _TRUTH:
        return 1
    if node.op_type in _MOVED:
        return _span(spans, node.inputs[0], depth + 1)
    rule = _RULES.get(node.op_type)
    return None if rule is None else rule(spans, node, depth)


def _smallest(spans: Spans, node: ir.Node, depth: int) -> Size | None:
    """Of a Min: any operand that is known bounds it."""
    bounds = [bound for value in node.inputs if isinstance(bound := _span(spans, value, depth + 1), int)]
    return min(bounds, default=None)


def _combined(spans: Spans, node: ir.Node, depth: int) -> Size | None:
    inputs = node.inputs[1:] if node.op_type == "Where" else node.inputs
    parts = [_span(spans, value, depth + 1) for value in inputs]
    known = [part for part in parts if part is not None]
    return _joined(spans.state, node.op_type, known) if len(known) == len(parts) else None


def _joined(state: State, op: str, parts: list[Size]) -> Size | None:
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


def _counted(spans: Spans, node: ir.Node, _: int) -> Size | None:
    limit = node.inputs[1]
    elements = None if limit is None else spans.state.live(limit)
    if elements is None or elements.size != 1 or elements.reshape(-1)[0] is None:
        return None
    last: Size = elements.reshape(-1)[0]
    return last - 1


def _summed(spans: Spans, node: ir.Node, depth: int) -> Size | None:
    view = View(node, spans.state)
    part, axis = _span(spans, node.inputs[0], depth + 1), view.integers(1)
    dims = None if node.inputs[0] is None else spans.state.dims(node.inputs[0])
    own = None if dims is None or axis is None else dims[axis[0]]
    return None if part is None or own is None else size_of(own) * part


_RULES: dict[str, Callable[[Spans, ir.Node, int], Size | None]] = {
    "Range": _counted,
    "CumSum": _summed,
    "Min": _smallest,
    **dict.fromkeys(("Add", "Mul", "Where", "Max", "Concat"), _combined),
}
