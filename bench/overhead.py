"""The cost of one call on a small contiguous array, against NumPy, einops and the engines: `make bench`.

All are timed in one run, interleaved, and the best of several rounds counts.  The last column is what a call costs
relative to bare `ndarray.reshape` with the output dims already known.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import einops
import numpy as np
import onnx
import onnx.reference
import onnxruntime
import openvino

import onereshape as orx

ROUNDS = 7
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
SHAPE = np.array([0, -1])


def model() -> onnx.ModelProto:
    """One Reshape with its target as a run-time input."""
    node = onnx.helper.make_node("Reshape", ["x", "shape"], ["y"])
    inputs = [
        onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, None, None]),
        onnx.helper.make_tensor_value_info("shape", onnx.TensorProto.INT64, [2]),
    ]
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, None])
    graph = onnx.helper.make_graph([node], "reshape", inputs, [output])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)


def openvino_request() -> Callable[[], Any]:
    """The same, compiled by OpenVINO for the CPU."""
    x = openvino.opset13.parameter([-1, -1, -1], np.float32)
    shape = openvino.opset13.parameter([2], np.int64)
    compiled = openvino.compile_model(
        openvino.Model([openvino.opset13.reshape(x, shape, special_zero=True)], [x, shape]), "CPU"
    )
    request = compiled.create_infer_request()
    return lambda: request.infer([X, SHAPE])


def contenders() -> dict[str, Callable[[], Any]]:
    """Each a call without arguments that gives the dims (2, 12)."""
    static = orx.Reshape("onednn-static", shape=(0, -1), special_zero=True)
    dynamic = orx.Reshape("onnx")
    reference = onnx.reference.ReferenceEvaluator(model())
    session = onnxruntime.InferenceSession(model().SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"x": X, "shape": SHAPE}
    return {
        "ndarray.reshape, output known": lambda: X.reshape((2, 12)),
        "onereshape op(x)": lambda: static(X),
        "onereshape op(x, shape)": lambda: dynamic(X, SHAPE),
        "onereshape.reshape(x, [0, -1])": lambda: orx.reshape(X, [0, -1], "onnx"),
        f"einops {version('einops')} rearrange": lambda: einops.rearrange(X, "a b c -> a (b c)"),
        f"onnx.reference {onnx.__version__}": lambda: reference.run(None, feeds),
        f"onnxruntime {onnxruntime.__version__}": lambda: session.run(None, feeds)[0],
        f"openvino {version('openvino')}": openvino_request(),
    }


def main() -> None:
    """Times all of them and prints the table."""
    calls = contenders()
    best = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    for _ in range(ROUNDS):
        for name, call in calls.items():
            number = max(200, int(0.02 / (timeit.timeit(call, number=50) / 50)))
            best[name] = min(best[name], timeit.timeit(call, number=number) / number)
    bare = best["ndarray.reshape, output known"]
    print(f"{'one call on float32 [2, 3, 4] by [0, -1]':42} {'ns':>9} {'x NumPy':>9}")
    for name, seconds in best.items():
        print(f"{name:42} {seconds * 1e9:9.0f} {seconds / bare:9.1f}")


if __name__ == "__main__":
    main()
