"""Operators that onnxruntime writes into the models that it ships: of decoders, of quantised images, of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.hostile.contractions import weight
from tests.hostile.makers import makes
from tests.hostile.sketch import Misfit, Sketch, Value
from tests.hostile.spatial import image

_DOMAIN = "com.microsoft"
_OWN: dict[str, Any] = {"domain": _DOMAIN}


def _names(ops: str) -> str:
    return " ".join(f"{_DOMAIN}::{op}" for op in ops.split())


def _own(op: str) -> str:
    return op.rpartition("::")[2]


def _floats(g: Sketch, low: int, high: int) -> Value:
    value = g.pick("f", low, high)
    if value.array.dtype != np.float32 or not value.array.size:
        raise Misfit
    return value


def _first(value: Value) -> int | None:
    return 0 if value.batch == 0 else None


def _scales(g: Sketch) -> list[str]:
    return [g.const(0.5, np.float32), g.const(3, np.uint8)]


@makes(_names("Inverse"), since=11, weight=0.6)
def inverse(g: Sketch, op: str) -> None:
    """Of what is none of those that have no inverse."""
    value = _floats(g, 2, 4)
    batch = value.batch if value.batch is not None and value.batch < value.rank - 2 else None
    order = [*range(value.rank - 2), value.rank - 1, value.rank - 2]
    square = g.op("MatMul", value, g.op("Transpose", value, perm=order))
    if np.abs(square.array).max() > 50:
        raise Misfit
    large = g.const(np.eye(value.dims[-2]) * 99, np.float32)
    g.keep(g.op(_own(op), g.op("Add", square, large), batch=batch, **_OWN))


@makes(_names("Trilu"), since=11, weight=0.4)
def triangle(g: Sketch, op: str) -> None:
    value = _floats(g, 2, 4)
    g.keep(g.op(_own(op), value, upper=g.dice.number(0, 1), batch=value.batch, **_OWN))


@makes(_names("GridSample"), since=11, weight=0.5)
def looked_at(g: Sketch, op: str) -> None:
    value = image(g, 4, 4)
    if value.rank != 4 or not value.array.size:
        raise Misfit
    where = weight(g, value.dims[0], 2, 2, 2)
    g.keep(g.op(_own(op), value, where, batch=_first(value), **_OWN))


@makes(_names("NhwcMaxPool QLinearAveragePool"), since=11, weight=0.6)
def pooled(g: Sketch, op: str) -> None:
    value = image(g, 4, 4)
    if value.rank != 4 or not value.array.size:
        raise Misfit
    last = "Nhwc" in op or g.dice.chance(0.5)
    there = g.op("QuantizeLinear", value, *_scales(g))
    # A window that is wider than what it slides over ends the whole process.
    windows: dict[str, Any] = {"kernel_shape": [2, 2], "pads": [0, 0, 1, 1], "batch": _first(value), **_OWN}
    if "Nhwc" in op:
        g.keep(g.op(_own(op), there, **windows))
    else:
        g.keep(g.op(_own(op), there, *_scales(g), *_scales(g), channels_last=int(last), **windows))


@makes(_names("QGemm"), since=11, weight=0.5)
def multiplied(g: Sketch, op: str) -> None:
    value = _floats(g, 2, 2)
    there = g.op("QuantizeLinear", value, *_scales(g))
    turned = g.dice.chance(0.3)
    inner = value.dims[0 if turned else 1]
    table = g.const(np.arange(inner * 2).reshape(inner, 2) % 9, np.uint8)
    batch = 0 if value.batch == int(turned) else None
    end = _scales(g) if g.dice.chance(0.5) else []
    given = [*_scales(g), table, *_scales(g), *(["", *end] if end else [])]
    g.keep(g.op(_own(op), there, *given, transA=int(turned), batch=batch, **_OWN))


@makes(_names("QAttention"), since=11, weight=0.6)
def attended(g: Sketch, op: str) -> None:
    value = _floats(g, 3, 3)
    there = g.op("QuantizeLinear", value, *_scales(g))
    scale, zero = _scales(g)
    table = g.const(np.arange(value.dims[2] * 12).reshape(-1, 12) % 7, np.uint8)
    given = [table, g.const(np.arange(12) / 8, np.float32), scale, scale, "", zero, zero]
    g.keep(g.op(_own(op), there, *given, num_heads=2, batch=_first(value), **_OWN))


@makes(_names("GroupQueryAttention"), since=11, weight=0.6)
def grouped(g: Sketch, op: str) -> None:
    value = _floats(g, 3, 3)
    rows, length, width = value.dims
    parts = [g.op("MatMul", value, weight(g, width, size), batch=value.batch) for size in (16, 8, 8)]
    lengths, total = g.const(np.full(rows, length - 1), np.int32), g.const(length, np.int32)
    made = g.ops(_own(op), 3, *parts, "", "", lengths, total, num_heads=2, kv_num_heads=1, **_OWN)
    g.keep(made[0]._replace(batch=_first(value)))


@makes(_names("GatherBlockQuantized"), since=11, weight=0.5)
def unpacked(g: Sketch, op: str) -> None:
    ids = g.given(g.dice.rng.integers(0, 5, (g.size, 3)), 0, low=0, high=4)
    table = g.const(np.arange(80).reshape(5, 16), np.uint8)
    scales = g.const(np.arange(1, 6).reshape(5, 1) / 4, np.float32)
    g.keep(g.op(_own(op), table, ids, scales, bits=8, block_size=16, batch=0, **_OWN))
