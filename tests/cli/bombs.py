"""Tiny models that make a careless reader calculate, unfold or copy for ever: each is a few lines of a builder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from tests.cli.bomb_models import (
    INT64,
    all_names,
    attributes,
    binary,
    broadcast,
    calculated,
    calling,
    chained,
    concatenated,
    constant,
    declared_everywhere,
    dims_named,
    doubled,
    elsewhere,
    filled,
    flattened,
    gathered,
    hollow,
    in_a_row,
    infos,
    ints,
    long_name_everywhere,
    made,
    many_names,
    matrices,
    named,
    nested,
    node,
    plain,
    recursive,
    reshaped,
    resized,
    scanned,
    sliced,
    strings,
    tiled,
    times_plus,
    wide,
)

ONNX: dict[str, Callable[[], onnx.ModelProto]] = {
    "tower in a name": lambda: dims_named("9**9**9"),
    "all names": all_names,
    "powers": lambda: calculated(lambda a, b: [node("Pow", f"{a} many", b)], 7, (3, 4)),
    "powers of a name": lambda: calculated(lambda a, b: [node("Pow", f"{a} many", b)], 7),
    "squares by Pow": lambda: calculated(lambda a, b: [node("Pow", f"{a} two", b)], 40),
    "powers of a constant": lambda: reshaped(
        chained(lambda a, b: [node("Pow", f"{a} many", b)], 7), [constant("v0", [3]), constant("many", [63])]
    ),
    "v*(v+3)": lambda: calculated(times_plus, 16),
    "v*(v+3) of a number": lambda: calculated(times_plus, 16, (3, 4)),
    "squares": lambda: calculated(binary("Mul"), 64),
    "squares of a number": lambda: calculated(binary("Mul"), 64, (3, 4)),
    "sums": lambda: calculated(binary("Add"), 2000),
    "differences": lambda: calculated(lambda a, b: [node("Mul", f"{a} {a}", f"{b}_"), node("Sub", f"{b}_ {a}", b)], 30),
    "quotients": lambda: calculated(lambda a, b: [node("Div", f"{a} two", f"{b}_"), node("Mul", f"{b}_ {a}", b)], 30),
    "steps": lambda: calculated(binary("Add", with_itself=False), 2000),
    "halves": lambda: calculated(lambda a, b: [node("Div", f"{a} two", f"{b}_"), node("Add", f"{b}_ k", b)], 500),
    "products of a vector": lambda: reshaped(
        [node("Shape", "x", "s"), node("Expand", "s many", "e"), node("ReduceProd", "e", "v", keepdims=1)],
        [constant("many", [2048, 2])],
        ("N", "M"),
    ),
    "sum of many sizes": lambda: reshaped(
        [node("Shape", "x", "s"), node("ReduceSum", "s", "v", keepdims=1)], (), [f"N{index}" for index in range(900)]
    ),
    "product of many sizes": lambda: reshaped(
        [node("Shape", "x", "s"), node("ReduceProd", "s", "v", keepdims=1)], (), [f"N{index}" for index in range(900)]
    ),
    "Concat bomb": lambda: reshaped(chained(doubled, 40), [constant("v0", [1, 1])]),
    "Concat bomb of sizes": lambda: calculated(doubled, 40),
    "Concat of one many times": lambda: made(
        [node("Concat", " ".join(["line"] * 20000), "t", axis=0), node("Reshape", "x t", "y")],
        [constant("line", [1] * 4096)],
    ),
    "ConstantOfShape": lambda: filled("ConstantOfShape", [10**10], value=constant("value", [1])),
    "Expand": lambda: filled("Expand", [10**10]),
    "Tile": lambda: filled("Tile", [10**10]),
    "Range": lambda: filled("Range", [1]),
    "OneHot": lambda: filled("OneHot", [1]),
    "Pad": lambda: filled("Pad", [10**10, 10**10]),
    "negative Pad": lambda: filled("Pad", [-(2**63), 2**63 - 1]),
    "Resize": resized,
    "Gather": gathered,
    "broadcast": broadcast,
    "value_ints": lambda: ints(10**6),
    "value_ints of ones": lambda: ints(60000),
    "Reshapes in a row": lambda: in_a_row("Reshape", 5000),
    "Relus in a row": lambda: in_a_row("Relu", 20000),
    "Adds in a row": lambda: in_a_row("Add", 20000),
    "MatMuls in a row": lambda: in_a_row("MatMul", 5000),
    "Transposes in a row": lambda: in_a_row("Transpose", 20000, perm=[1, 0]),
    "Unsqueezes in a row": lambda: scanned(2000),
    "Concats in a row": lambda: concatenated(2000),
    "one Concat of many names": lambda: many_names(2000),
    "tiled": lambda: tiled(40),
    "sums and products": lambda: flattened(12),
    "Slices in a row": lambda: sliced(60),
    "functions in a row": lambda: calling(3000, 1),
    "MatMul of integers": matrices,
    "wide": lambda: wide(20000),
    "wide Reshapes": lambda: wide(5000, "Reshape"),
    "nested Ifs": lambda: nested("If", 25),
    "nested Loops": lambda: nested("Loop", 25),
    "functions that call twice": lambda: calling(30),
    "Reshapes in functions that call twice": lambda: calling(30, op="Reshape"),
    "functions that call often": lambda: calling(3, 2000),
    "recursive": recursive,
    "a million dims": lambda: plain(["N"] + [1] * 10**6),
    "a million dims declared": lambda: plain(("N", 4), declared=["N"] + [1] * 10**6),
    "a million entries": lambda: plain(("N", 4), [0] + [1] * 10**6),
    "60,000 entries": lambda: plain(("N", 4), [0, -1] + [1] * 60000),
    "1,000 names": lambda: plain([f"N{index}" for index in range(1000)]),
    "1,000 names to one": lambda: plain([f"N{index}" for index in range(1000)], [-1]),
    "30,000 names": lambda: plain([f"N{index}" for index in range(30000)], [0, -1]),
    "dims of 2**63": lambda: hollow([2**62, 2]),
    "dims of 2**63 - 1": lambda: hollow([2**63 - 1]),
    "negative dims": lambda: hollow([-5, 3]),
    "hollow": lambda: hollow([10**9]),
    "hollow integers": lambda: hollow([10**9], INT64),
    "small hollow integers": lambda: hollow([4000], INT64),
    "value_infos": lambda: infos(200_000),
    "long names": lambda: named(10**6),
    "a long name of dims": lambda: long_name_everywhere(2000, 10**5),
    "attributes": lambda: attributes(100_000),
    "strings": lambda: strings(100_000),
    "external": lambda: elsewhere(2**62, 2**62),
    "external beyond": lambda: elsewhere(2**63 + 5, 10**30),
    "wrong everywhere": lambda: declared_everywhere(5000),
}


def layer(number: int, kind: str, data: str = "", inputs: str = "", outputs: str = "") -> str:
    ports = (f"<input>{inputs}</input>" if inputs else "") + (f"<output>{outputs}</output>" if outputs else "")
    return f'<layer id="{number}" name="n{number}" type="{kind}" version="opset1">{data}{ports}</layer>'


def edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    return f'<edge from-layer="{start[0]}" from-port="{start[1]}" to-layer="{end[0]}" to-port="{end[1]}"/>'


def openvino(count: int, rank: int = 2, *, edges_more: int = 0) -> str:
    """As many Reshapes in a row, of as many dims."""
    dims = [4] + [1] * (rank - 1)
    shape, target = "".join(f"<dim>{dim}</dim>" for dim in dims), f"<dim>{rank}</dim>"

    def port(number: int, of: str = shape, kind: str = "FP32") -> str:
        return f'<port id="{number}" precision="{kind}">{of}</port>'

    given = f'<data shape="{",".join(map(str, dims))}" element_type="f32"/>'
    words = f'<data element_type="i64" shape="{rank}" offset="0" size="{8 * rank}"/>'
    layers = [layer(0, "Parameter", given, outputs=port(0))]
    layers.append(layer(1, "Const", words, outputs=port(0, target, "I64")))
    edges, before = [edge((0, 0), (2, 0))] * edges_more, (0, 0)
    for index in range(2, count + 2):
        inputs = port(0) + port(1, target, "I64")
        layers.append(layer(index, "Reshape", '<data special_zero="false"/>', inputs, port(2)))
        edges += [edge(before, (index, 0)), edge((1, 0), (index, 1))]
        before = (index, 2)
    layers.append(layer(count + 2, "Result", inputs=port(0)))
    edges.append(edge(before, (count + 2, 0)))
    body = f"<layers>{''.join(layers)}</layers><edges>{''.join(edges)}</edges>"
    return f'<?xml version="1.0"?><net name="m" version="11">{body}</net>'


def onednn(count: int, rank: int = 2) -> str:
    """The same for oneDNN."""
    dims = [4] + [1] * (rank - 1)

    def tensor(number: int) -> dict[str, Any]:
        kinds = {"dtype": "f32", "layout_type": "strided", "property_type": "variable"}
        return {"id": number, "shape": dims, "stride": [1] * rank, **kinds}

    attributes = {"shape": {"type": "s64[]", "value": dims}, "special_zero": {"type": "bool", "value": 0}}
    operators = [
        {"id": index, "name": f"r{index}", "kind": "StaticReshape", "attrs": attributes,
         "inputs": [tensor(index)], "outputs": [tensor(index + 1)]}
        for index in range(count)
    ]  # fmt: skip
    header = {"version": "3.9.0", "engine_kind": "cpu", "fpmath_mode": "strict"}
    return json.dumps({**header, "input_ports": [0], "output_ports": [count], "graph": operators})


OTHERS: dict[str, tuple[str, Callable[[], str]]] = {
    "OpenVINO layers": (".xml", lambda: openvino(20000)),
    "OpenVINO dims": (".xml", lambda: openvino(1, 100_000)),
    "OpenVINO nesting": (".xml", lambda: "<net>" + "<a>" * 100_000 + "</a>" * 100_000 + "</net>"),
    "OpenVINO edges": (".xml", lambda: openvino(1, edges_more=100_000)),
    "oneDNN operators": (".json", lambda: onednn(20000)),
    "oneDNN dims": (".json", lambda: onednn(1, 100_000)),
    "oneDNN nesting": (".json", lambda: '{"graph": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    "oneDNN numbers": (".json", lambda: onednn(1).replace('"value": [4', '"value": [' + "9" * 5000)),
}  # fmt: skip


def write(name: str, folder: Path) -> str:
    """The file of a bomb."""
    if name in ONNX:
        path = folder / "m.onnx"
        path.write_bytes(ONNX[name]().SerializeToString())
        return str(path)
    suffix, text = OTHERS[name]
    path = folder / f"m{suffix}"
    path.write_text(text(), encoding="utf-8")
    if suffix == ".xml":
        (folder / "m.bin").write_bytes(np.array([4] + [1] * 100_000, np.int64).tobytes())
    return str(path)
