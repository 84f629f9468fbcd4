"""Operators on signals: transforms along an axis, and of frames."""

from __future__ import annotations

import numpy as np

from tests.hostile.makers import makes
from tests.hostile.sizes import vector
from tests.hostile.sketch import Misfit, Sketch


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
