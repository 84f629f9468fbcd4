"""Operators that choose entries by what data hold: how many there are only the run says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onereshape.graphs.batch_rules.answers import mixing, only_first, refusing
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.elements import Elements, Holding, Unknown, array_of, few, is_number
from onereshape.graphs.folding.folded_operators import Unfolded, Use, reference
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.free_rules.state import FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record
from onereshape.ground.numpy_types import Array


def free_at_run_time(view: FreeView) -> Iterator[FreeAnswer]:
    """Outputs whose sizes depend on the elements of data: every dim is unknown."""
    ranks = [view.output(index) for index in range(len(view.node.outputs))]
    yield FreeAnswer(tuple(tuple([None] * len(rank)) for rank in ranks))


def shape_compress(asking: Asking) -> Shapes:
    """How many elements are kept is known only at run time, and of a constant only how many at most."""
    if asking.attribute("axis") is None:
        return [(asking.new(),)]
    dims = list(asking.dims(0))
    dims[asking.axis(len(dims), 0)] = asking.new()
    return [tuple(dims)]


def batch_compress(view: BatchView) -> Iterator[BatchAnswer]:
    """Compress along `axis` by a condition that all samples share: N must be on another axis."""
    mark = only_first(view)
    if view.attribute("axis") is None:
        raise Refused("it chooses from the elements of all samples in one row", mixes=True)
    axis = view.axis(view.rank(0), 0)
    if mark.axis == axis:
        raise Refused(f"it chooses along axis {axis}, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark,))


def shape_unique(asking: Asking) -> Shapes:
    """Along an axis whole slices are compared; else all elements, in one row."""
    count = asking.new()
    others: Shapes = [(count,), (asking.new(),), (count,)]
    if asking.attribute("axis") is None:
        return [(count,), *others]
    dims = asking.known(0)
    if dims is None:
        return [None, *others]
    axis = asking.axis(len(dims), 0)
    return [(*dims[:axis], count, *dims[axis + 1 :]), *others]


def shape_non_zero(asking: Asking) -> Shapes:
    """A row per axis; for a scalar onnxruntime has one row, and the specification none."""
    dims, held = asking.known(0), asking.held(0)
    if held is not None and held.ndim and all(map(is_number, held.flat)):
        return [(held.ndim, int(np.count_nonzero(held.astype(bool))))]
    return [(len(dims) if dims else asking.new(), asking.new())]


def held_non_zero(holding: Holding) -> Elements:
    """The places: of ones they count, as arange was written before there was a Range."""
    held = holding.given(0)
    if not held.ndim or not all(map(is_number, held.flat)):
        raise Unknown
    rows = np.nonzero(held.astype(bool))
    few(held.ndim, len(rows[0]))
    return [array_of((place for row in rows for place in row.tolist()), (held.ndim, len(rows[0])))]


def shape_suppressed(asking: Asking) -> Shapes:
    """NonMaxSuppression: batch, class and box of each that is left."""
    return [(asking.new(), 3)]


def fold_non_zero(use: Use) -> list[Array]:
    if not use.given(0).ndim:
        raise Unfolded
    return reference(use)


RECORDS = {
    "Compress": Record(shape=shape_compress, batch=batch_compress, free=free_at_run_time, moves=True, picks=True),
    "Unique": Record(
        shape=shape_unique,
        batch=mixing("it compares the samples with one another, and keeps one of those that are equal"),
        free=free_at_run_time,
    ),
    "NonZero": Record(
        shape=shape_non_zero,
        elements=held_non_zero,
        batch=refusing(
            "it lists the places of all samples that are not 0 one after the other, and how many each has depends on it"
        ),
        free=by_shape,
        folds=True,
        fold=fold_non_zero,
    ),
    "NonMaxSuppression": Record(
        shape=shape_suppressed,
        batch=refusing(
            "it lists the boxes that are left of all samples one after the other, and how many each has depends on it"
        ),
        free=free_at_run_time,
    ),
}
