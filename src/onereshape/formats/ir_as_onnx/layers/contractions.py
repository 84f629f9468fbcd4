"""Layers that multiply and sum: MatMul, Einsum, attention."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.layer import Layer, UndrawnError


def _turned(layer: Layer, value: ir.Value, rank: int) -> ir.Value:
    """The last two dims the other way round; a vector has none."""
    if rank < 2:
        return value
    return layer.draw("Transpose", [value], {"perm": [*range(rank - 2), rank - 1, rank - 2]})


def _matmul(layer: Layer) -> list[ir.Value]:
    first, second = layer.input(0), layer.input(1)
    if layer.flag("transpose_a"):
        first = _turned(layer, first, layer.rank(0))
    if layer.flag("transpose_b"):
        second = _turned(layer, second, layer.rank(1))
    return [layer.draw("MatMul", [first, second])]


def _einsum(layer: Layer) -> list[ir.Value]:
    return [layer.draw("Einsum", list(layer.inputs), {"equation": layer.text("equation")})]


def _attention(layer: Layer) -> list[ir.Value]:
    """softmax(query @ key' * scale + mask) @ value; a mask of truth values lets through what is true."""
    if len(layer.inputs) > 5:
        raise UndrawnError("it has a sink, which is not known here")
    query, key, value = (layer.input(place) for place in range(3))
    kind = layer.kind_of(0)
    if kind is None:
        raise UndrawnError("the type of its data is not known")
    scale = layer.input(4) if layer.given(4) else layer.held(1 / sqrt(layer.size(0, -1)), kind.numpy())
    scores = layer.draw("MatMul", [layer.draw("Mul", [query, scale]), _turned(layer, key, layer.rank(1))])
    mask = _causal(layer, query, key) if layer.flag("causal") else layer.input(3) if _masked(layer) else None
    if mask is not None:
        if layer.flag("causal") or mask.dtype == ir.DataType.BOOL:
            mask = layer.draw("Where", [mask, *(layer.held(each, kind.numpy()) for each in (0, -np.inf))])
        scores = layer.draw("Add", [scores, mask])
    return [layer.draw("MatMul", [layer.draw("Softmax", [scores], {"axis": -1}), value])]


def _masked(layer: Layer) -> bool:
    """Whether there is a mask; a number in its place is none."""
    return layer.given(3) and not (layer.constant(3) is not None and not layer.dims(3))


def _causal(layer: Layer, query: ir.Value, key: ir.Value) -> ir.Value:
    """Each row sees the columns up to its own."""
    zero, one = layer.held(0), layer.held(1)
    rows, columns = (
        layer.draw("Range", [zero, layer.draw("Squeeze", [_length(layer, value), layer.held([0])]), one])
        for value in (query, key)
    )
    return layer.draw("GreaterOrEqual", [layer.draw("Unsqueeze", [rows, layer.held([1])]), columns])


def _length(layer: Layer, value: ir.Value) -> ir.Value:
    return layer.draw("Shape", [value], {"start": -2, "end": -1})


def _packed(layer: Layer) -> list[ir.Value]:
    """Rows of a table, each by its weight, summed over the bag."""
    layer.only("reduction", "sum")
    rows = layer.draw("Gather", [layer.input(0), layer.input(1)], {"axis": 0})
    if layer.given(2):
        weights = layer.input(2)
        if layer.rank(0) > 1:
            weights = layer.draw("Unsqueeze", [weights, layer.held([*range(2, layer.rank(0) + 1)])])
        rows = layer.draw("Mul", [rows, weights])
    return [layer.draw("ReduceSum", [rows, layer.held([1])], {"keepdims": 0})]


RECORDS: dict[str, Callable[[Layer], list[ir.Value]]] = {
    "Einsum": _einsum,
    "EmbeddingBagPacked": _packed,
    "EmbeddingBagPackedSum": _packed,
    "MatMul": _matmul,
    "ScaledDotProductAttention": _attention,
}
