"""Operators that onnxruntime adds to ONNX's own, in the domain com.microsoft: of most only the shapes are known."""

from __future__ import annotations

from onereshape.models.batch.answers import mixing
from onereshape.models.facts.answers import broadcast, same_first
from onereshape.models.facts.asking import Asking, Dims, Shapes
from onereshape.models.facts.kinds import Attribute, Kind, Kinds
from onereshape.models.node_view import Refused
from onereshape.models.operators.contractions import product_of
from onereshape.models.operators.joining import joined
from onereshape.models.operators.quantising import ONE_SCALE
from onereshape.models.record import Record
from onereshape.sizes import cut


def shape_quantised_concat(asking: Asking) -> Shapes:
    """QLinearConcat: every third input from the third on is data."""
    return [joined([asking.dims(index) for index in range(2, len(asking.node.inputs), 3)], asking, 0)]


def kinds_quantised_concat(given: Kinds, _: Attribute) -> list[Kind | None]:
    """That of the zero point, which comes after the scale."""
    return [given(1)]


def shape_quantised_pair(asking: Asking) -> Shapes:
    """QLinearAdd and QLinearMul: the inputs 0 and 3 meet."""
    return [asking.broadcast(asking.dims(0), asking.dims(3))]


def shape_fused_product(asking: Asking) -> Shapes:
    """FusedMatMul: a MatMul of matrices that may be turned first."""
    if asking.attribute("transBatchA", 0) or asking.attribute("transBatchB", 0):
        raise Refused("it turns the batch")
    left, right = (_turned(asking, index, name) for index, name in enumerate(("transA", "transB")))
    return [product_of(asking, left, right)]


def _turned(asking: Asking, index: int, name: str) -> Dims:
    dims = tuple(asking.dims(index))
    return (*dims[:-2], *dims[:-3:-1]) if asking.attribute(name, 0) and len(dims) > 1 else dims


def shape_skipped(asking: Asking) -> Shapes:
    """SkipLayerNormalization: data, and at the end the sum that was normalised."""
    dims = asking.dims(0)
    return [dims, None, None, dims]


def shape_attention(asking: Asking) -> Shapes:
    """Attention of onnxruntime: data times weights for query, key and value at once."""
    dims, weights = asking.dims(0), asking.dims(1)
    if len(dims) != 3 or len(weights) != 2:
        raise Refused("its data have not three dims")
    sizes = asking.attribute("qkv_hidden_sizes")
    if sizes:
        return [(dims[0], dims[1], sizes[2])]
    return [(dims[0], dims[1], cut(weights[1], 3))]


def shape_heads(asking: Asking) -> Shapes:
    """MultiHeadAttention of onnxruntime: as long as the query, as wide as the value."""
    query = asking.dims(0)
    if len(query) != 3 or not asking.has(2):
        raise Refused("its query is packed")
    value = asking.dims(2)
    if len(value) == 3:
        return [(*query[:2], value[2])]
    if len(value) == 4:
        return [(*query[:2], value[1] * value[3])]
    raise Refused("its value has neither three dims nor four")


def shape_quantised_lstm(asking: Asking) -> Shapes:
    """DynamicQuantizeLSTM: an LSTM whose weights are turned: directions, inputs, gates."""
    data, weights = asking.dims(0), asking.dims(2)
    if len(data) != 3 or len(weights) != 3:
        raise Refused("its data or its weights have not three dims")
    state = (weights[0], data[1], weights[1])
    return [(data[0], *state), state, state]


def shape_quantised_product(asking: Asking) -> Shapes:
    """DynamicQuantizeMatMul: data times weights that are quantised already."""
    return [product_of(asking, tuple(asking.dims(0)), tuple(asking.dims(1)))]


_RULES = {
    **dict.fromkeys("FastGelu Gelu QuickGelu QLinearLeakyRelu QLinearSigmoid QLinearSoftmax".split(), same_first),
    "BiasGelu": broadcast,
    "FusedMatMul": shape_fused_product,
    **dict.fromkeys(("QLinearAdd", "QLinearMul"), shape_quantised_pair),
    **dict.fromkeys(("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"), shape_skipped),
    "Attention": shape_attention,
    "MultiHeadAttention": shape_heads,
}

RECORDS = {
    **{f"com.microsoft::{op}": Record(shape=rule) for op, rule in _RULES.items()},
    "com.microsoft::DynamicQuantizeLSTM": Record(shape=shape_quantised_lstm, batch=mixing(ONE_SCALE)),
    "com.microsoft::DynamicQuantizeMatMul": Record(shape=shape_quantised_product, batch=mixing(ONE_SCALE)),
    "com.microsoft::QLinearConcat": Record(shape=shape_quantised_concat, kinds=kinds_quantised_concat),
}
