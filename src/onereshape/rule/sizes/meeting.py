"""The size that two have together where they are broadcast: of S and Min(S, 512) it is S wherever that runs."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from onereshape.rule.sizes.algebra import Formula, Operation, Size
from onereshape.rule.sizes.extent import KnownSize, bounds

Number = int | Fraction


def met(one: Formula, other: Formula) -> Formula | None:
    """The size that two have together wherever they can be broadcast, None where it is not known to be one of them.

    Two that are broadcast are equal, or one of them is 1.  So they have the first together if the second is 1 wherever
    the first is.

    >>> from onereshape.rule.sizes import largest, smallest, symbol
    >>> S = symbol("S")
    >>> print(met(S, smallest(S, 512)), met(largest(S, 2), S), met(S, symbol("T")))
    S Max(2, S) None
    """
    sure = [size for size, beside in ((one, other), (other, one)) if _is_one_beside(beside, size)]
    return min(sure, key=lambda size: (size.weight, len(str(size)), str(size)), default=None)


def is_never_one(size: Size) -> bool:
    """Whether a size is another than 1 whatever the symbols are.

    >>> from onereshape.rule.sizes import cut, symbol
    >>> S = symbol("S")
    >>> is_never_one(S + 2), is_never_one(2 * S), is_never_one(S + 1), is_never_one(cut(S, 2))
    (True, True, False, False)
    """
    return size != 1 if isinstance(size, int) else _is_one_beside(0, size)


def _is_one_beside(beside: Size, size: Formula) -> bool:
    """Whether a size is 1 wherever another is."""
    known: KnownSize[Formula] | None = KnownSize(size, 1, 1)
    while known is not None:
        size, low, high = known
        lows, highs = ([end for end in ends if end is not None] for ends in zip(bounds(size), (low, high), strict=True))
        low, high = max(lows, default=None), min(highs, default=None)
        if low is not None and high is not None and low > high:  # it never is
            return True
        if bounds(beside, known=KnownSize(size, low, high)) == (1, 1):
            return True
        known = _inward(KnownSize(size, low, high))
    return False


def _inward(known: KnownSize[Formula]) -> KnownSize[Formula] | None:
    """The bounds of the part of a size that is no number: of `2*N + 1` between 5 and 9 those of N, 2 and 4."""
    size, low, high = known
    *others, (monomial, factor) = size.terms
    if others:
        rest = None if monomial else Formula(tuple(others))
        return None if rest is None else KnownSize(rest, _less(low, factor), _less(high, factor))
    if factor != 1:
        ends = [None if end is None else Fraction(end) / factor for end in (low, high)]
        low, high = ends if factor > 0 else reversed(ends)
        part = Formula(((monomial, 1),))
        return KnownSize(part, None if low is None else ceil(low), None if high is None else floor(high))
    return _within(monomial[0], low, high) if len(monomial) == 1 and isinstance(monomial[0], Operation) else None


def _less(end: Number | None, number: Number) -> Number | None:
    return None if end is None else end - number


def _within(operation: Operation, low: Number | None, high: Number | None) -> KnownSize[Formula] | None:
    """Where the only part of an operation that is no number must be, for the operation to be between these."""
    first, second = operation.parts
    if operation.name == "Max" and isinstance(first, int) and isinstance(second, Formula):
        return KnownSize(second, low if low is not None and first < low else None, high)
    if operation.name == "Min" and isinstance(first, int) and isinstance(second, Formula):
        return KnownSize(second, low, high if high is not None and first > high else None)
    if operation.name == "floor" and isinstance(first, Formula) and isinstance(second, int):
        return KnownSize(
            first, None if low is None else low * second, None if high is None else high * second + second - 1
        )
    return None
