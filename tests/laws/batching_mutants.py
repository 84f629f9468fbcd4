"""Planted bugs: the batching as it would be with one thing subtly wrong, which the law must find."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.graphs import edit
from onereshape.graphs.backtracking import Search
from onereshape.graphs.batch_rules import (
    aligning,
    answers,
    counting,
    indices,
    masks,
    numbering,
    spreading as writing,
    view as batch_view,
)
from onereshape.graphs.batch_rules.marks import Mark, homes, times
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.elements import ElementArray, Holding, array_of
from onereshape.graphs.operators import (
    FAMILIES,
    RECORDS,
    contractions,
    contributed,
    features,
    images,
    indexing,
    joining,
    layout,
    pointwise,
    repeating,
    reshape,
    scattering,
    slicing,
)
from onereshape.graphs.rewrite import Rewriter
from onereshape.repair.batch import search

Patch = Callable[[pytest.MonkeyPatch], None]


class Mutant(NamedTuple):
    """A planted bug, and the operators whose cases must show it."""

    name: str
    plant: Patch
    ops: str


MUTANTS: list[Mutant] = []


def mutant(ops: str) -> Callable[[Patch], Patch]:
    def add(plant: Patch) -> Patch:
        MUTANTS.append(Mutant(plant.__name__, plant, ops))
        return plant

    return add


def _record(patch: pytest.MonkeyPatch, op: str, **fields: Any) -> None:
    """Changes the record of an operator."""
    patch.setitem(RECORDS, op, RECORDS[op]._replace(**fields))


def _answers(patch: pytest.MonkeyPatch, op: str, change: Callable[[BatchView, BatchAnswer], BatchAnswer]) -> None:
    """Changes all answers of an operator's rule."""
    rule = RECORDS[op].batch
    assert rule is not None

    def changed(view: BatchView) -> Iterator[BatchAnswer]:
        for answer in rule(view):
            yield change(view, answer)

    _record(patch, op, batch=changed)


def _marks(patch: pytest.MonkeyPatch, op: str, change: Callable[[BatchView, Mark], Mark]) -> None:
    """Changes the marks of all outputs of an operator."""
    _answers(
        patch,
        op,
        lambda view, answer: answer._replace(marks=tuple(mark and change(view, mark) for mark in answer.marks)),
    )


def _without_edits(patch: pytest.MonkeyPatch, op: str) -> None:
    _answers(patch, op, lambda _, answer: answer._replace(edits=()))


def _nothing(edit: Edit) -> Edit:
    """The same edit on paper, which does nothing."""
    return edit._replace(apply=lambda _: None)


@mutant("MatMul Add Concat Where")
def axes_that_are_not_swapped(patch: pytest.MonkeyPatch) -> None:
    swap = aligning._swap
    patch.setattr(aligning, "_swap", lambda *given: _nothing(swap(*given)))


@mutant("Add")
def operands_raised_beside_their_rows(patch: pytest.MonkeyPatch) -> None:
    """N of a raised operand next to its own dims, and not where the others have it."""
    lower = pointwise._lower

    def changed(*given: Any) -> dict[int, list[Any]]:
        return {index: [*dims[1:-1], dims[0], dims[-1]] for index, dims in lower(*given).items()}

    patch.setattr(pointwise, "_lower", changed)


@mutant("Slice")
def rows_of_one_sample(patch: pytest.MonkeyPatch) -> None:
    rows = slicing._rows

    def wrong(*given: Any) -> tuple[int, int] | None:
        found = rows(*given)
        return None if found is None else (0, found[1] - found[0])

    patch.setattr(slicing, "_rows", wrong)


