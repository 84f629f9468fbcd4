"""The cost of one inference, against OpenVINO, the onnx package and onnx-shape-inference.

    python bench/inference.py [--calls 1000000]

A stream of mixed questions, the same for all: Reshapes as models have them, with every dim known, with symbols, and
with intervals.  A question is asked for the first time (all are different) or again (the layers of a model repeat it).
All go from dims to an answer: OpenVINO builds a parameter, a constant and the node, onnx a model of one node, and
onnx-shape-inference the values and the node that its rule for Reshape is called on; "onnx, ready" is onnx with a model
built before the clock starts.  The last two know no intervals and get unknown dims instead.

All take turns, a part of the stream each; the median of the parts counts, in CPU time, as all use one thread.  Below:
growth with the rank.
"""

from __future__ import annotations

import argparse
import gc
import platform
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from random import Random
from statistics import median
from time import process_time
from typing import Any

import numpy as np
import onnx
import onnx_ir
import openvino
from onnx import TensorProto, helper, shape_inference
from onnx_shape_inference import ShapeInferenceContext, registry  # type: ignore[import-untyped, unused-ignore]
from openvino import opset1

import onereshape as orx
from onereshape.rule import inference

CLASSES = ("known", "symbolic", "interval")
RANKS = (4, 8, 16, 32, 64)
REPEATED = 256
"""How many different questions are asked again and again: a large model has fewer."""
OPSET = 24

PARTS = 25

Question = tuple[tuple[Any, ...], tuple[Any, ...]]
Calls = list[Callable[[], Any]]


# The stream


def questions(kind: str, count: int) -> list[Question]:
    """That many different questions: heads split and merged, images flattened, batches folded, channels shuffled."""
    rng = Random(11)  # noqa: S311 - no secrets
    found: dict[Question, None] = {}
    while len(found) < count:
        heads, size, groups = rng.randint(1, 64), rng.randint(1, 4096), rng.randint(1, 32)
        batch, length = rng.randint(1, 512), rng.randint(1, 8192)
        first, second = {
            "known": (batch, length),
            "symbolic": (rng.choice("NBM"), rng.choice(("S", "T", "length"))),
            "interval": ((1, batch), rng.choice((None, (1, length)))),
        }[kind]
        form: Question = rng.choice(
            [
                ((first, second, heads * size), (0, 0, heads, -1)),
                ((first, second, heads, size), (0, 0, -1)),
                ((first, heads, size, groups), (0, -1)),
                ((first, heads, size, groups), (-1, heads * size * groups)),
                ((first, groups * heads, size), (0, groups, heads, size)),
                ((first, second, size), (-1, size)),
                ((second, first, size, heads), (-1, size * heads)),
            ]
        )
        found[form] = None
    return list(found)


# The contenders: each makes calls ready to be timed


def ours(asked: Sequence[Question]) -> Calls:
    return [partial(orx.infer, data, target, "onnx") for data, target in asked]


def openvino_core(asked: Sequence[Question]) -> Calls:
    def node(data: Sequence[Any], target: Sequence[int]) -> Any:
        shape = openvino.PartialShape([_dimension(dim) for dim in data])
        constant = openvino.op.Constant(openvino.Tensor(np.array(target, np.int64)))
        return opset1.reshape(opset1.parameter(shape, np.float32), constant, True)

    return [partial(node, data, target) for data, target in asked]


def _dimension(dim: Any) -> openvino.Dimension:
    if isinstance(dim, int):
        return openvino.Dimension(dim)
    if isinstance(dim, tuple):
        return openvino.Dimension(*dim)
    dimension = openvino.Dimension()
    if dim is not None:
        dimension.set_symbol(openvino.Symbol())
    return dimension


