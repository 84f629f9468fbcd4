"""Operators on signals: transforms along an axis, and of frames; and those that ONNX tried and never took."""

from __future__ import annotations

import numpy as np

from tests.hostile.makers import makes
from tests.hostile.sizes import vector
from tests.hostile.sketch import Misfit, Sketch
from tests.hostile.spatial import image


@makes("DFT:17", weight=0.5)
def transform(g: Sketch, op: str) -> None:
    """Along an axis, that of the batch too, of real numbers; the parts are then an axis like others."""
    value = g.pick("f", 1)
    if value.array.dtype != np.float32 or 0 in value.dims:
        raise Misfit
    parts = g.op("Reshape", value, vector(g, [*value.dims, 1]), batch=value.batch)
    axis, onesided = g.axis(value), g.dice.number(0, 1)
    if g.opset < 20:
        g.keep(g.op(op, parts, batch=value.batch, axis=axis, onesided=onesided))
    else:
        place = g.const(g.signed(axis, value.rank + 1), np.int64)
        g.keep(g.op(op, parts, "", place, batch=value.batch, onesided=onesided))


@makes("STFT:17", weight=0.5)
def frames(g: Sketch, op: str) -> None:
    value = g.pick("f", 2, 2)
    if value.array.dtype != np.float32 or 0 in value.dims:
        raise Misfit
    parts = g.op("Reshape", value, vector(g, [*value.dims, 1]), batch=value.batch)
    frame = g.dice.number(1, value.dims[1])
    window = g.const(g.dice.constant((frame,), np.dtype(np.float32))) if g.dice.chance(0.5) else ""
    step, length = g.const(g.dice.number(1, 3), np.int64), g.const(frame, np.int64)
    g.keep(g.op(op, parts, step, window, length, batch=value.batch, onesided=g.dice.number(0, 1)))


@makes("Affine ParametricSoftplus Scale ScaledTanh", until=9, weight=1.5)
def tried(g: Sketch, op: str) -> None:
    value = g.pick("f")
    if value.array.dtype != np.float32:
        raise Misfit
    attributes = {"scale": 2.0} if op == "Scale" else {"alpha": 2.0, "beta": 0.5}
    g.keep(g.op(op, value, batch=value.batch, **attributes))


@makes("ImageScaler Crop", until=9, weight=3)
def pictured(g: Sketch, op: str) -> None:
    value = image(g, 4, 4)
    if value.rank != 4 or 0 in value.dims:
        raise Misfit
    if op == "ImageScaler":
        bias = [float(channel) for channel in range(value.dims[1])]
        g.keep(g.op(op, value, batch=value.batch, scale=2.0, bias=bias))
    else:
        border = [0, 0, g.dice.number(0, value.dims[3] - 1), g.dice.number(0, value.dims[2] - 1)]
        g.keep(g.op(op, value, batch=value.batch, border=border))


@makes("DynamicSlice", until=9, weight=3)
def sliced(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.axis(value)
    start = g.dice.number(0, value.dims[axis])
    bounds = [g.const(np.array([each])) for each in (start, start + g.dice.number(0, 2), axis)]
    g.keep(g.op(op, value, *bounds, batch=value.batch))
