"""Operators by the bodies that ONNX gives for them, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.ground.bodies import body_of
from onereshape.terms import program
from onereshape.terms.records import RECORDS
from onereshape.terms.refusal import NotProven
from tests.terms.single_nodes import Node, check_dependency, check_dims, differ

_DATA = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32) * 3
_NODES = {
    "Celu": Node("Celu", [_DATA], opset=17),
    "Celu alpha": Node("Celu", [_DATA], {"alpha": 0.5}, opset=12),
    "Clip": Node("Clip", [_DATA, np.asarray(-1, np.float32)], opset=15),
    "Elu": Node("Elu", [_DATA], {"alpha": 0.5}, opset=20),
    "Gelu": Node("Gelu", [_DATA], {"approximate": "tanh"}, opset=21),
    "HardSigmoid": Node("HardSigmoid", [_DATA], opset=21),
    "HardSwish": Node("HardSwish", [_DATA], opset=20),
    "LeakyRelu": Node("LeakyRelu", [_DATA], {"alpha": 0.2}, opset=18),
    "Mish": Node("Mish", [_DATA], opset=18),
    "PRelu": Node("PRelu", [_DATA, _DATA[0]], opset=17),
    "Relu": Node("Relu", [_DATA], opset=20),
    "Selu": Node("Selu", [_DATA], opset=20),
    "Shrink": Node("Shrink", [_DATA], {"bias": 0.25, "lambd": 0.75}, opset=20),
    "Softplus": Node("Softplus", [_DATA], opset=20),
    "Softsign": Node("Softsign", [_DATA], opset=20),
    "ThresholdedRelu": Node("ThresholdedRelu", [_DATA], opset=20),
    "LessOrEqual": Node("LessOrEqual", [_DATA, _DATA[:1]], opset=17),
}


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Node:
    """A node whose operator has no record."""
    node = _NODES[request.param]
    monkeypatch.setattr(program, "RECORDS", {key: each for key, each in RECORDS.items() if key != ("", node.op)})
    return node


@pytest.mark.parametrize("without", _NODES, indirect=True)
def test_bodies(without: Node) -> None:
    rng = np.random.default_rng(1)
    check_dims(without)
    check_dependency(without, rng, lambda _: rng.normal() * 3, 6)


@pytest.mark.parametrize("without", ["Celu", "Gelu", "LeakyRelu", "Shrink", "HardSigmoid"], indirect=True)
def test_attributes_of_bodies_count(without: Node) -> None:
    others: dict[str, Any] = {
        "Celu": {"alpha": 2.0},
        "Gelu": {"approximate": "none"},
        "LeakyRelu": {"alpha": 0.3},
        "Shrink": {"bias": 0.25, "lambd": 0.5},
        "HardSigmoid": {"beta": 0.25},
    }
    other = Node(without.op, without.inputs, others[without.op], opset=without.opset)
    assert differ(without, other, everywhere=True)
    default = {"Celu": {"alpha": 1.0}, "HardSigmoid": {"beta": 0.5}}.get(without.op)
    if default:
        assert not differ(without, Node(without.op, without.inputs, default, opset=without.opset))


def test_a_body_is_not_above_its_opset() -> None:
    """MeanVarianceNormalization has a body of opset 13 and one of 18, which reads axes as an input."""
    node = ir.Node("", "MeanVarianceNormalization", [ir.Value(name="x")])
    for opset, wanted in ((13, 13), (17, 13), (18, 18), (21, 18)):
        body = body_of(node, opset, [(ir.DataType.FLOAT, 4)])
        assert body is not None
        assert body.function.opset_imports[""] == wanted


def test_what_is_random_has_no_answer() -> None:
    with pytest.raises(NotProven):
        Node("Bernoulli", [np.abs(_DATA) / 10], opset=21).run()


def test_every_body_is_run_or_refused() -> None:
    """The newest operators of one float input: nothing but a refusal leaves them."""
    schemas: list[Any] = list(onnx.defs.get_all_schemas())
    for schema in schemas:
        if schema.domain or schema.deprecated or not (schema.has_function or schema.has_context_dependent_function):
            continue
        inputs: list[Any] = [_DATA] * max(schema.min_input, 1)
        try:
            Node(schema.name, inputs, outputs=max(schema.min_output, 1), opset=schema.since_version).run()
        except NotProven:
            continue
