"""The operators: for each a record that says how its answer is made of terms; a file for each family.

An operator that is a composition needs none: its terms are those of its body, ONNX's own or ours (`ground.bodies`).
A record is there for what is no composition; where a body costs too much, which was measured; and where it would show
less for every N.  Which of the three it is stands beside the record.

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
    comparisons,
    contractions,
    contrib,
    control,
    einsum,
    features,
    normalisations,
    padding,
    patches,
    picking,
    pointwise,
    pools,
    quantised,
    quotients,
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
    *(along, arithmetic, comparisons, contractions, contrib),
    *(control, einsum, features, normalisations, padding, patches, picking, pointwise, pools, quantised),
    *(quotients, recurrent, reductions, reshaping, resizing, rest, sampling, scattering, sequences),
    *(shapes, signals, states, windows),
)

RECORDS: Final[dict[tuple[str, str], Record]] = {
    ("", op) if isinstance(op, str) else op: each for family in _FAMILIES for op, each in family.RECORDS.items()
}
"""The records by domain and operator: `("", "Add")`, `("com.microsoft", "Gelu")`."""

REAL_RECORDS: Final[dict[tuple[str, str], Record]] = in_reals(RECORDS)
"""The records where floats are real numbers."""
