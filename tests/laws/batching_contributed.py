"""Cases for onnxruntime's own operators, fused and quantised, and for those that find their scales in the data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.laws.batching_contractions import MATRICES
from tests.laws.batching_pointwise import PAIRS, PLACES, numbers
from tests.laws.batching_sketch import FLOAT, Sketch

DOMAIN = "com.microsoft"
BYTE = np.dtype(np.uint8)


def _sketch(op: str, size: int = 1, *, free: bool = True) -> Sketch:
    return Sketch(f"{DOMAIN}::{op}", 17, size, free=free)


def _op(s: Sketch, op: str, *given: str, **attributes: Any) -> Any:
    return s.op(op, *given, domain=DOMAIN, **attributes)


def _scales(s: Sketch, count: int = 1) -> list[str]:
    return [s.const(value, kind) for _ in range(count) for value, kind in ((0.5, np.float32), (3, np.uint8))]


def activations() -> Iterator[Sketch]:
    for op in ("Gelu", "QuickGelu", "FastGelu"):
        for dims, axis, outer, inner, size in PLACES:
            s = _sketch(op, size)
            yield s.out(_op(s, op, s.x(dims, axis, outer, inner)))
    for op in ("BiasGelu", "FastGelu"):
        for dims, axis, outer, inner, size in PLACES:
            s = _sketch(op, size, free=axis < len(dims) - 1)
            yield s.out(_op(s, op, s.x(dims, axis, outer, inner), s.floats(dims[-1])))


def products() -> Iterator[Sketch]:
    for turned in ((0, 0), (1, 0), (0, 1), (1, 1)):
        for *pair, free in MATRICES:
            if min(len(each[0]) for each in pair) < 2:
                continue
            s = _sketch("FusedMatMul", free=free)
            given = [_turned(s, each, turn) for each, turn in zip(pair, turned, strict=True)]
            yield s.out(_op(s, "FusedMatMul", *given, transA=turned[0], transB=turned[1], alpha=0.5))
    for *pair, free in MATRICES:
        if min(len(each[0]) for each in pair) < 2:
            continue
        s = Sketch("QLinearMatMul", 13, free=free)
        first, second = (
            numbers(s, each[0], BYTE) if each[1] is None else s.x(*each, dtype=BYTE, low=0) for each in pair
        )
        yield s.out(s.op("QLinearMatMul", first, *_scales(s), second, *_scales(s), *_scales(s)))
        s = _sketch("MatMulIntegerToFloat", free=free)
        first, second = (
            numbers(s, each[0], BYTE) if each[1] is None else s.x(*each, dtype=BYTE, low=0) for each in pair
        )
        scales = [s.const(0.5, np.float32), s.const(0.25, np.float32)]
        yield s.out(_op(s, "MatMulIntegerToFloat", first, second, *scales))
    s = Sketch("QLinearMatMul", 13)  # a scale for each column
    several = [s.const([0.5, 0.25], np.float32), s.const([1, 2], BYTE)]
    x, table = s.x((1, 3), dtype=BYTE, low=0), s.const(np.arange(6).reshape(3, 2), BYTE)
    yield s.out(s.op("QLinearMatMul", x, *_scales(s), table, *several, *_scales(s)))


def _turned(s: Sketch, given: Any, turn: int) -> str:
    """An operand, or the same turned."""
    dims, axis, *between = given
    if turn:
        rank = len(dims)
        dims = (*dims[:-2], dims[-1], dims[-2])
        axis = axis if axis is None or axis < rank - 2 else 2 * rank - 3 - axis
    return numbers(s, dims, FLOAT) if axis is None else s.x(dims, axis, *between)


def fused() -> Iterator[Sketch]:
    for outer, inner in ((1, 1), (2, 3)):
        rows = outer * inner
        for left in (0, 1):
            for bias in (None, (4,), (1, 4)):
                s = _sketch("FusedGemm")
                x = s.x((3, rows) if left else (rows, 3), left, outer, inner)
                more = [] if bias is None else [s.floats(*bias)]
                yield s.out(_op(s, "FusedGemm", x, s.floats(3, 4), *more, transA=left, activation="Relu"))
    s = _sketch("FusedGemm", free=False)
    yield s.out(_op(s, "FusedGemm", s.x((3, 1), 1), s.floats(1, 4), activation="Relu"))
    for dims, axis, outer, inner, size in IMAGES:
        for added in (None, "constant", "samples"):
            s = _sketch("FusedConv", size, free=axis == 0 and (added != "constant" or size == 1))
            x = s.x(dims, axis, outer, inner)
            made = (dims[0], 2, dims[2] - 1, dims[3] - 1)
            more = [] if added is None else ["", s.floats(*made) if added == "constant" else s.x(made, 0, outer, inner)]
            weights = s.floats(2, dims[1], 2, 2)
            yield s.out(_op(s, "FusedConv", x, weights, *more, kernel_shape=[2, 2], activation="Relu"))


IMAGES: list[tuple[tuple[int, ...], int, int, int, int]] = [
    ((1, 2, 3, 4), 0, 1, 1, 1),
    ((2, 2, 3, 4), 0, 1, 1, 2),
    ((6, 1, 3, 3), 0, 2, 3, 1),
    ((4, 2, 3, 3), 0, 1, 2, 2),
    ((1, 2, 3, 4), 1, 1, 2, 1),
    ((3, 1, 4, 4), 0, 1, 1, 3),
    ((2, 3, 2, 2), 3, 1, 2, 1),
]


SKIPS: list[tuple[tuple[int, ...], int, int, int, int]] = [
    ((1, 3, 8), 0, 1, 1, 1),
    ((2, 3, 8), 0, 1, 1, 2),
    ((6, 2, 8), 0, 2, 3, 1),
    ((2, 6, 8), 1, 2, 3, 1),
    ((1, 8), 0, 1, 1, 1),
    ((6, 8), 0, 3, 2, 1),
    ((2, 3, 8), 2, 1, 8, 1),
]


def skipped() -> Iterator[Sketch]:
    for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        for dims, axis, outer, inner, size in SKIPS:
            rank = len(dims)
            for other in ("samples", "constant", "shared", "first"):
                if (other == "shared" and rank == 2) or (other == "first" and size > 1):
                    continue
                free = axis < rank - 1 and not (size > 1 and other == "constant")
                s = _sketch(op, size, free=free)
                x = s.x(dims, axis, outer, inner)
                if other == "samples":
                    skip = s.x(dims, axis, outer, inner)
                else:
                    skip = s.floats(*(dims[1:] if other == "shared" else dims))
                pair = [skip, x] if other == "first" else [x, skip]
                yield s.out(_op(s, op, *pair, s.floats(8)))


def quantised() -> Iterator[Sketch]:
    for op in ("QLinearAdd", "QLinearMul"):
        for first, second in PAIRS:
            apart = first[1] is not None and second[1] is None and _wider(first, second)
            s = _sketch(op, free=not apart)
            x = s.x(*first, dtype=BYTE, low=0)
            other = numbers(s, second[0], BYTE) if second[1] is None else s.x(*second, dtype=BYTE, low=0)
            yield s.out(_op(s, op, x, *_scales(s), other, *_scales(s), *_scales(s)))
    for op, more in (("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.1})):
        for dims, axis, outer, inner, size in PLACES:
            s = _sketch(op, size)
            x = s.x(dims, axis, outer, inner, dtype=BYTE, low=0)
            yield s.out(_op(s, op, x, *_scales(s), *_scales(s), **more))


def softened() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in PLACES:
        for along, opset in ((-1, 13), (0, 13), (1, 11)):
            here = along % len(dims)
            if along == 1 and len(dims) < 2:
                continue
            free = axis != here if opset >= 13 else axis < here
            s = _sketch("QLinearSoftmax", size, free=free)
            x = s.x(dims, axis, outer, inner, dtype=BYTE, low=0)
            yield s.out(_op(s, "QLinearSoftmax", x, *_scales(s), *_scales(s), axis=along, opset=opset))


def joined() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in PLACES:
        for along in range(len(dims)):
            s = _sketch("QLinearConcat", size, free=axis != along and size == 1)
            x = s.x(dims, axis, outer, inner, dtype=BYTE, low=0)
            other = s.const(np.ones(dims) * 2, BYTE)
            yield s.out(_op(s, "QLinearConcat", *_scales(s), x, *_scales(s), other, *_scales(s), axis=along))
        for op, kind in (("QuantizeLinear", FLOAT), ("DequantizeLinear", BYTE)):
            s = _sketch(op, size)
            yield s.out(_op(s, op, s.x(dims, axis, outer, inner, dtype=kind, low=0), *_scales(s)))
            s = _sketch(op, size, free=axis != 0)
            x = s.x(dims, axis, outer, inner, dtype=kind, low=0)
            each = [s.floats(dims[0]), s.const(np.arange(dims[0]) % 5, BYTE)]
            yield s.out(_op(s, op, x, *each, axis=0))


def averaged() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in IMAGES:
        for last in (0, 1):
            s = _sketch("QLinearGlobalAveragePool", size, free=axis == 0)
            x = s.x(dims, axis, outer, inner, dtype=BYTE, low=0)
            yield s.out(_op(s, "QLinearGlobalAveragePool", x, *_scales(s), *_scales(s), channels_last=last))


def _wider(first: Any, second: Any) -> bool:
    """Whether a constant has several entries where the samples have an axis for themselves."""
    axis = first[1] - len(first[0]) + len(second[0])
    return axis >= 0 and len(first) == 2 and second[0][axis] != 1


def packed() -> Iterator[Sketch]:
    """MatMulNBits: 16 rows in one block of four bits."""
    for dims, axis, outer, inner, size in PLACES:
        whole = (*dims[:-1], 16) if axis < len(dims) - 1 else (*dims, 16)
        s = _sketch("MatMulNBits", size)
        x = s.x(whole, axis, outer, inner)
        table = s.const(np.arange(3 * 8).reshape(3, 1, 8) * 37 % 251, BYTE)
        yield s.out(_op(s, "MatMulNBits", x, table, s.floats(3), K=16, N=3, bits=4, block_size=16))
    s = _sketch("MatMulNBits", free=False)
    table = s.const(np.arange(3 * 8).reshape(3, 1, 8), BYTE)
    yield s.out(_op(s, "MatMulNBits", s.x((1, 16), 1, 1, 16), table, s.floats(3), K=16, N=3, bits=4, block_size=16))


def contributed() -> Iterator[Sketch]:
    for family in (
        activations,
        products,
        fused,
        skipped,
        quantised,
        softened,
        joined,
        averaged,
        packed,
    ):
        yield from family()
