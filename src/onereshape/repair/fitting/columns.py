"""Columns: a size at many sizes of its symbols at once; what formulas share is calculated once."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from types import MappingProxyType

from onereshape.repair.fitting.exported import Binding
from onereshape.rule.sizes import Atom, Formula, Size, times

Number = int | Fraction | None
"""None where it would be a quotient by 0."""
Column = list[Number]
Seen = dict[Hashable, Column]
"""What was found before, at the same sizes of the symbols."""
Chosen = Mapping[str, Size]
"""What stands in place of some symbols."""

_NONE: Chosen = MappingProxyType({})
_SAMPLES = 64
_FEW = 4
"""Samples that are looked at first: most sizes that differ do so at once."""


class Columns:
    """Samples of the sizes of the symbols, none below the least, and what was found of formulas there."""

    def __init__(self, least: Binding, steps: Mapping[str, int]) -> None:
        self._draw = partial(_sample, least=least, steps=steps)
        self._few = [*map(self._draw, range(_FEW))]
        self._starts: Seen = {}
        self._traces: Seen = {}

    @cached_property
    def _all(self) -> list[Binding]:
        return [*map(self._draw, range(_SAMPLES))]

    def start(self, size: Size, chosen: Chosen = _NONE) -> Column:
        """A size at the first few samples."""
        return column_of(size, self._few, self._starts, chosen)

    def trace(self, size: Size, chosen: Chosen = _NONE) -> Column:
        """A size at all samples."""
        return column_of(size, self._all, self._traces, chosen)


def _sample(turn: int, least: Binding, steps: Mapping[str, int]) -> Binding:
    """Sizes of all residues of small numbers, none the same as another's."""
    return {
        name: start + steps.get(name, 1) * (97 * place + turn * (2 * place + 1) + (turn % 7) * 61)
        for place, (name, start) in enumerate(least.items())
    }


def column_of(size: Size | str, bindings: Sequence[Binding], seen: Seen, chosen: Chosen = _NONE) -> Column:
    """A size, or a symbol, at many sizes of the symbols; its parts are found once for all formulas."""
    if isinstance(size, int):
        return [size] * len(bindings)
    if isinstance(size, str) and size in chosen:
        return column_of(chosen[size], bindings, seen)
    key = _key(size, chosen) if chosen and isinstance(size, Formula) else size
    found = seen.get(key)
    if found is None:
        if isinstance(size, str):
            found = [binding[size] for binding in bindings]
        else:
            first, *others = (_product(monomial, factor, bindings, seen, chosen) for monomial, factor in size.terms)
            found = first
            for more in others:
                found = [None if a is None or b is None else a + b for a, b in zip(found, more, strict=True)]
        seen[key] = found
    return found


def _key(size: Formula, chosen: Chosen) -> Hashable:
    """A formula, with what stands in place of its own symbols."""
    own = tuple([each for each in chosen.items() if each[0] in size.symbols])
    return (size, own) if own else size


def _product(
    monomial: tuple[Atom, ...], factor: int | Fraction, bindings: Sequence[Binding], seen: Seen, chosen: Chosen
) -> Column:
    """A number times the symbols and the operations of one term."""
    found: Column | None = None
    for atom in monomial:
        if isinstance(atom, str):
            column = column_of(atom, bindings, seen, chosen)
        else:
            one, other = (column_of(part, bindings, seen, chosen) for part in atom.parts)
            below = atom.parts[1]
            if atom.name == "floor" and isinstance(below, int) and below:
                column = [None if a is None else a // below for a in one]
            else:
                column = [_operated(atom.name, a, b) for a, b in zip(one, other, strict=True)]
        if found is None:
            found = column
        else:
            found = [None if a is None or b is None else a * b for a, b in zip(found, column, strict=True)]
    if found is None:
        return [factor] * len(bindings)
    return found if factor == 1 else [None if a is None else times(a, factor) for a in found]


def _operated(name: str, one: Number, other: Number) -> Number:
    """What an operation gives, None where it would be a quotient by 0."""
    if one is None or other is None:
        return None
    if name in {"Max", "Min"}:
        return max(one, other) if name == "Max" else min(one, other)
    if other == 0:
        return None
    return one // other if name == "floor" else Fraction(one) / other


def number_at(size: Size, binding: Binding) -> int | Fraction | None:
    """A number, None where it would be a quotient by 0."""
    try:
        return size if isinstance(size, int) else size.at(binding)
    except ZeroDivisionError:
        return None
