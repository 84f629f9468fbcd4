"""Conditions: what must hold of the symbols of one question, as it is said and as the limits it leaves.

Each method asks for something: it adds the condition that says it, narrows the symbols, and raises `Never` if nothing
can satisfy it, or `Settled` if it leaves a symbol one value.
"""

from __future__ import annotations

from onereshape.rule.condition import Condition, at_least, equals
from onereshape.rule.dims import ANY_SIZE, UNBOUNDED, Product, Symbols, integer_root


class Never(Exception):  # noqa: N818 - a finding, which becomes an error only if 0 does not help
    """No sizes from 1 on can work."""


class Settled(Exception):  # noqa: N818 - a finding
    """A symbol has one possible value."""

    def __init__(self, name: str, value: int) -> None:
        super().__init__(name, value)
        self.name = name
        self.value = value


class Conditions:
    """The conditions of one question while it is answered."""

    __slots__ = ("given", "has_dims", "said", "symbols")

    def __init__(self, symbols: Symbols, *, has_dims: bool) -> None:
        self.given = symbols
        self.symbols = symbols
        """A copy once it is narrowed."""
        self.has_dims = has_dims
        """Whether data has dims to put the value of an unnamed symbol into."""
        self.said: list[Condition] = []

    def require(self, condition: Condition) -> None:
        """Adds a condition."""
        if condition not in self.said:
            self.said.append(condition)

    def limit(self, name: str, low: int, high: int) -> None:
        """Narrows a symbol."""
        if self.symbols is self.given:
            self.symbols = self.given.copy()
        self.symbols.limits[name] = (low, high)

    def equal(self, left: Product, right: Product, otherwise: str) -> None:
        """Asks that two products without a common factor are equal; settles a symbol that stands alone."""
        if not self.may_equal(left, right):
            raise Never(otherwise)
        if left[1] and right[1]:
            self.require(Condition("equal", left, right))
            return
        unknown, number = (left, right[0]) if left[1] else (right, left[0])
        names = set(unknown[1])
        root = integer_root(number, len(unknown[1])) if len(names) == 1 else number
        if root is None:
            raise Never(otherwise)
        if len(names) == 1:
            self.settle(unknown[1][0], root)
        else:
            self.require(Condition("equal", unknown, number))

    def vanish(self, product: Product) -> None:
        """Asks that a product is 0: a symbol alone that may be 0 is settled as 0."""
        names = [name for name in dict.fromkeys(product[1]) if self.symbols.of(name)[0] == 0]
        if not product[0]:
            return
        if not names:
            raise Never(f"{product} elements cannot be 0")
        if len(names) == 1:
            self.settle(names[0], 0)
        else:
            self.require(Condition("equal", Product(1, tuple(names)), 0))

    def settle(self, name: str, value: int) -> None:
        """Gives a symbol its value: the question is asked again, unless data has no dims to put it into."""
        if self.has_dims or name not in self.symbols.unnamed:
            raise Settled(name, value)
        self.require(equals(name, value))
        self.limit(name, value, value)

    def positive(self, product: Product) -> None:
        """Asks that every symbol of a product is at least 1."""
        if not product[1]:
            return
        for name in product[1]:
            low, high = self.symbols.limits.get(name, ANY_SIZE)
            if low < 1:
                if high < 1:
                    raise Never(f"{name} is 0")
                self.limit(name, 1, high)
                self.said.append(at_least(name, 1))

    def at_most(self, product: Product, most: int) -> None:
        """Asks that a product is no larger."""
        least, high = self.symbols.range(product)
        if least > most:
            raise Never(f"{product} is at least {least}, and int64 allows {most}")
        if high > most:
            self.require(Condition("most", product, most))
            if len(product[1]) == 1:
                self.limit(product[1][0], least, most)

    def may_equal(self, left: Product, right: Product) -> bool:
        """Whether two products without a common factor can be equal, as far as their limits and numbers say."""
        if not left[0]:  # the right side has no 0
            return False
        (low, high), (least, most) = self.symbols.range(left), self.symbols.range(right)
        divides = (right[1] or right[0] % left[0] == 0) and (left[1] or left[0] % right[0] == 0)
        return bool(divides) and high >= least and most >= low

    def divisible(self, top: Product, divisor: int) -> None:
        """Asks that `divisor` divides the symbols of a product; a symbol alone is narrowed to its multiples."""
        names = Product(1, top[1])
        if not names[1]:
            raise Never(f"{top[0]} does not divide by {divisor}")
        least, most = self.symbols.range(names)
        low = -(-least // divisor) * divisor
        high = most if most >= UNBOUNDED >= divisor else most // divisor * divisor
        if low > high:
            raise Never(f"no {names} from {least} to {most} divides by {divisor}")
        if len(names[1]) == 1:
            if low == high:
                self.settle(names[1][0], low)
            self.limit(names[1][0], low, high)
        self.require(Condition("divisible", names, divisor))

    def within(self, coefficient: int, name: str, least: int, most: int) -> None:
        """Limits a symbol so that `coefficient` times the symbol lies between two sizes."""
        low, high = self.symbols.of(name)
        smallest = max(low, -(-least // coefficient))
        largest = high if most >= UNBOUNDED else min(high, most // coefficient)
        if smallest > largest:
            raise Never(f"{name} would have to be at least {smallest} and at most {largest}")
        if smallest == largest and low < high:
            self.settle(name, smallest)
        if smallest > low:
            self.require(at_least(name, smallest))
        if largest < high:
            self.require(Condition("most", Product(1, (name,)), largest))
        self.limit(name, smallest, largest)
