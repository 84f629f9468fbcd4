"""The families of constants of which it is known how they go on, each a function Exported -> Fit or None.

The first that fits is taken, so what is said in fewer words stands first, and what ends with the largest export last.
"""

from __future__ import annotations

from functools import partial

from onereshape.models.like.exported import Exported, Family, Fit
from onereshape.models.like.families.affine import affine
from onereshape.models.like.families.cuts import cut_of
from onereshape.models.like.families.diagonals import diagonals, diagonals_cut
from onereshape.models.like.families.joins import joined
from onereshape.models.like.families.products import flattened, product_of
from onereshape.models.like.families.resized import resized
from onereshape.models.like.families.same import blocks, same
from onereshape.models.like.families.windows import windowed

LEAVES: tuple[Family, ...] = (same, affine, diagonals, blocks)
"""What is known of a constant as it is."""


def _first(families: tuple[Family, ...], exported: Exported) -> Fit | None:
    return next((fit for family in families if (fit := family(exported)) is not None), None)


_leaf: Family = partial(_first, LEAVES)


def _part(exported: Exported) -> Fit | None:
    """What is known of a part that is not cut again: its axes may be taken apart, and a grid be interpolated."""
    return _first((_leaf, resized, partial(product_of, fit=_part), partial(windowed, fit=_leaf)), exported)


_edged: Family = partial(joined, fit=partial(_first, (same, partial(joined, fit=same))))
"""The same in the middle, and something else at the edges of one axis or two: the masks of shifted windows."""

FAMILIES: tuple[Family, ...] = (
    *LEAVES,
    partial(flattened, fit=_leaf),
    _part,
    partial(joined, fit=_part),
    partial(product_of, fit=_edged),
    diagonals_cut,
    cut_of,
    partial(product_of, fit=cut_of),
)


def fit_of(exported: Exported) -> Fit | None:
    """How a constant goes on, None if no family knows it."""
    return _first(FAMILIES, exported)
