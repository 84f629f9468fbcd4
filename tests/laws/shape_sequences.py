"""Sequences and values that may be left out, in the small world of shapes: each is read by nodes that give tensors."""

from __future__ import annotations

from collections.abc import Iterator

from tests.laws.shape_cases import FULL, each
from tests.laws.shape_law import Case, const, run, x

_TWO = "s = SequenceConstruct(x0, x1)"


def sequences() -> Iterator[Case]:
    """All of them."""
    yield from made()
    yield from apart()
    yield from joined()
    yield from left_out()


def made() -> Iterator[Case]:
    one, two = x("N", 3), x(2, "M")
    for place in (const(0), const(-1), run(0, 1, dims=[])):
        yield from each("SequenceConstruct", one, two, place, chain=f"{_TWO} y0 = SequenceAt(s, x2)")
        yield from each("SequenceAt", one, two, place, chain=f"{_TWO} y0 = SequenceAt(s, x2)")
        yield from each("SequenceAt", x("N"), two, place, chain=f"{_TWO} y0 = SequenceAt(s, x2)")
        yield from each(
            "SequenceErase", one, two, place, chain=f"{_TWO} t = SequenceErase(s, x2) y0 = SequenceAt(t, zero)"
        )
        chain = f"{_TWO} t = SequenceInsert(s, x3, x2) y0 = SequenceAt(t, zero) y1 = SequenceLength(t)"
        yield from each("SequenceInsert", one, two, place, x(4, "N"), outputs=2, chain=chain)
    yield from each("SequenceErase", one, two, chain=f"{_TWO} t = SequenceErase(s) y0 = ConcatFromSequence<axis=0>(t)")
    chain = "e = SequenceEmpty() s = SequenceInsert(e, x0) t = SequenceInsert(s, x1) y0 = SequenceAt(t, zero)"
    yield from each("SequenceInsert", one, two, chain=chain)
    yield from each("SequenceEmpty", one, two, chain=chain)
    yield from each("SequenceEmpty", chain="e = SequenceEmpty<dtype=7>() y0 = SequenceLength(e)")
    yield from each("SequenceLength", one, two, chain=f"{_TWO} y0 = SequenceLength(s)")
    yield from each("SequenceLength", one, chain="s = SplitToSequence<axis=1>(x0) y0 = SequenceLength(s)")
    yield from each("Identity", one, two, opsets=[16, 21], chain=f"{_TWO} t = Identity(s) y0 = SequenceAt(t, zero)")


def apart() -> Iterator[Case]:
    for dims in (("N", 3), (3, "N"), (5, 4, "N")):
        for axis in (0, 1, -1):
            for keeps in (0, 1):
                chain = f"s = SplitToSequence<axis={axis}, keepdims={keeps}>(x0) y0 = SequenceAt(s, zero) y1 = SequenceLength(s)"
                yield from each("SplitToSequence", x(*dims), outputs=2, chain=chain)
            for split in (const(2), const([1, 2]), run([1, 2], [2, 1]), run(1, 2, dims=[])):
                chain = f"s = SplitToSequence<axis={axis}>(x0, x1) y0 = SequenceAt(s, zero) y1 = SequenceLength(s)"
                yield from each("SplitToSequence", x(*dims), split, outputs=2, chain=chain)


def joined() -> Iterator[Case]:
    for axis in (0, 1, -1, -2):
        for fresh in (0, 1):
            chain = f"{_TWO} y0 = ConcatFromSequence<axis={axis}, new_axis={fresh}>(s)"
            yield from each("ConcatFromSequence", x("N", 3), x("N", 3), chain=chain, sizes=FULL)
            yield from each("ConcatFromSequence", x("N", 3), x("M", 3), chain=chain, sizes=FULL)
            yield from each("ConcatFromSequence", x(2, 3), x(2, "M"), chain=chain, sizes=FULL)


def left_out() -> Iterator[Case]:
    for op in ("Optional", "OptionalGetElement"):
        for opset in (15, 18) if op == "OptionalGetElement" else (15,):
            yield from each(op, x("N", 3), opsets=[opset], chain="o = Optional(x0) y0 = OptionalGetElement(o)")
            chain = f"{_TWO} o = Optional(s) t = OptionalGetElement(o) y0 = SequenceAt(t, zero)"
            yield from each(op, x("N", 3), x(2, "M"), opsets=[opset], chain=chain)
    for opset in (15, 18):
        chain = "o = Optional(x0) y0 = OptionalHasElement(o)"
        yield from each("OptionalHasElement", x("N", 3), opsets=[opset], chain=chain)