def onnx_model(data: Sequence[Any], target: Sequence[int]) -> onnx.ModelProto:
    dims = [None if isinstance(dim, tuple) else dim for dim in data]
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["data", "shape"], ["output"])],
        "reshape",
        [helper.make_tensor_value_info("data", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)],
        [helper.make_tensor("shape", TensorProto.INT64, [len(target)], target)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def onnx_package(asked: Sequence[Question]) -> Calls:
    def answer(data: Sequence[Any], target: Sequence[int]) -> Any:
        return shape_inference.infer_shapes(onnx_model(data, target))

    return [partial(answer, data, target) for data, target in asked]


def onnx_ready(asked: Sequence[Question]) -> Calls:
    return [partial(shape_inference.infer_shapes, onnx_model(data, target)) for data, target in asked]


def onnx_shape_inference(asked: Sequence[Question]) -> Calls:
    registry.collect()
    rule: Any = registry.get("", "Reshape", version=OPSET)

    def answer(data: Sequence[Any], target: Sequence[int]) -> Any:
        context = ShapeInferenceContext({"": OPSET})
        dims = onnx_ir.Shape([None if isinstance(dim, tuple) else dim for dim in data])
        value = onnx_ir.Value(name="data", shape=context.name_anonymous_dims_in_shape(dims))
        value.dtype = onnx_ir.DataType.FLOAT
        shape = onnx_ir.Value(name="shape", const_value=onnx_ir.tensor(np.array(target, np.int64)))
        rule(context, onnx_ir.Node("", "Reshape", [value, shape]))

    return [partial(answer, data, target) for data, target in asked]


# The clock


def race(contenders: Mapping[str, Calls]) -> dict[str, float]:
    """The median microseconds of a call of each; the calls are made in parts, in turn."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    gc.disable()
    for part in range(PARTS):
        for name, calls in contenders.items():
            mine = calls[part * len(calls) // PARTS : (part + 1) * len(calls) // PARTS]
            start = process_time()
            for call in mine:
                call()
            times[name].append((process_time() - start) / len(mine) * 1e6)
    gc.enable()
    return {name: median(parts) for name, parts in times.items()}


def repeated(calls: Calls, count: int) -> Calls:
    """A few of the calls again and again, each made once before."""
    few = calls[:REPEATED]
    for call in few:
        call()
    return [few[index % len(few)] for index in range(count)]


def forget() -> None:
    inference._answer.cache_clear()  # noqa: SLF001 - what is asked for the first time is the point


def compare(calls: int) -> None:
    """One table: a row for each class of question."""
    each = max(calls // (2 * len(CLASSES)), 10 * PARTS)
    peers = {
        f"openvino {version('openvino')}": (openvino_core, max(each // 8, 10 * PARTS)),
        f"onnx {onnx.__version__}": (onnx_package, max(each // 16, 10 * PARTS)),
        "onnx, ready": (onnx_ready, max(each // 16, 10 * PARTS)),
        f"onnx-shape-inference {version('onnx-shape-inference')}": (onnx_shape_inference, max(each // 32, 2 * PARTS)),
    }
    print(f"microseconds for one call, {2 * len(CLASSES) * each:,} calls of ours")
    print("each other one: microseconds, and how many times ours asked first / asked again")
    print(f"{'':10}{'first':>8}{'again':>8}" + "".join(f"{name:>29}" for name in peers))
    for kind in CLASSES:
        stream = questions(kind, each)
        forget()
        times = race({"first": ours(stream)} | {name: make(stream[:count]) for name, (make, count) in peers.items()})
        first, again = times["first"], race({"again": repeated(ours(stream[:REPEATED]), each)})["again"]
        cells = [f"{times[name]:.0f}  ({times[name] / first:.1f} / {times[name] / again:.1f})" for name in peers]
        print(f"{kind:10}{first:8.1f}{again:8.1f}" + "".join(f"{cell:>29}" for cell in cells))


# Growth


def of_rank(rank: int, count: int, *, cancelled: bool) -> list[Question]:
    """Questions of that rank: all dims copied but the last, or every symbol cancelled against another order of them."""
    names = [f"d{axis:02}" for axis in range(rank - 1)]
    target = (*reversed(names), -1) if cancelled else (*[0] * (rank - 1), -1)
    return [((*names, size), target) for size in range(1, count + 1)]


def growth(calls: int) -> None:
    """The other table: a row for each rank."""
    count = max(calls // 500, 10 * PARTS)
    print("\nrank, all dims symbolic, asked first    copied: us   per dim   cancelled: us   per dim")
    asked = {
        (rank, cancelled): of_rank(rank, count, cancelled=cancelled) for rank in RANKS for cancelled in (False, True)
    }
    forget()
    times = race({f"{rank} {cancelled}": ours(stream) for (rank, cancelled), stream in asked.items()})
    for rank in RANKS:
        copied, cancelled = times[f"{rank} False"], times[f"{rank} True"]
        print(f"{rank:<38}{copied:12.1f}{copied / rank:10.2f}{cancelled:16.1f}{cancelled / rank:10.2f}")


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description="The cost of one inference, against other engines.")
    parser.add_argument("--calls", type=int, default=1_000_000, help="calls of ours in all (default: a million)")
    calls = parser.parse_args().calls
    print(f"Python {platform.python_version()}, onereshape {orx.__version__}, NumPy {np.__version__}")
    compare(calls)
    growth(calls)


if __name__ == "__main__":
    main()
