"""Planted bugs in sequences, in texts, and in what newer opsets brought."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from onereshape.graphs.batch_rules.answers import only_first
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.operators import RECORDS, sequences
from tests.laws.batching_mutants import _record, _without_edits, mutant


@mutant("ConcatFromSequence SequenceAt")
def tensors_that_stay_shared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sequences, "_evened", lambda *_: ())


@mutant("SequenceErase SequenceInsert SequenceAt")
def places_counted_from_the_end(patch: pytest.MonkeyPatch) -> None:
    place = sequences._place
    patch.setattr(
        sequences, "_place", lambda view, index, count, **end: count - 1 - (place(view, index, count, **end) or 0)
    )


@mutant("SplitToSequence")
def an_axis_that_stays(patch: pytest.MonkeyPatch) -> None:
    rule = RECORDS["SplitToSequence"].batch
    assert rule is not None

    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        mark = only_first(view)
        for answer in rule(view):
            yield answer._replace(marks=(mark,), parts=(mark,) * len(answer.parts or ()))

    _record(patch, "SplitToSequence", batch=wrong)


@mutant("ConcatFromSequence")
def samples_inside_of_what_is_joined(patch: pytest.MonkeyPatch) -> None:
    rule = RECORDS["ConcatFromSequence"].batch
    assert rule is not None

    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        for answer in rule(view):
            marks = [mark and mark._replace(outer=mark.inner, inner=mark.outer) for mark in answer.marks]
            yield answer._replace(marks=tuple(marks))

    _record(patch, "ConcatFromSequence", batch=wrong)


@mutant("StringNormalizer")
def many_rows_where_one_is_taken(patch: pytest.MonkeyPatch) -> None:
    _without_edits(patch, "StringNormalizer")


@mutant("TensorScatter")
def a_cache_that_stays_one(patch: pytest.MonkeyPatch) -> None:
    _without_edits(patch, "TensorScatter")


@mutant("SwiGLU")
def a_gate_that_stays_one(patch: pytest.MonkeyPatch) -> None:
    _without_edits(patch, "SwiGLU")


@mutant("CausalConvWithState LinearAttention")
def a_state_that_stays_one(patch: pytest.MonkeyPatch) -> None:
    for op in ("CausalConvWithState", "LinearAttention"):
        _without_edits(patch, op)


@mutant("TfIdfVectorizer")
def words_that_are_samples(patch: pytest.MonkeyPatch) -> None:
    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        yield BatchAnswer((only_first(view),) * len(view.node.outputs))

    _record(patch, "TfIdfVectorizer", batch=wrong)


@mutant("QuantizeLinear DequantizeLinear")
def blocks_of_one_sample_for_all(patch: pytest.MonkeyPatch) -> None:
    for op in ("QuantizeLinear", "DequantizeLinear"):
        _without_edits(patch, op)
