"""What the operators give that may be folded: calculated on constants before a model runs.

It is onnx.reference's answer, or our own where that differs from the specification.  Each of them is held against
onnxruntime, in all its versions; what has not `folds` in its record is not folded, and where the specification leaves
an answer open (an integer divided by 0, a number that its type cannot hold) there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
import onnx

from onereshape.models.record import record_named

OLDEST, NEWEST = 7, 25
"""The opsets between which the operators are held against onnxruntime."""
TYPES = frozenset({"float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint32", "uint64", "bool"})
"""The types in which they are."""

Array = np.ndarray[Any, Any]

_BROKEN = (ValueError, TypeError, IndexError, ArithmeticError, RuntimeError)
"""How NumPy and onnx.reference say that a node breaks the rules of its operator, or that they cannot do it."""
FARTHEST = frozenset({2**31 - 1, 2**63 - 1})
"""Ends of a slice that mean "to the end"; going backwards, engines do not agree which end that is."""
_NOTHING = np.empty(0, np.float32)


class Unknown(Exception):  # noqa: N818 - not an error: there is no answer to know
    """A use of an operator whose answer is not known."""


class Use(NamedTuple):
    """One use of an operator: its node, the opset, and the arrays of its inputs."""

    node: onnx.NodeProto
    opset: int
    inputs: Sequence[Array | None]

    def given(self, index: int) -> Array:
        """An input that must be there."""
        found = self.optional(index)
        if found is None:
            raise Unknown
        return found

    def optional(self, index: int) -> Array | None:
        """An input that may be left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def attribute(self, name: str, otherwise: Any) -> Any:
        """The value of an attribute."""
        found = [onnx.helper.get_attribute_value(each) for each in self.node.attribute if each.name == name]
        return found[0] if found else otherwise

    def list(self, name: str, index: int) -> list[int] | None:
        """Numbers that are an attribute in old versions and an input in new ones."""
        found, array = self.attribute(name, None), self.optional(index)
        return list(found) if found is not None else None if array is None else array.reshape(-1).tolist()


def folded(use: Use) -> list[Array]:
    """The outputs of an operator on these arrays; raises Unknown where they are not known."""
    op = use.node.op_type
    if not record_named(op).folds or not _held(op, use.opset):
        raise Unknown
    if any(array is not None and array.dtype.name not in TYPES for array in use.inputs):
        raise Unknown
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in _OWN.get(op, _reference)(use)]
    except _BROKEN:
        raise Unknown from None


@cache
def _held(op: str, opset: int) -> bool:
    """Whether the version that an operator has in an opset is one of those that are held against onnxruntime."""
    try:
        return opset >= OLDEST and onnx.defs.get_schema(op, opset, "").since_version <= NEWEST
    except onnx.defs.SchemaError:
        return False


