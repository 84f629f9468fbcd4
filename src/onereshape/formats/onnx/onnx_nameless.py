"""Dims of inputs and outputs for which a file has no size and no name, however it writes that."""

from __future__ import annotations

import re

import onnx_ir as ir

_NO_NAMES = frozenset({"", "?", "*", "none", "null", "nil", "nan", "n/a", "unknown", "undefined"})
"""What exporters write, in any case, where they know neither: two dims of one such word need not be equal.

`dynamic` is none of them, as somebody chose it for a name."""
_NEGATIVE = re.compile(r"-[0-9]+")


def forget_nameless(model: ir.Model) -> None:
    """Makes dims of -1, and those called `?` or `None`, unknown ones."""
    for value in (*model.graph.inputs, *model.graph.outputs):
        if value.shape is not None and any(map(_is_unknown, value.shape)):
            value.shape = ir.Shape([None if _is_unknown(dim) else dim for dim in value.shape])


def _is_unknown(dim: int | ir.SymbolicDim) -> bool:
    if isinstance(dim, int):
        return dim < 0
    if dim.value is None:
        return False
    name = dim.value.strip().lower()
    return name in _NO_NAMES or _NEGATIVE.fullmatch(name) is not None
