"""How a size is written: formulas that differ have texts that differ."""

from __future__ import annotations

import re

from onereshape.rule.dims import as_name
from onereshape.rule.sizes.reading import ReadAtom, ReadFormula, ReadOperation, ReadSize

_QUOTIENTS = frozenset({"floor", "over"})
_FORMULA = re.compile(r"[()*/,]| [+-] |^\d+$")
"""What a name has that may be taken for a formula."""


def written(formula: ReadFormula) -> str:
    """A formula as a text."""
    if (name := formula.name) is not None:
        return as_name(name)
    text = ""
    for monomial, coefficient in formula.terms:
        above, below = abs(coefficient.numerator), coefficient.denominator
        factors = [] if above == 1 and monomial else [str(above)]
        factors += [_factor(atom) for atom in monomial]
        text += (" - " if coefficient < 0 else " + ") + "*".join(factors) + ("" if below == 1 else f"/{below}")
    return text.removeprefix(" + ") if text.startswith(" + ") else "-" + text.removeprefix(" - ")


def written_operation(operation: ReadOperation) -> str:
    """An operation as a text."""
    one, other = operation.parts
    if operation.name not in _QUOTIENTS:
        return f"{operation.name}({_listed(one)}, {_listed(other)})"
    text = f"{_grouped(one)}/{_grouped(other, below=True)}"
    return text if operation.name == "over" else f"floor({text})"


def _factor(atom: ReadAtom) -> str:
    """An atom as a part of a larger formula: a name that is no plain one in parentheses."""
    text = str(atom)
    plain = atom.isidentifier() if isinstance(atom, str) else atom.name != "over"
    return text if plain else f"({text})"


def _listed(size: ReadSize) -> str:
    """A part of `Max` or `Min`."""
    name = None if isinstance(size, int) else size.name
    return str(size) if name is None or not _FORMULA.search(name) else f"({name})"


def _grouped(size: ReadSize, *, below: bool = False) -> str:
    """A part of a quotient; a name that looks like a formula has a pair of parentheses more than that formula."""
    text = _listed(size)
    if isinstance(size, int):
        return text
    (monomial, coefficient), *more = size.terms
    several = bool(more) or " " in text or (below and (len(monomial) > 1 or coefficient != 1))
    return f"({text})" if several or (size.name is not None and text.startswith("(")) else text
