"""Operators that sizes go through: a model for each that has a rule of `free`, with the size in a shape behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.learned import CATEGORIES, DOMAIN, FEATURES, OUTPUTS, PREPARING, TRAINED, version
from tests.repair.fitting.exporting import FLOAT, INT, ODD, SEQUENCE, Case, Export

BOOL, UINT8 = np.dtype(np.bool_), np.dtype(np.uint8)
Maker = Callable[[Export], str]

UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh Elu Erf Exp HardSigmoid HardSwish LeakyRelu Mish
Reciprocal Relu Round Selu Shrink Sigmoid Sin Sinh Softplus Softsign Tan Tanh ThresholdedRelu Log Sign Clip Neg Sqrt
Ceil Floor Identity Dropout Softmax LogSoftmax Hardmax LpNormalization RandomNormalLike RandomUniformLike Bernoulli"""
BINARY = "Add Sub Mul Div Pow Max Min Sum Mean PRelu"
COMPARED = "Equal Less LessOrEqual Greater GreaterOrEqual"
LOGICAL = "And Or Xor"
WHOLE = "Mod BitwiseAnd BitwiseOr BitwiseXor"
REDUCED = """ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMin ReduceMean ReduceSumSquare ReduceSum
ReduceProd"""
TRIED: dict[str, dict[str, Any]] = {
    "Affine": {"alpha": 2.0, "beta": 1.0},
    "ParametricSoftplus": {"alpha": 0.5, "beta": 1.0},
    "Scale": {"scale": 2.0},
    "ScaledTanh": {"alpha": 0.5, "beta": 2.0},
}
"""Operators of elements that ONNX tried and never took."""
RANDOM = "RandomNormalLike RandomUniformLike Bernoulli"


def row(g: Export, name: str = "x", dtype: np.dtype[Any] = FLOAT) -> str:
    return g.x(1, "S", 4, name=name, dtype=dtype)


def picture(g: Export) -> str:
    return g.x(1, 2, "H", "W")


def ints(g: Export, *numbers: int) -> str:
    return g.constant(np.array(numbers, np.int64))


def newer(opset: int, make: Maker) -> Maker:
    """A model of another opset."""

    def build(g: Export) -> str:
        g.opset = opset
        return make(g)

    return build


def unary(op: str, **attributes: Any) -> Maker:
    return lambda g: g.node(op, row(g), **attributes)


def beside(op: str) -> Maker:
    return lambda g: g.node(op, row(g), g.weight(4))


def logical(op: str) -> Maker:
    return lambda g: g.node(op, row(g, dtype=BOOL), row(g, "z", BOOL))


def whole(op: str) -> Maker:
    return lambda g: g.node(op, row(g, dtype=INT), ints(g, 3, 5, 7, 9))


def reduced(op: str) -> Maker:
    return lambda g: g.node(op, g.node("Abs", row(g)), ints(g, 2), keepdims=0)


def pooled(op: str, **attributes: Any) -> Maker:
    return lambda g: g.node(op, picture(g), **attributes)


def _positions(g: Export) -> str:
    return g.constant(np.arange(g.sizes["S"]))


def features(g: Export, dtype: np.dtype[Any] = FLOAT) -> str:
    return g.x("S", FEATURES, dtype=dtype)


def learned(op: str, attributes: dict[str, Any], dtype: np.dtype[Any] = FLOAT) -> Maker:
    """An operator of ai.onnx.ml on rows; of several outputs the last."""

    def build(g: Export) -> str:
        g.learned = version(op)
        count = OUTPUTS.get(op, 1)
        first = g.node(op, features(g, dtype), outputs=count, domain=DOMAIN, **attributes)
        return first if count == 1 else f"{first}.{count - 1}"

    return build


def mapped(g: Export) -> str:
    """Categories to texts and back."""
    (attributes,) = CATEGORIES["CategoryMapper"]
    there = g.node("CategoryMapper", features(g, INT), domain=DOMAIN, **attributes)
    return g.node("CategoryMapper", there, domain=DOMAIN, **attributes)


