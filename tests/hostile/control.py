"""Graphs within graphs: If, Loop and Scan, and functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.hostile.engine import type_of
from tests.hostile.makers import makes
from tests.hostile.pointwise import reduced
from tests.hostile.sizes import scalar, shape_of, vector
from tests.hostile.sketch import Misfit, Sketch, Value


def _info(name: str, value: Value) -> Any:
    return helper.make_tensor_value_info(name, type_of(value.array), None)


def _constant(name: str, numbers: Any) -> Any:
    array = np.asarray(numbers)
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array), name=f"{name}_n")


def _steps(g: Sketch, source: str, value: Value, end: str) -> tuple[list[Any], list[str]]:
    """Nodes from one name to another that keep the dims of a value; and what they capture of sizes."""
    way = g.dice.number(0, 6)
    flat, named = g.fresh("flat_"), f"{end}_n"
    if way == 0:
        return [helper.make_node("Neg", [source], [end], name=named)], []
    if way == 1:
        size = shape_of(g, value)
        there = helper.make_node("Reshape", [source, f"{flat}_t"], [flat], name=f"{flat}_n")
        back = helper.make_node("Reshape", [flat, size], [end], name=named)
        return [_constant(f"{flat}_t", [-1]), there, back], [size]
    if way == 2:
        return [helper.make_node("Add", [source, source], [end], name=named)], []
    if way == 3:  # sizes that were baked, through a shape of other dims
        baked = [value.array.size] if g.dice.chance(0.5) else [1, *value.dims]
        there = helper.make_node("Reshape", [source, f"{flat}_t"], [flat], name=f"{flat}_n")
        back = helper.make_node("Reshape", [flat, f"{flat}_u"], [end], name=named)
        return [_constant(f"{flat}_t", baked), _constant(f"{flat}_u", [*value.dims]), there, back], []
    if way == 4:  # a constant beside the samples
        array = g.dice.constant([1 if axis == value.batch else dim for axis, dim in enumerate(value.dims)])
        beside = _constant(flat, array.astype(value.array.dtype))
        return [beside, helper.make_node("Mul", [source, flat], [end], name=named)], []
    if way == 5:  # nothing of the samples at all
        return [
            _constant(flat, np.full(value.dims, 1.5, value.array.dtype)),
            helper.make_node("Neg", [flat], [end]),
        ], []
    return [helper.make_node("Identity", [source], [end], name=named)], []


def _branch(g: Sketch, value: Value, name: str) -> tuple[Any, list[str]]:
    """A graph that keeps the dims of a captured value; and what it captures."""
    end = g.fresh(f"{name}_")
    nodes, sizes = _steps(g, value.name, value, end)
    return helper.make_graph(nodes, name, [], [_info(end, value)]), [value.name, *sizes]


def _by_sample(g: Sketch, value: Value) -> Value:
    """A truth value for each sample."""
    if value.batch is None or g.size != 1 or value.array.dtype.kind != "f":
        raise Misfit
    others = [axis for axis in range(value.rank) if axis != value.batch]
    top = reduced(g, g.dice.pick(["ReduceMax", "ReduceMin"]), value, others, keep=0) if others else value
    return g.op("Greater", top, g.const(0.25, value.array.dtype), batch=0)


@makes("If:9", weight=1)
def chosen(g: Sketch, op: str) -> None:
    """One of two graphs, chosen by all samples, by a size, by an input, or by each sample for itself."""
    value = g.pick("f")
    way = g.dice.number(0, 3)
    if way == 0 and value.rank and not g.tame:
        top = reduced(g, "ReduceMax", value, None, keep=0)
        condition = g.op("Greater", top, g.const(1000, value.array.dtype))
    elif way == 1 and value.rank and g.opset >= 11:
        axis = g.dice.number(0, value.rank - 1)
        size = scalar(g, value.dims[axis], (value, axis))
        condition = g.op("Equal", size, g.const(value.dims[axis] + g.dice.pick([0, 0, 1]), np.int64))
    elif way == 2 and value.rank:
        condition = _by_sample(g, value)
    else:
        condition = g.given(np.array(g.dice.chance(0.5)))
    then, first = _branch(g, value, "then_branch")
    other, second = _branch(g, value, "else_branch")
    g.keep(g.op(op, condition, then_branch=then, else_branch=other, captured=[*first, *second], batch=value.batch))


@makes("Loop:11", weight=0.4)
def loop(g: Sketch, op: str) -> None:
    """A few steps, or as many as a dim is long; what it carries starts with samples, or without."""
    value = g.pick("f", 1)
    axis = g.axis(value, 0.2)
    count = scalar(g, value.dims[axis], (value, axis)) if g.dice.chance(0.5) else g.const(2, np.int64)
    names = {each: g.fresh(f"{each}_") for each in ("i", "go", "state", "on", "step", "next", "each")}
    way = g.dice.number(0, 2)
    ends = {
        0: helper.make_node("Identity", [names["go"]], [names["on"]], name=f"{names['on']}_n"),
        1: helper.make_node("Less", [names["i"], f"{names['on']}_k"], [names["on"]], name=f"{names['on']}_n"),
        2: helper.make_node("Less", [names["i"], f"{names['on']}_k"], [names["on"]], name=f"{names['on']}_n"),
    }
    steps, sizes = _steps(g, names["state"], value, names["step"])
    nodes = [
        *([_constant(f"{names['on']}_k", 2)] if way else []),
        ends[way],
        *steps,
        helper.make_node(g.dice.pick(["Add", "Mul"]), [names["step"], value.name], [names["next"]], name="body_n"),
    ]
    outputs = [helper.make_tensor_value_info(names["on"], TensorProto.BOOL, []), _info(names["next"], value)]
    if g.dice.chance(0.5):
        nodes.append(helper.make_node("Neg", [names["state"]], [names["each"]], name="body_e"))
        outputs.append(_info(names["each"], value))
    body = helper.make_graph(
        nodes,
        "body",
        [
            helper.make_tensor_value_info(names["i"], TensorProto.INT64, []),
            helper.make_tensor_value_info(names["go"], TensorProto.BOOL, []),
            _info(names["state"], value),
        ],
        outputs,
    )
    start = g.op("Identity", value, batch=value.batch)
    if g.dice.chance(0.4):
        held = g.const(np.full(value.dims, 0.5, value.array.dtype))
        start = Value(held, g.arrays[held])
    made = g.ops(op, len(outputs) - 1, count, "", start, body=body, captured=[value.name, *sizes])
    further = None if value.batch is None else value.batch + 1
    g.keep(*(each._replace(batch=home) for each, home in zip(made, (value.batch, further), strict=False)))


@makes("Scan:9", weight=0.4)
def scan(g: Sketch, op: str) -> None:
    """A running sum along an axis, forwards or backwards."""
    value = g.pick("f", 2)
    axis = g.axis(value)
    if axis and g.opset < 11:
        raise Misfit
    start = reduced(g, "ReduceMin", value, [axis], keep=0)
    if g.dice.chance(0.3):
        held = g.const(np.full(start.dims, 0.5, value.array.dtype))
        start = Value(held, g.arrays[held], start.batch)
    names = {each: g.fresh(f"{each}_") for each in ("state", "row", "step", "next", "kept")}
    steps, sizes = _steps(g, names["state"], start, names["step"])
    body = helper.make_graph(
        [
            *steps,
            helper.make_node("Add", [names["step"], names["row"]], [names["next"]], name="scan_n"),
            helper.make_node("Identity", [names["next"]], [names["kept"]], name="scan_k"),
        ],
        "body",
        [_info(names["state"], start), _info(names["row"], start)],
        [_info(names["next"], start), _info(names["kept"], start)],
    )
    axes = {"scan_input_axes": [axis], "scan_output_axes": [axis]} if axis else {}
    if g.dice.chance(0.4):
        axes |= {"scan_input_directions": [1], "scan_output_directions": [g.dice.number(0, 1)]}
    last, rows = g.ops(op, 2, start, value, body=body, num_scan_inputs=1, captured=sizes, **axes)
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
