"""Layers that work element by element, of one input or of several that are broadcast."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil, floor

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.dividing import rounds_down
from onereshape.formats.ir_as_onnx.layer import FLOATS, Layer, UndrawnError, data_type


def _alike(op: str, layer: Layer) -> list[ir.Value]:
    """A layer of one input without attributes, for which ONNX has an operator `op`: Abs, Exp, Sin."""
    return [layer.draw(op, [layer.input(0)])]


def _broadcast(op: str, layer: Layer) -> list[ir.Value]:
    """Two inputs that NumPy would broadcast."""
    _check_broadcast(layer)
    return [layer.draw(op, [layer.input(0), layer.input(1)])]


def _check_broadcast(layer: Layer) -> None:
    mode = layer.text("auto_broadcast", "numpy").lower()
    if mode in {"numpy", "none"}:  # of equal dims both say the same
        return
    first, second = layer.dims(0), layer.dims(1)
    if first is None or first != second or None in first:
        raise UndrawnError(f"its auto_broadcast is {mode!r}, and only numpy and none are known here")


def _divide(layer: Layer) -> list[ir.Value]:
    """Whole numbers are divided as openvino's CPU plugin does on this machine; ONNX cuts them towards 0."""
    _check_broadcast(layer)
    first, second = layer.input(0), layer.input(1)
    if rounds_down(layer.kind_of(0), first, second):
        first = layer.draw("Sub", [first, layer.draw("Mod", [first, second])])
    return [layer.draw("Div", [first, second])]


def _mod(layer: Layer) -> list[ir.Value]:
    """The rest with the sign of the divided; ONNX has that as `fmod`."""
    _check_broadcast(layer)
    return [layer.draw("Mod", [layer.input(0), layer.input(1)], {"fmod": 1})]


def _floor_mod(layer: Layer) -> list[ir.Value]:
    """The rest with the sign of the divisor; ONNX has that for whole numbers."""
    _check_broadcast(layer)
    first, second = layer.input(0), layer.input(1)
    if layer.kind_of(0) in FLOATS:
        down = layer.draw("Floor", [layer.draw("Div", [first, second])])
        return [layer.draw("Sub", [first, layer.draw("Mul", [down, second])])]
    return [layer.draw("Mod", [first, second])]


def _not_equal(layer: Layer) -> list[ir.Value]:
    return [layer.draw("Not", _broadcast("Equal", layer))]


def _squared_difference(layer: Layer) -> list[ir.Value]:
    apart = _broadcast("Sub", layer)[0]
    return [layer.draw("Mul", [apart, apart])]


def _select(layer: Layer) -> list[ir.Value]:
    mode = layer.text("auto_broadcast", "numpy").lower()
    if mode not in {"numpy", "none"}:
        raise UndrawnError(f"its auto_broadcast is {mode!r}, and only numpy and none are known here")
    return [layer.draw("Where", [layer.input(0), layer.input(1), layer.input(2)])]


def _convert(layer: Layer) -> list[ir.Value]:
    kind = data_type(layer.text("destination_type").lower())
    if kind is None:
        raise UndrawnError(f"it converts to {layer.text('destination_type')}, which ONNX does not have")
    return [layer.cast(layer.input(0), kind)]


def _convert_like(layer: Layer) -> list[ir.Value]:
    return [layer.draw("CastLike", [layer.input(0), layer.input(1)])]


def _clamp(layer: Layer) -> list[ir.Value]:
    """Between two limits; those of whole numbers are the whole numbers inside of them."""
    kind = _kind(layer)
    low, high = layer.number("min"), layer.number("max")
    if kind not in FLOATS:
        ends = np.iinfo(kind.numpy())
        low, high = (min(max(each, ends.min), ends.max) for each in (ceil(low), floor(high)))
    limits = [layer.held(each, kind.numpy()) for each in (low, high)]
    return [layer.draw("Clip", [layer.input(0), *limits])]


def _gelu(layer: Layer) -> list[ir.Value]:
    mode = layer.text("approximation_mode", "ERF").lower()
    if mode not in {"erf", "tanh"}:
        raise UndrawnError(f"its approximation_mode is {mode!r}")
    return [layer.draw("Gelu", [layer.input(0)], {"approximate": "none" if mode == "erf" else "tanh"})]


def _swish(layer: Layer) -> list[ir.Value]:
    """X * sigmoid(beta * x)."""
    data = layer.input(0)
    inner = layer.draw("Mul", [data, layer.input(1)]) if layer.given(1) else data
    return [layer.draw("Mul", [data, layer.draw("Sigmoid", [inner])])]


