"""An ONNX model beside an OpenVINO IR, in either order: each in its own engine, the terms on the image of the IR."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import openvino
import pytest

import onereshape as orx
from onereshape.prove.counterexample import Counterexample
from tests.checking import written

BODIES = {
    "elementwise": "(float[N, 4] x, float[N, 4] v) => (float[N, 4] y, float[N, 4] z) <float[4] b = {1, 2, 3, 4}> "
    "{ h = Add(x, b) y = Relu(h) z = Mul(h, v) }",
    "a Reshape": "(float[N, 6] x) => (float[N, 2, 3] y) <int64[3] t = {0, 2, 3}> { h = Reshape(x, t) y = Sigmoid(h) }",
    "several sizes": "(float[N, S] x, float[N, S] v) => (float[N, S] y) { h = Max(x, v) y = Tanh(h) }",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def two(folder: Path, body: str) -> tuple[str, str]:
    """A model as ONNX and as the IR that openvino makes of it."""
    written(f"g {body}", folder, "m.onnx")
    openvino.save_model(openvino.convert_model("m.onnx"), "m.xml", compress_to_fp16=False)
    return "m.onnx", "m.xml"


@pytest.mark.parametrize("what", BODIES)
@pytest.mark.parametrize("turn", [1, -1])
def test_a_converted_model_is_the_same(what: str, turn: int, here: Path) -> None:
    found = orx.certify(*two(here, BODIES[what])[::turn])

    assert found.status == "proven", found
    first, second = found.engine.split(" beside ")[::turn]
    assert first.startswith("onnxruntime ")
    assert second.startswith("openvino ")
    engines = "onnxruntime and openvino" if turn == 1 else "openvino and onnxruntime"
    assert f"; {engines} agree at N = " in found.reason or f"; {engines} agree at (N, S) = " in found.reason


@pytest.mark.parametrize("turn", [1, -1])
def test_another_weight_differs_and_is_replayed(turn: int, here: Path) -> None:
    _, held = two(here, BODIES["elementwise"])
    other = written(f"g {BODIES['elementwise'].replace('3, 4}', '3, 5}')}", here, "other.onnx")
    pair: Any = (str(other), held)[::turn]
    found = orx.certify(*pair)

    assert found.status == "differs"
    assert isinstance(found.counterexample, Counterexample)
    assert found.counterexample.index is not None
    assert found.counterexample.index[-1] == 3
    found.counterexample.save("x.npz")
    from onereshape.cli import main

    assert main(["certify", *pair, "--replay", "x.npz"]) == 1
    assert main(["certify", *("m.onnx", "m.xml")[::turn], "--replay", "x.npz"]) == 0


def test_a_repaired_ir_beside_the_onnx_model_it_was_made_of(here: Path) -> None:
    _, held = two(here, BODIES["a Reshape"].replace("N", "1"))
    fixed = orx.fix(held, batch=True)
    orx.save(fixed.model, "free.xml")

    assert orx.certify("m.onnx", "free.xml", batch=True).status == "proven"


def test_outputs_of_other_names_are_no_difference(here: Path) -> None:
    _, held = two(here, BODIES["a Reshape"])
    model = onnx.load("m.onnx")
    model.graph.output[0].name = model.graph.node[-1].output[0] = "q"
    onnx.save(model, "q.onnx")
    found = orx.certify("q.onnx", held)

    assert (found.status, found.counterexample) == ("failed", None)
    assert "has the outputs ['y'], and the original has ['q']" in found.reason
