"""Products of integers in which each sample has a zero point of its own.

An operator takes one zero point for all, so it is given none, and what that leaves out is taken off behind it:
sum((y - z) * w) = sum(y * w) - z * sum(w), in integers, which is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.formats.onnx_graphs import ONNX
from onereshape.models.constants import constant_tensor
from onereshape.models.facts.facts import Facts
from onereshape.models.node_view import Refused, label_of
from onereshape.models.rewrite import Rewriter

_AXES_ARE_INPUTS = 13
"""The opset since which a ReduceSum takes its axes as an input."""
_WHOLE = {"to": int(ir.DataType.INT32)}


class Quantised(NamedTuple):
    """Quantised numbers, and what each sample has them by."""

    words: ir.Value
    point: ir.Value
    """The zero points, in 32 bits, with as many dims as the numbers."""
    scales: ir.Value
    """The scales and"""
    points: ir.Value
    """the zero points as vectors of N."""
    axis: int


def check_reader(finder: ir.Node, node: ir.Node, facts: Facts) -> None:
    """Refuses what takes quantised numbers and cannot take them with a zero point for each sample."""
    said, op = label_of(node), node.op_type if node.domain in ONNX else ""
    words, point = finder.outputs[0], finder.outputs[2] if len(finder.outputs) > 2 else None
    slots = [index for index, value in enumerate(node.inputs) if value is words]
    takes = {"MatMulInteger": {0, 1}}.get(op)
    if takes is None or not takes.issuperset(slots):
        raise Refused(f"{said} ({node.op_type}) takes its numbers")
    if any(_input(node, slot + 2) is not point or point is None for slot in slots):
        raise Refused(f"{said} takes its numbers with another zero point")
    ranks = [len(facts.dims_of(value) or ()) for value in node.inputs[:2] if value is not None]
    if len(ranks) < 2 or min(ranks) < 2:
        raise Refused(f"{said} multiplies a vector, or what has dims that are not known")


def _input(node: ir.Node, index: int) -> ir.Value | None:
    return node.inputs[index] if index < len(node.inputs) else None


def write_reader(build: Rewriter, node: ir.Node, found: Mapping[ir.Value, Quantised]) -> None:
    """Puts the product with the zero points of each sample in the place of one with a zero point for all."""
    own = {each.words: each for each in found.values()}
    sides = [own.get(value) for value in node.inputs[:2] if value is not None]
    points = [None if own_ else _input(node, index + 2) for index, own_ in enumerate(sides)]
    given = [*node.inputs[:2], *points]
    while given[-1] is None:
        given.pop()
    total = build.insert(node, node.op_type, given, {name: each.value for name, each in node.attributes.items()})
    parts = []
    for index, side in enumerate(sides):
        if side is not None:
            other = _sums(build, node, 1 - index, points[1 - index], sides[0] if index else None)
            parts.append(build.insert(node, "Mul", [side.point, other]))
    *before, last = parts
    for part in before:
        total = build.insert(node, "Sub", [total, part])
    build.replace(node, "Sub", [total, last])


def _sums(build: Rewriter, node: ir.Node, place: int, point: ir.Value | None, own: Quantised | None) -> ir.Value:
    """The sums of the other factor along what the product sums over."""
    value, axis = node.inputs[place], -2 if place else -1
    array, zero = (None if each is None else constant_tensor(each) for each in (value, point))
    if array is not None and own is None and (point is None or zero is not None):
        centred = array.numpy().astype(np.int64) - (0 if zero is None else zero.numpy().astype(np.int64))
        return build.constant(centred.sum(axis, keepdims=True).astype(np.int32))
    whole = build.insert(node, "Cast", [value], _WHOLE)
    if own is not None:
        whole = build.insert(node, "Sub", [whole, own.point])
    elif point is not None:
        whole = build.insert(node, "Sub", [whole, build.insert(node, "Cast", [point], _WHOLE)])
    if build.opset >= _AXES_ARE_INPUTS:
        return build.insert(node, "ReduceSum", [whole, build.integers([axis])], {"keepdims": 1})
    return build.insert(node, "ReduceSum", [whole], {"axes": [axis], "keepdims": 1})
