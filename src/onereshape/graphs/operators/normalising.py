"""Operators that work along some axes of their input and keep its dims: N must be on none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from onereshape.graphs.batch_rules.answers import along, only_first, shared
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds, by_attribute
from onereshape.graphs.folding.folded_operators import Unfolded, Use
from onereshape.graphs.free_rules.alignment import size_of
from onereshape.graphs.free_rules.meeting import ONE, same_dims
from onereshape.graphs.free_rules.state import FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record
from onereshape.ground.numpy_types import Array


def _softmax_axes(view: BatchView, rank: int) -> set[int]:
    if view.opset >= 13:
        return {view.axis(rank, -1)}
    return set(range(view.axis(rank, 1), rank))  # older versions flatten all that follows


def _one_axis(default: int) -> Callable[[BatchView, int], set[int]]:
    return lambda view, rank: {view.axis(rank, default)}


def _mvn_axes(view: BatchView, rank: int) -> set[int]:
    return {axis % rank for axis in view.attribute("axes", (0, 2, 3))}


def _channels(_view: BatchView, _rank: int) -> set[int]:
    return {1}


def shape_normalization(asking: Asking) -> Shapes:
    """LayerNormalization and its kin: the means and deviations have 1 in place of what is normalised."""
    dims = asking.dims(0)
    kept = dims[: asking.axis(len(dims), -1)]
    return [dims, *[(*kept, *[1] * (len(dims) - len(kept)))] * 2]


def batch_normalization(view: BatchView) -> Iterator[BatchAnswer]:
    """LayerNormalization and its kin: over the last axes; scale and bias may broadcast."""
    mark, rank = only_first(view), view.rank(0)
    axis = view.axis(rank, -1)
    if mark.axis >= axis:
        raise Refused(f"it normalizes over axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    edits = []
    for index in range(1, len(view.node.inputs)):
        here = mark.axis - rank + view.rank(index) if view.has(index) else -1
        if here >= 0 and view.dims(index)[here] != 1:
            edits.append(shared(view, index, mark.at(here)))
    yield BatchAnswer((mark,) * len(view.node.outputs), tuple(edits))


def free_normalization(view: FreeView) -> Iterator[FreeAnswer]:
    """LayerNormalization and its kin: scale and bias have an entry for each of those that are normalized."""
    dims = view.dims(0)
    rank = len(dims)
    for index in range(1, len(view.node.inputs)):
        if not view.has(index):
            continue
        for place, own in enumerate(view.dims(index)):
            here = dims[place - view.rank(index) + rank]
            if own != ONE and here is not None and view.move(size_of(here)):
                raise Refused(f"{view.value(index).name} has one entry for each of {size_of(here)}")
    kept = dims[: view.axis(rank, -1)]
    statistics = (*kept, *[ONE] * (rank - len(kept)))
    yield FreeAnswer((dims, *[statistics] * (len(view.node.outputs) - 1)))


def shape_channelwise(asking: Asking) -> Shapes:
    """BatchNormalization: the running means and variances are those of the channels."""
    dims = asking.dims(0)
    others = [asking.known(index) for index in (3, 4)]
    return [dims, *(others if asking.opset >= 14 else [None] * 4)]


def _trains(view: BatchView) -> str:
    """How a BatchNormalization says that it trains: by an attribute, or between opsets 7 and 13 by its outputs."""
    if view.opset >= 14:
        return "training_mode is 1" if view.attribute("training_mode", 0) else ""
    if view.opset < 7:
        return "" if view.attribute("is_test", 0) else "is_test is 0"
    count = sum(bool(value.name) for value in view.node.outputs)
    return f"it has {count} outputs" if count > 1 else ""


def batch_channelwise(view: BatchView) -> Iterator[BatchAnswer]:
    """BatchNormalization: by the channels of axis 1, all else pointwise."""
    mark = only_first(view)
    if trains := _trains(view):
        why = f"it normalizes over the batch (training mode: {trains}), by the mean and variance of all samples"
        raise Refused(f"{why}; exported for inference, the model would have means of its own", mixes=True)
    if mark.axis and not view.attribute("spatial", 1):
        raise Refused("it has a scale for each place (spatial=0)")
    edits: tuple[Edit, ...] = ()
    if mark.axis == 1:
        edits = tuple(view.spread(index, mark.at(0)) for index in range(1, 5))
    yield BatchAnswer((mark, *[None] * (len(view.node.outputs) - 1)), edits)


def batch_instance(view: BatchView) -> Iterator[BatchAnswer]:
    """InstanceNormalization: over all axes from 2 on, each channel of each sample by itself."""
    mark = only_first(view)
    if mark.axis >= 2:
        raise Refused(f"it normalizes over axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    edits = tuple(view.spread(index, mark.at(0)) for index in (1, 2)) if mark.axis == 1 else ()
    yield BatchAnswer((mark,), edits)


def batch_grouped(view: BatchView) -> Iterator[BatchAnswer]:
    """GroupNormalization: over the channels and what follows; N must be at axis 0."""
    mark = only_first(view)
    if mark.axis != 0:
        raise Refused(f"it normalizes over axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark,))


def free_channelwise(view: FreeView) -> Iterator[FreeAnswer]:
    """BatchNormalization and its kin: parameters by the channels of axis 1."""
    dims = view.dims(0)
    if len(dims) > 1 and dims[1] is not None and view.move(size_of(dims[1])):
        raise Refused(f"{view.value(1).name} has one entry for each of the {size_of(dims[1])} channels")
    yield FreeAnswer((dims, *[None] * (len(view.node.outputs) - 1)))


def kinds_layers(given: Kinds, attribute: Attribute) -> list[Kind | None]:
    """LayerNormalization: the type of data, and the type `stash_type` for the two statistics."""
    (statistics,) = by_attribute("stash_type", Kind.FLOAT)(given, attribute)
    return [given(0), statistics, statistics]


def _axis_of(use: Use, rank: int, otherwise: int) -> int:
    axis = int(use.attribute("axis", otherwise))
    if not -rank <= axis < max(rank, 1):
        raise Unfolded
    return axis + rank if axis < 0 else axis


def _lines(use: Use) -> tuple[Array, int]:
    """The data of a Softmax and its axis; before version 13 the data as a matrix, (2, 3, 4) by axis 1 as (2, 12)."""
    data = use.given(0)
    if not data.size:
        raise Unfolded
    if use.opset >= 13:
        return data, _axis_of(use, data.ndim, -1)
    axis = _axis_of(use, data.ndim, 1)
    return data.reshape(prod(data.shape[:axis]), -1), 1


def fold_softmax(use: Use) -> list[Array]:
    lines, axis = _lines(use)
    grown = np.exp(lines - lines.max(axis=axis, keepdims=True))
    found = grown / grown.sum(axis=axis, keepdims=True)
    return [found.astype(lines.dtype).reshape(use.given(0).shape)]


def fold_log_softmax(use: Use) -> list[Array]:
    lines, axis = _lines(use)
    moved = lines - lines.max(axis=axis, keepdims=True)
    found = moved - np.log(np.exp(moved).sum(axis=axis, keepdims=True))
    return [found.astype(lines.dtype).reshape(use.given(0).shape)]


def fold_hardmax(use: Use) -> list[Array]:
    lines, axis = _lines(use)
    found = np.zeros_like(lines)
    np.put_along_axis(found, np.expand_dims(lines.argmax(axis=axis), axis), 1, axis=axis)
    return [found.reshape(use.given(0).shape)]


def fold_lp_normalization(use: Use) -> list[Array]:
    data, power = use.given(0), use.attribute("p", 2)
    axis = _axis_of(use, data.ndim, -1)
    wide = data.astype(np.float64)
    norm = (
        np.abs(wide).sum(axis=axis, keepdims=True) if power == 1 else np.sqrt((wide**2).sum(axis=axis, keepdims=True))
    )
    return [np.divide(wide, norm, out=np.zeros_like(wide), where=norm != 0).astype(data.dtype)]


_KEPT = Record(shape=same_first, free=same_dims)
_SOFTMAX = _KEPT._replace(batch=along(_softmax_axes, "sum"), folds=True)
_LAYERS = Record(shape=shape_normalization, batch=batch_normalization, free=free_normalization)

RECORDS = {
    "Softmax": _SOFTMAX._replace(fold=fold_softmax),
    "LogSoftmax": _SOFTMAX._replace(fold=fold_log_softmax),
    "Hardmax": _SOFTMAX._replace(fold=fold_hardmax),
    "LpNormalization": _KEPT._replace(batch=along(_one_axis(-1), "norm"), folds=True, fold=fold_lp_normalization),
    "MeanVarianceNormalization": _KEPT._replace(batch=along(_mvn_axes, "mean")),
    "LRN": _KEPT._replace(batch=along(_channels, "sum")),
    "LayerNormalization": _LAYERS._replace(kinds=kinds_layers, folds=True),
    "RMSNormalization": _LAYERS,
    "SimplifiedLayerNormalization": _LAYERS,
    "BatchNormalization": Record(shape=shape_channelwise, batch=batch_channelwise, free=free_channelwise),
    "InstanceNormalization": Record(shape=same_first, batch=batch_instance, free=free_channelwise),
    "GroupNormalization": Record(shape=same_first, batch=batch_grouped, free=free_channelwise),
}
