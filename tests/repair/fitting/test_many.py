"""Many dims that differ, and nodes with many inputs: an answer in time."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from onereshape.graphs.facts.scope import Scope
from onereshape.ground.errors import FixError
from onereshape.repair.fitting.fitted import _Fitting
from onereshape.repair.fitting.plan import like_plan


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The names of the nodes that are walked over, as often as they are."""
    names: list[str | None] = []
    visit = _Fitting.visit

    def counted(walk: _Fitting, node: ir.Node, scope: Scope) -> None:
        names.append(node.name)
        visit(walk, node, scope)

    monkeypatch.setattr(_Fitting, "visit", counted)
    return names


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


def test_a_walk_goes_on_from_where_a_number_was_open(visited: list[str | None]) -> None:
    """What comes before the first number that is not told at once is walked over once."""
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


def _layers(height: int, width: int, count: int) -> ir.Model:
    """Layers that each take the places of a small picture apart; another picture is as small, in all exports."""
    nodes = [
        helper.make_node(
            "MaxPool",
            [f"p{place}" if place else "x"],
            [f"p{place + 1}"],
            kernel_shape=[3, 3],
            strides=[2, 2],
            pads=[1, 1, 1, 1],
        )
        for place in range(5)
    ]
    rows, columns = -(-height // 32), -(-width // 32)
    flat = helper.make_tensor("flat", TensorProto.INT64, [3], [1, 4, -1])
    targets = [flat]
    nodes.append(helper.make_node("MaxPool", ["x"], ["other"], kernel_shape=[32, 32], strides=[32, 32]))
    nodes.append(helper.make_node("Reshape", ["p5", "flat"], ["y0"]))
    for place in range(count):
        target = helper.make_tensor(f"target{place}", TensorProto.INT64, [4], [1, 4, rows, columns])
        targets.append(target)
        nodes += [
            helper.make_node("Reshape", [f"y{place}", target.name], [f"m{place}"], name=f"apart{place}"),
            helper.make_node("Relu", [f"m{place}"], [f"r{place}"]),
            helper.make_node("Reshape", [f"r{place}", "flat"], [f"f{place}"]),
            helper.make_node("Add", [f"y{place}", f"f{place}"], [f"y{place + 1}"]),
        ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, height, width])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in (f"y{count}", "other")]
    graph = helper.make_graph(nodes, "g", [given], outputs, targets)
    return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10))


def test_layers_that_ask_the_same_are_told_together(visited: list[str | None]) -> None:
    """How often a model is walked over does not depend on how many layers it has."""
    walks = []
    for count in (2, 12):
        visited.clear()
        exports = [_layers(128, 128, count), _layers(160, 224, count)]
        plan = like_plan(exports[0], exports[1:], {"x": {2: "H", 3: "W"}})
        assert {change.after for change in plan.changes} == {"[1, 4, floor((H + 31)/32), floor((W + 31)/32)]"}
        assert len(plan.edits) == count
        walks.append(visited.count(f"apart{count - 1}"))

    assert walks[0] == walks[1] > 1
