"""Which readings of open numbers are left once something must hold: that two sizes are equal, or that one is whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, product
from math import prod

from onereshape.repair.fitting.columns import Column
from onereshape.repair.fitting.formulas import Known
from onereshape.rule.sizes import Formula, Size

_MOST_COMBINED = 256
"""Readings of several numbers that are tried together."""

Holds = Callable[[Sequence[Column]], bool]
"""Whether something holds of sizes, by their numbers at samples."""
Left = dict[str, list[Size]]
"""The readings that are left of each open number, by its name."""
Narrowed = dict[object, tuple[list[tuple[Size, ...]], set[str]]]
"""Which readings fit together, and what they tell: the same is asked again after each number that is told."""


def by_equal(known: Known, left: Left, one: Size, other: Size, seen: Narrowed) -> set[str]:
    """Keeps the readings of open numbers that make two sizes equal, if any do; the names of numbers that this tells.

    What holds with any reading of a number tells nothing of it.
    """
    return _narrow(known, left, (one, other), _equal, seen)


def by_whole(known: Known, left: Left, size: Size, seen: Narrowed) -> set[str]:
    """Keeps the readings of open numbers that make a size whole, if any do; the names of numbers that this tells."""
    return _narrow(known, left, (size,), _whole, seen)


def _equal(columns: Sequence[Column]) -> bool:
    return columns[0] == columns[1]


def _whole(columns: Sequence[Column]) -> bool:
    return all(number is not None and number.denominator == 1 for number in columns[0])


def _narrow(known: Known, left: Left, sizes: tuple[Size, ...], holds: Holds, seen: Narrowed) -> set[str]:
    names = sorted({name for size in sizes if isinstance(size, Formula) for name in size.symbols if name in left})
    if not names or not 0 < prod(len(left[name]) for name in names) <= _MOST_COMBINED:
        return set()
    readings = [tuple(left[name]) for name in names]
    if known.are_cut((*sizes, *chain(*readings))):  # then its ends are noted, by each walk for itself
        return _kept(left, names, *_fits(known, left, sizes, names, holds))
    key = (holds, sizes, *readings, *known.steps.items())
    if key not in seen:
        seen[key] = _fits(known, left, sizes, names, holds)
    return _kept(left, names, *seen[key])


def _kept(left: Left, names: Sequence[str], fits: Sequence[tuple[Size, ...]], told: set[str]) -> set[str]:
    """Keeps the readings that fit, if there are any."""
    for place, name in enumerate(names if fits else ()):
        fitting = {each[place] for each in fits}
        left[name] = [size for size in left[name] if size in fitting]
    return told


def _fits(
    known: Known, left: Left, sizes: tuple[Size, ...], names: Sequence[str], holds: Holds
) -> tuple[list[tuple[Size, ...]], set[str]]:
    """The readings of several numbers with which something holds, and the numbers that this tells something of."""

    def fit(chosen: Iterable[Size]) -> bool:
        read: dict[str, Size] = dict(zip(names, chosen, strict=True))
        found = known.at_samples(sizes, read, holds)
        if found is not None:
            return found
        bound = [size.bind(read) if isinstance(size, Formula) else size for size in sizes]
        return known.equal(*bound) if len(bound) > 1 else known.is_whole(*bound)

    fits = [chosen for chosen in product(*(left[name] for name in names)) if fit(chosen)]
    if not fits:
        return [], set()
    # What holds of any number tells nothing of it: nor does that it is as large as another of which no more is known.
    first, kinds = fits[0], [left[name] for name in names]
    more = [fit(size + (each == kind) for size, each in zip(first, kinds, strict=True)) for kind in kinds]
    return fits, {name for name, other in zip(names, more, strict=True) if not other}
