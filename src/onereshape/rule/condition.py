"""Condition: what must hold for an answer to be right, as data, and as the sentence that says it.

A Condition is its sentence: it compares, hashes, prints and serialises as that.  What it is made of is beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, Self

from onereshape.rule.dims import Product, parse

ConditionKind = Literal["equal", "least", "most", "divisible", "among", "rank", "fits", "agrees", "default"]

SENTENCES: dict[ConditionKind, str] = {
    "equal": "%s = %s",
    "least": "%s >= %s",
    "most": "%s <= %s",
    "divisible": "%s is divisible by %s",
    "among": "%s = %s",
    "rank": "rank(data) >= %s",
    "fits": "the entries known only at run time fit",
    "agrees": "data and output have the same number of elements",
    "default": "the input %s has its default value",
}
"""The sentence of each kind of condition, with places for its sides."""

_NEVER_EMPTY = SENTENCES["least"] % ("", 1)


class OneOf(tuple[int, ...]):
    """The values that an entry known only at run time may have."""

    __slots__ = ()

    def __str__(self) -> str:
        return " or ".join(map(str, self))


class Written(Product):
    """A product whose symbols are texts of another notation, parentheses and all: `2*(past + 1)`."""

    __slots__ = ()

    def factors(self) -> str:
        """The product as a part of a larger formula."""
        several = self.coefficient != 1 or not self.symbols
        return "*".join((str(self.coefficient), *self.symbols) if several else self.symbols)


Side = Product | OneOf | int | str


class Condition(str):
    """A sentence that knows what it says; it never changes.

    >>> found = Condition("equal", Product(2, ("M", "N")), 12)
    >>> found, sorted(found.names), found.forces
    ('2*M*N = 12', ['M', 'N'], (Product(coefficient=2, symbols=('M', 'N')), 12))
    >>> found == "2*M*N = 12"
    True
    """

    __slots__ = ("kind", "sides")

    kind: ConditionKind
    sides: tuple[Side, ...]
    """What stands in the places of the sentence."""

    def __new__(cls, kind: ConditionKind, *sides: Side) -> Self:
        self = str.__new__(cls, SENTENCES[kind] % sides)
        _set_kind(self, kind)
        _set_sides(self, sides)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Condition never changes: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Condition never changes: {name} cannot be deleted")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.kind, *self.sides)

    @property
    def names(self) -> frozenset[str]:
        """The symbols of the condition: `2*M*N = 12 -> {M, N}`."""
        found: set[str] = set()
        for side in self.sides:
            if isinstance(side, Written):
                found.update(name for symbol in side.symbols for name in parse(symbol).symbols)
            elif isinstance(side, Product):
                found.update(side.symbols)
        return frozenset(found)

    @property
    def forces(self) -> tuple[Product, int] | None:
        """A product that must be one number, and the number."""
        if self.kind == "equal":
            left, right = self.sides
            if isinstance(left, Product) and isinstance(right, int):
                return left, right
        return None

    @property
    def never_empty(self) -> str | None:
        """The symbol of a condition such as `N >= 1`; None for any other condition."""
        if self.kind == "least" and self.sides[1] == 1:
            left, names = self.sides[0], self.names
            if isinstance(left, Product) and left.coefficient == len(left.symbols) == len(names) == 1:
                return min(names)
        return None

    def renamed(self, called: Callable[[str], str]) -> Condition:
        """The condition with other names for its symbols: `called` gives each as it stands in a formula.

        >>> Condition("most", Product(2, ("_.0",)), 8).renamed({"_.0": "(past + 1)"}.__getitem__)
        '2*(past + 1) <= 8'
        """
        sides = [
            Written(side.coefficient, tuple(map(called, side.symbols))) if isinstance(side, Product) else side
            for side in self.sides
        ]
        return Condition(self.kind, *sides)


# The slots themselves, which a Condition of its own accord does not write to again.
_set_kind = Condition.kind.__set__  # type: ignore[union-attr]
_set_sides = Condition.sides.__set__  # type: ignore[attr-defined]


class Clause(NamedTuple):
    """What must hold of sizes, as a sentence of whatever form, and as a question."""

    text: str
    names: frozenset[str]
    """The symbols of the sizes that it speaks of."""
    holds: Callable[[Mapping[str, int]], bool]
    """Whether the clause holds at sizes of these symbols."""

    def excludes(self, sizes: Mapping[str, int]) -> bool:
        """Whether it is known not to hold at given sizes."""
        return self.names <= sizes.keys() and not self.holds(sizes)


def equals(name: str, value: int) -> Condition:
    """A symbol has this value."""
    return Condition("equal", Product(1, (name,)), value)


@lru_cache(maxsize=1024)
def at_least(name: str, least: int) -> Condition:
    """A symbol is no smaller."""
    return Condition("least", Product(1, (name,)), least)


def never_empty(conditions: Iterable[str]) -> frozenset[str]:
    """The names that conditions say to be at least 1; of a user's sentence, all that stands before.

    >>> sorted(never_empty([at_least("N", 1), at_least("S", 2), "past + 1 >= 1", "M = 1"]))
    ['N', 'past + 1']
    """
    found = (each.never_empty if isinstance(each, Condition) else _stated(each) for each in conditions)
    return frozenset(name for name in found if name is not None)


def _stated(sentence: str) -> str | None:
    return sentence.removesuffix(_NEVER_EMPTY) if sentence.endswith(_NEVER_EMPTY) else None
