"""Shapes and elements of operators that treat every element, or every line along some axes, by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, eq, ge, gt, le, lt, mul, sub
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.models.facts.asking import Asking, Dims
from onereshape.models.facts.elements import (
    FLOATS,
    INTEGERS,
    Array,
    Element,
    Holding,
    Unknown,
    array_of,
    elementwise as each_element,
    few,
    is_number,
)
from onereshape.models.record import Record
from onereshape.sizes import Formula, bounds, cut, exact, largest, smallest

Shapes = Sequence[Dims | None]
Elements = list[Array | None]


def broadcast(asking: Asking) -> Shapes:
    """All inputs meet at the same axis, counted from the right."""
    return [asking.broadcast(*(asking.dims(index) for index in range(len(asking.node.inputs)) if asking.has(index)))]


def same(asking: Asking) -> Shapes:
    """Every output has the dims of input 0."""
    return [asking.dims(0)] * asking.count


def same_first(asking: Asking) -> Shapes:
    """The first output has the dims of input 0."""
    return [asking.dims(0)]


def one_hot(asking: Asking) -> Shapes:
    """A new axis for the classes."""
    dims, depth = asking.dims(0), asking.elements(1)
    axis = asking.axis(len(dims) + 1, -1)
    size = depth[0] if depth is not None and len(depth) == 1 else None
    return [(*dims[:axis], asking.size(size), *dims[axis:])]


# Elements


def _each(function: Callable[..., Element], count: int) -> Callable[[Holding], Elements]:
    """A rule for operators on `count` elements, one of each input."""

    def rule(holding: Holding) -> Elements:
        arrays = holding.all()
        if len(arrays) != count or (count == 2 and holding.node.attributes.keys() & _OLD_BROADCAST):
            raise Unknown
        return [each_element(function, arrays)]

    return rule


_OLD_BROADCAST = frozenset({"axis", "broadcast"})
"""Before opset 7 they told which axes are broadcast."""


def _mixed(one: Element, other: Element) -> bool:
    """Whether a floating-point number meets what is none: a formula would lose its roundings."""
    return isinstance(one, np.floating) != isinstance(other, np.floating)


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Holding], Elements]:
    return _each(lambda one, other: None if _mixed(one, other) else function(one, other), 2)


def _divided(holding: Holding) -> Elements:
    return _each(lambda one, other: _quotient(holding, one, other), 2)(holding)


def _quotient(holding: Holding, one: Any, other: Any) -> Any:
    """The quotient, of integers cut towards 0."""
    if isinstance(one, np.floating) or isinstance(other, np.floating):
        return None if _mixed(one, other) or other == 0 else one / other
    if isinstance(one, int) and isinstance(other, int):
        return None if other == 0 else abs(one) // abs(other) * (1 if (one < 0) == (other < 0) else -1)
    if isinstance(other, int):
        return cut(one, other) if other > 0 and holding.is_size(one) else exact(one, other)
    sizes = holding.is_size(other) and holding.is_size(one)
    return cut(one, other) if sizes else exact(one, other)  # a size of 0 below is an error at run time


def _remainder(holding: Holding) -> Elements:
    truncates = holding.attribute("fmod", 0)

    def rest(one: Any, other: Any) -> Any:
        if isinstance(one, np.floating) or isinstance(other, np.floating):
            return None
        if isinstance(one, int) and isinstance(other, int) and other:
            if not truncates:
                return one % other
            # Engines take this remainder of floats, which hold no larger integers.
            return int(np.fmod(one, other)) if max(abs(one), abs(other)) < 2**53 else None
        if isinstance(one, Formula) and isinstance(other, int) and other > 0 and holding.is_size(one):
            return one - cut(one, other) * other
        return None

    return _each(rest, 2)(holding)


def _power(one: Any, other: Any) -> Any:
    """The powers that every engine rounds alike."""
    if isinstance(one, int) and isinstance(other, int):
        found = one**other if 0 <= other < 64 else None
        # Engines take powers of floats, which do not hold all of these integers.
        return None if found is None or 2**53 <= abs(found) < 2**63 else found
    if isinstance(one, np.floating) and other == 0.5:
        return None if one == -np.inf else np.sqrt(one)
    return one * one if not isinstance(other, Formula) and other == 2 else None


def _compared(function: Callable[[Any, Any], bool]) -> Callable[[Holding], Elements]:
    def one_pair(one: Any, other: Any) -> bool | None:
        if is_number(one) and is_number(other):
            return bool(function(one, other))
        if isinstance(one, np.floating) or isinstance(other, np.floating):
            return None
        difference = one - other
        low, high = bounds(difference)
        if difference == 0:
            return function(0, 0)
        if low is not None and low > 0:
            return function(1, 0)
        return function(0, 1) if high is not None and high < 0 else _weakly(function, low, high)

    return _each(one_pair, 2)


def _weakly(function: Callable[[Any, Any], bool], low: Any, high: Any) -> bool | None:
    """What a difference that is never negative, or never positive, decides all the same."""
    if low is not None and low >= 0 and function(0, 0) == function(1, 0):
        return function(0, 0)
    if high is not None and high <= 0 and function(0, 0) == function(0, 1):
        return function(0, 0)
    return None


def _extreme(choose: Callable[[Any, Any], Any]) -> Callable[[Holding], Elements]:
    """Max and Min, of any number of inputs."""

    def two(one: Any, other: Any) -> Any:
        if _mixed(one, other) or (isinstance(one, np.floating) and np.isnan(one + other)):
            return None
        if isinstance(one, np.floating):
            return max(one, other) if choose is largest else min(one, other)
        return choose(one, other)

    def rule(holding: Holding) -> Elements:
        first, *others = holding.all()
        for other in others:
            first = each_element(two, [first, other])
        return [first]

    return rule


def _where(holding: Holding) -> Elements:
    condition, first, second = holding.all()
    shape = np.broadcast_shapes(condition.shape, first.shape, second.shape)
    few(*shape)
    lists = [np.broadcast_to(array, shape).reshape(-1).tolist() for array in (condition, first, second)]
    return [array_of((_chosen(*three) for three in zip(*lists, strict=True)), shape)]


def _chosen(condition: Any, one: Any, other: Any) -> Any:
    if condition is None:
        return one if one is not None and one == other else None
    return one if condition else other


def _cast(holding: Holding) -> Elements:
    """Numbers and truth values into one another, where they fit; only numbers into floating-point ones."""
    kind = ir.DataType(holding.attribute("to"))
    if kind == ir.DataType.BOOL:
        return [each_element(lambda each: bool(each) if is_number(each) else None, [holding.given(0)])]
    if kind.name in FLOATS:
        if any(isinstance(each, Formula) for each in holding.given(0).flat):
            raise Unknown  # what is lost here depends on sizes, unlike what was not known before
        return [each_element(lambda each: kind.numpy().type(each) if is_number(each) else None, [holding.given(0)])]
    if kind.name not in INTEGERS:
        raise Unknown
    low, high = (int(limit) for limit in (np.iinfo(kind.numpy()).min, np.iinfo(kind.numpy()).max))

    def one(each: Any) -> Any:
        if isinstance(each, np.floating) and not np.isfinite(each):
            return None
        return (int(each) if low <= int(each) <= high else None) if is_number(each) else each

    return [each_element(one, [holding.given(0)])]


def _rounded(function: Callable[[Any], Any]) -> Callable[[Holding], Elements]:
    return _each(lambda each: function(each) if isinstance(each, np.floating) else None, 1)


def _logical(function: Callable[..., Any], count: int) -> Callable[[Holding], Elements]:
    return _each(function, count)


ELEMENTS: dict[str, Callable[[Holding], Elements]] = {
    "Add": _arithmetic(add),
    "Sub": _arithmetic(sub),
    "Mul": _arithmetic(mul),
    "Div": _divided,
    "Mod": _remainder,
    "Pow": _each(_power, 2),
    "Max": _extreme(largest),
    "Min": _extreme(smallest),
    "Sqrt": _rounded(np.sqrt),
    "Ceil": _rounded(np.ceil),
    "Floor": _rounded(np.floor),
    "Neg": _each(lambda each: -each, 1),
    "Equal": _compared(eq),
    "Less": _compared(lt),
    "LessOrEqual": _compared(le),
    "Greater": _compared(gt),
    "GreaterOrEqual": _compared(ge),
    "Not": _each(lambda each: not each, 1),
    "And": _each(lambda one, other: one and other, 2),
    "Or": _each(lambda one, other: one or other, 2),
    "Where": _where,
    "Cast": _cast,
    "Identity": lambda holding: [holding.given(0)],
}

ELEMENTWISE = (
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil "
    "Celu Cos Cosh Div Elu Equal Erf Exp Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish Identity "
    "IsInf IsNaN LeakyRelu Less LessOrEqual Log Max Mean Min Mish Mod Mul Neg Not Or PRelu Pow Reciprocal Relu "
    "Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Sub Sum Swish Tan Tanh ThresholdedRelu Where "
    "Xor"
).split()
RECORDS = {
    **{op: Record(broadcast, ELEMENTS.get(op)) for op in ELEMENTWISE},
    **dict.fromkeys("Clip CastLike Dropout RandomNormalLike RandomUniformLike Bernoulli EyeLike".split(), Record(same)),
    "OneHot": Record(one_hot),
}
