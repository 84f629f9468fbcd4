"""onnxruntime's own operators: fused ones, quantised ones, attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.hostile.contractions import weight
from tests.hostile.makers import makes
from tests.hostile.pointwise import together
from tests.hostile.sketch import Misfit, Sketch, Value

_DOMAIN = "com.microsoft"
_OWN: dict[str, Any] = {"domain": _DOMAIN}


def _names(ops: str) -> str:
    return " ".join(f"{_DOMAIN}::{op}" for op in ops.split())


def _own(op: str) -> str:
    return op.rpartition("::")[2]


def _floats(g: Sketch, low: int = 0, high: int = 4) -> Value:
    value = g.pick("f", low, high)
    if value.array.dtype != np.float32:
        raise Misfit
    return value


def _bytes(g: Sketch, low: int = 0, high: int = 4) -> Value:
    value = g.pick("u", low, high)
    if value.array.dtype != np.uint8:
        raise Misfit
    return value


def _scales(g: Sketch, count: int = 1) -> list[str]:
    return [g.const(value, kind) for _ in range(count) for value, kind in ((0.5, np.float32), (3, np.uint8))]


@makes(_names("Gelu QuickGelu FastGelu BiasGelu"), since=9, weight=0.3)
def activated(g: Sketch, op: str) -> None:
    value = _floats(g, 1)
    bias = [weight(g, value.dims[-1])] if "Bias" in op or ("Fast" in op and g.dice.chance(0.5)) else []
    g.keep(g.op(_own(op), value, *bias, batch=value.batch, **_OWN))


@makes(_names("FusedMatMul FusedGemm"), since=9, weight=0.4)
def multiplied(g: Sketch, op: str) -> None:
    value = _floats(g, 2, 2 if "Gemm" in op else 4)
    turned = g.dice.chance(0.4)
    inner = value.dims[-2 if turned else -1]
    last = {None: None, value.rank - 2: value.rank - 1, value.rank - 1: value.rank - 2}
    batch = last.get(value.batch, value.batch) if turned else value.batch
    flags = {"transA": int(turned), "transB": int(g.dice.chance(0.3))}
    other = weight(g, 2, inner) if flags["transB"] else weight(g, inner, 2)
    more = {"activation": "Relu"} if "Gemm" in op else {}
    g.keep(g.op(_own(op), value, other, batch=None if batch == value.rank - 1 else batch, **flags, **more, **_OWN))


@makes(_names("FusedConv"), since=11, weight=0.5)
def convolved(g: Sketch, op: str) -> None:
    value = _floats(g, 4, 4)
    height, width = (min(2, dim) for dim in value.dims[2:])
    if not height or not width:
        raise Misfit
    made = g.op(
        _own(op),
        value,
        weight(g, 2, value.dims[1], height, width),
        kernel_shape=[height, width],
        activation="Relu",
        **_OWN,
    )
    g.keep(made._replace(batch=0 if value.batch == 0 else None))


@makes(_names("SkipLayerNormalization SkipSimplifiedLayerNormalization"), since=11, weight=0.4)
def skipped(g: Sketch, op: str) -> None:
    value = _floats(g, 2, 3)
    skip = value if g.dice.chance(0.3) else weight(g, *value.dims)
    batch = value.batch if value.batch is not None and value.batch < value.rank - 1 else None
    g.keep(g.op(_own(op), value, skip, weight(g, value.dims[-1]), batch=batch, **_OWN))


@makes(_names("MultiHeadAttention"), since=11, weight=0.6)
def attended(g: Sketch, op: str) -> None:
    value = _floats(g, 3, 3)
    if not value.array.size:
        raise Misfit
    other = value if g.dice.chance(0.6) else weight(g, value.dims[0], 2, value.dims[2])
    heads = 2 if value.dims[2] % 2 == 0 else 1
    g.keep(g.op(_own(op), value, other, other, num_heads=heads, batch=0 if value.batch == 0 else None, **_OWN))


@makes(_names("MatMulNBits"), since=11, weight=0.4)
def packed(g: Sketch, op: str) -> None:
    value = _floats(g, 2, 3)
    value = g.op("MatMul", value, weight(g, value.dims[-1], 16), batch=value.batch)
    table = g.const(np.arange(24).reshape(3, 1, 8) * 37 % 251, np.uint8)
    batch = value.batch if value.batch is not None and value.batch < value.rank - 1 else None
    scales = g.const([0.25, 0.5, 0.125], np.float32)
    g.keep(g.op(_own(op), value, table, scales, K=16, N=3, bits=4, block_size=16, batch=batch, **_OWN))


@makes(_names("QLinearAdd QLinearMul"), since=11, weight=0.3)
def met(g: Sketch, op: str) -> None:
    value = _bytes(g, 1)
    fit = [each for each in g.values if each.array.dtype == np.uint8 and each.dims == value.dims]
    other = g.dice.pick(fit) if g.dice.chance(0.5) else weight(g, value.dims[-1], dtype=np.uint8)
    given: list[str | Value] = [value, *_scales(g), other, *_scales(g), *_scales(g)]
    g.keep(g.op(_own(op), *given, batch=together(value, other), **_OWN))


@makes(_names("QLinearSigmoid QLinearLeakyRelu QLinearSoftmax"), since=11, weight=0.3)
def each(g: Sketch, op: str) -> None:
    value = _bytes(g, 1)
    more = {"axis": g.axis(value), "opset": 13} if "Softmax" in op else {}
    g.keep(g.op(_own(op), value, *_scales(g, 2), batch=value.batch, **more, **_OWN))


@makes(_names("QLinearConcat"), since=11, weight=0.4)
def joined(g: Sketch, op: str) -> None:
    value = _bytes(g, 1)
    other = weight(g, *value.dims, dtype=np.uint8)
    given: list[str | Value] = [*_scales(g), value, *_scales(g), other, *_scales(g)]
    g.keep(g.op(_own(op), *given, axis=g.axis(value), batch=value.batch, **_OWN))


@makes(_names("QLinearGlobalAveragePool"), since=11, weight=0.5)
def averaged(g: Sketch, op: str) -> None:
    value = _floats(g, 4, 4)
    if not value.array.size:
        raise Misfit
    there = g.op("QuantizeLinear", value, *_scales(g))
    g.keep(g.op(_own(op), there, *_scales(g, 2), batch=0 if value.batch == 0 else None, **_OWN))


@makes(_names("QuantizeLinear"), since=11, weight=0.4)
def quantised(g: Sketch, op: str) -> None:
    value = _floats(g, 1)
    g.keep(g.op(_own(op), value, *_scales(g), batch=value.batch, **_OWN))


@makes(_names("DequantizeLinear"), since=11, weight=0.4)
def restored(g: Sketch, op: str) -> None:
    value = _bytes(g, 1)
    g.keep(g.op(_own(op), value, *_scales(g), batch=value.batch, **_OWN))


@makes(_names("MatMulIntegerToFloat"), since=11, weight=0.4)
def scaled(g: Sketch, op: str) -> None:
    value = _bytes(g, 2)
    other = weight(g, value.dims[-1], 2, dtype=np.uint8)
    batch = value.batch if value.batch is not None and value.batch < value.rank - 1 else None
    g.keep(g.op(_own(op), value, other, *(g.const(0.5, np.float32) for _ in range(2)), batch=batch, **_OWN))


@makes(_names("DynamicQuantizeMatMul"), since=11, weight=0.9)
def found(g: Sketch, op: str) -> None:
    value = _floats(g, 2)
    other = Value(g.const(np.arange(value.dims[-1] * 2).reshape(-1, 2) % 9, np.uint8), np.zeros(()))
    g.keep(g.op(_own(op), value, other.name, g.const(0.5, np.float32), **_OWN))


@makes("Attention:23 RotaryEmbedding:23", weight=1.0)
def newest(g: Sketch, op: str) -> None:
    value = _floats(g, 4, 4)
    if not value.array.size or value.dims[3] % 2:
        raise Misfit
    batch = 0 if value.batch == 0 else None
    if op == "Attention":
        other = value if g.dice.chance(0.6) else weight(g, value.dims[0], *value.dims[1:])
        g.keep(g.op(op, value, other, other, batch=batch))
        return
    places = g.const(np.tile(np.arange(value.dims[2]), (value.dims[0], 1)))
    tables = [weight(g, value.dims[2] + 1, value.dims[3] // 2) for _ in range(2)]
    g.keep(g.op(op, value, *tables, places, batch=batch))


@makes(_names("Attention RotaryEmbedding"), since=11, weight=1.2)
def older(g: Sketch, op: str) -> None:
    value = _floats(g, 3, 3)
    if not value.array.size or value.dims[2] % 4:
        raise Misfit
    batch, width = 0 if value.batch == 0 else None, value.dims[2]
    if _own(op) == "Attention":
        weights = [weight(g, width, 3 * width), weight(g, 3 * width)]
        g.keep(g.op("Attention", value, *weights, num_heads=2, batch=batch, **_OWN))
        return
    tables = [weight(g, value.dims[1] + 1, width // 4) for _ in range(2)]
    g.keep(g.op("RotaryEmbedding", value, g.const([1], np.int64), *tables, num_heads=2, batch=batch, **_OWN))


@makes(_names("EmbedLayerNormalization"), since=11, weight=0.6)
def embedded(g: Sketch, op: str) -> None:
    ids = g.given(g.dice.rng.integers(0, 5, (g.size, 3)).astype(np.int32), 0, low=0, high=4)
    tables = [weight(g, *dims) for dims in ((5, 4), (3, 4))]
    scales = [weight(g, 4), weight(g, 4)]
    made = g.ops(_own(op), 2, ids, "", *tables, "", *scales, **_OWN)[0]
    g.keep(made._replace(batch=0))
