"""The law of records: what is drawn for a layer answers in onnxruntime as the layer does in openvino."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import onnx_ir as ir
import openvino as ov
from onnxruntime.capi import onnxruntime_pybind11_state as refusals

from onereshape.formats.openvino_ir import load
from onereshape.openvino.drawing import DOMAIN
from onereshape.openvino.image import image
from tests.openvino.making import Case, Maker
from tests.running import session

CONFIG = {"INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
CORE = ov.Core()
Arrays = list[np.ndarray[Any, Any]]


def broken(case: Case, folder: Path, *, said_only: bool = False) -> list[str]:
    """What is wrong with a case, with its dims said and unsaid."""
    found = []
    for unsaid in (False,) if case.said or said_only else (False, True):
        why = _wrong(case, folder, unsaid=unsaid)
        if why:
            found.append(f"{case.kind} {case.name}{' (unsaid dims)' if unsaid else ''}: {why}")
    return found


def _wrong(case: Case, folder: Path, *, unsaid: bool) -> str | None:
    maker = Maker(zlib.crc32(f"{case.kind} {case.name}".encode()), unsaid=unsaid)
    path = _written(case, maker, folder)
    if case.kind not in {layer.get("type") for layer in ET.parse(path).iter("layer")}:  # noqa: S314 - our own file
        return "the model has no such layer"
    drawn = image(load(str(path)))
    undrawn = [node for node in drawn.graph if node.domain == DOMAIN]
    if undrawn:
        why = str(undrawn[0].attributes["why"].value) if "why" in undrawn[0].attributes else ""
        if unsaid and "known" in why:
            return None
        return None if case.undrawn is not None and case.undrawn in why else f"it is not drawn: {why!r}"
    if case.undrawn is not None:
        return None if unsaid else "it is drawn"
    return _apart(case, (_specified if case.specified else theirs)(path, maker.arrays), ours(drawn, maker.arrays))


def _written(case: Case, maker: Maker, folder: Path) -> Path:
    made = case.build(maker)
    results = [*made.outputs()] if isinstance(made, ov.Node) else [*made]
    path = folder / "case.xml"
    ov.serialize(ov.Model(results, maker.parameters, "case"), path)
    if case.swap:
        text = path.read_text(encoding="utf-8")
        for before, after in case.swap:
            assert before in text, f"{case.name}: {before} is not there"
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")
    return path


def theirs(path: Path, arrays: Arrays) -> Arrays:
    """What openvino's CPU plugin answers."""
    compiled = CORE.compile_model(CORE.read_model(path), "CPU", CONFIG)
    request = compiled.create_infer_request()
    for place, array in enumerate(arrays):
        request.set_input_tensor(place, ov.Tensor(np.ascontiguousarray(array).reshape(array.shape)))
    request.infer()
    return [np.array(request.get_output_tensor(place).data) for place in range(len(compiled.outputs))]


def _specified(path: Path, arrays: Arrays) -> Arrays:
    model = CORE.read_model(path)
    found = [ov.Tensor(each.get_element_type(), each.get_partial_shape().to_shape()) for each in model.outputs]
    assert model.evaluate(found, [ov.Tensor(array) for array in arrays])
    return [np.array(each.data) for each in found]


def ours(model: ir.Model, arrays: Arrays) -> Arrays:
    """What onnxruntime answers, with nothing fused."""
    proto = ir.to_proto(model)
    try:
        loaded = session(proto)
    except refusals.NotImplemented:  # the newest version is of more types only
        next(each for each in proto.opset_import if not each.domain).version = 21
        loaded = session(proto)
    names = [each.name for each in loaded.get_inputs()]
    return list(loaded.run(None, dict(zip(names, arrays, strict=True))))


def _apart(case: Case, theirs: Arrays, ours: Arrays) -> str | None:
    return apart(theirs[: case.seen], ours[: case.seen], case.loose, order=not case.sorted)


def apart(theirs: Arrays, ours: Arrays, loose: float, *, order: bool = True) -> str | None:
    """What differs between two answers."""
    for place, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        if their.dtype != our.dtype or their.shape != our.shape:
            return f"output {place} is {their.dtype}{their.shape}, and drawn {our.dtype}{our.shape}"
        first, second = (each if order else np.sort(each, -1) for each in (their, our))
        if first.dtype.kind == "f":
            close = np.allclose(first, second, rtol=loose, atol=loose, equal_nan=True)
        else:
            close = np.array_equal(first, second)
        if not close:
            return f"output {place} is {_shown(first)}, and drawn {_shown(second)}"
    return None


def _shown(array: np.ndarray[Any, Any]) -> str:
    return str(array.ravel()[:8].tolist())
