"""The operators: for each a record that says how its answer is made of terms."""

from __future__ import annotations

from typing import Final

from onereshape.terms.call import Record
from onereshape.terms.records import (
    arithmetic,
    comparisons,
    contractions,
    einsum,
    patches,
    picking,
    pointwise,
    pools,
    resizing,
    reshaping,
    sampling,
    shapes,
    windows,
)

_FAMILIES: Final = (
    arithmetic,
    comparisons,
    contractions,
    einsum,
    patches,
    picking,
    pointwise,
    pools,
    resizing,
    reshaping,
    sampling,
    shapes,
    windows,
)

RECORDS: Final[dict[tuple[str, str], Record]] = {
    ("", op) if isinstance(op, str) else op: each for family in _FAMILIES for op, each in family.RECORDS.items()
}
"""By domain and operator."""
