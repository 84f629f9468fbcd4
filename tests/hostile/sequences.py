"""Sequences of tensors, and values that may be left out."""

from __future__ import annotations

import numpy as np

from tests.hostile.makers import makes
from tests.hostile.sketch import Sketch, Value


def _at(g: Sketch, parts: str, place: int, batch: int | None) -> Value:
    return g.op("SequenceAt", parts, g.const(place, np.int64), batch=batch)


@makes("SplitToSequence:11 SequenceAt:11 ConcatFromSequence:11", weight=0.3)
def taken_apart(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis, keeps = g.axis(value), g.dice.pick([0, 1, 1])
    parts = g.raw("SplitToSequence", [value.name], axis=axis, keepdims=keeps)[0]
    batch = None if value.batch is None else value.batch - (not keeps and axis < value.batch)
    if op == "ConcatFromSequence":
        g.keep(g.op(op, parts, axis=axis, new_axis=1 - keeps, batch=value.batch))
    else:
        g.keep(_at(g, parts, g.dice.pick([0, -1]), batch))


@makes("SequenceConstruct:11 SequenceInsert:11 SequenceErase:11 SequenceEmpty:11 SequenceLength:11", weight=0.3)
def put_together(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    other = g.op("Neg", value, batch=value.batch)
    if g.dice.chance(0.3):
        other = Value(name := g.const(np.ones_like(value.array)), g.arrays[name])
    if op == "SequenceEmpty" and value.array.dtype == np.float32:
        parts = g.raw(op, [], dtype=1)[0]
        parts = g.raw("SequenceInsert", [parts, value.name])[0]
    else:
        parts = g.raw("SequenceConstruct", [value.name, other.name])[0]
    if op == "SequenceInsert":
        parts = g.raw(op, [parts, other.name, g.const(g.dice.pick([0, 1, -1]), np.int64)])[0]
    elif op == "SequenceErase":
        parts = g.raw(op, [parts, g.const(g.dice.pick([0, -1]), np.int64)])[0]
    elif op == "SequenceLength":
        g.keep(g.op("Mul", value, g.op("Cast", g.op(op, parts), to=1), batch=value.batch))
        return
    if g.dice.chance(0.5):
        g.keep(_at(g, parts, g.dice.pick([0, -1]), value.batch))
    else:
        g.keep(g.op("ConcatFromSequence", parts, axis=g.axis(value), batch=value.batch))


@makes("Optional:18 OptionalGetElement:18 OptionalHasElement:18", weight=0.2)
def left_out(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    kept = g.raw("Optional", [value.name])[0]
    if op == "OptionalHasElement":
        g.keep(g.op("Mul", value, g.op("Cast", g.op(op, kept), to=1), batch=value.batch))
    else:
        g.keep(g.op("OptionalGetElement", kept, batch=value.batch))
