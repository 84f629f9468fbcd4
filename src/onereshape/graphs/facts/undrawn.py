"""declared(): what comes out of a layer of an IR that nobody draws.

Nobody has a rule for its shape, but the file says what OpenVINO found.  That holds where the layer is given what it is
given in the file: the same dims, and the same sizes where an input holds some.
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from onereshape.graphs.facts.scope import Dims, Scope
from onereshape.graphs.facts.walk_limits import SHORT
from onereshape.rule.sizes import Size

_SIZES = (ir.DataType.INT64, ir.DataType.INT32)
"""The types of numbers that say dims."""


def declared(node: ir.Node, scope: Scope) -> Sequence[Dims | None] | None:
    """The dims of its outputs; None where it may be given something else than in the file."""
    if not all(value is None or _is_given(value, scope) for value in node.inputs):
        return None
    return [None if value.shape is None else _dims(value.shape, scope) for value in node.outputs]


def _dims(shape: ir.Shape, scope: Scope) -> Dims:
    return tuple(dim if isinstance(dim, int) else scope.new() for dim in shape)


def _is_given(value: ir.Value, scope: Scope) -> bool:
    """Whether a value is as large as the file says, and holds no sizes that may be others."""
    dims = scope.dims_of(value)
    if dims is None or not all(isinstance(size, int) for size in dims):
        return False
    if value.producer() is not None and [*dims] != [*(value.shape or ())]:  # of no dims a port says nothing
        return False
    return scope.kind_of(value) not in _SIZES or _is_known(dims, value, scope)


def _is_known(dims: Sequence[Size], value: ir.Value, scope: Scope) -> bool:
    if any(isinstance(size, int) and size > SHORT for size in dims):
        return True  # a list of that length says no dims
    held = scope.held(value)
    return held is not None and all(isinstance(each, int) for each in held.flat)
