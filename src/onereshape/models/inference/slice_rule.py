"""The dims of a Slice: the engine's own rule assumes that a cut at a number lies within a dim that is not known."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import sympy  # type: ignore[import-untyped]
from onnx_shape_inference._symbolic_shapes import dim_to_expr, expr_to_dim  # type: ignore[import-untyped]

_FAR = 2**31 - 1
"""From here on an end means the end of the dim."""


def correct_slice(ctx: Any, node: ir.Node) -> None:
    """Puts right what the engine's rule has said of a Slice since version 10."""
    data, output = node.inputs[0], node.outputs[0]
    given = [_integers(ctx, node, index) for index in range(1, 5)]
    starts, ends, axes, steps = given
    for index, known in enumerate(given, 1):
        there = len(node.inputs) > index and node.inputs[index] is not None
        if there and known is None and index > 2:  # the engine takes the default
            ctx.forget(output)
            if data is not None and data.shape is not None:
                output.shape = ir.Shape([ctx.new_symbolic_dim() for _ in data.shape])
            return
    if starts is None or ends is None or output.shape is None or data is None or data.shape is None:
        return
    dims = list(output.shape)
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = index if axes is None else axes[index]
        dims[axis] = _cut(data.shape[axis], start, end, 1 if steps is None else steps[index], dims[axis])
    output.shape = ir.Shape(dims)


def _cut(dim: int | ir.SymbolicDim, start: int, end: int, step: int, otherwise: Any) -> Any:
    if isinstance(dim, int):
        return len(range(*slice(start, end, step).indices(dim)))
    expr = dim_to_expr(dim)
    if expr is None or step < 1 or start < 0 or not 0 <= end < _FAR:
        return otherwise
    length = sympy.Min(expr, end) - start
    return expr_to_dim(sympy.Max(0, length if step == 1 else sympy.floor((length + step - 1) / step)))


def _integers(ctx: Any, node: ir.Node, index: int) -> list[int] | None:
    """An input whose elements are all known."""
    value = node.inputs[index] if len(node.inputs) > index else None
    known = None if value is None else ctx.get_symbolic_value(value)
    return known if known is not None and all(isinstance(each, int) for each in known) else None
