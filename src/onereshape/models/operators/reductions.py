"""Operators that make one entry of many along an axis, or sort and sum along it: that axis is never N."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from onereshape.models.batch.answers import along, only_first
from onereshape.models.batch.view import Answer as BatchAnswer, View as BatchView
from onereshape.models.free.alignment import size_of
from onereshape.models.free.averages import not_divided, single, users_of
from onereshape.sizes import Size
from onereshape.models.free.grown import same_axes
from onereshape.models.free.meeting import ONE, same_dims
from onereshape.models.free.spans import Spans, span_within
from onereshape.models.free.state import Answer as FreeAnswer, Dims
from onereshape.models.free.view import View as FreeView
from onereshape.models.node_view import Refused
from onereshape.models.record import Record

_SUMS = frozenset({"ReduceSum", "ReduceSumSquare", "ReduceL1"})


def batch_reduction(view: BatchView) -> Iterator[BatchAnswer]:
    """N must not be among the axes that are reduced."""
    mark, rank = only_first(view), view.rank(0)
    axes = view.axes(1, rank)
    if not axes:
        if view.attribute("noop_with_empty_axes", 0):
            yield BatchAnswer((mark,))
            return
        axes = list(range(rank))
    if mark.axis in axes:
        raise Refused(f"it reduces axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    kept = view.attribute("keepdims", 1)
    yield BatchAnswer((mark if kept else mark.at(mark.axis - sum(axis < mark.axis for axis in axes)),))


def free_reduction(view: FreeView) -> Iterator[FreeAnswer]:
    """One entry in place of many."""
    dims = view.dims(0)
    axes = view.axes(1, len(dims))
    if not axes:
        axes = [] if view.attribute("noop_with_empty_axes", 0) else list(range(len(dims)))
    if view.node.op_type in _SUMS:
        for axis in axes:
            not_divided(view, dims[axis])
    yield FreeAnswer((_without(dims, axes, keep=bool(view.attribute("keepdims", 1))),))


def _without(dims: Dims, axes: list[int], *, keep: bool) -> Dims:
    if keep:
        return tuple(ONE if axis in axes else own for axis, own in enumerate(dims))
    return tuple(own for axis, own in enumerate(dims) if axis not in axes)


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
    yield FreeAnswer((_without(dims, [view.axis(len(dims), 0)], keep=bool(view.attribute("keepdims", 1))),))


def batch_top_k(view: BatchView) -> Iterator[BatchAnswer]:
    """The largest along one axis; how many is the same for all samples."""
    mark = only_first(view)
    axis = view.axis(view.rank(0), -1)
    if mark.axis == axis:
        raise Refused(f"it sorts along axis {axis}, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark, mark))


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
    found: Dims = (*dims[:axis], None if size is None else (size,), *dims[axis + 1 :])
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


_REDUCTION = Record(batch=batch_reduction, free=free_reduction, folds=True)

RECORDS = {
    **dict.fromkeys(
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceSum "
        "ReduceSumSquare".split(),
        _REDUCTION,
    ),
    "ReduceProd": _REDUCTION._replace(sizes=True),
    **dict.fromkeys(("ArgMax", "ArgMin"), Record(batch=batch_place, free=free_place, folds=True)),
    "TopK": Record(batch=batch_top_k, free=free_top_k, folds=True),
    "CumSum": Record(batch=along(_axis_input, "sum"), free=same_dims, grows=same_axes, span=span_cum_sum, folds=True),
}
