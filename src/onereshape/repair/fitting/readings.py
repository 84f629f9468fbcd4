"""derived(): the formulas of known sizes that give certain numbers in the exports, and what speaks for them.

A formula with as many numbers of its own as there are exports fits whatever they have, and proves nothing: `2*S - 7` of
two exports.  It is listed all the same where it is common, as a rival: what it might be instead is not known then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from itertools import combinations
from math import gcd
from typing import NamedTuple

from onereshape.repair.fitting.exported import Numbers
from onereshape.rule.sizes import Formula, Size, TooLongError, ceiling, cut, smallest

Base = tuple[Size, Numbers]

MULTIPLES = (2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 48, 64, 128)
"""Numbers of which models make multiples."""
_NEAR = 2
"""What is often added to a size;"""
_FAR = 8
"""more than that is believed of sizes that are so far apart: of sizes side by side, too much grows with them."""
_APART = 6
"""How far numbers must be apart that prove a quotient with a start."""
_MOST_DIVISOR = 64
_MOST_DENOMINATOR = 10
_MOST_BELOW = 32
"""Of what is exactly a part of a size."""
_ROUND = 10
"""Numbers of which multiples are common ends."""
_ROUNDED = 4
"""What it costs to be a part of a size, or to end at a round number, where that is exact: no more than a multiple."""


class Reading(NamedTuple):
    """A formula that fits numbers, and its cost: how complicated it is."""

    size: Size
    cost: int
    proves: bool = True
    """Whether the exports have more numbers than the formula has."""

    def read(self) -> Reading:
        """The reading itself, as `Candidate.read` makes one."""
        return self


class Candidate(NamedTuple):
    """A reading whose formula is made when it is read: most are more complicated than another, and never are."""

    make: Callable[[], Size]
    cost: int
    proves: bool = True

    def read(self) -> Reading:
        """The reading, with its formula made."""
        return Reading(self.make(), self.cost, self.proves)


def derived(bases: Sequence[Base], values: Numbers, numbers: Collection[Numbers] = ()) -> Iterator[Candidate]:
    """The formulas of known sizes with given values, `(24, 46) -> 2*S`; the model's `numbers` tell what is likely."""
    few = len(values) < 3
    for size, own in bases:
        yield from _lines(size, own, values, few=few)
        yield from _quotients(size, own, values, few=few)
        yield from _multiples(size, own, values, numbers)
        yield from _parts(size, own, values)
        yield from _proportions(size, own, values)
        yield from _limited(size, own, values, bases, few=few)
    for one, other in combinations(bases, 2):
        yield from _pairs(one, other, values)
    for size, own in bases:
        yield from _products((size, own), (size, own), values)
        for less in (-1, 1):
            if values == tuple(number * (number + less) // 2 for number in own):
                yield Candidate(partial(_triangle, size, less), 3)


def _triangle(size: Size, less: int) -> Size:
    return cut(size * (size + less), 2)


def _lines(size: Size, own: Numbers, values: Numbers, *, few: bool) -> Iterator[Candidate]:
    line = _line(own, values)
    if line is not None:
        slope, start = line
        cost = 1 + _bits(abs(slope) - 1) + 2 * (slope < 0) + _start(start)
        near = abs(start) <= _NEAR or max(own) - min(own) >= _FAR
        usual = (slope == 1 and near) or start == 0 or (slope == 2 and abs(start) == 1)
        yield Candidate(lambda: size * slope + start, cost, usual or not few)


def _quotients(size: Size, own: Numbers, values: Numbers, *, few: bool) -> Iterator[Candidate]:
    """Quotients rounded down, up, and to the nearest, plus a number."""
    (number, *numbers), (value, *others) = own, values
    rest = list(zip(numbers, others, strict=True))
    for divisor in _divisors(own, values):
        for top in (0, divisor - 1, divisor // 2) if divisor > 2 else (0, 1):
            start = value - (number + top) // divisor
            for each, wanted in rest:
                if wanted - (each + top) // divisor != start:
                    break
            else:
                cost = 2 + _bits(divisor - 1) + _start(start)
                nearest = top not in (0, divisor - 1)
                # A start of its own takes one more number, and small ones are soon met by chance.
                enough = start == 0 or (not few and len({*values}) > 2 and max(values) - min(values) >= _APART)
                yield Candidate(partial(_quotient, size, top, divisor, start), cost, not nearest and enough)


def _quotient(size: Size, top: int, divisor: int, start: int) -> Size:
    return cut(size + top, divisor) + start


def _divisors(own: Numbers, values: Numbers) -> range:
    """The divisors that leave sizes about as far apart as the values are."""
    far, near = max(range(len(own)), key=own.__getitem__), min(range(len(own)), key=own.__getitem__)
    apart, wanted = own[far] - own[near], values[far] - values[near]
    if wanted < 0:
        return range(0)
    most = apart // (wanted - 1) + 1 if wanted > 1 else _MOST_DIVISOR
    return range(max(2, apart // (wanted + 1)), min(_MOST_DIVISOR, most) + 1)


def _multiples(size: Size, own: Numbers, values: Numbers, numbers: Collection[Numbers]) -> Iterator[Candidate]:
    """Multiples of a number below and above, and how far they are: the rest of a division.

    Of several numbers of which these are multiples, the smallest is no more likely than the others.
    """
    number, value = own[0], values[0]
    costs: dict[str, int] = {}
    for divisor in MULTIPLES:
        below, above = number // divisor * divisor, -(-number // divisor) * divisor
        if value not in (below, above, number - below, above - number, above - divisor):
            continue  # as most
        down = tuple([number // divisor * divisor for number in own])
        up = tuple([-(-number // divisor) * divisor for number in own])
        cost = 2 + _bits(divisor - 1)
        several = sorted(values)[-2] >= 2 * divisor  # one of it is a number, and tells nothing
        if values == up:  # or the next power of two, which no formula of ours is
            powers = all(value == 1 << (number - 1).bit_length() for value, number in zip(values, own, strict=True))
            least = costs.setdefault("up", cost)
            yield Candidate(partial(_multiple, ceiling, size, divisor), least, several and not powers)
        if values == down:
            yield Candidate(partial(_multiple, cut, size, divisor), costs.setdefault("down", cost), several)
        if own != up in numbers and values == tuple([number - divisor for number in up]):  # where the last one begins
            yield Candidate(partial(_last, size, divisor), cost + 1, several and len(values) > 2)
        if values == tuple([-number % divisor for number in own]):
            yield Candidate(partial(_missing, size, divisor), cost + 1, proves=False)
        if values == tuple([number % divisor for number in own]):
            yield Candidate(partial(_rest, size, divisor), cost + 1, proves=False)


def _multiple(part: Callable[[Size, int], Size], size: Size, divisor: int) -> Size:
    return part(size, divisor) * divisor


def _last(size: Size, divisor: int) -> Size:
    return ceiling(size, divisor) * divisor - divisor


def _missing(size: Size, divisor: int) -> Size:
    return ceiling(size, divisor) * divisor - size


def _rest(size: Size, divisor: int) -> Size:
    return size - cut(size, divisor) * divisor


def _parts(size: Size, own: Numbers, values: Numbers) -> Iterator[Candidate]:
    """Some tenths of a size, some sevenths: what an exporter has calculated from a ratio."""
    largest, value = max(zip(own, values, strict=True))
    for below in range(3, _MOST_DENOMINATOR + 1):
        least, most = 2, 3 * below - 1
        if largest > 0:  # what gives that value of the largest
            least = max(least, -(-(value * below - below + 1) // largest))
            most = min(most, (value * below + below - 1) // largest)
        for above in range(least, most + 1):
            for top in (0, below - 1):
                if values == tuple([(above * number + top) // below for number in own]):
                    cost = 4 + _bits(above - 1) + _bits(below - 1)
                    yield Candidate(partial(_share, size, above, top, below), cost, proves=False)


def _proportions(size: Size, own: Numbers, values: Numbers) -> Iterator[Candidate]:
    """A part of a size, exactly in all exports: 14 and 21 of 16 and 24 are seven eighths, whatever else they are."""
    common = gcd(own[0], values[0])
    if not common:
        return
    above, below = values[0] // common, own[0] // common
    if above < 2 or not 2 < below <= _MOST_BELOW:
        return
    if all(value * below == number * above for value, number in zip(values, own, strict=True)):
        yield Candidate(partial(_share, size, above, 0, below), _ROUNDED, proves=False)


def _share(size: Size, above: int, top: int, below: int) -> Size:
    return cut(size * above + top, below)


def _limited(size: Size, own: Numbers, values: Numbers, bases: Sequence[Base], *, few: bool) -> Iterator[Candidate]:
    """The size itself, but not more than a number: of two exports, one has the size, and the other that number.

    Then it must be one at which windows commonly end.  What is the smaller one of two sizes ends at no number.
    """
    most = max(values)
    if most < max(own) and all(value == min(number, most) for value, number in zip(values, own, strict=True)):
        if any(values == tuple(map(min, own, other)) for _, other in bases):
            return
        common = not most % 8 or not most % _ROUND
        round_one = not most & (most - 1) or not most % _ROUND
        yield Candidate(lambda: smallest(size, most), _ROUNDED if round_one else 2 + _bits(most), common or not few)


def _pairs(one: Base, other: Base, values: Numbers) -> Iterator[Candidate]:
    (first, left), (second, right) = one, other
    if values[0] == left[0] + right[0] and values == tuple(a + b for a, b in zip(left, right, strict=True)):
        yield Candidate(lambda: first + second, 2)
    if values[0] == left[0] - right[0] and values == _less(left, right):
        yield Candidate(lambda: first - second, 3)
    if values[0] == right[0] - left[0] and values == _less(right, left):
        yield Candidate(lambda: second - first, 3)
    if isinstance(first, Formula) and isinstance(second, Formula) and None not in (first.name, second.name):
        yield from _beside(one, other, values)
    yield from _products(one, other, values)


def _beside(one: Base, other: Base, values: Numbers) -> Iterator[Candidate]:
    """Sums and differences of two free sizes, and 1 more or less: a mask of S queries, the last ones of T keys."""
    (first, left), (second, right) = one, other
    for more in (-1, 1):
        if values == tuple(a + b + more for a, b in zip(left, right, strict=True)):
            yield Candidate(partial(_line_of, first, 1, second, more), 3)
        for sign in (-1, 1):
            if values == tuple(sign * (a - b) + more for a, b in zip(left, right, strict=True)):
                yield Candidate(partial(_line_of, first * sign, -sign, second, more), 4)


def _line_of(first: Size, times: int, second: Size, more: int) -> Size:
    return first + second * times + more


def _products(one: Base, other: Base, values: Numbers) -> Iterator[Candidate]:
    """Products, times a number or plus a number."""
    (first, left), (second, right) = one, other
    apart = left[-1] * right[-1] - left[0] * right[0]
    if apart and (values[-1] - values[0]) % apart:
        return  # on no line, as most
    line = _line(tuple(a * b for a, b in zip(left, right, strict=True)), values)
    if line is not None and (line[0] == 1 or line[1] == 0):
        size = _tried(lambda: first * second * line[0] + line[1])
        if size is not None:
            cost = 2 + _bits(abs(line[0]) - 1) + 2 * (line[0] < 0) + _start(line[1])
            yield Candidate(lambda: size, cost)


def _tried(make: Callable[[], Size]) -> Size | None:
    try:
        return make()
    except TooLongError:
        return None


def _line(own: Numbers, values: Numbers) -> tuple[int, int] | None:
    """The slope and the start of the line that takes these sizes to those values, of whole numbers."""
    x, y = own[0], values[0]
    other = next(((a, b) for a, b in zip(own, values, strict=True) if a != x), None)
    if other is None:
        return None
    slope, rest = divmod(other[1] - y, other[0] - x)
    start = y - slope * x
    if rest or not slope or any(slope * a + start != b for a, b in zip(own, values, strict=True)):
        return None
    return slope, start


def _less(one: Numbers, other: Numbers) -> Numbers:
    return tuple(a - b for a, b in zip(one, other, strict=True))


def _start(number: int) -> int:
    """What adding a number costs: 1 is often added, and nothing else."""
    return abs(number) if abs(number) <= 1 else 2 + _bits(number)


def _bits(number: int) -> int:
    return abs(number).bit_length()
