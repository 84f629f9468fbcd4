"""Each operator that has a rule for free sizes, in a model that is written for any size.

The model at one size is freed, and the same text at other sizes is its witness: what it was to become.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.repair.freeing_learned import learned
from tests.repair.freeing_sized import FIRST, THIRD, Sized, filled, graph

_ANY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log"
)
_ANY += " Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh"
_ANY += " ThresholdedRelu Identity Dropout"
_PAIRS = "Add Sub Mul Div Pow Max Min Mean Sum PRelu"
_ORDERS = "Equal Greater GreaterOrEqual Less LessOrEqual"
_REDUCTIONS = "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum"
_X = "float[1, {}, 2] x"


def pointwise() -> Iterator[Sized]:
    """Each element by itself; a constant beside it that is the same all along grows."""
    for op in _ANY.split():
        yield Sized(op, lambda s, op=op: graph(_X.format(s), f"y = {op}(x)"))  # type: ignore[misc]
    yield Sized("Swish", lambda s: graph(_X.format(s), "y = Swish(x)"), opset=24)
    for op in ("IsInf", "IsNaN"):
        yield Sized(op, lambda s, op=op: graph(_X.format(s), f"y = {op}(x)", gives="bool[] y"))  # type: ignore[misc]
    for op in _PAIRS.split():
        yield Sized(op, lambda s, op=op: graph(_X.format(s), f"y = {op}(x, p)", filled("float", "p", (s, 2), 2, 3)))  # type: ignore[misc]
    for op in _ORDERS.split():
        yield Sized(
            op,
            lambda s, op=op: graph(
                _X.format(s), f"y = {op}(x, p)", filled("float", "p", (s, 2), 0, 1), gives="bool[] y"
            ),  # type: ignore[misc]
        )
    for op in ("And", "Or", "Xor"):
        yield Sized(
            op,
            lambda s, op=op: graph(  # type: ignore[misc]
                f"bool[1, {s}, 2] x", f"y = {op}(x, p)", filled("bool", "p", (s, 2), 0, 1), gives="bool[] y"
            ),
        )
    yield Sized("Not", lambda s: graph(f"bool[1, {s}] x", "y = Not(x)", gives="bool[] y"))
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Mod"):
        yield Sized(
            op,
            lambda s, op=op: graph(  # type: ignore[misc]
                f"int64[1, {s}, 2] x", f"y = {op}(x, p)", filled("int64", "p", (s, 2), 5, 3), gives="int64[] y"
            ),
        )
    yield Sized("BitwiseNot", lambda s: graph(f"int64[1, {s}] x", "y = BitwiseNot(x)", gives="int64[] y"))
    yield Sized(
        "BitShift",
        lambda s: graph(
            f"uint8[1, {s}] x",
            'y = BitShift <direction = "LEFT"> (x, p)',
            filled("uint8", "p", (1, s), 1),
            gives="uint8[] y",
        ),
    )
    yield Sized("Cast", lambda s: graph(_X.format(s), "y = Cast <to = 7> (x)", gives="int64[] y"))
    yield Sized("BitCast", lambda s: graph(_X.format(s), "y = BitCast <to = 6> (x)", gives="int32[] y"), opset=26)
    yield Sized(
        "Where",
        lambda s: graph(_X.format(s), "y = Where(c, x, z)", filled("bool", "c", (s, 2), 1, 0), "float z = {9}"),
    )
    yield Sized("Clip", lambda s: graph(_X.format(s), "y = Clip(x, lo, hi)", "float lo = {0}", "float hi = {1}"))
    yield Sized(
        "QuantizeLinear",
        lambda s: graph(_X.format(s), "y = QuantizeLinear(x, k)", "float k = {0.5}", gives="uint8[] y"),
    )
    yield Sized(
        "DequantizeLinear", lambda s: graph(f"uint8[1, {s}] x", "y = DequantizeLinear(x, k)", "float k = {0.5}")
    )
    for op in ("Bernoulli", "RandomNormalLike", "RandomUniformLike"):
        yield Sized(op, lambda s, op=op: graph(_X.format(s), f"z = Sigmoid(x) y = {op}(z)"), drawn=True)  # type: ignore[misc]


def along() -> Iterator[Sized]:
    """What is done along one axis, that which is free or another."""
    for op in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"):
        for axis in (1, 2):
            yield Sized(op, lambda s, op=op, axis=axis: graph(_X.format(s), f"y = {op} <axis = {axis}> (x)"))  # type: ignore[misc]
    for axis in (1, 2):
        yield Sized("CumSum", lambda s, axis=axis: graph(_X.format(s), "y = CumSum(x, a)", f"int64 a = {{{axis}}}"))  # type: ignore[misc]
        for op in (*_REDUCTIONS.split(), "ReduceSumSquare"):
            yield Sized(
                op,
                lambda s, op=op, axis=axis: graph(_X.format(s), f"y = {op}(x, a)", f"int64[1] a = {{{axis}}}"),  # type: ignore[misc]
            )
        for op in ("ArgMax", "ArgMin"):
            yield Sized(
                op,
                lambda s, op=op, axis=axis: graph(_X.format(s), f"y = {op} <axis = {axis}> (x)", gives="int64[] y"),  # type: ignore[misc]
            )
    yield Sized("TopK", lambda s: graph(f"float[1, {s}, 6] x", "y, i = TopK(x, k)", "int64[1] k = {2}"))
    yield Sized("Trilu", lambda s: graph(f"float[1, {s}, 5] x", "y = Trilu(x)"))
    yield Sized("EyeLike", lambda s: graph(f"float[3, {s}] x", "y = EyeLike(x)"))
    yield Sized("LRN", lambda s: graph(f"float[1, 3, {s}, 2] x", "y = LRN <size = 3> (x)"), THIRD)
    yield Sized(
        "MeanVarianceNormalization",
        lambda s: graph(f"float[1, 2, {s}, 2] x", "y = MeanVarianceNormalization(x)"),
        THIRD,
    )
    two = filled("float", "w", (2,), 2, 3), filled("float", "b", (2,), 1, 4)
    yield Sized("LayerNormalization", lambda s: graph(_X.format(s), "y = LayerNormalization(x, w, b)", *two))
    yield Sized("RMSNormalization", lambda s: graph(_X.format(s), "y = RMSNormalization(x, w)", two[0]), opset=23)
    yield Sized(
        "SimplifiedLayerNormalization", lambda s: graph(_X.format(s), "y = SimplifiedLayerNormalization(x, w)", two[0])
    )
    image = "float[1, 2, {}] x"
    yield Sized(
        "BatchNormalization", lambda s: graph(image.format(s), "y = BatchNormalization(x, w, b, b, w)", *two), THIRD
    )
    yield Sized(
        "InstanceNormalization", lambda s: graph(image.format(s), "y = InstanceNormalization(x, w, b)", *two), THIRD
    )
    yield Sized(
        "GroupNormalization",
        lambda s: graph(image.format(s), "y = GroupNormalization <num_groups = 2> (x, w, b)", *two),
        THIRD,
        opset=21,
    )
    for op in ("GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool"):
        yield Sized(op, lambda s, op=op: graph(image.format(s), f"y = {op}(x)"), THIRD)  # type: ignore[misc]


def windows() -> Iterator[Sized]:
    """Windows over space, and space that is made of channels."""
    image = "float[1, 2, {}] x"
    for op in ("AveragePool", "LpPool", "MaxPool"):
        for rest in ("kernel_shape = [2], strides = [2]", "kernel_shape = [3], pads = [1, 1]"):
            yield Sized(
                op,
                lambda s, op=op, rest=rest: graph(image.format(s), f"y = {op} <{rest}> (x)"),  # type: ignore[misc]
                THIRD,
                (8, 11, 5),
            )
    weights = filled("float", "w", (2, 2, 3), 1, 2, 3)
    for op in ("Conv", "ConvTranspose"):
        for rest in ("", "<strides = [2], pads = [1, 1]>"):
            yield Sized(
                op,
                lambda s, op=op, rest=rest: graph(image.format(s), f"y = {op} {rest} (x, w)", weights),  # type: ignore[misc]
                THIRD,
                (8, 11, 5),
            )
    yield Sized(
        "ConvInteger",
        lambda s: graph(
            f"uint8[1, 2, {s}] x", "y = ConvInteger(x, w)", filled("uint8", "w", (2, 2, 3), 1, 2), gives="int32[] y"
        ),
        THIRD,
        (8, 11, 5),
    )
    yield Sized(
        "DepthToSpace", lambda s: graph(f"float[1, 4, {s}, 3] x", "y = DepthToSpace <blocksize = 2> (x)"), THIRD
    )
    yield Sized(
        "SpaceToDepth",
        lambda s: graph(f"float[1, 3, {s}, 2] x", "y = SpaceToDepth <blocksize = 2> (x)"),
        THIRD,
        (4, 6, 2),
    )
    yield Sized(
        "Resize",
        lambda s: graph(f"float[1, 1, {s}, 2] x", "y = Resize(x, , , t)", f"int64[4] t = {{1, 1, {2 * s}, 4}}"),
        THIRD,
    )
    yield Sized(
        "Upsample",
        lambda s: graph(f"float[1, 1, {s}, 2] x", "y = Upsample(x, k)", "float[4] k = {1, 1, 2, 1}"),
        THIRD,
        opset=9,
    )
    yield Sized(
        "Col2Im",
        lambda s: graph(
            f"float[1, 4, {s}] x",
            "y = Col2Im <strides = [2]> (x, i, b)",
            f"int64[1] i = {{{2 * s}}}",
            "int64[1] b = {2}",
        ),
        THIRD,
    )
    yield Sized("DFT", lambda s: graph(f"float[1, {s}, 1] x", "y = DFT(x)"))
    yield Sized("DFT", lambda s: graph(f"float[1, {s}, 1] x", "y = DFT <onesided = 1> (x, l)", "int64 l = {5}"))
    yield Sized("DFT", lambda s: graph(f"float[{s}, 5, 1] x", "y = DFT <axis = 1> (x)"), FIRST, opset=17)
    for rest in ("", "<onesided = 0>"):
        yield Sized(
            "STFT",
            lambda s, rest=rest: graph(  # type: ignore[misc]
                f"float[1, {s}, 1] x",
                f"w = HannWindow(l) y = STFT {rest} (x, k, w, l)",
                "int64 k = {2}",
                "int64 l = {4}",
            ),
            sizes=(8, 11, 5),
        )
    yield Sized("CumProd", lambda s: graph(_X.format(s), "y = CumProd(x, i)", "int64 i = {1}"), opset=26)
    yield Sized(
        "CenterCropPad", lambda s: graph(_X.format(s), "y = CenterCropPad <axes = [2]> (x, c)", "int64[1] c = {3}")
    )
    yield Sized(
        "CenterCropPad", lambda s: graph(_X.format(s), "y = CenterCropPad <axes = [1]> (x, c)", "int64[1] c = {5}")
    )
    both = "alpha = 2.0, beta = 0.5"
    old = {"Affine": both, "ParametricSoftplus": both, "Scale": "scale = 2.0", "ScaledTanh": both}
    for op, rest in old.items():
        yield Sized(op, lambda s, op=op, rest=rest: graph(_X.format(s), f"y = {op} <{rest}> (x)"), opset=7)  # type: ignore[misc]
    space = "float[1, 2, {}, 3] x"
    yield Sized(
        "ImageScaler",
        lambda s: graph(space.format(s), "y = ImageScaler <scale = 2.0, bias = [1.0, 2.0]> (x)"),
        THIRD,
        opset=7,
    )
    yield Sized("Crop", lambda s: graph(space.format(s), "y = Crop <border = [1, 0, 1, 1]> (x)"), THIRD, opset=7)
    yield Sized(
        "DynamicSlice",
        lambda s: graph(
            space.format(s),
            "y = DynamicSlice(x, a, b, c)",
            *(f"int64[1] {each}" for each in ("a = {1}", "b = {3}", "c = {3}")),
        ),
        THIRD,
        opset=7,
    )
    turn = filled("float", "t", (1, 2, 3), 0, 1, 0, 1, 0, 0)
    sampled = "a = AffineGrid(t, s) y = GridSample(x, a)"
    for op in ("AffineGrid", "GridSample"):
        yield Sized(
            op,
            lambda s: graph(f"float[1, 1, {s}, 3] x", f"s = Shape(x) {sampled}", turn),
            THIRD,
        )
    yield Sized(
        "GridSample",
        lambda s: graph(
            f"float[{s}, 1, 3, 3] x", "y = GridSample(x, p)", filled("float", "p", (s, 1, 2, 2), 0, 0.5, 1, -1)
        ),
        FIRST,
    )


def products() -> Iterator[Sized]:
    """Products, and sequences that are stepped through."""
    weights = filled("float", "w", (2, 3), 1, 2, 3, 4, 5, 6)
    yield Sized("MatMul", lambda s: graph(_X.format(s), "y = MatMul(x, w)", weights))
    yield Sized("MatMul", lambda s: graph(_X.format(s), "t = Transpose <perm = [0, 2, 1]> (x) y = MatMul(x, t)"))
    yield Sized(
        "Gemm",
        lambda s: graph(f"float[{s}, 2] x", "y = Gemm(x, w, b)", weights, filled("float", "b", (s, 3), 1, 2, 3)),
        FIRST,
    )
    yield Sized("Gemm", lambda s: graph(f"float[2, {s}] x", "y = Gemm <transA = 1> (x, w)", weights))
    yield Sized("Einsum", lambda s: graph(_X.format(s), 'y = Einsum <equation = "bsc,cd->bsd"> (x, w)', weights))
    yield Sized("Einsum", lambda s: graph(_X.format(s), 'y = Einsum <equation = "bsc,btc->bst"> (x, x)'))
    yield Sized(
        "MatMulInteger",
        lambda s: graph(
            f"uint8[1, {s}, 2] x", "y = MatMulInteger(x, w)", filled("uint8", "w", (2, 3), 1, 2, 3), gives="int32[] y"
        ),
    )
    yield Sized("Det", lambda s: graph(f"float[1, {s}, 2, 2] x", "y = Det(x)"))
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        layer = filled("float", "w", (1, gates, 2), 1, 2), filled("float", "r", (1, gates, 1), 1, 0.5)
        run = f"{op} <hidden_size = 1>"
        yield Sized(
            op,
            lambda s, run=run, layer=layer: graph(f"float[{s}, 2, 2] x", f"y = {run} (x, w, r)", *layer),  # type: ignore[misc]
            FIRST,
        )
        yield Sized(
            op,
            lambda s, run=run, layer=layer: graph(  # type: ignore[misc]
                f"float[3, {s}, 2] x",
                f"y, z = {run} (x, w, r, , l, h)",
                *layer,
                filled("float", "h", (1, s, 1), 0.5),
                filled("int32", "l", (s,), 2),
            ),
        )
        yield Sized(
            op,
            lambda s, run=run, layer=layer: graph(  # type: ignore[misc]
                f"float[3, {s}, 2] x",
                f"h = ConstantOfShape(t) y = {run} (x, w, r, , , h)",
                *layer,
                f"int64[3] t = {{1, {s}, 1}}",
            ),
            sizes=(1, 2, 5),
        )
    yield Sized(
        "ReverseSequence",
        lambda s: graph(f"float[3, {s}, 2] x", "y = ReverseSequence(x, l)", filled("int64", "l", (s,), 2)),
    )


def moved() -> Iterator[Sized]:
    """Axes that are moved, merged, taken apart and made."""
    yield Sized("Transpose", lambda s: graph(_X.format(s), "y = Transpose <perm = [2, 0, 1]> (x)"))
    yield Sized(
        "Reshape", lambda s: graph(f"float[1, {s}, 8] x", "y = Reshape(x, t)", f"int64[4] t = {{1, {s}, 2, 4}}")
    )
    yield Sized("Reshape", lambda s: graph(f"float[2, {s}, 3] x", "y = Reshape(x, t)", f"int64[2] t = {{{2 * s}, 3}}"))
    yield Sized("Flatten", lambda s: graph(_X.format(s), "y = Flatten <axis = 2> (x)"))
    yield Sized("Squeeze", lambda s: graph(f"float[1, {s}, 1] x", "y = Squeeze(x, a)", "int64[1] a = {2}"))
    yield Sized("Unsqueeze", lambda s: graph(_X.format(s), "y = Unsqueeze(x, a)", "int64[1] a = {2}"))
    yield Sized(
        "Concat",
        lambda s: graph(_X.format(s), "y = Concat <axis = 1> (c, x, x)", filled("float", "c", (1, 1, 2), 7, 8)),
    )
    yield Sized(
        "Concat", lambda s: graph(_X.format(s), "y = Concat <axis = 2> (x, c)", filled("float", "c", (1, s, 1), 7))
    )
    yield Sized(
        "Split", lambda s: graph(f"float[1, {s}, 6] x", "a, y = Split <axis = 2> (x, p)", "int64[2] p = {2, 4}")
    )
    yield Sized(
        "Slice",
        lambda s: graph(
            _X.format(s), "y = Slice(x, b, e, a)", "int64[1] b = {1}", f"int64[1] e = {{{s}}}", "int64[1] a = {1}"
        ),
    )
    for pads in ("{0, 0, 1, 0, 0, 1}", "{0, 1, 0, 0, 2, 0}"):
        yield Sized("Pad", lambda s, pads=pads: graph(_X.format(s), "y = Pad(x, p)", f"int64[6] p = {pads}"))  # type: ignore[misc]
    yield Sized("Expand", lambda s: graph(f"float[1, {s}, 1] x", "y = Expand(x, t)", f"int64[3] t = {{1, {s}, 3}}"))
    yield Sized("Tile", lambda s: graph(_X.format(s), "y = Tile(x, r)", "int64[3] r = {1, 2, 3}"))
    yield Sized("Shape", lambda s: graph(_X.format(s), "y = Shape(x)", gives="int64[] y"))
    yield Sized("Size", lambda s: graph(_X.format(s), "y = Size(x)", gives="int64[] y"))
    yield Sized(
        "ConstantOfShape",
        lambda s: graph(_X.format(s), "a = ConstantOfShape(t) y = Add(x, a)", f"int64[2] t = {{{s}, 1}}"),
    )
    yield Sized("ConstantOfShape", lambda s: graph(_X.format(s), "t = Shape(x) y = ConstantOfShape(t)"))
    yield Sized(
        "Range",
        lambda s: graph(
            f"int64[1, {s}] x",
            "l = Shape <start = 1> (x) n = Squeeze(l) r = Range(z, n, o) y = Add(x, r)",
            "int64 z = {0}",
            "int64 o = {1}",
            gives="int64[] y",
        ),
    )


def picked() -> Iterator[Sized]:
    """Elements by their numbers, and those that only a run can tell."""
    table = filled("float", "w", (25, 2), *range(50))
    numbers = "int64[1, {}] x"
    yield Sized("Gather", lambda s: graph(numbers.format(s), "y = Gather(w, x)", table))
    yield Sized("Gather", lambda s: graph(_X.format(s), "y = Gather <axis = 2> (x, i)", "int64[3] i = {1, 0, 1}"))
    yield Sized(
        "GatherElements",
        lambda s: graph(_X.format(s), "y = GatherElements <axis = 2> (x, i)", filled("int64", "i", (1, s, 1), 1)),
    )
    yield Sized(
        "GatherElements",
        lambda s: graph(numbers.format(s), "y = GatherElements(d, x)", filled("float", "d", (25, s), 7)),
    )
    yield Sized(
        "ScatterElements",
        lambda s: graph(
            f"float[1, {s}] x",
            "y = ScatterElements(d, i, x)",
            filled("float", "d", (3, s), 7),
            filled("int64", "i", (1, s), 1),
        ),
    )
    yield Sized("GatherND", lambda s: graph(f"int64[{s}, 1] x", "y = GatherND(w, x)", table), FIRST)
    yield Sized(
        "GatherND",
        lambda s: graph(f"float[{s}, 3, 2] x", "y = GatherND <batch_dims = 1> (x, i)", filled("int64", "i", (s, 1), 2)),
        FIRST,
    )
    yield Sized(
        "ScatterElements",
        lambda s: graph(
            _X.format(s),
            "y = ScatterElements <axis = 2> (x, i, u)",
            filled("int64", "i", (1, s, 1), 1),
            filled("float", "u", (1, s, 1), 9),
        ),
    )
    yield Sized(
        "ScatterND",
        lambda s: graph(
            f"float[3, {s}] x", "y = ScatterND(x, i, u)", "int64[1, 1] i = {1}", filled("float", "u", (1, s), 9)
        ),
    )
    yield Sized(
        "OneHot", lambda s: graph(numbers.format(s), "y = OneHot(x, d, v)", "int64 d = {9}", "float[2] v = {0, 1}")
    )
    yield Sized("NonZero", lambda s: graph(_X.format(s), "z = Relu(x) y = NonZero(z)", gives="int64[] y"))
    yield Sized("Compress", lambda s: graph(_X.format(s), "y = Compress <axis = 2> (x, c)", "bool[2] c = {0, 1}"))
    yield Sized("Unique", lambda s: graph(f"int64[{s}] x", "y = Unique(x)", gives="int64[] y"), FIRST)
    yield Sized(
        "NonMaxSuppression",
        lambda s: graph(
            f"float[1, {s}, 4] x, float[1, 1, {s}] z",
            "y = NonMaxSuppression(x, z, m)",
            "int64[1] m = {9}",
            gives="int64[] y",
        ),
        {"x": {1: "S"}, "z": {2: "S"}},
    )


CASES = [case for family in (pointwise, along, windows, products, moved, picked, learned) for case in family()]
