"""The families of constants of which it is known how they go on, each a function Exported -> Fit or None.

The first that fits is taken, so what is said in fewer words stands first.
"""

from __future__ import annotations

from onereshape.models.like.exported import Exported, Family, Fit

FAMILIES: tuple[Family, ...] = ()


def fit_of(exported: Exported) -> Fit | None:
    """How a constant goes on, None if no family knows it."""
    return next((fit for family in FAMILIES if (fit := family(exported)) is not None), None)
