"""Layers that put values into proportion to others: softmax, MVN, NormalizeL2, batch normalisation, LRN."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.layer import Layer, UndrawnError


def _softmax(op: str, layer: Layer) -> list[ir.Value]:
    return [layer.draw(op, [layer.input(0)], {"axis": layer.integer("axis", 1)})]


def _kind(layer: Layer) -> np.dtype[np.generic]:
    kind = layer.kind_of(0)
    if kind is None:
        raise UndrawnError("the type of its data is not known")
    return kind.numpy()


def _mvn(layer: Layer) -> list[ir.Value]:
    """Less the mean, over the root of the variance: the axes are an input from version 6 on."""
    if layer.opset < 6:
        axes: ir.Value = layer.held(_old_axes(layer))
    else:
        axes = layer.vector(1)
    data = layer.input(0)
    mean = layer.draw("ReduceMean", [data, axes], {"keepdims": 1, "noop_with_empty_axes": 1})
    apart = layer.draw("Sub", [data, mean])
    if not layer.flag("normalize_variance", "true"):
        return [apart]
    squares = layer.draw("Mul", [apart, apart])
    variance = layer.draw("ReduceMean", [squares, axes], {"keepdims": 1, "noop_with_empty_axes": 1})
    little = layer.held(layer.number("eps"), _kind(layer))
    if layer.text("eps_mode", "inside_sqrt").lower() == "inside_sqrt":
        root = layer.draw("Sqrt", [layer.draw("Add", [variance, little])])
    else:
        root = layer.draw("Add", [layer.draw("Sqrt", [variance]), little])
    return [layer.draw("Div", [apart, root])]


def _old_axes(layer: Layer) -> list[int]:
    if "reduction_axes" in layer.names:
        return layer.integers("reduction_axes")
    return list(range(1 if layer.flag("across_channels") else 2, layer.rank(0)))


def _normalize(layer: Layer) -> list[ir.Value]:
    """Over the root of the sum of squares, to which a little is added, or which is at least that."""
    data = layer.input(0)
    if not layer.integers_at(1, "axes"):
        raise UndrawnError("it has no axes, for which openvino has several answers")
    squares = layer.draw("ReduceSumSquare", [data, layer.vector(1)], {"keepdims": 1})
    little = layer.held(layer.number("eps"), _kind(layer))
    mode = layer.text("eps_mode").lower()
    if mode not in {"add", "max"}:
        raise UndrawnError(f"its eps_mode is {mode!r}")
    total = layer.draw("Add" if mode == "add" else "Max", [squares, little])
    return [layer.draw("Div", [data, layer.draw("Sqrt", [total])])]


def _batch_norm(layer: Layer) -> list[ir.Value]:
    """Version 1 has the data behind two of the others."""
    places = (2, 0, 1, 3, 4) if layer.opset < 5 else (0, 1, 2, 3, 4)
    values = [layer.input(place) for place in places]
    return [layer.draw("BatchNormalization", values, {"epsilon": layer.number("epsilon")})]


def _lrn(layer: Layer) -> list[ir.Value]:
    """Across channels alone, which is all that ONNX has."""
    if layer.integers_at(1, "axes") != [1]:
        raise UndrawnError("it is not across channels alone")
    attributes = {name: layer.number(name) for name in ("alpha", "beta", "bias")}
    return [layer.draw("LRN", [layer.input(0)], {**attributes, "size": layer.integer("size")})]


def _group_norm(layer: Layer) -> list[ir.Value]:
    """Less the mean of each group of channels, over the root of its variance; then a scale and a shift by channels."""
    rank, count = layer.rank(0), layer.integer("num_groups")
    data = layer.input(0)
    split = layer.draw("Reshape", [data, layer.held([0, count, -1])])
    last = layer.held([-1])
    apart = layer.draw("Sub", [split, layer.draw("ReduceMean", [split, last], {"keepdims": 1})])
    variance = layer.draw("ReduceMean", [layer.draw("Mul", [apart, apart]), last], {"keepdims": 1})
    root = layer.draw("Sqrt", [layer.draw("Add", [variance, layer.held(layer.number("epsilon"), _kind(layer))])])
    found = layer.draw("Reshape", [layer.draw("Div", [apart, root]), layer.draw("Shape", [data])])
    scale, shift = (layer.input(1), layer.input(2))
    if rank > 2:
        along = layer.held([-1] + [1] * (rank - 2))
        scale, shift = (layer.draw("Reshape", [each, along]) for each in (scale, shift))
    return [layer.draw("Add", [layer.draw("Mul", [found, scale]), shift])]


def _grn(layer: Layer) -> list[ir.Value]:
    """Over the root of the sum of squares of the channels."""
    data = layer.input(0)
    squares = layer.draw("ReduceSumSquare", [data, layer.held([1])], {"keepdims": 1})
    total = layer.draw("Add", [squares, layer.held(layer.number("bias"), _kind(layer))])
    return [layer.draw("Div", [data, layer.draw("Sqrt", [total])])]


RECORDS: dict[str, Callable[[Layer], list[ir.Value]]] = {
    "BatchNormInference": _batch_norm,
    "GRN": _grn,
    "GroupNormalization": _group_norm,
    "LRN": _lrn,
    "LogSoftmax": partial(_softmax, "LogSoftmax"),
    "MVN": _mvn,
    "NormalizeL2": _normalize,
    "SoftMax": partial(_softmax, "Softmax"),
    "Softmax": partial(_softmax, "Softmax"),
}
