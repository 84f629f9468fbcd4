"""Dims that may be unknown: a number, a product of symbols, or an interval.

In and out they are written as an int, `None`, a string (`"N"`, `"2*N*S"`; any other expression is one opaque symbol) or
a pair `(low, high)` with `high` None for unbounded.  Inside, a dim is an int or a `Product` over symbols; an unknown
dim or an interval is a product of one symbol that has no name of the user's, only limits.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from math import gcd
from typing import Any, NamedTuple

from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.ground.integers import exact

Dim = int | None | str | tuple[int, int | None]
MaybeDims = tuple[Dim, ...] | None
"""The dims of a tensor, None where not even their number is known."""
GivenDim = Dim | list[int | None]
"""A dim that is given: also a pair as JSON has it."""

UNBOUNDED = INT64_MAX
"""As the high end of an interval: no limit other than int64's."""

ANY_SIZE = (0, UNBOUNDED)

_FACTOR = re.compile(r"\s*(?:(\d+)|([A-Za-z_][\w.]*|\(.*\)))\s*(?:\*\*\s*(\d+)\s*)?", re.DOTALL)
_MOST_DIGITS = 40
"""Of a coefficient: beyond int64, and short enough to calculate with."""
_LONGEST = 4096
"""Characters of a text that is read as a product; a longer one is one opaque symbol."""

_OURS = re.compile(r"(data|target)\[\d+\]|(size|rank)\(data\).*")
_ATOM = re.compile(r"[A-Za-z_][\w.]*|(data|target)\[\d+\]|size\(data\).*")


class Product(NamedTuple):
    """A coefficient times symbols, sorted and repeated for powers; two equal dims have equal products."""

    coefficient: int
    symbols: tuple[str, ...] = ()

    def at(self, symbol: str, value: int) -> Size:
        """The product with a value in place of a symbol: `2*N*S` at N = 3 is `6*S`; a number if no symbol is left."""
        left = tuple(other for other in self.symbols if other != symbol)
        coefficient = self.coefficient * value ** (len(self.symbols) - len(left))
        return Product(coefficient, left) if left and coefficient else coefficient

    def __str__(self) -> str:
        return self.symbols[0] if self.coefficient == 1 and len(self.symbols) == 1 else self.factors()

    def factors(self) -> str:
        """The product as a part of a larger formula: an opaque symbol in parentheses."""
        factors = [*map(_factor, self[1])]
        if self.coefficient != 1 or not factors:
            factors.insert(0, str(self.coefficient))
        return "*".join(factors)


@lru_cache(maxsize=1024)
def _factor(symbol: str) -> str:
    return symbol if _ATOM.fullmatch(symbol) else f"({symbol})"


Size = int | Product
"""A dim of which a formula is known."""

ONE = Product(1)
_NOTHING = Product(0)
_new = tuple.__new__  # a third of the time that the class takes, where many are made


@lru_cache(maxsize=1024)
def is_ours(name: str) -> bool:
    """Whether a symbol is one that we named, as no user can.

    >>> is_ours("data[0]"), is_ours("data[0] + 1"), is_ours("_0")
    (True, False, False)
    """
    return _OURS.fullmatch(name) is not None


@cache
def place_of(axis: int) -> Product:
    """A dim of data that has no name: its place."""
    return Product(1, (f"data[{axis}]",))


def parse(text: str) -> Product:
    """A product of integers and names; anything else is one opaque symbol, alone or in parentheses.

    >>> parse("2*S*N")
    Product(coefficient=2, symbols=('N', 'S'))
    >>> parse("past + 1").symbols, parse("2*(past + 1)").symbols, parse("N**999").symbols
    (('past + 1',), ('past + 1',), ('N**999',))
    """
    if len(text) > _LONGEST:
        if text.strip().isdecimal():
            raise OverflowError
        return Product(1, (" ".join(text.split()),))
    try:
        return parse_small(text)
    except OverflowError:
        return Product(1, (" ".join(text.split()),))


def parse_small(text: str) -> Product:
    """The product that a text means, as `parse` gives it; an OverflowError for numbers of many digits."""
    coefficient, symbols = 1, Counter[str]()
    for factor in _split(text):
        found = _FACTOR.fullmatch(factor)
        if found is None or (found[2] and not _one_group(found[2])):
            return Product(1, (" ".join(text.split()),))
        number, name, power = found.groups()
        if len(number or "") > _MOST_DIGITS or len(power or "") > 2:
            raise OverflowError
        if number is not None:
            coefficient *= int(number) ** int(power or 1)
            if coefficient >= 10**_MOST_DIGITS:
                raise OverflowError
        else:
            symbols[" ".join(_bare(name).split())] += int(power or 1)
    return Product(coefficient, tuple(sorted(symbols.elements())) if coefficient else ())


