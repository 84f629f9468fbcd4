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
    contrib,
    contrib_attention,
    contrib_quantised,
    control,
    einsum,
    features,
    losses,
    normalisations,
    padding,
    patches,
    picking,
    pointwise,
    pools,
    quantised,
    quantised_windows,
    recurrent,
    reductions,
    reshaping,
    resizing,
    rest,
    sampling,
    scattering,
    sequences,
    shapes,
    signals,
    states,
    windows,
)

_FAMILIES: Final = (
    *(along, arithmetic, attention, comparisons, contractions, contrib, contrib_attention, contrib_quantised),
    *(control, einsum, features, losses, normalisations, padding, patches, picking, pointwise, pools, quantised),
    *(quantised_windows, recurrent, reductions, reshaping, resizing, rest, sampling, scattering, sequences),
    *(shapes, signals, states, windows),
)

RECORDS: Final[dict[tuple[str, str], Record]] = {
    ("", op) if isinstance(op, str) else op: each for family in _FAMILIES for op, each in family.RECORDS.items()
}
"""By domain and operator."""
