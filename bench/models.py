"""check and fix (without the certificate) beside onnxsim and onnxslim: seconds and peak memory, on the same files.

    python bench/models.py [LARGEST]

Every run is a process of its own, which imports first and is timed from reading the file to having the answer (fix,
onnxsim and onnxslim: to the written file).  The models repeat a block of ten nodes with a baked batch; LARGEST is the
largest number of nodes (default 100,000).  The last model has 2 GB of weights in another file, a sparse one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

TOOLS = {
    "check": ("import onereshape as orx; from onereshape.models import check", "orx.check(model, batch=True)"),
    "fix": (
        "import onereshape as orx; from onereshape.models import fix",
        "orx.save(orx.fix(model, batch=True, certify=False).model, out)",
    ),
    "onnxslim": ("import onnxslim", "onnxslim.slim(model, out)"),
    "onnxsim": ("import onnx, onnxsim", "onnx.save(onnxsim.simplify(onnx.load(model))[0], out)"),
}
CHILD = """
import sys, time, json
model, out = sys.argv[1:]
{imports}
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([seconds, peak / 1024]))
"""
LONGEST = 600


def block(name: str, data: str) -> list[Any]:
    """Attention without its projections, in ten nodes."""
    steps: list[tuple[str, list[str], dict[str, Any]]] = [
        ("MatMul", [data, "weight"], {}),
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
    nodes = []
    for step, (op, inputs, attributes) in enumerate(steps):
        called = [f"{name}/{each}" if each.isdigit() else each for each in inputs]
        nodes.append(helper.make_node(op, called, [f"{name}/{step}"], f"{name}/{op}_{step}", **attributes))
    return nodes


def repeated(blocks: int, path: Path) -> None:
    """A model of many blocks."""
    nodes, data = [], "x"
    for place in range(blocks):
        nodes += block(f"block.{place}", data)
        data = f"block.{place}/9"
    weight = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
    _save(nodes, data, [onnx.numpy_helper.from_array(weight, "weight")], path)


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
    weights.append(onnx.numpy_helper.from_array(np.ones((8, 8), np.float32), "weight"))
    nodes = [
        helper.make_node("MatMul", ["x", "up"], ["wide"], "up"),
        helper.make_node("MatMul", ["wide", "down"], ["narrow"], "down"),
        *block("block", "narrow"),
    ]
    _save(nodes, "block/9", weights, path)


def _save(nodes: list[Any], output: str, weights: list[Any], path: Path) -> None:
    words = {"split": [1, 4, 2, 4], "join": [1, 4, 8]}
    weights += [onnx.numpy_helper.from_array(np.array(word), name) for name, word in words.items()]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 8]) for name in ("x", output)]
    graph = helper.make_graph(nodes, "repeated", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def run(tool: str, path: Path) -> str:
    """Seconds and megabytes of one tool on one file."""
    imports, work = TOOLS[tool]
    code = CHILD.format(imports=imports, work=work)
    out = path.with_name("out.onnx")
    try:
        done = subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-c", code, str(path), str(out)],
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"> {LONGEST} s"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['killed'])[-1][:60]}"
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return f"{seconds:8.2f} s {peak:7.0f} MB"


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with tempfile.TemporaryDirectory() as folder:
        print(f"{'':22}" + "".join(f"{tool:>22}" for tool in TOOLS))
        for count in (2_000, 20_000, 100_000):
            if count <= largest:
                path = Path(folder) / "repeated.onnx"
                repeated(count // 10, path)
                print(f"{count:>16,} nodes" + "".join(f"{run(tool, path):>22}" for tool in TOOLS), flush=True)
        path = Path(folder) / "heavy.onnx"
        heavy(path)
        print(f"{'2 GB of weights':>22}" + "".join(f"{run(tool, path):>22}" for tool in TOOLS), flush=True)


if __name__ == "__main__":
    main()
