"""Planted bugs in regions, losses, draws, lists, and in what onnxruntime writes into the models that it ships."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx_ir as ir
import pytest

from onereshape.graphs.batch_rules import spreading as writing
from onereshape.graphs.batch_rules.answers import images, only_first
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.operators import RECORDS, attention, reductions, regions
from onereshape.graphs.rewrite import Rewriter
from tests.laws.batching_mutants import _marks, _record, mutant


@mutant("Gather")
def indices_from_the_end_that_stay_where_they_are(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(writing, "_within", lambda _writer, _node, indices, *_: indices)


@mutant("Gather")
def samples_counted_from_1_where_there_is_no_range(patch: pytest.MonkeyPatch) -> None:
    count = Rewriter.count

    def wrong(self: Rewriter, size: Any) -> ir.Value:
        found = count(self, size)
        return found if self.opset >= 11 else self.front("Add", [found, self.integers([1])])

    patch.setattr(Rewriter, "count", wrong)


@mutant("RoiAlign")
def regions_of_the_first_sample_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(regions, "offset", lambda *_: ())


@mutant("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss")
def labels_beside_the_classes(patch: pytest.MonkeyPatch) -> None:
    rule = reductions.batch_loss

    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        for answer in rule(view):
            yield answer._replace(marks=tuple(mark and mark.at(view.rank(1) - 1 - mark.axis) for mark in answer.marks))

    for op in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        _record(patch, op, batch=wrong)


@mutant("Multinomial")
def draws_along_the_draws(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "Multinomial", lambda _, mark: mark.at(1))


def _as_it_comes(view: BatchView) -> Iterator[BatchAnswer]:
    yield BatchAnswer((only_first(view),))


def _unrefused(patch: pytest.MonkeyPatch, op: str) -> None:
    assert RECORDS[op].batch is not None
    _record(patch, op, batch=_as_it_comes)


@mutant("MaxRoiPool")
def regions_that_are_the_samples(patch: pytest.MonkeyPatch) -> None:
    _unrefused(patch, "MaxRoiPool")


@mutant("MaxUnpool")
def indices_that_are_the_sample_s_own(patch: pytest.MonkeyPatch) -> None:
    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        mark = only_first(view)
        yield BatchAnswer((mark,), (view.spread(1, mark),))

    _record(patch, "MaxUnpool", batch=wrong)


@mutant("NonZero")
def places_that_are_the_samples(patch: pytest.MonkeyPatch) -> None:
    _unrefused(patch, "NonZero")


@mutant("NonMaxSuppression")
def boxes_that_are_the_samples(patch: pytest.MonkeyPatch) -> None:
    _unrefused(patch, "NonMaxSuppression")


@mutant("Unique")
def samples_that_are_never_equal(patch: pytest.MonkeyPatch) -> None:
    _unrefused(patch, "Unique")


@mutant("EyeLike")
def a_diagonal_for_all_samples(patch: pytest.MonkeyPatch) -> None:
    _unrefused(patch, "EyeLike")


@mutant("com.microsoft::GroupQueryAttention")
def prompts_after_what_is_kept(patch: pytest.MonkeyPatch) -> None:
    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        yield attention.samples_apart(view, dict.fromkeys((0, 1, 2, 3, 4, 5, 9, 10), 0), (0, 0, 0), frozenset({10}))

    _record(patch, "com.microsoft::GroupQueryAttention", batch=wrong)


@mutant("com.microsoft::QAttention")
def what_is_kept_has_samples_first(patch: pytest.MonkeyPatch) -> None:
    def wrong(view: BatchView) -> Iterator[BatchAnswer]:
        yield attention.samples_apart(view, {0: 0, 5: 0, 8: 1}, (0, 0))

    _record(patch, "com.microsoft::QAttention", batch=wrong)


@mutant("com.microsoft::QGemm")
def a_matrix_that_is_not_turned(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "com.microsoft::QGemm", lambda view, _: view.mark(0) or _)


@mutant("com.microsoft::QLinearAveragePool")
def channels_that_are_never_last(patch: pytest.MonkeyPatch) -> None:
    _record(patch, "com.microsoft::QLinearAveragePool", batch=images(0, 1))


@mutant("com.microsoft::NhwcMaxPool")
def channels_that_are_never_last_either(patch: pytest.MonkeyPatch) -> None:
    _record(patch, "com.microsoft::NhwcMaxPool", batch=images(0, 1))


@mutant("com.microsoft::GatherBlockQuantized")
def rows_behind_their_places(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "com.microsoft::GatherBlockQuantized", lambda _, mark: mark.at(mark.axis + 1))


@mutant("com.microsoft::Inverse")
def inverses_along_the_matrix(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "com.microsoft::Inverse", lambda view, mark: mark.at(view.rank(0) - 1))


@mutant("com.microsoft::Trilu")
def triangles_along_the_samples(patch: pytest.MonkeyPatch) -> None:
    _record(patch, "com.microsoft::Trilu", batch=_as_it_comes)


@mutant("com.microsoft::GridSample")
def grids_along_their_rows(patch: pytest.MonkeyPatch) -> None:
    _marks(patch, "com.microsoft::GridSample", lambda _, mark: mark.at(2))