def _hsigmoid(layer: Layer) -> list[ir.Value]:
    """min(max(x + 3, 0), 6) / 6."""
    return [layer.draw("HardSigmoid", [layer.input(0)], {"alpha": 1 / 6, "beta": 0.5})]


def _hard_sigmoid(layer: Layer) -> list[ir.Value]:
    """max(0, min(1, alpha * x + beta)), with both as inputs."""
    constants = [layer.constant(place) for place in (1, 2)]
    if any(each is None or each.size != 1 for each in constants):
        raise UndrawnError("its alpha and beta are no constants")
    alpha, beta = (float(each.ravel()[0]) for each in constants if each is not None)
    return [layer.draw("HardSigmoid", [layer.input(0)], {"alpha": alpha, "beta": beta})]


def _hswish(layer: Layer) -> list[ir.Value]:
    return [layer.draw("HardSwish", [layer.input(0)])]


def _elu(layer: Layer) -> list[ir.Value]:
    return [layer.draw("Elu", [layer.input(0)], {"alpha": layer.number("alpha")})]


def _prelu(layer: Layer) -> list[ir.Value]:
    """A slope of one dim goes along the channels of OpenVINO where there are as many, else along the last dim."""
    slope, dims, rank = layer.input(1), layer.dims(1), layer.rank(0)
    if dims is None:
        raise UndrawnError("the rank of its slope is not known")
    if len(dims) == 1 and dims[0] != 1 and rank > 2 and layer.size(0, 1) == dims[0]:
        slope = layer.draw("Reshape", [slope, layer.held([-1] + [1] * (rank - 2))])
    return [layer.draw("PRelu", [layer.input(0), slope])]


def _selu(layer: Layer) -> list[ir.Value]:
    """Lambda * (x, or alpha * (exp(x) - 1) below 0), with both as inputs of one element."""
    data, kind = layer.input(0), _kind(layer)
    alpha, scale = (
        layer.input(place) if layer.dims(place) == () else layer.draw("Reshape", [layer.input(place), layer.held([])])
        for place in (1, 2)
    )
    zero, one = (layer.held(number, kind.numpy()) for number in (0, 1))
    below = layer.draw("Mul", [alpha, layer.draw("Sub", [layer.draw("Exp", [data]), one])])
    chosen = layer.draw("Where", [layer.draw("Greater", [data, zero]), data, below])
    return [layer.draw("Mul", [scale, chosen])]


def _round(layer: Layer) -> list[ir.Value]:
    """Halves go to the even neighbour, as in ONNX, or away from 0."""
    mode = layer.text("mode", "half_to_even").lower()
    if mode == "half_to_even":
        return [layer.draw("Round", [layer.input(0)])]
    if mode != "half_away_from_zero":
        raise UndrawnError(f"its mode is {mode!r}")
    half = layer.held(0.5, _kind(layer).numpy())
    data = layer.input(0)
    far = layer.draw("Floor", [layer.draw("Add", [layer.draw("Abs", [data]), half])])
    return [layer.draw("Mul", [layer.draw("Sign", [data]), far])]


def _kind(layer: Layer) -> ir.DataType:
    """The type of the data, without which a layer is not drawn."""
    kind = layer.kind_of(0)
    if kind is None:
        raise UndrawnError("the type of its data is not known")
    return kind


def _is_finite(layer: Layer) -> list[ir.Value]:
    data = layer.input(0)
    return [layer.draw("Not", [layer.draw("Or", [layer.draw("IsInf", [data]), layer.draw("IsNaN", [data])])])]


def _bitwise_not(layer: Layer) -> list[ir.Value]:
    """BitwiseNot of integers; of booleans, which ONNX's BitwiseNot does not take, Not."""
    return [layer.draw("Not" if layer.kind_of(0) == ir.DataType.BOOL else "BitwiseNot", [layer.input(0)])]


def _bitwise(op: str, layer: Layer) -> list[ir.Value]:
    """`BitwiseAnd` of integers, `And` of booleans; Or and Xor alike."""
    return _broadcast(op if layer.kind_of(0) == ir.DataType.BOOL else f"Bitwise{op}", layer)


def _shift(direction: str, layer: Layer) -> list[ir.Value]:
    _check_broadcast(layer)
    if not _kind(layer).name.startswith("UINT"):
        raise UndrawnError("it shifts numbers that have a sign, which ONNX does not")
    return [layer.draw("BitShift", [layer.input(0), layer.input(1)], {"direction": direction})]


