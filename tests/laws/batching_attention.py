"""Cases for attentions, and for what goes before them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.laws.batching_sketch import Sketch

DOMAIN = "com.microsoft"
# What is outside of the samples and inside of them, and how many there are.
BATCHES = ((1, 1, 1), (2, 3, 1), (1, 1, 2), (1, 2, 2))


def _sketch(op: str, size: int = 1, *, free: bool = True) -> Sketch:
    return Sketch(f"{DOMAIN}::{op}", 17, size, free=free)


def _op(s: Sketch, op: str, *given: str, **attributes: Any) -> Any:
    return s.op(op, *given, domain=DOMAIN, **attributes)


def attentions() -> Iterator[Sketch]:
    op = "MultiHeadAttention"
    for outer, inner, size in BATCHES:
        rows = outer * inner * size
        for shared in ((), (1, 2)):
            s = _sketch(op, size, free=not shared or size == 1)
            given = [
                s.floats(rows, 4, 8) if place in shared else s.x((rows, 3 if not place else 4, 8), 0, outer, inner)
                for place in range(3)
            ]
            yield s.out(_op(s, op, *given, num_heads=2))
        for dims in ((1, 1, 3, 4), (1, 2, 3, 4), (rows, 2, 3, 4), (rows, 1, 3, 4)):
            for constant in (True, False):
                if dims[0] == 1 and rows > 1 and not constant:
                    continue
                s = _sketch(op, size, free=not constant or dims[0] == 1 or size == 1)
                given = [s.x((rows, length, 8), 0, outer, inner) for length in (3, 4, 4)]
                bias = s.floats(*dims) if constant else s.x(dims, 0, outer, inner)
                yield s.out(_op(s, op, *given, "", "", bias, num_heads=2))
    for axis, length in ((1, 3), (2, 8)):
        s = _sketch(op, free=False)
        given = [s.x((1, 3, 8), axis, 1, length) for _ in range(3)]
        yield s.out(_op(s, op, *given, num_heads=2))


def packed() -> Iterator[Sketch]:
    op = "Attention"
    for outer, inner, size in BATCHES:
        rows = outer * inner * size
        for mask in (None, (rows, 3), (rows, 3, 3)):
            for constant in (True, False) if mask else (True,):
                s = _sketch(op, size)
                x = s.x((rows, 3, 8), 0, outer, inner)
                more = []
                if mask is not None:
                    ones = s.const(np.ones(mask), np.int32)
                    more = [ones if constant else s.x(mask, 0, outer, inner, dtype=np.int32, low=1, high=2)]
                yield s.out(_op(s, op, x, s.floats(8, 24), s.floats(24), *more, num_heads=2))
    s = _sketch(op, free=False)
    yield s.out(_op(s, op, s.x((1, 3, 8), 2, 1, 8), s.floats(8, 24), s.floats(24), num_heads=2))


def plain() -> Iterator[Sketch]:
    for outer, inner, size in BATCHES:
        rows = outer * inner * size
        for shared in ((), (1, 2)):
            s = Sketch("Attention", 23, size, free=not shared or size == 1)
            given = [
                s.floats(rows, 2, 4, 4) if place in shared else s.x((rows, 2, 4, 4), 0, outer, inner)
                for place in range(3)
            ]
            yield s.out(s.op("Attention", *given))
        for dims in ((4, 4), (2, 4, 4), (1, 1, 4, 4), (rows, 2, 4, 4)):
            s = Sketch("Attention", 23, size, free=len(dims) < 4 or dims[0] == 1 or size == 1)
            given = [s.x((rows, 4, 8), 0, outer, inner) for _ in range(3)]
            yield s.out(s.op("Attention", *given, s.floats(*dims), q_num_heads=2, kv_num_heads=2))
        s = Sketch("Attention", 23, size)
        given = [s.x((rows, 2, 4, 4), 0, outer, inner) for _ in range(4)]
        yield s.out(s.op("Attention", *given))
    s = Sketch("Attention", 23, free=False)
    yield s.out(s.op("Attention", *(s.x((2, 2, 1, 4), 2) for _ in range(3))))


def turned() -> Iterator[Sketch]:
    for outer, inner, size in BATCHES:
        rows = outer * inner * size
        for constant in (True, False):
            where = np.tile(np.arange(3), (rows, 1))
            for dims, more in (((rows, 2, 3, 4), {}), ((rows, 3, 8), {"num_heads": 2})):
                s = Sketch("RotaryEmbedding", 23, size)
                x = s.x(dims, 0, outer, inner)
                places = s.const(where) if constant else s.x((rows, 3), 0, outer, inner, dtype=np.int64, low=0, high=5)
                yield s.out(s.op("RotaryEmbedding", x, s.floats(5, 2), s.floats(5, 2), places, **more))
                s = _sketch("RotaryEmbedding", size)
                x = s.x(dims, 0, outer, inner)
                places = s.const(where) if constant else s.x((rows, 3), 0, outer, inner, dtype=np.int64, low=0, high=5)
                yield s.out(_op(s, "RotaryEmbedding", x, places, s.floats(5, 2), s.floats(5, 2), **more))
            s = Sketch("RotaryEmbedding", 23, size, free=not constant or size == 1)
            tables = [s.floats(rows, 3, 2) if constant else s.x((rows, 3, 2), 0, outer, inner) for _ in range(2)]
            yield s.out(s.op("RotaryEmbedding", s.x((rows, 2, 3, 4), 0, outer, inner), *tables))
        s = _sketch("RotaryEmbedding", size)
        x = s.x((rows, 2, 3, 4), 0, outer, inner)
        yield s.out(_op(s, "RotaryEmbedding", x, s.ints(1), s.floats(5, 2), s.floats(5, 2)))
    s = _sketch("RotaryEmbedding", free=False)
    yield s.out(_op(s, "RotaryEmbedding", s.x((2, 2, 1, 4), 2), s.ints(1), s.floats(5, 2), s.floats(5, 2)))


def embedded() -> Iterator[Sketch]:
    op = "EmbedLayerNormalization"
    for outer, inner, size in BATCHES:
        rows = outer * inner * size
        for others in (0, 1, 2, 3):
            s = _sketch(op, size)
            ids, more = (
                s.x((rows, 3), 0, outer, inner, dtype=np.int32, low=0, high=top) if both else ""
                for top, both in ((5, True), (2, others % 2))
            )
            ones = np.ones((rows, 3))
            mask = [s.const(ones, np.int32)] if others >= 2 else []
            tables = [s.floats(5, 4), s.floats(3, 4), s.floats(2, 4) if more else "", s.floats(4), s.floats(4)]
            yield s.out(*_op(s, op, ids, more, *tables, *mask, outputs=2)[: 2 if mask else 1])
    s = _sketch(op, free=False)
    ids = s.x((3, 1), 1, dtype=np.int32, low=0, high=5)
    tables = [s.floats(5, 4), s.floats(3, 4), "", s.floats(4), s.floats(4)]
    yield s.out(_op(s, op, ids, "", *tables, outputs=2)[0])


def attending() -> Iterator[Sketch]:
    for family in (attentions, packed, plain, turned, embedded):
        yield from family()
