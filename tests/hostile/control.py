"""Graphs within graphs: If, Loop and Scan, functions, and sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.hostile.engine import type_of
from tests.hostile.makers import makes
from tests.hostile.pointwise import reduced
from tests.hostile.sizes import scalar, shape_of, vector
from tests.hostile.sketch import Misfit, Sketch, Value


def _info(name: str, value: Value) -> Any:
    return helper.make_tensor_value_info(name, type_of(value.array), None)


def _branch(g: Sketch, value: Value, name: str) -> tuple[Any, list[str]]:
    """A graph that keeps the dims of a captured value; and what it captures."""
    end = g.fresh(f"{name}_")
    way = g.dice.number(0, 3)
    captured = [value.name]
    if way == 0:
        nodes = [helper.make_node("Neg", [value.name], [end], name=f"{end}_n")]
    elif way == 1:
        size = shape_of(g, value)
        captured.append(size)
        flat = g.fresh("flat_")
        one = helper.make_node(
            "Constant", [], [f"{flat}_t"], value=helper.make_tensor("t", TensorProto.INT64, [1], [-1])
        )
        nodes = [
            one,
            helper.make_node("Reshape", [value.name, f"{flat}_t"], [flat], name=f"{flat}_n"),
            helper.make_node("Reshape", [flat, size], [end], name=f"{end}_n"),
        ]
    elif way == 2:
        twice = helper.make_node("Add", [value.name, value.name], [end], name=f"{end}_n")
        nodes = [twice]
    else:
        nodes = [helper.make_node("Identity", [value.name], [end], name=f"{end}_n")]
    return helper.make_graph(nodes, name, [], [_info(end, value)]), captured


@makes("If:9", weight=1)
def chosen(g: Sketch, op: str) -> None:
    """One of two graphs, chosen by all samples, by a size, or by an input."""
    value = g.pick("f")
    way = g.dice.number(0, 2)
    if way == 0 and value.rank:
        top = reduced(g, "ReduceMax", value, None, keep=0)
        condition = g.op("Greater", top, g.const(1000, value.array.dtype))
    elif way == 1 and value.rank and g.opset >= 11:
        size = scalar(g, value.dims[0], (value, 0))
        condition = g.op("Equal", size, g.const(value.dims[0], np.int64))
    else:
        condition = g.given(np.array(True))
    then, first = _branch(g, value, "then_branch")
    other, second = _branch(g, value, "else_branch")
    g.keep(g.op(op, condition, then_branch=then, else_branch=other, captured=[*first, *second], batch=value.batch))


@makes("Loop:11", weight=0.4)
def loop(g: Sketch, op: str) -> None:
    """A few steps, or as many as a dim is long."""
    value = g.pick("f", 1)
    axis = g.axis(value, 0.2)
    count = scalar(g, value.dims[axis], (value, axis)) if g.dice.chance(0.5) else g.const(2, np.int64)
    names = {each: g.fresh(f"{each}_") for each in ("i", "go", "state", "on", "next")}
    body = helper.make_graph(
        [
            helper.make_node("Identity", [names["go"]], [names["on"]], name=f"{names['on']}_n"),
            helper.make_node(g.dice.pick(["Add", "Mul"]), [names["state"], value.name], [names["next"]], name="body_n"),
        ],
        "body",
        [
            helper.make_tensor_value_info(names["i"], TensorProto.INT64, []),
            helper.make_tensor_value_info(names["go"], TensorProto.BOOL, []),
            _info(names["state"], value),
        ],
        [helper.make_tensor_value_info(names["on"], TensorProto.BOOL, []), _info(names["next"], value)],
    )
    start = g.op("Identity", value, batch=value.batch)
    g.keep(g.op(op, count, "", start, body=body, captured=[value.name], batch=value.batch))


@makes("Scan:9", weight=0.4)
def scan(g: Sketch, op: str) -> None:
    """A running sum along an axis."""
    value = g.pick("f", 2)
    axis = g.axis(value)
    if axis and g.opset < 11:
        raise Misfit
    start = reduced(g, "ReduceMin", value, [axis], keep=0)
    names = {each: g.fresh(f"{each}_") for each in ("state", "row", "next", "kept")}
    body = helper.make_graph(
        [
            helper.make_node("Add", [names["state"], names["row"]], [names["next"]], name="scan_n"),
            helper.make_node("Identity", [names["next"]], [names["kept"]], name="scan_k"),
        ],
        "body",
        [_info(names["state"], start), _info(names["row"], start)],
        [_info(names["next"], start), _info(names["kept"], start)],
    )
    axes = {"scan_input_axes": [axis], "scan_output_axes": [axis]} if axis else {}
    last, rows = g.ops(op, 2, start, value, body=body, num_scan_inputs=1, **axes)
    g.keep(last._replace(batch=start.batch), rows._replace(batch=value.batch))


@makes("Function", since=13, weight=0.8)
def called(g: Sketch, _: str) -> None:
    """A function of the model, with a Reshape inside, called for tensors of other dims too."""
    if not g.functions:
        nodes = [
            helper.make_node("Reshape", ["a", "t"], ["b"], name="inner"),
            helper.make_node("Relu", ["b"], ["c"], name="after"),
        ]
        imports = [helper.make_opsetid("", g.opset)]
        g.functions = [helper.make_function("local", "Folded", ["a", "t"], ["c"], nodes, imports)]
    value = g.pick("f", 1)
    numbers = [*value.dims]
    place = g.dice.number(0, value.rank - 1)
    if g.dice.chance(0.5):
        numbers[place] = -1
    hints = [(value, axis) if size > 0 else None for axis, size in enumerate(numbers)]
    made = g.op("Folded", value, vector(g, numbers, hints), domain="local", batch=value.batch)
    g.keep(made)


@makes("SequenceAt:11 ConcatFromSequence:11", weight=0.3)
def sequence(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.axis(value)
    parts = g.raw("SplitToSequence", [value.name], axis=axis, keepdims=1)[0]
    if op == "SequenceAt":
        g.keep(g.op(op, parts, g.const(g.dice.pick([0, -1]), np.int64), batch=value.batch))
    else:
        g.keep(g.op(op, parts, axis=axis, batch=value.batch))
