"""Functions of one element, and those that take a parameter per channel: a word of the operator and its attributes."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any, Final

import numpy as np
import onnx_ir as ir
from ml_dtypes import finfo

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array
from onereshape.terms.integers import small
from onereshape.terms.records.arithmetic import WHOLE, ambiguous, operands
from onereshape.terms.tensor import Tensor, bounded, formed, numbers, terms

_PLAIN: Final = (
    "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Elu Erf Exp HardSigmoid LeakyRelu Log Selu "
    "Shrink Sigmoid Sin Sinh Softplus Softsign Tan Tanh ThresholdedRelu"
).split()
"""Functions of floats that stay terms, even of numbers: engines round them as they like."""

_EXACT: Final[dict[str, Any]] = {
    "Abs": np.abs,
    "Ceil": np.ceil,
    "Floor": np.floor,
    "Round": np.rint,
    "Sign": np.sign,
    "Sqrt": np.sqrt,
    "Reciprocal": np.reciprocal,
    "Relu": lambda array: np.maximum(array, np.zeros((), array.dtype)),
}
"""Functions that are done on numbers, as there is one right answer."""

_LONG: Final = 1 << 10
"""Exponents that are not worth a thought."""


def attributes_of(call: Call) -> tuple[Any, ...]:
    """All attributes of an operator without axes, as a part of its key."""
    return call.settings("consumed_inputs")  # a hint of the first opset


def _plain(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    return [call.mixed(data.dtype, call.key(*attributes_of(call)), call.words(0))]


def _exact(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    if data.values is not None and not _open(call.op, data):
        return [numbers(np.asarray(_EXACT[call.op](data.values)).astype(data.values.dtype), data.dtype)]
    found = call.mixed(data.dtype, call.key(), call.words(0))
    low, high = data.bounds() if data.is_integer else (None, None)
    if call.op in {"Relu", "Abs"} and low is not None and high is not None and small(low, high):
        floor = np.maximum(low, 0) if call.op == "Relu" else np.zeros((), np.int64)
        top = np.maximum(high, 0) if call.op == "Relu" else np.maximum(np.abs(low), np.abs(high))
        return [bounded(found.array, data.dtype, floor, top)]
    return [found]


def _open(op: str, data: Tensor) -> bool:
    """Whether engines put out what they like: of odd numbers, and of all reciprocals but those of powers of two.

    On Arm onnxruntime refines an estimate, so that the last digit depends on the place in the array.
    """
    if op != "Reciprocal":
        return op in {"Relu", "Sign"} and ambiguous(data)
    size = np.abs(data.array.astype(np.float64))
    least = float(finfo(data.dtype.numpy()).tiny)  # type: ignore[no-untyped-call]
    return bool(np.any((np.frexp(size)[0] != 0.5) | (size < least) | (size > 1 / least)))


def _is(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    if data.values is not None and call.op == "IsNaN":
        return [numbers(np.isnan(data.values), ir.DataType.BOOL)]
    return [call.mixed(ir.DataType.BOOL, call.key(*attributes_of(call)), call.words(0))]


def _identity(call: Call) -> Sequence[Any]:
    return [call.inputs[0]]


def _cast(call: Call) -> Sequence[Tensor]:
    if call.op == "CastLike":
        kind = call.tensor(1).dtype
    else:
        to = call.attribute("to")
        kind = _old_type(call, to) if isinstance(to, str) else type_of(call, to)
    return [cast(call, call.tensor(0), kind)]


def type_of(call: Call, number: int) -> ir.DataType:
    """The type that an attribute names."""
    try:
        found = ir.DataType(number)
    except ValueError:
        call.refuse(f"there is no type {number}")
    if found == ir.DataType.UNDEFINED:
        call.refuse("its type is none")
    return found


def _old_type(call: Call, name: str) -> ir.DataType:
    try:
        return type_of(call, ir.DataType[name.upper()])
    except KeyError:
        call.refuse(f"there is no type {name!r}")


def cast(call: Call, data: Tensor, kind: ir.DataType) -> Tensor:  # noqa: C901, PLR0911 - one case after the other
    """Elements of another type."""
    if kind == data.dtype:
        return data
    saturates = () if call.attribute("saturate", 1) else ("wraps",)
    if kind == ir.DataType.FLOAT8E8M0:
        saturates = (*saturates, call.attribute("round_mode", "up"))
    if data.values is not None and ir.DataType.STRING not in (kind, data.dtype) and not _odd(data, kind):
        values = data.values.astype(kind.numpy())
        if not data.depends:
            return numbers(values, kind)
        if kind.is_integer() and np.array_equal(values, data.values):
            return formed(values, kind, data.integers.slope, data.integers.place)
        call.not_for_all("casts a number that depends on the number of samples")
        return numbers(values, kind)
    if data.depends and not (data.is_integer and kind.is_integer()):
        call.not_for_all("casts a number that depends on the number of samples")
    if data.is_integer and kind.is_integer() and data.integers.low is not None:
        found = bounded(data.hashed(call.hashing), kind, *data.bounds())
        if found.integers.low is not None:  # within the bounds a cast changes nothing, so that integers stay linear
            return found.leaning(data.integers.slope, data.integers.place)
    key = call.hashing.key("Cast", kind.name, *saturates, call.attribute("round_mode", "up"))
    words = call.hashing.mix(key, data.hashed(call.hashing))
    if not kind.is_integer():
        return terms(words, kind)
    if data.dtype == ir.DataType.BOOL:
        return terms(words, kind, np.zeros((), np.int64), np.ones((), np.int64))
    if data.depends:
        call.not_for_all("casts a number that depends on the number of samples")
    if kind.bitwidth in {8, 16}:  # nothing linear, so that it is within its type
        info = np.iinfo(kind.numpy())
        return terms(words, kind, np.asarray(info.min), np.asarray(info.max))
    return terms(words, kind)


def _odd(data: Tensor, kind: ir.DataType) -> bool:
    """Whether a number has no one right answer in the other type: too large, not finite, or of a small float type."""
    if any(each.bitwidth < 16 and each.is_floating_point() for each in (data.dtype, kind)):
        return True
    if data.dtype.is_floating_point() and kind.is_integer():
        limits = np.iinfo(kind.numpy()) if kind.bitwidth >= 8 else None
        values = data.array.astype(np.float64)
        if limits is None or not np.all(np.isfinite(values)):
            return True
        return bool(values.size and (values.min() < limits.min or values.max() >= float(int(limits.max) + 1)))
    if kind in {ir.DataType.FLOAT16, ir.DataType.BFLOAT16}:  # some engines round to FLOAT first
        if data.dtype == ir.DataType.BOOL:
            return False
        return not np.array_equal(data.array.astype(np.float32).astype(data.array.dtype), data.array)
    return kind.is_integer() and kind.bitwidth < 8


def _end(data: Tensor, place: int) -> Tensor | None:
    """A limit that is left out: the least or the largest number of a float type, which is not infinite."""
    if not data.dtype.is_floating_point():
        return None
    ends = finfo(data.dtype.numpy())  # type: ignore[no-untyped-call]
    return numbers(np.asarray(ends.min if place == 1 else ends.max, data.dtype.numpy()), data.dtype)


def _clip(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    if call.version < 11:
        ends = [
            numbers(np.asarray(call.attribute(name), data.dtype.numpy()), data.dtype)
            if call.attribute(name) is not None
            else None
            for name in ("min", "max")
        ]
    else:
        ends = [call.tensor(place) if call.has(place) else _end(data, place) for place in (1, 2)]
    if any(end is not None and end.size != 1 for end in ends):
        call.refuse("its limits are not single numbers")
    found = data
    for limit, name, pick in zip(ends, ("Max", "Min"), (np.maximum, np.minimum), strict=True):
        if limit is None:
            continue
        end = limit.moved(lambda array: array.reshape(()))
        if data.depends or end.depends:
            call.not_for_all("clips by a number that depends on the number of samples")
        if found.values is not None and end.values is not None and not ambiguous(found) and not ambiguous(end):
            found = numbers(np.asarray(pick(found.values, end.values)).astype(found.values.dtype), data.dtype)
            continue
        join = call.hashing.blend if data.is_integer else call.hashing.mix
        words = join(call.hashing.key(name), found.hashed(call.hashing), end.hashed(call.hashing))
        low, high = found.bounds() if data.is_integer else (None, None)
        if data.is_integer and end.values is not None:
            least = np.iinfo(data.dtype.numpy()).min if low is None else low
            most = np.iinfo(data.dtype.numpy()).max if high is None else high
            found = bounded(words, data.dtype, pick(least, end.values), pick(most, end.values))
        else:
            found = terms(words, data.dtype)
    return [found]


def _outer(exponents: Array) -> bool:
    return bool(np.all(exponents >= 0) and np.all(exponents < _LONG))


def _root(left: Tensor, right: Tensor) -> Array | None:
    """Square roots that are whole numbers, as of the number of patches of an image: all engines have them right."""
    if not (left.known and right.known) or left.dtype not in (ir.DataType.FLOAT, ir.DataType.DOUBLE):
        return None
    if left.size != 1 or right.size != 1 or right.array.ravel()[0] != 0.5:
        return None
    number = float(left.array.ravel()[0])
    if not 0 <= number < WHOLE or number != int(number) or isqrt(int(number)) ** 2 != int(number):
        return None
    return np.full(np.broadcast_shapes(left.shape, right.shape), isqrt(int(number)), left.dtype.numpy())


def _pow(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    root = _root(left, right)
    if root is not None:
        return [numbers(root, left.dtype)]
    if left.known and right.known and left.is_integer and right.is_integer and _outer(right.array):
        rough = np.power(np.abs(left.array.astype(np.float64)), right.array)
        if np.all(rough < min(WHOLE, np.iinfo(left.dtype.numpy()).max)):  # some engines calculate in DOUBLE
            exact = np.power(left.array.astype(np.int64), right.array.astype(np.int64))
            return [numbers(np.asarray(exact).astype(left.array.dtype), left.dtype)]
    return [call.mixed(left.dtype, call.key(), call.words(0), right.hashed(call.hashing))]


def _prelu(call: Call) -> Sequence[Tensor]:
    data, slope = call.tensor(0), call.tensor(1)
    if call.version < 7 and slope.rank == 1 and slope.size > 1:
        slope = slope.moved(lambda array: array.reshape(-1, *[1] * (data.rank - 2)))
    try:
        fits = np.broadcast_shapes(data.shape, slope.shape) == data.shape
    except ValueError:
        fits = False
    if not fits:
        call.refuse("its slope does not broadcast to its data")
    return [call.mixed(data.dtype, call.key(), call.words(0), slope.hashed(call.hashing))]


def _dropout(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    trains = bool(call.scalar(2)) if call.has(2) else call.version < 7 and not call.attribute("is_test", 0)
    if trains:
        call.refuse("is random in training")
    if call.version < 12 and call.outputs > 1:
        call.refuse("it is not said what its mask is where nothing is dropped")
    kept = numbers(np.broadcast_to(np.True_, data.shape), ir.DataType.BOOL)
    return [data, kept][: call.outputs]


def _batch_normalization(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    trains = call.attribute("training_mode", 0) if call.version >= 14 else call.written > 1
    if call.version < 7:
        trains = not call.attribute("is_test", 0)
    if trains or call.outputs > 1:
        call.refuse("it is one of training")
    places = call.version < 9 and not call.attribute("spatial", 1)  # once there was one for every place of a sample
    channels = data.shape[1] if data.rank > 1 else 1
    parameters = []
    for place in range(1, 5):
        each = call.shaped(place, *(data.shape[1:] if places else (channels,))).hashed(call.hashing)
        parameters.append(each if places else each.reshape(-1, *[1] * (data.rank - 2)))
    if data.rank < 2 and not places:
        parameters = [each.reshape(()) for each in parameters]
    scale = call.hashing.mix(call.key("parameters", call.attribute("epsilon", 1e-5)), *parameters)
    return [call.mixed(data.dtype, call.key(), call.words(0), scale)]


RECORDS: Final[dict[str, Record]] = {
    **dict.fromkeys(_PLAIN, record(_plain)),
    **dict.fromkeys(_EXACT, record(_exact)),
    "IsNaN": record(_is),
    "IsInf": record(_is),
    "Identity": record(_identity, carries=True),
    "Cast": record(_cast, carries=True),
    "CastLike": record(_cast, carries=True),
    "Clip": record(_clip, carries=True),
    "Pow": record(_pow),
    "PRelu": record(_prelu),
    "Dropout": record(_dropout, carries=True),
    "BatchNormalization": record(_batch_normalization),
}
