"""Spans: how large the entries of an integer tensor can get, as a formula of the sizes.

Positions go up to the length of the sequence; a table of positions that they are looked up in limits it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.free_rules.state import FreeState
from onereshape.graphs.registry import record_of
from onereshape.rule.sizes import Formula, Size

_DEEPEST = 24


class Spans(NamedTuple):
    """The largest entries that a question about spans starts from, by value."""

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
    rule: Callable[[Spans, ir.Node, int], Size | None] | None = record.span
    return None if rule is None else rule(spans, node, depth)


def combined(
    join: Callable[[FreeState, Size, Size], Size | None], first: int = 0
) -> Callable[[Spans, ir.Node, int], Size | None]:
    """A rule for a sum, a product, or the largest of several, from an input on: all of them must be known."""

    def rule(spans: Spans, node: ir.Node, depth: int) -> Size | None:
        parts = [span_within(spans, value, depth + 1) for value in node.inputs[first:]]
        known = [part for part in parts if part is not None]
        if len(known) != len(parts):
            return None
        total: Size | None = known[0]
        for part in known[1:]:
            total = None if total is None else join(spans.state, total, part)
        return total

    return rule


def larger(state: FreeState, one: Size, other: Size) -> Size | None:
    """The larger in the original; a formula wins a draw, since it can grow."""
    first, second = state.then(one), state.then(other)
    if not (isinstance(first, int) and isinstance(second, int)):
        return None
    return other if (second, isinstance(other, Formula)) > (first, isinstance(one, Formula)) else one
