"""Whole models of ai.onnx.ml: what becomes of their batch, of texts and of maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from onereshape.checks.check import check
from onereshape.ground.errors import FixError
from onereshape.prove.engines.engine import Session
from onereshape.prove.evidence import Carried
from onereshape.prove.run_both import certify
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.values.draw import draw
from onereshape.prove.values.input_roles import InputRole, roles_of
from onereshape.repair.fix import fix
from tests.learned import DOMAIN, FEATURES, TRAINED


def _node(op: str, inputs: list[str], outputs: list[str], **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, name=op, domain=DOMAIN, **attributes)


def _maps(kind: int) -> Any:
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    return helper.make_sequence_type_proto(helper.make_map_type_proto(kind, value))


def _model(nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> onnx.ModelProto:
    imports = [helper.make_opsetid("", 15), helper.make_opsetid(DOMAIN, 3)]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=imports, ir_version=8)


def classifier(batch: int | str, labels: list[Any], *, baked: bool = False) -> onnx.ModelProto:
    """Rows scaled, classified and written as maps; `baked`: a Reshape has the batch as a number."""
    text = isinstance(labels[0], str)
    trained = {name: each for name, each in TRAINED["TreeEnsembleClassifier"].items() if name != "classlabels_strings"}
    named = {"classlabels_strings" if text else "classlabels_int64s": labels}
    nodes = [
        _node("Scaler", ["x"], ["s"], offset=[0.5] * FEATURES, scale=[2.0, 1.0, 0.5]),
        _node("TreeEnsembleClassifier", ["s"], ["label", "scores"], **trained, **named),
        *([helper.make_node("Reshape", ["scores", "t"], ["p"], name="flat")] if baked else []),
        _node("Normalizer", ["p" if baked else "scores"], ["n"], norm="L1"),
        _node("ZipMap", ["n"], ["maps"], **named),
    ]
    kind = TensorProto.STRING if text else TensorProto.INT64
    outputs = [helper.make_tensor_value_info("label", kind, [batch]), helper.make_value_info("maps", _maps(kind))]
    made = _model(nodes, [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, FEATURES])], outputs)
    if baked:
        made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([batch, 3]), "t"))
    return made


@pytest.mark.parametrize("labels", [[7, 5, 9], ["c", "a", "b"]], ids=str)
@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("baked", [False, True])
def test_a_classifier_with_maps_is_freed_and_proven(labels: list[Any], batch: int, baked: bool, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(classifier(batch, labels, baked=baked), path)
    found = fix(path, batch=True)

    assert found.certificate is not None
    assert found.certificate.status == "proven"
    assert [each.name for each in found.certificate.outputs] == ["label", "maps", "maps (labels)"]


def _batch(original: onnx.ModelProto, repaired: onnx.ModelProto) -> Any:
    models = []
    for proto in (original, repaired):
        proto.graph.output[1].ClearField("type")
        models.append(ir.from_proto(proto))
    asked = Comparison("batch", 1, {"label": Carried(0), "maps": Carried(0)})
    return certify(models[0], models[1], {"x": {0: "N"}}, asked, base_dir=".")


def test_other_labels_and_maps_in_another_order_are_found() -> None:
    original, right = classifier(1, ["a", "b", "c"]), classifier("N", ["a", "b", "c"])
    assert _batch(original, right).status == "proven"
    other = classifier("N", ["a", "b", "c"])
    del other.graph.node[-1].attribute[:]
    other.graph.node[-1].attribute.append(helper.make_attribute("classlabels_strings", ["a", "b", "d"]))
    found = _batch(original, other)
    assert (found.status, "maps (labels)" in found.reason) == ("differs", True)
    turned = classifier("N", ["a", "b", "c"])
    turned.graph.node[-1].input[0] = "turned"
    turned.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2, 0, 1]), "order"))
    turned.graph.node.insert(3, helper.make_node("Gather", ["n", "order"], ["turned"], axis=1))
    assert _batch(original, turned).status == "differs"


def test_the_engine_gives_maps_as_rows_and_labels() -> None:
    proto = classifier(2, ["a", "b", "c"])
    proto.graph.output[1].ClearField("type")
    found = Session(ir.from_proto(proto), ".").run({"x": np.ones((2, FEATURES), np.float32)})

    assert found["maps"].shape == (2, 3)
    assert found["maps (labels)"].tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(found["maps"].sum(1), 1, rtol=1e-5)


def texts(batch: int | str) -> onnx.ModelProto:
    """Texts and numbers, side by side as features."""
    nodes = [
        _node("OneHotEncoder", ["c"], ["o"], cats_strings=["red", "green", "blue"], zeros=0),
        helper.make_node("Reshape", ["o", "t"], ["flat"], name="flat"),
        _node("FeatureVectorizer", ["flat", "x"], ["f"], inputdimensions=[3, 3]),
        _node("LinearRegressor", ["f"], ["y"], coefficients=[0.5, 1.0, -1.0, 2.0, 0.25, 1.5], intercepts=[0.1]),
    ]
    inputs = [
        helper.make_tensor_value_info("c", TensorProto.STRING, [batch, 1]),
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3]),
    ]
    made = _model(nodes, inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 1])])
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 3]), "t"))
    return made


def test_texts_are_drawn_from_what_an_encoder_knows(tmp_path: Path) -> None:
    """It refuses all others."""
    path = tmp_path / "m.onnx"
    onnx.save(texts(1), path)
    original = ir.from_proto(texts(1))

    assert roles_of(original)["c"] == InputRole("choice", options=("red", "green", "blue"))
    drawn = draw(original, np.random.default_rng(0), {})["c"]
    assert drawn.dtype == object
    assert set(drawn.ravel()) <= {"red", "green", "blue"}
    found = fix(path, batch=True)
    assert found.certificate is not None
    assert found.certificate.status == "proven"


def test_a_vector_is_one_sample(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    made = _model(
        [_node("LinearRegressor", ["x"], ["y"], coefficients=[0.5, 1.0, -1.0])],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1])],
    )
    onnx.save(made, path)
    with pytest.raises(FixError) as refused:
        fix(path, batch=True)

    assert str(refused.value).startswith("no input carries a batch: x is [3], one sample without an axis for several")


def test_a_norm_along_the_samples_is_said_to_mix(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    made = _model(
        [_node("Normalizer", ["x"], ["y"], norm="L2")],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 2])],
    )
    onnx.save(made, path)
    with pytest.raises(FixError, match="works along axis 1, its features, which is N"):
        fix(path, batch={"x": 1})


def test_a_classifier_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(classifier(1, [7, 5, 9], baked=True), path)
    findings = check(path, batch=True)

    assert {finding.node for finding in findings} == {"flat"}
