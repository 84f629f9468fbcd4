"""regrouped(): the dims that the target of a Reshape asks for, of data whose dims are formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from onereshape.graphs.facts.scope import Dims
from onereshape.repair.fitting.equations import groups
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.parting import parted
from onereshape.rule.sizes import Size, exact, over, product

Must = tuple[Size, ...]
"""Two sizes that must be equal, or one that must be whole."""


class Target(NamedTuple):
    """The dims that the target of a Reshape asks for, and what must hold of sizes then."""

    dims: Dims | None
    """None if not all is told."""
    must: Sequence[Must]
    """What must hold wherever the model runs."""


def regrouped(known: Known, dims: Dims, words: Sequence[Size]) -> Target:
    """The dims that a target asks for, `[S, 6], [-1, 3] -> [2*S, 3]`; and which sizes must be equal, or whole, then."""
    must: list[Must] = []
    rows = [known.values(word) for word in words]
    values = [row for row in rows if row is not None]
    if len(values) < len(rows):
        return Target(None, must)
    parts = list(groups([known.values(size) for size in dims], values)) or [
        (list(range(len(dims))), list(range(len(words))))
    ]
    found = list(words)
    for above, below in parted(known, parts, dims, words):
        whole = product(dims[at] for at in above)
        others = product(words[at] for at in below if words[at] != -1)
        place = next((at for at in below if words[at] == -1), None)
        if place is None:
            must.append((whole, others))
            continue
        left, so = quotient(whole, others)
        must += so
        if left is None:
            return Target(None, must)
        found[place] = left
    return Target(None if -1 in found else tuple(found), must)


def quotient(top: Size, bottom: Size) -> tuple[Size | None, list[Must]]:
    """An exact quotient, `6*S, 3 -> 2*S`, None where there is none; and what must be whole for it: `S, 2 -> S/2`."""
    if bottom == 0:
        return None, []
    found = exact(top, bottom)
    if found is not None:
        return found, []
    try:
        found = over(top, bottom)
    except ZeroDivisionError:
        return None, []
    return found, [(found,)]
