"""The cost of a proof on terms, beside one run of the same model by onnxruntime.

    python bench/certificates.py [FOLDER] [--largest]

First the models of a folder with a manifest.json (tests/data/corpus is the default): each is repaired without a
certificate, and what is timed is `prove_batch` of the original and the repaired model.  Then ResNet-50 and ViT-B/16 of
random weights, which are made here, each in a process of its own: its peak memory is what the proof takes above what
the process had when both models were read.  onnxruntime runs the original on one sample, with one thread, after it.
All seconds are CPU time, as all use one thread.  --largest leaves the folder out.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.arbiter import _declared, drawn, entries  # noqa: E402
from tests.running import session  # noqa: E402

import onereshape as orx  # noqa: E402
from onereshape.ground.errors import FixError  # noqa: E402
from onereshape.terms import hashing  # noqa: E402
from onereshape.terms.proof import Proof  # noqa: E402
from onereshape.terms.prove import prove_batch  # noqa: E402

Array = np.ndarray[Any, Any]
SEED = 20240
RUNS = 5


# The large models


class Drawing:
    """A graph under construction, with random weights."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.rng = np.random.default_rng(0)

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [f"{name}:0"], name, **attributes))
        return f"{name}:0"

    def weight(self, *dims: int, scale: float = 0.02) -> str:
        return self.constant(self.rng.standard_normal(dims, np.float32) * np.float32(scale))

    def constant(self, array: Array) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def target(self, *dims: int) -> str:
        return self.constant(np.array(dims))

    def save(self, path: Path, given: list[int], output: str, made: list[int]) -> None:
        self.nodes.append(helper.make_node("Identity", [output], ["y"], "last"))
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in (("x", given), ("y", made))
        ]
        graph = helper.make_graph(self.nodes, path.stem, ends[:1], ends[1:], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def resnet(path: Path) -> None:
    """ResNet-50 with 1000 classes, for one image of 224 x 224; a Reshape to [1, 2048] is before the last layer."""
    drawing = Drawing()

    def layer(  # noqa: PLR0913 - what a layer is
        data: str, channels: int, outputs: int, kernel: int, *, stride: int = 1, relu: bool = True
    ) -> str:
        weight = drawing.weight(outputs, channels, kernel, kernel, scale=(2 / channels / kernel**2) ** 0.5)
        data = drawing.add("Conv", data, weight, strides=[stride] * 2, pads=[kernel // 2] * 4)
        ones = [np.ones(outputs, np.float32), np.zeros(outputs, np.float32)] * 2
        data = drawing.add("BatchNormalization", data, *map(drawing.constant, (ones[0], ones[1], ones[1], ones[0])))
        return drawing.add("Relu", data) if relu else data

    data = layer("x", 3, 64, 7, stride=2)
    data, channels = drawing.add("MaxPool", data, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            inside = layer(layer(data, channels, width, 1), width, width, 3, stride=stride)
            inside = layer(inside, width, 4 * width, 1, relu=False)
            beside = data if block else layer(data, channels, 4 * width, 1, stride=stride, relu=False)
            data, channels = drawing.add("Relu", drawing.add("Add", inside, beside)), 4 * width
    data = drawing.add("Reshape", drawing.add("GlobalAveragePool", data), drawing.target(1, 2048))
    data = drawing.add("Gemm", data, drawing.weight(1000, 2048), drawing.weight(1000), transB=1)
    drawing.save(path, [1, 3, 224, 224], data, [1, 1000])


def vision_transformer(path: Path) -> None:
    """ViT-B/16 with 1000 classes, for one image of 224 x 224; the batch is baked into every Reshape."""
    drawing = Drawing()
    width, heads, tokens = 768, 12, 197

    def linear(data: str, inputs: int, outputs: int) -> str:
        return drawing.add("Add", drawing.add("MatMul", data, drawing.weight(inputs, outputs)), drawing.weight(outputs))

    def normal(data: str) -> str:
        scale = drawing.constant(np.ones(width, np.float32))
        return drawing.add("LayerNormalization", data, scale, drawing.weight(width), axis=-1)

    def head(data: str) -> str:
        split = drawing.add("Reshape", linear(data, width, width), drawing.target(1, tokens, heads, width // heads))
        return drawing.add("Transpose", split, perm=[0, 2, 1, 3])

    def number(value: float) -> str:
        return drawing.constant(np.array(value, np.float32))

    data = drawing.add("Conv", "x", drawing.weight(width, 3, 16, 16), drawing.weight(width), strides=[16, 16])
    data = drawing.add("Transpose", drawing.add("Reshape", data, drawing.target(1, width, 196)), perm=[0, 2, 1])
    token = drawing.add("Expand", drawing.weight(1, 1, width), drawing.target(1, 1, width))
    data = drawing.add("Add", drawing.add("Concat", token, data, axis=1), drawing.weight(1, tokens, width))
    for _ in range(12):
        before = normal(data)
        query, key, value = head(before), head(before), head(before)
        scores = drawing.add("MatMul", query, drawing.add("Transpose", key, perm=[0, 1, 3, 2]))
        parts = drawing.add("Softmax", drawing.add("Mul", scores, number((width // heads) ** -0.5)), axis=-1)
        joined = drawing.add("Transpose", drawing.add("MatMul", parts, value), perm=[0, 2, 1, 3])
        joined = drawing.add("Reshape", joined, drawing.target(1, tokens, width))
        data = drawing.add("Add", data, linear(joined, width, width))
        wide = linear(normal(data), width, 4 * width)
        curve = drawing.add("Add", drawing.add("Erf", drawing.add("Div", wide, number(2**0.5))), number(1))
        wide = drawing.add("Mul", drawing.add("Mul", wide, curve), number(0.5))
        data = drawing.add("Add", data, linear(wide, 4 * width, width))
    first = drawing.add("Gather", normal(data), drawing.constant(np.array(0)), axis=1)
    data = drawing.add("Gemm", first, drawing.weight(1000, width), drawing.weight(1000), transB=1)
    drawing.save(path, [1, 3, 224, 224], data, [1, 1000])


LARGE: dict[str, Callable[[Path], None]] = {"ResNet-50": resnet, "ViT-B/16": vision_transformer}


# The clock


def proof_of(original: ir.Model, repaired: ir.Model, axes: dict[str, int]) -> tuple[Proof, float]:
    start = process_time()
    proof = prove_batch(original, repaired, axes, seed=SEED)
    return proof, process_time() - start


def engine(model: Path, feed: dict[str, Array], runs: int = RUNS) -> float:
    """The median seconds of one run by onnxruntime, after the first."""
    running = session(model, optimized=True)
    times = []
    for _ in range(runs + 1):
        start = process_time()
        running.run(None, feed)
        times.append(process_time() - start)
    return median(times[1:])


def said_of(proof: Proof) -> str:
    """A verdict in a few words."""
    if proof.verdict != "proven":
        return f"{proof.verdict}: {proof.reason}"
    return "proven for every N" if proof.always else f"proven at some N: {proof.not_always}"


def peak() -> float:
    """The most megabytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(folder: Path) -> None:
    """One large model: prints what was measured."""
    original, repaired = (ir.load(folder / name) for name in ("original.onnx", "repaired.onnx"))
    before = peak()
    proof, seconds = proof_of(original, repaired, {"x": 0})
    taken = peak() - before
    sample = np.random.default_rng(1).standard_normal((1, 3, 224, 224)).astype(np.float32)
    print(json.dumps([said_of(proof), seconds, taken, engine(folder / "original.onnx", {"x": sample})]))


def make(name: str, folder: Path) -> None:
    """Writes a large model and its repair."""
    LARGE[name](folder / "original.onnx")
    orx.save(orx.fix(folder / "original.onnx", batch={"x": 0}, certify=False).model, folder / "repaired.onnx")


def large() -> None:
    """Each large model in processes of their own: a child's peak is no less than what its parent had."""
    print(f"{'':12}{'seconds':>9}{'MB':>7}{'onnxruntime':>13}{'ratio':>7}  verdict")
    for name in LARGE:
        with tempfile.TemporaryDirectory() as folder:
            for words in (["--make", name], ["--child"]):
                done = subprocess.run(  # noqa: S603 - our own code
                    [sys.executable, __file__, *words, folder], check=True, capture_output=True, text=True
                )
        verdict, seconds, taken, run = json.loads(done.stdout.splitlines()[-1])
        print(f"{name:12}{seconds:9.2f}{taken:7.0f}{run:13.3f}{seconds / run:7.1f}  {verdict}", flush=True)


def corpus(folder: Path) -> None:
    """All models of a folder that are repaired."""
    found: list[tuple[float, float, str]] = []
    verdicts: Counter[str] = Counter()
    for entry in entries(folder):
        try:
            repaired = orx.fix(entry.path, batch=entry.batch, certify=False).model.ir
        except FixError as refusal:
            verdicts["not repaired"] += 1
            print(f"{entry.path.name}: {refusal.sentence}")
            continue
        proof, seconds = proof_of(ir.load(entry.path), repaired, entry.batch)
        rng = np.random.default_rng(1)
        feed = {name: drawn(rng, _declared(entry, name), how) for name, how in entry.inputs.items()}
        found.append((seconds, seconds / engine(entry.path, feed), entry.path.name))
        said = said_of(proof)
        verdicts[said.split(":")[0]] += 1
        if said != "proven for every N":
            print(f"{entry.path.name}: {said}", flush=True)
    print(f"{sum(verdicts.values())} models: " + ", ".join(f"{count} {each}" for each, count in verdicts.items()))
    if found:
        times, ratios, _ = zip(*found, strict=True)
        print(f"median {median(times):.3f} s, {median(ratios):.0f} runs by onnxruntime")
        print("slowest: " + ", ".join(f"{name} {seconds:.2f} s" for seconds, _, name in sorted(found)[:-4:-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description="The cost of a proof on terms, beside onnxruntime.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "tests" / "data" / "corpus")
    parser.add_argument("--largest", action="store_true", help="the large models alone")
    parser.add_argument("--make", help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.make:
        make(asked.make, asked.folder)
        return
    if asked.child:
        child(asked.folder)
        return
    print(f"onereshape {orx.__version__}, kernels: {'yes' if hashing.available() else 'no'}")
    if not asked.largest:
        corpus(asked.folder)
    large()


if __name__ == "__main__":
    main()
