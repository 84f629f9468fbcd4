"""Long lists in attributes stay the bytes of their file: what is read, changed, run and written is what it was."""

from __future__ import annotations

import copy
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from hypothesis import given, settings, strategies as st
from onnx import TensorProto, helper

import onereshape
from onereshape.formats.model import load
from onereshape.formats.onnx import onnx_lists
from onereshape.formats.onnx.onnx_lists import Entries, LongAttr, set_apart, whole
from onereshape.prove.engines import engine

FEW = 8
"""Entries of a list that is long here."""


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_lists, "_LEAST", FEW)


def attribute(name: str, values: list[Any], **more: Any) -> onnx.AttributeProto:
    found = helper.make_attribute(name, values)
    for key, value in more.items():
        setattr(found, key, value)
    return found


ENTRIES = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=40),
    st.lists(st.integers(0, 300), min_size=1, max_size=40),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=40),
    st.lists(st.text(max_size=12), min_size=1, max_size=40),
    st.lists(st.text("ab", max_size=300), min_size=1, max_size=20),
)


@st.composite
def models(draw: st.DrawFn) -> onnx.ModelProto:
    nodes = []
    for place in range(draw(st.integers(0, 3))):
        node = helper.make_node("Trees", ["x"], [f"y{place}"], domain="strange", name=draw(st.text("nm", max_size=3)))
        for number, values in enumerate(draw(st.lists(ENTRIES, max_size=3))):
            node.attribute.append(attribute(f"a{number}", values))
            if draw(st.integers(0, 4)) == 0:
                node.attribute[-1].doc_string = draw(st.sampled_from(["said", "onereshape list 12"]))
        nodes.append(node)
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])], [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("strange", 1)])


@given(models())
@settings(max_examples=300)
def test_a_message_is_what_it_was(model: onnx.ModelProto) -> None:
    content = model.SerializeToString()
    short, lists = set_apart(content)
    assert whole(short, lists) == content
    bare = onnx.ModelProto.FromString(short)
    for node, old in zip(bare.graph.node, model.graph.node, strict=True):
        for found, read in zip(node.attribute, old.attribute, strict=True):
            entries = helper.get_attribute_value(read)
            longest = max((len(each) for each in entries if isinstance(each, bytes)), default=0)
            apart = len(entries) >= FEW and not read.doc_string and longest < 128 and read.ByteSize() > 2 * FEW
            assert (found.doc_string in lists) == apart
            if apart:
                texts = [each.decode() if isinstance(each, bytes) else each for each in entries]
                held = lists[found.doc_string]
                assert isinstance(held, Entries)
                assert len(held) == len(entries)
                assert list(held) == texts


@given(models(), st.data())
@settings(max_examples=300)
def test_damaged_bytes_are_left_to_protobuf(model: onnx.ModelProto, data: st.DataObject) -> None:
    content = bytearray(model.SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    content = content[: data.draw(st.integers(0, len(content)))]
    try:
        read = onnx.ModelProto.FromString(bytes(content))
    except Exception:  # noqa: BLE001 - protobuf's own
        read = None
    short, lists = set_apart(bytes(content))
    if read is not None:
        assert onnx.ModelProto.FromString(whole(short, lists)) == read


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda made: made.replace(b"\xa0\x01\x07", b""), id="no type"),
        pytest.param(lambda made: made.replace(b"\xa0\x01\x07", b"\xa0\x01\x06"), id="another type"),
        pytest.param(lambda made: made.replace(b"\xa0\x01\x07", b"\x18\x05\xa0\x01\x07"), id="a number beside it"),
        pytest.param(
            lambda made: made.replace(b"\xa0\x01\x07", b"\xa0\x01\x07\x40\x01"), id="another entry at the end"
        ),
    ],
)
def test_what_is_more_than_a_list_is_left_to_protobuf(damage: Any) -> None:
    inner = damage(attribute("a", [1] * 20).SerializeToString())
    for number in (5, 1, 7):
        inner = bytes([number << 3 | 2, len(inner)]) + inner
    assert set_apart(inner) == (inner, {})


TREES = 40
"""Enough for lists that are long here, and few enough to look at."""


def ensemble(path: Path) -> onnx.ModelProto:
    """A forest of stumps: x[:, 0] against numbers that differ by tree, and a class for each side."""
    rng = np.random.default_rng(0)
    ids, trees = [0, 1, 2] * TREES, [tree for tree in range(TREES) for _ in range(3)]
    leaves = [tree for tree in range(TREES) for _ in range(2)]
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["x"],
        ["label", "scores"],
        "trees",
        domain="ai.onnx.ml",
        nodes_nodeids=ids,
        nodes_treeids=trees,
        nodes_truenodeids=[1, 0, 0] * TREES,
        nodes_falsenodeids=[2, 0, 0] * TREES,
        nodes_featureids=[0] * 3 * TREES,
        nodes_values=[float(each) for each in rng.standard_normal(3 * TREES).astype(np.float32)],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * TREES,
        class_ids=[0, 1] * TREES,
        class_nodeids=[1, 2] * TREES,
        class_treeids=leaves,
        class_weights=[float(each) for each in rng.random(2 * TREES).astype(np.float32)],
        classlabels_int64s=[5, 7],
        post_transform="NONE",
    )
    graph = helper.make_graph(
        [node],
        "forest",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 2]),
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.save(made, path)
    return made


