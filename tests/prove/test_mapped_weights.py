"""Large weights go to the engine as one file, whichever models have them."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import numpy_helper, parser

import onereshape as orx
from onereshape.prove.engines import engine
from onereshape.prove.engines.engine import Refusal, Session

WIDE = 1 << 15


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, with a model beside it whose weights are large enough to be put there."""
    monkeypatch.setattr(engine, "_LARGE", 1)
    (tmp_path / "files").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "files"))
    made = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 32768] x) => (float[1, 32768] y) { a = Add(x, w)  y = Mul(a, v) }"""
    )
    rng = np.random.default_rng(0)
    for name in "wv":
        made.graph.initializer.append(numpy_helper.from_array(rng.standard_normal((1, WIDE), np.float32), name))
    onnx.save(made, tmp_path / "model.onnx")
    return tmp_path / "files"


def test_two_models_share_a_file_that_goes_with_them(files: Path) -> None:
    model = orx.load(files.parent / "model.onnx")
    x = np.ones((1, WIDE), np.float32)
    w, v = (each.const_value.numpy() for each in model.ir.graph.initializers.values() if each.const_value is not None)
    other = model.ir.clone()
    third = ir.Value(
        name="third", const_value=orx.load(files.parent / "model.onnx").ir.graph.initializers["v"].const_value
    )
    other.graph.register_initializer(third)
    other.graph.node(1).replace_input_with(1, third)
    sessions = [Session(each, model.folder) for each in (model.ir, model.ir.clone(), other)]
    for session in sessions:
        assert np.array_equal(session.run({"x": x})["y"], (x + w) * v)
    (written,) = files.rglob("weights")
    assert written.stat().st_size == 3 * 4 * WIDE
    sessions[0]._child.end()  # the file is there for the next process, too
    assert np.array_equal(sessions[0].run({"x": x})["y"], (x + w) * v)
    del sessions, session, model, other, third, w, v
    gc.collect()
    assert not [*files.rglob("weights")]


def test_without_room_for_a_file_they_are_in_the_message(files: Path) -> None:
    model = orx.load(files.parent / "model.onnx")
    files.rmdir()
    assert Session(model.ir, model.folder).run({"x": np.ones((1, WIDE), np.float32)})["y"].shape == (1, WIDE)


def test_a_refusal_has_no_folder(files: Path) -> None:
    model = orx.load(files.parent / "model.onnx")
    model.ir.graph.node(0).op_type = "Forest"
    with pytest.raises(Refusal) as refused:
        Session(model.ir, model.folder)
    assert "Forest" in refused.value.why
    assert "onereshape-" not in refused.value.why


def test_a_repair_is_proven_as_before(files: Path) -> None:
    assert orx.fix(files.parent / "model.onnx", batch=True).certificate is not None
    other = orx.load(files.parent / "model.onnx")
    bulk = other.ir.graph.initializers["w"]
    assert bulk.const_value is not None
    changed = bulk.const_value.numpy().copy()
    changed[0, -1] += 1
    bulk.const_value = ir.tensor(changed, name="w")
    assert orx.certify(files.parent / "model.onnx", other).status == "differs"
    assert files.exists()