def _reference(use: Use) -> Sequence[Array]:
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - takes long

    feeds = {name: array for name, array in zip(use.node.input, use.inputs, strict=True) if array is not None}
    graph = onnx.helper.make_graph(
        [use.node],
        "folded",
        [onnx.ValueInfoProto(name=name) for name in feeds],
        [onnx.ValueInfoProto(name=name) for name in use.node.output if name],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", use.opset)])
    found: Any = ReferenceEvaluator(model).run(None, feeds)
    named = iter(found)
    return [next(named) if name else _NOTHING for name in use.node.output]


# Our own


def _axis(use: Use, rank: int, otherwise: int) -> int:
    axis = int(use.attribute("axis", otherwise))
    if not -rank <= axis < max(rank, 1):
        raise Unknown
    return axis + rank if axis < 0 else axis


def _lines(use: Use) -> tuple[Array, int]:
    """What a Softmax looks along: one axis; before version 13 all axes from one on, as if they were one."""
    data = use.given(0)
    if not data.size:
        raise Unknown
    if use.opset >= 13:
        return data, _axis(use, data.ndim, -1)
    axis = _axis(use, data.ndim, 1)
    return data.reshape(prod(data.shape[:axis]), -1), 1


def _softmax(use: Use) -> list[Array]:
    lines, axis = _lines(use)
    grown = np.exp(lines - lines.max(axis=axis, keepdims=True))
    found = grown / grown.sum(axis=axis, keepdims=True)
    return [found.astype(lines.dtype).reshape(use.given(0).shape)]


def _log_softmax(use: Use) -> list[Array]:
    lines, axis = _lines(use)
    moved = lines - lines.max(axis=axis, keepdims=True)
    found = moved - np.log(np.exp(moved).sum(axis=axis, keepdims=True))
    return [found.astype(lines.dtype).reshape(use.given(0).shape)]


def _hardmax(use: Use) -> list[Array]:
    lines, axis = _lines(use)
    found = np.zeros_like(lines)
    np.put_along_axis(found, np.expand_dims(lines.argmax(axis=axis), axis), 1, axis=axis)
    return [found.reshape(use.given(0).shape)]


def _lp_normalization(use: Use) -> list[Array]:
    data, power = use.given(0), use.attribute("p", 2)
    axis = _axis(use, data.ndim, -1)
    wide = data.astype(np.float64)
    norm = (
        np.abs(wide).sum(axis=axis, keepdims=True) if power == 1 else np.sqrt((wide**2).sum(axis=axis, keepdims=True))
    )
    return [np.divide(wide, norm, out=np.zeros_like(wide), where=norm != 0).astype(data.dtype)]


def _slice(use: Use) -> list[Array]:
    """As in Python, but for a start before the first element: going backwards, it is the first."""
    data = use.given(0)
    starts, ends = use.list("starts", 1), use.list("ends", 2)
    if starts is None or ends is None:
        raise Unknown
    axes = use.list("axes", 3) or list(range(len(starts)))
    steps = use.list("steps", 4) or [1] * len(starts)
    index: list[Any] = [slice(None)] * data.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0 and end in FARTHEST:
            raise Unknown
        first = 0 if step < 0 and start < -data.shape[axis] else start
        index[axis] = slice(first, end, step)
    return [data[tuple(index)]]


def _clip(use: Use) -> list[Array]:
    """A limit that is left out is the last number of the type; not all engines cut what is infinite to it."""
    data = use.given(0)
    if data.dtype.kind == "f" and np.isinf(data).any():
        raise Unknown
    kind: Any = np.finfo(data.dtype) if data.dtype.kind == "f" else np.iinfo(data.dtype)
    if use.opset < 11:
        low, high = use.attribute("min", kind.min), use.attribute("max", kind.max)
    else:
        low, high = (
            limit if (given := use.optional(index)) is None else given.reshape(())
            for index, limit in ((1, kind.min), (2, kind.max))
        )
    return [np.minimum(np.maximum(data, np.asarray(low, data.dtype)), np.asarray(high, data.dtype))]


def _whole(arrays: Sequence[Array]) -> bool:
    return all(array.dtype.kind in "iu" for array in arrays)


def _pow(use: Use) -> list[Array]:
    base, power = use.given(0), use.given(1)
    if base.dtype.kind in "iu":
        exact = np.power(base.astype(np.float64), power.astype(np.float64))
        if not (np.isfinite(exact).all() and (np.abs(exact) < _exact_limit(base.dtype)).all()) or (power < 0).any():
            raise Unknown
    return list(_reference(use))


def _exact_limit(kind: np.dtype[Any]) -> float:
    """A number that all below it, and the negative of it, can be said in a type of integers and in a float64."""
    return float(min(np.iinfo(kind).max, 2**53))


def _div(use: Use) -> list[Array]:
    over, under = use.given(0), use.given(1)
    if _whole([over, under]) and (not under.all() or (over.size and over.min() == np.iinfo(over.dtype).min < 0)):
        raise Unknown
    return list(_reference(use))


def _mod(use: Use) -> list[Array]:
    over, under = use.given(0), use.given(1)
    if _whole([over, under]):
        large = any((np.abs(each.astype(np.float64)) >= 2**53).any() for each in (over, under))
        if not under.all() or large:
            raise Unknown
    return list(_reference(use))


def _cast(use: Use) -> list[Array]:
    """A cast to integers of what is too large for them is left open."""
    data = use.given(0)
    if use.node.op_type == "CastLike":
        to = use.given(1).dtype
    else:
        to = onnx.helper.tensor_dtype_to_np_dtype(use.attribute("to", onnx.TensorProto.UNDEFINED))
    if to.name not in TYPES:
        raise Unknown
    if to.kind in "iu" and data.dtype.kind == "f":
        cut, kind = np.trunc(data.astype(np.float64)), np.iinfo(to)
        if not ((cut >= kind.min) & (cut < float(kind.max) + (kind.bits < 64))).all():
            raise Unknown
    return [data.astype(to)]


def _flatten(use: Use) -> list[Array]:
    data, axis = use.given(0), use.attribute("axis", 1)
    axis = axis + data.ndim if axis < 0 else axis
    return [data.reshape(prod(data.shape[:axis]), prod(data.shape[axis:]))]


def _squeeze(use: Use) -> list[Array]:
    data, axes = use.given(0), use.list("axes", 1)
    away = None if axes is None else tuple(axis + data.ndim if axis < 0 else axis for axis in axes)
    if away is not None and any(not 0 <= axis < data.ndim or data.shape[axis] != 1 for axis in away):
        raise Unknown
    return [data.squeeze(away)]


def _mean(use: Use) -> list[Array]:
    arrays = [use.given(index) for index in range(len(use.inputs))]
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return [(total / len(arrays)).astype(arrays[0].dtype)]


def _pad(use: Use) -> list[Array]:
    """What is left where pads are negative, engines see differently."""
    by = use.list("pads", 1)
    if by is None or min(by, default=0) < 0:
        raise Unknown
    return list(_reference(use))


def _same_type(use: Use) -> list[Array]:
    return [array.astype(use.given(0).dtype) for array in _reference(use)]


def _of_some(use: Use) -> list[Array]:
    """A mean of nothing is open."""
    if not use.given(0).size:
        raise Unknown
    return list(_reference(use))


def _non_zero(use: Use) -> list[Array]:
    if not use.given(0).ndim:
        raise Unknown
    return list(_reference(use))


def _sign(use: Use) -> list[Array]:
    if np.isnan(use.given(0)).any():
        raise Unknown
    return list(_reference(use))


def _one_hot(use: Use) -> list[Array]:
    depth = use.given(1).reshape(())
    return list(_reference(use._replace(inputs=[use.inputs[0], depth, use.inputs[2]])))


_OWN: dict[str, Callable[[Use], Sequence[Array]]] = {
    "Cast": _cast,
    "CastLike": _cast,
    "Clip": _clip,
    "Div": _div,
    "Flatten": _flatten,
    "Hardmax": _hardmax,
    "LogSoftmax": _log_softmax,
    "LpNormalization": _lp_normalization,
    "Mean": _mean,
    "Mod": _mod,
    "NonZero": _non_zero,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Pow": _pow,
    "ReduceMean": _of_some,
    "ReduceSumSquare": _same_type,
    "Sign": _sign,
    "Slice": _slice,
    "Softmax": _softmax,
    "Squeeze": _squeeze,
}
