"""Planted bugs in how the batch goes through branches and loops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx_ir as ir
import pytest

from onereshape.graphs.batch_rules import bodies
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.operators import RECORDS, control_batch, control_loops
from onereshape.graphs.rewrite import Rewriter
from onereshape.repair.batch import apply, lifting
from tests.laws.batching_mutants import _record, mutant


def _without(patch: pytest.MonkeyPatch, name: str, answer: Any) -> None:
    for module in (control_batch, control_loops):
        if hasattr(module, name):
            patch.setattr(module, name, lambda *_: answer)


@mutant("Loop Scan")
def marks_of_the_first_turn_taken_for_all(patch: pytest.MonkeyPatch) -> None:
    def once(view: BatchView, graph: ir.Graph, carried: Any, given: Any, *_: Any) -> bodies.BatchBody:
        own = zip(carried.inside, (view.mark(slot) for slot in carried.slots), strict=True)
        return bodies.followed(view, graph, {**given, **dict(own)})

    patch.setattr(control_loops, "_stable", once)
    patch.setattr(control_loops, "carrying", lambda *_: [])


@mutant("If Loop Scan")
def ends_of_bodies_left_where_they_are(patch: pytest.MonkeyPatch) -> None:
    _without(patch, "carrying", [])


@mutant("If")
def the_other_branch_taken(patch: pytest.MonkeyPatch) -> None:
    rule = RECORDS["If"].batch
    assert rule is not None

    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        integers = view.integers(0)
        with pytest.MonkeyPatch.context() as inner:
            if integers is not None:
                inner.setattr(BatchView, "integers", lambda *_: [not integers[0]])
            yield from list(rule(view))

    _record(patch, "If", batch=wrong)


@mutant("If")
def a_condition_of_each_sample_taken_for_that_of_all(patch: pytest.MonkeyPatch) -> None:
    def shared(view: BatchView, branches: list[ir.Graph]) -> BatchAnswer:
        found = [bodies.followed(view, graph) for graph in branches]
        marks, edits = control_batch._agreed(view, found)
        return BatchAnswer(tuple(marks), edits, inside=bodies.found_inside(view, *found))

    patch.setattr(control_batch, "_apart", shared)


@mutant("If")
def branches_swapped_in_a_choice(patch: pytest.MonkeyPatch) -> None:
    choice = control_batch._choice
    patch.setattr(control_batch, "_choice", lambda view, graphs, homes: choice(view, graphs[::-1], homes))


@mutant("If")
def names_of_both_branches_kept(patch: pytest.MonkeyPatch) -> None:
    inline = Rewriter.inline

    def same(self: Rewriter, node: ir.Node, graph: ir.Graph) -> list[ir.Value]:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Rewriter, "unused", lambda _, name: name)
            return inline(self, node, graph)

    patch.setattr(Rewriter, "inline", same)


@mutant("If Loop")
def what_is_baked_inside_left_alone(patch: pytest.MonkeyPatch) -> None:
    followed = bodies.followed

    def bare(*asked: Any) -> bodies.BatchBody:
        return followed(*asked)._replace(edits=())

    patch.setattr(control_batch, "followed", bare)
    patch.setattr(control_loops, "followed", bare)


@mutant("Loop")
def what_a_turn_gives_at_the_same_axis(patch: pytest.MonkeyPatch) -> None:
    _moved(patch, "Loop", lambda mark, index: mark.at(mark.axis - 1) if index and mark.axis else mark)


@mutant("Scan")
def steps_not_taken_off_the_axis(patch: pytest.MonkeyPatch) -> None:
    followed = bodies.followed

    def wrong(view: BatchView, graph: ir.Graph, marks: dict[ir.Value, Mark]) -> bodies.BatchBody:
        last = graph.inputs[-1]
        dims = view.state.dims(last) or ()
        moved = {
            value: mark.at(min(mark.axis + 1, len(dims) - 1)) if mark is not None and value is last else mark
            for value, mark in marks.items()
        }
        return followed(view, graph, moved)

    patch.setattr(control_loops, "followed", wrong)


@mutant("Scan")
def what_a_step_gives_always_further_on(patch: pytest.MonkeyPatch) -> None:
    _moved(patch, "Scan", lambda mark, index: mark.at(min(mark.axis + 1, 2)) if index else mark)


def _moved(patch: pytest.MonkeyPatch, op: str, change: Any) -> None:
    rule = RECORDS[op].batch
    assert rule is not None

    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        for answer in rule(view):
            marks = (mark and change(mark, index) for index, mark in enumerate(answer.marks))
            yield answer._replace(marks=tuple(marks))

    _record(patch, op, batch=wrong)


@mutant("Loop")
def turns_that_depend_on_the_sample_allowed(patch: pytest.MonkeyPatch) -> None:
    rule = RECORDS["Loop"].batch
    assert rule is not None

    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        view._marks[:2] = [None, None]
        yield from rule(view)

    _record(patch, "Loop", batch=wrong)


@mutant("Loop")
def initial_values_not_spread(patch: pytest.MonkeyPatch) -> None:
    carried = control_loops._carried_marks

    def wrong(view: BatchView, body: bodies.BatchBody, each: Any) -> Any:
        marks, edits = carried(view, body, each)
        return marks, [edit for edit in edits if edit.slot is None]

    patch.setattr(control_loops, "_carried_marks", wrong)


@mutant("If Loop Scan")
def dims_inside_declared_as_before(patch: pytest.MonkeyPatch) -> None:
    declared = apply._declare

    def outside(graph: ir.Graph, plan: Any) -> None:
        kept = {value: mark for value, mark in plan.marks.items() if value.graph is graph}
        declared(graph, type(plan)(kept, plan.edits, plan.symbol))

    patch.setattr(apply, "_declare", outside)


@mutant("Scan")
def samples_in_any_order(patch: pytest.MonkeyPatch) -> None:
    listed = control_loops._listed

    def forwards(view: BatchView, name: str, count: int) -> list[int]:
        return [0] * count if name.endswith("directions") else listed(view, name, count)

    patch.setattr(control_loops, "_listed", forwards)


@mutant("Scan")
def steps_that_read_all_samples(patch: pytest.MonkeyPatch) -> None:
    _without(patch, "inside", [])


@mutant("If")
def conditions_that_others_need_without_an_axis(patch: pytest.MonkeyPatch) -> None:
    def anyhow(_model: ir.Model, value: ir.Value, _facts: Any) -> Any:
        return lifting._Lifting((value,), (), "If")

    patch.setattr(lifting, "_way", anyhow)


@mutant("If")
def conditions_that_get_an_axis_twice(patch: pytest.MonkeyPatch) -> None:
    way = lifting._way

    def without(*asked: Any) -> Any:
        found = way(*asked)
        return found and found._replace(unsqueezed=())

    patch.setattr(lifting, "_way", without)


@mutant("If")
def entries_with_another_sign(patch: pytest.MonkeyPatch) -> None:
    row = lifting._row

    def turned(build: Rewriter, node: ir.Node, data: ir.Value, size: int | None) -> ir.Value:
        return build.insert(node, "Neg", [row(build, node, data, size)])

    patch.setattr(lifting, "_row", turned)


@mutant("Loop Scan")
def starts_of_the_first_sample_for_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BatchView, "rows", lambda *_, **__: None)


@mutant("If")
def ends_of_the_first_sample_for_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(bodies, "_rows_of_one", lambda *asked: asked[-1].inner)


@mutant("Scan")
def steps_spread_where_the_body_has_them(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(control_loops._Shared, "given", lambda _, mark: mark)


@mutant("Loop")
def starts_never_taken_for_the_samples(patch: pytest.MonkeyPatch) -> None:
    _without(patch, "_repeated", [])


@mutant("Loop")
def stacks_of_no_turn_left_alone(patch: pytest.MonkeyPatch) -> None:
    _without(patch, "_turns", True)
