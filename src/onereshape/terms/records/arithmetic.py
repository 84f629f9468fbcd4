"""Arithmetic: what is exact on numbers is done on them; integers stay linear, so that sums of them agree.

Integers of terms wrap as the type does, and equal linear forms stay equal when they wrap.  Floats are folded by value
only through operations that IEEE 754 rounds correctly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Array, Words
from onereshape.terms.integers import held, once, sign_of, small
from onereshape.terms.tensor import Tensor, bounded, formed, numbers, terms

WHOLE: Final = 1 << 53
"""The largest integer up to which DOUBLE holds every integer."""
_BROADCASTS: Final = 7
"""The opset from which two operands are broadcast without an attribute."""
_MANY: Final = {"Max", "Mean", "Min", "Sum"}
_MANY_BROADCAST: Final = 8
"""The opset from which the operands of operators of many are broadcast."""


def operands(call: Call) -> list[Tensor]:
    """The operands of an elementwise operator, ready to be broadcast."""
    found = call.tensors()
    if not found:
        call.refuse("it has no operands")
    if call.op in _MANY:
        if call.version < _MANY_BROADCAST and len({each.shape for each in found}) > 1:
            call.refuse(f"the dims {[list(each.shape) for each in found]} differ, and it does not broadcast")
    elif call.version < _BROADCASTS and len(found) == 2:
        found[1] = _placed(call, *found)
    call.check_broadcast(found)
    return found


def _placed(call: Call, left: Tensor, right: Tensor) -> Tensor:
    """The second operand of old opsets, which is put at an axis."""
    if not call.attribute("broadcast", 0):
        if left.shape != right.shape:
            call.refuse(f"the dims {list(left.shape)} and {list(right.shape)} differ, and it does not broadcast")
        return right
    axis = call.attribute("axis")
    start = left.rank - right.rank if axis is None else call.axis(axis, left.rank)
    fitting = left.shape[start : start + right.rank]
    if (
        start < 0
        or len(fitting) != right.rank
        or any(b not in {1, a} for a, b in zip(fitting, right.shape, strict=True))
    ):
        call.refuse(f"the dims {list(right.shape)} do not fit at axis {start} of {list(left.shape)}")
    behind = left.rank - start - right.rank
    return right.moved(lambda array: array.reshape((*array.shape, *[1] * behind)))


def _add(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    if left.known and right.known:
        values = np.add(left.array, right.array)
        return [
            _formed(
                values, left, left.integers.slope + right.integers.slope, left.integers.place + right.integers.place
            )
        ]
    if not left.is_integer:
        return [terms(call.hashing.blend(call.key(), call.words(0), _words(call, right)), left.dtype)]
    return [_linear(call, left, right, 1)]


def _sub(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    if left.known and right.known:
        values = np.subtract(left.array, right.array)
        return [
            _formed(
                values, left, left.integers.slope - right.integers.slope, left.integers.place - right.integers.place
            )
        ]
    if not left.is_integer:
        return [call.mixed(left.dtype, call.key(), call.words(0), _words(call, right))]
    return [_linear(call, left, right, -1)]


def _words(call: Call, tensor: Tensor) -> Words:
    return tensor.hashed(call.hashing)


def _formed(values: Array, like: Tensor, slope: Any, place: Any) -> Tensor:
    values = np.asarray(values).astype(like.array.dtype, copy=False)
    return formed(values, like.dtype, slope, place) if like.is_integer else numbers(values, like.dtype)


def _linear(call: Call, left: Tensor, right: Tensor, sign: int) -> Tensor:
    one, two = left.linear(call.hashing), right.linear(call.hashing)
    words = np.asarray(one + two if sign > 0 else one - two)
    slope, place = left.integers.slope + sign * right.integers.slope, left.integers.place + sign * right.integers.place
    ends = (*left.bounds(), *right.bounds())
    if not small(*ends):
        return _partly(call, left, right, terms(words, left.dtype).leaning(slope, place))
    low, high, first, last = (once(np.asarray(end, np.int64)) for end in ends if end is not None)
    if sign < 0:
        first, last = -last, -first
    return bounded(words, left.dtype, low + first, high + last).leaning(slope, place)


def _partly(call: Call, left: Tensor, right: Tensor, found: Tensor) -> Tensor:
    """A sum or difference of which some elements may be of any size; those stay linear if one summand is a constant.

    Were they always, 2^63 times anything would be 0 or 2^63.
    """
    mine, other = left.each_bounds(), right.each_bounds()
    other = other if call.op == "Add" else (-other[1], -other[0])
    kept = held(*mine) & held(*other)
    safe = kept | (mine[0] == mine[1]) | (other[0] == other[1])
    return _opaque(call, left, right, found, safe).partly_bounded(mine[0] + other[0], mine[1] + other[1], kept)


def _opaque(call: Call, left: Tensor, right: Tensor, found: Tensor, safe: Array) -> Tensor:
    """Linear forms, but functions of both operands where that is not safe."""
    if np.all(safe):
        return found
    unsafe = np.broadcast_to(np.logical_not(safe), found.shape)
    if np.any(unsafe & ((found.integers.slope != 0) | (found.integers.place != 0))):
        call.not_for_all("calculates with numbers that depend on the number of samples and data that have no bounds")
    one, two = left.hashed(call.hashing), right.hashed(call.hashing)
    mixed = (call.hashing.mix if call.op == "Sub" else call.hashing.blend)(call.key(), one, two)
    return replace(found, words=np.where(unsafe, mixed, found.array))


def _mul(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    if left.known and right.known:
        if left.depends and right.depends:
            call.not_for_all("multiplies two numbers that depend on the number of samples")
        values = np.multiply(left.array, right.array)
        if not left.is_integer:
            return [numbers(np.asarray(values), left.dtype)]
        slope = left.integers.slope * right.array + right.integers.slope * left.array
        return [_formed(values, left, slope, left.integers.place * right.array + right.integers.place * left.array)]
    if left.is_integer and (left.known or right.known):
        factor, other = (left, right) if left.known else (right, left)
        if factor.depends:
            call.not_for_all("multiplies data with a number that depends on the number of samples")
        times = factor.array.astype(np.int64)
        words = np.asarray(other.linear(call.hashing) * times.astype(np.uint64))
        slope, place = other.integers.slope * times, other.integers.place * times
        low, high = other.bounds()
        if low is None or high is None or not small(low, high, times):
            found = terms(words, left.dtype).leaning(slope, place)
            one = other.each_bounds()
            kept = held(*one) & held(times, times)
            low, high = (np.where(kept, end, 0) * np.where(kept, times, 0) for end in one)
            low, high = np.minimum(low, high), np.maximum(low, high)
            kept = (kept & held(low, high)) | (times == 0)
            safe = kept | ((times >= -1) & (times <= 1))
            return [_opaque(call, left, right, found, safe).partly_bounded(low, high, kept)]
        ends = [once(np.asarray(end, np.int64)) * once(times) for end in (low, high)]
        low, high = np.minimum(*ends), np.maximum(*ends)
        if not small(low, high):
            safe = held(low, high) | ((times >= -1) & (times <= 1))
            return [_opaque(call, left, right, terms(words, left.dtype).leaning(slope, place), safe)]
        return [bounded(words, left.dtype, low, high).leaning(slope, place)]
    if left.depends or right.depends:
        call.not_for_all("multiplies data with a number that depends on the number of samples")
    return [terms(call.hashing.blend(call.key(), call.words(0), _words(call, right)), left.dtype)]


def _neg(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    leaning = np.negative(data.integers.slope), np.negative(data.integers.place)
    if data.known:
        values = np.negative(data.array)
        if not data.is_integer:
            return [numbers(np.asarray(values), data.dtype)]
        return [formed(np.asarray(values), data.dtype, *leaning)]
    if not data.is_integer:
        return [call.mixed(data.dtype, call.key(), call.words(0))]
    low, high = data.bounds()
    if not small(low, high):
        low = high = None
    words = np.asarray(np.uint64(0) - data.linear(call.hashing))
    found = bounded(words, data.dtype, None if high is None else -high, None if low is None else -low)
    return [found.leaning(*leaning)]


def ambiguous(tensor: Tensor) -> bool:
    """Whether engines differ in a Max or Min of these numbers, as there is a NaN or a negative zero among them."""
    if not tensor.known or not tensor.dtype.is_floating_point():
        return False
    values = tensor.array.astype(np.float64)
    return bool(np.any(np.isnan(values)) or np.any((values == 0) & np.signbit(values)))


def _extreme(call: Call) -> Sequence[Tensor]:  # noqa: PLR0911 - one case after the other
    found = operands(call)
    pick: Callable[..., Any] = np.minimum if call.op == "Min" else np.maximum
    if len(found) == 1:
        return found
    if not all(each.known and not ambiguous(each) for each in found):
        if any(each.depends for each in found):
            call.not_for_all("picks one of numbers that depend on the number of samples")
        join = call.hashing.blend if found[0].is_integer else call.hashing.mix  # of 0.0 and -0.0 either may be larger
        words = terms(join(call.key(), *(each.hashed(call.hashing) for each in found)), found[0].dtype)
        if not found[0].is_integer or len(found) != 2:
            return [words]
        ends = [each.bounds() for each in found]
        lows, highs = [end[0] for end in ends], [end[1] for end in ends]
        if any(end is None for end in (*lows, *highs)):
            return [words]
        return [bounded(words.array, found[0].dtype, pick(*lows), pick(*highs))]
    values = found[0].array
    for each in found[1:]:
        values = np.asarray(pick(values, each.array))
    if not any(each.depends for each in found):
        return [numbers(values, found[0].dtype)]
    if len(found) == 2 and not any(each.integers.by_place for each in found):
        left, right = found
        apart = np.broadcast_to(left.array - right.array, values.shape)
        slopes = np.broadcast_to(np.asarray(left.integers.slope - right.integers.slope), values.shape)
        signs = {sign_of(int(a), int(b), call.samples) for a, b in zip(apart.ravel(), slopes.ravel(), strict=True)}
        if len(signs - {"zero"}) <= 1 and "varies" not in signs:
            first = ("positive" in signs) == (call.op == "Max")
            return [formed(values, left.dtype, (left if first else right).integers.slope, 0)]
    call.not_for_all("picks one of numbers that depend on the number of samples")
    return [numbers(values, found[0].dtype)]


def _sum(call: Call) -> Sequence[Tensor]:
    """Sum and Mean of many: floats only, which two may be added in any order and more may not."""
    found = operands(call)
    join = call.hashing.blend if len(found) == 2 else call.hashing.mix
    return [terms(join(call.key(len(found)), *(each.hashed(call.hashing) for each in found)), found[0].dtype)]


RECORDS: Final[dict[str, Record]] = {
    "Add": record(_add, carries=True),
    "Sub": record(_sub, carries=True),
    "Mul": record(_mul, carries=True),
    "Neg": record(_neg, carries=True),
    "Max": record(_extreme, carries=True),
    "Min": record(_extreme, carries=True),
    "Mean": record(_sum),
    "Sum": record(_sum),
}
