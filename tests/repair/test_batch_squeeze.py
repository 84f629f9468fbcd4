"""Squeeze without axes: which dims go is known where all are numbers, and only then."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.graphs.shapes import facts_of
from onereshape.ground.errors import FixError
from tests.repair.sample_by_sample import compared
from tests.running import session
from tests.shaped_models import dims, read


def saved(folder: Path, dims: str) -> Path:
    text = f'<ir_version: 8, opset_import: ["" : 11]> g (float[{dims}] x) => (float[] y) {{ y = Squeeze(x) }}'
    model = onnx.parser.parse_model(text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, folder / "squeeze.onnx")
    return folder / "squeeze.onnx"


@pytest.mark.parametrize("dims", ["1, seq", "1, 1, seq"])
def test_a_name_may_be_1(tmp_path: Path, dims: str) -> None:
    with pytest.raises(FixError, match="it removes whatever has size 1, and only the run says whether seq has"):
        orx.fix(saved(tmp_path, dims), batch={"x": 0})


def test_one_that_names_its_batch_is_left_and_loses_it_at_1(tmp_path: Path) -> None:
    fixed = orx.fix(saved(tmp_path, "N, seq"), batch={"x": 0})

    assert fixed.changes == ()
    assert fixed.notes == ("output y has no axis for the batch where that is 1",)


@pytest.mark.parametrize("dims", ["1, 3", "1, 1, 3", "1, 3, 1"])
def test_numbers_are_known(tmp_path: Path, dims: str) -> None:
    assert orx.fix(saved(tmp_path, dims), batch={"x": 0}).certificate.status == "proven"


PAD = "p = Constant <value_ints = [0, 0, {before}, 0, 0, {after}]> () z = Pad(x, p)"
HEAD = '<ir_version: 10, opset_import: ["" : {opset}]>\n'
OPEN = {
    "never 1": ("float[1, 1, h] x", PAD.format(before=1, after=1) + " y = Squeeze(z)", ()),
    "1 where its input is empty": ("float[1, 1, h] x", PAD.format(before=0, after=1) + " y = Squeeze(z)", ("h >= 1",)),
    "two that are never 1": ("float[1, h, w] x",
                             "z = Concat <axis = 1> (x, x) u = Concat <axis = 2> (z, z) y = Squeeze(u)", ()),
    "of several samples": ("float[3, 1, h] x", PAD.format(before=1, after=1) + " y = Squeeze(z)", ()),
    "of several, 1 where it is empty": (
        "float[3, 1, h] x", PAD.format(before=1, after=0) + " s = Squeeze(z) y = Relu(s)", ("h >= 1",)
    ),
    "a size without a name": ("float[3, 1, ?] x", PAD.format(before=1, after=0) + " y = Squeeze(z)", ("x[2] >= 1",)),
}  # fmt: skip


@pytest.mark.parametrize("opset", [11, 18])
@pytest.mark.parametrize("case", OPEN)
def test_sizes_that_are_never_1_stay(case: str, opset: int, tmp_path: Path) -> None:
    given, body, conditions = OPEN[case]
    if opset == 11:
        body = body.replace(" <value_ints = [", " <value = int64[6] {").replace("]>", "}>")
    text = f"g ({given}) => (float[k] y) {{ {body} }}".replace("?", "q")
    model = onnx.parser.parse_model(HEAD.format(opset=opset) + text)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    named = model.SerializeToString()
    if "?" in given:
        model.graph.input[0].type.tensor_type.shape.dim[2].ClearField("dim_param")
    onnx.save(model, tmp_path / "m.onnx")

    fixed = orx.fix(tmp_path / "m.onnx", batch={"x": 0})

    assert fixed.certificate.status == "proven"
    assert fixed.conditions == conditions
    repaired = ir.to_proto(fixed.model.ir).SerializeToString()
    for size in (1, 2, 5) if conditions or "w" in given else (0, 1, 2, 5):
        assert compared(named, repaired, {"h": size, "q": size, "w": 3}) == (4, [])
    if "[3" in given:  # the axis of the samples stays where there is one of them
        alone = session(repaired).run(None, {"x": np.ones((1, 1, 4), np.float32)})[0]
        assert alone.shape[0] == 1
        assert alone.ndim == 2


@pytest.mark.parametrize("opset", [11, 18])
def test_a_size_that_may_be_1_is_refused_beside_one_that_may_not(opset: int, tmp_path: Path) -> None:
    text = "g (float[1, h, w] x) => (float[k] y) { z = Concat <axis = 1> (x, x) y = Squeeze(z) }"
    onnx.save(onnx.parser.parse_model(HEAD.format(opset=opset) + text), tmp_path / "m.onnx")

    with pytest.raises(FixError, match="it removes whatever has size 1, and only the run says whether w has"):
        orx.fix(tmp_path / "m.onnx", batch={"x": 0})


def test_the_rank_of_what_is_squeezed_is_known_where_no_size_is_1() -> None:
    found = facts_of(
        read(
            "g (float[1, h, w] x) => (float[k] y, float[l] v) { z = Concat <axis = 1> (x, x)"
            " u = Concat <axis = 2> (z, z) y = Squeeze(u) v = Squeeze(z) }"
        )
    )

    assert dims(found)["y"] == ("2*h", "2*w")
    assert "v" not in dims(found)
