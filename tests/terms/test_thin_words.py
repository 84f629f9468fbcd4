"""Linear forms of integers that have lost most of their bits do not pass for one another."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from onereshape.terms.prove import prove_same

LOWEST = -(1 << 63)


def model(place: int, steps: list[tuple[str, int]]) -> ir.Model:
    """One element of three, and what is done to it with numbers."""
    nodes = [helper.make_node("Gather", ["x", "place"], ["v0"])]
    weights = [numpy_helper.from_array(np.array(place), "place")]
    for number, (op, value) in enumerate(steps):
        weights.append(numpy_helper.from_array(np.array(value), f"w{number}"))
        nodes.append(helper.make_node(op, [f"v{number}", f"w{number}"], [f"v{number + 1}"]))
    nodes.append(helper.make_node("Identity", [f"v{len(steps)}"], ["y"]))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.INT64, dims) for name, dims in (("x", [3]), ("y", list[int]()))
    ]
    graph = helper.make_graph(nodes, "thin", ends[:1], ends[1:], weights)
    made: onnx.ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return ir.from_proto(made)


@pytest.mark.parametrize(
    "steps",
    [
        [("Mul", LOWEST)],
        [("Mul", 1 << 62)],
        [("Mul", 1 << 15)] * 4,
        [("Mul", 1 << 31), ("Mul", 1 << 31), ("Add", 5)],
        [("Mul", 1 << 32), ("Mul", 1 << 31), ("Add", 7)],
        [("Mul", 1 << 31), ("Add", 5), ("Mul", 1 << 31), ("Sub", 5 << 31)],
        [("Mod", 2), ("Mul", 1 << 31), ("Add", 5), ("Mul", 1 << 31), ("Sub", 5 << 31)],
        [("Mod", 1 << 20), ("Mul", 1 << 20), ("Mul", 1 << 20)],
    ],
    ids=str,
)
def test_a_bit_is_not_enough(steps: list[tuple[str, int]]) -> None:
    """Another element, and the number 0, by every seed."""
    zero = [*steps, ("Mul", 0)]
    for seed in range(12):
        assert prove_same(model(0, steps), model(1, steps), [{}], seed=seed).verdict != "proven"
        assert prove_same(model(0, steps), model(0, zero), [{}], seed=seed).verdict != "proven"
        assert prove_same(model(0, steps), model(0, steps), [{}], seed=seed).verdict == "proven"


def test_forms_stay_linear() -> None:
    one = [("Mod", 100), ("Mul", 6), ("Add", 12), ("Mul", 1 << 10)]
    other = [("Mod", 100), ("Add", 2), ("Mul", 1 << 11), ("Mul", 3)]
    for seed in range(8):
        assert prove_same(model(0, one), model(0, other), [{}], seed=seed).verdict == "proven"