def long_attributes(model: ir.Model) -> list[LongAttr]:
    return [each for node in model.graph for each in node.attributes.values() if isinstance(each, LongAttr)]


def test_a_forest_is_freed_and_proven_with_its_lists_as_they_were(tmp_path: Path) -> None:
    made = ensemble(tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    assert len(long_attributes(model.ir)) == 11
    fixed = onereshape.fix(model, batch={"x": 0})
    fixed.model.save(tmp_path / "fixed.onnx")
    assert fixed.certificate is not None
    assert fixed.certificate.status == "proven"
    written = onnx.load(tmp_path / "fixed.onnx")
    assert written.graph.node == made.graph.node
    assert long_attributes(fixed.model.ir)
    rows = np.random.default_rng(1).standard_normal((7, 3)).astype(np.float32)
    one = onnxruntime.InferenceSession(made.SerializeToString())
    several = onnxruntime.InferenceSession(written.SerializeToString()).run(None, {"x": rows})
    for place, row in enumerate(rows):
        for whole_, alone in zip(several, one.run(None, {"x": row[None]}), strict=True):
            assert np.allclose(whole_[place], alone[0])


@pytest.mark.parametrize("suffix", ["onnx", "onnx.gz", "onnxtxt"])
def test_every_form_of_file_holds_the_lists(tmp_path: Path, suffix: str) -> None:
    made = ensemble(tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    assert model.proto() == made
    model.save(tmp_path / f"again.{suffix}")
    assert load(tmp_path / f"again.{suffix}").proto() == made


def test_a_changed_node_keeps_its_lists_and_a_changed_list_is_the_new_one(tmp_path: Path) -> None:
    made = ensemble(tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    (node,) = model.ir.graph
    node.doc_string = "felled"
    node.attributes["nodes_values"] = ir.AttrFloat32s("nodes_values", [0.5] * 3 * TREES)
    model.save(tmp_path / "again.onnx")
    for each in made.graph.node[0].attribute:
        if each.name == "nodes_values":
            each.floats[:] = [0.5] * 3 * TREES
    made.graph.node[0].doc_string = "felled"
    assert onnx.load(tmp_path / "again.onnx") == made


def test_other_libraries_read_the_lists(tmp_path: Path) -> None:
    made = ensemble(tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    assert ir.to_proto(model.ir).graph.node == made.graph.node
    (node,) = model.ir.graph
    assert node.attributes["class_ids"].as_ints() == (0, 1) * TREES
    assert node.attributes["nodes_modes"].as_strings()[:2] == ("BRANCH_LEQ", "LEAF")
    assert onereshape.fix(model.ir, batch={"x": 0}).certificate.status == "proven"


def test_a_forest_that_differs_in_one_number_is_told_apart(tmp_path: Path) -> None:
    ensemble(tmp_path / "m.onnx")
    other = ensemble(tmp_path / "other.onnx")
    next(each for each in other.graph.node[0].attribute if each.name == "class_weights").floats[3] += 1.0
    onnx.save(other, tmp_path / "other.onnx")
    assert onereshape.certify(tmp_path / "m.onnx", tmp_path / "m.onnx").status == "proven"
    assert onereshape.certify(tmp_path / "m.onnx", tmp_path / "other.onnx").status == "differs"


def test_a_large_model_goes_to_the_engine_as_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_LARGE", 1)
    ensemble(tmp_path / "m.onnx")
    assert onereshape.certify(tmp_path / "m.onnx", tmp_path / "m.onnx").status == "proven"
    broken = load(tmp_path / "m.onnx").ir
    next(iter(broken.graph)).op_type = "Forest"
    with pytest.raises(engine.Refusal) as refused:
        engine.Session(broken, str(tmp_path))
    assert "onereshape-" not in refused.value.why
    assert "Load model from" not in refused.value.why
    assert "Forest" in refused.value.why
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert onereshape.certify(tmp_path / "m.onnx", tmp_path / "m.onnx").status == "proven"


def pickled(model: Any) -> Any:
    return pickle.loads(pickle.dumps(model))  # noqa: S301 - what was written just now


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_model_is_copied_with_its_lists(tmp_path: Path, copied: Any) -> None:
    made = ensemble(tmp_path / "m.onnx")
    assert copied(load(tmp_path / "m.onnx")).proto() == made


def test_what_looks_like_a_mark_is_none(tmp_path: Path) -> None:
    made = ensemble(tmp_path / "m.onnx")
    _, lists = set_apart(made.SerializeToString())
    mark = next(mark for mark, each in lists.items() if each.kind == ir.AttributeType.FLOATS)
    made.graph.node[0].attribute.append(onnx.AttributeProto(name="own", type="FLOATS", doc_string=mark))
    onnx.save(made, tmp_path / "m.onnx")
    model = load(tmp_path / "m.onnx")
    assert not long_attributes(model.ir)
    assert model.proto() == made
