"""Layers that nobody draws: they are handed on as they are, and refused by name where the batch meets them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset1, opset8, opset13, opset15

import onereshape as orx
from onereshape.formats.ir_as_onnx.layers import REASONS, RECORDS
from onereshape.ground.errors import FixError


def _model(path: Path, build: Any) -> str:
    """A Relu, and behind it what `build` makes of it."""
    data = opset1.parameter([1, 3, 8, 8], ov.Type.f32, "x")
    made = build(opset1.relu(data))
    made.set_friendly_name("odd/layer")
    ov.serialize(ov.Model([made.output(0)], [data], "odd"), path)
    return str(path)


def _held(*numbers: int) -> Any:
    return opset1.constant(np.array(numbers, np.int64))


def _rows(data: Any) -> Any:
    return opset1.reshape(data, _held(1, 192), False)


def _detected(data: Any) -> Any:
    boxes = opset1.constant(np.zeros((1, 2, 192), np.float32))
    words = {"keep_top_k": [4], "nms_threshold": 0.5, "normalized": True}
    return opset8.detection_output(_rows(data), _rows(data), boxes, words)


def _dice(data: Any) -> Any:
    return opset13.multinomial(_rows(data), _held(3), "i32", True, False)


CASES: dict[str, tuple[Any, str]] = {
    "AdaptiveMaxPool": (lambda data: opset8.adaptive_max_pool(data, _held(3, 5)), "its windows are of several lengths"),
    "DetectionOutput": (_detected, "it puts the boxes of all samples into one list"),
    "Multinomial": (_dice, "its numbers are drawn at random"),
    "ReorgYolo": (lambda data: opset8.reorg_yolo(data, [1]), "has no batching rule"),
    "Unique": (lambda data: opset15.unique(data, _held(0)), "it looks at the elements of all samples together"),
}


@pytest.mark.parametrize("kind", CASES)
def test_the_batch_that_meets_one_is_refused_by_its_name(kind: str, tmp_path: Path) -> None:
    build, why = CASES[kind]
    path = _model(tmp_path / "odd.xml", build)

    with pytest.raises(FixError) as caught:
        orx.fix(path, batch=True)

    said = str(caught.value)
    assert "odd/layer" in said
    assert kind in said
    assert why in said
    assert "openvino::" not in said
    assert "openvino::" not in "".join(each.message for each in orx.check(path, batch=True))


def test_a_reason_is_for_a_layer_without_a_record() -> None:
    assert [kind for kind in REASONS if kind in RECORDS] == []
