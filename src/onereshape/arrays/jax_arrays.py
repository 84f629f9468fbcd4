"""JAX arrays, also while they are traced: their dims are known then, and the target must be too.

A JAX array is never changed, so that it has no views to promise: `copy=False` is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onereshape.arrays import namespace_arrays
from onereshape.errors import ReshapeError

dims = namespace_arrays.dims
layout = namespace_arrays.layout
tracing = namespace_arrays.tracing


def type_name(data: Any) -> str:
    return str(np.dtype(data.dtype)) if isinstance(data.dtype, np.dtype) else str(data.dtype)


def integers(shape: Any) -> Any:
    """A shape tensor as a NumPy array; one that is traced is no integers yet."""
    try:
        return np.asarray(shape)
    except Exception:  # noqa: BLE001 - JAX's error about a value that is not known while it traces
        wanted = "an array whose values are known while JAX traces: the target of a Reshape must be static"
        raise ReshapeError("not-an-array", what="the shape tensor", type="a traced JAX array", wanted=wanted) from None


def quickest(data: Any, output: tuple[int, ...]) -> Any:  # noqa: ARG001 - as in every library
    return reshaped


def reshaped(data: Any, output: tuple[int, ...], copy: bool | None) -> Any:
    if copy is False:
        raise ReshapeError("no-view", library="JAX", output=list(output))
    try:
        result = data.reshape(output)
    except Exception as error:  # noqa: BLE001 - whatever JAX or XLA says
        raise ReshapeError("array-limit", library="JAX", output=list(output), why=f"it says {error}") from None
    return result.copy() if copy else result
