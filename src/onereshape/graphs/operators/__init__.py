"""The operators: one record each, one file per family.

Door: contractions.
"""

from __future__ import annotations

from onereshape.graphs.operators import (
    arithmetic,
    attention,
    choosing,
    contractions,
    contributed,
    control,
    experimental,
    features,
    filling,
    images,
    indexing,
    joining,
    layout,
    normalising,
    padding,
    pointwise,
    predictors,
    quantised,
    quantising,
    random_numbers as drawing,
    recurrent,
    reductions,
    regions,
    repeating,
    reshape,
    scattering,
    sequences,
    signals,
    sizes,
    slicing,
    states,
    texts,
    windows,
)
from onereshape.graphs.record import RECORDS, Record, record_named, record_of
from onereshape.graphs.registry import operator_of

__all__ = ["FAMILIES", "RECORDS", "Record", "operator_of", "record_named", "record_of"]

FAMILIES = (
    *(pointwise, arithmetic, normalising, quantising, contractions, reductions, recurrent),
    *(layout, reshape, repeating, filling, joining, slicing, padding, indexing, scattering, choosing),
    *(windows, images, regions, signals, sizes, drawing, control, contributed, experimental),
    *(attention, features, predictors, quantised, sequences, states, texts),
)

for family in FAMILIES:
    RECORDS.update(family.RECORDS)
