"""Texts, which are made of integers and read as numbers again; and rows that are written into caches."""

from __future__ import annotations

import numpy as np

from tests.hostile.makers import makes
from tests.hostile.sketch import Misfit, Sketch

_STRING, _FLOAT = 8, 1


@makes("StringConcat:20 RegexFullMatch:20 StringSplit:20 StringNormalizer:20", weight=0.5)
def texts(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    if 0 in value.dims or not np.isfinite(value.array).all():
        raise Misfit
    small = g.op("Cast", g.op("Clip", value, g.const(-9, value.array.dtype), g.const(9, value.array.dtype)), to=7)
    text = g.op("Cast", small, to=_STRING, batch=value.batch)
    if op == "StringSplit":
        _, numbers = g.raw(op, [text.name], 2, delimiter="-")
        g.keep(g.op("Mul", value, g.op("Cast", numbers, to=_FLOAT), batch=value.batch))
        return
    if op == "StringConcat":
        text = g.op(op, *(text, g.const(np.array(["-"], object)))[:: g.dice.pick([1, -1])], batch=value.batch)
    elif op == "StringNormalizer":
        text = g.op(op, text, case_change_action="UPPER", locale="C", batch=value.batch)
    g.keep(g.op("RegexFullMatch", text, pattern="-?[0-4]-?", batch=value.batch))


@makes("TfIdfVectorizer:9", weight=0.5)
def counted(g: Sketch, op: str) -> None:
    value = g.pick("f", 1, 2)
    if not np.isfinite(value.array).all() or value.array.size == 0:
        raise Misfit
    small = g.op("Cast", g.op("Tanh", value), to=7)
    about = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0}
    pool = {"ngram_counts": [0], "ngram_indexes": [0, 2], "pool_int64s": [0, 1]}
    g.keep(g.op(op, small, batch=value.batch if value.batch == 0 and value.rank == 2 else None, **about, **pool))


@makes("TensorScatter:24", weight=0.3)
def written(g: Sketch, op: str) -> None:
    value = g.pick("f", 2)
    axis = g.dice.number(1, value.rank - 1)
    other = g.op("Neg", value)
    places = g.const(np.zeros(value.dims[0]), np.int64)
    g.keep(g.op(op, value, other, places, axis=axis, mode=g.dice.pick(["linear", "circular"]), batch=value.batch))
