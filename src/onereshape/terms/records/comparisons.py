"""Comparisons, logic and choices: decided on numbers, and for every N where the numbers show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.integers import sign_of
from onereshape.terms.records.arithmetic import operands
from onereshape.terms.tensor import Tensor, formed, numbers, terms

_COMPARED: Final[dict[str, Any]] = {
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
}

_LOGIC: Final[dict[str, Any]] = {
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
}


def _compare(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    function = _COMPARED[call.op]
    if not (left.known and right.known):
        if left.depends or right.depends:
            call.not_for_all("compares data with a number that depends on the number of samples")
        if call.op == "Equal":
            words = call.hashing.blend(call.key(), call.words(0), right.hashed(call.hashing))
            return [terms(words, ir.DataType.BOOL)]
        return [call.mixed(ir.DataType.BOOL, call.key(), call.words(0), right.hashed(call.hashing))]
    found = np.asarray(function(_plain(left), _plain(right)))
    if (left.depends or right.depends) and not _decided(call, left, right):
        call.not_for_all("compares a number that depends on the number of samples")
    return [numbers(found, ir.DataType.BOOL)]


def _plain(tensor: Tensor) -> Any:
    """The numbers of a tensor, or its texts, all as bytes."""
    if tensor.dtype != ir.DataType.STRING:
        return tensor.array
    texts = [each if isinstance(each, bytes) else str(each).encode() for each in tensor.array.ravel()]
    return np.array([*texts, None], object)[:-1].reshape(tensor.shape)


def _decided(call: Call, left: Tensor, right: Tensor) -> bool:
    """Whether a comparison of numbers has the same answers for every N: the sign of no difference varies."""
    if np.any(left.integers.place - right.integers.place):
        return False
    apart = np.asarray(left.array.astype(np.int64) - right.array.astype(np.int64))
    slopes = np.broadcast_to(np.asarray(left.integers.slope - right.integers.slope), apart.shape)
    signs = {sign_of(int(a), int(b), call.samples) for a, b in zip(apart.ravel(), slopes.ravel(), strict=True)}
    return "varies" not in signs


def _logic(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    if left.known and right.known:
        return [numbers(np.asarray(_LOGIC[call.op](left.array, right.array)), left.dtype)]
    return [terms(call.hashing.blend(call.key(), call.words(0), right.hashed(call.hashing)), left.dtype)]


def _not(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    if data.values is not None:
        return [numbers(np.asarray(np.invert(data.values)), data.dtype)]
    if call.op == "Not":  # twice is the same again
        return [terms(np.invert(call.words(0)), data.dtype)]
    return [call.mixed(data.dtype, call.key(), call.words(0))]


def _shift(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    key = call.key(call.attribute("direction"))
    return [call.mixed(left.dtype, key, call.words(0), right.hashed(call.hashing))]


def _where(call: Call) -> Sequence[Tensor]:
    condition, left, right = call.tensors()
    try:
        shape = np.broadcast_shapes(condition.shape, left.shape, right.shape)
    except ValueError:
        call.refuse("the dims of its operands do not go together")
    call.check_size(shape)
    if condition.depends:
        call.not_for_all("chooses by a number that depends on the number of samples")
    if condition.values is not None:
        chosen = condition.values
        slope = np.where(chosen, left.integers.slope, right.integers.slope)
        place = np.where(chosen, left.integers.place, right.integers.place)
        if left.known and right.known:
            return [formed(np.where(chosen, left.array, right.array), left.dtype, slope, place)]
        words = np.where(chosen, left.linear(call.hashing), right.linear(call.hashing))
        ends = [each.bounds() if each.is_integer else (None, None) for each in (left, right)]
        low, high = (_chosen(chosen, ends[0][side], ends[1][side]) for side in (0, 1))
        found = terms(words, left.dtype, low, high)
        return [found.leaning(slope, place)]
    if left.depends or right.depends:
        call.not_for_all("chooses by data between numbers that depend on the number of samples")
    parts = turned(*(each.hashed(call.hashing) for each in (condition, left, right)))
    found = call.mixed(left.dtype, call.key(op="Where"), *parts)
    if not left.is_integer:
        return [found]
    ends = [each.bounds() for each in (left, right)]
    lows, highs = [low for low, _ in ends if low is not None], [high for _, high in ends if high is not None]
    if len(lows) + len(highs) < 4:
        return [found]
    return [terms(found.array, left.dtype, np.minimum(*lows), np.maximum(*highs))]


def turned(condition: Words, one: Words, two: Words) -> tuple[Words, Words, Words]:
    """A condition, and what it chooses between; where it is that of a Not, the condition before, and the other way."""
    negated = condition > np.invert(condition)
    if not negated.any():
        return condition, one, two
    condition = np.where(negated, np.invert(condition), condition)
    return condition, np.where(negated, two, one), np.where(negated, one, two)


def _chosen(condition: Any, left: Any, right: Any) -> Any:
    return None if left is None or right is None else np.where(condition, left, right)


RECORDS: Final[dict[str, Record]] = {
    **dict.fromkeys(_COMPARED, record(_compare, carries=True)),
    **dict.fromkeys(_LOGIC, record(_logic)),
    "Not": record(_not),
    "BitwiseNot": record(_not),
    "BitShift": record(_shift),
    "Where": record(_where, carries=True),
}
