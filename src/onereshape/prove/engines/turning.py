"""Loops that no run ends: how often the loops of a model turn at least, known before the engine is asked.

Only what a Loop does in every run counts: a number of turns that the model says itself, where no condition ends it
before.  A branch may not be taken, so what is inside one does not count.
"""

from __future__ import annotations

from math import inf

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX
from onereshape.graphs.constants import constant_tensor
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.facts.order import inner_graphs
from onereshape.graphs.node_view import label_of
from onereshape.graphs.shapes import facts_of

_A_SECOND = 10**5
"""Turns; an empty one takes an engine some millionths of a second, and a certificate takes many runs."""


def endless(model: ir.Model, seconds: float) -> str | None:
    """A sentence on the loop that no run of a model ends in so many seconds; None where there is no such loop."""
    if not any(node.op_type == "Loop" for node in model.graph.all_nodes()):
        return None
    most = max(1, int(seconds * _A_SECOND))
    return _endless(model.graph, 1, most, facts_of(model))


def _endless(graph: ir.Graph, times: int, most: int, facts: Facts) -> str | None:
    """Why a graph that is run `times` times turns more than `most` times; None where nothing shows that."""
    for node in graph:
        if node.domain not in ONNX or node.op_type not in {"Loop", "Scan"}:
            continue
        turns = _turns(node, facts) if node.op_type == "Loop" else 1
        if turns == inf:
            return f"{label_of(node)} turns without end"
        if turns * times > most:
            often = f"{turns} times" if times == 1 else f"{turns} times in each of {times} turns"
            return f"{label_of(node)} turns {often}, and more than {most} take too long"
        for inner in inner_graphs(node) if turns else ():
            why = _endless(inner, int(turns) * times, most, facts)
            if why is not None:
                return why
    return None


def _turns(node: ir.Node, facts: Facts) -> float:
    """How often a Loop turns at least."""
    count, begins = (*node.inputs[:2], None, None)[:2]
    starts = begins is None or _is_true(begins, facts)
    if not starts:
        return 0
    (body,) = inner_graphs(node)[:1] or (None,)
    if body is None or not _goes_on(body, facts):
        return 1 if count is None else min(1, _number(count, facts))
    return inf if count is None else _number(count, facts)


def _number(count: ir.Value, facts: Facts) -> int:
    held = facts.held(count)
    found = None if held is None or held.size != 1 else held.reshape(-1).tolist()[0]
    return max(0, found) if isinstance(found, int) else 0


def _goes_on(body: ir.Graph, facts: Facts) -> bool:
    """Whether a body never says that its turn is the last: it hands its own condition on, or says yes."""
    if len(body.inputs) < 2 or not body.outputs:
        return False
    value: ir.Value | None = body.outputs[0]
    while value is not None and value is not body.inputs[1]:
        if _is_true(value, facts):
            return True
        maker = value.producer()
        value = maker.inputs[0] if maker is not None and maker.op_type == "Identity" else None
    return value is not None


def _is_true(value: ir.Value, facts: Facts) -> bool:
    tensor = constant_tensor(value)
    held = facts.held(value) if tensor is None else tensor.numpy()
    return held is not None and held.size == 1 and held.reshape(-1).tolist()[0] in (True, 1)
