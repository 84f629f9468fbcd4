"""Arithmetic, comparisons and choices, element by element: what they make of numbers and of sizes is followed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, eq, ge, gt, le, lt, mul, sub
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onereshape.graphs.batch_rules.counting import all_from_zero
from onereshape.graphs.batch_rules.view import BatchState
from onereshape.graphs.facts.answers import same
from onereshape.graphs.facts.elements import (
    FLOATS,
    INTEGERS,
    Element,
    Elements,
    Holding,
    Unknown,
    array_of,
    elementwise,
    few,
    is_number,
)
from onereshape.graphs.facts.kinds import by_attribute
from onereshape.graphs.folding.folded_operators import Unfolded, Use, reference
from onereshape.graphs.free_rules.spans import Spans, combined, larger, span_within
from onereshape.graphs.free_rules.state import FreeState
from onereshape.graphs.operators.pointwise import BROADCAST, UNARY, batch_clip, fold_clip, folded_cast, span_truth
from onereshape.graphs.takes import EVERY, Stretch, Take
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Formula, Size, bounds, cut, exact, largest, smallest


def _each(function: Callable[..., Element], count: int) -> Callable[[Holding], Elements]:
    """A rule for operators on `count` elements, one of each input."""

    def rule(holding: Holding) -> Elements:
        arrays = holding.all()
        if len(arrays) != count or (count == 2 and holding.node.attributes.keys() & _OLD_BROADCAST):
            raise Unknown
        return [elementwise(function, arrays)]

    return rule


_DOUBLE_EXACT = 2**53
"""Integers that a 64-bit float holds exactly."""
_OLD_BROADCAST = frozenset({"axis", "broadcast"})
"""Before opset 7 they told which axes are broadcast."""


def _mixed(one: Element, other: Element) -> bool:
    """Whether a floating-point number meets what is none: a formula would lose its roundings."""
    return isinstance(one, np.floating) != isinstance(other, np.floating)


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Holding], Elements]:
    return _each(lambda one, other: None if _mixed(one, other) else function(one, other), 2)


def held_mul(holding: Holding) -> Elements:
    """The products; an integer of 0 makes one of what is not known too."""
    (found,) = _arithmetic(mul)(holding)
    if found is None or all(each is not None for each in found.flat):
        return [found]
    one, other = (np.broadcast_to(array, found.shape) for array in holding.all())
    pairs = zip(found.flat, one.flat, other.flat, strict=True)
    nought = (
        0 if each is None and (_is_nought(first) or _is_nought(second)) else each for each, first, second in pairs
    )
    return [array_of(nought, found.shape)]


def _is_nought(element: Element) -> bool:
    return type(element) is int and element == 0


def held_clip(holding: Holding) -> Elements:
    """Between two limits, of which any may be left out."""
    (data,) = holding.inputs[:1]
    if data is None:
        raise Unknown
    if holding.opset < 11:
        limits = [holding.attribute(name) for name in ("min", "max")]
        floats = (each for each in data.flat if isinstance(each, np.floating))
        kind = type(next(floats, np.float32(0)))
        low, high = (None if limit is None else array_of([kind(limit)], ()) for limit in limits)
    else:
        low, high = (holding.given(index) if holding.has(index) else None for index in (1, 2))
    for limit, choose in ((low, largest), (high, smallest)):
        if limit is not None:
            data = elementwise(_two(choose), [data, limit.reshape(())])
    if low is None or high is None:  # an engine has the largest float for a limit, and cuts what is infinite
        data = elementwise(lambda each: None if _is_endless(each) else each, [data])
    return [data]


def _is_endless(number: Any) -> bool:
    return isinstance(number, np.floating) and not np.isfinite(number)


def held_relu(holding: Holding) -> Elements:
    """Relu: `[-1, 0, 2] -> [0, 0, 2]`."""
    return _each(lambda each: _two(largest)(each, type(each)(0) if isinstance(each, np.floating) else 0), 1)(holding)


def held_div(holding: Holding) -> Elements:
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


def held_mod(holding: Holding) -> Elements:
    truncates = holding.attribute("fmod", 0)

    def rest(one: Any, other: Any) -> Any:
        if isinstance(one, np.floating) or isinstance(other, np.floating):
            return None
        if isinstance(one, int) and isinstance(other, int) and other:
            if not truncates:
                return one % other
            # Engines take this remainder of floats, which hold no larger integers.
            return int(np.fmod(one, other)) if max(abs(one), abs(other)) < _DOUBLE_EXACT else None
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


def _two(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The larger of two elements, or the smaller; not where one is no number."""

    def two(one: Any, other: Any) -> Any:
        if _mixed(one, other) or (isinstance(one, np.floating) and np.isnan(one + other)):
            return None
        if isinstance(one, np.floating):
            return max(one, other) if choose is largest else min(one, other)
        return choose(one, other)

    return two


