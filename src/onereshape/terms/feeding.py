"""The terms that a model is fed: a word for each element of an input, by name, sample and place in the sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.hashing import Array, Hashing
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor, numbers, terms

_MOST: Final = 1 << 26
"""The most elements of an input."""
_RANK: Final = 32
UNNAMED = "?"
"""The size of a dim that has no name."""


def inputs_of(model: ir.Model) -> list[ir.Value]:
    """The inputs of a model's graph without its initializers, which older files list among them."""
    return [value for value in model.graph.inputs if value.name not in model.graph.initializers]


def feed(  # noqa: PLR0913, PLR0917 - all that an input depends on
    model: ir.Model,
    hashing: Hashing,
    axes: Mapping[str, int],
    labels: Sequence[int],
    sizes: Mapping[str, int],
    given: Mapping[str, Array],
) -> dict[str, Tensor]:
    """Terms for all inputs; those at `axes` have a sample for each label there, `given` ones have numbers."""
    found = {}
    for value in inputs_of(model):
        name = value.name or ""
        if not isinstance(value.type, ir.TensorType) or value.shape is None or value.dtype is None:
            raise NotProven(f"input {name!r} is no tensor of known rank")
        if name in given:
            found[name] = numbers(given[name], value.dtype)
            continue
        axis = axes.get(name)
        dims = [len(labels) if place == axis else _dim(dim, sizes, name) for place, dim in enumerate(value.shape)]
        found[name] = _leaves(hashing, name, value.dtype, dims, axis, labels)
    return found


def _dim(dim: Any, sizes: Mapping[str, int], name: str) -> int:
    if isinstance(dim, int):
        if dim < 0:
            raise NotProven(f"input {name!r} has a dim of {dim}")
        return dim
    size = sizes.get(dim.value or UNNAMED)
    if size is None:
        raise NotProven(f"input {name!r} has a dim {dim.value or UNNAMED!r}, for which there is no size")
    return size


def _leaves(  # noqa: PLR0913, PLR0917
    hashing: Hashing, name: str, dtype: ir.DataType, dims: Sequence[int], axis: int | None, labels: Sequence[int]
) -> Tensor:
    if prod(max(dim, 1) for dim in dims) > _MOST or len(dims) > _RANK:
        raise NotProven(f"input {name!r} has {len(dims)} dims and {prod(dims)} elements")
    if axis is None:
        words = hashing.leaves(hashing.key("input", name, dtype.name, None, tuple(dims)), prod(dims)).reshape(dims)
    else:
        rest = [dim for place, dim in enumerate(dims) if place != axis]
        keys = [hashing.key("input", name, dtype.name, label, tuple(rest)) for label in labels]
        rows = [hashing.leaves(key, prod(rest)) for key in keys]
        words = np.moveaxis(np.stack(rows).reshape(len(labels), *rest), 0, axis) if rows else np.empty(dims, np.uint64)
    growth = tuple(int(place == axis) for place in range(len(dims))) if axis is not None else ()
    found = terms(words, dtype)
    if dtype.is_integer() and 8 <= dtype.bitwidth <= 32:
        info = np.iinfo(dtype.numpy())
        found = terms(words, dtype, np.asarray(info.min, np.int64), np.asarray(info.max, np.int64))
    return replace(found, growth=growth)
