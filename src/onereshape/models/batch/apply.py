"""A batching plan made real: the declared dims, the edits, and the nodes that nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx_ir as ir

from onereshape.models.batch.search import Plan
from onereshape.models.additions import needed, remove_unused
from onereshape.models.batch.builder import Builder


def apply_batch(model: ir.Model, plan: Plan, freed: Mapping[str, int]) -> None:
    """Rewrites the model, of which the plan was made, in place."""
    source, axis = next(iter(freed.items()))
    used = set(needed(model.graph))
    _declare(model.graph, plan)
    build = Builder(model, source, axis, plan.symbol)
    for edit in plan.edits:
        edit.apply(build)
    remove_unused(model.graph, used | set(build.added))


def static_declarations(plan: Plan) -> Iterator[ir.Value]:
    """The values that are declared with a fixed size where they carry N."""
    for value, mark in plan.marks.items():
        if value.shape is not None and mark.axis < len(value.shape) and isinstance(value.shape[mark.axis], int):
            yield value


def _declare(graph: ir.Graph, plan: Plan) -> None:
    """Writes N into the declared dims of all that carry it.

    A name that stood there for 1 is taken from all other values: what had one name has two sizes now.
    """
    stale: set[str | None] = set()
    for value, mark in plan.marks.items():
        if value.shape is None or mark.axis >= len(value.shape):
            continue
        factors = [str(size) for size in (mark.outer, mark.inner) if size != 1]
        dims = list(value.shape)
        if isinstance(dims[mark.axis], ir.SymbolicDim):
            stale.add(dims[mark.axis].value)  # type: ignore[union-attr]
        dims[mark.axis] = ir.SymbolicDim("*".join([*factors, plan.symbol]))
        value.shape = ir.Shape(dims)
    stale -= {None, plan.symbol}
    if stale:
        for value in (each for node in graph for each in node.outputs):
            if value.shape is not None and any(dim.value in stale for dim in value.shape if not isinstance(dim, int)):
                kept: list[Any] = [
                    None if not isinstance(dim, int) and dim.value in stale else dim for dim in value.shape
                ]
                value.shape = ir.Shape(kept)
