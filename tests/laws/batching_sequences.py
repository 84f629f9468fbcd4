"""Cases for sequences: made of tensors that carry the batch or are shared, changed, and taken apart or joined."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, product

from tests.laws.batching_sketch import INT, Sketch, opsets

_TURN = cycle(opsets("SequenceConstruct", 11))


def _two(op: str, size: int = 1, *, free: bool = True, shared: bool = False, axis: int = 0) -> tuple[Sketch, list[str]]:
    """A sketch with two tensors of 3 and 4 entries, of which the second may be the same for all samples."""
    s = Sketch(op, next(_TURN), size, free)
    dims = [(size, 3), (size, 4)] if axis == 0 else [(3, size), (4, size)]
    second = s.floats(*(1 if place == axis else dim for place, dim in enumerate(dims[1]))) if shared else None
    return s, [s.x(dims[0], axis), second or s.x(dims[1], axis)]


def _at(s: Sketch, sequence: str, place: int) -> str:
    return str(s.op("SequenceAt", sequence, s.const(place, INT)))


def sequences() -> Iterator[Sketch]:
    """All of them."""
    for size, axis, shared in product((1, 2), (0, 1), (False, True)):
        for op in ("SequenceConstruct", "SequenceAt", "SequenceErase", "SequenceLength", "SequenceInsert"):
            for place in (0, 1, -1):
                s, parts = _two(op, size, axis=axis, shared=shared and size == 1)
                own = s.op("SequenceConstruct", *parts)
                yield s.out(*_said(s, op, own, parts, place))
    yield from joined()
    yield from apart()
    yield from handed_on()
    yield from by_the_run()


def _said(s: Sketch, op: str, own: str, parts: list[str], place: int) -> list[str]:
    if op == "SequenceErase":
        left = s.op(op, own, s.const(place, INT))
        return [_at(s, left, 0), str(s.op("Neg", parts[0]))]
    if op == "SequenceLength":
        return [str(s.op("Add", parts[0], s.op("Cast", s.op(op, own), to=1)))]
    if op == "SequenceInsert":
        new = s.op(op, own, s.op("Neg", parts[0]), s.const(place, INT))
        return [_at(s, new, each) for each in (0, 1, 2)]
    return [_at(s, own, place), str(s.op("Neg", parts[0]))]


def joined() -> Iterator[Sketch]:
    """Along each axis and a new one, with what all samples share among them."""
    for size, shared, axis, fresh in product((1, 2), (False, True), (0, 1, -1), (0, 1)):
        along = not fresh and axis == 0
        s = Sketch(
            "ConcatFromSequence", next(_TURN), size, free=(not along and not (shared and size > 1)) or (not shared)
        )
        x = s.x((size, 3))
        other = s.floats(size, 3) if shared else s.op("Neg", x)
        own = s.op("SequenceConstruct", x, other)
        yield s.out(s.op("ConcatFromSequence", own, axis=axis, new_axis=fresh))
    s = Sketch("ConcatFromSequence", 17, free=False)
    x = s.x((1, 1))
    turned = s.op("Transpose", s.op("Concat", x, x, axis=1))
    own = s.op("SequenceConstruct", s.op("Concat", x, x, axis=1), turned)
    yield s.out(s.op("ConcatFromSequence", own, axis=0))
    s = Sketch("ConcatFromSequence", 13)
    x = s.x((2, 6), 1, 2, 3)
    own = s.op("SequenceConstruct", x, s.floats(4, 6), s.op("Neg", x))
    yield s.out(s.op("ConcatFromSequence", own, axis=0))


def apart() -> Iterator[Sketch]:
    """Along another axis, entry by entry or in pieces; the batch itself is not taken apart."""
    for size, axis, keeps in product((1, 2), (0, 1, 2), (0, 1)):
        dims = [3, 4, 5]
        dims[axis] = size
        for along in range(3):
            s = Sketch("SplitToSequence", next(_TURN), size, free=along != axis)
            own = s.op("SplitToSequence", s.x(dims, axis), axis=along, keepdims=keeps)
            yield s.out(_at(s, own, 0), _at(s, own, -1))
        for split in ([1, 2], 2):
            along = (axis + 1) % 3
            whole = dims[along]
            s = Sketch("SplitToSequence", next(_TURN), size)
            said = s.const([1, whole - 1], INT) if isinstance(split, list) else s.const(split, INT)
            own = s.op("SplitToSequence", s.x(dims, axis), said, axis=along, keepdims=keeps or None)
            yield s.out(s.op("ConcatFromSequence", own, axis=along), _at(s, own, 1))


def handed_on() -> Iterator[Sketch]:
    """What may be left out, of a tensor and of a sequence."""
    for size, axis, opset, nested in product((1, 2), (0, 1), (15, 17, 18, 21), (False, True)):
        for op in ("Optional", "OptionalGetElement", "OptionalHasElement"):
            s, parts = _two(op, size, axis=axis)
            s.opset = opset
            what = s.op("SequenceConstruct", *parts) if nested else parts[0]
            kept = s.op("Optional", what)
            back = s.op("OptionalGetElement", kept)
            there = s.op("Cast", s.op("OptionalHasElement", kept), to=1)
            yield s.out(s.op("Add", _at(s, back, 1) if nested else back, there))
    for place in (0, 1):
        s, parts = _two("SequenceAt", axis=0)
        s.opset = 17
        yield s.out(_at(s, s.op("Identity", s.op("SequenceConstruct", *parts)), place))


def by_the_run() -> Iterator[Sketch]:
    """At a place that only the run says: one for all samples, or one for each, which is refused."""
    for op, shared in product(("SequenceAt", "SequenceErase"), (False, True)):
        for own in (False, True):
            s = Sketch(op, next(_TURN), free=not own and not (shared and op == "SequenceErase"))
            x = s.x((1, 3))
            given = s.op("SequenceConstruct", x, s.floats(1, 3) if shared else s.op("Neg", x))
            place = s.x((1,), 0 if own else None, dtype=INT, low=0, high=2)
            place = s.op("ReduceSum", place, keepdims=0)
            taken = s.op(op, given, place)
            yield s.out(taken if op == "SequenceAt" else _at(s, taken, 0))
