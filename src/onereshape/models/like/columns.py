"""Columns: a size at many sizes of its symbols at once; what formulas share is calculated once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from onereshape.models.like.exported import Binding
from onereshape.sizes import Atom, Size

Number = int | Fraction | None
"""None where it would be a quotient by 0."""
Column = list[Number]
Seen = dict[Size | str, Column]
"""What was found before, at the same sizes of the symbols."""


def column_of(size: Size | str, bindings: Sequence[Binding], seen: Seen) -> Column:
    """A size, or a symbol, at many sizes of the symbols; its parts are found once for all formulas."""
    if isinstance(size, int):
        return [size] * len(bindings)
    found = seen.get(size)
    if found is None:
        if isinstance(size, str):
            found = [binding[size] for binding in bindings]
        else:
            first, *others = (_product(monomial, times, bindings, seen) for monomial, times in size.terms)
            found = first
            for more in others:
                found = [None if a is None or b is None else a + b for a, b in zip(found, more, strict=True)]
        seen[size] = found
    return found


def _product(monomial: tuple[Atom, ...], times: int | Fraction, bindings: Sequence[Binding], seen: Seen) -> Column:
    """A number times the symbols and the operations of one term."""
    found: Column = [times] * len(bindings)
    for place, atom in enumerate(monomial):
        if isinstance(atom, str):
            column = column_of(atom, bindings, seen)
        else:
            one, other = (column_of(part, bindings, seen) for part in atom.parts)
            below = atom.parts[1]
            if atom.name == "floor" and isinstance(below, int) and below:
                column = [None if a is None else a // below for a in one]
            else:
                column = [_operated(atom.name, a, b) for a, b in zip(one, other, strict=True)]
        if place == 0 and times == 1:
            found = column
        else:
            found = [None if a is None or b is None else a * b for a, b in zip(found, column, strict=True)]
    return found


def _operated(name: str, one: Number, other: Number) -> Number:
    """What an operation gives, None where it would be a quotient by 0."""
    if one is None or other is None:
        return None
    if name in {"Max", "Min"}:
        return max(one, other) if name == "Max" else min(one, other)
    if other == 0:
        return None
    return one // other if name == "floor" else Fraction(one) / other
