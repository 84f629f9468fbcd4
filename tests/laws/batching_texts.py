"""Cases for texts, and for what newer opsets brought: caches, states, gates and bits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, product
from typing import Any

import numpy as np

from tests.laws.batching_sketch import INT, TEXT, Sketch

_COUNTED: dict[str, Any] = {
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 2,
    "max_skip_count": 1,
    "ngram_counts": [0, 3],
    "ngram_indexes": [0, 1, 2, 4],
}
_INTEGERS: dict[str, Any] = {"pool_int64s": [0, 1, 2, 1, 2]}
_WORDS: dict[str, Any] = {"pool_strings": ["w0", "w1", "w2", "w1", "w2"]}
PLACES: list[tuple[Any, ...]] = [
    ((1, 3), 0),
    ((3, 1), 1),
    ((2, 3), 0),
    ((1, 2, 3), 0),
    ((2, 2, 3), 1),
    ((1,), 0),
    ((2, 6), 1, 1, 3),
]


def texts() -> Iterator[Sketch]:
    """All of them."""
    yield from counted()
    yield from word_by_word()
    yield from newer()


def counted() -> Iterator[Sketch]:
    """A row for each sample; the words of a single one."""
    for size, (dims, axis), kind, opset in product(
        (1, 2), (((1, 4), 0), ((4, 1), 1), ((1,), 0)), (INT, TEXT), (9, 17, 21)
    ):
        s = Sketch("TfIdfVectorizer", opset, size, free=len(dims) == 2 and axis == 0)
        real = [dim * size if place == axis else dim for place, dim in enumerate(dims)]
        pool = _INTEGERS if kind == INT else _WORDS
        yield s.out(s.op("TfIdfVectorizer", s.x(real, axis, dtype=kind, low=0, high=3), **_COUNTED, **pool))
    s = Sketch("TfIdfVectorizer", 13)
    yield s.out(s.op("TfIdfVectorizer", s.x((6, 4), 0, 2, 3, dtype=INT, low=0, high=3), **_COUNTED, **_INTEGERS))


def word_by_word() -> Iterator[Sketch]:
    for (dims, axis, *factors), left in product(PLACES, (None, 0, 1)):
        s = Sketch("StringConcat", 20, dims[axis] // (factors[1] if factors else 1))
        x = s.x(dims, axis, *factors, dtype=TEXT)
        shared = ["a", "b", "c"] if dims[-1] == 3 else ["a"]
        other = x if left is None else s.const(np.array(shared, object))
        yield s.out(s.op("StringConcat", *([x, other] if left else [other, x])))
        s = Sketch("RegexFullMatch", 20, dims[axis] // (factors[1] if factors else 1))
        yield s.out(s.op("RegexFullMatch", s.x(dims, axis, *factors, dtype=TEXT), pattern=f"w[{left or 0}2-3]"))
        s = Sketch("StringSplit", 20, dims[axis] // (factors[1] if factors else 1), free=left is not None)
        _, numbers = (
            pieces := s.op("StringSplit", s.x(dims, axis, *factors, dtype=TEXT), outputs=2, delimiter=f"{left or 1}")
        )
        yield s.out(*(pieces if left is None else [numbers]))
    for case, stop, opset in product(("LOWER", "UPPER"), (None, ["w1"]), (10, 17, 20)):
        for dims, axis in (((1, 3), 0), ((1, 1), 1), ((1,), 0)):
            s = Sketch("StringNormalizer", opset, free=stop is None)
            x = s.x(dims, axis, dtype=TEXT)
            yield s.out(s.op("StringNormalizer", x, case_change_action=case, stopwords=stop, locale="C"))


def newer() -> Iterator[Sketch]:
    """What a row is for each sample, and what weights are shared."""
    for size, (axis, along, mode) in product((1, 2), product((0, 1, 2), (1, 2, -1), ("linear", "circular"))):
        for shared in (None, "cache", "places")[: 3 if size == 1 else 1]:
            dims = [3, 3, 4]
            dims[axis] = size
            new = [2 if place == along % 3 else dim for place, dim in enumerate(dims)]
            s = Sketch("TensorScatter", 24, size, free=axis != along % 3)
            one = [1 if place == axis else dim for place, dim in enumerate(dims)]
            cache = s.floats(*one) if shared == "cache" else s.x(dims, axis)
            if axis:
                places = s.const(np.arange(dims[0]) % 2, INT)
            else:
                places = s.const([1], INT) if shared == "places" else s.x((size,), 0, dtype=INT, low=0, high=2)
            yield s.out(s.op("TensorScatter", cache, s.x(new, axis), places, axis=along, mode=mode))
    turn = cycle((26, 27))
    for dims, axis, *factors in (*PLACES, *PLACES):
        size = dims[axis] // (factors[1] if factors else 1)
        s = Sketch("BitCast", next(turn), size, reference=True)
        yield s.out(s.op("BitCast", s.x(dims, axis, *factors), to=6))
        for other in range(3 if size == 1 else 1):
            one = [1 if place == axis else dim for place, dim in enumerate(dims)]
            s = Sketch("SwiGLU", 28, size, reference=True)
            pair = [s.x(dims, axis, *factors), s.floats(*one) if other and not factors else s.x(dims, axis, *factors)]
            yield s.out(s.op("SwiGLU", *(pair if other < 2 else pair[::-1]), alpha=0.5))
    for size, axis, state, bias, what in product((1, 2), (0, 1), range(2), (False, True), ("none", "silu")):
        dims = [3, 2, 5]
        dims[axis] = size
        s = Sketch("CausalConvWithState", 27, size, free=axis == 0, reference=True)
        past = [(), (s.x((2, 2, 2)) if size == 2 else s.floats(1, 2, 2),)][state] if axis == 0 else ()
        given = [s.x(dims, axis), s.floats(dims[1], 1, 3), s.floats(dims[1]) if bias else "", *past]
        yield s.out(*s.op("CausalConvWithState", *given, outputs=2, activation=what))
    for size, axis, state, rule in product((1, 2), (0, 1), range(2), ("linear", "gated", "delta", "gated_delta")):
        dims = [3, 2, 4]
        dims[axis] = size
        s = Sketch("LinearAttention", 27, size, free=axis == 0, reference=True)
        rows = [s.x(dims, axis) for _ in range(3)]
        before = ["", s.x((2, 2, 2, 2)) if size == 2 else s.floats(1, 2, 2, 2)][state] if axis == 0 else ""
        gates = [s.x((*dims[:2], 2), axis) if word in rule else "" for word in ("gated", "delta")]
        heads = {"q_num_heads": 2, "kv_num_heads": 2}
        yield s.out(*s.op("LinearAttention", *rows, before, *gates, outputs=2, update_rule=rule, **heads))
