"""Operators that work element by element, and those that normalize along axes."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from tests.hostile.makers import makes
from tests.hostile.sizes import vector
from tests.hostile.sketch import Misfit, Sketch, Value

_TYPES = {
    "f": TensorProto.FLOAT,
    "d": TensorProto.DOUBLE,
    "e": TensorProto.FLOAT16,
    "i": TensorProto.INT32,
    "l": TensorProto.INT64,
    "B": TensorProto.UINT8,
    "?": TensorProto.BOOL,
}


@makes(
    "Abs Acos:7 Acosh:9 Asin:7 Asinh:9 Atan:7 Atanh:9 Ceil Cos:7 Cosh:9 Elu Erf:9 Exp Floor Gelu:20 HardSigmoid "
    "HardSwish:14 Identity LeakyRelu Log Mish:18 Neg Reciprocal Relu Round:11 Selu Shrink:9 Sigmoid Sign:9 Sin:7 "
    "Sinh:9 Softplus Softsign Sqrt Swish:24 Tan:7 Tanh ThresholdedRelu:10 Celu:12",
    weight=0.6,
)
def unary(g: Sketch, op: str) -> None:
    value = g.pick("f")
    attributes = {"alpha": 0.5} if op in {"Elu", "LeakyRelu"} and g.dice.chance(0.5) else {}
    g.keep(g.op(op, value, batch=value.batch, **attributes))


@makes("IsInf:10 IsNaN:9", weight=0.4)
def asks(g: Sketch, op: str) -> None:
    value = g.pick("f")
    g.keep(g.op(op, value, batch=value.batch))


@makes("Not BitwiseNot:18", weight=0.6)
def negated(g: Sketch, op: str) -> None:
    value = g.pick("b" if op == "Not" else "iu")
    g.keep(g.op(op, value, batch=value.batch))


@makes("Cast:9")
def cast(g: Sketch, op: str) -> None:
    value = g.pick("fiub")
    to = g.dice.pick("ffdilB?e")
    if value.kind == "f" and to in "ilB":  # out of range it means nothing
        top = 100.0 if to == "B" else 1e6
        low = 0.0 if to == "B" else -1e6
        value = clipped(g, value, low, top)
    g.keep(g.op(op, value, batch=value.batch, to=_TYPES[to]))


def clipped(g: Sketch, value: Value, low: float, high: float) -> Value:
    """A Clip, as the opset writes it; NaN becomes 0 before."""
    if value.kind == "f":
        zero = g.const(np.zeros((), value.array.dtype))
        value = g.op("Where", g.op("IsNaN", value), zero, value, batch=value.batch)
    if g.opset < 11:
        if value.array.dtype != np.float32:
            raise Misfit
        return g.op("Clip", value, min=low, max=high, batch=value.batch)
    ends = [g.const(np.array(each, value.array.dtype)) for each in (low, high)]
    return g.op("Clip", value, *ends, batch=value.batch)


@makes("Clip:6")
def clip(g: Sketch, _: str) -> None:
    value = g.pick("f")
    if g.opset >= 11 and g.dice.chance(0.3):
        low = g.dice.pick(["", g.const(-1, value.array.dtype)])
        high = g.given(np.array(2, value.array.dtype), low=1, high=3).name
        g.keep(g.op("Clip", value, low, high, batch=value.batch))
        return
    g.keep(clipped(g, value, -2.0, 3.0))


@makes("CastLike:15")
def cast_like(g: Sketch, op: str) -> None:
    value, like = g.pick("fb"), g.pick("fb")
    g.keep(g.op(op, value, like, batch=value.batch))


# Two operands


def operand(  # noqa: C901 - as many ways as exporters have
    g: Sketch, value: Value, dtype: np.dtype[np.generic] | None = None
) -> Value:
    """Something that can be broadcast with a tensor."""
    dtype = dtype or value.array.dtype
    way = g.dice.weighed({"scalar": 2, "table": 2.5, "rows": 1.2, "live": 4, "given": 0.8, "samples": 1, "wider": 0.6})
    dims = list(value.dims)
    if way == "live":
        fit = [each for each in g.values if each.array.dtype == dtype and fits(each.dims, value.dims)]
        if fit:
            return g.dice.pick(fit)
    if way == "samples" and value.batch is not None:
        return g.given(g.dice.constant(dims, dtype), value.batch)
    if way == "scalar":
        return Value(g.const(g.dice.constant([], dtype)), np.zeros((), dtype))
    if way == "rows" and value.batch is not None:  # a table with a row for each sample
        rows = dims
        if g.dice.chance(0.8):
            rows = [dim if axis == value.batch else 1 if g.dice.chance(0.3) else dim for axis, dim in enumerate(dims)]
        table = g.dice.constant(rows, dtype)
        if g.tame or g.dice.chance(0.6):
            table = np.repeat(np.take(table, [0], value.batch), dims[value.batch], value.batch)
        return Value(g.const(table), table)
    if way == "wider":
        dims = [g.dice.number(1, 3), *dims] if len(dims) < 5 else dims
        if value.batch is not None and len(dims) > value.rank:
            dims[value.batch + 1] = 1
        table = g.dice.constant(dims, dtype)
        return Value(g.const(table), table)
    dims = [1 if axis == value.batch or g.dice.chance(0.3) else dim for axis, dim in enumerate(dims)]
    first = g.dice.number(0, len(dims)) if value.batch is None or g.dice.chance(0.5) else 0
    dims = dims[first:]
    table = g.dice.constant(dims, dtype)
    if way == "given":
        return g.given(table)
    return Value(g.const(table), table)


def fits(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(1 in pair or pair[0] == pair[1] for pair in zip(one[::-1], other[::-1], strict=False))


def together(*values: Value) -> int | None:
    """Where the samples are after a broadcast."""
    rank = max(value.rank for value in values)
    places = [value.batch + rank - value.rank for value in values if value.batch is not None]
    return places[0] if places else None


def _pair(g: Sketch, kinds: str) -> list[Value]:
    value = g.pick(kinds)
    pair = [value, operand(g, value)]
    return pair if g.dice.chance(0.7) else pair[::-1]


@makes("Add:7 Sub:7 Mul:7", weight=2)
def arithmetic(g: Sketch, op: str) -> None:
    pair = _pair(g, "ffffi")
    if any(value.array.dtype.itemsize < 4 and value.kind != "f" for value in pair):
        raise Misfit
    g.keep(g.op(op, *pair, batch=together(*pair)))


@makes("Div:7 Pow:12")
def floats(g: Sketch, op: str) -> None:
    pair = _pair(g, "f")
    g.keep(g.op(op, *pair, batch=together(*pair)))


@makes("Mod:10")
def mod(g: Sketch, op: str) -> None:
    value = g.pick("fi")
    by = g.const(g.dice.pick([2, 3, 5]), value.array.dtype)
    g.keep(g.op(op, value, by, batch=value.batch, fmod=1 if value.kind == "f" or g.dice.chance(0.3) else 0))


@makes("Max:8 Min:8 Mean:8 Sum:8")
def several(g: Sketch, op: str) -> None:
    value = g.pick("f")
    all_ = [value, *(operand(g, value) for _ in range(g.dice.number(0, 2)))]
    g.keep(g.op(op, *g.dice.shuffled(all_), batch=together(*all_)))


@makes("Equal:11 Greater:9 Less:9 GreaterOrEqual:12 LessOrEqual:12")
def compared(g: Sketch, op: str) -> None:
    value = g.pick("f" if op != "Equal" else "fi")
    if g.dice.chance(0.4):
        gate = g.const(g.dice.pick([0, 1, 1000, -1000, 6e4, 0.5]), value.array.dtype)
        g.keep(g.op(op, value, gate, batch=value.batch))
        return
    other = operand(g, value)
    g.keep(g.op(op, value, other, batch=together(value, other)))


@makes("And:7 Or:7 Xor:7")
def logical(g: Sketch, op: str) -> None:
    value = g.pick("b")
    other = operand(g, value)
    g.keep(g.op(op, value, other, batch=together(value, other)))


@makes("BitwiseAnd:18 BitwiseOr:18 BitwiseXor:18")
def bits(g: Sketch, op: str) -> None:
    value = g.pick("iu")
    other = operand(g, value)
    g.keep(g.op(op, value, other, batch=together(value, other)))


@makes("BitShift:11")
def shifted(g: Sketch, op: str) -> None:
    value = g.pick("u")
    other = Value(g.const(np.array(2, value.array.dtype)), np.zeros(()))
    g.keep(g.op(op, value, other, batch=value.batch, direction=g.dice.pick(["LEFT", "RIGHT"])))


@makes("Where:9", weight=3)
def gate(g: Sketch, op: str) -> None:
    """A gate that few values open."""
    value = g.pick("f")
    limit = g.const(g.dice.pick([1000, 6e4, 0, -500, 5]), value.array.dtype)
    asked = value if g.dice.chance(0.7) else g.pick("f")
    if asked.array.dtype != value.array.dtype:
        raise Misfit
    if asked.rank and g.dice.chance(0.3):  # one gate for each sample, or for all
        axes = [axis for axis in range(asked.rank) if axis != asked.batch] if g.dice.chance(0.9) else None
        if axes == []:
            raise Misfit
        asked = reduced(g, g.dice.pick(["ReduceMax", "ReduceMin", "ReduceMean"]), asked, axes, keep=1)
    condition = g.op(g.dice.pick(["Greater", "Less"]), asked, limit, batch=asked.batch)
    if g.dice.chance(0.1):
        condition = g.op("Not", condition, batch=condition.batch)
    other = operand(g, value)
    arms = [value, other] if g.dice.chance(0.5) else [other, value]
    g.keep(g.op(op, condition, *arms, batch=together(condition, *arms)))


@makes("Where:9")
def where(g: Sketch, op: str) -> None:
    condition, value = g.pick("b"), g.pick("fi")
    other = operand(g, value)
    arms = [value, other] if g.dice.chance(0.5) else [other, value]
    g.keep(g.op(op, condition, *arms, batch=together(condition, *arms)))


@makes("PRelu:9")
def prelu(g: Sketch, op: str) -> None:
    value = g.pick("f")
    slope = operand(g, value)
    found = g.op(op, value, slope, batch=value.batch)
    if found.dims != value.dims:  # the engine takes it, and plans its memory as if it did not
        raise Misfit
    g.keep(found)


# Along axes


def axes_of(g: Sketch, axes: list[int]) -> str:
    """Axes as an input: constants, or in a wild graph anything."""
    return g.const(axes, np.int64) if g.tame or g.dice.chance(0.6) else vector(g, axes)


def reduced(g: Sketch, op: str, value: Value, axes: list[int] | None, keep: int | None, **more: object) -> Value:
    """A reduction, as the opset writes it."""
    batch = value.batch
    if axes is None or batch in axes:
        batch = None
    elif batch is not None and keep == 0:
        batch -= sum(axis < batch for axis in axes)
    said = None if axes is None else [g.signed(axis, value.rank) for axis in axes]
    by_input = g.opset >= 18 or (g.opset >= 13 and op == "ReduceSum")
    given = [axes_of(g, said)] if by_input and said else []
    attributes = {} if by_input or said is None else {"axes": said}
    return g.op(op, value, *given, batch=batch, keepdims=keep, **attributes, **more)


@makes(
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)
def reduction(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axes = None if g.dice.chance(0.05) else g.axes(value)
    more = {}
    if axes is None and g.dice.chance(0.6) and (g.opset >= 18 or (g.opset >= 13 and op == "ReduceSum")):
        more = {"noop_with_empty_axes": 1}
    found = reduced(g, op, value, axes, g.dice.pick([0, 1, None]), **more)
    g.keep(found._replace(batch=value.batch) if more else found)


@makes("ArgMax ArgMin")
def arg(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis, keep = g.axis(value), g.dice.pick([0, 1])
    batch = None if axis == value.batch else value.batch
    if batch is not None and keep == 0:
        batch -= axis < batch
    last = {"select_last_index": 1} if g.opset >= 12 and g.dice.chance(0.3) else {}
    g.keep(g.op(op, value, batch=batch, axis=g.signed(axis, value.rank), keepdims=keep, **last))


@makes("Softmax LogSoftmax Hardmax")
def soft(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.signed(g.axis(value), value.rank) if g.dice.chance(0.9) else None
    if axis is not None and axis < 0 and g.opset < 11:
        axis += value.rank
    g.keep(g.op(op, value, batch=value.batch, axis=axis))


@makes("LpNormalization")
def lp(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.axis(value)
    g.keep(g.op(op, value, batch=value.batch, axis=g.signed(axis, value.rank), p=g.dice.pick([1, 2])))


@makes("CumSum:11")
def cumsum(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.const(g.signed(g.axis(value), value.rank), np.int64)
    flags = {name: g.dice.number(0, 1) for name in ("exclusive", "reverse")}
    g.keep(g.op(op, value, axis, batch=value.batch, **flags))


@makes("LayerNormalization:17 RMSNormalization:23")
def layer(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    axis = g.dice.number(0 if value.batch is None or g.dice.chance(0.1) else value.batch + 1, value.rank)
    if axis == value.rank:
        raise Misfit
    scale = g.const(g.dice.constant(value.dims[axis:], value.array.dtype))
    g.keep(g.op(op, value, scale, batch=value.batch, axis=g.signed(axis, value.rank)))


@makes("SimplifiedLayerNormalization", weight=0.5)
def simplified(g: Sketch, op: str) -> None:
    value = g.pick("f", 2)
    scale = g.const(g.dice.constant(value.dims[-1:], value.array.dtype))
    g.keep(g.op(op, value, scale, batch=value.batch, axis=-1, domain=""))


@makes("MeanVarianceNormalization:9")
def mvn(g: Sketch, op: str) -> None:
    value = g.pick("f", 2, 4)
    axes = g.axes(value)
    g.keep(g.op(op, value, batch=value.batch, axes=axes if g.dice.chance(0.8) else None))


@makes("Dropout:7", weight=0.6)
def dropout(g: Sketch, op: str) -> None:
    value = g.pick("f")
    g.keep(g.op(op, value, batch=value.batch))


@makes("RandomNormalLike RandomUniformLike", weight=0.25)
def noise(g: Sketch, op: str) -> None:
    value = g.pick("f")
    g.random = True
    g.keep(g.op(op, value, batch=value.batch))


@makes("QuantizeLinear:10")
def quantized(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    if value.array.dtype != np.float32:
        raise Misfit
    scale, zero = 0.25, np.array(g.dice.number(0, 9), np.uint8)
    if g.opset >= 13 and g.dice.chance(0.4):
        axis = g.axis(value)
        size = value.dims[axis]
        scales = g.const(np.full(size, scale), np.float32)
        g.keep(g.op(op, value, scales, g.const(np.full(size, zero)), batch=value.batch, axis=axis))
        return
    g.keep(g.op(op, value, g.const(scale, np.float32), g.const(zero), batch=value.batch))


@makes("DequantizeLinear:10")
def dequantized(g: Sketch, op: str) -> None:
    value = g.pick("u")
    g.keep(g.op(op, value, g.const(0.5, np.float32), g.const(3, value.array.dtype), batch=value.batch))


@makes("DynamicQuantizeLinear:11", weight=0.3)
def dynamic(g: Sketch, op: str) -> None:
    value = g.pick("f", 1)
    g.keep(*g.ops(op, 3, value))


@makes("Trilu:14")
def trilu(g: Sketch, op: str) -> None:
    value = g.pick("f", 2)
    shift = [g.const(g.dice.number(-2, 2), np.int64)] if g.dice.chance(0.5) else []
    g.keep(g.op(op, value, *shift, batch=value.batch, upper=g.dice.number(0, 1)))
