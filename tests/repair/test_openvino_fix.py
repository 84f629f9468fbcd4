"""OpenVINO IRs are checked, repaired and certified as ONNX models are; an arbiter judges what was written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import openvino
import pytest
from bench.openvino_judge import ours
from openvino import opset10, opset13 as op

import onereshape as orx
from onereshape.cli import main
from onereshape.formats.ir_as_onnx import ir_writing as writing
from onereshape.formats.openvino.openvino_ir import root_of
from onereshape.formats.openvino.openvino_xml import parsed
from onereshape.ground.errors import FixError, ReshapeError
from tests.commands import Captured, process, refused
from tests.openvino_models import CASES, Case, given, i64, model, weights


def saved(case: Case, folder: Path) -> Path:
    return case.save(folder / "model.xml")


def read(path: Path) -> ET.Element:
    return parsed(path.read_bytes(), str(path))


def texts(root: ET.Element, tag: str) -> list[str]:
    return [ET.canonicalize(ET.tostring(each), strip_text=True) for each in root.iter(tag)]


def axes(case: Case) -> dict[str, int]:
    return {name: about["axis"] for name, about in case.inputs.items()}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.refused])
def test_what_can_be_freed_is(name: str, tmp_path: Path) -> None:
    case, out = CASES[name], tmp_path / "out.xml"
    path = saved(case, tmp_path)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    fixed = orx.fix(path, batch=axes(case))
    orx.save(fixed.model, out)
    judged = ours(case.entry(path), path, out)

    assert fixed.certificate is not None
    assert fixed.certificate.holds
    assert fixed.certificate.engine.startswith("openvino ")
    assert (judged["found"], judged["why"]) == ("pass", "")
    assert {each: (tmp_path / each).read_bytes() for each in before} == before


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused])
def test_what_cannot_is_refused_by_the_name_of_its_layer(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = saved(case, tmp_path)
    with pytest.raises(FixError) as caught:
        orx.fix(path, batch=axes(case))
    (found,) = (each for each in orx.check(path, batch=axes(case)) if each.code == "cannot-free")
    layer = next(each for each in read(path).iter("layer") if each.get("type") == case.refused)

    assert caught.value.fields["op"] == found.op == case.refused
    assert caught.value.fields["node"] == found.node == layer.get("name")
    assert found.place == f"net/{case.refused}#0"
    assert "openvino::" not in str(caught.value)


def reshaping(target: list[int], dims: list[int], *, special_zero: bool = True) -> openvino.Model:
    x = given("x", dims)
    return model([x], y=op.reshape(x, i64(*target), special_zero))


def written(found: openvino.Model, folder: Path) -> Path:
    openvino.save_model(found, folder / "model.xml", compress_to_fp16=False)
    return folder / "model.xml"


def test_an_unnamed_dim_is_free_too(tmp_path: Path) -> None:
    path = written(reshaping([1, 32], [-1, 4, 8]), tmp_path)
    (found,) = orx.check(path)

    assert (found.code, found.op, found.place, found.fixable) == ("baked-dim", "Reshape", "net/Reshape#0", True)
    assert found.message == f"x[0] is forced to 1 by {found.node}: shape[0] = 1"
    fixed = orx.fix(path, batch=True)
    assert [each.after for each in fixed.changes] == ["[0, 32]"]
    assert orx.check(fixed.model) == []


def test_an_interval_stays_one(tmp_path: Path) -> None:
    path = written(reshaping([1, -1], [1, 4, 8]), tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('shape="1,4,8"', 'shape="1,2..4,8"'), encoding="utf-8")
    fixed = orx.fix(path, batch=True, certify=False)

    assert next(root_of(fixed.model).iter("data")).get("shape") == "?,2..4,8"


def test_only_the_change_is_new(tmp_path: Path) -> None:
    case = CASES["noted"]
    path, out = saved(case, tmp_path), tmp_path / "out.xml"
    orx.save(orx.fix(path, batch=axes(case)).model, out)
    layers = [{each.get("id"): each for each in read(file).iter("layer")} for file in (path, out)]
    edges = [texts(read(file), "edge") for file in (path, out)]
    same = [number for number in layers[0] if number in layers[1]]

    assert [each for each in layers[1] if each in layers[0]] == same  # in the order of the file
    for number in same:
        before, after = (dict(each[number].attrib) for each in layers)
        assert before == after
        assert texts(layers[0][number], "rt_info") == texts(layers[1][number], "rt_info")
    assert out.with_suffix(".bin").read_bytes().startswith(path.with_suffix(".bin").read_bytes())
    assert same == [*layers[0]] == [*layers[1]]  # the new target has taken the place of the old one
    assert edges[0] == edges[1]


def test_a_model_that_is_right_is_left_byte_for_byte(tmp_path: Path) -> None:
    path, out = written(reshaping([0, 32], [-1, 4, 8]), tmp_path), tmp_path / "out.xml"
    read = orx.load(path)
    fixed = orx.fix(read, batch=True)
    orx.save(fixed.model, out)

    assert fixed.model is read
    assert out.read_bytes() == path.read_bytes()
    assert out.with_suffix(".bin").read_bytes() == path.with_suffix(".bin").read_bytes()


def test_a_model_of_openvino_goes_in_and_comes_out() -> None:
    case = CASES["attention"]
    held = case.make(1)
    before = held.input(0).get_partial_shape()
    fixed = orx.fix(held, batch=True)
    opened = fixed.model.openvino()
    x = np.random.default_rng(0).standard_normal([3, *held.input(0).shape[1:]]).astype(np.float32)
    exact = {"INFERENCE_PRECISION_HINT": "f32"}  # of f16, which Arm's plugin prefers, nobody wants the same digits
    compiled = [openvino.Core().compile_model(each, "CPU", exact) for each in (opened, case.make(3))]

    assert held.input(0).get_partial_shape() == before
    np.testing.assert_allclose(compiled[0](x)[0], compiled[1](x)[0], rtol=1e-5, atol=1e-5)
    assert orx.check(held, batch=True) != []
    assert orx.load(held).path == f"openvino.Model {held.get_friendly_name()}"


def test_models_of_openvino_are_compared() -> None:
    """Nobody else holds the files that such a model is in meanwhile."""
    scale = op.constant(np.linspace(1, 2, 6, dtype=np.float32))
    x = op.parameter([1, 2, 3], np.float32, name="x")
    y = op.multiply(op.reshape(x, op.constant(np.array([1, 6], np.int64)), special_zero=True), scale)
    held = openvino.Model([op.result(y)], [x], "held")
    repaired = orx.fix(held, batch=True, certify=False).model

    assert orx.certify(held, repaired, batch=True).status == "proven"
    assert orx.certify(held, repaired.openvino(), batch=True).status == "proven"


def test_what_is_no_model_is_not_loaded() -> None:
    with pytest.raises(ReshapeError, match=r"^a model is given as a path, bytes, .*, not as int  \[bad-usage\]$"):
        orx.load(3)  # type: ignore[arg-type]


def test_the_command(tmp_path: Path) -> None:
    """As a process of its own; what follows is asked here."""
    case = CASES["flattened"]
    path = saved(case, tmp_path)
    words = [
        "fix",
        str(path),
        "-o",
        str(tmp_path / "out.xml"),
        "--batch",
        "--certificate",
        str(tmp_path / "proof.json"),
    ]
    found = process(*words)

    assert found.returncode == 0
    assert "openvino agrees at N = 1, 2, 3;" in found.stdout
    assert "input x" in found.stdout
    assert "[?, 3, 8, 8]" in found.stdout
    assert main(["certify", "--proof", str(tmp_path / "proof.json")]) == 0
    assert main(["certify", str(path), str(tmp_path / "out.xml"), "--batch"]) == 0
    assert main(["check", str(tmp_path / "out.xml")]) == 0
    in_place = tmp_path / "in" / "model.xml"
    in_place.parent.mkdir()
    for suffix in (".xml", ".bin"):
        shutil.copy(path.with_suffix(suffix), in_place.with_suffix(suffix))
    assert main(["fix", str(in_place), "--in-place", "--batch"]) == 0
    assert in_place.read_bytes() == (tmp_path / "out.xml").read_bytes()
    assert in_place.with_suffix(".bin").read_bytes() == (tmp_path / "out.bin").read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fix", "{path}", "-o", "{folder}/out.onnx", "--batch"], "is written to a name that ends in .xml"),
        (["fix", "{path}", "-o", "{folder}/out.xml", "--batch", "--per-sample"], "only an ONNX model is run sample by"),
        (["fix", "{path}", "-o", "{folder}/out.xml", "--batch", "z"], "z"),
        (["fix", "{path}", "-o", "{folder}/model.bin", "--batch"], "is written to a name that ends in .xml"),
    ],
)
def test_wrong_words(words: list[str], said: str, tmp_path: Path, capsys: Captured) -> None:
    path = saved(CASES["flattened"], tmp_path)
    code, message = refused(capsys, *(word.format(path=path, folder=tmp_path) for word in words))

    assert code != 0
    assert said in message
    assert not (tmp_path / "out.xml").exists()


def test_other_dims_and_a_witness(tmp_path: Path) -> None:
    """Two exports at two lengths, and a third that was not shown."""

    def made(length: int) -> Path:
        folder = tmp_path / str(length)
        folder.mkdir()
        x = given("x", [1, length, 6])
        rows = op.reshape(op.matmul(x, weights(6, 8), transpose_a=False, transpose_b=False), i64(1, length, 2, 4), True)
        found = model([x], y=op.reshape(op.transpose(rows, i64(0, 2, 1, 3)), i64(1, 2, length * 4), False))
        return written(found, folder)

    first, second, third = (made(length) for length in (5, 8, 11))
    fixed = orx.fix(first, like=second, witness=third)

    assert fixed.certificate is not None
    assert fixed.certificate.status in {"proven", "certified"}
    with pytest.raises(FixError, match="not in one format"):
        orx.fix(first, like=Path(__file__).parent.parent / "data" / "corpus" / "bert.ts.onnx")


def test_check_needs_no_openvino_and_fix_says_what_is_missing(tmp_path: Path) -> None:
    path = saved(CASES["flattened"], tmp_path)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "openvino.py").write_text("raise ImportError\n", encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(hidden)}
    checked = process("check", str(path), "--batch", env=env)
    fixed = process("fix", str(path), "-o", str(tmp_path / "out.xml"), "--batch", env=env)

    assert (checked.returncode, checked.stderr) == (1, "")
    assert "baked-dim" in checked.stdout
    assert fixed.returncode == 1
    missing = "openvino cannot load the original model: it is not installed: pip install 'onereshape[openvino]'"
    assert missing in fixed.stderr
    assert not (tmp_path / "out.xml").exists()


def test_a_state_is_refused(tmp_path: Path) -> None:
    x = given("x", [1, 4])
    kept = op.read_value(x, "state")
    found = openvino.Model([op.result(op.add(kept, x))], [op.assign(kept, "state")], [x], "stateful")
    path = written(found, tmp_path)

    with pytest.raises(FixError, match="keeps a state between runs"):
        orx.fix(path, batch=True)


def told(found: Any) -> list[str]:
    return [f"{each.code} {each.op} {each.origin}" for each in found]


def test_findings_are_in_the_words_of_the_file(tmp_path: Path) -> None:
    path = saved(CASES["flattened"], tmp_path)
    (found,) = orx.check(path, batch=True)
    constant = next(
        each
        for each in read(path).iter("layer")
        if each.get("type") == "Const" and (data := each.find("data")) is not None and data.get("shape") == "2"
    )

    assert told([found]) == [f"baked-dim Reshape Const {constant.get('name')}"]


def test_what_openvino_does_not_load_is_not_written_even_where_nothing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    """A bug is planted: what a port was fed that no drawing reads."""
    x = given("x", [1, 4, 6, 6])
    ratio = op.divide(op.convert(i64(1, 4, 12, 18), "f32"), op.convert(op.shape_of(x), "f32"))
    scales = op.strided_slice(op.add(ratio, np.float32(1e-5)), i64(2), i64(4), i64(1), [0], [0])
    grown = opset10.interpolate(x, i64(12, 18), scales, "nearest", "sizes", axes=i64(2, 3))
    path = written(model([x], y=op.reshape(grown, i64(1, -1), special_zero=False)), tmp_path)
    words = ["fix", str(path), "-o", str(tmp_path / "out.xml"), "--batch", "--no-certify"]
    assert main(words) == 0
    capsys.readouterr()
    (tmp_path / "out.xml").unlink()
    monkeypatch.setattr(writing._Writer, "_again", lambda self, number: self._pen.copied(number))
    _, message = refused(capsys, *words)

    assert "openvino cannot load the repaired model: index '1' out of range  [engine-refused]" in message
    assert not (tmp_path / "out.xml").exists()


def test_what_openvino_does_not_know_is_no_fault_of_the_repair(tmp_path: Path) -> None:
    """A layer of the user's own, which only an extension has."""
    x, shared = given("x", [1, 4, 6]), given("shared", [1, 4, 6])
    both = op.multiply(op.reshape(x, i64(1, 24), special_zero=False), op.reshape(op.relu(shared), i64(1, 24), False))
    path = written(model([x, shared], y=both), tmp_path)
    path.write_text(path.read_text(encoding="utf-8").replace('"ReLU" version="opset1"', '"Own" version="extension"'))
    fixed = orx.fix(path, batch={"x": 0}, certify=False)

    assert len(fixed.changes) == 1
    with pytest.raises(FixError, match="openvino cannot load the original model"):
        orx.fix(path, batch={"x": 0})
