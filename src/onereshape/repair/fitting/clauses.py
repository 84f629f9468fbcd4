"""Clauses: what must hold of the free sizes for a fitted model to be right, in words and as questions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

from onereshape.repair.fitting.columns import number_at
from onereshape.repair.fitting.exported import Binding, Limit
from onereshape.repair.fitting.formulas import Known
from onereshape.rule.condition import Clause
from onereshape.rule.sizes import Formula, Size, cut, fewest, reach

NO_STEPS: Mapping[str, int] = MappingProxyType({})
_NEAR = 48
"""Sizes around a bound, and around the exports, at which it must be right."""
_FAR = 1024
"""Times the largest export."""
_STILL = "no export shows what depends on it"


def known_clauses(known: Known) -> Iterator[Clause]:
    """What the steps of sizes, and sizes that must be equal, ask for."""
    first = known.bindings[0]
    for name, step in known.steps.items():
        rest = first[name] % step
        words = f"{name} leaves {rest} when divided by {step}" if rest else f"{name} is divisible by {step}"
        yield Clause(words, frozenset({name}), partial(_leaves, name, step, rest))
    for size, many in known.multiples:
        if not known.divisible(size, many):
            words = f"{size} is divisible by {many}, since {_STILL}"
            yield Clause(words, _names(size), partial(_equal, cut(size, many) * many, size))
    for size, many in known.indivisible:
        words = f"{size} is not divisible by {many}, since {_STILL}"
        yield Clause(words, _names(size), partial(_differ, cut(size, many) * many, size))
    for pairs, why in ((known.unmet(), "both are one dim of a tensor"), (known.still(), _STILL)):
        for one, other in pairs:
            yield Clause(f"{one} = {other}, since {why}", _names(one, other), partial(_equal, one, other))


def clauses_of(limits: Iterable[Limit], bindings: Sequence[Binding], steps: Mapping[str, int]) -> Iterator[Clause]:
    """Limits in words, but for those that hold from 1 on: nobody asks for less."""
    found = (clause_of(limit, bindings, steps) for limit in limits)
    return (clause for clause in found if not re.match(r"\w+ >= 1,", clause.text))


def clause_of(limit: Limit, bindings: Sequence[Binding], steps: Mapping[str, int] = NO_STEPS) -> Clause:
    """A limit in words; of a single symbol rather than of its formula, where that rises or falls with it."""
    size, most = limit.size, limit.most
    if not isinstance(size, Formula):
        raise TypeError(size)
    found = _of_one(size, most, bindings, steps) if len(size.symbols) == 1 else None
    if found is not None:
        (name,) = size.symbols
        sign, number = found
        words = f"{name} {sign} {number}, since {limit.why}"
        return Clause(words, size.symbols, lambda at: at[name] <= number if sign == "<=" else at[name] >= number)
    above: Size = 0
    below: Size = most
    for monomial, coefficient in size.terms:
        times = coefficient if coefficient > 0 else coefficient * -1
        term: Size = Formula(((monomial, times),)) if monomial else int(times)
        above, below = (above + term, below) if coefficient > 0 else (above, below + term)
    if isinstance(above, Formula) and isinstance(below, Formula):
        words = f"{above} <= {below}"
    else:
        rises = any(coefficient > 0 for monomial, coefficient in size.terms if monomial)
        words = f"{size} <= {most}" if rises else f"{0 - size} >= {-most}"
    return Clause(f"{words}, since {limit.why}", size.symbols, partial(_within, size, most))


def _of_one(size: Formula, most: int, bindings: Sequence[Binding], steps: Mapping[str, int]) -> tuple[str, int] | None:
    """The bound of the only symbol of a formula that must not be above a number; None where one does not tell it."""
    (name,) = size.symbols
    sizes = [binding[name] for binding in bindings]
    rising = {coefficient > 0 for monomial, coefficient in size.terms if monomial}
    falls = rising == {False} or (len(rising) == 2 and size.at({name: _FAR * max(sizes)}) <= most)
    step = steps.get(name, 1)
    number = fewest(size, most, min(sizes), step) if falls else reach(size, most, max(sizes))
    if len(rising) == 1:
        return (">=" if falls else "<="), number
    ends = (number, min(sizes), max(sizes))
    near = {each for end in ends for each in range(end - _NEAR * step, end + _NEAR * step + 1, step) if each > 0}
    asked = [each for each in near if (each - sizes[0]) % step == 0]
    within = (each for each in asked if (each >= number if falls else each <= number))
    return ((">=" if falls else "<="), number) if all(_within(size, most, {name: each}) for each in within) else None


def _names(*sizes: Size) -> frozenset[str]:
    return frozenset(name for size in sizes if isinstance(size, Formula) for name in size.symbols)


def _leaves(name: str, step: int, rest: int, at: Binding) -> bool:
    return at[name] % step == rest


def _equal(one: Size, other: Size, at: Binding) -> bool:
    return number_at(one, at) == number_at(other, at)


def _differ(one: Size, other: Size, at: Binding) -> bool:
    return not _equal(one, other, at)


def _within(size: Size, most: int, at: Binding) -> bool:
    found = number_at(size, at)
    return found is not None and found <= most
