"""Sums, products and quotients of real numbers: calculated, so that it does not matter how a formula is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, Rule, record
from onereshape.terms.landmarks import Numbers
from onereshape.terms.reals import KINDS, Reals
from onereshape.terms.records.arithmetic import operands
from onereshape.terms.records.content import switch
from onereshape.terms.records.reductions import reduced_axes
from onereshape.terms.tensor import Tensor, terms

_BOUNDLESS: Final = 1e30
"""A limit as far away as this is none: the largest number of a type stands for it."""
_LOST: Final = 8192.0
"""How much smaller than the largest a term of a sum may be, and still count within the tolerance."""
_STEP: Final = 8
"""Terms are raised by whole steps of so many powers of 2, so that rounding does not decide by how much."""
_FAR: Final = 16
"""How many times larger than the numbers the limits of a Clip may be, by which they are measured."""
_POWERS: Final = 8
"""The highest power that is multiplied out."""


def reals_of(call: Call, *tensors: Tensor) -> list[Numbers]:
    """The numbers of tensors: those of constants as they are, where there are no others."""
    if all(each.known for each in tensors):
        return [each.array.astype(np.float64) for each in tensors]
    return [each.linear(call.hashing).view(np.float64) for each in tensors]


def calculated(call: Call, found: Any, kind: ir.DataType, *read: Tensor) -> Tensor:
    """A tensor of numbers that were calculated from the tensors that were read: constants from constants."""
    found = np.asarray(found, np.float64)
    if all(each.known for each in read):
        return Tensor(kind, values=found)
    if not np.isfinite(found).all():
        call.refuse("its numbers are not finite")
    return terms(found.view(np.uint64), kind)


def settled(call: Call, numbers: Numbers) -> Numbers:
    """Numbers that an opaque function is given, such as a divisor: those that were seen, rounded otherwise."""
    if not isinstance(call.hashing, Reals):
        raise TypeError("real numbers are asked for in a run on words")
    return call.hashing.landmarks.settled(numbers)


def by_numpy(function: Callable[..., Any]) -> Rule:
    """The rule of an elementwise operator that NumPy's function of the same operands calculates."""

    def rule(call: Call) -> Sequence[Tensor]:
        given = operands(call)
        with np.errstate(all="ignore"):
            found = function(*reals_of(call, *given))
        return [calculated(call, found, given[0].dtype, *given)]

    return rule


def _added(call: Call) -> Sequence[Tensor]:
    """Add, Sub, Sum and Mean."""
    given = operands(call)
    first, *others = _levelled(call, given)
    with np.errstate(all="ignore"):
        for each in others:
            first = first - each if call.op == "Sub" else first + each
        found = first / len(given) if call.op == "Mean" else first
    return [calculated(call, found, given[0].dtype, *given)]


def _levelled(call: Call, given: Sequence[Tensor]) -> list[Numbers]:
    """The terms of a sum; one that would be lost beside the largest counts as some multiple of itself.

    So does a constant that is one number, such as an epsilon; other constants are beside the others as they are.
    """
    numbers = reals_of(call, *given)
    if not isinstance(call.hashing, Reals) or call.hashing.below or all(each.known for each in given):
        return numbers
    sizes = [float(np.abs(of).max()) if of.size else 0.0 for of in numbers]
    most = max(0.0 if each.known else size for each, size in zip(given, sizes, strict=True))
    if not np.isfinite(most):
        return numbers
    for place, (each, size) in enumerate(zip(given, sizes, strict=True)):
        if 0 < size < most / _LOST and not (each.known and float(np.ptp(np.abs(each.array)))):
            numbers[place] = numbers[place] * call.hashing.multiple(round(np.log2(most / size) / _STEP), _STEP)
    return numbers


def quotient(call: Call, left: Tensor, right: Tensor) -> Tensor:
    """A quotient; what it is divided by is settled first, as it may be near 0."""
    above, below = reals_of(call, left, right)
    if not right.known:
        below = settled(call, below)
    with np.errstate(all="ignore"):
        return calculated(call, above / below, left.dtype, left, right)


def _div(call: Call) -> Sequence[Tensor]:
    left, right = operands(call)
    return [quotient(call, left, right)]


