"""Sizes to try a statement of Reshapes at: small numbers, and 0, where an entry copies instead of saying a size.

One size at a time is 0.  If two are, a target such as [N, 4, S, 4] succeeds with whatever it copies, by accident, and
nothing could be said of anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import lcm

from onereshape.rule.sizes import Formula, Size

_SIZES = (2, 3, 1)
_MOST_TOGETHER = 3
"""Names that take all their sizes with each other."""
_APART = (2, 3, 5, 7, 11, 13, 17, 19, 23)
"""Sizes of the others while one of many names varies."""


def samples_of(sizes: Iterable[Size]) -> Iterator[dict[str, int]]:
    """Sizes to try for all names, multiples of the divisors in the formulas: `N/4` gives N the sizes 8, 12, 4 and 0."""
    formulas = [size for size in sizes if isinstance(size, Formula)]
    step = lcm(*(coefficient.denominator for size in formulas for _, coefficient in size.terms))
    names = sorted(frozenset[str]().union(*(size.symbols for size in formulas)))
    for chosen in samples(names):
        yield {name: number * step for name, number in chosen.items()}


def number_of(size: Size, chosen: Mapping[str, int]) -> int | None:
    """What a size is; None where it is no integer, or a quotient by 0."""
    if isinstance(size, int):
        return size
    try:
        found = size.bind(chosen)
    except ZeroDivisionError:
        return None
    return found if isinstance(found, int) else None


def samples(names: Sequence[str]) -> Iterator[dict[str, int]]:
    """Sizes for all names; of many names one at a time is varied.

    >>> list(samples(["N"]))
    [{'N': 2}, {'N': 3}, {'N': 1}, {'N': 0}]
    """
    if len(names) <= _MOST_TOGETHER:
        full = [dict(zip(names, sizes, strict=True)) for sizes in product(_SIZES, repeat=len(names))]
    else:
        apart = {name: _APART[place % len(_APART)] for place, name in enumerate(names)}
        full = [apart, *({**apart, name: size} for name in names for size in _SIZES)]
    yield from full
    for name in names:
        seen = set()
        for sizes in full:
            others = tuple(size for other, size in sizes.items() if other != name)
            if others not in seen:
                seen.add(others)
                yield {**sizes, name: 0}