def _extreme(choose: Callable[[Any, Any], Any]) -> Callable[[Holding], Elements]:
    """Max and Min, of any number of inputs."""

    def rule(holding: Holding) -> Elements:
        first, *others = holding.all()
        for other in others:
            first = elementwise(_two(choose), [first, other])
        return [first]

    return rule


def span_min(spans: Spans, node: ir.Node, depth: int) -> Size | None:
    """Of a Min: any operand that is known bounds it."""
    known = [bound for value in node.inputs if isinstance(bound := span_within(spans, value, depth + 1), int)]
    return min(known, default=None)


def held_where(holding: Holding) -> Elements:
    condition, first, second = holding.all()
    shape = np.broadcast_shapes(condition.shape, first.shape, second.shape)
    few(*shape)
    lists = [np.broadcast_to(array, shape).reshape(-1).tolist() for array in (condition, first, second)]
    return [array_of((_chosen(*three) for three in zip(*lists, strict=True)), shape)]


def _chosen(condition: Any, one: Any, other: Any) -> Any:
    if condition is None:
        return one if one is not None and one == other else None
    return one if condition else other


def held_cast(holding: Holding) -> Elements:
    """Numbers and truth values into one another, where they fit; only numbers into floating-point ones."""
    kind = ir.DataType(holding.attribute("to"))
    if kind == ir.DataType.BOOL:
        return [elementwise(lambda each: bool(each) if is_number(each) else None, [holding.given(0)])]
    if kind.name in FLOATS:
        if any(isinstance(each, Formula) for each in holding.given(0).flat):
            raise Unknown  # what is lost here depends on sizes, unlike what was not known before
        return [elementwise(lambda each: kind.numpy().type(each) if is_number(each) else None, [holding.given(0)])]
    if kind.name not in INTEGERS:
        raise Unknown
    low, high = (int(limit) for limit in (np.iinfo(kind.numpy()).min, np.iinfo(kind.numpy()).max))

    def one(each: Any) -> Any:
        if isinstance(each, np.floating) and not np.isfinite(each):
            return None
        return (int(each) if low <= int(each) <= high else None) if is_number(each) else each

    return [elementwise(one, [holding.given(0)])]


def _rounded(function: Callable[[Any], Any]) -> Callable[[Holding], Elements]:
    return _each(lambda each: function(each) if isinstance(each, np.floating) else None, 1)


def stretch_add(given: Stretch, _: int, other: tuple[int, int] | None) -> Stretch:
    """A sum: least and most move by the bounds of the other operand; unknown bounds leave each operand half a range."""
    if other is None:
        return given._replace(share=given.share * 2)
    return given._replace(least=given.least + other[0], most=given.most + other[1])


def stretch_sub(given: Stretch, position: int, other: tuple[int, int] | None) -> Stretch | None:
    """A difference of indices stays inside (-size, size)."""
    if other is None:
        return given
    return given._replace(least=given.least - other[1], most=given.most - other[0]) if position == 0 else None


def stretch_mul(given: Stretch, _: int, other: tuple[int, int] | None) -> Stretch | None:
    if other is None or other[0] <= 0:
        return None
    low, high = other
    return Stretch(given.factor * high, given.least * low, given.most * high, given.share)


def _integers(arrays: Sequence[Array]) -> bool:
    return all(array.dtype.kind in "iu" for array in arrays)


def fold_pow(use: Use) -> list[Array]:
    base, power = use.given(0), use.given(1)
    if base.dtype.kind in "iu":
        exact = np.power(base.astype(np.float64), power.astype(np.float64))
        if not (np.isfinite(exact).all() and (np.abs(exact) < _exact_limit(base.dtype)).all()) or (power < 0).any():
            raise Unfolded
    return reference(use)


def _exact_limit(kind: np.dtype[Any]) -> float:
    """A number that all below it, and the negative of it, can be said in a type of integers and in a float64."""
    return float(min(np.iinfo(kind).max, 2**53))


def fold_div(use: Use) -> list[Array]:
    over, under = use.given(0), use.given(1)
    if _integers([over, under]) and (not under.all() or (over.size and over.min() == np.iinfo(over.dtype).min < 0)):
        raise Unfolded
    return reference(use)


