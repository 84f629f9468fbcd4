"""A batching plan made real: the declared dims, the edits, and the nodes that nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx_ir as ir

from onereshape.graphs.edit import apply_edits, declare
from onereshape.graphs.facts.order import values_of
from onereshape.repair.batch.search import BatchPlan
from onereshape.rule.sizes import depends


def apply_batch(model: ir.Model, plan: BatchPlan, freed: Mapping[str, int]) -> None:
    """Rewrites the model, of which the plan was made, in place."""
    _declare(model.graph, plan)
    sources = {plan.symbol: next(iter(freed.items())), **plan.sources}
    apply_edits(model, plan.edits, sources, plan.dead)


def static_declarations(plan: BatchPlan) -> Iterator[ir.Value]:
    """The values declared with a fixed size, or with no dim at all, where they carry N; a -1 says nothing."""
    for value, mark in plan.marks.items():
        if value.shape is None:
            continue
        dim = value.shape[mark.axis] if mark.axis < len(value.shape) else 0
        if isinstance(dim, int) and dim >= 0:
            yield value


def false_declarations(plan: BatchPlan) -> str:
    """The declared dims of a value that are false where it carries N, an output if one is, in words; "" without such.

    `output y was declared [1, 8], with a fixed size at axis 0, which carries N, and so were 2 more`
    """
    values = sorted(static_declarations(plan), key=lambda value: not value.is_graph_output())
    if not values:
        return ""
    value, others = values[0], len(values) - 1
    axis = plan.marks[value].axis
    what = f"{'output' if value.is_graph_output() else 'value'} {value.name}"
    more = f", and so were {others} more" if others else ""
    plain = _plain(value)
    dims = ", ".join("?" if dim is None else str(dim) for dim in plain)
    false = f"with a fixed size at axis {axis}" if axis < len(plain) else f"without axis {axis}"
    return f"{what} was declared [{dims}], {false}, which carries {plan.symbol}{more}"


def _plain(value: ir.Value) -> list[int | str | None]:
    """The declared dims of a value."""
    return [dim if isinstance(dim, int) else dim.value for dim in value.shape or ()]


def _declare(graph: ir.Graph, plan: BatchPlan) -> None:
    """Writes N into the declared dims of all that carry it; beside a size without a name that dim has none either.

    A name that stood there for 1 is taken from all other values: what had one name has two sizes now.
    """
    stale: set[str | None] = set()
    for value, mark in plan.marks.items():
        if value.shape is None:
            continue
        if mark.axis >= len(value.shape):  # what has such an axis has other dims than those
            value.shape = None
            continue
        if len(set(plan.parts.get(value, (mark,)))) > 1:  # of the tensors in it not all carry N there
            value.shape = None
            continue
        factors = [str(size) for size in (mark.outer, mark.inner) if size != 1]
        before = value.shape[mark.axis]
        if isinstance(before, ir.SymbolicDim):
            stale.add(before.value)
        known = not any(depends(size, plan.facts.unnamed) for size in (mark.outer, mark.inner))
        declare(value, {mark.axis: "*".join([*factors, plan.symbol]) if known else None})
    stale -= {None, plan.symbol}
    if stale:
        for value in values_of(graph):
            if value in graph.inputs:
                continue
            dims = enumerate(value.shape or ())
            if gone := [axis for axis, dim in dims if isinstance(dim, ir.SymbolicDim) and dim.value in stale]:
                declare(value, dict.fromkeys(gone))
