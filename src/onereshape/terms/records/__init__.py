"""The operators: for each a record that says how its answer is made of terms; a file for each family.

A new operator needs a record in the file of its family, written from ONNX's specification alone (outside of ONNX it is
`declared`), and cases: in `tests/terms`, where every change of an answer in onnxruntime must change its words
(`single_nodes`, `perturbing`), or in the small world of `tests/laws/shape_*.py`, which `tests/laws/test_terms.py` asks.
`uniform` and `carries` are promises for every N (see `call.Record`): if you are not sure of `uniform`, write
`uniform=False`; if you are not sure of `carries`, leave it off.
"""

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
from onereshape.terms.records.real_records import in_reals

_FAMILIES: Final = (
    *(along, arithmetic, attention, comparisons, contractions, contrib, contrib_attention, contrib_quantised),
    *(control, einsum, features, losses, normalisations, padding, patches, picking, pointwise, pools, quantised),
    *(quantised_windows, recurrent, reductions, reshaping, resizing, rest, sampling, scattering, sequences),
    *(shapes, signals, states, windows),
)

RECORDS: Final[dict[tuple[str, str], Record]] = {
    ("", op) if isinstance(op, str) else op: each for family in _FAMILIES for op, each in family.RECORDS.items()
}
"""The records by domain and operator: `("", "Add")`, `("com.microsoft", "Gelu")`."""

REAL_RECORDS: Final[dict[tuple[str, str], Record]] = in_reals(RECORDS)
"""The records where floats are real numbers."""
