"""Where the batch is, if nobody says it: what is likely, or else the only other place that the rules allow.

A state that comes out for each sample must go in for each: an input with the dims of an output is taken where that
output carries the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Final

import onnx_ir as ir

from onereshape.graphs.likely_batch import Axes, Shapes, other_axes, said
from onereshape.ground.errors import FixError
from onereshape.repair.batch.search import BatchPlan

_STATE: Final = 2
"""The fewest dims of a state."""
_MOST: Final = 16
"""Places of states that are tried."""

Planner = Callable[[Mapping[str, int]], BatchPlan]


@dataclass(frozen=True, slots=True)
class Placed:
    """A place of the batch: an axis of each input that carries it, the plan, and why these are not the likely axes."""

    axes: Axes
    plan: BatchPlan
    notes: tuple[str, ...] = ()
    unless_proven: FixError | None = None
    """What was refused, where a dim was taken whose name says nothing: a proof has to speak for it."""


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
            raise _several([each.axes for each in found])
        if found:
            moved = {name: axis for name, axis in found[0].axes.items() if axes.get(name) != axis}
            note = f"took {said(moved)}, as the batch at {said(axes)} cannot be freed: {refusal.sentence}"
            likely = all(isinstance(shapes[name][axis], int) for name, axis in axes.items())
            taken = likely and any(not isinstance(shapes[name][axis], int) for name, axis in moved.items())
            return Placed(found[0].axes, found[0].plan, (note,), refusal if taken else None)
    return None


def _several(places: Sequence[Mapping[str, int]]) -> FixError:
    """The refusal to choose."""
    return FixError("several-batches", options=" or ".join(f"--batch {said(axes)}" for axes in places))


def _planned(axes: Mapping[str, int], plan: Planner) -> BatchPlan | None:
    try:
        return plan(axes)
    except FixError:
        return None


def _with_states(model: ir.Model, shapes: Shapes, found: Placed, plan: Planner) -> Placed:
    """The place of the batch with states among the inputs: they have the dims of an output that carries the batch."""
    states = {name: _states(model, dims, found.plan) for name, dims in shapes.items() if name not in found.axes}
    states = {name: places for name, places in states.items() if places}
    if not states or prod(map(len, states.values())) > _MOST:
        return found
    taken: list[Placed] = []
    for places in product(*states.values()):
        axes = {**found.axes, **{name: axis for name, (_, axis) in zip(states, places, strict=True)}}
        planned = _planned(axes, plan)
        if planned is not None and all(_carries(planned, output, axis) for output, axis in places):
            notes = [
                f"took {name}:{axis} too, as {output.name}, which has its dims, carries the batch there"
                for name, (output, axis) in zip(states, places, strict=True)
            ]
            taken.append(Placed(axes, planned, (*found.notes, *notes)))
    if len(taken) > 1:
        raise _several([each.axes for each in taken])
    if taken:
        return taken[0]
    notes = [
        f"{name} is one for all samples, although {places[0][0].name}, which has its dims, comes out for each"
        for name, places in states.items()
    ]
    return replace(found, notes=(*found.notes, *notes))


def _states(model: ir.Model, dims: tuple[object, ...], plan: BatchPlan) -> list[tuple[ir.Value, int]]:
    """The first output of the same dims that carries the batch, at each axis where the input may carry it too."""
    for output in model.graph.outputs:
        mark, shape = plan.marks.get(output), plan.dims.get(output)
        if mark is None or shape is None or len(shape) != len(dims) or len(dims) < _STATE:
            continue
        axes = [mark.axis] if mark.bare else range(len(dims))
        places = [(output, axis) for axis in axes if dims[axis] == plan.size]
        if places and all(one == two for one, two in zip(dims, shape, strict=True) if isinstance(one, int)):
            return places
    return []


def _carries(plan: BatchPlan, output: ir.Value, axis: int) -> bool:
    mark = plan.marks.get(output)
    return mark is not None and mark.bare and mark.axis == axis
