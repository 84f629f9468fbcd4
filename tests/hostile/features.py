"""Operators of ai.onnx.ml: features, rows of them, and what was trained on rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.hostile.contractions import weight
from tests.hostile.makers import makes
from tests.hostile.sketch import Misfit, Sketch, Value
from tests.learned import CATEGORIES, DOMAIN, FEATURES, OUTPUTS, PREPARING, TRAINED, version


def _names(ops: Any) -> str:
    return " ".join(f"{DOMAIN}::{op}" for op in ops)


def _rows(g: Sketch) -> Value:
    """Rows of as many features as were trained on."""
    value = g.pick("f", 2, 2)
    if value.array.dtype != np.float32:
        raise Misfit
    if value.dims[1] != FEATURES:
        value = g.op("MatMul", value, weight(g, value.dims[1], FEATURES), batch=value.batch)
    return value._replace(batch=None) if value.batch else value


def _checked(g: Sketch, op: str) -> str:
    """The operator, in a graph whose version of the domain has it."""
    name = op.rpartition("::")[2]
    if g.learned != version(name) and "Tree" in name:
        raise Misfit
    return name


@makes(_names(TRAINED), since=9, weight=0.6)
@makes(_names(["TreeEnsemble"]), since=9, weight=0.8)
def trained(g: Sketch, op: str) -> None:
    name = _checked(g, op)
    value, attributes = _rows(g), dict(TRAINED[name])
    if attributes.pop("classlabels_strings", None):
        attributes["classlabels_int64s"] = [3, 1, 4]
    made = g.ops(name, OUTPUTS.get(name, 1), value, domain=DOMAIN, **attributes)
    g.keep(*(each._replace(batch=value.batch) for each in made))


@makes(_names(PREPARING), since=9, weight=0.25)
def prepared(g: Sketch, op: str) -> None:
    name = op.rpartition("::")[2]
    attributes = g.dice.pick(PREPARING[name])
    single = name == "Binarizer" or any(isinstance(each, list) and len(each) == 1 for each in attributes.values())
    value = g.pick("f", 1) if single else _rows(g)
    if value.array.dtype != np.float32:
        raise Misfit
    g.keep(g.op(name, value, domain=DOMAIN, batch=value.batch, **attributes))


@makes(_names(CATEGORIES), since=9, weight=0.35)
def encoded(g: Sketch, op: str) -> None:
    name = op.rpartition("::")[2]
    value = g.op("Cast", g.pick("if", 0, 4), to=7)
    value = value._replace(batch=next(each.batch for each in g.values if each.dims == value.dims))
    attributes = CATEGORIES[name][0]
    made = g.op(name, value, domain=DOMAIN, batch=value.batch, **attributes)
    if made.kind == "O":  # back to numbers, as few operators take texts
        made = g.op(name, made, domain=DOMAIN, batch=value.batch, **attributes)
    g.keep(made)


@makes(_names(["FeatureVectorizer"]), since=9, weight=0.4)
def vectorised(g: Sketch, _: str) -> None:
    value = _rows(g)
    given = [value] if g.dice.chance(0.3) else [value, weight(g, value.dims[0], 2)]
    lengths = [each.dims[1] for each in given]
    g.keep(g.op("FeatureVectorizer", *given, domain=DOMAIN, batch=value.batch, inputdimensions=lengths))


@makes(_names(["ArrayFeatureExtractor"]), since=9, weight=0.4)
def extracted(g: Sketch, _: str) -> None:
    value = g.pick("f", 1, 4)
    if value.array.dtype != np.float32 or not value.dims[-1]:
        raise Misfit
    indices = g.const([g.dice.number(0, value.dims[-1] - 1) for _ in range(2)], np.int64)
    batch = value.batch if value.batch is not None and value.batch < value.rank - 1 else None
    g.keep(g.op("ArrayFeatureExtractor", value, indices, domain=DOMAIN, batch=batch))
