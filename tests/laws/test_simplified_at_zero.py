"""Simplified Reshapes at sizes of 0: over a small world of computed targets, what onnxruntime gave it still gives.

Where an empty tensor would be refused now, the change says so in its conditions; nothing else may differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from onereshape.repair.simpler import simplify as room
from onereshape.repair.simpler.agreement import Agreement
from onereshape.repair.simpler.simplify import simplify
from tests import running

Entry = int | tuple[int, int]
"""A number, or a dim of data (its axis) times a number."""

ENTRIES: list[Entry] = [(0, 1), (1, 1), 2, -1, 1, (0, 2), 0]
DATA = list(product(["N", 2, "M"], repeat=2))
SIZES = [(n, m) for n in (0, 1, 2, 3) for m in (1, 2, 0) if n or m]


def model_of(data: Sequence[int | str], *targets: Sequence[Entry], flag: int) -> onnx.ModelProto:
    """Reshapes in a row, whose targets are computed from the dims of x."""
    nodes, last = [helper.make_node("Shape", ["x"], ["dims"])], "x"
    constants: list[onnx.TensorProto] = []
    words: dict[str, Any] = {"allowzero": 1} if flag else {}

    def constant(number: int) -> str:
        constants.append(numpy_helper.from_array(np.array([number]), f"c{len(constants)}"))
        return str(constants[-1].name)

    for step, target in enumerate(targets):
        parts = []
        for place, entry in enumerate(target):
            if isinstance(entry, int):
                parts.append(constant(entry))
                continue
            name = f"e{step}_{place}"
            nodes.append(helper.make_node("Gather", ["dims", constant(entry[0])], [f"{name}d"]))
            nodes.append(helper.make_node("Mul", [f"{name}d", constant(entry[1])], [name]))
            parts.append(name)
        nodes.append(helper.make_node("Concat", parts, [f"t{step}"], axis=0))
        nodes.append(helper.make_node("Reshape", [last, f"t{step}"], [f"y{step}"], **words))
        last = f"y{step}"
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(data))]
    outputs = [helper.make_tensor_value_info(last, TensorProto.FLOAT, [None] * len(targets[-1]))]
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def shape_at(session: Any, dims: Sequence[int]) -> tuple[int, ...] | None:
    try:
        return tuple(session.run(None, {"x": np.zeros(dims, np.float32)})[0].shape)
    except Exception:  # noqa: BLE001 - onnxruntime's errors have no class in common
        return None


def wrong(data: Sequence[int | str], *targets: Sequence[Entry], flag: int) -> Iterator[str]:
    """What a simplified model does otherwise, and did not say."""
    proto = model_of(data, *targets, flag=flag)
    model = ir.from_proto(proto)
    changes = simplify(model)
    if not changes:
        return
    said = {condition for change in changes for condition in change.conditions}
    sessions = [running.session(each) for each in (proto, model)]
    for n, m in SIZES:
        dims = [{"N": n, "M": m}.get(str(dim), dim) for dim in data]
        before, after = (shape_at(session, [int(dim) for dim in dims]) for session in sessions)
        allowed = (n == 0 and "N >= 1" in said) or (m == 0 and "M >= 1" in said)
        if before not in {None, after} and not (after is None and allowed):
            yield f"{data} by {targets}, allowzero={flag}, at N = {n}, M = {m}: {before} became {after}"


@pytest.mark.parametrize("flag", [0, 1])
@pytest.mark.parametrize("data", DATA)
def test_one_reshape(data: tuple[int | str, ...], flag: int) -> None:
    computed = [each for each in product(ENTRIES, repeat=2) if not all(isinstance(entry, int) for entry in each)]

    assert [said for target in computed for said in wrong(data, target, flag=flag)] == []


@pytest.mark.parametrize("data", [("N", 2), (2, "N"), ("N", "M")])
def test_two_reshapes(data: tuple[int | str, ...]) -> None:
    firsts: list[list[Entry]] = [[-1], [2, -1], [(0, 2), -1], [(1, 1), (0, 1)], [-1, (0, 1)]]
    seconds: list[list[Entry]] = [[-1, 2], [2, -1], [(0, 1), -1], [-1, (1, 1)], [(0, 1), (1, 1)], [0, -1]]

    assert [said for pair in product(firsts, seconds) for said in wrong(data, *pair, flag=0)] == []


def test_the_example_is_kept() -> None:
    """(2, N) by [N, -1]: at N = 0 the target is [0, -1], and the 0 copies the 2."""
    model = ir.from_proto(model_of((2, "N"), [(1, 1), -1], flag=0))

    assert simplify(model) == []


def test_an_empty_tensor_that_is_refused_then_is_said() -> None:
    model = ir.from_proto(model_of(("N", 6), [(0, 1), 2, -1], flag=1))
    (change,) = simplify(model)

    assert change.conditions == ("N >= 1",)
    assert change.message.endswith("the constant [0, 2, -1], where N >= 1: an empty tensor is refused then")


def test_a_planted_bug_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "agreement", lambda *_: Agreement("same"))

    assert any(wrong((2, "N"), [(1, 1), -1], flag=0))
    assert any(wrong(("N", 6), [(0, 1), 2, -1], flag=1))