def _reciprocal(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    return [quotient(call, Tensor(data.dtype, values=np.ones((), np.float64)), data)]


def root(call: Call, data: Tensor) -> Tensor:
    """The square root: opaque, but of constants; as large as a root is, so that what is divided by it does not grow."""
    (numbers,) = reals_of(call, data)
    if data.known:
        with np.errstate(all="ignore"):
            return calculated(call, np.sqrt(numbers), data.dtype, data)
    drawn = np.frexp(
        np.abs(call.mixed(data.dtype, call.key(op="Sqrt"), data.hashed(call.hashing)).array.view(np.float64))
    )
    powers = np.frexp(settled(call, numbers))[1] // 2
    return calculated(call, np.ldexp(drawn[0], powers), data.dtype, data)


def _sqrt(call: Call) -> Sequence[Tensor]:
    return [root(call, call.tensor(0))]


def _pow(call: Call) -> Sequence[Tensor]:
    """Powers by small integers are products, those by halves are roots; all others are opaque."""
    left, right = operands(call)
    if left.known and right.known:
        with np.errstate(all="ignore"):
            return [calculated(call, np.power(*reals_of(call, left, right)), left.dtype, left, right)]
    if right.known and right.size == 1 and right.rank <= left.rank:
        power = float(right.array.reshape(()))
        one = Tensor(left.dtype, values=np.ones((), np.float64))
        if abs(power) in {0.5, *range(1, _POWERS + 1)}:
            found = root(call, left) if abs(power) == 0.5 else _power(call, left, int(abs(power)))
            return [found if power > 0 else quotient(call, one, found)]
    return [call.mixed(left.dtype, call.key(op="Pow"), *(each.hashed(call.hashing) for each in (left, right)))]


def _power(call: Call, data: Tensor, power: int) -> Tensor:
    (numbers,) = reals_of(call, data)
    with np.errstate(all="ignore"):
        return calculated(call, numbers**power, data.dtype, data)


def _reduce(call: Call) -> Sequence[Tensor]:
    """Sums, means, sums of squares and their roots along axes."""
    data = call.tensor(0)
    axes = reduced_axes(call, data.rank)
    if not prod(data.shape[axis] for axis in axes) and call.op == "ReduceMean":
        call.refuse("the mean of nothing is not defined")
    (numbers,) = reals_of(call, data)
    keep = switch(call, "keepdims", 1)
    with np.errstate(all="ignore"):
        if call.op in {"ReduceSumSquare", "ReduceL2"}:
            numbers = numbers * numbers
        reduce = np.mean if call.op == "ReduceMean" else np.sum
        found = calculated(call, reduce(numbers, axis=axes, keepdims=keep), data.dtype, data)
    return [root(call, found) if call.op == "ReduceL2" else found]


def _extreme(call: Call) -> Sequence[Tensor]:
    """Max and Min, in any order of their operands."""
    given = operands(call)
    if all(each.known for each in given):
        pick = np.maximum if call.op == "Max" else np.minimum
        found = given[0].array.astype(np.float64)
        for each in given[1:]:
            found = pick(found, each.array)
        return [calculated(call, found, given[0].dtype, *given)]
    return [limited(call, call.op, *given)]


def limited(call: Call, op: str, *given: Tensor) -> Tensor:
    """The largest or the smallest of tensors."""
    if len(given) == 1:
        return given[0]
    words = call.hashing.blend(call.key(op=op), *(each.hashed(call.hashing) for each in given))
    return terms(words, given[0].dtype)


def _relu(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    if data.known:
        return [calculated(call, np.maximum(data.array.astype(np.float64), 0), data.dtype, data)]
    zero = Tensor(data.dtype, values=np.zeros((), np.float64))
    return [limited(call, "Max", data, zero)]


def _clip(call: Call) -> Sequence[Tensor]:
    """What is below one number or above another becomes that; between two known ones, by what is between 0 and 1."""
    data = call.tensor(0)
    ends = [_limit(call, place, name) for place, name in ((1, "min"), (2, "max"))]
    low, high = ends
    if low is not None and high is not None and low.known and high.known and not data.known:
        numbers = [float(each.array.reshape(())) for each in (low, high)]
        if _within_sight(call, data, *numbers):
            return [_between(call, data, *numbers)]
    if data.known and all(each is None or each.known for each in ends):
        (found,) = reals_of(call, data)
        for end, pick in ((low, np.maximum), (high, np.minimum)):
            found = found if end is None else pick(found, end.array.astype(np.float64).reshape(()))
        return [calculated(call, found, data.dtype, data)]
    for end, op in ((low, "Max"), (high, "Min")):
        data = data if end is None else limited(call, op, data, end)
    return [data]


def _limit(call: Call, place: int, name: str) -> Tensor | None:
    """A limit of a Clip, of one element: an input, or an attribute in old opsets; None where it is left out."""
    if call.version >= 11:
        found = call.tensor(place).moved(_single) if call.has(place) else None
    else:
        value = call.attribute(name)
        found = None if value is None else Tensor(call.tensor(0).dtype, values=np.asarray(value, np.float64))
    if found is not None and found.rank:
        call.refuse(f"a limit has {found.size} elements")
    wide = found is not None and found.known and not abs(float(found.array.reshape(()))) < _BOUNDLESS
    return None if wide else found


def _single(array: Any) -> Any:
    return array.reshape(()) if array.size == 1 else array


def _within_sight(call: Call, data: Tensor, low: float, high: float) -> bool:
    """Whether numbers still count where they are measured by the limits of a Clip: -65504 and 65504 would hide them."""
    if not low < high:
        call.refuse(f"there is nothing between {low} and {high}")
    (numbers,) = reals_of(call, data)
    return bool(np.abs(numbers).max(initial=0.0) * _FAR > max(abs(low), abs(high)))


def _between(call: Call, data: Tensor, low: float, high: float) -> Tensor:
    """Numbers that are kept between two others: those of `(x - low) / (high - low)` between 0 and 1, stretched."""
    (numbers,) = reals_of(call, data)
    scaled = calculated(call, (numbers - low) / (high - low), data.dtype, data)
    kept = call.mixed(data.dtype, call.key(op="between 0 and 1"), scaled.hashed(call.hashing))
    return calculated(call, low + (high - low) * reals_of(call, kept)[0], data.dtype, kept)


def _hard_sigmoid(call: Call) -> Sequence[Tensor]:
    """Alpha * x + beta, kept between 0 and 1."""
    data = call.tensor(0)
    (numbers,) = reals_of(call, data)
    linear = calculated(call, call.attribute("alpha", 0.2) * numbers + call.attribute("beta", 0.5), data.dtype, data)
    if linear.known:
        return [calculated(call, np.clip(linear.array, 0, 1), data.dtype, data)]
    return [_between(call, linear, 0.0, 1.0)]


def _softmax(call: Call) -> Sequence[Tensor] | None:
    """A Softmax of one element is 1, and its logarithm 0; None where there are more."""
    data = call.tensor(0)
    axis = call.axis(call.attribute("axis", -1), data.rank)
    behind = data.shape[axis : axis + 1] if call.version >= 13 else data.shape[axis:]
    if prod(behind) != 1:
        return None
    return [Tensor(data.dtype, values=np.full(data.shape, float(call.op == "Softmax")))]


def _cumulated(call: Call) -> Sequence[Tensor]:
    """Running sums, exclusive and backwards as asked."""
    data, given = call.tensor(0), call.tensor(1)
    if given.size != 1 or not given.is_integer:
        call.refuse("its axis is no integer")
    axis = call.axis(int(call.scalar(1)), data.rank)
    (numbers,) = reals_of(call, data)
    turned = np.flip(numbers, axis) if switch(call, "reverse") else numbers
    with np.errstate(all="ignore"):
        found = np.cumsum(turned, axis)
        found = found - turned if switch(call, "exclusive") else found
    return [calculated(call, np.flip(found, axis) if switch(call, "reverse") else found, data.dtype, data)]


def _cast(call: Call) -> Sequence[Any] | None:
    """A float of another width is the same number; None where the type is another."""
    data = call.tensor(0)
    kind = call.tensor(1).dtype if call.op == "CastLike" else _named(call.attribute("to"))
    if data.dtype.name not in KINDS or kind is None or kind.name not in KINDS:
        return None
    if data.known:
        return [Tensor(kind, values=data.values)]
    return [Tensor(kind, words=data.words)]


def _named(number: Any) -> ir.DataType | None:
    try:
        return ir.DataType(number)
    except ValueError:
        return None


RECORDS: Final[dict[str, Record]] = {
    **dict.fromkeys(("Add", "Mean", "Sub", "Sum"), record(_added)),
    "Mul": record(by_numpy(np.multiply)),
    "Neg": record(by_numpy(np.negative)),
    "Div": record(_div),
    "Reciprocal": record(_reciprocal),
    "Sqrt": record(_sqrt),
    "Pow": record(_pow),
    "Max": record(_extreme),
    "Min": record(_extreme),
    "Relu": record(_relu),
    "Clip": record(_clip),
    "CumSum": record(_cumulated),
    "HardSigmoid": record(_hard_sigmoid),
    **dict.fromkeys(("ReduceL2", "ReduceMean", "ReduceSum", "ReduceSumSquare"), record(_reduce)),
}

SOMETIMES: Final[dict[str, Callable[[Call], Sequence[Any] | None]]] = {
    **dict.fromkeys(("Cast", "CastLike"), _cast),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
}
"""Rules that have an answer in some cases, and None in all others."""
