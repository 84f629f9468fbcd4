"""Alignment: where the factors of data go in the dims of a Reshape's output, read from their sizes in the original.

An axis is a tuple of factors in row-major order, so that a merged axis can be taken apart again.  Data and output are
cut where both have as many elements before; between two cuts, one output dim takes all, or the place of the symbols
decides.  Where a symbol must be split, there are several readings, and it is left to others to find the right one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product as combinations
from typing import NamedTuple

from onereshape.rule.sizes import Formula, Size, cut, exact, product

Axis = tuple[Size, ...]
"""The factors of one dim, the outermost first; a dim of size 1 has the factor 1."""

_MOST_READINGS = 16


class Alignment(NamedTuple):
    """One way to read a Reshape."""

    axes: tuple[Axis, ...]
    """The output dims."""
    conditions: tuple[tuple[Size, Size], ...] = ()
    """Sizes that must be equal for this to be right."""
    alone: bool = True
    """Whether there is no other way."""


def size_of(axis: Axis) -> Size:
    """The size of a dim."""
    return axis[0] if len(axis) == 1 else product(axis)


def axis_of(*factors: Size) -> Axis:
    """A dim of these factors."""
    return tuple(factor for factor in factors if factor != 1) or (1,)


class _Factor(NamedTuple):
    now: Size
    then: Size
    """Its size in the original."""
    moves: bool
    """Whether it depends on what is freed."""


def readings(
    data: Sequence[Axis], output: Sequence[Size], then: Callable[[Size], Size], inferred: int | None = None
) -> Iterator[Alignment]:
    """The ways to reshape data of these dims into an output that has these sizes in the original.

    `inferred` is the output dim that the words say takes the rest, which settles a split.
    """
    factors = [_Factor(each, then(each), then(each) != each) for axis in data for each in axis]
    if product(factor.then for factor in factors) != product(output):
        return
    parts = list(_cuts(factors, output))
    choices = [_ways(part, output, then, inferred) for part in parts]
    alone = all(len(ways) == 1 for ways in choices)
    for ways in islice(combinations(*choices), _MOST_READINGS):
        axes: dict[int, Axis] = {}
        conditions: list[tuple[Size, Size]] = []
        for way in ways:
            axes.update(way.axes)
            conditions += way.conditions
        yield Alignment(tuple(axes[place] for place in range(len(output))), tuple(conditions), alone)


class _DimPart(NamedTuple):
    factors: list[_Factor]
    places: list[int]
    """The output dims of the part."""


class _Splitting(NamedTuple):
    axes: dict[int, Axis]
    conditions: list[tuple[Size, Size]]


def _cuts(factors: Sequence[_Factor], output: Sequence[Size]) -> Iterator[_DimPart]:
    """The parts between two places with as many elements before; sizes of 1 at such a place are a part of their own."""
    ours = _prefixes([factor.then for factor in factors])
    theirs = _prefixes(output)
    common = [each for each in dict.fromkeys(ours) if each in set(theirs)]
    for number, here in enumerate(common):
        first, last = ours.index(here), _last(ours, here)
        start, end = theirs.index(here), _last(theirs, here)
        if last > first or end > start:
            yield _DimPart(list(factors[first:last]), list(range(start, end)))
        if number + 1 < len(common):
            there = common[number + 1]
            yield _DimPart(list(factors[last : ours.index(there)]), list(range(end, theirs.index(there))))


def _prefixes(sizes: Sequence[Size]) -> list[Size]:
    found: list[Size] = [1]
    for size in sizes:
        found.append(found[-1] * size)
    return found


def _last(sizes: Sequence[Size], size: Size) -> int:
    return len(sizes) - 1 - sizes[::-1].index(size)


def _ways(
    part: _DimPart, output: Sequence[Size], then: Callable[[Size], Size], inferred: int | None
) -> list[_Splitting]:
    """The ways to read one part."""
    moving = [place for place, factor in enumerate(part.factors) if factor.moves]
    literal: dict[int, Axis] = {place: (output[place],) for place in part.places}
    if not moving:
        return [_Splitting(literal, [])]
    if len(part.places) == 1:
        return [_Splitting({part.places[0]: axis_of(*(factor.now for factor in part.factors))}, [])]
    if all(factor.then == 1 for factor in part.factors):
        return _ones(part, literal, moving)
    if (whole := _whole(part, output, literal, moving)) is not None:
        return [whole]
    found = _exchanged(part, output)
    splits = [inferred] if inferred in part.places else part.places
    for place in splits:
        if (way := _split(part, output, literal, place, then)) is not None and way not in found:
            found.append(way)
    return found


def _ones(part: _DimPart, literal: dict[int, Axis], moving: Sequence[int]) -> list[_Splitting]:
    """Sizes of 1 in the original, of which some move: in order if there are as many places, else at any of them."""
    if len(part.factors) == len(part.places):
        pairs = zip(part.places, part.factors, strict=True)
        return [_Splitting({place: (factor.now,) for place, factor in pairs}, [])]
    if len(moving) != 1 or not part.places:
        return []
    (mover,) = moving
    return [_Splitting({**literal, place: (part.factors[mover].now,)}, []) for place in part.places]


def _whole(
    part: _DimPart, output: Sequence[Size], literal: dict[int, Axis], moving: Sequence[int]
) -> _Splitting | None:
    """The reading where one output dim takes all that moves: `(4, S, 6)` to `[2, 30, 2]` is `(2, 2*S*3, 2)`, S = 5."""
    first, last = moving[0], moving[-1]
    before = product(factor.then for factor in part.factors[:first])
    run = part.factors[first : last + 1]
    whole = [*(factor.then for factor in part.factors), *output]
    prefix: Size = 1
    for place in part.places:
        outer = exact(before, prefix, whole)
        inner = None if outer is None else exact(output[place], outer * product(each.then for each in run), whole)
        if outer is not None and inner is not None:
            return _Splitting({**literal, place: axis_of(outer, *(factor.now for factor in run), inner)}, [])
        prefix = prefix * output[place]
    return None


def _exchanged(part: _DimPart, output: Sequence[Size]) -> list[_Splitting]:
    """The reading where equal sizes are paired in another order: `(S, T)` to `[7, 5]` is `(T, S)` for S = 5, T = 7."""
    sizes = [factor.then for factor in part.factors]
    wanted = [output[place] for place in part.places]
    if len(set(sizes)) != len(sizes) or set(sizes) != set(wanted):
        return []
    return [_Splitting({place: (part.factors[sizes.index(output[place])].now,) for place in part.places}, [])]


def _split(
    part: _DimPart, output: Sequence[Size], literal: dict[int, Axis], place: int, then: Callable[[Size], Size]
) -> _Splitting | None:
    """The reading where the output dim at `place` is a quotient: `(S)` to `[3, 4]` is `(S // 4, 4)` for S = 12."""
    total = product(factor.now for factor in part.factors)
    others = product(output[other] for other in part.places if other != place)
    quotient = exact(total, others, [*(factor.now for factor in part.factors), *output])
    conditions: list[tuple[Size, Size]] = []
    if quotient is None:
        if not isinstance(others, int) or others == 0:
            return None
        quotient = cut(total, others)
        conditions = [(quotient * others, total)]
    if then(quotient) != output[place] or not isinstance(quotient, Formula):
        return None
    return _Splitting({**literal, place: (quotient,)}, conditions)
