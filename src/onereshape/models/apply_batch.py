"""A batching plan made real: the declared dims, the edits, and the nodes that nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx_ir as ir

from onereshape.models.batching import Plan
from onereshape.models.builder import Builder


def apply_batch(model: ir.Model, plan: Plan, freed: Mapping[str, int]) -> None:
    """Rewrites the model, of which the plan was made, in place."""
    source, axis = next(iter(freed.items()))
    needed = set(_needed(model.graph))
    for value, dim in static_declarations(plan):
        if value.shape is not None:
            dims = list(value.shape)
            dims[plan.marks[value].axis] = ir.SymbolicDim(dim)
            value.shape = ir.Shape(dims)
    build = Builder(model, source, axis, plan.symbol)
    for edit in plan.edits:
        edit.apply(build)
    remove_unused(model.graph, needed | set(build.added))


def static_declarations(plan: Plan) -> Iterator[tuple[ir.Value, str]]:
    """The values that are declared with a fixed size where they carry N, and what that size is now."""
    for value, mark in plan.marks.items():
        if value.shape is not None and mark.axis < len(value.shape) and isinstance(value.shape[mark.axis], int):
            factors = [str(size) for size in (mark.outer, mark.inner) if size != 1]
            yield value, "*".join([*factors, plan.symbol])


def _needed(graph: ir.Graph) -> Iterator[ir.Node | ir.Value]:
    """The nodes and constants that somebody uses."""
    for node in graph:
        if any(value.uses() or value.is_graph_output() for value in node.outputs):
            yield node
    for value in graph.initializers.values():
        if value.uses() or value.is_graph_output():
            yield value


def remove_unused(graph: ir.Graph, candidates: set[ir.Node | ir.Value]) -> None:
    """Removes those of the nodes and constants that nobody uses any more."""
    for node in reversed(list(graph)):
        if node in candidates and not any(value.uses() or value.is_graph_output() for value in node.outputs):
            graph.remove(node, safe=True)
    for name, value in list(graph.initializers.items()):
        if value in candidates and not (value.uses() or value.is_graph_output() or value.is_graph_input()):
            del graph.initializers[name]
