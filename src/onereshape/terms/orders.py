"""Orders: a sort of all samples, taken to find one order after the other.

Which sample a sort puts where depends on data, so a term of what follows would be one of all samples.  But it is some
order in every run: what is proven under each of them is proven.  Sorts of the same terms find the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, permutations
from math import factorial
from typing import Final, TypeVar

from onereshape.terms.refusal import NotProven

_MOST: Final = 64
"""Combinations of orders that are gone through."""

Order = tuple[int, ...]
_T = TypeVar("_T")


@dataclass(slots=True)
class Orders:
    """The orders that the sorts of one run are taken to find."""

    samples: int
    """How many samples there are; sorts of fewer or more elements stay terms."""
    taken: dict[int, int]
    """The number of an order among all permutations, by the word of what is sorted."""
    met: dict[int, int] = field(default_factory=dict)
    """The numbers of the orders of all sorts that were met, in turn."""

    def of(self, word: int, length: int) -> Order | None:
        """The order of a sort, None where it is no sort of samples."""
        if length != self.samples:
            return None
        place = self.met.setdefault(word, self.taken.get(word, 0))
        return next(islice(permutations(range(length)), place, None))


def each_order(samples: int, run: Callable[[Orders], _T]) -> Iterator[_T]:
    """The answers of a run under every combination of orders; NotProven where there are too many combinations."""
    taken: dict[int, int] = {}
    most = factorial(samples)
    for _ in range(_MOST):
        orders = Orders(samples, taken)
        yield run(orders)
        left = [*orders.met.items()]
        while left and left[-1][1] + 1 == most:
            left.pop()
        if not left:
            return
        word, place = left.pop()
        taken = {**dict(left), word: place + 1}
    raise NotProven(f"samples are sorted, and there are more than {_MOST} orders to go through")
