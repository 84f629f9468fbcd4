"""The world of folding: operators that look along axes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.laws.folding_world import FLOATS, Case, Kinds, case, numbers

REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
).split()
TYPES: Kinds = (np.float32, np.float64, np.int64, np.int32)


def _axes_as_input(op: str) -> int:
    return 13 if op == "ReduceSum" else 18


def reductions() -> Iterator[Case]:
    for op, dtype, keep in product(REDUCTIONS, TYPES, (None, 0, 1)):
        start = 1 if "Log" in op else -4
        x, since = numbers(dtype, (2, 3, 2), start), _axes_as_input(op)
        for axes in (None, [0], [-1], [1, 2], [0, -2], [0, 1, 2]):
            yield case(op, x, axes=axes, keepdims=keep, most=since - 1)
            given = None if axes is None else np.array(axes, np.int64)
            yield case(op, x, given, keepdims=keep, least=since)
        for empty in (0, 1):
            none = np.array([], np.int64)
            yield case(op, x, none, keepdims=keep, noop_with_empty_axes=empty, least=since)
            yield case(op, x, keepdims=keep, noop_with_empty_axes=empty, least=since)
        yield case(op, numbers(dtype, (2, 0)), axes=[1], keepdims=keep, most=since - 1)
        yield case(op, numbers(dtype, (2, 0)), np.array([1]), keepdims=keep, least=since)
        yield case(op, numbers(dtype, (0, 2)), np.array([1]), keepdims=keep, least=since)
        yield case(op, numbers(dtype, (), start), keepdims=keep)
    others: Kinds = (np.float16, np.int8, np.uint8, np.bool_)
    for op, dtype in product(REDUCTIONS, others):
        yield case(op, numbers(dtype, (2, 3), 1), keepdims=0)


def places() -> Iterator[Case]:
    for op, keep, axis, last in product(("ArgMax", "ArgMin"), (0, 1), (None, 0, 1, -1, -2), (None, 0, 1)):
        for dtype in TYPES:
            x = np.array([[1, 3, 3, 0], [1, 0, 3, 0], [0, 3, 1, 0]], dtype)
            yield case(op, x, axis=axis, keepdims=keep, select_last_index=last, least=7 if last is None else 12)


def running() -> Iterator[Case]:
    for dtype, axis, exclusive, backwards in product(TYPES, (0, 1, -1, -2), (None, 0, 1), (None, 0, 1)):
        for kind in (np.int64, np.int32):
            x = numbers(dtype, (3, 4))
            yield case("CumSum", x, np.array(axis, kind), exclusive=exclusive, reverse=backwards)
        yield case("CumSum", numbers(dtype, (0, 4)), np.array(axis), exclusive=exclusive, reverse=backwards)
    at: int | None
    for dtype, at, largest in product(TYPES, (None, 0, 1, -1), (None, 0, 1)):
        x = np.array([[1, 3, 3, 0], [1, 0, 3, 0], [0, 3, 1, 0]], dtype)
        for k in (1, 2, 3):
            least = 10 if largest is None else 11
            yield case("TopK", x, np.array([k]), axis=at, largest=largest, sorted=1 if largest else None, least=least)
            if largest is None:
                yield case("TopK", x, axis=at, k=k, most=9)


def normalized() -> Iterator[Case]:
    for op, dtype in product(("Softmax", "LogSoftmax", "Hardmax"), FLOATS):
        for dims in ((2, 3), (2, 3, 2), (4,), (2, 1, 2, 2), (2, 0)):
            for axis in (None, *range(-len(dims), len(dims))):
                least = 11 if axis is not None and axis < 0 else 7
                yield case(op, numbers(dtype, dims), axis=axis, least=least)
        yield case(op, np.array([[1, 3, 3], [2, 2, 2]], dtype), axis=1)
        yield case(op, np.array([[[1, 3], [3, 0]], [[2, 2], [2, 2]]], dtype), axis=1)
    for dtype, p, axis in product(FLOATS, (None, 1, 2), (None, 0, 1, -1, -2)):
        yield case("LpNormalization", numbers(dtype, (2, 3)), p=p, axis=axis)
        yield case("LpNormalization", numbers(dtype, (2, 3, 2)), p=p, axis=axis)
        yield case("LpNormalization", np.zeros((2, 2), dtype), p=p, axis=axis)
    for dtype, axis, epsilon in product(FLOATS, (None, 0, 1, -1, -2), (None, 0.5)):
        x = numbers(dtype, (2, 3, 4))
        dims = x.shape[-1:] if axis is None else x.shape[axis:]
        scale, bias = numbers(dtype, dims, 1, 0.5), numbers(dtype, dims)
        yield case("LayerNormalization", x, scale, bias, axis=axis, epsilon=epsilon)
        yield case("LayerNormalization", x, scale, axis=axis, epsilon=epsilon)


def products() -> Iterator[Case]:
    pairs = (
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((2, 1, 2, 3), (4, 3, 2)),
        ((2, 0), (0, 3)),
    )
    for dtype, (left, right) in product((*TYPES, np.float16), pairs):
        yield case("MatMul", numbers(dtype, left), numbers(dtype, right, 1))
    for dtype, turned, factors in product(
        (np.float32, np.float64), product((0, 1), (0, 1)), ({}, {"alpha": 0.5, "beta": 2.0})
    ):
        a, b = numbers(dtype, (3, 2) if turned[0] else (2, 3)), numbers(dtype, (4, 3) if turned[1] else (3, 4))
        given: dict[str, Any] = {"transA": turned[0], "transB": turned[1], **factors}
        for bias in ((4,), (2, 1), (1, 4), (2, 4), (), (1,)):
            yield case("Gemm", a, b, numbers(dtype, bias), **given)
        yield case("Gemm", a, b, least=11, **given)
    for equation, dims in (
        ("ij,jk->ik", ((2, 3), (3, 2))),
        ("ij,jk", ((2, 3), (3, 2))),
        ("ba,ab", ((2, 3), (3, 2))),
        ("ii->i", ((3, 3),)),
        ("ij->ji", ((2, 3),)),
        ("ij->", ((2, 3),)),
        ("...ij,...jk->...ik", ((2, 2, 3), (3, 2))),
        ("bij,bjk->bik", ((2, 2, 3), (2, 3, 2))),
        ("i,j->ij", ((2,), (3,))),
    ):
        for dtype in (np.float32, np.int64, np.int32, np.float64):
            yield case("Einsum", *(numbers(dtype, each) for each in dims), equation=equation)


def quantized() -> Iterator[Case]:
    for dtype, axis in product((np.int8, np.uint8, np.int32), (None, 0, 1, -1)):
        x, zero = numbers(dtype, (2, 3)), None if dtype is np.int32 else np.array(2, dtype)
        yield case("DequantizeLinear", x, np.float32(0.5), zero, axis=axis)
        yield case("DequantizeLinear", x, np.float32(0.25), axis=axis)
        count = 2 if axis == 0 else 3
        scales = numbers(np.float32, (count,), 1, 0.5)
        zeros = None if zero is None else numbers(dtype, (count,))
        yield case("DequantizeLinear", x, scales, zeros, axis=axis, least=13)
