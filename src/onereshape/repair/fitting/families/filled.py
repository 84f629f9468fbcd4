"""Filled: one number all along the axes that grow, which is made of a size: what makes a sum a mean."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit, dims_at
from onereshape.repair.fitting.families.numbers import numbers
from onereshape.repair.fitting.families.writing import first_along, spread
from onereshape.rule.sizes import Size


def filled(exported: Exported) -> Fit | None:
    """The same all along the axes that grow in each export, and made of a size from one to another."""
    axes, dims = exported.growing, exported.dims
    if not axes or exported.arrays[0].dtype.kind != "f" or not exported.of.starts_differ:
        return None
    slices = [first_along(array, axes) for array in exported.arrays]
    if any((array != one).any() for array, one in zip(exported.arrays, slices, strict=True)):
        return None
    shape: tuple[Size, ...] = tuple([1 if axis in axes else size for axis, size in enumerate(dims)])
    found = numbers(Exported(tuple(slices), exported.bindings, shape, exported.known, exported.steps))

    def build(inner: Fit) -> Fit:

        def at(binding: Binding) -> Array:
            return np.broadcast_to(inner.at(binding), dims_at(dims, binding)).copy()

        def make(writer: Rewriter) -> ir.Value:
            return spread(writer, inner.make(writer), shape, dims)

        listed = " and ".join(map(str, axes))
        return inner._replace(words=f"{inner.words} all along axis {listed}", at=at, make=make)

    return None if found is None else found.each(build)
