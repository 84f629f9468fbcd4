"""How the tests of certificates make models and ask for a certificate."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import numpy_helper

from onereshape.prove.certificate import Certificate
from onereshape.prove.run_both import certify
from onereshape.prove.runs.compare import Carried
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.drawn_runs import run_drawn
from tests.models import model

BATCH = {"x": {0: "N"}}
FIRST = {"y": Carried(0)}


def built(body: str, **weights: np.ndarray[Any, Any]) -> ir.Model:
    """A model in the textual form, with more initializers."""
    proto = model(f"agraph {body}")
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    return ir.from_proto(proto)


def batch(original: ir.Model, repaired: ir.Model, *, base_dir: str = ".", **asked: Any) -> Certificate:
    """What onnxruntime alone says of a batch on axis 0 of x and y, if nothing else is asked."""
    usual: dict[str, Any] = {"kind": "batch", "size": 1, "outputs": FIRST}
    freed = asked.pop("freed", BATCH)
    return run_drawn(original, repaired, freed, Comparison(**usual | asked), base_dir=base_dir).certificate


def both(original: ir.Model, repaired: ir.Model, **asked: Any) -> Certificate:
    """What onnxruntime and the terms say of it."""
    usual: dict[str, Any] = {"kind": "batch", "size": 1, "outputs": FIRST}
    return certify(original, repaired, asked.pop("freed", BATCH), Comparison(**usual | asked), base_dir=".")


FLAT = "(float[{n}, 3, 4] x) => (float[{n}, 12] y) <int64[2] k = {{{k}, 12}}> {{ y = Reshape(x, k) }}"


def flat(n: str, k: int) -> ir.Model:
    return built(FLAT.format(n=n, k=k))


def other(original: ir.Model, repaired: ir.Model, **asked: Any) -> Certificate:
    """What onnxruntime alone says of a dim that is no batch."""
    usual: dict[str, Any] = {"kind": "other", "size": 1, "outputs": {}}
    freed = asked.pop("freed", {"x": {1: "S"}})
    return run_drawn(original, repaired, freed, Comparison(**usual | asked), base_dir=".").certificate


def same(original: ir.Model, repaired: ir.Model, **asked: Any) -> Certificate:
    """What onnxruntime alone says of a model in which nothing was freed."""
    usual: dict[str, Any] = {"kind": "same", "size": 1, "outputs": {}}
    return run_drawn(original, repaired, {}, Comparison(**usual | asked), base_dir=".").certificate
