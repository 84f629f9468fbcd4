"""Formula: a size as an expression of symbols, in one normal form.

A formula is a sum of products of atoms; an atom is a symbol, or the quotient of a formula by a number, cut to an
integer.  Equal sizes that convolutions and joins compute in different ways have equal formulas.  A size that depends on
no symbol is an int.  Only sizes are calculated here; what a model does with them is left to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd
from operator import mul
from typing import NamedTuple

from onereshape.dims import Product

MOST_TERMS = 64
"""Terms of a formula; `v * (v + 3)`, of itself again and again, has twice as many with each step."""
MOST_ATOMS = 64
"""Factors of a term, quotients within quotients counted too."""
_LARGEST = 1 << 65_536
"""Of a coefficient: no size has one beyond int64, but large multiples of sizes are compared too."""


class Floor(NamedTuple):
    """A quotient, cut to an integer."""

    top: Formula
    bottom: int

    @property
    def weight(self) -> int:
        """How many names are in it."""
        return sum(_weight(atom) for monomial, _ in self.top.terms for atom in monomial)

    def __str__(self) -> str:
        top = str(self.top)
        return f"floor({f'({top})' if ' ' in top else top}/{self.bottom})"


class TooLongError(ArithmeticError):
    """A size is a formula that is too long to go on with."""

    def __init__(self) -> None:
        super().__init__(f"a size becomes a formula of more than {MOST_TERMS} terms or {MOST_ATOMS} factors")


Atom = str | Floor
Monomial = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Formula:
    """A sum of monomials with their coefficients; made by `symbol` and by calculating, never an integer alone."""

    terms: tuple[tuple[Monomial, int], ...]

    def __add__(self, other: Size) -> Size:
        return _sum([*self.terms, *_terms(other)])

    def __mul__(self, other: Size) -> Size:
        if len(self.terms) * len(_terms(other)) > MOST_TERMS**2:
            raise TooLongError
        return _sum([(_sorted((*one, *two)), a * b) for one, a in self.terms for two, b in _terms(other)])

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return self + other * -1

    def __rsub__(self, other: int) -> Size:
        return self * -1 + other

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols that it depends on."""
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                found |= {atom} if isinstance(atom, str) else atom.top.symbols
        return frozenset(found)

    def bind(self, known: Mapping[str, Size]) -> Size:
        """The same with a size in place of some symbols."""
        if self.symbols.isdisjoint(known):
            return self
        total: Size = 0
        for monomial, coefficient in self.terms:
            factors: list[Size] = [coefficient]
            for atom in monomial:
                if isinstance(atom, str):
                    factors.append(known[atom] if atom in known else symbol(atom))
                else:
                    factors.append(cut(atom.top.bind(known), atom.bottom))
            total = product(factors) + total
        return total

    def __str__(self) -> str:
        text = ""
        for monomial, coefficient in self.terms:
            sign = " - " if coefficient < 0 else " + "
            shown = [] if abs(coefficient) == 1 and monomial else [str(abs(coefficient))]
            shown += map(str, monomial)
            text += sign + "*".join(shown)
        return text.removeprefix(" + ") if text.startswith(" + ") else "-" + text.removeprefix(" - ")


Size = int | Formula


def symbol(name: str) -> Formula:
    """A size that is known by its name only."""
    return Formula((((name,), 1),))


def of_product(size: int | Product) -> Size:
    """A product of symbols as a formula."""
    return size if isinstance(size, int) else _sum([(_sorted(size.symbols), size.coefficient)])


def product(sizes: Iterable[Size]) -> Size:
    """The product of sizes."""
    return reduce(mul, sizes, 1)


def cut(top: Size, bottom: int) -> Size:
    """The quotient, rounded down.

    >>> H = symbol("H")
    >>> str(cut(cut(H - 1, 2) + 1 - 1, 2) + 1)
    'floor((H + 3)/4)'
    >>> str(cut(4 * H + 3, 2))
    '2*H + 1'
    """
    if isinstance(top, int):
        return top // bottom
    whole = _sum([(monomial, coefficient // bottom) for monomial, coefficient in top.terms])
    rest = _sum([(monomial, coefficient % bottom) for monomial, coefficient in top.terms])
    if isinstance(rest, int):
        return whole  # less than one
    number = sum(coefficient for monomial, coefficient in rest.terms if not monomial)
    part = [(monomial, coefficient) for monomial, coefficient in rest.terms if monomial]
    common = gcd(bottom, *(coefficient for _, coefficient in part))
    bottom //= common
    inner = _sum([*((monomial, coefficient // common) for monomial, coefficient in part), ((), number // common)])
    if common > 1:
        return cut(inner, bottom) + whole
    if len(part) == 1 and part[0][1] == 1 and len(part[0][0]) == 1 and isinstance(part[0][0][0], Floor):
        below = part[0][0][0]
        return cut(below.top + number * below.bottom, bottom * below.bottom) + whole
    return Formula((((Floor(inner, bottom),), 1),)) + whole if isinstance(inner, Formula) else inner // bottom + whole


def exact(top: Size, bottom: Size) -> Size | None:
    """The quotient where it is exact whatever the symbols are, None where that is not so."""
    if top == bottom:
        return 1
    if isinstance(bottom, int):
        if bottom == 0 or any(coefficient % bottom for _, coefficient in _terms(top)):
            return None
        return _sum([(monomial, coefficient // bottom) for monomial, coefficient in _terms(top)])
    found = [_without(term, bottom.terms[0]) for term in _terms(top)] if len(bottom.terms) == 1 else [None]
    kept = [term for term in found if term is not None]
    return _sum(kept) if len(kept) == len(found) else None


def _without(term: tuple[Monomial, int], divisor: tuple[Monomial, int]) -> tuple[Monomial, int] | None:
    """One term divided by another, if that is possible."""
    left = list(term[0])
    for atom in divisor[0]:
        if atom not in left:
            return None
        left.remove(atom)
    return None if term[1] % divisor[1] else (tuple(left), term[1] // divisor[1])


def depends(size: Size | None, names: Iterable[str]) -> bool:
    """Whether a size depends on one of the symbols."""
    return isinstance(size, Formula) and not size.symbols.isdisjoint(names)


def _terms(size: Size) -> tuple[tuple[Monomial, int], ...]:
    return size.terms if isinstance(size, Formula) else (((), size),) if size else ()


def _sum(terms: Iterable[tuple[Monomial, int]]) -> Size:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = [(monomial, coefficient) for monomial, coefficient in total.items() if coefficient]
    if not kept or (len(kept) == 1 and not kept[0][0]):
        return kept[0][1] if kept else 0
    if len(kept) > MOST_TERMS or any(abs(coefficient) > _LARGEST for _, coefficient in kept):
        raise TooLongError
    if any(sum(map(_weight, monomial)) > MOST_ATOMS for monomial, _ in kept):
        raise TooLongError
    if len(kept) > 1:
        kept.sort(key=lambda term: (-len(term[0]), [str(atom) for atom in term[0]]))
    return Formula(tuple(kept))


def _sorted(monomial: Monomial) -> Monomial:
    return tuple(sorted(monomial, key=str)) if len(monomial) > 1 else monomial


def _weight(atom: Atom) -> int:
    """How many names are in an atom."""
    return 1 if isinstance(atom, str) else atom.weight