@mutant("Reshape")
def homes_unchecked(patch: pytest.MonkeyPatch) -> None:
    def wrong(_data: Any, _mark: Mark, output: Any, batch: int) -> Iterator[Mark]:
        yield from (Mark(axis, 1, dim // batch) for axis, dim in reversed(list(enumerate(output))) if dim % batch == 0)

    for module in (layout, reshape):
        patch.setattr(module, "homes", wrong)


@mutant("Reshape Squeeze")
def homes_that_forget_what_stands_outside(patch: pytest.MonkeyPatch) -> None:
    def wrong(data: Any, mark: Mark, output: Any, batch: int) -> Iterator[Mark]:
        yield from (
            home._replace(outer=1, inner=times(home.outer, home.inner)) for home in homes(data, mark, output, batch)
        )

    for module in (layout, reshape):
        patch.setattr(module, "homes", wrong)


@mutant("Gather GatherND ScatterND")
def numbers_moved_without_modulo(patch: pytest.MonkeyPatch) -> None:
    insert = Rewriter.insert

    def wrong(self: Rewriter, before: Any, op: str, inputs: Any, attributes: Any = {}) -> ir.Value:  # noqa: B006
        return inputs[0] if op == "Mod" else insert(self, before, op, inputs, attributes)

    patch.setattr(Rewriter, "insert", wrong)


@mutant("Gather GatherND")
def numbers_moved_by_a_wrong_step(patch: pytest.MonkeyPatch) -> None:
    offsets = writing.offsets
    patch.setattr(writing, "offsets", lambda build, _step, home, rank: offsets(build, 1, home, rank))


@mutant("Gather GatherND ScatterND")
def numbers_not_moved(patch: pytest.MonkeyPatch) -> None:
    for module in (indexing, scattering):
        patch.setattr(module, "offset", lambda *given: tuple(map(_nothing, indices.offset(*given))))


@mutant("Where Concat ScatterND GatherElements GatherND MatMul RNN")
def edits_of_the_input_that_was_there_when_they_were_planned(patch: pytest.MonkeyPatch) -> None:
    replace = BatchView.replace_input

    def wrong(self: BatchView, index: int, message: str, before: str, after: str, make: Any) -> Edit:  # noqa: PLR0913, PLR0917
        planned = self.value(index)
        return replace(self, index, message, before, after, lambda build, _: make(build, planned))

    patch.setattr(BatchView, "replace_input", wrong)


@mutant("Cast")
def a_size_that_a_cast_loses(patch: pytest.MonkeyPatch) -> None:
    def lost(holding: Holding) -> list[ElementArray | None]:
        return [array_of([None] * holding.given(0).size, holding.given(0).shape)]

    patch.setitem(RECORDS, "Cast", RECORDS["Cast"]._replace(elements=lost))


@mutant("Expand")
def a_vector_of_sizes_counted_from_the_left(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(repeating, "_grown", answers.sized_mark)


@mutant("Resize")
def a_roi_that_is_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(images, "_check_crop", lambda *_: None)


@mutant("Resize")
def proportions_that_are_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(images, "_one_factor", lambda *_: 1)


@mutant("Gather")
def numbers_of_samples_by_any_step(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(indices, "_count_already", lambda view, index, _: counting.from_zero(view.value(index), view.state))


@mutant("Gather")
def numbers_of_samples_from_below_zero(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(indices, "from_zero", lambda *_: True)


@mutant("Gather")
def rows_that_count_the_samples_by_any_step(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(indices, "steps", lambda counts, *_: counts is not None)


@mutant("GatherND")
def rows_that_count_the_samples_in_any_column(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(indices, "steps", lambda counts, step, *_: counts is not None and bool((counts.max() == step).all()))


@mutant("Gather")
def rows_that_count_the_samples_backwards(patch: pytest.MonkeyPatch) -> None:
    added = numbering.added
    for module in (batch_view, indices):
        patch.setattr(module, "added", lambda array, mark, size: added(np.sort(array, mark.axis), mark, size))


@mutant("Gather GatherND")
def rows_that_count_the_samples_from_below_zero(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(indices, "from_zero", lambda *_: True)


@mutant("Add")
def numbers_of_samples_that_nobody_must_use(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(search, "counted", lambda *_: None)


@mutant("Gather ScatterND")
def rows_of_the_first_sample_for_all(patch: pytest.MonkeyPatch) -> None:
    numbered = numbering.numbered
    patch.setattr(batch_view, "numbered", lambda build, array, more, mark: numbered(build, array, more * 0, mark))


@mutant("Gather")
def rows_of_the_first_sample_left_out(patch: pytest.MonkeyPatch) -> None:
    numbered = numbering.numbered
    patch.setattr(batch_view, "numbered", lambda build, array, more, mark: numbered(build, array * 0, more, mark))


@mutant("MaxPool")
def places_of_the_largest_that_begin_again_in_each_sample(patch: pytest.MonkeyPatch) -> None:
    _answers(patch, "MaxPool", lambda _, answer: answer._replace(counts=None))


@mutant("MaxPool")
def places_of_the_largest_counted_by_channels(patch: pytest.MonkeyPatch) -> None:
    _answers(
        patch,
        "MaxPool",
        lambda _, answer: answer._replace(counts=None if answer.counts is None else answer.counts // 2),
    )


@mutant("ScatterND")
def a_mask_whose_batch_is_not_looked_at(patch: pytest.MonkeyPatch) -> None:
    put = scattering._put

    def wrong(view: BatchView, found: Any) -> BatchAnswer:
        patch.setitem(view.state.marks, found.mask, view.mark(0))
        return put(view, found)

    patch.setattr(scattering, "_put", wrong)


@mutant("ScatterND")
def a_mask_by_which_numbers_are_added(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(masks, "_plain", lambda _: True)


@mutant("ScatterND")
def a_mask_that_is_not_seen(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(masks, "_number", lambda _: None)


@mutant("Unsqueeze")
def an_axis_of_one_that_takes_the_samples_wherever_it_comes(patch: pytest.MonkeyPatch) -> None:
    def wrong(data: Any, mark: Mark, output: Any, batch: int) -> Iterator[Mark]:
        yield from (Mark(axis) for axis, dim in enumerate(output) if dim == 1)
        yield from homes(data, mark, output, batch)

    patch.setattr(layout, "homes", wrong)


@mutant("ScatterElements")
def sizes_that_are_not_put_into_others(patch: pytest.MonkeyPatch) -> None:
    _record(patch, "ScatterElements", elements=lambda holding: [holding.given(0)])


@mutant("Gather")
def places_of_ones_that_are_not_known(patch: pytest.MonkeyPatch) -> None:
    _record(patch, "NonZero", elements=None, shape=lambda asking: [asking.unknown(2)])


@mutant("Concat GatherElements LSTM GridSample ReverseSequence")
def nothing_spread(patch: pytest.MonkeyPatch) -> None:
    spread = BatchView.spread
    patch.setattr(BatchView, "spread", lambda self, *given, **more: _nothing(spread(self, *given, **more)))


@mutant("Add Concat")
def spread_with_outer_and_inner_swapped(patch: pytest.MonkeyPatch) -> None:
    spread = writing.spread

    def wrong(build: Rewriter, value: ir.Value, dims: Any, mark: Mark) -> ir.Value:
        return spread(build, value, dims, mark._replace(outer=mark.inner, inner=mark.outer))

    patch.setattr(batch_view, "spread", wrong)


@mutant("Tile")
def tile_with_outer_and_inner_swapped(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "Tile", lambda _, mark: mark._replace(outer=mark.inner, inner=mark.outer))


@mutant("Concat")
def concat_along_the_batch_inside(patch: pytest.MonkeyPatch) -> None:
    def inside(view: BatchView, mark: Mark) -> Mark:
        along = view.axis(view.rank(0), 1) == mark.axis
        return mark._replace(outer=1, inner=times(mark.outer, mark.inner)) if along else mark

    _marks(patch, "Concat", inside)


@mutant("Slice")
def slice_with_its_end_left(patch: pytest.MonkeyPatch) -> None:
    _without_edits(patch, "Slice")


@mutant("Split")
def split_with_its_sizes_left(patch: pytest.MonkeyPatch) -> None:
    _without_edits(patch, "Split")


@mutant("Reshape")
def reshape_left_as_it_is(patch: pytest.MonkeyPatch) -> None:
    _without_edits(patch, "Reshape")


@mutant("Resize")
def resize_with_its_sizes_left(patch: pytest.MonkeyPatch) -> None:
    _without_edits(patch, "Resize")


@mutant("Shape Size TopK")
def nothing_pinned(patch: pytest.MonkeyPatch) -> None:
    pin = BatchView.pin
    patch.setattr(BatchView, "pin", lambda self, index: _nothing(pin(self, index)))


@mutant("Add Mul")
def common_mark_without_factors(patch: pytest.MonkeyPatch) -> None:
    common = answers.common_mark

    def wrong(marks: Any, view: BatchView) -> Mark:
        found = list(marks)
        return found[0] if len({mark.axis for mark in found}) == 1 else common(found, view)

    for module in FAMILIES:
        if hasattr(module, "common_mark"):
            patch.setattr(module, "common_mark", wrong)


@mutant("Range Expand ConstantOfShape")
def undoing_without_clearing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Search, "_undo", lambda self: self.steps.pop())


@mutant("Add Mul Einsum")
def rows_of_several_samples_unchecked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BatchView, "rows", lambda *_, **__: None)


@mutant("Add")
def rows_folded_by_the_reference_alone(patch: pytest.MonkeyPatch) -> None:
    for op, record in RECORDS.items():
        patch.setitem(RECORDS, op, record._replace(fold=None))


@mutant("Transpose")
def transpose_the_other_way(patch: pytest.MonkeyPatch) -> None:
    def turned(view: BatchView, _: Mark) -> Mark:
        mark = view.mark(0)
        assert mark is not None
        order = view.attribute("perm") or list(range(view.rank(0)))[::-1]
        return mark.at(order[mark.axis])

    _marks(patch, "Transpose", turned)


@mutant("ReduceSum ReduceMax ArgMax")
def reduction_that_keeps_all_axes(patch: pytest.MonkeyPatch) -> None:
    for op in ("ReduceSum", "ReduceMax", "ArgMax"):
        _marks(patch, op, lambda view, mark: mark.at(view.mark(0).axis))


@mutant("Softmax LogSoftmax Hardmax")
def softmax_of_old_opsets_along_one_axis(patch: pytest.MonkeyPatch) -> None:
    axes = answers.along(lambda view, rank: {view.axis(rank, -1)}, "sum")
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        _record(patch, op, batch=axes)


@mutant("Expand")
def expand_that_counts_axes_from_the_front(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "Expand", lambda view, mark: mark if view.mark(0) is None else mark.at(view.mark(0).axis))


@mutant("Flatten")
def flatten_that_forgets_what_stands_outside(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "Flatten", lambda _, mark: mark._replace(outer=1, inner=times(mark.outer, mark.inner)))


@mutant("MatMul Gemm")
def operands_never_shared(patch: pytest.MonkeyPatch) -> None:
    wrong = lambda view, index, mark: _nothing(answers.shared(view, index, mark))  # noqa: E731
    patch.setattr(contractions, "shared", wrong)


@mutant("LSTM GRU RNN")
def recurrence_with_the_batch_of_its_states(patch: pytest.MonkeyPatch) -> None:
    for op in ("LSTM", "GRU", "RNN"):
        _answers(patch, op, lambda _, answer: answer._replace(marks=(answer.marks[-1],) * len(answer.marks)))


@mutant("ReverseSequence")
def a_reversal_with_its_lengths_left(patch: pytest.MonkeyPatch) -> None:
    _without_edits(patch, "ReverseSequence")


@mutant("ReverseSequence")
def a_reversal_along_any_axis(patch: pytest.MonkeyPatch) -> None:
    _record(patch, "ReverseSequence", batch=lambda view: iter([BatchAnswer((answers.only_first(view),))]))


@mutant("Col2Im")
def blocks_that_keep_their_places_as_channels(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "Col2Im", lambda view, _: view.mark(0) or Mark(0))


@mutant("Col2Im")
def blocks_along_any_axis(patch: pytest.MonkeyPatch) -> None:
    _record(patch, "Col2Im", batch=lambda view: iter([BatchAnswer((answers.only_first(view),))]))


@mutant("Det")
def determinants_of_the_samples(patch: pytest.MonkeyPatch) -> None:
    _record(patch, "Det", batch=lambda view: iter([BatchAnswer((answers.only_first(view).at(0),))]))


@mutant("AffineGrid")
def grids_with_their_size_left(patch: pytest.MonkeyPatch) -> None:
    _without_edits(patch, "AffineGrid")


@mutant("AffineGrid")
def matrices_never_shared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        images, "_shared_grid", lambda view: BatchAnswer((Mark(0),), view.corrected(1, "size", {0: view.batch}))
    )


@mutant("Gather")
def gather_that_forgets_the_rank_of_its_indices(patch: pytest.MonkeyPatch) -> None:
    def forgotten(view: BatchView, mark: Mark) -> Mark:
        data = view.mark(0)
        return mark if data is None or view.mark(1) is not None else mark.at(data.axis)

    _marks(patch, "Gather", forgotten)


@mutant("Unsqueeze")
def unsqueeze_that_moves_nothing(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "Unsqueeze", lambda view, _: view.mark(0) or Mark(0))


@mutant("OneHot")
def one_hot_that_moves_nothing(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "OneHot", lambda view, _: view.mark(0) or Mark(0))


@mutant("Reshape Resize")
def shared_constants_disturbed(patch: pytest.MonkeyPatch) -> None:
    """The constant itself is changed, for all who use it."""
    replace = ir.Node.replace_input_with

    def wrong(self: ir.Node, index: int, value: ir.Value | None) -> None:
        old = self.inputs[index]
        if old is not None and value is not None and old.is_initializer() and value.const_value is not None:
            old.const_value = value.const_value
        else:
            replace(self, index, value)

    patch.setattr(ir.Node, "replace_input_with", wrong)


@mutant("Concat GatherElements RNN")
def new_nodes_in_the_wrong_place(patch: pytest.MonkeyPatch) -> None:
    def wrong(self: Rewriter, node: ir.Node) -> None:
        self.graph.append(node)

    patch.setattr(Rewriter, "_at_front", wrong)


@mutant("BatchNormalization InstanceNormalization")
def weights_of_channels_not_repeated(patch: pytest.MonkeyPatch) -> None:
    for op in ("BatchNormalization", "InstanceNormalization"):
        _without_edits(patch, op)


@mutant("MaxPool Size Shape")
def sizes_given_away_as_outputs(patch: pytest.MonkeyPatch) -> None:
    """Whatever else it takes, an output that grows with N must be marked."""
    decided = Search.run

    def wrong(self: Any) -> Any:
        found = decided(self)
        self.walk.state.sized.clear()
        return found

    patch.setattr(Search, "run", wrong)


@mutant("Reshape")
def computed_targets_rewritten_though_they_are_right(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reshape, "_grows_there", lambda *_: False)


@mutant("Split")
def parts_of_sizes_not_followed(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(RECORDS, "Split", RECORDS["Split"]._replace(elements=None))


@mutant("MatMulInteger")
def zero_points_unchecked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(contractions, "_check_zero_points", lambda *_: None)


@mutant("ai.onnx.ml::Normalizer ai.onnx.ml::Scaler")
def features_taken_for_samples(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(features, "row_mark", answers.only_first)


@mutant("ai.onnx.ml::ArrayFeatureExtractor")
def picks_by_samples_left_where_they_were(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "ai.onnx.ml::ArrayFeatureExtractor", lambda view, mark: mark.at(0) if view.mark(0) is None else mark)


@mutant("com.microsoft::FusedMatMul")
def matrices_taken_as_they_lie(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(contributed, "_turned_mark", lambda view, index, _: view.mark(index))


@mutant("com.microsoft::QLinearConcat com.microsoft::MultiHeadAttention")
def what_samples_share_not_spread(patch: pytest.MonkeyPatch) -> None:
    for op in ("QLinearConcat", "MultiHeadAttention"):
        _without_edits(patch, f"com.microsoft::{op}")


@mutant("DFT STFT Compress CumProd CenterCropPad")
def a_batch_that_stays_whatever_is_done_along_it(patch: pytest.MonkeyPatch) -> None:
    def kept(view: BatchView) -> Iterator[BatchAnswer]:
        yield BatchAnswer((view.mark(0),))

    for op in ("DFT", "STFT", "Compress", "CumProd", "CenterCropPad"):
        _record(patch, op, batch=kept)


@mutant("Reshape")
def what_nobody_needs_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(edit, "remove_unused", lambda *_: None)


@mutant("Concat")
def rows_of_all_samples_joined_as_those_of_one(patch: pytest.MonkeyPatch) -> None:
    apart = joining._joined_apart

    def wrong(view: BatchView, axis: int) -> BatchAnswer:
        found = apart(view, axis)
        return found._replace(edits=(*found.edits[:-1], _nothing(found.edits[-1])))

    patch.setattr(joining, "_joined_apart", wrong)


@mutant("Sum Max Mean")
def operands_that_give_way_too_early(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pointwise, "_needs_all", lambda *_: False)
