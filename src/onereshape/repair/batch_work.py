"""The batch of a model freed: where it is, how it goes through the graph, and where the outputs carry it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx_ir as ir

from onereshape.formats.model import Model
from onereshape.formats.onnx.onnx_graphs import opset_of
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.own_scales import has_scales, own_scales
from onereshape.graphs.edit import Change
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.request import batch_size, inputs_of, requested, shapes_of
from onereshape.graphs.shapes import facts_of, telling
from onereshape.ground.errors import FixError
from onereshape.prove.evidence import Carried
from onereshape.prove.runs.comparison import Comparison
from onereshape.repair.batch.apply import apply_batch, false_declarations, static_declarations
from onereshape.repair.batch.dropping import Cut, cut
from onereshape.repair.batch.lifting import has_elements, keep, lift
from onereshape.repair.batch.per_sample import apply_per_sample, per_sample_plan
from onereshape.repair.batch.search import BatchPlan, batch_plan, fresh_patience
from onereshape.repair.batch.stacking import Stacked, stacked
from onereshape.repair.placing import Placed, placed
from onereshape.repair.work import Work
from onereshape.rule.condition import at_least


def batch_work(  # noqa: PLR0913 - what may be done for it
    model: Model,
    axes: dict[str, int],
    facts: Facts | None = None,
    *,
    likely: bool,
    new_axis: bool = False,
    lifts: bool = False,
) -> Work:
    """Decides how the batch at `axes` is freed; where these are only the likely ones, at others if it must be.

    `new_axis`: an output of one sample that has no axis for it gets one, and nodes may be taken out for it.
    `lifts`: single elements of one sample that have no axis get some.
    """
    shapes = shapes_of(inputs_of(model.ir))
    alone = _is_alone(model.ir, axes)
    changes: list[Change] = []
    symbol = next(name for dims in requested(model, axes).values() for name in dims.values())
    beyond: FixError | None = None
    if lifts and has_scales(model.ir) and batch_size(model.ir, axes) == 1:
        try:
            changes += scaled(model.ir, axes, symbol, facts)
        except FixError as error:
            beyond = error
        facts = None if changes else facts
    if lifts and alone and has_elements(model.ir):
        changes += lifted(model.ir, axes, symbol, facts)
        facts = None if changes else facts
    try:
        place, cuts, refused = _placed(model, axes, facts, likely=likely, cutting=new_axis and alone)
    except FixError as error:
        # What refuses also where each sample has scales of its own is what is in the way.
        raise (beyond if beyond is not None and error.fields.get("op") == "DynamicQuantizeLinear" else error) from None
    axes, found = place.axes, place.plan
    if cuts and not _is_alone(model.ir, axes):
        raise refused or FixError("cannot-free", node=next(iter(cuts)), op="output", why="no axis can be added")
    alone = alone and _is_alone(model.ir, axes)
    marks = {name: mark for value in model.ir.graph.outputs for name, mark in marks_of(value, found)}
    new: dict[str, Stacked] = {}
    if new_axis and alone:
        both = stacked(model.ir, found, opset_of(model.ir.graph), cuts)
        if both is None:
            raise refused or FixError("cannot-free", node=next(iter(cuts)), op="output", why="no axis can be added")
        found, new = both
    with telling(found.facts):
        outputs = {name: _carried(name, mark) for name, mark in marks.items() if name not in new}
    outputs |= {name: Carried(0, 1, 1) if each.first else Carried(0, new=each.rank) for name, each in new.items()}
    fixed = all(isinstance(shapes[name][axis], int) for name, axis in axes.items())
    declared = false_declarations(found)
    mended = [] if fixed or found.edits else [each for each in (declared, _dropped(found)) if each]
    # A model that named its batch may have taken no samples; what is rewritten need not.
    open_batch = [at_least(found.symbol, 1)] if found.edits and not fixed else []
    return Work(
        (*changes, *found.changes),
        lambda: apply_batch(model.ir, found, axes),
        Comparison("batch", found.size, outputs),
        bool(changes or found.edits or found.dead or declared),
        requested(model, axes),
        tuple(dict.fromkeys([*open_batch, *(each for change in found.changes for each in change.conditions)])),
        (*place.notes, *(each.note for each in new.values()), *mended),
        place.unless_proven,
        frozenset(value.name or "" for value in static_declarations(found)),
    )


def _is_alone(model: ir.Model, axes: Mapping[str, int]) -> bool:
    """Whether the batch is fixed, of one sample; above 1, or with a name, it says itself where it goes."""
    shapes = shapes_of(inputs_of(model))
    return batch_size(model, axes) == 1 and all(isinstance(shapes[name][axis], int) for name, axis in axes.items())


def _dropped(plan: BatchPlan) -> str:
    """The nodes that are taken out, in a sentence, for where nothing else had to be mended; "" without any."""
    names = [node.name or f"{node.op_type} of {node.outputs[0].name}" for node in plan.dead]
    if not names:
        return ""
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{min(names)}{more}, which no output needs, would fail at several samples and was taken out"


def per_sample_work(model: Model, axes: Mapping[str, int], doubts: list[str], *, new_axis: bool) -> Work:
    """The whole model run once for each sample; outputs whose dims may be others for each are `doubts`."""
    asked = requested(model, axes)
    symbol = next(iter(next(iter(asked.values())).values()))
    found = per_sample_plan(model.ir, axes, symbol, batch_size(model.ir, axes), new_axis=new_axis)
    doubts += found.doubts
    outputs: dict[str, Carried | None] = {value.name or "": None for value in model.ir.graph.outputs}
    outputs |= {name: Carried(axis) for name, axis in axes.items() if name in outputs}
    outputs |= {
        each.value.name or "": Carried(0, new=len(each.dims)) if each.new else Carried(each.axis, 1, each.inner)
        for each in found.stacked
    }
    return Work(
        found.changes,
        lambda: apply_per_sample(model.ir, found),
        Comparison("batch", 1, outputs),
        needed=True,
        freed=asked,
        conditions=(at_least(symbol, 1),),
        notes=found.notes,
    )


def scaled(model: ir.Model, axes: Mapping[str, int], symbol: str, facts: Facts | None = None) -> list[Change]:
    """Gives each sample scales of its own, in place; a FixError where the batch does not get through with them."""
    found = batch_plan(model, axes, symbol, 1, facts, own_scales=True)
    return own_scales(model, found.marks, found.facts, symbol)


def lifted(model: ir.Model, axes: Mapping[str, int], symbol: str, facts: Facts | None = None) -> list[Change]:
    """Gives single elements axes for the sample, in place, as long as their lack of one is what refuses it."""
    changes: list[Change] = []
    while True:
        facts = facts or facts_of(model)
        try:
            batch_plan(model, axes, symbol, 1, facts)
        except FixError as refusal:
            asked = (model, str(refusal.fields.get("node")), opset_of(model.graph), facts)
            change = lift(*asked) or keep(*asked)
            if change is None:
                return changes
            changes.append(change)
            facts = None
        else:
            return changes


def _placed(
    model: Model, axes: dict[str, int], facts: Facts | None, *, likely: bool, cutting: bool
) -> tuple[Placed, dict[str, Cut], FixError | None]:
    """Where the batch is, and its plan; the outputs before which nodes were taken out, and what was refused first."""
    shapes = shapes_of(inputs_of(model.ir))
    fixed = all(isinstance(shapes[name][axis], int) for name, axis in axes.items())
    known = facts or (facts_of(model.ir) if fixed else None)  # once for all places
    patience = fresh_patience()

    def plan(axes: Mapping[str, int]) -> BatchPlan:
        symbol = next(name for dims in requested(model, axes).values() for name in dims.values())
        return batch_plan(model.ir, axes, symbol, batch_size(model.ir, axes), known, patience=patience)

    cuts: dict[str, Cut] = {}
    refused: FixError | None = None
    while True:
        try:
            place = placed(model.ir, shapes, axes, plan) if likely else Placed(axes, plan(axes))
        except FixError as refusal:
            refused = refused or refusal
            gone = cut(model.ir, str(refusal.fields.get("node")), facts_of(model.ir)) if cutting else None
            if gone is None or gone[0] in cuts:
                raise refused from None
            cuts[gone[0]] = gone[1]
            known = facts_of(model.ir) if fixed else None
        else:
            return place, cuts, refused


def marks_of(value: ir.Value, plan: BatchPlan) -> Iterator[tuple[str, Mark | None]]:
    """An output with its mark, `y`; of a sequence each of its tensors, by its number, `y[0]`."""
    kind = value.type.elem_type if isinstance(value.type, ir.OptionalType) else value.type
    if value not in plan.facts.parts and not isinstance(kind, ir.SequenceType):
        yield value.name or "", plan.marks.get(value)
        return
    known = plan.facts.parts.get(value)
    if known is None and value in plan.marks:
        why = "how many tensors are in it is not known"
        raise FixError("cannot-free", node=value.name or "", op="output", why=why)
    for place, mark in enumerate(plan.parts.get(value, (None,) * len(known or ()))):
        yield f"{value.name}[{place}]", mark


def _carried(output: str, mark: Mark | None) -> Carried | None:
    """Where an output carries N, for the certificate."""
    if mark is None:
        return None
    if not isinstance(mark.outer, int):
        raise FixError("cannot-free", node=output, op="output", why=f"it would carry the batch inside {mark.outer}")
    return Carried(mark.axis, mark.outer, mark.inner if isinstance(mark.inner, int) else None)
