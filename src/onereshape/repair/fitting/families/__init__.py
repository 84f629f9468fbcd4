"""The families of constants of which it is known how they go on, each a function Exported -> Fit or None.

The first that fits is taken, so what is said in fewer words stands first, and what ends with the largest export last.
Begin with `FAMILIES`, then `same`, which is small, and `affine`; `../exported` has what goes in and what comes out.

A new family is a module with such a function, a place in `FAMILIES`, and cases in `tests/repair/fitting/world_*.py`: a
maker of a model at any sizes, fitted on two of them and judged at others, written as both exporters do; and a near
miss, which must be refused.  Bugs that tests must find are planted in `mutants.py` there, and
`python -m tests.repair.fitting.drawing` draws tables at random.  An operator that gets a rule of `free` gets a line in
`world_operators.py`.  Real exports at three sizes are in `tests/data/sizes`; `python bench/corpus.py --sizes [FOLDER]`
prints what becomes of each.

Door: strides.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from onereshape.repair.fitting.exported import Exported, Family, Fit, as_sizes
from onereshape.repair.fitting.families.affine import affine
from onereshape.repair.fitting.families.cut_windows import windowed
from onereshape.repair.fitting.families.cuts import cut_of
from onereshape.repair.fitting.families.diagonals import diagonals, diagonals_cut
from onereshape.repair.fitting.families.filled import filled
from onereshape.repair.fitting.families.joins import joined
from onereshape.repair.fitting.families.numbers import numbers
from onereshape.repair.fitting.families.products import flattened, in_rows, product_of, splits
from onereshape.repair.fitting.families.resized import resized
from onereshape.repair.fitting.families.same import blocks, same
from onereshape.repair.fitting.families.waves import is_crooked, waves
from onereshape.repair.fitting.families.writing import key_of
from onereshape.rule.sizes import Size

LEAVES: tuple[Family, ...] = (same, affine, diagonals, waves, blocks)
"""The families that read a constant whole, in its own dims."""


def _first(families: tuple[Family, ...], exported: Exported) -> Fit | None:
    for family in families:
        if (fit := family(exported)) is not None:
            return fit
    return None


_leaf: Family = partial(_first, LEAVES)
_PLAIN = tuple(family for family in LEAVES if family is not diagonals)
"""The families that read a part of a constant whole: a part of a table of differences is no table."""


def _read_once(families: tuple[Family, ...]) -> Family:
    """The first of families that knows a constant, as a family; a constant is read once in the same dims."""
    seen: dict[tuple[Size, ...], Fit | None] = {}

    def fit(exported: Exported) -> Fit | None:
        if exported.dims not in seen:
            seen[exported.dims] = _first(families, exported)
        return seen[exported.dims]

    return fit


def _apart(exported: Exported) -> Fit | None:
    """A constant whose axes are taken apart, as often as it takes."""

    def again(taken: Exported) -> Fit | None:
        return product_of(taken, fit=fit)

    fit = _read_once((*LEAVES, resized, again))
    return again(exported)


_WHOLE: tuple[Family, ...] = (*_PLAIN, resized)


def _part(exported: Exported) -> Fit | None:
    """A part of a constant, its axes taken apart twice at most, once if that will do: anchors all over a picture."""
    once: Family = partial(product_of, fit=_read_once(_WHOLE), vain=_beside_crooked)
    twice: Family = partial(product_of, fit=once, vain=partial(_beside_crooked, whole=True))
    return _first((*_WHOLE, once, twice), exported)


def _is_crooked(exported: Exported) -> bool:
    """Whether a part has axes to take apart, which takes long, beside one that stays whole and has crooked entries."""
    whole = [axis for axis in exported.growing if not splits(exported, axis)]
    return 0 < len(whole) < len(exported.growing) and any(is_crooked(exported, axis) for axis in whole)


def _beside_crooked(exported: Exported, axis: int, *, whole: bool = False) -> bool:
    """Whether the entries along another axis are crooked, so that no part knows them; one that stays whole, if asked.

    But a table that is interpolated may be.
    """
    others = [other for other in exported.growing if other != axis and not (whole and splits(exported, other))]
    if not any(is_crooked(exported, other) for other in others):
        return False
    return exported.arrays[0].dtype != np.float32 or not exported.of.varied


_edged: Family = partial(joined, fit=partial(_first, (same, partial(joined, fit=same, plain=True))), plain=True)
"""One value in the middle, and another at the edges of one axis or two: the masks of shifted windows."""

FAMILIES: tuple[Family, ...] = (
    numbers,
    filled,
    *LEAVES,
    diagonals_cut,
    partial(flattened, fit=_leaf),
    resized,
    _apart,
    partial(product_of, fit=_edged),
    partial(windowed, fit=partial(_first, _PLAIN), vain=is_crooked),
    partial(joined, fit=_part, soon=_is_crooked),
    partial(in_rows, fit=partial(joined, fit=same, plain=True)),
    cut_of,
    partial(product_of, fit=cut_of),
)


def fit_of(exported: Exported) -> Fit | None:
    """How a constant goes on, None if no family knows it, or knows it in more than one way."""
    found = readings_of(exported)
    return found[0] if len(found) == 1 else None


def readings_of(exported: Exported, seen: dict[object, tuple[Fit, ...]] | None = None) -> tuple[Fit, ...]:
    """The ways in which a constant may go on that differ elsewhere, all of one family; what was seen before,
    in exports of the same sizes, is not read again.

    A model has the same constant in every layer.
    """
    seen = {} if seen is None else seen
    key = (exported.dims, exported.known, *key_of(*exported.arrays))
    if key not in seen:
        found = _first(FAMILIES, exported._replace(known=as_sizes(exported.known)))
        seen[key] = () if found is None else (found._replace(others=()), *found.others)
    return seen[key]
