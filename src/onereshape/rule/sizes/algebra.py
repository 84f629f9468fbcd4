"""Size: the size of a dim as a number, or as a formula of symbols in one normal form.

A formula is a sum of products of atoms, with rational coefficients.  An atom is the name of a dim, or an operation on
sizes: `floor` of a quotient, `Max` and `Min` of two, a quotient that is exact wherever it is asked for (`over`).  Equal
sizes that convolutions, joins and cuts compute in different ways have equal formulas.  A symbol stands for a dim, so it
is 0 or more, and nothing else is known of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm, prod
from typing import NamedTuple

from onereshape.rule.sizes.extent import bounds
from onereshape.rule.sizes.text import written, written_operation

MOST_TERMS = 64
"""Terms of a formula; `v * (v + 3)`, of itself again and again, has twice as many with each step."""
MOST_ATOMS = 64
"""Factors of a term, those within operations counted too."""
_MOST_BITS = 65_536
"""Of a coefficient: no size has one beyond int64, but large multiples of sizes are compared too."""


class TooLongError(ArithmeticError):
    """A size is a formula that is too long to go on with."""

    def __init__(self) -> None:
        super().__init__(f"a size becomes a formula of more than {MOST_TERMS} terms or {MOST_ATOMS} factors")


class Operation(NamedTuple):
    """An operation on sizes that is no sum and no product: `floor` and `over` of top and bottom, `Max`, `Min`."""

    name: str
    parts: tuple[Size, ...]

    @property
    def weight(self) -> int:
        """How many names are in it."""
        return sum(part.weight for part in self.parts if isinstance(part, Formula))

    def __str__(self) -> str:
        return written_operation(self)


Atom = str | Operation
Monomial = tuple[Atom, ...]
Term = tuple[Monomial, "int | Fraction"]


class Formula:
    """A sum of monomials with their coefficients; made by `symbol` and by calculating, never an integer alone.

    >>> N, S = symbol("N"), symbol("S")
    >>> print((N + 1) * 2 - S, (N * S) * 3, cut(N + 3, 4))
    2*N - S + 2 3*N*S floor((N + 3)/4)
    """

    __slots__ = ("_hash", "_symbols", "_text", "terms")

    def __init__(self, terms: tuple[Term, ...]) -> None:
        self.terms = terms
        self._hash: int | None = None
        self._text: str | None = None
        self._symbols: frozenset[str] | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Formula) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.terms)
        return self._hash

    def __repr__(self) -> str:
        return f"Formula({str(self)!r})"

    def __add__(self, other: Size) -> Size:
        if isinstance(other, int) and self.terms[-1][0]:  # a number comes last
            return _checked((*self.terms, ((), other))) if other else self
        return _added(self.terms, _terms(other))

    def __mul__(self, other: Size) -> Size:
        if isinstance(other, int):
            return self if other == 1 else _scaled(self, other)
        if len(self.terms) * len(other.terms) > MOST_TERMS**2:
            raise TooLongError
        return _sum([(_sorted((*one, *two)), a * b) for one, a in self.terms for two, b in other.terms])

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        if not isinstance(other, Formula):
            return self + other * -1
        return _added(self.terms, [(monomial, -coefficient) for monomial, coefficient in other.terms])

    def __rsub__(self, other: int) -> Size:
        return self * -1 + other

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def symbols(self) -> frozenset[str]:
        """The names of the symbols in the formula: `2*N + S -> {N, S}`."""
        if self._symbols is None:
            self._symbols = frozenset(_names(self))
        return self._symbols

    @property
    def weight(self) -> int:
        """How many names are in it."""
        return sum(_weight(atom) for monomial, _ in self.terms for atom in monomial)

    @property
    def name(self) -> str | None:
        """The name of the symbol, where the formula is a symbol alone: `N -> N`, `2*N -> None`."""
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms
            if coefficient == 1 and len(monomial) == 1 and isinstance(monomial[0], str):
                return monomial[0]
        return None

    def at(self, sizes: Mapping[str, int]) -> int | Fraction:
        """The number that it is where the symbols have these sizes, all of which must be given."""
        total: int | Fraction = 0
        for monomial, coefficient in self.terms:
            number: int | Fraction = 1
            for atom in monomial:
                number = number * (sizes[atom] if isinstance(atom, str) else _operated(atom, sizes))
            total = total + times(number, coefficient)
        return total

    def bind(self, known: Mapping[str, Size]) -> Size:
        """The formula with sizes in place of symbols: `2*N + S` with N = 4 is `S + 8`."""
        if self.symbols.isdisjoint(known):
            return self
        total: Size = 0
        for monomial, coefficient in self.terms:
            bound: list[Size] = []
            for atom in monomial:
                if isinstance(atom, str):
                    bound.append(known[atom] if atom in known else symbol(atom))
                else:
                    one, other = (part.bind(known) if isinstance(part, Formula) else part for part in atom.parts)
                    bound.append(OPERATIONS[atom.name](one, other))
            total = _scaled(product(bound), coefficient) + total
        return total

    def __str__(self) -> str:
        if self._text is None:
            self._text = written(self)
        return self._text


Size = int | Formula
"""The size of a dim: an int wherever it depends on no symbol."""


def symbol(name: str) -> Formula:
    """A size that is known by its name only."""
    return Formula((((name,), 1),))


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes."""
    number = 1
    rest: Size = 1
    for size in sizes:
        if isinstance(size, int):
            number *= size
        else:
            rest = size if rest == 1 else rest * size
    return rest * number


