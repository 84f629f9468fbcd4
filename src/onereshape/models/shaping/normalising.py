"""Shapes of operators that normalise, quantise, transform signals, and of those that onnxruntime adds."""

from __future__ import annotations

from collections.abc import Sequence

from onereshape.models.facts.asking import Asking, Dims
from onereshape.models.node_view import Refused
from onereshape.models.record import Record
from onereshape.models.shaping.pointwise import broadcast, same_first
from onereshape.sizes import Size, cut

Shapes = Sequence[Dims | None]


def layers(asking: Asking) -> Shapes:
    """LayerNormalization and its kin: the means and deviations have 1 in place of what is normalised."""
    dims = asking.dims(0)
    kept = dims[: asking.axis(len(dims), -1)]
    return [dims, *[(*kept, *[1] * (len(dims) - len(kept)))] * 2]


def channels(asking: Asking) -> Shapes:
    """BatchNormalization: the running means and variances are those of the channels."""
    dims = asking.dims(0)
    others = [asking.known(index) for index in (3, 4)]
    return [dims, *(others if asking.opset >= 14 else [None] * 4)]


def dynamic(_: Asking) -> Shapes:
    """DynamicQuantizeLinear: data, and one scale and one zero point."""
    return [_.dims(0), (), ()]


def loss(asking: Asking) -> Shapes:
    """Losses: one number, or one for each label."""
    labels = asking.known(1)
    first: Dims | None = labels if asking.attribute("reduction", "mean") == "none" else ()
    return [first, asking.known(0)]


def window(asking: Asking) -> Shapes:
    """As many entries as an input says."""
    size = asking.elements(0)
    return [(asking.size(size[0] if size is not None and len(size) == 1 else None),)]


def fourier(asking: Asking) -> Shapes:
    """DFT: along one axis, real or complex."""
    dims = list(asking.dims(0))
    inverse, onesided = asking.attribute("inverse", 0), asking.attribute("onesided", 0)
    if asking.opset < 20:
        places: list[int] | None = [asking.attribute("axis", 1)]
    else:
        places = asking.integers(2) if asking.has(2) else [-2]
    length = asking.elements(1) if asking.has(1) else None
    dims[-1] = 1 if inverse and onesided else 2
    if places is None:
        return [(*asking.unknown(len(dims) - 1), dims[-1])]
    (axis,) = places
    axis = axis + len(dims) if axis < 0 else axis
    if not 0 <= axis < len(dims) - 1:
        raise Refused(f"it names axis {axis} of {len(dims)}")
    size: Size | None = dims[axis]
    if asking.has(1):
        size = length[0] if length is not None and len(length) == 1 else None
    if size is None or (onesided and inverse and not asking.has(1)):
        dims[axis] = asking.new()
    else:
        dims[axis] = asking.size(cut(size, 2) + 1 if onesided and not inverse else size)
    return [tuple(dims)]


def frames(asking: Asking) -> Shapes:
    """STFT: the frames of a signal, each transformed."""
    dims = asking.dims(0)
    lengths = asking.integers(3) if asking.has(3) else None
    if lengths is None and asking.has(2) and not asking.has(3):
        size = asking.length(2)
        lengths = None if size is None else [size]
    steps = asking.integers(1)
    if lengths is None or len(lengths) != 1:
        return [(dims[0], asking.new(), asking.new(), 2)]
    bins = lengths[0] // 2 + 1 if asking.attribute("onesided", 1) else lengths[0]
    known = steps is not None and len(steps) == 1 and steps[0] > 0 and isinstance(dims[1], int)
    count = (dims[1] - lengths[0]) // steps[0] + 1 if known and steps is not None and isinstance(dims[1], int) else None
    return [(dims[0], asking.size(count), bins, 2)]


def joined_quantised(asking: Asking) -> Shapes:
    """QLinearConcat: every third input from the third on is data."""
    shapes = [asking.dims(index) for index in range(2, len(asking.node.inputs), 3)]
    if len({len(dims) for dims in shapes}) != 1:
        raise Refused("its inputs have several ranks")
    axis = asking.axis(len(shapes[0]), 0)
    total: Size = 0
    for dims in shapes:
        total = dims[axis] + total
    return [(*shapes[0][:axis], total, *shapes[0][axis + 1 :])]


def quantised_pair(asking: Asking) -> Shapes:
    """QLinearAdd and QLinearMul: the inputs 0 and 3 meet."""
    return [asking.broadcast(asking.dims(0), asking.dims(3))]


def fused_product(asking: Asking) -> Shapes:
    """FusedMatMul: a MatMul of matrices that may be turned first."""
    left, right = list(asking.dims(0)), list(asking.dims(1))
    if asking.attribute("transBatchA", 0) or asking.attribute("transBatchB", 0):
        raise Refused("it turns the batch")
    for dims, name in ((left, "transA"), (right, "transB")):
        if asking.attribute(name, 0) and len(dims) > 1:
            dims[-2:] = dims[:-3:-1]
    if min(len(left), len(right)) < 1:
        raise Refused("it multiplies a scalar")
    rows = left[-2:-1] if len(left) > 1 else []
    columns = right[-1:] if len(right) > 1 else []
    return [(*asking.broadcast(tuple(left[:-2]), tuple(right[:-2])), *rows, *columns)]


def skipped(asking: Asking) -> Shapes:
    """SkipLayerNormalization: data, and at the end the sum that was normalised."""
    dims = asking.dims(0)
    return [dims, None, None, dims]


def attention(asking: Asking) -> Shapes:
    """Attention of onnxruntime: data times weights for query, key and value at once."""
    dims, weights = asking.dims(0), asking.dims(1)
    if len(dims) != 3 or len(weights) != 2:
        raise Refused("its data have not three dims")
    sizes = asking.attribute("qkv_hidden_sizes")
    if sizes:
        return [(dims[0], dims[1], sizes[2])]
    return [(dims[0], dims[1], cut(weights[1], 3))]


def heads(asking: Asking) -> Shapes:
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


RECORDS = {
    **dict.fromkeys(
        (
            "Softmax LogSoftmax Hardmax LpNormalization CumSum MeanVarianceNormalization LRN InstanceNormalization "
            "GroupNormalization QuantizeLinear DequantizeLinear RotaryEmbedding"
        ).split(),
        Record(same_first),
    ),
    **dict.fromkeys("LayerNormalization RMSNormalization SimplifiedLayerNormalization".split(), Record(layers)),
    "BatchNormalization": Record(channels),
    "DynamicQuantizeLinear": Record(dynamic),
    **dict.fromkeys(("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"), Record(loss)),
    **dict.fromkeys(("BlackmanWindow", "HannWindow", "HammingWindow"), Record(window)),
    "DFT": Record(fourier),
    "STFT": Record(frames),
    **{
        f"com.microsoft::{op}": Record(same_first)
        for op in "FastGelu Gelu QuickGelu QLinearLeakyRelu QLinearSigmoid QLinearSoftmax".split()
    },
    "com.microsoft::BiasGelu": Record(broadcast),
    "com.microsoft::FusedMatMul": Record(fused_product),
    **{f"com.microsoft::{op}": Record(quantised_pair) for op in ("QLinearAdd", "QLinearMul")},
    "com.microsoft::QLinearConcat": Record(joined_quantised),
    **{
        f"com.microsoft::{op}": Record(skipped) for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
    },
    "com.microsoft::Attention": Record(attention),
    "com.microsoft::MultiHeadAttention": Record(heads),
}