def symbols_of(text: str) -> tuple[str, ...]:
    """The symbols that a text has as a product, and the whole text where its numbers are too large for one."""
    try:
        return parse(text).symbols
    except OverflowError:
        return (text,)


def as_name(text: str) -> str:
    """The notation of a dim that has this name, whatever product the name looks like.

    >>> as_name("N"), as_name("past + 1"), as_name("N*S"), as_name("2")
    ('N', 'past + 1', '(N*S)', '(2)')
    """
    try:
        product = parse(text)
    except OverflowError:
        return f"({text})"
    return text if product.coefficient == 1 and len(product.symbols) == 1 and "*" not in text else f"({text})"


def declared(text: str) -> str:
    """The notation of a dim that a model declares: one that reads as a number, or as numbers too large, is a name.

    >>> declared("N"), declared("2*N"), declared("2"), declared("N**999")
    ('N', '2*N', '(2)', '(N**999)')
    """
    try:
        return text if parse_small(text).symbols else f"({text})"
    except OverflowError:
        return f"({text})"


def _one_group(name: str) -> bool:
    """Whether the parenthesis that opens a name closes at its end: `(a) + (b)` is no factor."""
    depth = 0
    for position, sign in enumerate(name):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and name[0] == "(" and position < len(name) - 1:
            return False
    return depth == 0


def _bare(name: str) -> str:
    """A name without the parentheses around the whole of it."""
    if not name.startswith("("):
        return name
    opened: list[int] = []
    closes: dict[int, int] = {}
    for position, sign in enumerate(name):
        if sign == "(":
            opened.append(position)
        elif sign == ")" and opened:
            closes[opened.pop()] = position
    start, last = 0, len(name) - 1
    while closes.get(start) == last:
        start, last = start + 1, last - 1
        while start < last and name[start].isspace():
            start += 1
        while start < last and name[last].isspace():
            last -= 1
    return name[start : last + 1]


def _split(text: str) -> list[str]:
    """The text cut at each * that is not inside parentheses; ** is a power and no cut."""
    parts, depth, start = [], 0, 0
    for position, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if sign == "*" and depth == 0 and "*" not in (text[position - 1 : position], text[position + 1 : position + 2]):
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


class Quotient(NamedTuple):
    """A product over a product, with everything cancelled that can be."""

    top: Product
    bottom: Product

    def __str__(self) -> str:
        if self.bottom == ONE:
            return str(self.top)
        below = self.bottom.factors()
        several = bool(self.bottom.symbols) and (self.bottom.coefficient != 1 or len(self.bottom.symbols) > 1)
        return f"{self.top.factors()}/({below})" if several else f"{self.top.factors()}/{below}"


def multiply(sizes: Iterable[Size]) -> Product:
    """The product of sizes."""
    coefficient = 1
    symbols: list[str] = []
    for size in sizes:
        if type(size) is int:
            coefficient *= size
        else:
            coefficient *= size[0]  # type: ignore[index]
            symbols += size[1]  # type: ignore[index]
    if not coefficient:
        return _NOTHING
    if len(symbols) > 1:
        symbols.sort()
    return _new(Product, (coefficient, tuple(symbols)))


