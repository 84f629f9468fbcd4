"""Operators between numbers and their quantised words: with a scale for all, or one for each entry of an axis."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.models.batch.answers import mixing, only_first
from onereshape.models.batch.view import BatchAnswer, BatchView
from onereshape.models.facts.answers import same_first
from onereshape.models.facts.asking import Asking, Shapes
from onereshape.models.facts.kinds import Attribute, Kind, Kinds, by_attribute
from onereshape.models.free.alignment import size_of
from onereshape.models.free.state import FreeAnswer
from onereshape.models.free.view import FreeView
from onereshape.models.node_view import Refused
from onereshape.models.record import Record


def batch_quantize(view: BatchView) -> Iterator[BatchAnswer]:
    """QuantizeLinear, DequantizeLinear: a scale for all, or one per entry of an axis (or per block of it)."""
    mark = only_first(view)
    if view.attribute("block_size", 0):
        if view.axis(view.rank(0), 1) == mark.axis:
            raise Refused(f"it has a scale for each block of axis {mark.axis}, which is {mark.size(view.batch)}")
        yield BatchAnswer((mark,), tuple(view.spread(index, mark) for index in (1, 2) if view.has(index)))
        return
    if view.rank(1) and not all(dim == 1 for dim in view.dims(1)):
        axis = view.axis(view.rank(0), 1)
        if axis == mark.axis or view.rank(1) > 1:
            raise Refused(f"it has a scale for each entry of axis {axis}, and {mark.size(view.batch)} is among them")
    yield BatchAnswer((mark,))


def free_quantize(view: FreeView) -> Iterator[FreeAnswer]:
    """QuantizeLinear, DequantizeLinear: a scale for all, or one per entry of an axis."""
    dims = view.dims(0)
    if view.rank(1):
        here = dims[view.axis(len(dims), 1)]
        if here is None or view.move(size_of(here)) or view.rank(1) > 1:
            raise Refused(f"{view.value(1).name} has a scale for each entry along an axis")
    yield FreeAnswer((dims,) * len(view.node.outputs))


def shape_dynamic(asking: Asking) -> Shapes:
    """DynamicQuantizeLinear: data, and one scale and one zero point."""
    return [asking.dims(0), (), ()]


def kinds_quantised(given: Kinds, attribute: Attribute) -> list[Kind | None]:
    """That of the zero point."""
    (otherwise,) = by_attribute("output_dtype", Kind.UINT8)(given, attribute)
    return [given(2) or otherwise]


ONE_SCALE = "it takes one scale from all samples together, so that what a sample gives depends on those beside it"

_LINEAR = Record(shape=same_first, batch=batch_quantize, free=free_quantize)

RECORDS = {
    "QuantizeLinear": _LINEAR._replace(kinds=kinds_quantised),
    "DequantizeLinear": _LINEAR._replace(kinds=by_attribute("output_dtype", 1), folds=True),
    "DynamicQuantizeLinear": Record(shape=shape_dynamic, batch=mixing(ONE_SCALE)),
}
