"""Squeeze without axes: which dims go is known where all are numbers, and only then."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import onereshape as orx
from onereshape.errors import FixError


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
