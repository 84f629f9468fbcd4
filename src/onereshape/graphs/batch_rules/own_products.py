"""Products of integers in which each sample has a zero point of its own.

An operator takes one zero point for all, so it is given none, and what that leaves out is taken off behind it:
sum((y - z) * w) = sum(y * w) - z * sum(w), in integers, which is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX
from onereshape.graphs.constants import constant_tensor
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.node_view import Refused, label_of
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Size

_AXES_ARE_INPUTS = 13
"""The opset since which a ReduceSum takes its axes as an input."""
_PADS_TRUTH = 13
"""The opset since which a Pad takes truth values."""
_WHOLE = {"to": int(ir.DataType.INT32)}


class Quantised(NamedTuple):
    """A tensor that is quantised sample by sample: its integers, and a zero point for each sample."""

    words: ir.Value
    point: ir.Value
    """The zero points, in 32 bits, with as many dims as the numbers,"""
    short: ir.Value
    """and in 8."""
    dims: tuple[Size, ...]
    """The dims of one sample."""


def check_reader(finder: ir.Node, node: ir.Node, facts: Facts, opset: int) -> None:
    """Refuses what takes quantised numbers and cannot take them with a zero point for each sample."""
    said, op = label_of(node), node.op_type if node.domain in ONNX else ""
    words, point = finder.outputs[0], finder.outputs[2] if len(finder.outputs) > 2 else None
    slots = [index for index, value in enumerate(node.inputs) if value is words]
    takes = {"MatMulInteger": {0, 1}, "ConvInteger": {0}}.get(op)
    if takes is None or not takes.issuperset(slots):
        raise Refused(f"{said} ({node.op_type}) takes its numbers")
    if any(_input(node, slot + 2) is not point or point is None for slot in slots):
        raise Refused(f"{said} takes its numbers with another zero point")
    ranks = [len(facts.dims_of(value) or ()) for value in node.inputs[:2] if value is not None]
    if len(ranks) < 2 or min(ranks) < 2:
        raise Refused(f"{said} multiplies a vector, or what has dims that are not known")
    if op == "ConvInteger":
        pads_of(node, tuple(facts.dims_of(words) or ()), opset)


def _input(node: ir.Node, index: int) -> ir.Value | None:
    return node.inputs[index] if index < len(node.inputs) else None


def write_reader(build: Rewriter, node: ir.Node, found: Mapping[ir.Value, Quantised]) -> None:
    """Puts the product with the zero points of each sample in the place of one with a zero point for all."""
    if node.op_type == "ConvInteger":
        _write_windows(build, node, found)
        return
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


def _write_windows(build: Rewriter, node: ir.Node, found: Mapping[ir.Value, Quantised]) -> None:
    """A convolution: what lies beside the data is the zero point of the sample, so that each window is whole."""
    own = next(each for each in found.values() if each.words is node.inputs[0])
    weights, point = node.inputs[1], _input(node, 3)
    pads, words = pads_of(node, own.dims, build.opset), own.words
    if any(pads):
        words = _padded(build, node, own, pads)
    attributes = {name: each.value for name, each in node.attributes.items() if name not in {"pads", "auto_pad"}}
    given = [words, weights, None, point] if point is not None else [words, weights]
    total = build.insert(node, "ConvInteger", given, attributes)
    array, zero = (None if each is None else constant_tensor(each) for each in (weights, point))
    filters = None if array is None else array.numpy().astype(np.int64)
    if filters is None:
        raise TypeError("the weights were constants when this was planned")
    less = 0 if zero is None else zero.numpy().astype(np.int64).reshape(-1, *[1] * (filters.ndim - 1))
    sums = (filters - less).sum(tuple(range(1, filters.ndim))).reshape(-1, *[1] * (filters.ndim - 2))
    part = build.insert(node, "Mul", [own.point, build.constant(sums.astype(np.int32))])
    build.replace(node, "Sub", [total, part])


def _padded(build: Rewriter, node: ir.Node, own: Quantised, pads: Sequence[int]) -> ir.Value:
    """The numbers with the zero points of their samples around them."""
    count = len(pads) // 2
    around = build.integers([0, 0, *pads[:count], 0, 0, *pads[count:]])
    words = build.insert(node, "Pad", [own.words, around, build.constant(np.array(0, np.uint8))])
    space = [dim for dim in own.dims[2:] if isinstance(dim, int)]
    if len(space) == count:
        width = [(0, 0), (0, 0), *zip(pads[:count], pads[count:], strict=True)]
        inside = build.constant(np.pad(np.ones((1, 1, *space), np.bool_), width))
    else:
        whole = build.insert(node, "Shape", [own.words])
        part = build.insert(node, "Slice", [whole, build.integers([2]), build.integers([2 + count])])
        dims = build.insert(node, "Concat", [build.integers([1, 1]), part], {"axis": 0})
        ones = build.insert(node, "ConstantOfShape", [dims], {"value": ir.tensor(np.ones(1, np.bool_))})
        inside = build.insert(node, "Pad", [ones, around, build.constant(np.array(0, np.bool_))])
    return build.insert(node, "Where", [inside, words, own.short])


def pads_of(node: ir.Node, dims: Sequence[Size], opset: int) -> list[int]:
    """What a convolution adds before each axis of space, and then behind each; a refusal where that is not known."""
    weights = constant_tensor(node.inputs[1]) if node.inputs[1] is not None else None
    point = _input(node, 3)
    if weights is None or (point is not None and constant_tensor(point) is None):
        raise Refused(f"the weights of {label_of(node)} are no constant")
    space, given = dims[2:], {name: each.value for name, each in node.attributes.items()}
    how, pads = given.get("auto_pad", "NOTSET"), list(given.get("pads") or [0] * (2 * len(space)))
    if how == "VALID" or (how == "NOTSET" and not any(pads)):
        return [0] * (2 * len(space))
    numbers = [dim for dim in space if isinstance(dim, int)]
    if how != "NOTSET" and len(numbers) < len(space):
        raise Refused(f"{label_of(node)} has auto_pad over a space that is not of numbers")
    if how == "NOTSET":
        if len(numbers) < len(space) and opset < _PADS_TRUTH:
            raise Refused(f"{label_of(node)} pads a space that is not of numbers, which needs opset {_PADS_TRUTH}")
        return pads
    first, last = [], []
    ones = [1] * len(space)
    steps = zip(numbers, weights.shape[2:], given.get("strides") or ones, given.get("dilations") or ones, strict=True)
    for dim, kernel, stride, dilation in steps:
        total = max((-(-dim // stride) - 1) * stride + (kernel - 1) * dilation + 1 - dim, 0)
        first.append(total // 2 if how == "SAME_UPPER" else -(-total // 2))
        last.append(total - first[-1])
    return [*first, *last]
