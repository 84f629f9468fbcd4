"""How the tests of certificates make models and ask for a certificate."""

from __future__ import annotations

from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx_ir as ir
from onnx import numpy_helper

from onereshape.graphs.request import given_model
from onereshape.ground.isolation.budget import WHOLE, whole
from onereshape.prove.certificate import Certificate
from onereshape.prove.counterexample import read
from onereshape.prove.evidence import Carried
from onereshape.prove.replay import replay
from onereshape.prove.run_both import certify
from onereshape.prove.runs.comparison import Comparison
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
    found = certify(original, repaired, freed, Comparison(terms=False, **usual | asked), base_dir=base_dir)
    return shown(found, original, repaired)


def shown(found: Certificate, original: ir.Model, repaired: ir.Model) -> Certificate:
    """The certificate, which says that models differ only with an input that shows it: it is kept and replayed."""
    example = found.counterexample
    assert (example is not None) == (found.status == "differs"), found
    if example is None or example.models[0] in {"export", "witness"}:
        return found
    with TemporaryDirectory() as folder:
        example.save(f"{folder}/input.npz")
        again = replay(read(f"{folder}/input.npz"), given_model(original), given_model(repaired), whole(WHOLE, None))
    assert not again.holds, again
    assert again.counterexample.output == example.output
    if example.what == "value":
        assert again.counterexample.values == example.values
        assert again.counterexample.indices == example.indices
    return found


def both(original: ir.Model, repaired: ir.Model, **asked: Any) -> Certificate:
    """What onnxruntime and the terms say of it."""
    usual: dict[str, Any] = {"kind": "batch", "size": 1, "outputs": FIRST}
    found = certify(original, repaired, asked.pop("freed", BATCH), Comparison(**usual | asked), base_dir=".")
    return shown(found, original, repaired)


FLAT = "(float[{n}, 3, 4] x) => (float[{n}, 12] y) <int64[2] k = {{{k}, 12}}> {{ y = Reshape(x, k) }}"


def flat(n: str, k: int) -> ir.Model:
    return built(FLAT.format(n=n, k=k))


def other(original: ir.Model, repaired: ir.Model, **asked: Any) -> Certificate:
    """What onnxruntime alone says of a dim that is no batch."""
    usual: dict[str, Any] = {"kind": "other", "size": 1, "outputs": {}}
    freed = asked.pop("freed", {"x": {1: "S"}})
    found = certify(original, repaired, freed, Comparison(terms=False, **usual | asked), base_dir=".")
    return shown(found, original, repaired)


def same(original: ir.Model, repaired: ir.Model, **asked: Any) -> Certificate:
    """What onnxruntime alone says of a model in which nothing was freed."""
    usual: dict[str, Any] = {"kind": "same", "size": 1, "outputs": {}}
    found = certify(original, repaired, {}, Comparison(terms=False, **usual | asked), base_dir=".")
    return shown(found, original, repaired)
