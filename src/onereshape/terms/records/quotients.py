"""Quotients and remainders: exact on numbers where they divide, functions of both operands elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array
from onereshape.terms.records.arithmetic import WHOLE, operands
from onereshape.terms.tensor import Tensor, bounded, formed, numbers, terms

_FLOORS: Final = 28
"""The opset from which the remainder of floats may have the sign of the divisor: engines round it as they like."""


def truncated(left: Array, right: Array) -> Array:
    """Integers divided towards zero, as C does."""
    quotient = np.floor_divide(left, right)
    short = (quotient * right != left) & ((left < 0) != (right < 0))
    return np.asarray(np.where(short, quotient + 1, quotient)).astype(left.dtype)


def _div(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    if left.known and right.known:
        if not left.is_integer:
            return [numbers(np.asarray(np.divide(left.array, right.array)).astype(left.array.dtype), left.dtype)]
        if not np.all(right.array):
            call.refuse("divides an integer by 0")
        return [_divided(call, left, right)]
    if left.is_integer and right.known and np.all(right.array == 1):
        return [left.moved(lambda array: np.broadcast_to(array, np.broadcast_shapes(array.shape, right.shape)))]
    if left.depends or right.depends:
        call.not_for_all("divides a number that depends on the number of samples")
    _require_divisor(call, right)
    found = call.mixed(left.dtype, call.key(), call.words(0), right.hashed(call.hashing))
    low, high = left.bounds()
    if (
        left.is_integer
        and right.known
        and right.size
        and np.min(right.array) > 0
        and low is not None
        and high is not None
    ):
        divisor = right.array.astype(np.int64)
        low, high = np.asarray(low, np.int64), np.asarray(high, np.int64)
        return [bounded(found.array, left.dtype, truncated(*_pair(low, divisor)), truncated(*_pair(high, divisor)))]
    return [found]


def _require_divisor(call: Call, divisor: Tensor) -> None:
    """Refuses a known integer divisor 0, and requires of unknown ones that may be 0 that they are not."""
    if not divisor.is_integer:
        return
    if divisor.known:
        if not np.all(divisor.array):
            call.refuse("divides an integer by 0")
        return
    low, high = divisor.each_bounds()
    zero = (low <= 0) & (high >= 0)
    if np.any(zero):
        call.require(call.hashing.key("divides"), divisor.hashed(call.hashing)[zero])


def _pair(left: Array, right: Array) -> tuple[Array, Array]:
    one, two = np.broadcast_arrays(left, right)
    return one, two


def _divided(call: Call, left: Tensor, right: Tensor) -> Tensor:
    """Integers by integers; (c + b * N) / d is exact if d divides c and b, and k * x / x is k."""
    values = truncated(*_pair(left.array, right.array))
    if not left.depends and not right.depends:
        return numbers(values, left.dtype)
    slope, place, divisor = left.integers.slope, left.integers.place, right.array
    exact = np.all(left.array == values * divisor)
    if exact and not right.depends and not np.any(slope % divisor) and not np.any(place % divisor):
        return formed(values, left.dtype, slope // divisor, place // divisor)
    constant = right.array - right.integers.slope * call.samples
    positive = not right.integers.by_place and np.all(right.integers.slope >= 0) and np.all(constant >= 0)
    if exact and positive and not np.any(slope - values * right.integers.slope) and not np.any(place):
        return numbers(values, left.dtype)
    call.not_for_all("divides a number that depends on the number of samples")
    return numbers(values, left.dtype)


def _mod(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    fmod = call.attribute("fmod", 0)
    floors = not fmod and not left.is_integer
    if floors and call.version < _FLOORS:
        call.refuse("takes the remainder of floats, and is not told to do it as C does")
    if left.known and right.known and not floors and not (fmod and _beyond(left, right)):
        if not left.is_integer:
            return [numbers(np.asarray(np.fmod(left.array, right.array)), left.dtype)]
        if not np.all(right.array):
            call.refuse("divides an integer by 0")
        return [_remainder(call, left, right, fmod)]
    if left.depends or right.depends:
        call.not_for_all("takes the remainder of a number that depends on the number of samples")
    _require_divisor(call, right)
    found = call.mixed(left.dtype, call.key(fmod), call.words(0), right.hashed(call.hashing))
    if fmod or not left.is_integer or not right.known or not right.size:
        return [found]
    if np.min(right.array) <= 0 or np.max(right.array) > np.iinfo(np.int64).max:
        return [found]
    return [modulo(call, left, right.array)]


def _beyond(*tensors: Tensor) -> bool:
    """Whether integers are beyond those that DOUBLE holds, in which engines take the remainder of C."""
    return any(each.is_integer and bool(np.any((each.array > WHOLE) | (each.array < -WHOLE))) for each in tensors)


def modulo(call: Call, data: Tensor, divisor: Array) -> Tensor:
    """Integer terms modulo positive numbers; between two multiples terms stay linear: x in 4..6 modulo 4 -> x - 4."""
    shape = np.broadcast_shapes(data.shape, divisor.shape)
    divisor = np.broadcast_to(divisor.astype(np.int64), shape)
    low, high = data.each_bounds()
    if np.all(low >= 0) and np.all(high < divisor):
        found = data.moved(lambda array: np.broadcast_to(array, shape))
        known = found.integers
        if not found.known and known.low is None:
            return replace(found, integers=replace(known, low=known.least, high=known.most))
        return found
    constant = call.hashing.constants(divisor, "INT64")
    words = call.hashing.mix(call.hashing.key("Mod", 0), data.hashed(call.hashing), constant)
    turns = low // divisor
    within = turns == high // divisor
    words = np.where(within, data.linear(call.hashing) - turns.astype(np.uint64) * constant, words)
    first = np.where(within, low - turns * divisor, 0)
    last = np.where(within, high - turns * divisor, divisor - 1)
    words = np.where(first == last, first.astype(np.uint64) * call.hashing.unit, words)
    return terms(words, data.dtype, first, last)


def _keeps_sign(call: Call, data: Tensor) -> bool:
    """Whether numbers are never on another side of 0 for another N: the remainder of C has their sign."""
    slope = np.asarray(data.integers.slope)
    first = data.array - slope * (call.samples - 1)  # at N = 1
    same = ((slope >= 0) & (first >= 0)) | ((slope <= 0) & (first <= 0))
    return not data.integers.by_place and bool(np.all(same))


def _remainder(call: Call, left: Tensor, right: Tensor, fmod: int) -> Tensor:
    values = np.asarray((np.fmod if fmod else np.mod)(left.array, right.array))
    if not left.depends and not right.depends:
        return numbers(values, left.dtype)
    slope, place, divisor = left.integers.slope, left.integers.place, right.array
    steady = not fmod or _keeps_sign(call, left)
    if steady and not right.depends and not np.any(slope % divisor) and not np.any(place % divisor):
        return numbers(values, left.dtype)
    # p * s + c modulo p * N is itself; that c is within [0, p) shows at N = 1.
    whole = not right.integers.by_place and np.all(divisor == right.integers.slope * call.samples)
    if (
        whole
        and not np.any(slope)
        and np.all(place == right.integers.slope)
        and np.array_equal(values, left.array + 0 * divisor)
    ):
        return formed(values, left.dtype, 0, place)
    call.not_for_all("takes the remainder of a number that depends on the number of samples")
    return numbers(values, left.dtype)


RECORDS: Final[dict[str, Record]] = {
    "Div": record(_div, carries=True),
    "Mod": record(_mod, carries=True),
}
