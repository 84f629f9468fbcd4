"""Models for pages: small and large, sound and broken, with names that nobody should have."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "&amp;&lt;b&gt;",
    "\u202egnp.exe\u2066",
    "a\nb\x1b[2J\x00c",
    "</svg></title></style><svg onload=alert(1)>",
    "漢字のとても長い名前のノード" * 4,
    "e\u0301\u0301\u0301" * 30,
    "w" * 100_000,
    "]]>--><!--",
)
"""Names that would be markup, that turn the text around, that nobody sees, or that never end."""


def text_model(path: Path, text: str, head: str = '<ir_version: 10, opset_import: ["" : 18]>\n') -> Path:
    """A model of text."""
    onnx.save(parser.parse_model(head + text), path)
    return path


def declared(path: Path) -> Path:
    """The batch is declared free, and a constant fixes it."""
    text = """
    agraph (float[N, 3, 4] x) => (float[a, b] y)
    <int64[2] shape = {2, 12}>
    { r = Relu(x)  s = Sigmoid(r)  t = Reshape(s, shape)  y = Neg(t) }
    """
    return text_model(path, text)


def control(path: Path) -> Path:
    """Reshapes in both branches of an If, in the body of a Loop, and in a function."""
    head = '<ir_version: 10, opset_import: ["" : 18, "own" : 1]>\n'
    text = """
    agraph (float[1, 6] x, bool c) => (float[a, b] y)
    <int64[2] two = {1, 6}, int64[2] three = {3, 2}, int64 count = {3}, bool yes = {1}>
    {
      i = If (c) <then_branch = g1 () => (float[a, b] o1) { o1 = Reshape(x, two) },
                  else_branch = g2 () => (float[a, b] o2) { o2 = Reshape(x, three) }>
      l = Loop (count, yes, x) <body = g3 (int64 n, bool k, float[p, q] v) => (bool m, float[p, q] w)
          { m = Identity(k)  w = Reshape(v, two) }>
      f = own.flat(x)
      g = Reshape(f, two)
      y = Add(l, g)
    }
    <domain: "own", opset_import: ["" : 18]>
    flat (a) => (b) { s = Constant <value_ints = [-1]> ()  b = Reshape(a, s) }
    """
    return text_model(path, text, head)


def long_chain(path: Path, nodes: int, *, names: tuple[str, ...] = ()) -> Path:
    """A model of many nodes, every third of them a Reshape with the batch in its constant."""
    made, held = [], []
    before = "x"
    for number in range(nodes // 3):
        called = names[number % len(names)] if names else f"/encoder/layer.{number}/attention/self/Reshape"
        wide = number % 2 == 0
        held.append(numpy_helper.from_array(np.array([1, 4, 6] if wide else [1, 24], np.int64), f"shape_{number}"))
        made.append(helper.make_node("Reshape", [before, f"shape_{number}"], [f"r{number}"], name=f"{called}{number}"))
        made.append(helper.make_node("Relu", [f"r{number}"], [f"a{number}"], name=f"/encoder/layer.{number}/Relu"))
        made.append(helper.make_node("Neg", [f"a{number}"], [f"n{number}"], name=f"/encoder/layer.{number}/Neg"))
        before = f"n{number}"
    made.append(helper.make_node("Identity", [before], ["y"]))
    dims = [1, 4, 6] if (nodes // 3) % 2 else [1, 24]
    graph = helper.make_graph(
        made,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 24])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, dims)],
        held,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    return path


def hostile(path: Path) -> Path:
    """Every name of a graph, and of its dims, is one that nobody should have."""
    graph = helper.make_graph(
        [
            node
            for number, name in enumerate(HOSTILE)
            for node in (
                helper.make_node("Reshape", ["x", f"{name}_shape"], [f"{name}_r"], name=name),
                helper.make_node("Relu", [f"{name}_r"], [f"{name}_y{number}"], name=f"{name}_relu"),
            )
        ],
        HOSTILE[0],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 6, HOSTILE[1]])],
        [
            helper.make_tensor_value_info(f"{name}_y{number}", TensorProto.FLOAT, None)
            for number, name in enumerate(HOSTILE)
        ],
        [numpy_helper.from_array(np.array([1, 6, -1], np.int64), f"{name}_shape") for name in HOSTILE],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    model.producer_name = HOSTILE[0]
    onnx.save(model, path)
    return path


def onednn(path: Path) -> Path:
    """A oneDNN graph with one StaticReshape that no input satisfies."""
    tensor = {"dtype": "f32", "stride": [], "layout_type": "strided", "property_type": "variable"}
    graph = {
        "version": "3.9.0",
        "engine_kind": "cpu",
        "fpmath_mode": "strict",
        "graph": [
            {
                "id": 1,
                "name": "<b>flat</b>",
                "kind": "StaticReshape",
                "attrs": {
                    "shape": {"type": "s64[]", "value": [5, -1]},
                    "special_zero": {"type": "bool", "value": 0},
                },
                "inputs": [{**tensor, "id": 0, "shape": [2, 3]}],
                "outputs": [{**tensor, "id": 1, "shape": [5, -1]}],
            }
        ],
    }
    path.write_text(json.dumps(graph), encoding="utf-8")
    return path
