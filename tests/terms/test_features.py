"""Operators of ai.onnx.ml on terms, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from onereshape.terms.hashing import Hashing
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.records.features import RECORDS
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor, terms
from tests.learned import CATEGORIES, DOMAIN, OUTPUTS, PREPARING, TRAINED, version
from tests.terms.single_nodes import Node, check_apart, check_dependency, check_dims, differ

_RNG = np.random.default_rng(3)
_ROWS = np.asarray(_RNG.normal(size=(4, 3)), np.float32)
_WHOLE = np.asarray(_RNG.integers(0, 3, (4, 3)), np.int64)


def _node(op: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Node:
    return Node(op, inputs, attributes, outputs, domain=DOMAIN)


def _nodes() -> dict[str, Node]:
    found = {op: _node(op, _ROWS, outputs=OUTPUTS.get(op, 1), **each) for op, each in TRAINED.items()}
    for op, all_attributes in PREPARING.items():
        found |= {f"{op} {place}": _node(op, _ROWS, **each) for place, each in enumerate(all_attributes)}
    for op, all_attributes in CATEGORIES.items():
        found |= {f"{op} {place}": _node(op, _WHOLE, **each) for place, each in enumerate(all_attributes)}
    found["FeatureVectorizer"] = _node("FeatureVectorizer", _ROWS, _ROWS[:, :2], inputdimensions=[3, 2])
    found["FeatureVectorizer whole"] = _node("FeatureVectorizer", _WHOLE, inputdimensions=[3])
    found["ArrayFeatureExtractor"] = _node("ArrayFeatureExtractor", _ROWS, np.array([2, 0]))
    return found


NODES = _nodes()
_CASTS = {"FeatureVectorizer", "FeatureVectorizer whole"}


@pytest.mark.parametrize("name", NODES)
def test_dims_types_and_what_depends_on_what(name: str) -> None:
    node = NODES[name]
    rng = np.random.default_rng(5)
    check_dims(node)
    check_dependency(node, rng, lambda place: rng.integers(3) if node.inputs[place].dtype.kind == "i" else rng.normal())
    if name != "ArrayFeatureExtractor":
        check_apart(node, dict.fromkeys(node.fed, 0), [0] * node.outputs)


@pytest.mark.parametrize("name", sorted(set(NODES) - _CASTS - {"ArrayFeatureExtractor"}))
def test_every_attribute_is_part_of_what_is_said(name: str) -> None:
    node = NODES[name]
    for asked, value in node.attributes.items():
        other = _other(value)
        if other is None or asked in {"n_targets", "targets"}:
            continue
        changed = _node(node.op, *node.inputs, outputs=node.outputs, **{**node.attributes, asked: other})
        try:
            assert differ(node, changed), asked
        except NotProven:  # of another length, or of no kind that there is
            continue


def _other(value: Any) -> Any:
    """Another attribute of the same type and length."""
    if isinstance(value, list):
        last = value[-1]
        return [*value[:-1], f"{last}x" if isinstance(last, str) else last + 1]
    if isinstance(value, onnx.TensorProto):
        array = onnx.numpy_helper.to_array(value).copy()
        array.flat[-1] += 1
        return onnx.numpy_helper.from_array(array)
    return None if isinstance(value, str) else value + 1


def test_every_operator_has_a_case() -> None:
    assert {op for _, op in RECORDS} == {node.op for node in NODES.values()} | {"ZipMap"}


def _maps(labels: dict[str, Any], hashing: Hashing) -> Any:
    node = helper.make_node("ZipMap", ["x"], ["y"], domain=DOMAIN, **labels)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [4, 3])
    graph = helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name="y")])
    imports = [helper.make_opsetid("", 15), helper.make_opsetid(DOMAIN, version("ZipMap"))]
    model = ir.from_proto(helper.make_model(graph, opset_imports=imports))
    fed = terms(hashing.leaves(hashing.key("x"), 12).reshape(4, 3), ir.DataType.FLOAT)
    (found,) = Program(model, hashing, Limits()).run({"x": fed})[0].values()
    assert isinstance(found, Tensor)
    return found.hashed(hashing)


def test_a_map_is_its_labels_and_what_they_have() -> None:
    hashing = Hashing(7)
    labels: list[dict[str, Any]] = [
        {"classlabels_int64s": [1, 2, 3]},
        {"classlabels_int64s": [1, 3, 2]},
        {"classlabels_strings": ["1", "2", "3"]},
    ]
    one, turned, texts = (_maps(each, hashing) for each in labels)

    assert one.shape == (4, 3)
    assert (one[:, 0] == turned[:, 0]).all()
    assert (one[:, 1:] != turned[:, 1:]).all()
    assert (one != texts).all()
    for wrong in ([1, 2], [1, 2, 2]):
        with pytest.raises(NotProven, match="labels"):
            _maps({"classlabels_int64s": wrong}, hashing)


@pytest.mark.parametrize(
    ("node", "why"),
    [
        (_node("Normalizer", _ROWS[0], norm="L1"), "N F"),
        (_node("Scaler", _ROWS, offset=[1.0, 2.0], scale=[1.0, 2.0]), "features"),
        (_node("FeatureVectorizer", _ROWS, inputdimensions=[2]), "widths"),
        (_node("TreeEnsembleRegressor", _ROWS[0], **TRAINED["TreeEnsembleRegressor"]), "N F"),
        (_node("LabelEncoder", _WHOLE, keys_int64s=[1], values_floats=[1.0], values_int64s=[2]), "values"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.op,
)
def test_what_is_not_sure_is_not_proven(node: Node, why: str) -> None:
    with pytest.raises(NotProven, match=why):
        node.run()
