"""Operators that make one entry of many along an axis, or sort and sum along it: that axis is never N.  Losses too."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from math import prod
from operator import add, mul
from typing import Any, TypeVar

import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import along, common_mark, only_first
from onereshape.graphs.batch_rules.counting import always_from_zero
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.asking import Asking, Dims, Shapes
from onereshape.graphs.facts.elements import ElementArray, Elements, Holding, Unknown, array_of
from onereshape.graphs.folding.folded_operators import Unfolded, Use, reference
from onereshape.graphs.free_rules.alignment import size_of
from onereshape.graphs.free_rules.averages import not_divided, single, users_of
from onereshape.graphs.free_rules.grown import same_axes
from onereshape.graphs.free_rules.meeting import ONE, same_dims
from onereshape.graphs.free_rules.spans import Spans, span_within
from onereshape.graphs.free_rules.state import Axes, FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Size

_T = TypeVar("_T")
_SUMS = frozenset({"ReduceSum", "ReduceSumSquare", "ReduceL1"})


def _reduced_axes(view: NodeView, rank: int) -> list[int]:
    """The axes that are reduced: without any, all of them or none."""
    axes = view.axes(1, rank)
    return axes or ([] if view.attribute("noop_with_empty_axes", 0) else list(range(rank)))


def _without(dims: Sequence[_T], gone: Collection[int], one: _T, *, keep: bool) -> tuple[_T, ...]:
    """The dims without the reduced axes, or `one` in place of each: `(2, 3, 4), {1} -> (2, 4)` or `(2, 1, 4)`."""
    if keep:
        return tuple(one if axis in gone else own for axis, own in enumerate(dims))
    return tuple(own for axis, own in enumerate(dims) if axis not in gone)


def shape_reduction(asking: Asking) -> Shapes:
    """A reduction along `axes`: `(2, 3, 4)` along axis 1 gives `(2, 1, 4)`, or `(2, 4)` where axes are not kept."""
    dims = asking.dims(0)
    kept = bool(asking.attribute("keepdims", 1))
    if asking.numbers("axes", 1) is None and asking.has(1):
        count = asking.length(1)
        if kept:
            return [asking.unknown(len(dims))]
        sure = count and count <= len(dims) and _is_some(asking, dims)
        return [asking.unknown(len(dims) - count) if sure and count else None]
    if any(axis < 0 for axis in asking.numbers("axes", 1) or ()) and not _is_some(asking, dims):
        return [None]
    return [_without(dims, _reduced_axes(asking, len(dims)), 1, keep=kept)]


def _is_some(asking: Asking, dims: Dims) -> bool:
    """Whether data are not empty: of such onnxruntime does not reduce an axis that is counted from the end."""
    for size in dims:
        if size == 0:
            return False
        asking.at_least(size, 1)
    return True


def held_reduction(function: Callable[[Any, Any], Any], start: int) -> Callable[[Holding], Elements]:
    """The sum or the product of all elements, or along axes."""

    def rule(holding: Holding) -> Elements:
        data = holding.given(0)
        along = _reduced_axes(holding, data.ndim)
        if not along:
            return [data]
        if not data.size:
            raise Unknown
        rest = [axis for axis in range(data.ndim) if axis not in along]
        rows = data.transpose(*rest, *along).reshape(prod(data.shape[axis] for axis in rest), -1)
        found = array_of(_total(function, start, row) for row in rows)
        return [found.reshape(_without(data.shape, along, 1, keep=bool(holding.attribute("keepdims", 1))))]

    return rule


def _total(function: Callable[[Any, Any], Any], total: Any, row: ElementArray) -> Any:
    for each in row.tolist():
        if each is None:
            return None
        total = function(total, each)
    return total


def batch_reduction(view: BatchView) -> Iterator[BatchAnswer]:
    """N must not be among the axes that are reduced; one sample reduced to one number is not, and stays apart."""
    mark, rank = only_first(view), view.rank(0)
    axes = _reduced_axes(view, rank)
    if mark.axis in axes:
        alone = view.size == 1 and mark.bare and not view.state.named
        if alone and len(axes) == rank > 1 and view.attribute("keepdims", 1):
            yield BatchAnswer((mark,), (_others(view, mark, rank),))
            return
        raise Refused(f"it reduces axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    kept = view.attribute("keepdims", 1)
    yield BatchAnswer((mark if kept else mark.at(mark.axis - sum(axis < mark.axis for axis in axes)),))


def _others(view: BatchView, mark: Mark, rank: int) -> Edit:
    """A reduction over all axes but that of the batch."""
    node, others = view.node, [axis for axis in range(rank) if axis != mark.axis]
    listed = view.opset >= (13 if node.op_type == "ReduceSum" else 18)

    def apply(writer: Rewriter) -> None:
        if listed:
            node.resize_inputs(2)
            node.replace_input_with(1, writer.integers(others))
        else:
            node.attributes["axes"] = ir.AttrInt64s("axes", others)

    message = f"{view.label} reduces axis {mark.axis}, which is 1 sample, with all others"
    return view.edit(None, message, str(list(range(rank))), str(others), apply)


def free_reduction(view: FreeView) -> Iterator[FreeAnswer]:
    """A reduction along `axes`, free or not; a sum over a free axis must not be divided by its old size later."""
    dims = view.dims(0)
    axes = _reduced_axes(view, len(dims))
    if view.node.op_type in _SUMS:
        for axis in axes:
            not_divided(view, dims[axis])
    yield FreeAnswer((_without(dims, axes, ONE, keep=bool(view.attribute("keepdims", 1))),))


def shape_place(asking: Asking) -> Shapes:
    """ArgMax and ArgMin, over one axis."""
    dims = asking.dims(0)
    if asking.attribute("axis", 0) < 0 and not _is_some(asking, dims):
        return [None]
    return [_without(dims, [asking.axis(len(dims), 0)], 1, keep=bool(asking.attribute("keepdims", 1)))]


def batch_place(view: BatchView) -> Iterator[BatchAnswer]:
    """ArgMax and ArgMin, over one axis."""
    mark = only_first(view)
    axis = view.axis(view.rank(0), 0)
    if mark.axis == axis:
        raise Refused(f"it looks along axis {axis}, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark if view.attribute("keepdims", 1) else mark.at(mark.axis - (axis < mark.axis)),))


def free_place(view: FreeView) -> Iterator[FreeAnswer]:
    """ArgMax, ArgMin."""
    dims = view.dims(0)
    own = dims[view.axis(len(dims), 0)]
    if own is not None and view.move(size_of(own)):
        for user, index in users_of(view):
            if (
                user.op_type == "OneHot"
                and index == 0
                and single(view, user.inputs[1]) == view.state.then(size_of(own))
            ):
                name = user.name or user.outputs[0].name
                raise Refused(f"it looks along {size_of(own)}, and {name} has a fixed number of classes for it")
    yield FreeAnswer((_without(dims, [view.axis(len(dims), 0)], ONE, keep=bool(view.attribute("keepdims", 1))),))


def shape_top_k(asking: Asking) -> Shapes:
    """TopK, the k largest along `axis`: `(N, 10)` and k = 3 give `(N, 3)`, values and indices alike."""
    dims = asking.dims(0)
    axis = asking.axis(len(dims), -1)
    size = asking.told(asking.attribute("k")) if asking.opset < 10 else asking.first(1)
    return [(*dims[:axis], size, *dims[axis + 1 :])] * 2


def batch_top_k(view: BatchView) -> Iterator[BatchAnswer]:
    """The largest along one axis; how many is the same for all samples."""
    sized = view.sized(1)
    if not view.batched():
        yield BatchAnswer((), (view.pin(1),) if sized else ())
        return
    mark = only_first(view)
    axis = view.axis(view.rank(0), -1)
    if mark.axis == axis:
        size = mark.size(view.batch)
        live = view.live(1) if sized else None
        if view.state.named and live is not None and live[0] == size:  # by length, say, and back again later
            raise Refused(
                f"it sorts all of axis {axis}, which is {size}, and whether each sample gets its own is not known"
            )
        raise Refused(f"it sorts along axis {axis}, which is {size}", mixes=True)
    yield BatchAnswer((mark, mark), (view.pin(1),) if sized else ())


def free_top_k(view: FreeView) -> Iterator[FreeAnswer]:
    """The largest entries along an axis."""
    dims = view.dims(0)
    axis = view.axis(len(dims), -1)
    live = view.live(1) if view.opset >= 10 else [view.attribute("k")]
    size = None if live is None else live[0]
    own = dims[axis]
    suspect = ""
    if own is not None and view.move(size_of(own)) and isinstance(size, int):
        then = view.state.then(size_of(own))
        if isinstance(then, int) and then <= 2 * size and size > 1:
            suspect = f"it takes {size} of {then} entries along {size_of(own)}"
    found: Axes = (*dims[:axis], None if size is None else (size,), *dims[axis + 1 :])
    yield FreeAnswer((found, found), suspect=suspect)


def _axis_input(view: BatchView, rank: int) -> set[int]:
    found = view.integers(1)
    if found is None:
        raise Refused("its axis is computed at run time")
    return {found[0] % rank}


def span_cum_sum(spans: Spans, node: ir.Node, depth: int) -> Size | None:
    view = FreeView(node, spans.state)
    part, axis = span_within(spans, node.inputs[0], depth + 1), view.integers(1)
    dims = None if node.inputs[0] is None else spans.state.dims(node.inputs[0])
    own = None if dims is None or axis is None else dims[axis[0]]
    return None if part is None or own is None else size_of(own) * part


def shape_loss(asking: Asking) -> Shapes:
    """Losses: `()`, or the dims of the labels where nothing is reduced; the second output has those of the scores."""
    labels = asking.known(1)
    first: Dims | None = labels if asking.attribute("reduction", "mean") == "none" else ()
    return [first, asking.known(0)]


def batch_loss(view: BatchView) -> Iterator[BatchAnswer]:
    """Losses, of which there is one for each label; scores have their classes at axis 1, which labels have not."""
    if (reduction := view.attribute("reduction", "mean")) != "none":
        raise Refused(f"it takes the {reduction} over all samples", mixes=True)
    scores, labels = view.mark(0), view.mark(1)
    if view.mark(2) is not None:
        raise Refused("its weights differ from sample to sample")
    if scores is not None and scores.axis == 1:
        raise Refused(f"it compares along axis 1, its classes, which is {scores.size(view.batch)}", mixes=True)
    places = [mark for mark in (scores and scores.at(max(scores.axis - 1, 0)), labels) if mark is not None]
    home = common_mark(places, view)
    wide = home.at(home.axis + 1 if home.axis else 0)
    edits = ([] if scores is not None else [view.spread(0, wide)]) + (
        [] if labels is not None else [view.spread(1, home)]
    )
    yield BatchAnswer((home, wide)[: len(view.node.outputs)], tuple(edits))


def fold_same_type(use: Use) -> list[ElementArray]:
    return [array.astype(use.given(0).dtype) for array in reference(use)]


def fold_of_some(use: Use) -> list[ElementArray]:
    """A mean of nothing is open."""
    if not use.given(0).size:
        raise Unfolded
    return reference(use)


_REDUCTION = Record(shape=shape_reduction, batch=batch_reduction, free=free_reduction, takes={1: "axes"}, folds=True)

RECORDS = {
    **dict.fromkeys("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp".split(), _REDUCTION),
    **dict.fromkeys(("ReduceMax", "ReduceMin"), _REDUCTION._replace(carries=frozenset({0}))),
    "ReduceMean": _REDUCTION._replace(fold=fold_of_some),
    "ReduceSumSquare": _REDUCTION._replace(fold=fold_same_type),
    "ReduceSum": _REDUCTION._replace(elements=held_reduction(add, 0)),
    "ReduceProd": _REDUCTION._replace(elements=held_reduction(mul, 1)),
    **dict.fromkeys(
        ("ArgMax", "ArgMin"),
        Record(shape=shape_place, batch=batch_place, free=free_place, from_zero=always_from_zero, folds=True),
    ),
    "TopK": Record(
        shape=shape_top_k, batch=batch_top_k, slots=frozenset({1}), free=free_top_k, takes={1: "how many"}, folds=True
    ),
    "CumSum": Record(
        shape=same_first,
        batch=along(_axis_input, "sum"),
        free=same_dims,
        grows=same_axes,
        span=span_cum_sum,
        takes={0: "truth", 1: "axes"},
        folds=True,
    ),
    "CumProd": Record(
        shape=same_first, batch=along(_axis_input, "product"), free=same_dims, grows=same_axes, takes={1: "axes"}
    ),
    **dict.fromkeys(
        ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), Record(shape=shape_loss, batch=batch_loss)
    ),
}
