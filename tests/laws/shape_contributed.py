"""The small world of shapes: onnxruntime's own operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np

from tests.laws.shape_cases import FULL, PAIRS, each
from tests.laws.shape_law import Case, const, run, x


def contributed() -> Iterator[Case]:
    """Of onnxruntime's own operators those that its optimised and quantised models are full of."""
    own: dict[str, Any] = {"domain": "com.microsoft"}
    left: tuple[int | str, ...]
    right: tuple[int | str, ...]
    scale, zero = const(0.5, "f"), const(1, "B")
    for op in ("Gelu", "QuickGelu", "FastGelu"):
        yield from each(op, x("N", "S", 4), **own)
    for op in ("FastGelu", "BiasGelu"):
        yield from each(op, x("N", "S", 4), x(4), **own)
    for a, b in ((0, 0), (1, 0), (0, 1), (1, 1)):
        left, right = ("N", 3, "S") if a else ("N", "S", 3), ("N", "T", 3) if b else ("N", 3, "T")
        yield from each("FusedMatMul", x(*left), x(*right), transA=a, transB=b, **own)
    for op in ("QLinearAdd", "QLinearMul"):
        for left, right in PAIRS[:8]:
            yield from each(op, x(*left, kind="B"), scale, zero, x(*right, kind="B"), scale, zero, scale, zero, **own)
    yield from each("QLinearSigmoid", x("N", 3, kind="B"), scale, zero, scale, zero, **own)
    yield from each("QLinearLeakyRelu", x("N", 3, kind="B"), scale, zero, scale, zero, alpha=0.1, **own)
    yield from each(
        "QLinearSoftmax", x("N", 3, kind="B"), scale, zero, scale, zero, axis=1, opset=13, sizes=FULL, **own
    )
    for axis in (0, 1):
        yield from each(
            "QLinearConcat",
            scale,
            zero,
            x("N", 3, kind="B"),
            scale,
            zero,
            x("N", 3, kind="B"),
            scale,
            zero,
            axis=axis,
            **own,
        )
    four = const([1.0, 2.0, 3.0, 4.0], "f")
    yield from each(
        "SkipLayerNormalization", x("N", "S", 4), x("N", "S", 4), four, four, sizes={"N": (1, 2), "S": (1, 3)}, **own
    )
    yield from each(
        "SkipSimplifiedLayerNormalization",
        x("N", "S", 4),
        x("N", "S", 4),
        four,
        sizes={"N": (1, 2), "S": (1, 3)},
        **own,
    )
    yield from each(
        "MultiHeadAttention",
        x("N", "S", 4),
        x("N", "T", 4),
        x("N", "T", 4),
        num_heads=2,
        sizes={"N": (1, 2), "S": (1, 3), "T": (1, 2)},
        **own,
    )
    yield from each("Attention", x("N", "S", 4), x(4, 12), x(12), num_heads=2, sizes={"N": (1, 2), "S": (1, 3)}, **own)
    for a, b in ((0, 0), (1, 0), (0, 1)):
        left, right = (3, "N") if a else ("N", 3), (4, 3) if b else (3, 4)
        yield from each("FusedGemm", x(*left), x(*right), transA=a, transB=b, activation="Relu", sizes=FULL, **own)
    image = x("N", 2, "H", 5)
    room = {"N": (1, 2), "H": (3, 4, 5)}
    for more in ({}, {"strides": [2, 1]}, {"pads": [1, 0, 1, 2]}, {"dilations": [2, 2]}, {"auto_pad": "SAME_UPPER"}):
        yield from each("FusedConv", image, x(3, 2, 2, 2), activation="Relu", sizes=room, **more, **own)
    yield from each("FusedConv", x("N", 2, "H", 5), x(4, 1, 2, 2), group=2, activation="Relu", sizes=room, **own)
    for last in (0, 1):
        image = x("N", 3, "H", 4, kind="B")
        pair = [scale, zero, scale, zero]
        yield from each("QLinearGlobalAveragePool", image, *pair, channels_last=last, sizes=room, **own)
    yield from each("QuantizeLinear", x("N", 3), scale, zero, **own)
    yield from each("DequantizeLinear", x("N", 3, kind="B"), scale, zero, **own)
    yield from each("DynamicQuantizeMatMul", x("N", 3), x(3, 2, kind="B"), scale, sizes=FULL, **own)
    for left in (("N", 3), ("N", "S", 3)):
        yield from each("DynamicQuantizeMatMul", x(*left), const([[1] * 4] * 3, "B"), const(0.5, "f"), **own)
    turned = [const([[[1] * 8] * size], "b") for size in (3, 2)]
    scales = [const([0.5], "f"), const([0], "b")]
    parts = [*turned, *[None] * 5, *scales, *scales]
    some = {"T": (1, 3), "N": (1, 2)}  # without steps, onnxruntime ends its process
    yield from each("DynamicQuantizeLSTM", x("T", "N", 3), *parts, hidden_size=2, outputs=3, sizes=some, **own)
    yield from each(
        "MatMulIntegerToFloat",
        x("N", "S", 3, kind="B"),
        x(3, 2, kind="B"),
        scale,
        scale,
        sizes=room | {"S": (1, 3)},
        **own,
    )
    bits = {"K": 16, "N": 3, "bits": 4, "block_size": 16}
    packed = const([[[place * 7 + row for place in range(8)]] for row in range(3)], "B")
    for dims in (("M", 16), ("M", "S", 16)):
        yield from each("MatMulNBits", x(*dims), packed, x(3), sizes={"M": (1, 2, 3), "S": (1, 2)}, **bits, **own)


