"""A batching plan made real: the declared dims, the edits, and the nodes that nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx_ir as ir

from onereshape.models.batch.search import BatchPlan
from onereshape.models.edit import apply_edits, declare
from onereshape.models.facts.order import values_of


def apply_batch(model: ir.Model, plan: BatchPlan, freed: Mapping[str, int]) -> None:
    """Rewrites the model, of which the plan was made, in place."""
    _declare(model.graph, plan)
    sources = {plan.symbol: next(iter(freed.items())), **plan.sources}
    apply_edits(model, plan.edits, sources, plan.dead)


def static_declarations(plan: BatchPlan) -> Iterator[ir.Value]:
    """The values that are declared with a fixed size where they carry N."""
    for value, mark in plan.marks.items():
        if value.shape is not None and mark.axis < len(value.shape) and isinstance(value.shape[mark.axis], int):
            yield value


def _declare(graph: ir.Graph, plan: BatchPlan) -> None:
    """Writes N into the declared dims of all that carry it.

    A name that stood there for 1 is taken from all other values: what had one name has two sizes now.
    """
    stale: set[str | None] = set()
    for value, mark in plan.marks.items():
        if value.shape is None or mark.axis >= len(value.shape):
            continue
        factors = [str(size) for size in (mark.outer, mark.inner) if size != 1]
        before = value.shape[mark.axis]
        if isinstance(before, ir.SymbolicDim):
            stale.add(before.value)
        declare(value, {mark.axis: "*".join([*factors, plan.symbol])})
    stale -= {None, plan.symbol}
    if stale:
        for value in values_of(graph):
            if value in graph.inputs:
                continue
            dims = enumerate(value.shape or ())
            if gone := [axis for axis, dim in dims if isinstance(dim, ir.SymbolicDim) and dim.value in stale]:
                declare(value, dict.fromkeys(gone))
