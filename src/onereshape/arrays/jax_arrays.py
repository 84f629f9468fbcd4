"""JAX arrays, also while they are traced: the target must be known then, and of the dims some may be symbols.

A JAX array is never changed, so that it has no views to promise: `copy=False` is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onereshape.arrays import namespace_arrays
from onereshape.ground.errors import ReshapeError
from onereshape.rule.semantics import output_dims
from onereshape.rule.specs import Spec
from onereshape.rule.target import Copied, Fixed, Target, read_target

dims = namespace_arrays.dims
layout = namespace_arrays.layout


def tracing(data: Any) -> bool:
    """Whether dims are symbols, as they may be in `jax.export`."""
    return not all(isinstance(dim, int) for dim in data.shape)


def traced(data: Any, target: Any, spec: Spec, zero_copies: bool, copy: bool | None) -> Any:
    """A Reshape of such data: JAX's own, with the dims that the rule gives.

    What is on both sides is left out of the question, so that symbols are divided only where they must be.
    """
    dims = tuple(data.shape)
    shown: tuple[Any, ...] = tuple(dim if isinstance(dim, int) else str(dim) for dim in dims)
    read = read_target(target, spec, zero_copies=zero_copies, data=shown)
    output: list[Any] = [entry.size if isinstance(entry, Fixed) else -1 for entry in read.entries]
    copied = [axis for axis, entry in enumerate(read.entries) if isinstance(entry, Copied)]
    for axis in copied:
        if axis >= len(dims):
            raise ReshapeError("copy-beyond-rank", data=shown, target=read.words, spec=spec, axis=axis, rank=len(dims))
        output[axis] = dims[axis]
    rest = [dim for axis, dim in enumerate(dims) if axis not in copied]
    if all(isinstance(dim, int) for dim in rest):
        others = Target(tuple(each for each in read.entries if not isinstance(each, Copied)), read.words, spec)
        sizes = iter(_rest(tuple(rest), others, shown))
        output = [size if axis in copied else next(sizes) for axis, size in enumerate(output)]
    return reshaped(data, tuple(output), copy)


def _rest(dims: tuple[int, ...], target: Target, shown: tuple[Any, ...]) -> tuple[int, ...]:
    """The output dims that are not copied."""
    try:
        return output_dims(dims, target)
    except ReshapeError as error:
        error.data = shown
        raise


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


def reshaped(data: Any, output: tuple[int, ...], copy: bool | None = None) -> Any:
    if copy is False:
        raise ReshapeError("no-view", library="JAX", output=list(output))
    try:
        result = data.reshape(output)
    except Exception as error:  # noqa: BLE001 - whatever JAX or XLA says
        raise ReshapeError("array-limit", library="JAX", output=list(output), why=f"it says {error}") from None
    return result.copy() if copy else result
