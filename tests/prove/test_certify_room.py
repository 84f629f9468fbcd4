"""Small inputs that become large inside: what has no room at many samples is not compared there, and no refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import onnx
import openvino
import pytest
from onnx import numpy_helper
from openvino import opset13 as op

import onereshape as orx
from onereshape.prove.engines.inside import MOST, elements_inside
from onereshape.prove.runs import term_runs
from onereshape.prove.runs.neighbours import _MANY
from onereshape.terms.limits import Limits
from tests.models import model
from tests.openvino_models import given, i64, model as ir_model, weights

HEAD: Final = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
HOWS: Final = {
    "tiled": "b = Tile(a, grown)",
    "expanded": "b = Expand(a, wide)",
    "resized": "b = Resize(a, , scales)",
    "resized twice": "c = Resize(a, , ones) b = Resize(c, , scales)",
    "padded": "b = Pad(a, pads)",
}


def upsampler(folder: Path, how: str, side: int, end: str = "") -> Path:
    """A few numbers that become a picture, whose mean is a few numbers again, behind what no terms know."""
    end = end or "m = ReduceMean <axes = [2, 3], keepdims = 0> (c2) v = com.microsoft.SampleOp(m) y = Add(v, x)"
    text = f"g (float[N, 8] x) => (float[N, 8] y) {{ a = Reshape(x, four) {HOWS[how]} c2 = Relu(b) {end} }}"
    proto = model(text, HEAD)
    arrays = {
        "four": np.array([-1, 8, 1, 1]),
        "grown": np.array([1, 1, side, side]),
        "wide": np.array([1, 1, side, side]),
        "pads": np.array([0, 0, 0, 0, 0, 0, side - 1, side - 1]),
        "scales": np.array([1, 1, side, side], np.float32),
        "ones": np.array([1, 1, 1, 1], np.float32),
    }
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    onnx.save(proto, folder / "m.onnx")
    return folder / "m.onnx"


@pytest.mark.parametrize("how", HOWS)
def test_what_is_too_much_inside_is_not_compared(how: str, tmp_path: Path) -> None:
    side = int((MOST / 130 / 8 / 2) ** 0.5) + 1

    found = orx.fix(upsampler(tmp_path, how, side), batch=True).certificate

    assert found.status == "certified"
    assert "; not compared at N = 130 (more than 536870912 elements in a run)" in found.reason
    assert {"N": 17} in found.compared
    assert {"N": 130} not in [*found.compared, *found.ran]


def test_a_little_less_is_compared(tmp_path: Path) -> None:
    found = orx.fix(upsampler(tmp_path, "tiled", 64), batch=True).certificate

    assert "compared at N = 1, 2, 3, 5, 4, 8, 17, 130; the largest difference is 0; no sample changed" in found.reason


def test_all_values_count(tmp_path: Path) -> None:
    """The input, its reshape, two pictures, and a mean, a product and a sum; no weights."""
    read = orx.load(upsampler(tmp_path, "tiled", 10))

    assert elements_inside(read.ir, {"x": np.zeros((1, 8), np.float32)}) == 16 + 2 * 800 + 8


def test_an_answer_that_has_no_room_is_none(tmp_path: Path) -> None:
    """At 130 samples the answer is larger than this memory takes; at 17 it is not."""
    end = "q = com.microsoft.SampleOp(c2) y = Flatten(q)"

    found = orx.fix(upsampler(tmp_path, "tiled", 130, end), batch=True, memory=10**9).certificate

    assert found.status == "certified"
    why = "it gave an answer of 70 MB, too much for 1.0 GB of memory"
    assert f"; not compared at N = 130 ({why})" in found.reason


@pytest.mark.parametrize("place", range(len(_MANY)))
def test_the_larger_ones_are_not_tried(place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onereshape.prove.runs.neighbours.MOST", _MANY[place] * (16 + 2 * 800 + 8) - 1)

    found = orx.fix(upsampler(tmp_path, "tiled", 10), batch=True).certificate

    assert found.status == "certified"
    assert [each["N"] for each in found.compared if each["N"] in _MANY] == [*_MANY[:place]]
    assert f"not compared at N = {', '.join(map(str, _MANY[place:]))} (" in found.reason


def test_an_ir_that_is_large_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terms of a picture may be more than a term run holds: then runs alone must tell."""
    x = given("x", [1, 8])
    wide = op.tile(op.reshape(x, i64(1, 8, 1, 1), special_zero=False), i64(1, 1, 512, 512))
    y = op.reduce_mean(op.relu(wide), i64(2, 3), keep_dims=False)
    found = ir_model([x], y=op.matmul(y, weights(8, 8), transpose_a=False, transpose_b=False))
    openvino.save_model(found, tmp_path / "m.xml", compress_to_fp16=False)
    monkeypatch.setattr(term_runs, "allowed", lambda: Limits(elements=1))

    certificate = orx.fix(tmp_path / "m.xml", batch=True).certificate

    assert certificate.status == "certified"
    assert "; not compared at N = 130 (more than 536870912" in certificate.reason
