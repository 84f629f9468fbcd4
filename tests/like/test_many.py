"""Many dims that differ, and nodes with many inputs: an answer in time."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from onereshape.errors import FixError
from onereshape.models.facts.walk import Scope
from onereshape.models.like.fitting import _Fitting
from onereshape.models.like.plan import like_plan


def _model(shape: Sequence[int], count: int) -> onnx.ModelProto:
    relus = [helper.make_node("Relu", ["x"], [f"r{place}"]) for place in range(count)]
    total = helper.make_node("Sum", [f"r{place}" for place in range(count)], ["y"])
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    graph = helper.make_graph(
        [*relus, total], "g", [given], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_more_sizes_than_exports_tell_apart() -> None:
    first, second = (ir.from_proto(_model([size] * 900, 1)) for size in (3, 5))

    with pytest.raises(FixError, match="more than 64 sizes differ between the exports"):
        like_plan(first, [second], {})


def test_a_sum_of_thousands() -> None:
    first, second = (ir.from_proto(_model([2, size], 5000)) for size in (3, 5))

    assert not like_plan(first, [second], {}).edits


def _told_late(height: int, width: int, before: int) -> ir.Model:
    """A Reshape to half of both sizes behind many nodes; what the halves are is told by a pool that comes after it."""
    relus = [
        helper.make_node("Relu", [f"r{place}" if place else "x"], [f"r{place + 1}"], name=f"relu{place}")
        for place in range(before)
    ]
    nodes = [
        *relus,
        helper.make_node("Reshape", [f"r{before}", "target"], ["small"], name="small"),
        helper.make_node("MaxPool", ["x"], ["pooled"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Concat", ["pooled"] * 4, ["wide"], axis=1),
        helper.make_node("Add", ["small", "wide"], ["y"]),
    ]
    target = helper.make_tensor("target", TensorProto.INT64, [4], [1, 16, height // 2, width // 2])
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, height, width])
    graph = helper.make_graph(
        nodes, "g", [given], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [target]
    )
    return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10))


def test_a_walk_goes_on_from_where_a_number_was_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before the first number that is not told at once is walked over once."""
    visited: list[str | None] = []
    visit = _Fitting.visit

    def counted(walk: _Fitting, node: ir.Node, scope: Scope) -> None:
        visited.append(node.name)
        visit(walk, node, scope)

    monkeypatch.setattr(_Fitting, "visit", counted)
    first, second = _told_late(8, 12, 50), _told_late(16, 28, 50)

    plan = like_plan(first, [second], {"x": {2: "H", 3: "W"}})

    assert [change.after for change in plan.changes] == ["[1, 16, floor(H/2), floor(W/2)]"]
    assert [visited.count(f"relu{place}") for place in (0, 49)] == [1, 1]
    assert visited.count("small") == 2


def test_a_walk_from_the_start_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    exports = [_told_late(8, 12, 5), _told_late(16, 28, 5)]
    found = like_plan(exports[0], exports[1:], {"x": {2: "H", 3: "W"}})
    monkeypatch.setattr(_Fitting, "_keep", lambda *_: None)
    again = [_told_late(8, 12, 5), _told_late(16, 28, 5)]

    wanted = like_plan(again[0], again[1:], {"x": {2: "H", 3: "W"}})

    assert (found.changes, found.conditions) == (wanted.changes, wanted.conditions)
    assert [*found.dims.values()] == [*wanted.dims.values()]