LEARNED: dict[str, Maker] = {
    **{op: learned(op, attributes) for op, attributes in TRAINED.items()},
    **{op: learned(op, attributes[0]) for op, attributes in PREPARING.items()},
    **{op: learned(op, CATEGORIES[op][0], INT) for op in ("LabelEncoder", "OneHotEncoder")},
    "FeatureVectorizer": learned("FeatureVectorizer", {"inputdimensions": [FEATURES]}),
    "CategoryMapper": mapped,
}

SEQUENCES: dict[str, Maker] = {
    **{f"{DOMAIN}::{op}": make for op, make in LEARNED.items()},
    **{op: newer(8, unary(op, **attributes)) for op, attributes in TRIED.items()},
    "DynamicSlice": newer(8, lambda g: g.node("DynamicSlice", row(g), ints(g, 1), ints(g, 3), ints(g, 2))),
    "BitCast": newer(26, lambda g: g.node("BitCast", row(g), to=6)),
    "CumProd": newer(26, lambda g: g.node("CumProd", row(g), g.constant(np.int64(1)))),
    "CenterCropPad": lambda g: g.node("CenterCropPad", row(g), ints(g, g.sizes["S"], 3), axes=[1, 2]),
    "DFT": lambda g: g.node("DFT", g.x(1, "S", 1), axis=1),
    "STFT": lambda g: g.node("STFT", g.x(1, "S", 1), g.constant(np.int64(2)), "", g.constant(np.int64(4)), onesided=1),
    **{op: unary(op) for op in UNARY.split()},
    **{op: beside(op) for op in f"{BINARY} {COMPARED}".split()},
    **{op: logical(op) for op in LOGICAL.split()},
    **{op: whole(op) for op in WHOLE.split()},
    **{op: reduced(op) for op in REDUCED.split()},
    "Gelu": newer(20, unary("Gelu")),
    "Swish": newer(24, unary("Swish")),
    "RMSNormalization": newer(23, lambda g: g.node("RMSNormalization", row(g), g.weight(4))),
    "IsInf": unary("IsInf"),
    "IsNaN": unary("IsNaN"),
    "Not": lambda g: g.node("Not", row(g, dtype=BOOL)),
    "BitwiseNot": lambda g: g.node("BitwiseNot", row(g, dtype=INT)),
    "BitShift": lambda g: g.node(
        "BitShift", row(g, dtype=UINT8), g.constant(np.array([1, 0, 1, 0], np.uint8)), direction="LEFT"
    ),
    "EyeLike": lambda g: g.node("EyeLike", g.node("Squeeze", row(g), ints(g, 0))),
    "Trilu": lambda g: g.node("Trilu", row(g), upper=0),
    "Where": lambda g: g.node("Where", row(g, dtype=BOOL), g.weight(4), row(g, "z")),
    "Cast": lambda g: g.node("Cast", row(g), to=6),
    "MeanVarianceNormalization": lambda g: g.node("MeanVarianceNormalization", g.x(1, 3, "S", 4)),
    "LayerNormalization": lambda g: g.node("LayerNormalization", row(g), g.weight(4)),
    "SimplifiedLayerNormalization": lambda g: g.node(
        "SimplifiedLayerNormalization", row(g), g.weight(4), axis=-1, epsilon=1e-5, stash_type=1
    ),
    "QuantizeLinear": lambda g: g.node("QuantizeLinear", row(g), g.constant(np.float32(0.1)), g.constant(np.uint8(3))),
    "DequantizeLinear": lambda g: g.node(
        "DequantizeLinear", row(g, dtype=UINT8), g.constant(np.float32(0.1)), g.constant(np.uint8(3))
    ),
    "MatMul": lambda g: g.node("MatMul", row(g), g.weight(4, 3)),
    "MatMulInteger": lambda g: g.node(
        "MatMulInteger", row(g, dtype=UINT8), g.constant(np.arange(12).reshape(4, 3).astype(np.uint8))
    ),
    "Gemm": lambda g: g.node("Gemm", g.node("Reshape", row(g), ints(g, g.sizes["S"], 4)), g.weight(4, 3)),
    "Einsum": lambda g: g.node("Einsum", row(g), row(g, "z"), equation="bid,bjd->bij"),
    "Det": lambda g: g.node("Det", g.x("S", 3, 3)),
    "ArgMax": lambda g: g.node("ArgMax", row(g), axis=2, keepdims=0),
    "ArgMin": lambda g: g.node("ArgMin", row(g), axis=2, keepdims=0),
    "TopK": lambda g: g.node("TopK", row(g), ints(g, g.sizes["S"]), outputs=2, axis=1),
    "CumSum": lambda g: g.node("CumSum", row(g), g.constant(np.int64(1))),
    "RNN": lambda g: g.node("RNN", g.x("S", 1, 4), g.weight(1, 3, 4), g.weight(1, 3, 3), outputs=2, hidden_size=3),
    "GRU": lambda g: g.node("GRU", g.x("S", 1, 4), g.weight(1, 9, 4), g.weight(1, 9, 3), outputs=2, hidden_size=3),
    "LSTM": lambda g: g.node("LSTM", g.x("S", 1, 4), g.weight(1, 12, 4), g.weight(1, 12, 3), outputs=3, hidden_size=3),
    "ReverseSequence": lambda g: g.node("ReverseSequence", row(g), ints(g, g.sizes["S"]), batch_axis=0, time_axis=1),
    "Flatten": lambda g: g.node("Flatten", row(g), axis=2),
    "Squeeze": lambda g: g.node("Squeeze", row(g), ints(g, 0)),
    "Unsqueeze": lambda g: g.node("Unsqueeze", row(g), ints(g, 1)),
    "Transpose": lambda g: g.node("Transpose", row(g), perm=[2, 1, 0]),
    "Reshape": lambda g: g.node("Reshape", row(g), ints(g, g.sizes["S"], 2, 2)),
    "Expand": lambda g: g.node("Expand", g.node("Unsqueeze", row(g), ints(g, 1)), ints(g, 1, 3, g.sizes["S"], 4)),
    "Tile": lambda g: g.node("Tile", row(g), ints(g, 1, 2, 3)),
    "ConstantOfShape": lambda g: g.node("Add", row(g), g.node("ConstantOfShape", ints(g, g.sizes["S"], 4))),
    "Range": lambda g: g.node(
        "Add",
        g.node("Cast", g.x(1, "S"), to=7),
        g.node("Range", *(g.constant(np.int64(n)) for n in (0, g.sizes["S"], 1))),
    ),
    "Concat": lambda g: g.node("Concat", row(g), row(g, "z"), axis=1),
    "Split": lambda g: g.node(
        "Split", g.node("Concat", row(g), row(g, "z"), axis=1), ints(g, g.sizes["S"], g.sizes["S"]), outputs=2, axis=1
    ),
    "Slice": lambda g: g.node("Slice", row(g), ints(g, 1), ints(g, g.sizes["S"] - 1), ints(g, 1)),
    "Pad": lambda g: g.node("Pad", row(g), ints(g, 0, 1, 0, 0, 2, 0)),
    "Gather": lambda g: g.node("Gather", row(g), _positions(g), axis=1),
    "GatherElements": lambda g: g.node(
        "GatherElements",
        row(g),
        g.constant(np.broadcast_to(np.arange(g.sizes["S"])[None, :, None], (1, g.sizes["S"], 4)).copy()),
        axis=1,
    ),
    "GatherND": lambda g: g.node("GatherND", g.x("S", 4), g.constant(np.arange(g.sizes["S"])[:, None])),
    "OneHot": lambda g: g.node(
        "OneHot",
        g.x(1, "S", dtype=INT),
        g.constant(np.int64(6)),
        g.constant(np.array([0, 1], np.float32)),
    ),
    "ScatterElements": lambda g: g.node("ScatterElements", row(g), ints_of(g, (1, 2, 4)), g.weight(1, 2, 4), axis=1),
    "ScatterND": lambda g: g.node("ScatterND", g.x("S", 4), g.constant(np.array([[0], [2]])), g.weight(2, 4)),
    "Compress": lambda g: g.node("Compress", row(g), g.constant(np.array([True, False, True])), axis=2),
    "Unique": lambda g: g.node("Unique", row(g, dtype=INT), outputs=4),
    "NonZero": lambda g: g.node("NonZero", row(g, dtype=BOOL)),
    "NonMaxSuppression": lambda g: g.node("NonMaxSuppression", row(g), g.x(1, 2, "S", name="z"), ints(g, 3)),
    "Shape": lambda g: g.node("Shape", row(g)),
    "Size": lambda g: g.node("Size", row(g)),
    "ConvInteger": lambda g: g.node(
        "ConvInteger", g.x(1, 2, "S", dtype=UINT8), g.constant(np.arange(12).reshape(2, 2, 3).astype(np.uint8))
    ),
}

