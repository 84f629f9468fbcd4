"""The models of `bench/models.py`: one block many times, drawn blocks, and a model of 2 GB of weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Step = tuple[str, list[str], dict[str, Any]]
"""Operator, inputs (a digit is the step of that number in the same block), attributes."""

ATTENTION: list[Step] = [
    ("MatMul", ["data", "weight"], {}),
    ("Reshape", ["0", "split"], {}),
    ("Transpose", ["1"], {"perm": [0, 2, 1, 3]}),
    ("Transpose", ["2"], {"perm": [0, 1, 3, 2]}),
    ("MatMul", ["2", "3"], {}),
    ("Softmax", ["4"], {"axis": -1}),
    ("MatMul", ["5", "2"], {}),
    ("Transpose", ["6"], {"perm": [0, 2, 1, 3]}),
    ("Reshape", ["7", "join"], {}),
    ("Tanh", ["8"], {}),
]
"""Attention without its projections, in ten nodes, on [1, 4, 8]."""

_DRAWN: dict[str, list[Step]] = {
    "baked": [
        ("Reshape", ["data", "flat"], {}),
        ("Softmax", ["0"], {"axis": -1}),
        ("Reshape", ["1", "square"], {}),
    ],
    "computed": [  # as torch exports a view of x.shape[0]
        ("Shape", ["data"], {}),
        ("Gather", ["0", "first"], {"axis": 0}),
        ("Unsqueeze", ["1", "axes"], {}),
        ("Concat", ["2", "rest"], {"axis": 0}),
        ("Reshape", ["data", "3"], {}),
        ("Transpose", ["4"], {"perm": [0, 2, 1]}),
        ("Transpose", ["5"], {"perm": [0, 2, 1]}),
        ("Reshape", ["6", "square"], {}),
    ],
    "convolution": [
        ("Conv", ["data", "kernel"], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
        ("BatchNormalization", ["0", "scale", "bias", "mean", "var"], {}),
        ("Relu", ["1"], {}),
    ],
    "gate": [
        ("Sigmoid", ["data"], {}),
        ("Mul", ["data", "0"], {}),
    ],
    "residual": [
        ("Add", ["data", "earlier"], {}),
        ("Clip", ["0", "low", "high"], {}),
    ],
    "heads": [
        ("Reshape", ["data", "heads"], {}),
        ("Transpose", ["0"], {"perm": [0, 2, 1, 3]}),
        ("Erf", ["1"], {}),
        ("Transpose", ["2"], {"perm": [0, 2, 1, 3]}),
        ("Reshape", ["3", "square"], {}),
    ],
}
"""Blocks on [1, 4, 4, 4], each of which a model may have next."""
_OWN = {"kernel": (4, 4, 3, 3), "scale": (4,), "bias": (4,), "mean": (4,), "var": (4,)}
"""The weights that every block has of its own."""
_INTEGERS = {
    "split": [1, 4, 2, 4],
    "join": [1, 4, 8],
    "flat": [1, 64],
    "square": [1, 4, 4, 4],
    "heads": [1, 2, 2, 16],
    "first": 0,
    "axes": [0],
    "rest": [4, 16],
}


def repeated(count: int, path: Path) -> None:
    """A model of so many nodes, the same block again and again."""
    nodes: list[Any] = []
    data = "x"
    for place in range(count // len(ATTENTION)):
        nodes += _block(f"block.{place}", ATTENTION, {"data": data})
        data = nodes[-1].output[0]
    weight = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    _save(nodes, [1, 4, 8], [numpy_helper.from_array(weight, "weight")], path)


def drawn(count: int, path: Path, seed: int) -> None:
    """A model of about so many nodes, whose blocks are drawn; some nodes have no name, and all a doc string."""
    rng = np.random.default_rng(seed)
    nodes: list[Any] = []
    weights = [numpy_helper.from_array(np.array(bound, np.float32), name) for name, bound in (("low", -8), ("high", 8))]
    kinds, made = sorted(_DRAWN), ["x"]
    while len(nodes) < count:
        steps, name = _DRAWN[kinds[rng.integers(len(kinds))]], f"block.{len(made)}"
        called = {"data": made[-1], "earlier": made[-1 - rng.integers(min(len(made), 8))]}
        for each in _OWN.keys() & {word for _, inputs, _ in steps for word in inputs}:
            called[each] = f"{name}.{each}"
            array = rng.uniform(0.1, 0.3, _OWN[each]).astype(np.float32)
            weights.append(numpy_helper.from_array(array, called[each]))
        block = _block(name, steps, called)
        for node in block:
            node.doc_string = ""
            if rng.random() < 0.2:
                node.ClearField("name")
        nodes += block
        made.append(block[-1].output[0])
    _save(nodes, [1, 4, 4, 4], weights, path)


def heavy(path: Path) -> None:
    """A model of one block between two products with 1 GB of weights each, in a file of nothing but zeros."""
    data, size = path.with_suffix(".data"), 1 << 30
    with data.open("wb") as file:
        file.truncate(2 * size)
    wide = size // 4 // 8
    weights = []
    for place, (name, dims) in enumerate((("up", (8, wide)), ("down", (wide, 8)))):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", data.name), ("offset", place * size), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        weights.append(tensor)
    weights.append(numpy_helper.from_array(np.ones((8, 8), np.float32), "weight"))
    nodes = [
        helper.make_node("MatMul", ["x", "up"], ["wide"], "up"),
        helper.make_node("MatMul", ["wide", "down"], ["narrow"], "down"),
        *_block("block", ATTENTION, {"data": "narrow"}),
    ]
    _save(nodes, [1, 4, 8], weights, path)


def _block(name: str, steps: list[Step], called: dict[str, str]) -> list[Any]:
    nodes = []
    for step, (op, inputs, attributes) in enumerate(steps):
        words = [f"{name}/{each}" if each.isdigit() else called.get(each, each) for each in inputs]
        nodes.append(helper.make_node(op, words, [f"{name}/{step}"], f"{name}/{op}_{step}", **attributes))
    return nodes


def _save(nodes: list[Any], dims: list[int], weights: list[Any], path: Path) -> None:
    used = {name for node in nodes for name in node.input}
    weights += [numpy_helper.from_array(np.array(word), name) for name, word in _INTEGERS.items() if name in used]
    output = nodes[-1].output[0]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name in ("x", output)]
    graph = helper.make_graph(nodes, "bench", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)
