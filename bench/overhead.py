"""What a call costs besides the reshape itself: `make bench`, or `python bench/overhead.py [--short]`.

Small contiguous arrays, whose reshape is a view; the bare one is told the output dims.  All calls are timed in one run,
in turn, in short loops; the best of many counts, and ratios are printed: to bare `ndarray.reshape`, and on tensors to
torch's own `reshape`.  Below, what engines take for the same Reshape.
"""

from __future__ import annotations

import argparse
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
import torch

import onereshape as orx
from onereshape.arrays import calls

ROUNDS = 200
LOOP = 100
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
T = torch.from_numpy(X.copy())
SHAPE = np.array([0, -1])
SHAPE_32 = np.array([0, -1], np.int32)

Call = Callable[[], Any]


def reshaping(x: Any, rearrange: str) -> dict[str, Call]:
    """The calls of onereshape, and einops beside them; each gives the dims (2, 12)."""
    op, dynamic = orx.Reshape("onnx").bind([0, -1]), orx.Reshape("onnx")
    static = orx.Reshape("onednn-static", shape=(0, -1), special_zero=True)
    return {
        "op(x)": lambda: op(x),
        "op(x), onednn-static": lambda: static(x),
        "op(x, [0, -1])": lambda: dynamic(x, [0, -1]),
        "op(x, array)": lambda: dynamic(x, SHAPE),
        'reshape(x, [0, -1], "onnx")': lambda: orx.reshape(x, [0, -1], "onnx"),
        'reshape(x, (0, -1), "onnx")': lambda: orx.reshape(x, (0, -1), "onnx"),
        'reshape(x, array, "onnx")': lambda: orx.reshape(x, SHAPE, "onnx"),
        'reshape(x, [0, -1], "onnx-1")': lambda: orx.reshape(x, [0, -1], "onnx-1"),
        'reshape(x, [0, -1], "onnx-13")': lambda: orx.reshape(x, [0, -1], "onnx-13"),
        'reshape(x, [0, -1], "openvino", special_zero=True)': lambda: orx.reshape(
            x, [0, -1], "openvino", special_zero=True
        ),
        'reshape(x, [0, -1], "onednn-static", special_zero=True)': lambda: orx.reshape(
            x, [0, -1], "onednn-static", special_zero=True
        ),
        'reshape(x, array, "onednn-dynamic", special_zero=True)': lambda: orx.reshape(
            x, SHAPE_32, "onednn-dynamic", special_zero=True
        ),
        f"einops {version('einops')} rearrange": lambda: einops.rearrange(x, rearrange),
    }


def best(timed: dict[str, Call], rounds: int, loop: int) -> dict[str, float]:
    """Seconds for each call: the least of many short loops, in turn."""
    for call in timed.values():
        assert tuple(call().shape) == (2, 12)
    found = dict.fromkeys(timed, float("inf"))
    for _ in range(rounds):
        for name, call in timed.items():
            found[name] = min(found[name], timeit.timeit(call, number=loop) / loop)
    return found


def table(title: str, bare: str, call: Call, others: dict[str, Call], rounds: int) -> None:
    times = best({bare: call} | others, rounds, LOOP)
    print(f"\n{title:60}{'ns':>8}{'times':>8}")
    for name, seconds in times.items():
        print(f"{name:60}{seconds * 1e9:8.0f}{seconds / times[bare]:8.2f}")


# The engines


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


def openvino_request() -> Call:
    """The same, compiled by OpenVINO for the CPU."""
    x = openvino.opset13.parameter([-1, -1, -1], np.float32)
    shape = openvino.opset13.parameter([2], np.int64)
    compiled = openvino.compile_model(
        openvino.Model([openvino.opset13.reshape(x, shape, special_zero=True)], [x, shape]), "CPU"
    )
    request = compiled.create_infer_request()
    return lambda: request.infer([X, SHAPE])[0]


def engines() -> dict[str, Call]:
    reference = onnx.reference.ReferenceEvaluator(model())
    session = onnxruntime.InferenceSession(model().SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"x": X, "shape": SHAPE}
    return {
        f"onnx.reference {onnx.__version__}": lambda: reference.run(None, feeds)[0],  # type: ignore[index]
        f"onnxruntime {onnxruntime.__version__}": lambda: session.run(None, feeds)[0],
        f"openvino {version('openvino')}": openvino_request(),
    }


def main() -> None:
    """Times all of them and prints the tables."""
    parser = argparse.ArgumentParser(description="What a call costs besides the reshape itself.")
    parser.add_argument("--short", action="store_true", help="a quarter of the rounds")
    rounds = ROUNDS // 4 if parser.parse_args().short else ROUNDS
    print(f"float32 [2, 3, 4] by [0, -1], calls looked up by {'C++' if calls.ASKED else 'Python'}")
    bare, listed, einsum = "bare x.reshape((2, 12))", "bare x.reshape([2, 12])", "a b c -> a (b c)"
    lists: dict[str, Call] = {listed: lambda: X.reshape([2, 12])}
    table(f"NumPy {np.__version__}", bare, lambda: X.reshape((2, 12)), lists | reshaping(X, einsum), rounds)
    bare, lists = "bare x.reshape(2, 12)", {listed: lambda: T.reshape([2, 12])}
    table(f"torch {torch.__version__}", bare, lambda: T.reshape(2, 12), lists | reshaping(T, einsum), rounds)
    table("engines", "bare ndarray.reshape", lambda: X.reshape((2, 12)), engines(), max(rounds // 10, 5))


if __name__ == "__main__":
    main()