def attending() -> Iterator[Case]:
    """Attentions, and what goes before them."""
    own: dict[str, Any] = {"domain": "com.microsoft"}
    room = {"N": (1, 2), "S": (1, 3), "T": (1, 2)}
    four = [x("N", 2, "S", 4), x("N", 2, "T", 4), x("N", 2, "T", 6)]
    yield from each("Attention", *four, sizes=room)
    three = [x("N", "S", 8), x("N", "T", 8), x("N", "T", 12)]
    yield from each("Attention", *three, q_num_heads=2, kv_num_heads=2, sizes=room)
    few = [x("N", "S", 8), x("N", "T", 4), x("N", "T", 6)]
    yield from each("Attention", *few, q_num_heads=4, kv_num_heads=2, sizes=room)
    tables = [x(4, 2), x(4, 2)]
    for dims, more in (("N", 2, 3, 4), {}), (("N", 3, 8), {"num_heads": 2}):
        yield from each("RotaryEmbedding", x(*dims), const([1]), *tables, sizes=room, **more, **own)
    tables = [x(4, 6), x(3, 6), x(4, 6), x(6), x(6)]
    for rows in ([[0, 1, 2]], [[0, 1, 2], [2, 3, 0]]):
        ids, mask = run(rows, kind="i"), const(np.ones((len(rows), 3)), "i")
        yield from each("EmbedLayerNormalization", ids, ids, *tables, mask, outputs=2, **own)
    yield from shipped(own, room)


def shipped(own: dict[str, Any], room: Mapping[str, tuple[int, ...]]) -> Iterator[Case]:
    """What onnxruntime writes into the models that it ships: decoders, and quantised images."""
    heads: dict[str, Any] = {"num_heads": 2, "kv_num_heads": 1, "outputs": 3}
    for rows in (1, 2):
        lengths, total = const([2] * rows, "i"), const(3, "i")
        yield from each(
            "GroupQueryAttention",
            x(rows, 3, 16),
            x(rows, 3, 8),
            x(rows, 3, 8),
            None,
            None,
            lengths,
            total,
            **heads,
            **own,
        )
        yield from each("GroupQueryAttention", x(rows, 3, 32), None, None, None, None, lengths, total, **heads, **own)
    scale, zero = const(0.5, "f"), const(1, "B")
    weights = [x(4, 12, kind="B"), x(12), scale, scale, None, zero, zero]
    yield from each("QAttention", x("N", "S", 4, kind="B"), *weights, num_heads=2, sizes=room, **own)
    yield from each("Inverse", x("N", 2, 2), sizes=room, **own)
    yield from each("Trilu", x("N", "S", 3), sizes=room, **own)
    yield from each("GridSample", x("N", 2, 3, 3), x("N", "S", 2, 2), sizes=room, **own)
    space = {"N": (1, 2), "H": (3, 4, 5)}
    for more in ({}, {"strides": [2, 1]}, {"pads": [1, 0, 1, 1]}, {"auto_pad": "SAME_UPPER", "strides": [2, 2]}):
        asked: dict[str, Any] = {"kernel_shape": [2, 2], "sizes": space, **more, **own}
        yield from each("NhwcMaxPool", x("N", "H", 4, 3, kind="B"), **asked)
        pair = [scale, zero, scale, zero]
        yield from each("QLinearAveragePool", x("N", 3, "H", 4, kind="B"), *pair, **asked)
        yield from each("QLinearAveragePool", x("N", "H", 4, 3, kind="B"), *pair, channels_last=1, **asked)
    for dilations in ([1, 1], [2, 1]):
        wide = x("N", "H", 4, 3, kind="B")
        yield from each("NhwcMaxPool", wide, kernel_shape=[2, 2], dilations=dilations, sizes=space, **own)
    for a, b, end in product((0, 1), (0, 1), ([], [None, scale, zero])):
        left, right = (3, "N") if a else ("N", 3), (4, 3) if b else (3, 4)
        given = [x(*left, kind="B"), scale, zero, x(*right, kind="B"), scale, zero, *end]
        yield from each("QGemm", *given, transA=a, transB=b, sizes=FULL, **own)
    for bits, places in product((4, 8), ([1, 2], [[0, 1, 2]], 3)):
        table, blocks = const(np.arange(80).reshape(5, 16), "B"), x(5, 8 // bits)
        asked = {"bits": bits, "block_size": 16, **own}
        yield from each("GatherBlockQuantized", table, const(places), blocks, **asked)
