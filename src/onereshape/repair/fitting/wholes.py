"""Real numbers that are whole in all exports: what integers would stand for in their place.

A 6.0 and a 12.0 may be half of a size, or a half that was rounded; only numbers that are not whole tell that nothing
was rounded.  So such numbers are read as integers are, by the same rules, and what these say is another reading.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import gcd, isfinite, pi

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Numbers, sizes_at
from onereshape.repair.fitting.formulas import Known
from onereshape.rule.sizes import Formula, Size, ceiling, cut, symbol

_SizeItems = tuple[tuple[str, int], ...]

_CLEAR = 0.25
"""How far a number may be off, as it is rounded, and still show whether it is whole."""
_SAME = 1e-4
"""How far a multiple may be off."""
_SMALL, _FRACTION = 16, 64
"""Whole numbers that are small, and parts of 1 that are large."""
ROUND = (1.0, 2.0, pi, 2 * pi, 0.5, *map(float, range(3, 11)), 16.0, 100.0, 1e3, 1e4, 0.1, 0.01, 64.0, 128.0, 255.0)
"""Numbers that sizes are commonly multiplied by, or divided, the plainest first."""
_PLAIN = (2, 0.5, pi, 2 * pi)
_ORDERED = sorted(ROUND)
_BIT = 2
"""Parts, and a bit less or more, are so much off at most."""
_MOST_PARTS = 64
"""Into which a size is divided."""
FREE = 4
"""How odd a number is that may be any: two exports, less this number, have one left to prove a reading."""


def whole(numbers: Array, eps: float) -> Numbers | None:
    """The whole numbers above 0 that these are, as they are rounded; None if one is none, or too large to tell."""
    found = numbers.reshape(-1).tolist()
    return tuple([round(number) for number in found]) if all(is_whole(float(each), eps) for each in found) else None


def is_whole(number: float, eps: float) -> bool:
    """Whether this is a whole number above 0, as it is rounded."""
    allowed = 2 * eps * abs(number)
    return isfinite(number) and number >= 0.5 and allowed <= _CLEAR and abs(number - round(number)) <= allowed


def oddness(number: float) -> int:
    """How uncommon it is to multiply by a number: 0 is not at all, `FREE` is by what is no round number."""
    size = abs(number)
    if not 0 < size < np.inf:
        return FREE
    if _near(size, 1):
        return 0
    if any(_near(size, each) for each in _PLAIN):
        return 1
    place = bisect(_ORDERED, size)
    if any(_near(size, each) for each in _ORDERED[max(place - 1, 0) : place + 1]) or any(
        rounded and rounded <= most and _near(each, rounded) for each, rounded, most in _parts(size)
    ):
        return 2
    return 3 if any(_near(each, float(f"{each:.2g}")) for each in (size, size / pi)) else FREE


def plainer(odd: int) -> list[float]:
    """The numbers that sizes are commonly multiplied by and that are less odd than that."""
    return [number for number, own in _ROUND_ODD if own < odd]


def as_plain(one: float, other: float) -> bool:
    """Whether it is as common to multiply by one number as by another, or more so: not by 2 where that is a half."""
    if _near(one, 1) or _near(other, 1):  # both may have been calculated from rounded numbers
        return _plainness(one) <= _plainness(other)
    return _plainness(one) <= _plainness(other) and (one > 1) == (other > 1)


def _plainness(number: float) -> tuple[int, int]:
    odd = oddness(number)
    return odd, min(_digits(number), _digits(number / pi)) if odd == FREE - 1 else 0


def _digits(number: float) -> int:
    """How many digits a number has that is no whole one, at most 3."""
    return next((digits for digits in (1, 2) if _near(number, float(f"{number:.{digits}g}"))), 3)


def parts_of(exported: Exported, size: Size) -> Iterator[int]:
    """Into how many parts a size is divided in all exports and need not be elsewhere."""
    values = sizes_at(size, exported.bindings)
    if values is None or not isinstance(size, Formula) or min(values) < 1:
        return
    known, most = _of(exported), gcd(*values)
    for many in range(2, min(most, _MOST_PARTS) + 1):
        if most % many == 0 and not known.divisible(size, many):
            yield many


def part_of(size: Size, many: int) -> tuple[Size, Size]:
    """One of so many parts of a size, rounded down and up."""
    return cut(size, many), ceiling(size, many)


def rounded_alike(exported: Exported, values: Numbers) -> Iterator[Size]:
    """The sizes, rounded down and up, of which numbers are one part and a bit more or less, if no rest tells which."""
    for name in exported.bindings[0]:
        sizes = [binding[name] for binding in exported.bindings]
        apart, wanted = max(sizes) - min(sizes), max(values) - min(values)
        many = apart // wanted if wanted else 1
        more = {many * value - size for value, size in zip(values, sizes, strict=True)}
        if many > 1 and len(more) == 1 and abs(min(more)) <= _BIT * many:
            size = symbol(name) + more.pop()
            yield from part_of(size, many)


def _parts(size: float) -> tuple[tuple[float, int, int], ...]:
    return (size, round(size), _SMALL), (1 / size, round(1 / size), _FRACTION)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= _SAME * abs(other)


_ROUND_ODD = [(number, oddness(number)) for number in ROUND]


def integers(exported: Exported, values: Numbers, *, proven: bool = False) -> list[Size]:
    """The sizes that integers of these values may be in the same exports, the simplest first; of proven ones only."""
    found = [reading for reading in _of(exported).readings(values) if isinstance(reading.size, Formula)]
    return [reading.size for reading in found if reading.proves or not proven]


def tensors(exported: Exported, values: Numbers) -> list[Size]:
    """The sizes of tensors that have these values in the exports."""
    return _of(exported).exactly(values)


def _of(exported: Exported) -> Known:
    items = tuple(tuple(sorted(binding.items())) for binding in exported.bindings)
    return _known(items, exported.known, tuple(sorted(exported.steps.items())))


@lru_cache(maxsize=8)
def _known(items: Sequence[_SizeItems], sizes: tuple[Size, ...], steps: _SizeItems) -> Known:
    """The known sizes of some exports; those of one model are asked for again and again."""
    bindings: list[Binding] = [dict(each) for each in items]
    known = Known(bindings, dict(steps))
    for size in sizes:
        known.add(size)
    return known
