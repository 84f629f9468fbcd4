"""Control flow: If, Loop and Scan.  Of shapes only what holds in either branch, and in every iteration."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from onereshape.graphs.facts.asking import Asking, Dims, Shapes
from onereshape.graphs.facts.order import inner_graphs
from onereshape.graphs.facts.scope import Scope
from onereshape.graphs.node_view import Refused, counted
from onereshape.graphs.operators.control_batch import batch_if
from onereshape.graphs.operators.control_loops import batch_loop, batch_scan
from onereshape.graphs.record import Record
from onereshape.rule.sizes import Formula, Size

_MOST_ROUNDS = 4
"""How often the body of a Loop is walked until what it carries stays the same; then nothing is known of that."""
_DEEPEST_LOOP = 3
"""Loops within loops beyond which there is one round only."""


def shape_if(asking: Asking) -> Shapes:
    """If: the dims that both branches give, or those of the branch that every run takes."""
    scope = asking.scope
    ends = []
    for name in ("then_branch", "else_branch"):
        graph: ir.Graph = asking.attribute(name)
        scope.walk.graph(graph, scope)
        ends.append(graph.outputs)
    taken = asking.elements(0)
    if taken is not None and len(taken) == 1 and isinstance(taken[0], bool):
        ends = [ends[0 if taken[0] else 1]] * 2
    found: list[Dims | None] = []
    for output, one, other in zip(asking.node.outputs, *ends, strict=False):
        kinds = {scope.kind_of(one), scope.kind_of(other)} - {None}
        if len(kinds) == 1:
            scope.kinds[output] = kinds.pop()  # type: ignore[assignment]
        first, second = scope.dims_of(one), scope.dims_of(other)
        if first is None or second is None or len(first) != len(second):
            found.append(None)
        else:
            found.append(tuple(a if a == b else asking.new() for a, b in zip(first, second, strict=True)))
    return found


def shape_loop(asking: Asking) -> Shapes:
    """Loop: its body is walked until the shapes that it is given are those of every iteration."""
    scope, node = asking.scope, asking.node
    walk, body = scope.walk, asking.attribute("body")
    carried = list(zip(node.inputs[2:], body.inputs[2:], body.outputs[1:], strict=False))
    _enter(asking, body)
    widened: set[str] = set()
    walk.loops += 1
    rounds = _MOST_ROUNDS if walk.loops <= _DEEPEST_LOOP else 1
    try:
        for left in reversed(range(rounds)):
            if left == 0:
                for _, inside, _ in carried:
                    scope.forget(inside)
            walk.graph(body, scope)
            if left == 0 or not _widen(asking, carried, widened):
                break
            _forget(scope, body)
    finally:
        walk.loops -= 1
    return _leave(asking, body, [inside for _, inside, _ in carried], widened)


def _enter(asking: Asking, body: ir.Graph) -> None:
    """Gives the body of a Loop the shapes of its first iteration."""
    scope = asking.scope
    for value, own in zip(body.inputs[:2], (ir.DataType.INT64, ir.DataType.BOOL), strict=False):
        scope.dims[value] = ()
        scope.kinds[value] = own
    for start, inside in zip(asking.node.inputs[2:], body.inputs[2:], strict=False):
        scope.forget(inside)
        if start is not None and (dims := scope.dims_of(start)) is not None:
            scope.dims[inside] = dims
        _hand_on_kind(scope, start, inside)


def _widen(asking: Asking, carried: Sequence[tuple[ir.Value | None, ir.Value, ir.Value]], widened: set[str]) -> bool:
    """Gives new sizes to dims of carried values that an iteration changes; returns whether any dim changed."""
    scope, changed = asking.scope, False
    for _, inside, end in carried:
        before, after = scope.dims.get(inside), scope.dims_of(end)
        if before is None:
            continue
        if after is None or len(after) != len(before):
            scope.forget(inside)
            changed = True
            continue
        dims: list[Size] = list(before)
        scope.forget(inside)  # of other dims it holds other elements
        for axis, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new and not (isinstance(old, Formula) and old.name in widened):
                fresh = asking.new()
                dims[axis] = fresh
                widened |= fresh.symbols if isinstance(fresh, Formula) else frozenset()
                changed = True
        scope.dims[inside] = tuple(dims)
    return changed


def _leave(asking: Asking, body: ir.Graph, carried: Sequence[ir.Value], widened: set[str]) -> Shapes:
    """The shapes after the last iteration, of which there may be none: those that held in every one."""
    scope, found = asking.scope, list[Dims | None]()
    for inside, output in zip(carried, asking.node.outputs, strict=False):
        _hand_on_kind(scope, inside, output)
        dims = scope.dims.get(inside)
        # A dim that changes has another size than inside.
        found.append(
            None
            if dims is None
            else tuple(asking.new() if isinstance(size, Formula) and size.name in widened else size for size in dims)
        )
    some = _iterates(asking)
    for end, output in zip(body.outputs[len(carried) + 1 :], asking.node.outputs[len(carried) :], strict=False):
        _hand_on_kind(scope, end, output)
        dims = scope.dims_of(end)
        # Of no iteration onnxruntime makes what the body declares, of any rank.
        if dims is None or not (some or (end.shape is not None and len(end.shape) == len(dims))):
            found.append(None)
        else:  # the trip count is a limit only: the condition may end it before
            known = some or dims == tuple(end.shape or ())
            found.append((asking.new(), *(dims if known else asking.unknown(len(dims)))))
    return found


def _iterates(asking: Asking) -> bool:
    """Whether a Loop has an iteration for sure; if none, onnxruntime makes dims up that are known only inside."""
    limit, condition = (asking.elements(index) for index in (0, 1))
    some = not asking.has(0) or (limit is not None and isinstance(limit[0], int) and limit[0] > 0)
    begins = not asking.has(1) or (condition is not None and condition[0] is True)
    return bool(some and begins)


def _hand_on_kind(scope: Scope, source: ir.Value | None, value: ir.Value) -> None:
    """A value has the element type of another, where that is known."""
    if source is not None and (kind := scope.kind_of(source)) is not None:
        scope.kinds[value] = kind


def _forget(scope: Scope, graph: ir.Graph) -> None:
    """Takes back what was found in a graph, for another round."""
    for node in graph:
        scope.walk.errors.pop(node, None)
        scope.walk.conditions.pop(node, None)
        for value in node.outputs:
            scope.forget(value)
        for inner in inner_graphs(node):
            _forget(scope, inner)


def shape_scan(asking: Asking) -> Shapes:
    """Scan: states as the body leaves them, and what it gives for each step, side by side."""
    if asking.opset < 9:
        raise Refused("before opset 9 it takes its inputs otherwise")
    scope, node, body = asking.scope, asking.node, asking.attribute("body")
    steps = asking.attribute("num_scan_inputs")
    if steps is None or not 0 <= steps <= len(node.inputs):  # before a list is made that is as long
        raise Refused(f"it steps through {steps} of its {len(node.inputs)} inputs")
    states = len(node.inputs) - steps
    axes = asking.attribute("scan_input_axes") or [0] * steps
    length: Size | None = None
    for place, (value, inside) in enumerate(zip(node.inputs, body.inputs, strict=False)):
        dims = None if value is None else scope.dims_of(value)
        _hand_on_kind(scope, value, inside)
        if dims is None:
            continue
        if place >= states:
            axis = counted(axes[place - states], len(dims))
            length = dims[axis] if length is None else length
            dims = (*dims[:axis], *dims[axis + 1 :])
        scope.dims[inside] = dims
    scope.walk.graph(body, scope)
    outputs = asking.attribute("scan_output_axes") or [0] * (asking.count - states)
    count = asking.size(length)
    found: list[Dims | None] = []
    for place, (end, output) in enumerate(zip(body.outputs, node.outputs, strict=False)):
        _hand_on_kind(scope, end, output)
        dims = scope.dims_of(end)
        if dims is not None and place >= states:
            axis = counted(outputs[place - states], len(dims) + 1)
            dims = (*dims[:axis], count, *dims[axis:])
        found.append(dims)
    return found


RECORDS = {
    "If": Record(shape=shape_if, batch=batch_if, takes={0: "truth"}),
    "Loop": Record(shape=shape_loop, batch=batch_loop, takes={0: "turns"}),
    "Scan": Record(shape=shape_scan, batch=batch_scan),
}
