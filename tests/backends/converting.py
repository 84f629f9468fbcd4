"""Converting as a user does, and running what was written."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino
import pytest
from onnx import checker, helper, numpy_helper

import onereshape
from onereshape.cli import main
from onereshape.formats.model import load
from tests.engines.onednn_engines import run_graph
from tests.models import write
from tests.running import session

Captured = pytest.CaptureFixture[str]
UNKNOWN = -(2**63)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: Captured, *words: str) -> str:
    """What a command that succeeds prints."""
    code = main(["convert", *words])
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return printed.out.removesuffix("\n")


def refused(capsys: Captured, *words: str) -> tuple[int, str]:
    """The exit code and the first line of the message of a command that does not succeed; it leaves nothing behind."""
    before = sorted(Path().iterdir())
    code = main(["convert", *words])
    printed = capsys.readouterr()
    assert printed.out == ""
    assert sorted(Path().iterdir()) == before
    return code, printed.err.removeprefix("onereshape: ").splitlines()[0]


# Engines


@cache
def core() -> openvino.Core:
    return openvino.Core()


def run_onnx(path: str, *feeds: Any, check: bool = True) -> Any:
    if check:
        checker.check_model(onnx.load(path), full_check=True)
    loaded = session(path, optimized=True)
    names = [value.name for value in loaded.get_inputs()]
    return loaded.run(None, dict(zip(names, feeds, strict=True)))[0]


def run_openvino(path: str, *feeds: Any) -> Any:
    found = core().read_model(path)
    if found.inputs[0].partial_shape.rank.is_dynamic:  # which the CPU plugin does not take
        found.reshape({0: feeds[0].shape})
    request = core().compile_model(found, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for index, feed in enumerate(feeds):
        request.set_input_tensor(index, openvino.Tensor(np.ascontiguousarray(feed)))
    request.infer()
    return request.get_output_tensor(0).data.copy()


def run_onednn(path: str, *feeds: Any) -> Any:
    """The graph of a file; oneDNN itself has only StaticReshape, what else a file says is run by the operator."""
    (node,) = load(path).reshapes
    if node.spec.name == "onednn-static":
        graph = json.loads(Path(path).read_text(encoding="utf-8"))
        (given,), (wanted,) = graph["input_ports"], graph["output_ports"]
        return run_graph(graph, {given: feeds[0]})[wanted].array
    op = onereshape.Reshape(node.spec, **node.attributes)
    return op(*(feed.astype(np.int32) if feed.dtype == np.int64 else feed for feed in feeds))


def onnx_source(dims: Any, words: Any, copies: bool, dtype: str = "float", opset: int = 21) -> str:
    kind = onnx.TensorProto.DataType.Value(dtype.upper())
    inputs = [helper.make_tensor_value_info("x", kind, dims)]
    node = helper.make_node("Reshape", ["x", "s"], ["y"], name="r")
    if not copies:
        node.attribute.append(helper.make_attribute("allowzero", 1))
    constants = []
    if words is None:
        inputs.append(helper.make_tensor_value_info("s", onnx.TensorProto.INT64, [2]))
    else:
        constants.append(numpy_helper.from_array(np.array(words, np.int64), "s"))
    outputs = [helper.make_tensor_value_info("y", kind, None)]
    graph = helper.make_graph([node], "g", inputs, outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", opset)], ir_version=10)
    return write(made, Path("source.onnx"))
