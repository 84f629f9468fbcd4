"""Where the batch is, if nobody says it: what is likely, or else the only other place that the rules allow.

A state that comes out for each sample must go in for each: an input with the dims of an output is taken where that
output carries the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import onnx_ir as ir

from onereshape.errors import FixError
from onereshape.models.batch.search import BatchPlan
from onereshape.models.likely import Axes, Shapes, other_axes, said

Planner = Callable[[Mapping[str, int]], BatchPlan]


@dataclass(frozen=True, slots=True)
class Placed:
    """The axes that carry the batch, the plan for them, and why they are not those that were likely."""

    axes: Axes
    plan: BatchPlan
    notes: tuple[str, ...] = ()


def placed(model: ir.Model, shapes: Shapes, axes: Axes, plan: Planner) -> Placed:
    """The likely axes, or the others that the rules leave; a FixError where they leave none, or several."""
    try:
        return _with_states(model, shapes, Placed(axes, plan(axes)), plan)
    except FixError as refusal:
        if refusal.code not in {"mixes-samples", "cannot-free"}:
            raise
        found = _elsewhere(shapes, axes, plan, refusal)
        if found is None:
            raise
    return _with_states(model, shapes, found, plan)


def _elsewhere(shapes: Shapes, axes: Axes, plan: Planner, refusal: FixError) -> Placed | None:
    """The only place among those with the fewest moves that can be planned."""
    for level in other_axes(shapes, axes):
        found = [Placed(each, planned) for each in level if (planned := _planned(each, plan)) is not None]
        if len(found) > 1:
            raise FixError("several-batches", options=" or ".join(f"--batch {said(each.axes)}" for each in found))
        if found:
            moved = {name: axis for name, axis in found[0].axes.items() if axes.get(name) != axis}
            note = f"took {said(moved)}, as the batch at {said(axes)} cannot be freed: {refusal.sentence}"
            return Placed(found[0].axes, found[0].plan, (note,))
    return None


def _planned(axes: Mapping[str, int], plan: Planner) -> BatchPlan | None:
    try:
        return plan(axes)
    except FixError:
        return None


def _with_states(model: ir.Model, shapes: Shapes, found: Placed, plan: Planner) -> Placed:
    """The same with inputs that are states: those that an output of the same dims brings for each sample."""
    states = {name: _state(model, shapes[name], found) for name in shapes if name not in found.axes}
    more = {name: place for name, place in states.items() if place is not None}
    if not more:
        return found
    axes = {**found.axes, **{name: axis for name, (axis, _) in more.items()}}
    planned = _planned(axes, plan)
    if planned is None:
        return found
    notes = [
        f"took {name}:{axis} too, as {output}, which has its dims, carries the batch there"
        for name, (axis, output) in more.items()
    ]
    return Placed(axes, planned, (*found.notes, *notes))


def _state(model: ir.Model, dims: tuple[object, ...], found: Placed) -> tuple[int, str] | None:
    """The axis at which an output of the same dims carries the batch, and its name."""
    for output in model.graph.outputs:
        mark = found.plan.marks.get(output)
        shape = found.plan.dims.get(output)
        if mark is None or not mark.bare or shape is None or len(shape) != len(dims) or len(dims) < 2:
            continue
        pairs = enumerate(zip(dims, shape, strict=True))
        if dims[mark.axis] == found.plan.size and all(
            one == two or not isinstance(one, int) for axis, (one, two) in pairs if axis != mark.axis
        ):
            return mark.axis, output.name or ""
    return None
