"""The families of constants of which it is known how they go on, each a function Exported -> Fit or None.

The first that fits is taken, so what is said in fewer words stands first, and what ends with the largest export last.
"""

from __future__ import annotations

from collections.abc import Callable

from onereshape.models.like.exported import Exported, Fit
from onereshape.models.like.families.affine import affine
from onereshape.models.like.families.same import blocks, same

Family = Callable[[Exported], Fit | None]

FAMILIES: tuple[Family, ...] = (same, affine, blocks)


def fit_of(exported: Exported) -> Fit | None:
    """How a constant goes on, None if no family knows it."""
    return next((fit for family in FAMILIES if (fit := family(exported)) is not None), None)