def divide(top: Product, bottom: Product) -> Quotient:
    """The quotient with common factors cancelled; the bottom is not 0."""
    number, divisor = top[0], bottom[0]
    if number == 0:
        return Quotient(_NOTHING, ONE)
    common = gcd(number, divisor)
    if not bottom[1]:
        over = _new(Product, (number // common, top[1]))
        return _new(Quotient, (over, ONE if divisor == common else Product(divisor // common)))
    left, under = list(top[1]), []
    for symbol in bottom[1]:
        if symbol in left:
            left.remove(symbol)
        else:
            under.append(symbol)
    above = _new(Product, (number // common, tuple(left)))
    return _new(Quotient, (above, _new(Product, (divisor // common, tuple(under)))))


class Symbols:
    """What is known of the symbols of one question: their limits, and which of them only we have named."""

    __slots__ = ("limits", "unnamed")

    def __init__(self) -> None:
        self.limits: dict[str, tuple[int, int]] = {}
        self.unnamed: set[str] = set()

    def copy(self) -> Symbols:
        """A copy that can be narrowed."""
        other = Symbols()
        other.limits = dict(self.limits)
        other.unnamed = self.unnamed
        return other

    def of(self, symbol: str) -> tuple[int, int]:
        """The limits of a symbol: a size, unless more is known."""
        return self.limits.get(symbol, ANY_SIZE)

    def range(self, product: Product) -> tuple[int, int]:
        """The limits of a product."""
        low = high = product[0]
        for symbol in product[1]:
            least, most = self.limits.get(symbol, ANY_SIZE)
            low *= least
            high = UNBOUNDED if most == UNBOUNDED and high else high * most
        return low, min(high, UNBOUNDED)

    def dim(self, size: Size) -> Dim:
        """A size in the notation of dims."""
        if isinstance(size, int):
            return size
        if self.unnamed and not self.unnamed.isdisjoint(size[1]):
            return interval(*self.range(size))
        return size[1][0] if len(size[1]) == 1 and size[0] == 1 else size.factors()

    def quotient_dim(self, quotient: Quotient, low: int, high: int) -> Dim:
        """A quotient within limits, in the notation of dims."""
        if low == high:
            return low
        if self.unnamed.isdisjoint(quotient[0][1]) and self.unnamed.isdisjoint(quotient[1][1]):
            return str(quotient)
        return interval(low, high)


def interval(low: int, high: int) -> Dim:
    """An interval in the notation of dims."""
    if low == high:
        return low
    if high >= UNBOUNDED:
        return None if low == 0 else (low, None)
    return (low, high)


class Interval(NamedTuple):
    """The limits of a dim; `high` may be `UNBOUNDED`."""

    low: int
    high: int


def read_dim(dim: Any, what: str, axis: int, least: int) -> Size | Interval:
    """One dim of the user's: an int, a product of symbols, or the limits of an interval, none below `least`."""
    if type(dim) is str:
        try:
            size = _parse_size(dim)
        except OverflowError:
            value = f"a number of {len(dim)} digits" if dim.isdecimal() else "a product of numbers that are too large"
            raise ReshapeError("overflow", what=f"{what}[{axis}]", value=value, limit=INT64_MAX) from None
        if size is None:
            raise _bad(dim, what, axis, "a name of its own")
        return size
    if dim is None:
        return _ANY if least == 0 else Interval(least, UNBOUNDED)
    if isinstance(dim, _PAIRS):
        return _read_pair(dim, what, axis, least)
    size = exact(dim)
    if size is None:
        raise _bad(dim, what, axis, _WANTED)
    return size


_ANY = Interval(*ANY_SIZE)
_PAIRS = (tuple, list)
_WANTED = "an integer, None, a name or a pair"


@lru_cache(maxsize=4096)
def _parse_size(text: str) -> Size | None:
    """None for the empty name, and for the names that conditions give to what has none."""
    product = parse_small(text)
    if any(not symbol or is_ours(symbol) for symbol in product[1]):
        return None
    return product if product[1] else product[0]


@lru_cache(maxsize=4096)
def named(text: str) -> tuple[int, tuple[str, ...], str] | None:
    """The coefficient and the symbols of a dim, and how it is written; None for a number, and for what is refused."""
    try:
        size = _parse_size(text)
    except OverflowError:
        return None
    return (*size, written(*size)) if isinstance(size, Product) else None


def written(coefficient: int, symbols: tuple[str, ...]) -> str:
    """A product in the notation of dims."""
    return symbols[0] if coefficient == 1 and len(symbols) == 1 else _new(Product, (coefficient, symbols)).factors()


def _read_pair(pair: Any, what: str, axis: int, least: int) -> int | Interval:
    low, high = pair if len(pair) == 2 else (None, None)
    if type(low) is not int or (type(high) is not int and high is not None):
        raise _bad(pair, what, axis, "a pair (low, high) of integers with low <= high, or high None")
    high = UNBOUNDED if high is None else high
    if low > high and pair[1] is not None:
        raise _bad(pair, what, axis, "a pair (low, high) of integers with low <= high, or high None")
    if high < least:
        raise _bad(pair, what, axis, f"a pair of sizes from {least} on")
    low, high = max(low, least), min(high, UNBOUNDED)
    return low if low >= high else _new(Interval, (low, high))  # beyond int64 it is refused as a number


def _bad(dim: Any, what: str, axis: int, wanted: str) -> ReshapeError:
    return ReshapeError("bad-dim", what=what, axis=axis, value=repr(dim), wanted=wanted)


def shown(dims: Iterable[Any]) -> tuple[Any, ...]:
    """Dims as a message prints them: `?` for unknown, `1..8` for an interval."""
    return tuple(show(dim) for dim in dims)


def show(dim: Any) -> Any:
    """A dim as a person reads it: `None -> ?`, `(2, 8) -> 2..8`, `(2, None) -> 2..`, a number or a name as it is."""
    if dim is None:
        return "?"
    if isinstance(dim, tuple | list) and len(dim) == 2:
        return f"{dim[0]}..{'' if dim[1] is None else dim[1]}"
    return dim


def integer_root(value: int, power: int) -> int | None:
    """The exact root of an integer, if it is one."""
    if power == 1 or value < 2:
        return value
    low, high = 1, 1 << (value.bit_length() // power + 1)
    while low < high:
        middle = (low + high) // 2
        if middle**power < value:
            low = middle + 1
        else:
            high = middle
    return low if low**power == value else None
