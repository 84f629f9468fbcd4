"""An installed package, whatever the system: what it imports, infers, reshapes, checks and repairs.

It needs pytest and onnxruntime alone, and runs beside a wheel, away from the rest of the tests.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import onereshape as orx


def baked(path: Path) -> str:
    """Writes a model whose Reshape holds the batch of 2."""
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("Reshape", ["r", "t"], ["y"])]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        for name, dims in (("x", [2, 3, 4]), ("y", [2, 12]))
    ]
    target = helper.make_tensor("t", TensorProto.INT64, [2], [2, 12])
    graph = helper.make_graph(nodes, "baked", ends[:1], ends[1:], [target])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return str(path)


def typed(*words: str) -> subprocess.CompletedProcess[str]:
    """A command, as somebody types it."""
    command = [sys.executable, "-m", "onereshape", *words]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)  # noqa: S603 - ours


def test_the_rule_and_its_inference() -> None:
    assert orx.resolve([2, 3, 4], [0, -1], "onnx-14") == (2, 12)
    assert orx.resolve([2, 3, 4], [0, -1], "openvino", special_zero=True) == (2, 12)
    assert str(orx.infer(["N", 3, 4], [0, -1], "onnx")) == "[N, 12]"


def test_arrays_of_numpy() -> None:
    data = np.arange(24).reshape(2, 3, 4)

    assert np.shares_memory(orx.reshape(data, [0, -1], "onnx"), data)
    for order in ((2, 1, 0), (1, 0, 2), (0, 2, 1)):
        moved = data.transpose(order)
        assert np.array_equal(orx.reshape(moved, [-1], "onnx"), moved.ravel())


def test_an_operator_in_another_dialect() -> None:
    found = orx.translate(orx.Reshape("onnx-14", allowzero=0), "openvino", target=[0, 4])

    assert found(np.zeros((2, 4))).shape == (2, 4)


def test_a_model_is_checked_repaired_and_certified(tmp_path: Path) -> None:
    path, repaired = baked(tmp_path / "m.onnx"), tmp_path / "n.onnx"
    checked = typed("check", path, "--batch")
    fixed = typed("fix", path, "--batch", "-o", str(repaired))

    assert checked.returncode == 1, checked.stderr
    assert "baked-dim" in checked.stdout
    assert fixed.returncode == 0, fixed.stderr
    assert typed("check", str(repaired), "--batch").returncode == 0
    assert onnx.load(repaired).graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"


def test_the_versions() -> None:
    found = typed("--version")

    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith(f"onereshape {orx.__version__}\n")
    assert "certificates: onnxruntime" in found.stdout
