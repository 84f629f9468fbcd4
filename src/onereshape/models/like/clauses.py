"""Clauses: what must hold of the free sizes for a fitted model to be right, in words and as questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from onereshape.condition import Clause
from onereshape.models.like.columns import number_at
from onereshape.models.like.exported import Binding, Limit
from onereshape.models.like.formulas import Known
from onereshape.sizes import Formula, Size, cut, fewest, reach

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


def clause_of(limit: Limit, bindings: Sequence[Binding]) -> Clause:
    """A limit in words; of a single symbol rather than of its formula."""
    size, most = limit.size, limit.most
    if not isinstance(size, Formula):
        raise TypeError(size)
    rising = {coefficient > 0 for monomial, coefficient in size.terms if monomial}
    sign = "<=" if True in rising else ">="
    if len(size.symbols) == 1:
        (name,) = size.symbols
        sizes = [binding[name] for binding in bindings]
        if len(rising) == 2 and size.at({name: _FAR * max(sizes)}) <= most:
            sign = ">="
        most = reach(size, most, max(sizes)) if sign == "<=" else fewest(size, most, min(sizes))
        words = f"{name} {sign} {most}, since {limit.why}"
        return Clause(words, size.symbols, lambda at: at[name] <= most if sign == "<=" else at[name] >= most)
    above: Size = 0
    below: Size = most
    for monomial, coefficient in size.terms:
        times = coefficient if coefficient > 0 else coefficient * -1
        term: Size = Formula(((monomial, times),)) if monomial else int(times)
        above, below = (above + term, below) if coefficient > 0 else (above, below + term)
    if isinstance(above, Formula) and isinstance(below, Formula):
        words = f"{above} <= {below}"
    else:
        words = f"{size} <= {most}" if sign == "<=" else f"{0 - size} >= {-most}"
    return Clause(f"{words}, since {limit.why}", size.symbols, partial(_within, size, most))


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
