"""Operators that make as much as they are told: ConstantOfShape and Range."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import prod

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import any_place, sized_mark
from onereshape.graphs.batch_rules.counting import always_from_zero
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.elements import Elements, Holding, Unknown, array_of, constant_array, few, whole
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds
from onereshape.graphs.folding.folded_operators import Use
from onereshape.graphs.folding.folded_work import numbers
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.free_rules.grown import Growing, Grown, Inputs
from onereshape.graphs.free_rules.spans import Spans
from onereshape.graphs.free_rules.state import FreeAnswer, shown
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record
from onereshape.rule.sizes import Size, bounds, ceiling, cut, largest


def shape_constant_of_shape(asking: Asking) -> Shapes:
    """ConstantOfShape: the dims are the elements of input 0, `[2, N] -> (2, N)`."""
    target = asking.elements(0)
    if target is None:
        count = asking.length(0)
        return [None if count is None else asking.unknown(count)]
    return [tuple(map(asking.told, target))]


def held_constant_of_shape(holding: Holding) -> Elements:
    """Without a value it is of floats, and nobody asks for those."""
    dims, tensor = whole(holding.given(0)), holding.attribute("value")
    filler = None if tensor is None else constant_array(tensor)
    if filler is None:
        raise Unknown
    few(*dims)
    return [array_of([filler.reshape(-1)[0]] * prod(dims), dims)]


def batch_constant_of_shape(view: BatchView) -> Iterator[BatchAnswer]:
    """ConstantOfShape: N is where the dims depend on N; dims that cannot carry N are pinned to those of one sample."""
    try:
        home = sized_mark(view, 0)
    except Refused:
        yield BatchAnswer((), (view.pin(0),))
        return
    yield from (BatchAnswer((each,)) for each in any_place(home))


def grow_constant_of_shape(growing: Growing) -> Inputs:
    entries = [growing.wanted.get(axis, size) for axis, size in enumerate(growing.entries(0, "shape"))]
    return {0: growing.vector(0, entries, "shape")}, {}


def work_constant_of_shape(use: Use) -> int:
    """As many elements as the dims multiply to."""
    return prod(numbers(use, 0))


def shape_range(asking: Asking) -> Shapes:
    """As many as there are steps, and none where the limit lies on the other side."""
    kind = asking.kind(0)
    if kind is None or not kind.is_integer():
        return [(asking.size(_float_count(asking)),)]
    known = [asking.elements(index) for index in range(3)]
    if any(each is None or len(each) != 1 or each[0] is None for each in known):
        return [(asking.new(),)]
    start, limit, step = (each[0] for each in known if each is not None)
    if start is None or limit is None or not isinstance(step, int) or step == 0:
        return [(asking.new(),)]
    away = limit - start if step > 0 else start - limit
    return [(steps_on(away, abs(step)),)]


def steps_on(away: Size, step: int) -> Size:
    """How many steps there are on the way, none where it goes back."""
    most = bounds(away)[1]
    return 0 if most is not None and most <= 0 else largest(0, ceiling(away, step))


def _float_count(asking: Asking) -> int | None:
    numbers = [asking.floats(index) for index in range(3)]
    if any(each is None or len(each) != 1 or not np.isfinite(each[0]) for each in numbers):
        return None
    start, limit, step = (Fraction(each[0].item()) for each in numbers if each is not None)
    exactly = all(each.denominator == 1 for each in (start, limit, step)) and step
    return max(0, -((start - limit) // step)) if exactly else None


def held_range(holding: Holding) -> Elements:
    """The numbers."""
    start, limit, step = (whole(holding.given(index))[0] for index in range(3))
    numbers = range(start, limit, step)
    few(len(numbers))
    return [array_of(numbers)]


def batch_range(view: BatchView) -> Iterator[BatchAnswer]:
    """Range: `arange(N)` counts the samples; else its sizes are pinned to those of one sample."""
    live, size = view.live(1), view.size
    if view.integers(0) == [0] and live == [view.batch] and view.integers(2) == [1]:
        yield BatchAnswer((Mark(0),), counts=np.ones(size, object))
    yield BatchAnswer((), tuple(view.pin(index) for index in range(3) if view.sized(index)))


def free_range(view: FreeView) -> Iterator[FreeAnswer]:
    """As many numbers as there are between the limits."""
    parts = [view.live(index) for index in range(3)]
    start, limit, step = (None if part is None else part[0] for part in parts)
    if start is None or limit is None or not isinstance(step, int) or step < 1:
        yield FreeAnswer(((None,),))
        return
    yield FreeAnswer((((cut(limit - start + (step - 1), step),),),))


def grow_range(growing: Growing) -> Inputs:
    view = growing.view
    start, step = (view.live(index) for index in (0, 2))
    whole = start is not None and isinstance(start[0], int) and step == [1]
    if not whole or start is None or start[0] is None:
        raise Refused(f"{view.label} counts in steps that are not known to be 1")
    limit = growing.wanted[0] + start[0]
    view.computable([limit])
    before = view.live(1)
    message = view.forced(growing.wanted[0], "limit", "?" if before is None else before[0])
    change = view.change(view.value(1), message, shown(before), str(limit))
    return {1: Grown((), lambda writer, _: writer.scalar(limit), limit, changes=(change,))}, {}


def span_range(spans: Spans, node: ir.Node, _: int) -> Size | None:
    """One less than the limit."""
    limit = node.inputs[1]
    if limit is not None and limit in spans.known:
        grown = spans.known[limit]
        return None if grown is None else grown - 1
    elements = None if limit is None else spans.state.live(limit)
    if elements is None or elements.size != 1 or elements.reshape(-1)[0] is None:
        return None
    last: Size = elements.reshape(-1)[0]
    return last - 1


def work_range(use: Use) -> int:
    start, limit, step = (use.given(index).reshape(()).item() for index in range(3))
    return max(0, int((limit - start) / step) + 1)


def kinds_constant_of_shape(_: Kinds, attribute: Attribute) -> list[Kind | None]:
    """ConstantOfShape: the type of the attribute `value`, FLOAT without it."""
    found = getattr(attribute("value"), "dtype", Kind.FLOAT)
    return [found if isinstance(found, Kind) else None]


RECORDS = {
    "ConstantOfShape": Record(
        shape=shape_constant_of_shape,
        elements=held_constant_of_shape,
        batch=batch_constant_of_shape,
        slots=frozenset({0}),
        several=True,
        free=by_shape,
        grows=grow_constant_of_shape,
        kinds=kinds_constant_of_shape,
        takes={0: "dims"},
        folds=True,
        work=work_constant_of_shape,
    ),
    "Range": Record(
        shape=shape_range,
        elements=held_range,
        batch=batch_range,
        slots=frozenset({0, 1, 2}),
        several=True,
        free=free_range,
        grows=grow_range,
        span=span_range,
        from_zero=always_from_zero,
        takes={0: "first", 1: "limit", 2: "steps"},
        folds=True,
        work=work_range,
    ),
}
