"""Vectors of sizes, as exporters write them: constants, inputs, and what is computed from the shapes of tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import TensorProto

from tests.hostile.engine import Array
from tests.hostile.sketch import Misfit, Sketch, Value

Hint = tuple[Value, int] | None
"""The tensor and the axis that a size is taken from by right."""

_WAYS = {"constant": 26.0, "node": 7.0, "shared": 8.0, "given": 8.0, "computed": 40.0, "whole": 6.0, "chosen": 5.0}


def vector(
    g: Sketch,
    numbers: Sequence[int],
    hints: Sequence[Hint] = (),
    others: Sequence[Sequence[int]] = (),
    dtype: type = np.int64,
) -> str:
    """The name of a vector of integers that has these numbers at export; `others` would be right as well."""
    way = g.dice.weighed(_WAYS)
    hints = [*hints, *[None] * (len(numbers) - len(hints))]
    if way == "node":
        return g.const_node(np.array(numbers, dtype))
    if way == "shared":
        return _shared(g, np.array(numbers, dtype))
    if way == "given":
        choices: list[Array] = [np.array(each, dtype) for each in (numbers, *others)]
        return g.given(choices[0], choices=tuple(choices)).name
    if way in {"computed", "whole", "chosen"} and numbers:
        name = _whole(g, numbers) if way == "whole" else None
        name = name or _computed(g, numbers, hints)
        if way == "chosen":
            name = _chosen(g, name, numbers)
        return name if dtype is np.int64 else _cast(g, name, dtype)
    return g.const(np.array(numbers, dtype))


def scalar(g: Sketch, number: int, hint: Hint = None, dtype: type = np.int64) -> str:
    """The same for a tensor without dims."""
    name = vector(g, [number], [hint], dtype=dtype)
    if name in g.constants:
        return g.const(np.array(number, dtype))
    return squeezed(g, name)


def squeezed(g: Sketch, name: str) -> str:
    """A vector of one element as a scalar."""
    way = g.dice.number(0, 2)
    if way == 0:
        return g.op("Reshape", name, g.const(np.zeros(0, np.int64))).name
    if way == 1:
        return g.op("Gather", name, g.const(np.array(0)), axis=0).name
    if g.opset < 13:
        return g.op("Squeeze", name, axes=[0]).name
    return g.op("Squeeze", name, g.const([0], np.int64)).name


def unsqueezed(g: Sketch, name: str) -> str:
    """A scalar as a vector of one element."""
    if g.dice.chance(0.3):
        return g.op("Reshape", name, g.const([g.dice.pick([1, -1])], np.int64)).name
    if g.opset < 13:
        return g.op("Unsqueeze", name, axes=[0]).name
    return g.op("Unsqueeze", name, g.const([0], np.int64)).name


def shape_of(g: Sketch, value: Value) -> str:
    """The Shape of a tensor, one for all who ask most of the time."""
    if value.name in g.cache and g.dice.chance(0.7):
        return g.cache[value.name]
    name = g.cache[value.name] = g.op("Shape", value).name
    return name


def dim(g: Sketch, value: Value, axis: int) -> str:
    """One dim of a tensor as a vector of one element."""
    way = g.dice.number(0, 4)
    if way == 0 and g.opset >= 15:
        return g.op("Shape", value, start=axis, end=axis + 1 if axis + 1 < value.rank else None).name
    whole = shape_of(g, value)
    if way == 1:
        ends = axis + 1 if axis + 1 < value.rank or g.dice.chance(0.5) else g.dice.pick([2**31 - 1, 2**63 - 1])
        if g.opset < 10:
            return g.op("Slice", whole, starts=[axis], ends=[ends], axes=[0]).name
        return g.op("Slice", whole, *(g.const([each], np.int64) for each in (axis, ends, 0))).name
    if way == 2:
        return unsqueezed(g, g.op("Gather", whole, g.const(np.array(g.signed(axis, value.rank))), axis=0).name)
    if way == 3 and value.rank <= 4 and g.opset >= 2:
        sizes = {"split": [1] * value.rank} if g.opset < 13 else {}
        given = [] if g.opset < 13 else [g.const([1] * value.rank, np.int64)]
        return g.ops("Split", value.rank, whole, *given, axis=0, **sizes)[axis].name
    return g.op("Gather", whole, g.const([g.signed(axis, value.rank)], np.int64), axis=0).name


def _shared(g: Sketch, array: Array) -> str:
    """An initializer that somebody else has already, where there is one."""
    for name, each in g.constants.items():
        if each.dtype == array.dtype and each.shape == array.shape and np.array_equal(each, array):
            return name
    return g.const(array)


def _cast(g: Sketch, name: str, dtype: type) -> str:
    kind = {np.int32: TensorProto.INT32, np.int64: TensorProto.INT64, np.float32: TensorProto.FLOAT}[dtype]  # type: ignore[index]
    return g.op("Cast", name, to=kind).name


def _whole(g: Sketch, numbers: Sequence[int]) -> str | None:
    """The Shape of a tensor that has all these sizes, or a part of one."""
    fit = [each for each in g.values if each.rank >= len(numbers) > 0]
    for value in g.dice.shuffled(fit):
        for start in range(value.rank - len(numbers) + 1):
            if list(value.dims[start : start + len(numbers)]) != list(numbers):
                continue
            end = start + len(numbers)
            if (start, end) == (0, value.rank):
                return shape_of(g, value)
            if g.opset >= 15 and g.dice.chance(0.5):
                return g.op("Shape", value, start=start - value.rank, end=end).name
            if g.opset < 10:
                return g.op("Slice", shape_of(g, value), starts=[start], ends=[end]).name
            return g.op("Slice", shape_of(g, value), g.const([start], np.int64), g.const([end], np.int64)).name
    return None


def _computed(g: Sketch, numbers: Sequence[int], hints: Sequence[Hint]) -> str:
    """A vector of these numbers, joined by Concat of constants and of nodes that compute a number."""
    parts: list[str] = []
    literal: list[int] = []
    for number, hint in zip(numbers, hints, strict=True):
        name = _number(g, number, hint) if g.dice.chance(0.75 if hint else 0.3) else None
        if name is None:
            literal.append(number)
            continue
        if literal:
            parts.append(_shared(g, np.array(literal, np.int64)))
            literal = []
        parts.append(name)
    if literal:
        parts.append(_shared(g, np.array(literal, np.int64)))
    if len(parts) == 1 and g.dice.chance(0.7):
        return parts[0]
    return g.op("Concat", *parts, axis=0).name


def _number(g: Sketch, number: int, hint: Hint) -> str | None:
    """A number as a vector of one element, computed from dims; None where no dims have to do with it."""
    if number < 0:
        return None
    if hint is None or g.dice.chance(0.1):
        places = [(each, axis) for each in g.values[-6:] for axis in range(each.rank)]
        exact = [place for place in places if place[0].dims[place[1]] == number]
        places = exact if exact and g.dice.chance(0.7) else places
        if not places:
            return None
        hint = g.dice.pick(places)
    value, axis = hint
    name, size = dim(g, value, axis), value.dims[axis]
    if size == number:
        return _rounded(g, name, number) if g.dice.chance(0.25) else name
    return _arithmetic(g, name, size, number)


def _const(g: Sketch, number: int) -> str:
    return _shared(g, np.array([number], np.int64)) if g.dice.chance(0.7) else g.const_node([number], np.int64)


def _arithmetic(g: Sketch, name: str, size: int, number: int) -> str:
    """A number from a size: times, over, plus or minus another."""
    if size and number % size == 0 and g.dice.chance(0.8):
        return g.op("Mul", name, _const(g, number // size)).name
    if number and size % number == 0 and g.dice.chance(0.8):
        if g.dice.chance(0.3):  # by floats, as exporters do
            half = g.op("Div", _cast(g, name, np.float32), g.const([size // number], np.float32))
            return _cast(g, g.op(g.dice.pick(["Floor", "Ceil"]), half).name, np.int64)
        return g.op("Div", name, _const(g, size // number)).name
    if number < size and g.dice.chance(0.3):
        return g.op("Sub", name, _const(g, size - number)).name
    if number < size and g.opset >= 10 and number == size % (size - number) and g.dice.chance(0.5):
        return g.op("Mod", name, _const(g, size - number)).name
    return g.op("Add", name, _const(g, number - size)).name


def _rounded(g: Sketch, name: str, number: int) -> str:
    """The same number by a detour."""
    way = g.dice.number(0, 6)
    if way == 0:
        by = g.dice.number(2, 3)
        return g.op("Div", g.op("Mul", name, _const(g, by)), _const(g, by)).name
    if way == 1:
        return g.op("Sub", g.op("Add", name, _const(g, 1)), _const(g, 1)).name
    if way == 2:
        return _cast(g, _cast(g, name, np.int32), np.int64)
    if way == 3:
        return _cast(g, _cast(g, name, np.float32), np.int64)
    if way == 4 and g.opset >= 12:
        return g.op("Max", name, _const(g, g.dice.pick([0, 1]) if number else 0)).name
    if way == 5:
        return g.op("Reshape", g.op("Reshape", name, g.const(np.zeros(0, np.int64))), g.const([1], np.int64)).name
    kind = "ReduceProd" if g.opset < 18 else "ReduceSum"
    return g.op(kind, name, keepdims=1).name


def _chosen(g: Sketch, name: str, numbers: Sequence[int]) -> str:
    """The numbers as Expand gets them: a -1 gives way to a 1."""
    if g.opset < 11:
        raise Misfit
    asked = [-1 if number == 1 and g.dice.chance(0.7) else number for number in numbers]
    ones = g.const(np.ones(len(numbers), np.int64))
    said = g.const(asked, np.int64)
    where = g.op("Equal", said, g.const(-1, np.int64))
    return g.op("Where", where, ones, name).name
