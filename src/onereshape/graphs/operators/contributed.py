"""Operators that onnxruntime adds to ONNX's own, in the domain com.microsoft: activations and fused ones."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.graphs.batch_rules.answers import along, common_mark, images, only_first
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.answers import broadcast, same_first
from onereshape.graphs.facts.asking import Asking, Dims, Shapes
from onereshape.graphs.node_view import Refused
from onereshape.graphs.operators.contractions import batch_gemm, product_answer, product_mark, product_of, shape_gemm
from onereshape.graphs.operators.experimental import kinds_first
from onereshape.graphs.operators.images import batch_grid_sample, shape_grid_sample
from onereshape.graphs.operators.windows import pooled_space, shape_convolution
from onereshape.graphs.record import Record


def shape_fused_product(asking: Asking) -> Shapes:
    """FusedMatMul: a MatMul of matrices that may be turned first."""
    if asking.attribute("transBatchA", 0) or asking.attribute("transBatchB", 0):
        raise Refused("it turns the batch")
    left, right = (_turned(asking, index, name) for index, name in enumerate(("transA", "transB")))
    return [product_of(asking, left, right)]


def _turned(asking: Asking, index: int, name: str) -> Dims:
    dims = tuple(asking.dims(index))
    return (*dims[:-2], *dims[:-3:-1]) if asking.attribute(name, 0) and len(dims) > 1 else dims


def shape_skipped(asking: Asking) -> Shapes:
    """SkipLayerNormalization: data, and at the end the sum that was normalised."""
    dims = asking.dims(0)
    return [dims, None, None, dims]


def batch_activation(view: BatchView) -> Iterator[BatchAnswer]:
    """Gelu and its kin: each element by itself, with a bias for each entry of the last axis where there is one."""
    mark = only_first(view)
    if view.has(1) and mark.axis == view.rank(0) - 1:
        raise Refused(f"it adds a bias for each entry of axis {mark.axis}, which is {mark.size(view.batch)}")
    yield BatchAnswer((mark,))


def batch_fused_product(view: BatchView) -> Iterator[BatchAnswer]:
    """FusedMatMul: a MatMul of matrices that may be turned first."""
    if view.attribute("transBatchA", 0) or view.attribute("transBatchB", 0):
        raise Refused("it turns the batch")
    home = product_mark(view, (0, 1), (_turned_mark(view, 0, "transA"), _turned_mark(view, 1, "transB")))
    yield product_answer(view, (0, 1), home)


def _turned_mark(view: BatchView, index: int, name: str) -> Mark | None:
    mark, rank = view.mark(index), view.rank(index)
    if mark is None or not view.attribute(name, 0) or rank < 2 or mark.axis < rank - 2:
        return mark
    return mark.at(2 * rank - 3 - mark.axis)


def batch_fused_convolution(view: BatchView) -> Iterator[BatchAnswer]:
    """FusedConv: each image by itself, with the same weights; what is added to it has the dims of what is made."""
    marks = {index: mark for index in view.batched() if (mark := view.mark(index))}
    if marks.keys() - {0, 3}:
        raise Refused("its weights differ from sample to sample, and an operator has one set")
    home = common_mark(marks.values(), view)
    if home.axis != 0:
        what = "channels" if home.axis == 1 else "space"
        raise Refused(f"it sums over axis {home.axis}, its {what}, which is {home.size(view.batch)}", mixes=True)
    yield BatchAnswer(
        (home,), tuple(view.spread(index, home) for index in (0, 3) if view.has(index) and index not in marks)
    )


def batch_skipped(view: BatchView) -> Iterator[BatchAnswer]:
    """SkipLayerNormalization: two inputs are added, and normalised along the last axis."""
    marks = {index: mark for index in view.batched() if (mark := view.mark(index))}
    if marks.keys() - {0, 1}:
        raise Refused("its scale or its bias differs from sample to sample")
    rank, own = view.rank(0), view.rank(1)
    home = common_mark([mark.at(mark.axis + rank - view.rank(index)) for index, mark in marks.items()], view)
    if home.axis == rank - 1:
        raise Refused(f"it normalizes over axis {home.axis}, which is {home.size(view.batch)}", mixes=True)
    edits: tuple[Edit, ...] = ()
    axis = home.axis - rank + own
    if 0 not in marks:
        edits = (view.spread(0, home),)
    elif 1 not in marks and axis >= 0 and (axis > 0 or own != 3 or view.dims(1)[0] != 1):
        edits = (view.spread(1, home.at(axis)),)
    outputs = (home, None, None, home)
    yield BatchAnswer(outputs[: len(view.node.outputs)], edits)


def shape_last_pool(asking: Asking) -> Shapes:
    """NhwcMaxPool: windows over space, with the channels behind it."""
    dims = asking.dims(0)
    if len(dims) < 3:
        raise Refused("its data have no space")
    return [(dims[0], *pooled_space(asking, dims[1:-1]), dims[-1])]


def batch_last_pool(view: BatchView) -> Iterator[BatchAnswer]:
    """NhwcMaxPool: N may be the images, axis 0, or the channels, the last axis."""
    yield from images(0, view.rank(0) - 1)(view)


def _matrices(_: BatchView, rank: int) -> set[int]:
    return {rank - 2, rank - 1}


_RECORDS = {
    "Inverse": Record(shape=same_first, batch=along(_matrices, "inverse")),
    "Trilu": Record(shape=same_first, batch=along(_matrices, "triangle")),
    "GridSample": Record(shape=shape_grid_sample, batch=batch_grid_sample),
    "NhwcMaxPool": Record(shape=shape_last_pool, kinds=kinds_first, batch=batch_last_pool),
    **dict.fromkeys(("FastGelu", "Gelu", "QuickGelu"), Record(shape=same_first, batch=batch_activation)),
    "BiasGelu": Record(shape=broadcast, batch=batch_activation),
    "FusedMatMul": Record(shape=shape_fused_product, batch=batch_fused_product),
    "FusedGemm": Record(shape=shape_gemm, batch=batch_gemm),
    "FusedConv": Record(shape=shape_convolution(0, 1), batch=batch_fused_convolution),
    **dict.fromkeys(
        ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"),
        Record(shape=shape_skipped, batch=batch_skipped),
    ),
}

RECORDS = {f"com.microsoft::{op}": record for op, record in _RECORDS.items()}
