"""What rules do for a model whose outputs are right for every batch: what a proof of its outputs does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import onnx_ir as ir

from onereshape.graphs.exports import Freed
from onereshape.graphs.request import inputs_of
from onereshape.graphs.shapes import facts_of
from onereshape.graphs.unneeded import live_nodes
from onereshape.prove.evidence import Carried
from onereshape.prove.runs.trial import batch_of
from onereshape.rule.sizes import Size, depends, symbol

_STATE: Final = 2
"""The fewest dims of a state."""


def leaves_work(model: ir.Model, asked: Freed, found: Mapping[str, Carried | None]) -> bool:
    """Whether a repair may do something all the same; `found`: where the outputs carry the batch.

    An output may have its samples beside something else, `[1, 8*N]`, or not where it says; nodes that no output needs
    may fail at several samples; a value inside may be declared with a number where it carries N; a state that comes out
    for each sample may go in as one for all.
    """
    facts, (_, name) = facts_of(model, asked), batch_of(asked)
    outputs = {value.name: value for value in model.graph.outputs}
    if found.keys() != outputs.keys():
        return True  # of a sequence, the tensors
    carrying = [(outputs[each], place) for each, place in found.items() if place is not None]

    def grows(value: ir.Value | None) -> bool:
        sizes = () if value is None else facts.dims_of(value)
        return sizes is None or any(depends(size, {name}) for size in sizes)

    live = live_nodes(model.graph)
    made = (value for node in model.graph.all_nodes() for value in node.outputs)
    given = [value.shape for value in inputs_of(model).values() if value.name not in asked]
    return (
        not all(_is_batch(value, facts.dims_of(value), place, name) for value, place in carrying)
        or any(node not in live and any(map(grows, node.inputs)) for node in model.graph)
        or any(_is_false(value.shape, facts.sizes.get(value, ()), name) for value in made)
        or any(_is_state(dims, facts.dims_of(value), place.axis) for dims in given for value, place in carrying)
    )


def _is_batch(output: ir.Value, sizes: Sequence[Size | None] | None, place: Carried, name: str) -> bool:
    """Whether an output has its samples, and nothing else, along the axis at which it says so, if it says anything."""
    declared = [None if isinstance(dim, int) else dim.value for dim in output.shape or ()]
    if place.outer != 1 or name in (*declared[: place.axis], *declared[place.axis + 1 :]):
        return False
    return name in declared if sizes is None else [*sizes][place.axis : place.axis + 1] == [symbol(name)]


def _is_false(declared: ir.Shape | None, sizes: Sequence[Size | None], name: str) -> bool:
    """Whether a value is declared with a number, or with no dim at all, where it carries N."""
    if declared is None:
        return False
    dims = [*declared, *[0] * (len(sizes) - len(declared))]
    pairs = zip(dims, sizes, strict=False)
    return any(isinstance(dim, int) and dim >= 0 and depends(size, {name}) for dim, size in pairs)


def _is_state(declared: ir.Shape | None, sizes: Sequence[Size | None] | None, axis: int) -> bool:
    """Whether an input has the dims of an output, and a 1 where that carries the batch, as far as they are known."""
    if declared is None or 1 not in declared or len(declared) < _STATE:
        return False
    if sizes is None:
        return True
    others = [(one, two) for place, (one, two) in enumerate(zip(declared, sizes, strict=False)) if place != axis]
    return len(declared) == len(sizes) and all(one == two or not isinstance(two, int) for one, two in others)
