"""Operators without a record that are functions of others: the batch is followed through the body.

Nothing inside can be rewritten, as no file has it: where the body would need an edit, the operator is refused, and the
one inside it is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.node_view import Refused


def batch_composed(view: BatchView) -> Iterator[BatchAnswer]:
    """The answer of a body for its operator; nothing where it has none."""
    state = view.state
    found = state.facts.composed(view.node)
    if found is None or state.follow is None:
        return
    body, facts = found
    marks = {
        inside: mark for place, inside in enumerate(body.function.inputs) if (mark := view.mark(place)) is not None
    }
    opset = body.function.opset_imports.get("", 1)
    within = replace(state, facts=facts, opset=opset, marks=dict(marks), sized={}, counts={}, parts={})
    edits = state.follow(body.function.graph, within)
    if edits:
        raise Refused(f"{edits[0].changes[0].node} inside it would have to be another, and the operator is one node")
    for end in body.function.outputs:
        if end in within.sized or end in within.counts:
            raise Refused(f"its output {end.name} depends on {state.symbol}")
    given = body.results([within.marks.get(end) for end in body.function.outputs])
    yield BatchAnswer(tuple(given[: len(view.node.outputs)]))
