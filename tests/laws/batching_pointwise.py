"""Cases for the operators that treat each element, or each line along an axis, by itself."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, product
from typing import Any

import numpy as np

from tests.laws.batching_sketch import BOOL, FLOAT, INT, Sketch, opsets

UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Cast Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish "
    "Identity LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign "
    "Sqrt Swish Tan Tanh ThresholdedRelu IsInf IsNaN Not BitwiseNot Clip CastLike"
).split()
BINARY = (
    "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min "
    "Mod Mul Or PRelu Pow Sub Sum Xor"
).split()
TYPES = {
    **dict.fromkeys("And Or Xor Not".split(), BOOL),
    **dict.fromkeys("BitwiseAnd BitwiseOr BitwiseXor BitwiseNot Mod".split(), INT),
    "BitShift": np.dtype(np.uint8),
}
LEAST = {
    "Equal": 11,
    "Greater": 9,
    "Less": 9,
    "Max": 8,
    "Min": 8,
    "Mean": 8,
    "Sum": 8,
    "Clip": 11,
    "Round": 11,
    "IsInf": 10,
}
ATTRIBUTES: dict[str, dict[str, Any]] = {"Cast": {"to": 11}, "BitShift": {"direction": "LEFT"}}
REFERENCE = {"Swish"}

Place = tuple[tuple[int, ...], int, int, int, int]
"""Dims, the axis that carries the samples, what is outside and inside them there, and how many samples there are."""
PLACES: list[Place] = [
    ((1,), 0, 1, 1, 1),
    ((6,), 0, 2, 3, 1),
    ((1, 3), 0, 1, 1, 1),
    ((3, 1), 1, 1, 1, 1),
    ((2, 4), 1, 1, 4, 1),
    ((2, 3, 1), 2, 1, 1, 1),
    ((6, 2, 3), 0, 3, 2, 1),
    ((2, 2, 3), 1, 2, 1, 1),
    ((3, 2, 1, 4), 2, 1, 1, 1),
    ((1, 2, 1, 2, 3), 0, 1, 1, 1),
    ((2, 1, 3, 2, 4), 4, 1, 4, 1),
    ((2, 3), 0, 1, 1, 2),
    ((2, 12), 1, 2, 2, 3),
]


def unary() -> Iterator[Sketch]:
    for op in UNARY:
        turn = cycle(opsets(op, LEAST.get(op, 7)))
        kind, low = TYPES.get(op, FLOAT), 1 if op in {"Log", "Sqrt", "Acosh"} else -4
        for dims, axis, outer, inner, size in PLACES:
            s = Sketch(op, next(turn), size, reference=op in REFERENCE)
            x = s.x(dims, axis, outer, inner, dtype=kind, low=low, high=2 if op == "Atanh" else 5)
            extra = []
            if op == "Clip":
                extra = [s.const(-1, np.float32), s.const_node(2, np.float32)]
            elif op == "CastLike":
                extra = [s.const(np.ones((7, 5)), np.float64)]
            yield s.out(s.op(op, x, *extra, **ATTRIBUTES.get(op, {})))


# x, then the other operand: its dims, and where it carries the samples (None: it does not).
PAIRS: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
    (((1, 3), 0), ((3,), None)),
    (((1, 3), 0), ((1, 3), None)),
    (((1, 3), 0), ((), None)),
    (((1, 3), 0), ((2, 1, 3), None)),
    (((1, 3), 0), ((2, 1, 1), None)),
    (((3, 1), 1), ((3, 1), None)),
    (((3, 1), 1), ((4,), None)),
    (((1, 2), 0), ((4, 2), None)),
    (((2, 1, 3), 1), ((2, 5, 1), None)),
    (((4, 3), 0, 1, 4), ((4, 1), None)),
    (((6, 2), 0, 2, 3), ((6, 2), None)),
    (((2, 6), 1, 3, 2), ((6,), None)),
    (((2, 6), 1, 3, 2), ((5, 1, 1), None)),
    (((1, 3), 0), ((1, 3), 0)),
    (((2, 1, 3), 1), ((1, 3), 0)),
    (((2, 6), 1, 2, 3), ((6,), 0, 2, 3)),
    (((2, 1, 3, 1, 2), 1), ((2, 1, 1, 2, 2), None)),
]
MIXED: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
    (((1, 3), 0), ((3, 1), 1)),
    (((6, 3), 0, 2, 3), ((6, 3), 0, 3, 2)),
    (((1, 3), 0), ((1, 1, 3), 0)),
    (((4, 3), 0, 1, 4), ((4, 3), 0, 4, 1)),
]


def binary() -> Iterator[Sketch]:
    for op in BINARY:
        kind, turn = TYPES.get(op, FLOAT), cycle(opsets(op, LEAST.get(op, 7)))
        for number, (first, second) in enumerate(PAIRS + MIXED):
            if op == "PRelu" and np.broadcast_shapes(first[0], second[0]) != first[0]:
                continue  # its slope must fit data
            s = Sketch(op, next(turn), free=number < len(PAIRS))
            x = s.x(*first, dtype=kind, low=1, high=6)
            other = s.x(*second, dtype=kind, low=1, high=6) if second[1] is not None else numbers(s, second[0], kind)
            yield s.out(_between(s, x, other, swapped=bool(number % 2)))
        for dims, array in SEVERAL:
            for swapped in (False, True):
                s = Sketch(op, next(turn), 2, free=array.ndim == 0 or bool((array[:1] == array).all()))
                x = s.x(dims, 0, 1, dims[0] // 2, dtype=kind, low=1, high=6)
                yield s.out(_between(s, x, s.const(array, kind), swapped=swapped))
        s = Sketch(op, next(turn), 3)
        yield s.out(_between(s, *(s.x((2, 3), 1, dtype=kind, low=1, high=6) for _ in range(2))))
        s = Sketch(op, next(turn))
        x = s.x((2, 1), 1, dtype=kind, low=1)
        yield s.out(_between(s, x, x))


# Models of two samples: the dims of x, with the samples outermost, and a constant that repeats rows for them or not.
SEVERAL = [
    ((2, 3), np.array([[1, 2, 3]])),
    ((2, 3), np.array([[1, 2, 3], [1, 2, 3]])),
    ((2, 3), np.array([[1, 2, 3], [1, 2, 4]])),
    ((2, 3), np.array([[2], [2]])),
    ((8, 3), np.array([[2], [1], [3], [2], [2], [1], [3], [2]])),
    ((2, 3), np.array(2)),
]


def numbers(s: Sketch, dims: tuple[int, ...], kind: Any) -> str:
    """A constant, as an initializer or as a node."""
    array = np.array(np.arange(int(np.prod(dims))) * 7 % 5 + 1).reshape(dims)
    return s.const(array, kind) if s.opset % 2 else s.const_node(array, kind)


def _between(s: Sketch, x: str, other: str, *, swapped: bool = False) -> str:
    pair = (other, x) if swapped and s.about != "PRelu" else (x, other)
    return str(s.op(s.about, *pair, **ATTRIBUTES.get(s.about, {})))


def more_operands() -> Iterator[Sketch]:
    """Three operands: Where, and those that take any number."""
    for op in ("Where", "Sum", "Max", "Min", "Mean"):
        turn = cycle(opsets(op, LEAST.get(op, 9)))
        for place in range(3):
            for dims, axis, outer, inner, other in (
                ((1, 3), 0, 1, 1, (2, 1, 1)),
                ((3, 1), 1, 1, 1, (3, 1)),
                ((3, 1), 1, 1, 1, (4,)),
                ((2, 6), 1, 2, 3, (6,)),
                ((1, 2, 2), 0, 1, 1, (2, 2)),
            ):
                s = Sketch(op, next(turn))
                kinds = [BOOL if op == "Where" and each == 0 else FLOAT for each in range(3)]
                first, second = (
                    s.x(dims, axis, outer, inner, dtype=kinds[place]),
                    s.x(dims, axis, outer, inner, dtype=kinds[(place + 1) % 3]),
                )
                third = s.const(np.arange(int(np.prod(other))).reshape(other) % 2, kinds[(place + 2) % 3])
                operands = [first, second, third]
                turned = [operands[(each - place) % 3] for each in range(3)]
                yield s.out(s.op(op, *turned))


LINES: list[tuple[tuple[int, ...], int, int, int]] = [
    ((1, 3, 4), 0, 1, 1),
    ((3, 1, 4), 1, 1, 1),
    ((2, 3, 6), 1, 1, 3),
    ((2, 6), 1, 3, 2),
]


def along_axes() -> Iterator[Sketch]:
    """Softmax and others that work along axes and keep the dims."""
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for opset in (7, 11, 12, 13, 17, 22):
            for dims, axis, outer, inner in LINES:
                for given in (None, -1, 1, 0):
                    default = -1 if opset >= 13 else 1
                    along = (default if given is None else given) % len(dims)
                    s = Sketch(op, opset, free=along > axis or (opset >= 13 and along != axis))
                    yield s.out(s.op(op, s.x(dims, axis, outer, inner), axis=given))
    for dims, axis, outer, inner, size in PLACES:
        rank = len(dims)
        for along in range(-1, rank - 1):
            for reverse in (0, 1):
                s = Sketch("CumSum", (11, 14, 17)[along % 3], size, free=along % rank != axis)
                made = (s.const(along, np.int64), s.const_node(along, np.int32))[reverse]
                yield s.out(s.op("CumSum", s.x(dims, axis, outer, inner), made, reverse=reverse, exclusive=1 - reverse))
            s = Sketch("LpNormalization", (7, 17, 22)[along % 3], size, free=along % rank != axis)
            yield s.out(s.op("LpNormalization", s.x(dims, axis, outer, inner), axis=along, p=1 + along % 2))
        for upper in (0, 1) if rank >= 2 else ():
            s = Sketch("Trilu", (14, 17)[rank % 2], size, free=axis < rank - 2)
            x = s.x(dims, axis, outer, inner)
            yield s.out(s.op("Trilu", x, *([s.const(-1 + rank % 2, np.int64)] if axis % 2 else []), upper=upper))
        s = Sketch("MeanVarianceNormalization", (9, 13)[rank % 2], size, free=axis != rank - 1)
        yield s.out(s.op("MeanVarianceNormalization", s.x(dims, axis, outer, inner), axes=[rank - 1]))


def normalizations() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in PLACES:
        rank = len(dims)
        for start in range(-rank, 0):
            s = Sketch("LayerNormalization", 17, size, free=axis < start + rank)
            x, scale = s.x(dims, axis, outer, inner), s.floats(*dims[start:])
            yield s.out(*s.op("LayerNormalization", x, scale, s.floats(*dims[start:], low=-1), axis=start, outputs=3))
            s = Sketch("RMSNormalization", 23, size, free=axis < start + rank)
            yield s.out(s.op("RMSNormalization", s.x(dims, axis, outer, inner), s.floats(*dims[start:]), axis=start))
        for whole in (False, True) if rank > 1 and size == 1 else ():
            s = Sketch("LayerNormalization", 17, size, free=axis < rank - 1)
            x = s.x(dims, axis, outer, inner)
            scale = s.floats(*dims) if whole else s.floats(*([1] * (rank - 1)), dims[-1])
            yield s.out(s.op("LayerNormalization", x, scale))
            s = Sketch("SimplifiedLayerNormalization", 17, size, free=axis < rank - 1)
            yield s.out(
                s.op("SimplifiedLayerNormalization", s.x(dims, axis, outer, inner), s.floats(dims[-1]), axis=-1)
            )
    for dims, axis, outer, inner, size in IMAGES:
        channels = dims[1]
        for opset in (7, 9, 15, 17):
            s = Sketch("BatchNormalization", opset, size, free=size == 1 or axis != 1)
            four = [s.floats(channels, low=low) for low in (1, 0, -1, 2)]
            yield s.out(s.op("BatchNormalization", s.x(dims, axis, outer, inner), *four, epsilon=0.01))
        s = Sketch("InstanceNormalization", 17, size, free=axis == 0 or (axis == 1 and size == 1))
        yield s.out(
            s.op("InstanceNormalization", s.x(dims, axis, outer, inner), s.floats(channels), s.floats(channels, low=1))
        )
        if len(dims) == 4:
            for width in (1, 3):
                s = Sketch("LRN", (7, 13)[axis % 2], size, free=axis != 1)
                yield s.out(s.op("LRN", s.x(dims, axis, outer, inner), size=width))
        for opset in (18, 21):
            s = Sketch("GroupNormalization", opset, size, free=axis == 0)
            count = channels if opset == 21 else 1
            yield s.out(
                s.op(
                    "GroupNormalization", s.x(dims, axis, outer, inner), s.floats(count), s.floats(count), num_groups=1
                )
            )
    s = Sketch("BatchNormalization", 7)
    four = [s.floats(2, 3, low=low) for low in (1, 0, -1, 2)]
    yield s.out(s.op("BatchNormalization", s.x((1, 2, 3), 0), *four, spatial=0))
    s = Sketch("BatchNormalization", 7, free=False)
    four = [s.floats(2, 1, low=low) for low in (1, 0, -1, 2)]
    yield s.out(s.op("BatchNormalization", s.x((3, 2, 1), 2), *four, spatial=0))
    for training in (0, 1):
        s = Sketch("BatchNormalization", 15, free=not training)
        x, four = s.x((1, 2, 3)), [s.floats(2, low=low) for low in (1, 0, -1, 2)]
        made = s.op("BatchNormalization", x, *four, training_mode=training, outputs=3 if training else 1)
        yield s.out(*made) if training else s.out(made)


IMAGES: list[Place] = [
    ((1, 2, 3, 4), 0, 1, 1, 1),
    ((3, 2, 4, 4), 0, 1, 3, 1),
    ((6, 1, 3, 5), 0, 2, 3, 1),
    ((2, 1, 4, 4), 1, 1, 1, 1),
    ((1, 4, 3, 4), 1, 1, 4, 1),
    ((2, 2, 1, 4), 2, 1, 1, 1),
    ((1, 2, 4, 3), 3, 1, 3, 1),
    ((2, 2, 3, 4), 0, 1, 1, 2),
    ((3, 2, 4, 4), 0, 1, 1, 3),
    ((2, 2, 3), 0, 2, 1, 1),
    ((1, 2, 2, 3, 4), 0, 1, 1, 1),
    ((1, 2, 2, 3, 4), 0, 1, 1, 1),
]


def others() -> Iterator[Sketch]:
    """Quantization, Dropout, OneHot, random numbers."""
    byte = np.dtype(np.uint8)
    for dims, axis, outer, inner, size in PLACES:
        rank = len(dims)
        for op, kind in (("QuantizeLinear", FLOAT), ("DequantizeLinear", byte)):
            s = Sketch(op, (10, 13, 19)[rank % 3], size)
            x = s.x(dims, axis, outer, inner, dtype=kind, low=0)
            yield s.out(s.op(op, x, s.const(0.5, np.float32), s.const(3, byte)))
            for along in range(-1, rank - 1):
                s = Sketch(
                    op, (13, 19)[rank % 2], size, free=along % rank != axis or (inner == outer == 1 and size == 1)
                )
                x, count = s.x(dims, axis, outer, inner, dtype=kind, low=0), dims[along]
                yield s.out(s.op(op, x, s.floats(count), s.const(np.arange(count), byte), axis=along))
        s = Sketch("Dropout", (7, 12, 13)[rank % 3], size)
        made = s.op("Dropout", s.x(dims, axis, outer, inner), outputs=1 + rank % 2)
        yield s.out(made) if rank % 2 == 0 else s.out(*made)
        for op in ("RandomNormalLike", "RandomUniformLike"):
            s = Sketch(op, (7, 17)[rank % 2], size, random=True)
            yield s.out(s.op(op, s.x(dims, axis, outer, inner)))
        for along in range(-rank - 1, rank + 1):
            s = Sketch("OneHot", (9, 11, 17)[along % 3], size)
            x = s.x(dims, axis, outer, inner, dtype=INT, low=-3, high=3)
            depth, values = s.const(3, np.int64), s.const([0.5, 2], np.float32)
            yield s.out(s.op("OneHot", x, depth, values, axis=along))


def scales() -> Iterator[Sketch]:
    """A scale for each block, or for each sample: the samples' own, or shared."""
    for size, op, axis, along, shared in product((1, 2), ("Quantize", "Dequantize"), (0, 1), (0, 1), (False, True)):
        if shared and size > 1:
            continue
        s = Sketch(f"{op}Linear", (21, 23)[axis], size)
        inner = 4 if axis == along else 1
        dims = [4, 6]
        dims[axis] = size * inner
        blocks = [dim // 2 if place == along else dim for place, dim in enumerate(dims)]
        x = s.x(dims, axis, 1, inner, dtype=np.float32 if op == "Quantize" else np.uint8, low=0)
        own = s.x(blocks, axis, 1, max(inner // 2, 1), low=1)
        scale = s.floats(*blocks) if shared else own if op == "Quantize" else s.op("Abs", own)
        yield s.out(s.op(f"{op}Linear", x, scale, axis=along, block_size=2), own)
    for size, op, axis, opset in product((1, 2), ("Quantize", "Dequantize"), (0, 1), (10, 13, 21)):
        s = Sketch(f"{op}Linear", opset, size, free=opset > 10 and (axis == 0 or size == 1))
        x = s.x((size, 3), dtype=np.float32 if op == "Quantize" else np.uint8, low=0)
        said = {} if opset == 10 or (axis and size == 1) else {"axis": axis}
        if size == 1 or axis == 0:
            yield s.out(s.op(f"{op}Linear", x, s.x((size,), low=1), **said))
    for op in ("Quantize", "Dequantize"):
        s = Sketch(f"{op}Linear", 21, 2, free=False)
        x = s.x((2, 2), dtype=np.float32 if op == "Quantize" else np.uint8, low=0)
        yield s.out(s.op(f"{op}Linear", x, s.x((2,), low=1), axis=1))
    for along, axis in ((1, 1), (0, 0)):
        s = Sketch("QuantizeLinear", 21, free=False)
        dims = [6, 6]
        dims[axis] = 1
        blocks = [-(-dim // 2) if place == along else dim for place, dim in enumerate(dims)]
        yield s.out(s.op("QuantizeLinear", s.x(dims, axis), s.floats(*blocks), axis=along, block_size=2))


def mixing() -> Iterator[Sketch]:
    """What takes one scale from all samples: never freed, wherever they are."""
    own: dict[str, Any] = {"domain": "com.microsoft"}
    for dims, axis, outer, inner, size in PLACES:
        rank = len(dims)
        s = Sketch("DynamicQuantizeLinear", (11, 13, 21)[rank % 3], size, free=False)
        quantised, scale, zero = s.op("DynamicQuantizeLinear", s.x(dims, axis, outer, inner), outputs=3)
        yield s.out(s.op("DequantizeLinear", quantised, scale, zero) if rank % 2 else quantised)
        for kind in (np.uint8, np.int8) if rank > 1 else ():
            s = Sketch("com.microsoft::DynamicQuantizeMatMul", (11, 13, 21)[rank % 3], size, free=False)
            weights = s.const(np.arange(dims[-1] * 2).reshape(-1, 2), kind)
            data = s.x(dims, axis, outer, inner)
            yield s.out(s.op("DynamicQuantizeMatMul", data, weights, s.const(0.5, np.float32), **own))
    for directions, steps, size in product((1, 2), (1, 3), (1, 2, 3)):
        s = Sketch("com.microsoft::DynamicQuantizeLSTM", 13, size, free=False)
        turned = [
            s.const(np.arange(directions * wide * 8).reshape(directions, wide, 8) % 7, np.int8) for wide in (3, 2)
        ]
        parts = [s.const([0.5] * directions, np.float32), s.const([0] * directions, np.int8)] * 2
        direction = ("forward", "bidirectional")[directions - 1]
        data = s.x((steps, size, 3), 1)
        yield s.out(
            s.op("DynamicQuantizeLSTM", data, *turned, *[""] * 5, *parts, hidden_size=2, direction=direction, **own)
        )


def pointwise() -> Iterator[Sketch]:
    for family in (unary, binary, more_operands, along_axes, normalizations, others, scales, mixing):
        yield from family()
