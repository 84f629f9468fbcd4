"""The world of folding: uses of every operator that may be folded, for all versions, types and odd values.

A case is an operator with arrays and attributes; where a version says an attribute as an input, there is a case for
each.  What onnxruntime refuses is no case; every operator keeps enough of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import onnx

Array = np.ndarray[Any, Any]

Kinds = tuple[Any, ...]
FLOATS: Kinds = (np.float32, np.float64, np.float16)
INTEGERS: Kinds = (np.int64, np.int32, np.int8, np.uint8)
NEWEST = 25
"""The newest opset that onnxruntime knows."""


class Case(NamedTuple):
    """One use of an operator."""

    op: str
    inputs: tuple[Array | None, ...]
    attributes: dict[str, Any]
    outputs: int = 1
    least: int = 7
    most: int = NEWEST

    def opsets(self) -> list[int]:
        """An opset for each version of the operator that this case can be said in."""
        return [each for each in versions(self.op) if self.least <= each <= self.most]


@cache
def versions(op: str) -> tuple[int, ...]:
    """The first opset, from 7 on, of each version of an operator."""
    found = {
        max(each.since_version, 7)
        for each in onnx.defs.get_all_schemas_with_history()
        if each.name == op and not each.domain and each.since_version <= NEWEST
    }
    return tuple(sorted(found))


def case(op: str, *inputs: Any, outputs: int = 1, least: int = 7, most: int = NEWEST, **attributes: Any) -> Case:
    """A case, with what is None left out."""
    arrays = tuple(None if each is None else np.asarray(each) for each in inputs)
    return Case(
        op, arrays, {key: value for key, value in attributes.items() if value is not None}, outputs, least, most
    )


def numbers(dtype: Any, dims: Sequence[int], start: int = -4, step: float = 1.0) -> Array:
    """Numbers around 0, as the type can hold them."""
    count = int(np.prod(dims, dtype=np.int64))
    flat = start + step * (np.arange(count) * 5 % max(count, 1))
    if np.dtype(dtype) == np.uint8:
        flat = np.abs(flat)
    return flat.reshape(tuple(dims)).astype(dtype)


def odd(dtype: Any) -> Array:
    """Numbers at which operators differ: halves, both zeros, what is large, and what is no number."""
    if np.dtype(dtype) == np.bool_:
        return np.array([True, False])
    if np.dtype(dtype).kind == "f":
        found = [-np.inf, -300.0, -3.0, -2.5, -1.5, -1.0, -0.5, -0.25, -0.0, 0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 7.0, 300.0]
        return np.array([*found, np.inf, np.nan], dtype)
    limits = np.iinfo(dtype)
    return np.array([limits.min + 1, max(limits.min, -7), max(limits.min, -2), 0, 1, 2, 3, 7, 100, limits.max], dtype)


UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Cos Cosh Erf Exp Floor HardSwish Identity IsInf IsNaN Log "
    "Mish Neg Not Reciprocal Relu Round Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh"
).split()
WITH_NUMBERS: dict[str, Sequence[dict[str, Any]]] = {
    "Celu": ({}, {"alpha": 0.5}, {"alpha": 3.0}),
    "Elu": ({}, {"alpha": 0.5}, {"alpha": -1.0}),
    "HardSigmoid": ({}, {"alpha": 0.5, "beta": 0.1}),
    "LeakyRelu": ({}, {"alpha": 0.5}, {"alpha": -1.0}),
    "Selu": ({}, {"alpha": 0.5, "gamma": 2.0}),
    "Shrink": ({}, {"lambd": 1.5}, {"lambd": 1.0, "bias": 0.5}),
    "ThresholdedRelu": ({}, {"alpha": 0.25}),
    "Gelu": ({}, {"approximate": "tanh"}, {"approximate": "none"}),
}


def unary() -> Iterator[Case]:
    for op, dtype in product(UNARY, (*FLOATS, *INTEGERS, np.bool_)):
        yield case(op, odd(dtype))
        yield case(op, numbers(dtype, ()))
        yield case(op, numbers(dtype, (2, 0)))
    for op, choices in WITH_NUMBERS.items():
        for given, dtype in product(choices, (*FLOATS, np.int64)):
            yield case(op, odd(dtype), **given)
            yield case(op, numbers(dtype, (1, 0)), **given)
    for positive, negative in product((0, 1), (0, 1)):
        yield case("IsInf", odd(np.float32), detect_positive=positive, detect_negative=negative)


BINARY = (
    "Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Mul Or Pow Sub Xor"
).split()
SEVERAL = ("Max", "Mean", "Min", "Sum")
PAIRS = (((2, 3), (2, 3)), ((2, 1), (3,)), ((), (2,)), ((1,), (0,)), ((2, 0, 1), (1, 4)))


def several() -> Iterator[Case]:
    for op, dtype in product((*BINARY, *SEVERAL), (*FLOATS, *INTEGERS, np.bool_)):
        left = odd(dtype)
        right = left[left != 0] if op == "Div" and np.dtype(dtype).kind in "iu" else left
        if op == "Pow" and np.dtype(dtype).kind in "iu":
            right = np.array([0, 1, 2, 3], dtype)
        yield case(op, left.reshape(-1, 1), right)
        for one, other in PAIRS:
            yield case(op, numbers(dtype, one), np.maximum(np.abs(numbers(dtype, other, 1)), 1).astype(dtype))
    for op, dtype in product(SEVERAL, (np.float32, np.int64)):
        yield case(op, odd(dtype))
        yield case(op, numbers(dtype, (2, 1)), numbers(dtype, (3,)), numbers(dtype, (1, 1, 1), 2))


def remainders_and_powers() -> Iterator[Case]:
    for dtype, cut in product((*FLOATS, *INTEGERS), (None, 0, 1)):
        left, right = np.array([-7, -4, -1, 0, 1, 4, 7], np.int64), np.array([-3, -2, 2, 3], np.int64)
        yield case("Mod", np.abs(left).astype(dtype)[:, None], np.abs(right).astype(dtype), fmod=cut)
        if np.dtype(dtype).kind != "u":
            yield case("Mod", left.astype(dtype)[:, None], right.astype(dtype), fmod=cut)
            yield case("Mod", odd(dtype)[:, None], right.astype(dtype), fmod=cut)
    for base, power in product((np.float32, np.int64, np.int32), (np.float32, np.int64, np.int32, np.float64)):
        yield case("Pow", numbers(base, (4,)), np.array([0, 1, 2, 3], power))
        if np.dtype(base).kind == "f":
            yield case("Pow", odd(base)[:, None], np.array([-2, -1, 0, 1, 2, 3], power))


def pairs() -> Iterator[Case]:
    for dtype in FLOATS:
        for slope in ((), (1,), (3,), (2, 1)):
            yield case("PRelu", numbers(dtype, (2, 3)), numbers(dtype, slope, 1, 0.5))
    for dtype, direction in product((np.uint8, np.uint32, np.uint64), ("LEFT", "RIGHT")):
        yield case("BitShift", np.array([0, 1, 5, 255], dtype), np.array([0, 1, 2, 7], dtype), direction=direction)
    for dtype in (*FLOATS, *INTEGERS, np.bool_):
        condition = np.array([[True], [False]])
        yield case("Where", condition, numbers(dtype, (3,)), numbers(dtype, (1, 1, 1), 9))
        yield case("Where", np.zeros((0, 1), np.bool_), numbers(dtype, (3,)), numbers(dtype, ()))


def clips() -> Iterator[Case]:
    for dtype in (*FLOATS, *INTEGERS):
        low, high = np.array(1 if np.dtype(dtype).kind == "u" else -2, dtype), np.array(2, dtype)
        for limits in ((None, None), (low, None), (None, high), (low, high), (high, low)):
            yield case("Clip", odd(dtype), *limits, least=11)
            yield case("Clip", numbers(dtype, (3, 2)), *limits, least=11)
    attributes: Sequence[dict[str, Any]] = (
        {},
        {"min": -1.0},
        {"max": 1.5},
        {"min": -1.0, "max": 1.5},
        {"min": 2, "max": 1},
    )
    for given in attributes:
        yield case("Clip", odd(np.float32), most=10, **given)
        yield case("Clip", odd(np.float32)[1:-2], most=10, **given)


CASTS: Kinds = (np.float32, np.float64, np.float16, np.int64, np.int32, np.int8, np.uint8, np.bool_)


def casts() -> Iterator[Case]:
    for one, other in product(CASTS, CASTS):
        array = odd(one)
        if np.dtype(one).kind == "f" and np.dtype(other).kind in "iu":
            array = np.array([0.0, 0.5, 1.5, 2.99, 7.0, 100.0], one)
            if np.dtype(other).kind == "i":
                array = np.concatenate([array, -array])
        to = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(other))
        yield case("Cast", array, to=to)
        yield case("Cast", numbers(one, (2, 0)), to=to)
        yield case("CastLike", array, np.zeros((), other))
