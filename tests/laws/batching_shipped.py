"""Cases for operators that onnxruntime writes into the models that it ships: of decoders, of quantised images."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.laws.batching_attention import BATCHES
from tests.laws.batching_pointwise import PLACES
from tests.laws.batching_sketch import Sketch

DOMAIN = "com.microsoft"
BYTE = np.dtype(np.uint8)


def _sketch(op: str, size: int = 1, *, free: bool = True) -> Sketch:
    return Sketch(f"{DOMAIN}::{op}", 17, size, free=free)


def _op(s: Sketch, op: str, *given: str, **attributes: Any) -> Any:
    return s.op(op, *given, domain=DOMAIN, **attributes)


def _pair(s: Sketch) -> list[str]:
    return [s.const(0.5, np.float32), s.const(3, np.uint8)]


def shipped() -> Iterator[Sketch]:
    for family in (decoders, quantised_attention, matrices, pools, products, tables):
        yield from family()


def decoders() -> Iterator[Sketch]:
    """GroupQueryAttention: a prompt, and a token after keys and values of before; lengths given or the same for all."""
    op, heads = "GroupQueryAttention", {"num_heads": 2, "kv_num_heads": 1}
    for outer, inner, size in BATCHES:
        rows = outer * inner * size
        for length, before, packed, constant in product((1, 3), (0, 2), (False, True), (True, False)):
            free = (not before or length == 1) and (not constant or size == 1 or outer == inner == 1)
            s = _sketch(op, size, free=free)
            widths = ("", 32, "", "") if packed else ("", 16, 8, 8)
            given = [s.x((rows, length, width), 0, outer, inner) if width else "" for width in widths[1:]]
            past = [s.x((rows, 1, before, 8), 0, outer, inner) if before else "" for _ in range(2)]
            last = length + before - 1
            lengths = (
                s.const(np.full(rows, last), np.int32)
                if constant
                else s.x((rows,), 0, outer, inner, dtype=np.int32, low=last, high=last + 1)
            )
            made = _op(s, op, *given, *past, lengths, s.const(last + 1, np.int32), outputs=3, **heads)
            yield s.out(*made)
    for axis, dims in ((1, (1, 1, 16)), (2, (1, 3, 16))):
        s = _sketch(op, free=False)
        given = [s.x((*dims[:2], width), axis, 1, 1 if axis == 1 else width) for width in (16, 8, 8)]
        lengths = s.const([dims[1] - 1], np.int32)
        yield s.out(_op(s, op, *given, "", "", lengths, s.const(dims[1], np.int32), outputs=3, **heads)[0])


def quantised_attention() -> Iterator[Sketch]:
    op = "QAttention"
    for outer, inner, size in BATCHES:
        rows = outer * inner * size
        for mask, before in product((None, True, False), (False, True)):
            s = _sketch(op, size)
            x = s.x((rows, 3, 8), 0, outer, inner, dtype=BYTE, low=0, high=9)
            weights = s.const(np.arange(192).reshape(8, 24) % 11, BYTE)
            scale, zero = _pair(s)
            seen = (rows, 5 if before else 3)
            marked = s.x(seen, 0, outer, inner, dtype=np.int32, low=1, high=2) if mask else ""
            shown = s.const(np.ones(seen), np.int32) if mask is False else marked
            past = [s.x((2, rows, 2, 2, 4), 1, outer, inner)] if before else []
            given = [x, weights, s.floats(24), scale, scale, shown, zero, zero, *past]
            made = _op(s, op, *given, num_heads=2, outputs=1 + before)
            yield s.out(*made) if before else s.out(made)
    s = _sketch(op, free=False)
    x = s.x((1, 3, 8), 2, 1, 8, dtype=BYTE, low=0, high=9)
    weights, (scale, zero) = s.const(np.zeros((8, 24)), BYTE), _pair(s)
    yield s.out(_op(s, op, x, weights, s.floats(24), scale, scale, "", zero, zero, num_heads=2))


def matrices() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in (*PLACES, ((2, 1, 3, 3), 1, 1, 1, 1), ((6, 2, 2), 0, 2, 3, 1)):
        if len(dims) < 2:
            continue
        for op, upper in (("Trilu", 0), ("Trilu", 1)):
            s = _sketch(op, size, free=axis < len(dims) - 2)
            yield s.out(_op(s, op, s.x(dims, axis, outer, inner), upper=upper))
    for front, (axis, outer, inner, size) in product(
        ((), (2,), (2, 3)), ((0, 1, 1, 1), (0, 2, 3, 1), (0, 1, 1, 2), (1, 1, 2, 1), (2, 1, 2, 1))
    ):
        if axis > len(front):
            continue
        square = [*front, 2, 2]
        if axis < len(front):
            square[axis] = outer * inner * size
        s = _sketch("Inverse", size, free=axis < len(front))
        around = (outer, inner) if axis < len(front) else (1, 2 // size)
        eye = s.const(np.eye(2) * 9, np.float32)
        yield s.out(_op(s, "Inverse", s.op("Add", s.x(square, axis, *around, low=0, high=1), eye)))
    for outer, inner, size in BATCHES:
        rows = outer * inner * size
        for image, grid, mode in product((True, False), (True, False), ("bilinear", "nearest")):
            if image or grid:
                s = _sketch("GridSample", size, free=(image and grid) or size == 1)
                x = s.x((rows, 2, 3, 3), 0, outer, inner) if image else s.floats(rows, 2, 3, 3)
                where = (
                    s.x((rows, 2, 2, 2), 0, outer, inner, low=-1, high=1)
                    if grid
                    else s.const(np.full((rows, 2, 2, 2), 0.3), np.float32)
                )
                yield s.out(_op(s, "GridSample", x, where, mode=mode))


def pools() -> Iterator[Sketch]:
    for last, axis, (outer, inner, size), strides in product(
        (0, 1), (0, 1, 2, 3), ((1, 1, 1), (2, 3, 1), (1, 1, 2)), ([1, 1], [2, 1])
    ):
        dims = [2, 4, 4, 4]
        dims[axis] = outer * inner * size
        space = axis in ((1, 2) if last else (2, 3))
        asked = {"kernel_shape": [1 if space and axis == (1 if last else 2) else 2, 1 if space else 2]}
        for op in ("QLinearAveragePool", "NhwcMaxPool"):
            if op == "NhwcMaxPool" and not last:
                continue
            s = _sketch(op, size, free=not space)
            x = s.x(dims, axis, outer, inner, dtype=BYTE, low=0, high=99)
            if op == "NhwcMaxPool":
                yield s.out(_op(s, op, x, strides=strides, **asked))
            else:
                yield s.out(_op(s, op, x, *_pair(s), *_pair(s), strides=strides, channels_last=last, **asked))


def products() -> Iterator[Sketch]:
    op = "QGemm"
    for turned, bias, floats, (outer, inner, size) in product(
        ((0, 0), (1, 0), (0, 1), (1, 1)), (False, True), (False, True), ((1, 1, 1), (2, 3, 1), (1, 1, 2))
    ):
        s = _sketch(op, size)
        rows = outer * inner * size
        dims, axis = ((3, rows), 1) if turned[0] else ((rows, 3), 0)
        x = s.x(dims, axis, outer, inner, dtype=BYTE, low=0, high=9)
        table = np.arange(12).reshape((4, 3) if turned[1] else (3, 4))
        more = [s.const([1, 2, 3, 4], np.int32)] if bias else [""]
        end = [] if floats else _pair(s)
        given = [x, *_pair(s), s.const(table, BYTE), *_pair(s), *more, *end]
        yield s.out(_op(s, op, *given, transA=turned[0], transB=turned[1]))
    s = _sketch(op, free=False)
    x = s.x((2, 3), 1, 1, 3, dtype=BYTE, low=0, high=9)
    yield s.out(_op(s, op, x, *_pair(s), s.const(np.ones((3, 4)), BYTE), *_pair(s)))


def tables() -> Iterator[Sketch]:
    op = "GatherBlockQuantized"
    for bits, (dims, axis, outer, inner, size) in product((4, 8), PLACES):
        if len(dims) > 3:
            continue
        s = _sketch(op, size)
        table = s.const(np.arange(5 * 16).reshape(5, 16), BYTE)
        scales = s.floats(5, 16 * 8 // bits // 16)
        which = s.x(dims, axis, outer, inner, dtype=np.int64, low=0, high=5)
        yield s.out(_op(s, op, table, which, scales, bits=bits, block_size=16, gather_axis=0, quantize_axis=1))
