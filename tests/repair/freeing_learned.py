"""Operators of ai.onnx.ml in models that are written for any number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx

from tests.learned import CATEGORIES, DOMAIN, FEATURES, PREPARING, TRAINED
from tests.repair.freeing_sized import FIRST, SECOND, Sized, graph


def _written(value: Any) -> str:
    if isinstance(value, onnx.TensorProto):
        array = onnx.numpy_helper.to_array(value)
        return f"{'float' if array.dtype.kind == 'f' else 'uint8'}[{array.size}] {{{', '.join(map(str, array))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _node(op: str, attributes: Mapping[str, Any], gives: str = "y", takes: str = "x") -> str:
    said = ", ".join(f"{name} = {_written(value)}" for name, value in attributes.items())
    return f"{gives} = {DOMAIN}.{op} <{said}> ({takes})"


def _sized(op: str, node: str, given: str, gives: str = "float[] y", **more: Any) -> Sized:
    return Sized(f"{DOMAIN}::{op}", lambda s: graph(given.format(s), node, gives=gives), **more)


def learned() -> Iterator[Sized]:
    """Rows of features: any number of them."""
    rows = f"float[{{}}, {FEATURES}] x"
    for op, attributes in TRAINED.items():
        if "Classifier" not in op:
            yield _sized(op, _node(op, attributes), rows, asked=FIRST)
            continue
        integers = {**attributes, "classlabels_int64s": [1, 2, 3]} if "Tree" in op else attributes
        kept = {name: each for name, each in integers.items() if name != "classlabels_strings"}
        yield _sized(op, _node(op, kept, "z, y"), rows, "int64[] z, float[] y", asked=FIRST)
    for op, all_attributes in PREPARING.items():
        yield _sized(op, _node(op, all_attributes[0]), rows, asked=FIRST)
        if op != "Normalizer":
            yield _sized(op, _node(op, all_attributes[-1]), "float[2, {}] x", asked=SECOND)
    yield _sized("LabelEncoder", _node("LabelEncoder", CATEGORIES["LabelEncoder"][0]), "int64[2, {}] x", asked=SECOND)
    there, back = (_node("CategoryMapper", CATEGORIES["CategoryMapper"][0], *each) for each in (("t",), ("y", "t")))
    yield _sized("CategoryMapper", f"{there} {back}", "int64[2, {}] x", "int64[] y", asked=SECOND)
    yield _sized("OneHotEncoder", _node("OneHotEncoder", CATEGORIES["OneHotEncoder"][0]), "int64[2, {}] x")
    yield _sized("FeatureVectorizer", _node("FeatureVectorizer", {"inputdimensions": [FEATURES]}), rows, asked=FIRST)
