"""The least and the most that a size can be."""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import Generic, NamedTuple, TypeVar

from onereshape.rule.sizes.reading import ReadFormula, ReadMonomial, ReadOperation, ReadSize

Bounds = tuple[int | Fraction | None, int | Fraction | None]
"""None where there is no limit."""


Formula_co = TypeVar("Formula_co", bound=ReadFormula, covariant=True)


class KnownSize(NamedTuple, Generic[Formula_co]):
    """A size of which more is known than of its symbols."""

    size: Formula_co
    low: int | Fraction | None
    high: int | Fraction | None


_FAR = 2**40
"""A size that no dim has."""
_NEAR = 256
"""Sizes around an end at which a formula that rises by steps may fall."""


def bounds(size: ReadSize, least: int = 0, known: KnownSize[ReadFormula] | None = None) -> Bounds:
    """The least and the most that a size can be where symbols are `least` or more, None where there is no limit.

    `known` is a part of it whose own limits are given.

    >>> from onereshape.rule.sizes import cut, symbol
    >>> N = symbol("N")
    >>> bounds(N + 1), bounds(3 - N), bounds(cut(N, 2) * 2 + 4)
    ((1, None), (None, 3), (4, None))
    """
    if isinstance(size, int):
        return size, size
    if known is not None and isinstance(apart := size - known.size, int):
        low, high = known.low, known.high
        return None if low is None else low + apart, None if high is None else high + apart
    lowest: int | Fraction | None = 0
    highest: int | Fraction | None = 0
    for monomial, coefficient in size.terms:
        low, high = _monomial_bounds(monomial, least, known)
        if coefficient < 0:
            low, high = high, low
        lowest = None if low is None or lowest is None else lowest + low * coefficient
        highest = None if high is None or highest is None else highest + high * coefficient
    return lowest, highest


def is_size(size: ReadSize) -> bool:
    """Whether a formula is 0 or more, whatever the sizes of its symbols are."""
    least = bounds(size)[0]
    return least is not None and least >= 0


def reach(size: ReadFormula, most: int, start: int) -> int:
    """The largest size of a formula's only symbol, from `start` on, up to which the formula is at most `most`.

    >>> from onereshape.rule.sizes import cut, symbol
    >>> S = symbol("S")
    >>> reach(2 * S - 1, 43, 12), reach(cut(S, 8), 3, 8)
    (22, 31)
    """
    (name,) = size.symbols
    low, high = start, max(2 * start, 2)
    while size.at({name: high}) <= most and high < _FAR:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if size.at({name: middle}) <= most else (low, middle)
    return low


def fewest(size: ReadFormula, most: int, start: int, step: int = 1) -> int:
    """The smallest size of a formula's only symbol, from `start` down in steps, to which the formula is at most `most`.

    >>> from onereshape.rule.sizes import cut, symbol
    >>> S = symbol("S")
    >>> fewest(5 - S, 0, 12), fewest(3 - cut(S, 8), 1, 32), fewest(5 - S, 0, 12, 2), fewest(5 - S, 6, 12)
    (5, 16, 6, 1)
    """
    (name,) = size.symbols

    def is_above(each: int) -> bool:
        try:
            return size.at({name: each}) > most
        except ZeroDivisionError:
            return True

    smaller = range(start - step, 0, -step)
    many = bisect_left(smaller, 1, key=is_above)
    again = next((turn for turn in range(max(many - _NEAR, 0), many) if is_above(smaller[turn])), many)
    return 1 if again == len(smaller) else start - again * step


def _monomial_bounds(monomial: ReadMonomial, least: int, known: KnownSize[ReadFormula] | None) -> Bounds:
    if known is not None and known.size.terms == ((monomial, 1),):
        return known.low, known.high
    lowest: int | Fraction = 1
    highest: int | Fraction | None = 1
    for atom in monomial:
        low, high = (least, None) if isinstance(atom, str) else _operation_bounds(atom, least, known)
        if low is None or low < 0:
            return (None, None) if len(monomial) > 1 else (low, high)
        lowest *= low
        highest = None if highest is None or high is None else highest * high
    return lowest, highest


def _operation_bounds(operation: ReadOperation, least: int, known: KnownSize[ReadFormula] | None) -> Bounds:
    (one, most), (other, limit) = (bounds(part, least, known) for part in operation.parts)
    if operation.name == "Max":
        low = other if one is None else one if other is None else max(one, other)
        return low, None if most is None or limit is None else max(most, limit)
    if operation.name == "Min":
        high = limit if most is None else most if limit is None else min(most, limit)
        return None if one is None or other is None else min(one, other), high
    bottom = operation.parts[1]
    if isinstance(bottom, int):
        return None if one is None else one // bottom, None if most is None else most // bottom
    return (0, most) if one is not None and one >= 0 else (None, None)
