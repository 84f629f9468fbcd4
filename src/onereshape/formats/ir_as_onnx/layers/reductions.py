"""Layers that reduce axes: sums, means, products, norms, minima and maxima."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.layer import Layer


def _reduce(op: str, layer: Layer) -> list[ir.Value]:
    """ONNX reduces all axes where it is given none, OpenVINO none."""
    attributes = {"keepdims": int(layer.flag("keep_dims")), "noop_with_empty_axes": 1}
    return [layer.draw(op, [layer.input(0), layer.vector(1)], attributes)]


def _logical(op: str, layer: Layer) -> list[ir.Value]:
    """All, or any, of truth values: the least, or the greatest, of 0 and 1."""
    numbers = layer.cast(layer.input(0), ir.DataType.INT32)
    attributes = {"keepdims": int(layer.flag("keep_dims")), "noop_with_empty_axes": 1}
    found = layer.draw(op, [numbers, layer.vector(1)], attributes)
    return [layer.cast(found, ir.DataType.BOOL)]


RECORDS: dict[str, Callable[[Layer], list[ir.Value]]] = {
    **{f"Reduce{way}": partial(_reduce, f"Reduce{way}") for way in ("L1", "L2", "Max", "Mean", "Min", "Prod", "Sum")},
    "ReduceLogicalAnd": partial(_logical, "ReduceMin"),
    "ReduceLogicalOr": partial(_logical, "ReduceMax"),
}
