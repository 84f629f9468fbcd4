"""contradicted(): a constant that all exports of a repair share, and that a witness has otherwise.

The answers of a witness may hide such a constant, behind a gate that no value opens.  A witness with fewer nodes, or
more, is not paired with the exports: then its answers are all that is compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from onereshape.ground.errors import FixError
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.differing import differing

_NEAR = 1e-6
"""How far numbers may be off that an exporter calculated."""


def contradicted(model: ir.Model, others: Sequence[ir.Model], witness: ir.Model) -> str | None:
    """The name of the first constant of floats that only the witness has otherwise; shared nodes are written apart."""
    try:
        uses = differing([model, *others, witness])
    except FixError:
        return None
    for use in uses:
        *fitted, its = use.arrays
        if all(_is_same(fitted[0], each) for each in fitted[1:]) and not _is_same(fitted[0], its):
            return use.name
    return None


def _is_same(one: Array, other: Array) -> bool:
    """Whether two constants have the same numbers; also where they are no floats, or their dims differ."""
    if one.dtype.kind != "f" or one.dtype != other.dtype or one.shape != other.shape:
        return True
    return bool(np.allclose(one, other, rtol=_NEAR, atol=0, equal_nan=True))
