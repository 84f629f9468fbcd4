"""Sizes that end at a number, as `Min(64, S)` does: whether a size has such a part, and the size without the end."""

from __future__ import annotations

from onereshape.rule.sizes import OPERATIONS, Formula, Size, over, symbol


def is_cut(size: Size) -> bool:
    """Whether something in a size ends at a number, or may do so once what its symbols stand for is known.

    What depends on one symbol alone does not become a number by that.
    """
    for monomial, _ in size.terms if isinstance(size, Formula) else ():
        for atom in monomial:
            if isinstance(atom, str):
                continue
            if atom.name == "Min" and any(isinstance(part, int) or len(part.symbols) > 1 for part in atom.parts):
                return True
            if any(map(is_cut, atom.parts)):
                return True
    return False


def is_clipped(size: Size) -> bool:
    """Whether the larger or the smaller one of two sizes is a part of a size, as of what a Slice leaves."""
    for monomial, _ in size.terms if isinstance(size, Formula) else ():
        for atom in monomial:
            if not isinstance(atom, str) and (atom.name in {"Max", "Min"} or any(map(is_clipped, atom.parts))):
                return True
    return False


def uncut(size: Size) -> tuple[Size, list[tuple[Size, int]]]:
    """A size without the ends of what is cut, and these: `Min(64, S)` is S as long as S is 64 at most."""
    if isinstance(size, int):
        return size, []
    total: Size = 0
    ends: list[tuple[Size, int]] = []
    for monomial, coefficient in size.terms:
        term: Size = coefficient.numerator
        for atom in monomial:
            if isinstance(atom, str):
                term = term * symbol(atom)
                continue
            parts = [uncut(part) for part in atom.parts]
            ends += [end for _, found in parts for end in found]
            (one, _), (other, _) = parts
            if atom.name == "Min" and isinstance(one, int) and isinstance(other, Formula):
                ends.append((other, one))
                term = term * other
            else:
                term = term * OPERATIONS[atom.name](one, other)
        total = total + over(term, coefficient.denominator)
    return total, ends
