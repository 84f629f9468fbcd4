"""Which readings of open numbers are left once something must hold: that two sizes are equal, or that one is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from math import prod

from onereshape.models.like.columns import Number
from onereshape.models.like.formulas import Known
from onereshape.sizes import Formula, Size

_MOST_COMBINED = 256
"""Readings of several numbers that are tried together."""

Left = dict[str, list[Size]]
"""The readings that are left of each open number, by its name."""


def by_equal(known: Known, left: Left, one: Size, other: Size) -> set[str]:
    """Keeps the readings with which two sizes are equal, if there are any; the names of which that tells something.

    What holds with any reading of a number tells nothing of it.
    """
    return _narrow(known, left, (one, other), lambda sizes: known.equal(*sizes), _equal)


def by_whole(known: Known, left: Left, size: Size) -> set[str]:
    """The same of readings with which a size is a whole number."""
    return _narrow(known, left, (size,), lambda sizes: known.is_whole(*sizes), _whole)


def _equal(numbers: Sequence[Number]) -> bool:
    return numbers[0] == numbers[1]


def _whole(numbers: Sequence[Number]) -> bool:
    return numbers[0] is not None and numbers[0].denominator == 1


def _narrow(
    known: Known,
    left: Left,
    sizes: tuple[Size, ...],
    holds: Callable[[tuple[Size, ...]], bool],
    may: Callable[[Sequence[Number]], bool],
) -> set[str]:
    names = sorted({name for size in sizes if isinstance(size, Formula) for name in size.symbols if name in left})
    if not names or not 0 < prod(len(left[name]) for name in names) <= _MOST_COMBINED:
        return set()

    def fit(chosen: Iterable[Size]) -> bool:
        read: dict[str, Size] = dict(zip(names, chosen, strict=True))
        if not all(map(may, known.sampled(sizes, read))):
            return False  # as of most, before a formula is made of it
        return holds(tuple(size.bind(read) if isinstance(size, Formula) else size for size in sizes))

    fits = [chosen for chosen in product(*(left[name] for name in names)) if fit(chosen)]
    if not fits:
        return set()
    for place, name in enumerate(names):
        left[name] = [size for size in left[name] if any(each[place] is size for each in fits)]
    more = [fit(size + (at == place) for at, size in enumerate(fits[0])) for place in range(len(names))]
    return {name for name, other in zip(names, more, strict=True) if not other}  # what holds with any tells nothing