def _isinf(layer: Layer) -> list[ir.Value]:
    ends = {f"detect_{end}": int(layer.flag(f"detect_{end}", "true")) for end in ("negative", "positive")}
    return [layer.draw("IsInf", [layer.input(0)], ends)]


def _fake_quantize(layer: Layer) -> list[ir.Value]:
    """Rounded to one of so many levels between two limits, and moved to between two others.

    round((clip(x) - low) / (high - low) * (levels - 1)) / (levels - 1) * (out_high - out_low) + out_low
    """
    layer.only("auto_broadcast", "numpy", "none")
    data, low, high, out_low, out_high = (layer.input(place) for place in range(5))
    kind = _kind(layer)
    if kind not in FLOATS:
        raise UndrawnError("its data are no real numbers")
    ends = layer.constant(1), layer.constant(2)
    steps = layer.held(layer.integer("levels") - 1, kind.numpy())
    clipped = layer.draw("Min", [layer.draw("Max", [data, low]), high])
    share = layer.draw("Div", [layer.draw("Sub", [clipped, low]), layer.draw("Sub", [high, low])])
    level = layer.draw("Div", [layer.draw("Round", [layer.draw("Mul", [share, steps])]), steps])
    wide = layer.draw("Sub", [out_high, out_low])
    found = layer.draw("Add", [layer.draw("Mul", [level, wide]), out_low])
    if ends[0] is not None and ends[1] is not None and bool(np.all(ends[0] < ends[1])):
        return [found]
    # limits that may be equal: what is not above them is the lowest, else the highest
    apart = layer.draw("Less", [low, high])
    side = layer.draw("Where", [layer.draw("LessOrEqual", [data, low]), out_low, out_high])
    return [layer.draw("Where", [apart, found, side])]


_SAME = {
    "Abs": "Abs",
    "Acos": "Acos",
    "Acosh": "Acosh",
    "Asin": "Asin",
    "Asinh": "Asinh",
    "Atan": "Atan",
    "Atanh": "Atanh",
    "Ceiling": "Ceil",
    "Cos": "Cos",
    "Cosh": "Cosh",
    "Erf": "Erf",
    "Exp": "Exp",
    "Floor": "Floor",
    "Identity": "Identity",
    "IsNaN": "IsNaN",
    "Log": "Log",
    "LogicalNot": "Not",
    "Mish": "Mish",
    "Negative": "Neg",
    "ReLU": "Relu",
    "Relu": "Relu",
    "Sigmoid": "Sigmoid",
    "Sign": "Sign",
    "Sin": "Sin",
    "Sinh": "Sinh",
    "SoftPlus": "Softplus",
    "SoftSign": "Softsign",
    "Sqrt": "Sqrt",
    "Tan": "Tan",
    "Tanh": "Tanh",
}
_PAIRS = {
    "Add": "Add",
    "Equal": "Equal",
    "Greater": "Greater",
    "GreaterEqual": "GreaterOrEqual",
    "Less": "Less",
    "LessEqual": "LessOrEqual",
    "LogicalAnd": "And",
    "LogicalOr": "Or",
    "LogicalXor": "Xor",
    "Maximum": "Max",
    "Minimum": "Min",
    "Multiply": "Mul",
    "Power": "Pow",
    "Subtract": "Sub",
}

RECORDS: dict[str, Callable[[Layer], list[ir.Value]]] = {
    **{kind: partial(_alike, op) for kind, op in _SAME.items()},
    **{kind: partial(_broadcast, op) for kind, op in _PAIRS.items()},
    **{f"Bitwise{op}": partial(_bitwise, op) for op in ("And", "Or", "Xor")},
    "BitwiseLeftShift": partial(_shift, "LEFT"),
    "BitwiseNot": _bitwise_not,
    "BitwiseRightShift": partial(_shift, "RIGHT"),
    "Clamp": _clamp,
    "Convert": _convert,
    "ConvertLike": _convert_like,
    "Divide": _divide,
    "Elu": _elu,
    "FakeQuantize": _fake_quantize,
    "FloorMod": _floor_mod,
    "Gelu": _gelu,
    "HSigmoid": _hsigmoid,
    "HSwish": _hswish,
    "HardSigmoid": _hard_sigmoid,
    "IsFinite": _is_finite,
    "IsInf": _isinf,
    "Mod": _mod,
    "NotEqual": _not_equal,
    "PReLU": _prelu,
    "Round": _round,
    "Select": _select,
    "Selu": _selu,
    "SquaredDifference": _squared_difference,
    "Swish": _swish,
}