PICTURES: dict[str, Maker] = {
    "ImageScaler": newer(8, pooled("ImageScaler", scale=2.0, bias=[0.5, 1.0])),
    "Crop": newer(8, pooled("Crop", border=[1, 0, 2, 1])),
    "LRN": pooled("LRN", size=3),
    "BatchNormalization": lambda g: g.node(
        "BatchNormalization", picture(g), *(g.constant(np.array([1.0, 2])) for _ in range(4))
    ),
    "InstanceNormalization": lambda g: g.node("InstanceNormalization", picture(g), g.weight(2), g.weight(2)),
    "GroupNormalization": newer(
        21, lambda g: g.node("GroupNormalization", picture(g), g.weight(2), g.weight(2), num_groups=1)
    ),
    "Conv": lambda g: g.node("Conv", picture(g), g.weight(3, 2, 3, 3), strides=[2, 2]),
    "ConvTranspose": lambda g: g.node("ConvTranspose", picture(g), g.weight(2, 3, 2, 2), strides=[2, 2]),
    "AveragePool": pooled("AveragePool", kernel_shape=[2, 2], strides=[2, 2]),
    "LpPool": pooled("LpPool", kernel_shape=[2, 2], strides=[2, 2]),
    "MaxPool": pooled("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "GlobalAveragePool": pooled("GlobalAveragePool"),
    "GlobalMaxPool": pooled("GlobalMaxPool"),
    "GlobalLpPool": pooled("GlobalLpPool"),
    "Col2Im": lambda g: g.node(
        "Col2Im",
        g.node("Reshape", picture(g), ints(g, 1, 2, g.sizes["H"] * g.sizes["W"])),
        ints(g, g.sizes["H"], g.sizes["W"]),
        ints(g, 1, 1),
    ),
    "Resize": lambda g: g.node("Resize", picture(g), "", "", ints(g, 1, 2, 2 * g.sizes["H"], 2 * g.sizes["W"])),
    "Upsample": newer(9, lambda g: g.node("Upsample", picture(g), g.constant(np.array([1, 1, 2, 2], np.float32)))),
    "GridSample": lambda g: g.node("GridSample", g.x(1, 2, 5, 5, name="z"), g.x(1, "H", "W", 2)),
    "DepthToSpace": lambda g: g.node("DepthToSpace", g.x(1, 8, "H", "W"), blocksize=2),
    "SpaceToDepth": lambda g: g.node(
        "SpaceToDepth", g.node("ConvTranspose", picture(g), g.weight(2, 3, 2, 2), strides=[2, 2]), blocksize=2
    ),
    "AffineGrid": newer(
        20,
        lambda g: g.node(
            "Add",
            g.x(1, "H", "W", 2),
            g.node("AffineGrid", g.weight(1, 2, 3), ints(g, 1, 1, g.sizes["H"], g.sizes["W"])),
        ),
    ),
}


def ints_of(g: Export, dims: tuple[int, ...]) -> str:
    return g.constant(np.arange(int(np.prod(dims))).reshape(dims) // 4 * 2)


def _row(op: str, make: Maker) -> Maker:
    def build(g: Export) -> str:
        out = make(g)
        return g.node("Shape", g.flat(out)) if op in RANDOM.split() else g.flat(out)

    return build


OPERATORS = {
    op: Case(op, _row(op, make), *where)
    for makers, where in ((SEQUENCES, SEQUENCE), (PICTURES, ODD))
    for op, make in makers.items()
}
