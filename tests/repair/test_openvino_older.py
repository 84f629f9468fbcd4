"""IRs of version 10, as Model Optimizer wrote them: OpenVINO reads inputs and outputs in other types than they say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import openvino
import pytest
from openvino import opset13 as op

import onereshape as orx
from tests.openvino_models import i64

KINDS = ("f16", "f32", "bf16", "i64", "u8")


def older(model: openvino.Model, path: Path) -> Path:
    """A file as it was written then: no types where a port is fed, and no names of tensors."""
    openvino.serialize(model, path)
    net = ET.parse(path)  # noqa: S314 - our own file
    net.getroot().set("version", "10")
    for port in net.iterfind(".//input/port"):
        del port.attrib["precision"]
    for port in net.iterfind(".//output/port"):
        port.attrib.pop("names", None)
    net.write(path)
    return path


def flattened(kind: str, count: int) -> openvino.Model:
    """Inputs behind each other, and made flat."""
    inputs = [op.parameter([1, 4, 4], getattr(openvino.Type, kind), f"in{place}") for place in range(count)]
    joined = op.concat(inputs, 1) if count > 1 else op.reshape(inputs[0], i64(1, 2, 8), special_zero=False)
    flat = op.reshape(joined, i64(1, 16 * count), special_zero=False)
    return openvino.Model([op.result(flat, "out")], inputs, "older")


def answer(path: Path, feeds: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    for place, (port, array) in enumerate(zip(compiled.inputs, feeds, strict=True)):
        kind = port.get_element_type()
        request.set_input_tensor(
            place, openvino.Tensor(array.astype(kind.to_dtype()), openvino.Shape(array.shape), kind)
        )
    request.infer()
    return np.array(request.get_output_tensor(0).data).astype(np.float32)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_fed_in_the_type_in_which_openvino_reads_them(kind: str, count: int, tmp_path: Path) -> None:
    path, out = older(flattened(kind, count), tmp_path / "model.xml"), tmp_path / "out.xml"
    fixed = orx.fix(path, batch=True)
    orx.save(fixed.model, out)
    rng = np.random.default_rng(3)
    feeds = [rng.integers(0, 100, (3, 4, 4)).astype(np.float32) for _ in range(count)]

    assert fixed.certificate is not None
    assert fixed.certificate.status == "proven"
    alone = [answer(path, [array[each : each + 1] for array in feeds]) for each in range(3)]
    np.testing.assert_array_equal(answer(out, feeds), np.concatenate(alone))
    assert 'version="10"' in out.read_text(encoding="utf-8")


def test_weights_of_f16_are_calculated_with_in_f32(tmp_path: Path) -> None:
    """Nothing in the file is f32, and yet the output is."""
    x = op.parameter([1, 4, 8], openvino.Type.f16, "x")
    table = op.constant(np.random.default_rng(0).standard_normal((32, 5)).astype(np.float16))
    made = op.matmul(op.reshape(x, i64(1, 32), special_zero=False), table, transpose_a=False, transpose_b=False)
    path = older(openvino.Model([op.result(made, "y")], [x], "older"), tmp_path / "model.xml")
    fixed = orx.fix(path, batch=True)

    assert fixed.certificate is not None
    assert fixed.certificate.status == "proven"
    assert fixed.certificate.engine.startswith("openvino ")
    assert orx.certify(path, fixed.model, batch=True).status == "proven"
    assert fixed.model.openvino().output(0).get_element_type() == openvino.Type.f32