def cut(top: Size, bottom: Size) -> Size:  # noqa: PLR0911 - the steps to the normal form, one by one
    """The quotient, rounded down; `bottom` is positive.

    >>> H = symbol("H")
    >>> str(cut(cut(H - 1, 2) + 1 - 1, 2) + 1)
    'floor((H + 3)/4)'
    >>> str(cut(4 * H + 3, 2))
    '2*H + 1'
    """
    if isinstance(bottom, Formula):
        whole = exact(top, bottom)
        return whole if whole is not None else _made("floor", top, bottom)
    if isinstance(top, int):
        return top // bottom
    if bottom == 1:
        return top
    if not _integral(top):
        scale = lcm(*(coefficient.denominator for _, coefficient in top.terms))
        return cut(_scaled(top, scale), bottom * scale)
    whole = _ordered([(monomial, coefficient // bottom) for monomial, coefficient in top.terms])
    rest = [(monomial, int(coefficient % bottom)) for monomial, coefficient in top.terms if coefficient % bottom]
    number = rest[-1][1] if rest and not rest[-1][0] else 0
    part = rest[:-1] if number else rest
    if not part:
        return whole  # less than one
    common = gcd(bottom, *[coefficient for _, coefficient in part])
    bottom //= common
    inner = _ordered([*((monomial, coefficient // common) for monomial, coefficient in part), ((), number // common)])
    if common > 1:
        return cut(inner, bottom) + whole
    if len(part) == 1 and part[0][1] == 1 and len(part[0][0]) == 1:
        below = part[0][0][0]
        if isinstance(below, Operation) and below.name == "floor" and isinstance(below.parts[1], int):
            return cut(below.parts[0] + number * below.parts[1], bottom * below.parts[1]) + whole
    return _made("floor", inner, bottom) + whole


def ceiling(top: Size, bottom: int) -> Size:
    """The quotient, rounded up."""
    return top if bottom == 1 else cut(top + (bottom - 1), bottom)


def exact(top: Size, bottom: Size, whole: Iterable[Size] = ()) -> Size | None:  # noqa: PLR0911 - one case each
    """The quotient where it is exact whatever the symbols are, None where that is not so.

    Top and bottom are whole numbers even where they are written as fractions, and so are those of `whole`.

    >>> N = symbol("N")
    >>> sixth = over(N, 6)
    >>> print(exact(sixth, 1), exact(4 * sixth, 2), exact(4 * sixth, 4), exact(4 * sixth, 4, [sixth]))
    N/6 N/3 None N/6
    """
    if bottom == 0:
        return None
    if isinstance(top, int) and isinstance(bottom, int):
        return None if top % bottom else top // bottom
    if bottom == 1:
        return top
    if top == bottom:
        return 1
    if isinstance(bottom, int) and isinstance(top, Formula) and not whole and _integral(top):
        if any(coefficient % bottom for _, coefficient in top.terms):
            return None
        return _checked(tuple([(monomial, coefficient // bottom) for monomial, coefficient in top.terms]))
    divisors = _terms(bottom)
    found = [_without(term, divisors[0]) for term in _terms(top)] if len(divisors) == 1 else [None]
    kept = [term for term in found if term is not None]
    if len(kept) < len(found):
        return None
    if all(coefficient.denominator == 1 for _, coefficient in kept):
        return _sum(kept)
    divisible = _divisible((top, bottom, *whole))
    return _sum(kept) if all(_is_whole(term, divisible) for term in kept) else None


def _integral(size: Formula) -> bool:
    """Whether no coefficient is a fraction."""
    return all(isinstance(coefficient, int) for _, coefficient in size.terms)


def _divisible(sizes: Iterable[Size]) -> dict[Monomial, int]:
    """What is a multiple of which number, as these sizes are whole: N of 6 if N/6 is."""
    found: dict[Monomial, int] = {}
    for size in sizes:
        parts = [(monomial, coefficient.denominator) for monomial, coefficient in _terms(size) if _is_part(coefficient)]
        if len(parts) == 1:
            ((monomial, below),) = parts
            found[monomial] = lcm(found.get(monomial, 1), below)
    return found


def _is_part(coefficient: int | Fraction) -> bool:
    return coefficient.denominator != 1


def _is_whole(term: Term, divisible: Mapping[Monomial, int]) -> bool:
    """Whether a term is a whole number, as its monomial or its factors are multiples."""
    monomial, coefficient = term
    factors = prod(divisible.get((atom,), 1) for atom in monomial)
    return not lcm(factors, divisible.get(monomial, 1)) % coefficient.denominator


def over(top: Size, bottom: Size) -> Size:
    """The quotient where something else makes sure that it is exact: 4 times N/4 is N.

    >>> N = symbol("N")
    >>> print(over(N, 4), 4 * over(N, 4), over(6 * N, 4))
    N/4 N 3*N/2
    >>> print(over(N, 2 * symbol("T")))
    (N/(2*T))
    """
    if isinstance(bottom, int):
        return _scaled(top, Fraction(1, bottom))
    if top == bottom:
        return 1
    if len(bottom.terms) == 1:
        ((monomial, coefficient),) = bottom.terms
        found = [_without(term, (monomial, 1)) for term in _terms(top)]
        kept = [term for term in found if term is not None]
        whole = _scaled(_sum(kept), 1 / Fraction(coefficient))
        if len(kept) == len(found) and (isinstance(whole, int) or whole.symbols):
            return whole
    return _made("over", top, bottom)


def largest(one: Size, other: Size) -> Size:
    """The larger of two.

    >>> N = symbol("N")
    >>> print(largest(0, N), largest(0, N - 1), largest(3, 4))
    N Max(0, N - 1) 4
    """
    return _chosen("Max", one, other)


def smallest(one: Size, other: Size) -> Size:
    """The smaller of two."""
    return _chosen("Min", one, other)


def depends(size: Size | None, names: Iterable[str]) -> bool:
    """Whether a size depends on one of the symbols."""
    return isinstance(size, Formula) and not size.symbols.isdisjoint(names)


def _chosen(name: str, one: Size, other: Size) -> Size:
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other) if name == "Max" else min(one, other)
    low, high = bounds(one - other)
    first, second = sorted((one, other), key=lambda size: (isinstance(size, Formula), str(size)))
    if low == high == 0:
        return first
    if low is not None and low >= 0:
        return one if name == "Max" else other
    if high is not None and high <= 0:
        return other if name == "Max" else one
    return _made(name, first, second)


def _made(name: str, one: Size, other: Size) -> Formula:
    operation = Operation(name, (one, other))
    if operation.weight > MOST_ATOMS:
        raise TooLongError
    return Formula((((operation,), 1),))


def _operated(operation: Operation, sizes: Mapping[str, int]) -> int | Fraction:
    first, second = operation.parts
    one = first if isinstance(first, int) else first.at(sizes)
    other = second if isinstance(second, int) else second.at(sizes)
    if operation.name == "floor":
        return one // other
    if operation.name == "over":
        return _plain(Fraction(one) / other)
    return max(one, other) if operation.name == "Max" else min(one, other)


def times(number: int | Fraction, factor: int | Fraction) -> int | Fraction:
    """A product; a whole one is an integer, which is calculated with in less time."""
    if isinstance(factor, int) or not isinstance(number, int):
        return number * factor
    top, bottom = number * factor.numerator, factor.denominator
    return Fraction(top, bottom) if top % bottom else top // bottom


OPERATIONS = {"floor": cut, "over": over, "Max": largest, "Min": smallest}


def _scaled(size: Size, factor: int | Fraction) -> Size:
    """A size times a number that may be a fraction."""
    if isinstance(size, Formula) and factor and size.terms[0][0]:
        return _checked(tuple([(monomial, _plain(coefficient * factor)) for monomial, coefficient in size.terms]))
    return _sum([(monomial, coefficient * factor) for monomial, coefficient in _terms(size)])


def _without(term: Term, divisor: Term) -> Term | None:
    """One term divided by another, if that is possible; `broken`: its number may be a fraction."""
    left = list(term[0])
    for atom in divisor[0]:
        if atom not in left:
            return None
        left.remove(atom)
    if isinstance(term[1], int) and isinstance(divisor[1], int) and term[1] % divisor[1] == 0:
        return tuple(left), term[1] // divisor[1]
    return tuple(left), _plain(Fraction(term[1]) / divisor[1])


def _terms(size: Size) -> tuple[Term, ...]:
    return size.terms if isinstance(size, Formula) else (((), size),) if size else ()


def _sum(terms: Iterable[Term]) -> Size:
    total: dict[Monomial, int | Fraction] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    for monomial, coefficient in total.items():
        if coefficient and len(monomial) > 1 and sum(map(_weight, monomial)) > MOST_ATOMS:
            raise TooLongError
    return _kept(total, in_order=False)


def _added(terms: tuple[Term, ...], others: Iterable[Term]) -> Size:
    """The sum of the terms of a formula and of those of another: no term of it is longer than theirs."""
    total = dict(terms)
    for monomial, coefficient in others:
        total[monomial] = total.get(monomial, 0) + coefficient
    return _kept(total, in_order=len(total) == len(terms))


def _kept(total: Mapping[Monomial, int | Fraction], *, in_order: bool) -> Size:
    """The size with these coefficients of monomials; a coefficient of 0 is left out, a number alone is an int."""
    kept = [(monomial, _plain(coefficient)) for monomial, coefficient in total.items() if coefficient]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0] and isinstance(kept[0][1], int):
        return kept[0][1]
    if len(kept) > 1 and not in_order:
        kept.sort(key=_place)
    return _checked(tuple(kept))


def _ordered(terms: Iterable[Term]) -> Size:
    """The sum of different terms that are in their order, some of which may be none."""
    kept = tuple([term for term in terms if term[1]])
    return _checked(kept) if kept and kept[0][0] else kept[0][1].numerator if kept else 0


def _checked(terms: tuple[Term, ...]) -> Formula:
    """A formula of terms in their order, which are not too many, and have no coefficient that is too large."""
    if len(terms) > MOST_TERMS:
        raise TooLongError
    for _, coefficient in terms:
        if int(coefficient).bit_length() > _MOST_BITS:
            raise TooLongError
    return Formula(terms)


def _place(term: Term) -> tuple[int, list[tuple[str, bool]]]:
    """Where a term stands: long ones first, a number last."""
    return -len(term[0]), [_order(atom) for atom in term[0]]


def _plain(coefficient: int | Fraction) -> int | Fraction:
    return coefficient if isinstance(coefficient, int) or coefficient.denominator != 1 else coefficient.numerator


def _sorted(monomial: Monomial) -> Monomial:
    return tuple(sorted(monomial, key=_order)) if len(monomial) > 1 else monomial


def _order(atom: Atom) -> tuple[str, bool]:
    """The key that atoms are sorted by: their text; a name with the text of an operation comes behind it."""
    return (atom, True) if isinstance(atom, str) else (_text(atom), False)


@lru_cache(maxsize=4096)
def _text(operation: Operation) -> str:
    return str(operation)


def _weight(atom: Atom) -> int:
    """How many names are in an atom."""
    return 1 if isinstance(atom, str) else atom.weight


def _names(size: Size) -> set[str]:
    found: set[str] = set()
    for monomial, _ in _terms(size):
        for atom in monomial:
            if isinstance(atom, str):
                found.add(atom)
            else:
                found.update(*(_names(part) for part in atom.parts))
    return found
