"""The operators: one record each, one file per family."""

from __future__ import annotations

from onereshape.models.operators import (
    contractions,
    images,
    indexing,
    joining,
    layout,
    normalising,
    pointwise,
    quantising,
    recurrent,
    reductions,
    repeating,
    reshape,
    scattering,
    sizes,
    slicing,
    windows,
)
from onereshape.models.record import RECORDS, Record, operator_of, record_named, record_of

__all__ = ["FAMILIES", "RECORDS", "Record", "operator_of", "record_named", "record_of"]

FAMILIES = (
    *(pointwise, normalising, quantising, contractions, reductions, recurrent),
    *(layout, reshape, repeating, joining, slicing, indexing, scattering),
    *(windows, images, sizes),
)

for family in FAMILIES:
    RECORDS.update(family.RECORDS)

from onereshape.models import shaping as _shaping  # noqa: E402, F401
