"""Operators between numbers and their quantised words: with a scale for all, or one for each entry of an axis."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import common_mark, mixing, only_first
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.own_scales import ONE_SCALE
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds, by_attribute
from onereshape.graphs.free_rules.alignment import size_of
from onereshape.graphs.free_rules.state import FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import exact

_PER_AXIS = 13
"""The opset since which there is a scale for each entry of an axis."""


def batch_quantize(view: BatchView) -> Iterator[BatchAnswer]:
    """QuantizeLinear, DequantizeLinear: a scale for all, or one per entry of an axis (or per block of it)."""
    if view.attribute("block_size", 0):
        yield _in_blocks(view)
        return
    if view.mark(1) is not None:
        yield _own_scales(view)
        return
    mark = only_first(view)
    if view.rank(1) and not all(dim == 1 for dim in view.dims(1)):
        axis = view.axis(view.rank(0), 1)
        if axis == mark.axis or view.rank(1) > 1:
            raise Refused(f"it has a scale for each entry of axis {axis}, and {mark.size(view.batch)} is among them")
    yield BatchAnswer((mark,))


def _in_blocks(view: BatchView) -> BatchAnswer:
    """Data and scales that each sample has for itself, or all share; along the blocks N stands outside of them."""
    axis, block = view.axis(view.rank(0), 1), int(view.attribute("block_size"))
    given = [index for index in (0, 1, 2) if view.has(index)]

    def within(mark: Mark, times: int, parts: int) -> Mark:
        """The same mark where its axis has so many entries for as many here."""
        if mark.axis != axis:
            return mark
        inner = exact(mark.inner * times, parts)
        if inner is None:
            raise Refused(f"it has a scale for each block of axis {axis}, which is {mark.size(view.batch)}")
        return mark._replace(inner=inner)

    marks = {index: mark for index in given if (mark := view.mark(index)) is not None}
    home = common_mark((within(mark, block if index else 1, 1) for index, mark in marks.items()), view)
    scales = within(home, 1, block)
    if any(view.rank(index) != view.rank(0) for index in given):
        raise Refused("its scales have other dims than its data")
    edits = [view.spread(index, scales if index else home) for index in given if index not in marks]
    return BatchAnswer((home,), tuple(edits))


def _own_scales(view: BatchView) -> BatchAnswer:
    """Scales and zero points, each of a sample, along the axis of the samples; of one sample the axis may be any."""
    mark, others = view.mark(0), [view.mark(index) for index in (1, 2) if view.has(index)]
    alone = all(other == Mark(0) and view.rank(index) == 1 for index, other in enumerate(others, 1))
    if mark is None or not (alone and mark.bare) or view.opset < _PER_AXIS:
        raise Refused(f"its input {view.value(1).name} differs from sample to sample")
    node, axis = view.node, view.axis(view.rank(0), 1)
    if axis == mark.axis:
        return BatchAnswer((mark,))
    if view.size != 1 or view.state.named:
        why = (
            f"it takes {view.value(1).name}, a scale for each sample, along axis {axis}, and they are along {mark.axis}"
        )
        raise Refused(why, mixes=True)

    def turn(_: Rewriter) -> None:
        node.attributes["axis"] = ir.AttrInt64("axis", mark.axis)

    message = f"{view.value(1).name} is a scale for each sample, and {view.label} takes its scales along axis {axis}"
    return BatchAnswer((mark,), (view.edit(None, message, f"axis {axis}", f"axis {mark.axis}", turn),))


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
    """QuantizeLinear: the type of the zero point, input 2; without one, that of `output_dtype`, or UINT8."""
    (otherwise,) = by_attribute("output_dtype", Kind.UINT8)(given, attribute)
    return [given(2) or otherwise]


def batch_dynamic(view: BatchView) -> Iterator[BatchAnswer]:
    """DynamicQuantizeLinear: one scale for all samples, unless it is asked where N would be with one for each."""
    if view.state.own_scales and (mark := view.mark(0)) is not None:
        yield BatchAnswer((mark,))
        return
    yield from mixing(ONE_SCALE)(view)


_LINEAR = Record(shape=same_first, batch=batch_quantize, free=free_quantize)

RECORDS = {
    "QuantizeLinear": _LINEAR._replace(kinds=kinds_quantised),
    "DequantizeLinear": _LINEAR._replace(kinds=by_attribute("output_dtype", 1), folds=True),
    "DynamicQuantizeLinear": Record(shape=shape_dynamic, batch=batch_dynamic),
}