def fold_mod(use: Use) -> list[Array]:
    over, under = use.given(0), use.given(1)
    if _integers([over, under]):
        large = any((np.abs(each.astype(np.float64)) >= 2**53).any() for each in (over, under))
        if not under.all() or large:
            raise Unfolded
    return reference(use)


def fold_cast(use: Use) -> list[Array]:
    return folded_cast(use, onnx.helper.tensor_dtype_to_np_dtype(use.attribute("to", onnx.TensorProto.UNDEFINED)))


def from_zero_all(node: ir.Node, state: BatchState) -> bool:
    """A sum, a product."""
    return all_from_zero(node.inputs, state)


def from_zero_mod(node: ir.Node, state: BatchState) -> bool:
    """What is left by a divisor above 0, with its sign."""
    divisor = None if node.inputs[1] is None else state.folding.array(node.inputs[1])
    return divisor is not None and not node.attributes.get_int("fmod", 0) and bool((divisor > 0).all())


def _sum(_: FreeState, one: Size, other: Size) -> Size:
    return one + other


def _product(_: FreeState, one: Size, other: Size) -> Size:
    return one * other


_NUMBERS: dict[int, Take] = {0: "number", 1: "number"}
_TRUTH = BROADCAST._replace(span=span_truth, takes={0: "truth", 1: "truth"})

RECORDS = {
    "Add": BROADCAST._replace(
        elements=_arithmetic(add),
        span=combined(_sum),
        sums=True,
        from_zero=from_zero_all,
        takes=_NUMBERS,
        stretch=stretch_add,
    ),
    "Sub": BROADCAST._replace(elements=_arithmetic(sub), sums=True, takes=_NUMBERS, stretch=stretch_sub),
    "Mul": BROADCAST._replace(
        elements=held_mul,
        span=combined(_product),
        multiplies=True,
        from_zero=from_zero_all,
        takes=_NUMBERS,
        stretch=stretch_mul,
    ),
    "Div": BROADCAST._replace(elements=held_div, divides=True, takes=_NUMBERS, fold=fold_div),
    "Mod": BROADCAST._replace(elements=held_mod, from_zero=from_zero_mod, fold=fold_mod),
    "Pow": BROADCAST._replace(elements=_each(_power, 2), fold=fold_pow),
    "Neg": UNARY._replace(elements=_each(lambda each: -each, 1), sums=True),
    "Sqrt": UNARY._replace(elements=_rounded(np.sqrt), takes={0: "positive"}),
    "Ceil": UNARY._replace(elements=_rounded(np.ceil)),
    "Floor": UNARY._replace(elements=_rounded(np.floor)),
    "Round": UNARY._replace(elements=_rounded(np.rint)),
    "Abs": UNARY._replace(elements=_each(lambda each: abs(each) if is_number(each) else None, 1)),
    "Relu": UNARY._replace(elements=held_relu),
    "Clip": UNARY._replace(shape=same, elements=held_clip, batch=batch_clip, carries=frozenset({0}), fold=fold_clip),
    "Max": BROADCAST._replace(elements=_extreme(largest), span=combined(larger), carries=EVERY),
    "Min": BROADCAST._replace(elements=_extreme(smallest), span=span_min, carries=EVERY),
    "Equal": _TRUTH._replace(elements=_compared(eq)),
    "Less": _TRUTH._replace(elements=_compared(lt)),
    "LessOrEqual": _TRUTH._replace(elements=_compared(le)),
    "Greater": _TRUTH._replace(elements=_compared(gt)),
    "GreaterOrEqual": _TRUTH._replace(elements=_compared(ge)),
    "Not": UNARY._replace(elements=_each(lambda each: not each, 1), span=span_truth, takes={0: "truth"}),
    "And": _TRUTH._replace(elements=_each(lambda one, other: one and other, 2)),
    "Or": _TRUTH._replace(elements=_each(lambda one, other: one or other, 2)),
    "Xor": _TRUTH,
    "Where": BROADCAST._replace(
        elements=held_where, span=combined(larger, first=1), carries=frozenset({1, 2}), takes={0: "truth"}
    ),
    "Cast": UNARY._replace(
        elements=held_cast,
        kinds=by_attribute("to", ir.DataType.UNDEFINED),
        moves=True,
        keeps=True,
        beside=True,
        in_order=True,
        fold=fold_cast,
    ),
}
