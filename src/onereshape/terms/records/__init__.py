"""The operators: for each a record that says how its answer is made of terms."""

from __future__ import annotations

from typing import Final

from onereshape.terms.call import Record
from onereshape.terms.records import (
    along,
    arithmetic,
    attention,
    comparisons,
    contractions,
    control,
    einsum,
    fused_attention,
    losses,
    normalisations,
    padding,
    picking,
    pointwise,
    pools,
    recurrent,
    reductions,
    reshaping,
    scattering,
    sequences,
    shapes,
    signals,
    windows,
)

_FAMILIES: Final = (
    along,
    arithmetic,
    attention,
    comparisons,
    contractions,
    control,
    einsum,
    fused_attention,
    losses,
    normalisations,
    padding,
    picking,
    pointwise,
    pools,
    recurrent,
    reductions,
    reshaping,
    scattering,
    sequences,
    shapes,
    signals,
    windows,
)

RECORDS: Final[dict[tuple[str, str], Record]] = {
    ("", op) if isinstance(op, str) else op: each for family in _FAMILIES for op, each in family.RECORDS.items()
}
"""By domain and operator."""
