"""Cases for products of matrices, reductions, and operators on sequences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, cycle, product
from typing import Any

import numpy as np

from tests.laws.batching_pointwise import PLACES, numbers
from tests.laws.batching_sketch import FLOAT, INT, Sketch, opsets

REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)

# Two operands: dims and the place of the samples in each; whether they can be freed.
MATRICES: list[tuple[Any, Any, bool]] = [
    (((1, 3), 0), ((3, 2), None), True),
    (((1, 3), 0), ((3,), None), True),
    (((2, 3), None), ((3, 1), 1), True),
    (((3,), None), ((3, 1), 1), True),
    (((1, 2, 3), 0), ((3, 4), None), True),
    (((1, 2, 3), 0), ((3,), None), True),
    (((1, 2, 3), 0), ((1, 3, 4), None), True),
    (((1, 2, 3), 0), ((2, 1, 3, 4), None), True),
    (((2, 1, 3), 1), ((2, 3, 4), None), True),
    (((2, 1, 3), 1), ((5, 1, 3, 4), None), True),
    (((2, 3), None), ((1, 3, 4), 0), True),
    (((4, 2, 3), None), ((4, 3, 1), 2), True),
    (((3,), None), ((1, 3, 2), 0), True),
    (((3,), None), ((2, 3, 1), 2), True),
    (((4, 2, 3), 0, 1, 4), ((4, 3, 2), None), True),
    (((6, 2, 3), 0, 2, 3), ((6, 3, 2), None), True),
    (((6, 2, 3), 0, 2, 3), ((6, 3, 2), 0, 2, 3), True),
    (((2, 6, 3), 1, 2, 3), ((3, 2), None), True),
    (((1, 2, 3), 0), ((1, 3, 2), 0), True),
    (((1, 2, 2, 3), 0), ((1, 1, 3, 2), 0), True),
    (((2, 1, 2, 3), 1), ((1, 3, 2), 0), True),
    (((1, 2, 3), 0), ((5, 3, 2), None), False),
    (((3, 1), 1), ((1, 3), None), False),
    (((2, 1), None), ((1, 3), 0), False),
    (((1,), 0), ((1, 3), None), False),
    (((1, 3), 0), ((3, 1), 1), False),
    (((1, 2, 3), 0), ((3, 1), 1), False),
    (((2, 1, 3), 1), ((1, 3, 2), 0), False),
]


def products() -> Iterator[Sketch]:
    byte = np.dtype(np.uint8)
    for op, kind, least in (("MatMul", FLOAT, 7), ("MatMulInteger", byte, 11)):
        turn = cycle(opsets(op, least))
        for first, second, free in MATRICES:
            if op == "MatMulInteger" and min(len(first[0]), len(second[0])) < 2:
                continue
            s = Sketch(op, next(turn), free=free)
            pair = [
                numbers(s, each[0], kind) if each[1] is None else s.x(*each, dtype=kind, low=0)
                for each in (first, second)
            ]
            points = [s.const(2, byte), s.const(1, byte)] if op == "MatMulInteger" else []
            yield s.out(s.op(op, *pair, *points))
        for first, other, free in (
            (((2, 3), 0), np.ones((3, 2)), True),
            (((2, 2, 3), 0), np.ones((2, 3, 2)), True),
            (((2, 2, 3), 0), np.arange(12).reshape(2, 3, 2), False),
            (((4, 2, 3), 0, 1, 2), np.ones((4, 3, 2)), True),
        ):
            s = Sketch(op, next(turn), 2, free=free)
            yield s.out(s.op(op, s.x(*first, dtype=kind, low=0), s.const(other, kind)))


BIASES: list[Any] = [None, (), (4,), (1, 4), (1, 1), (1,), "batched"]
"""Of a result with four columns; None: there is none."""


def gemms() -> Iterator[Sketch]:
    turn = cycle(opsets("Gemm"))
    for bias, left, right, (outer, inner) in product(BIASES, (0, 1), (0, 1), ((1, 1), (2, 3))):
        rows, least = outer * inner, 11 if bias is None else 7
        s = Sketch("Gemm", max(next(turn), least))
        a, b = s.x((3, rows) if left else (rows, 3), left, outer, inner), s.floats(*((4, 3) if right else (3, 4)))
        more = [] if bias is None else [s.x((rows, 4), 0, outer, inner) if bias == "batched" else s.floats(*bias)]
        yield s.out(s.op("Gemm", a, b, *more, transA=left, transB=right, alpha=0.5))
        if bias == "batched":
            continue
        s = Sketch("Gemm", max(next(turn), least))
        a, b = s.floats(*((3, 4) if left else (4, 3))), s.x((rows, 3) if right else (3, rows), 1 - right, outer, inner)
        more = [] if bias is None else [s.floats(*(rows if dim == 4 else dim for dim in bias))]
        yield s.out(s.op("Gemm", a, b, *more, transA=left, transB=right, beta=2.0))
    for count, columns in ((1, 4), (6, 4), (6, 1)):
        s = Sketch("Gemm", next(turn))
        x = s.x((count, 3), 0, *((2, 3) if count == 6 else (1, 1)))
        yield s.out(s.op("Gemm", x, s.floats(3, 4), s.floats(count, columns)))
    same: list[Any] = [[[1.0, 2], [1, 2]], [[1.0], [1]], [[1.0, 2]], [1.0, 2]]
    for free, array in [*((True, each) for each in same), (False, [[1.0, 2], [1, 3]])]:
        s = Sketch("Gemm", next(turn), 2, free=free)
        yield s.out(s.op("Gemm", s.x((2, 3)), s.floats(3, 2), s.const(array, np.float32)))
    for dims, axis, turned in (((1, 3), 0, 1), ((3, 1), 1, 0)):
        s = Sketch("Gemm", 13, free=False)
        yield s.out(s.op("Gemm", s.x(dims, axis), s.floats(1, 2), transA=turned))
    s = Sketch("Gemm", 13, free=False)
    yield s.out(s.op("Gemm", s.x((1, 3)), s.x((3, 1), 1)))


EQUATIONS: list[tuple[str, list[Any], bool]] = [
    ("bi,ij->bj", [((1, 3), 0), ((3, 2), None)], True),
    ("bi,bj->bij", [((1, 3), 0), ((1, 2), 0)], True),
    ("bi,bj->bij", [((1, 3), 0), ((1, 2), None)], True),
    ("bhid,bhjd->bhij", [((1, 2, 3, 4), 0), ((1, 2, 2, 4), 0)], True),
    ("bhid,bhjd->bhij", [((1, 2, 3, 4), 0), ((1, 2, 2, 4), None)], True),
    ("bhid,hjd->bhij", [((1, 2, 3, 4), 0), ((2, 2, 4), None)], True),
    ("...ij,...jk->...ik", [((1, 2, 3), 0), ((1, 3, 2), 0)], True),
    ("...ij,jk->...ik", [((2, 1, 2, 3), 1), ((3, 2), None)], True),
    ("...ij,...jk->...ik", [((2, 1, 2, 3), 1), ((2, 1, 3, 2), None)], True),
    ("ij,jk", [((1, 3), 0), ((3, 2), None)], True),
    ("ba", [((3, 1), 1)], True),
    ("...a", [((1, 2, 3), 0)], True),
    ("ab->ba", [((3, 1), 1)], True),
    ("b,b->b", [((6,), 0, 2, 3), ((6,), None)], True),
    ("b,b->b", [((6,), 0, 2, 3), ((6,), 0, 2, 3)], True),
    ("bi->b", [((4, 3), 0, 1, 4)], True),
    ("bi->i", [((1, 3), 0)], False),
    ("ii->i", [((1, 1), 0)], False),
    ("bi,ci->bc", [((1, 3), 0), ((1, 3), 0)], False),
    ("bi,ib->b", [((1, 3), 0), ((3, 1), 1)], True),
    ("b...->...", [((1, 3), 0)], False),
]


def einsums() -> Iterator[Sketch]:
    turn = cycle(opsets("Einsum"))
    for equation, operands, free in EQUATIONS:
        s = Sketch("Einsum", next(turn), free=free)
        yield s.out(
            s.op(
                "Einsum",
                *(s.floats(*each[0]) if each[1] is None else s.x(*each) for each in operands),
                equation=equation,
            )
        )
    for rows, free in (([[1.0, 2], [1, 2]], True), ([[1.0, 2], [1, 3]], False)):
        s = Sketch("Einsum", next(turn), 2, free=free)
        yield s.out(s.op("Einsum", s.x((2, 3)), s.const(rows, np.float32), equation="bi,bj->bij"))


def reductions() -> Iterator[Sketch]:
    for op in REDUCTIONS.split():
        for number, (dims, axis, outer, inner, size) in enumerate(PLACES):
            rank = len(dims)
            chosen: list[Any] = [list(each) for count in (1, 2) for each in combinations(range(rank), count)]
            free = [axes for axes in chosen if axis not in axes]
            for axes in [*free[number % 2 :: 2][:2], None, *chosen[:1]][: 4 if rank > 2 else 3]:
                turn = cycle((7, 11, 13, 18, 20))
                keep = number % 2
                for _ in range(1 + number % 5):
                    opset = next(turn)
                s = Sketch(op, opset, size, free=axes is not None and axis not in axes)
                signed = axes if axes is None or number % 3 or opset < 11 else [each - rank for each in axes]
                x = s.x(dims, axis, outer, inner, low=1)
                yield s.out(_reduced(s, x, signed, keep))
        for axes, noop in (([], 1), (None, 1), ([], 0)):
            s = Sketch(op, 18, free=bool(noop))
            yield s.out(_reduced(s, s.x((1, 3), low=1), axes, 1, noop))
    for op in ("ArgMax", "ArgMin"):
        for number, (dims, axis, outer, inner, size) in enumerate(PLACES):
            for along in range(-1, len(dims) - 1):
                s = Sketch(op, (11, 12, 13)[number % 3], size, free=along % len(dims) != axis)
                last = number % 2 if s.opset >= 12 else None
                x = s.x(dims, axis, outer, inner)
                yield s.out(s.op(op, x, axis=along, keepdims=number % 2, select_last_index=last))


def _reduced(s: Sketch, x: str, axes: Any, keep: int, noop: int | None = None) -> str:
    if s.opset >= (13 if s.about == "ReduceSum" else 18):
        given = [] if axes is None else [s.ints(*axes)]
        return str(s.op(s.about, x, *given, keepdims=keep, noop_with_empty_axes=noop))
    return str(s.op(s.about, x, axes=axes, keepdims=keep))


def largest() -> Iterator[Sketch]:
    for number, (dims, axis, outer, inner, size) in enumerate(PLACES):
        for along in range(-len(dims), 0):
            opset = (7, 10, 11, 24)[number % 4]
            s = Sketch("TopK", opset, size, free=along % len(dims) != axis)
            x = s.x(dims, axis, outer, inner)
            count = 1 + number % 2 if dims[along] > 1 else 1
            if opset < 10:
                yield s.out(*s.op("TopK", x, k=count, axis=along % len(dims), outputs=2))
            else:
                yield s.out(*s.op("TopK", x, s.ints(count), axis=along, outputs=2))


GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def recurrences() -> Iterator[Sketch]:
    ways, states = ("forward", "reverse", "bidirectional"), ("none", "constant", "batched", "lengths")
    places = ((1, 1, 1), (1, 2, 3), (2, 1, 1))
    for op, gates in GATES.items():
        for direction, layout, state, (size, outer, inner) in product(ways, (0, 1), states, places):
            opset = 14 if layout else (7, 14, 22)[size + outer - 2]
            s = Sketch(op, opset, size, reference=bool(layout))
            yield _recurrence(s, direction, layout, state, (outer, inner))
        for axis in (0, 2):
            s = Sketch(op, 14, free=False)
            dims = [3, 2, 2]
            dims[axis] = 1
            weights = [s.floats(1, 2 * gates, dims[2], low=-1), s.floats(1, 2 * gates, 2, low=-1)]
            yield s.out(*s.op(op, s.x(dims, axis), *weights, hidden_size=2, outputs=2))


def _recurrence(s: Sketch, direction: str, layout: int, states: str, factors: tuple[int, int]) -> Sketch:
    gates, hidden, (outer, inner) = GATES[s.about], 2, factors
    ways, rows = 1 + (direction == "bidirectional"), outer * inner * s.size
    axis = 0 if layout else 1
    x = s.x((rows, 3, 2) if layout else (3, rows, 2), axis, outer, inner, low=-1, high=2)
    weights = [s.floats(ways, gates * hidden, 2, low=-1), s.floats(ways, gates * hidden, hidden, low=-2)]
    more = ["", ""]
    if states == "lengths":
        more[1] = s.const([2 if inner == 1 else 1 + row % 3 for row in range(rows)], np.int32)
    held = (rows, ways, hidden) if layout else (ways, rows, hidden)
    for _ in range((2 if s.about == "LSTM" else 1) if states in {"constant", "batched"} else 0):
        if states == "batched":
            more.append(s.x(held, axis, outer, inner, low=-1, high=2))
        else:
            more.append(s.const(np.full(held, 0.5), np.float32))
    told = {"hidden_size": hidden, "direction": direction, "layout": layout or None}
    return s.out(*s.op(s.about, x, *weights, *more, outputs=3 if s.about == "LSTM" else 2, **told))


def determinants() -> Iterator[Sketch]:
    """Of matrices beside the samples, and of what the samples are a part of."""
    turn = cycle(opsets("Det"))
    for dims, axis, outer, inner, size in PLACES:
        s = Sketch("Det", next(turn), size)
        yield s.out(s.op("Det", s.x((*dims, 2, 2), axis, outer, inner)))
    for dims, axis, size in (((3, 2, 2), 1, 2), ((3, 3, 3), 2, 3), ((1, 1), 0, 1), ((2, 1, 1), 2, 1)):
        s = Sketch("Det", next(turn), size, free=False)
        yield s.out(s.op("Det", s.x(dims, axis)))


STEPS = 4


def reversals() -> Iterator[Sketch]:
    """Among the sequences; in what they hold, with lengths that are shared or are not; among the steps."""
    turn = cycle(opsets("ReverseSequence"))
    places = ((1, 1, 1), (2, 3, 1), (1, 1, 2), (1, 4, 1))
    for axis, (outer, inner, size) in product((0, 1), places):
        for data, lengths in ((True, True), (True, False), (False, True)):
            s = Sketch("ReverseSequence", next(turn), size)
            rows = outer * inner * size
            dims = (rows, STEPS, 2) if axis == 0 else (STEPS, rows, 2)
            same = np.expand_dims(np.arange(STEPS * 2).reshape(STEPS, 2), axis)
            x = s.x(dims, axis, outer, inner, dtype=INT) if data else s.const(np.broadcast_to(same, dims), INT)
            yield _reversed(s, x, s.x((rows,), 0, outer, inner, **LENGTHS) if lengths else _lengths(s, rows), axis)
        s = Sketch("ReverseSequence", next(turn), size)
        rows = outer * inner * size
        x = s.x((3, STEPS, rows) if axis == 0 else (STEPS, 3, rows), 2, outer, inner)
        yield _reversed(s, x, s.ints(3, 1, 4) if inner == 1 else s.x((3,), None, **LENGTHS), axis)
        s = Sketch("ReverseSequence", next(turn), size, free=False)
        x = s.x((2, rows) if axis == 0 else (rows, 2), 1 - axis, outer, inner)
        yield _reversed(s, x, s.ints(1, 0), axis)
        s = Sketch("ReverseSequence", next(turn), size, free=False)
        x = s.x((rows, STEPS, rows) if axis == 0 else (STEPS, rows, rows), 2, outer, inner)
        yield _reversed(s, x, s.x((rows,), 0, outer, inner, **LENGTHS), axis)


LENGTHS: dict[str, Any] = {"dtype": INT, "low": 0, "high": STEPS + 1}


def _lengths(s: Sketch, rows: int) -> str:
    """Lengths that differ from sequence to sequence, and not from sample to sample."""
    return s.ints(*(2 + row % (rows // s.size) % 3 for row in range(rows)))


def _reversed(s: Sketch, x: str, lengths: str, axis: int) -> Sketch:
    said = {"batch_axis": 0, "time_axis": 1} if axis == 0 else {}
    return s.out(s.op("ReverseSequence", x, lengths, **said))


def contractions() -> Iterator[Sketch]:
    for family in (products, gemms, einsums, reductions, largest, recurrences, determinants, reversals):
        yield from family()
