"""contradicted(): a constant that all exports of a repair share, and that a witness has otherwise.

Its answers may hide it, behind a gate that no value opens.  A witness in which nodes are missing, or more of them, is
not paired: then its answers are all that is compared.
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
    """The name of the first such constant of floats; the model is written apart where that is needed."""
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
    """Whether they are no weights, or have other dims, or the same numbers."""
    if one.dtype.kind != "f" or one.dtype != other.dtype or one.shape != other.shape:
        return True
    return bool(np.allclose(one, other, rtol=_NEAR, atol=0, equal_nan=True))
