"""Small models of one operator each, in the words of every opset from 7 to 25 in which those words exist.

A row is the first opset, the last, and the body; all have a named dim.  Operators whose meaning, attributes or inputs
changed between two opsets are all here, each with the attributes that the change is about.
"""

from __future__ import annotations

from typing import NamedTuple

import onnx
from onnx import shape_inference

from tests.models import model


class Row(NamedTuple):
    """One operator in the words of some opsets."""

    first: int
    last: int
    body: str

    def at(self, opset: int) -> onnx.ModelProto:
        """The model, with the output dims that onnx infers."""
        proto = model(f"g {self.body}", f'<ir_version: 10, opset_import: ["" : {opset}]>')
        for info in proto.graph.output:
            info.type.tensor_type.ClearField("shape")
        return shape_inference.infer_shapes(proto, strict_mode=True)


def _rows(first: int, last: int, *bodies: str) -> list[Row]:
    return [Row(first, last, body) for body in bodies]


def _one(node: str, constants: str = "", dims: str = "N, 3, 4", kind: str = "float", out: str = "float") -> str:
    outputs = ", ".join(f"{out} {name}" for name in node.partition(" = ")[0].split(", "))
    return f"({kind}[{dims}] x) => ({outputs}) <{constants}> {{ {node} }}"


def _image(node: str, constants: str = "", dims: str = "N, 2, 6, 6") -> str:
    return _one(node, constants, dims)


_UNARY = "Abs Ceil Elu Identity LeakyRelu Relu"
_REDUCED = "ReduceL2 ReduceMax ReduceMean ReduceLogSumExp"
_W = "float[4, 2, 3, 3] w = {" + ", ".join(str(i % 5 - 2) for i in range(72)) + "}"
_SCALES = {"twice": "1, 1, 2, 2", "half": "1, 1, 0.5, 0.5", "odd": "1, 1, 1.5, 1.5", "mixed": "1, 1, 2, 0.5"}


def _resizes() -> list[Row]:
    rows = []
    for scales in _SCALES.values():
        for mode in ("nearest", "linear"):
            constant = f"float[4] s = {{{scales}}}"
            rows += _rows(10, 10, _image(f'y = Resize<mode = "{mode}">(x, s)', constant))
            if "0.5" not in scales:
                rows += _rows(9, 9, _image(f'y = Upsample<mode = "{mode}">(x, s)', constant))
                listed = f"scales = [{', '.join(str(float(each)) for each in scales.split(', '))}]"
                rows += _rows(7, 8, _image(f'y = Upsample<mode = "{mode}", {listed}>(x)'))
            rows += _rows(11, 25, _image(f'y = Resize<mode = "{mode}">(x, r, s)', f"float[0] r = {{}}, {constant}"))
    half = "float[0] r = {}, float[4] s = {1, 1, 0.6, 0.6}"
    rows += _rows(
        11, 25, _image('y = Resize<mode = "cubic", coordinate_transformation_mode = "align_corners">(x, r, s)', half)
    )
    rows += _rows(
        11,
        25,
        _image('y = Resize<coordinate_transformation_mode = "asymmetric", nearest_mode = "floor">(x, r, s)', half),
    )
    rows += _rows(11, 12, _image('y = Resize<coordinate_transformation_mode = "tf_half_pixel_for_nn">(x, r, s)', half))
    rows += _rows(10, 10, "(float[N, 2, 6, 6] x, float[4] s) => (float y) { y = Resize(x, s) }")
    rows += _rows(18, 25, _image('y = Resize<mode = "linear", antialias = 1>(x, r, s)', half))
    return rows


def _pools() -> list[Row]:
    rows = []
    for more in ("", ", strides = [2, 2], pads = [1, 1, 1, 1]", ', auto_pad = "SAME_UPPER", strides = [2, 2]'):
        rows += _rows(7, 25, _image(f"y = MaxPool<kernel_shape = [3, 3]{more}>(x)"))
        rows += _rows(7, 25, _image(f"y = AveragePool<kernel_shape = [3, 3]{more}, count_include_pad = 1>(x)"))
        rows += _rows(7, 25, _image(f"y = LpPool<kernel_shape = [3, 3]{more}>(x)"))
    for kind in ("MaxPool", "AveragePool"):
        ceil = "kernel_shape = [2, 2], strides = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1"
        rows += _rows(10, 25, _image(f"y = {kind}<{ceil}>(x)", dims="N, 2, 5, 7"))
    include = "kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], ceil_mode = 1, count_include_pad = 1"
    rows += _rows(10, 25, _image(f"y = AveragePool<{include}>(x)"))
    rows += _rows(
        8, 25, _image("y, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)").replace("float i", "int64 i")
    )
    rows += _rows(10, 25, _image("y = MaxPool<kernel_shape = [2, 2], dilations = [2, 2]>(x)"))
    return rows


def _reductions() -> list[Row]:
    rows = []
    for kind in _REDUCED.split():
        rows += _rows(7, 17, _one(f"y = {kind}<axes = [1], keepdims = 0>(x)"))
        rows += _rows(18, 25, _one(f"y = {kind}<keepdims = 0>(x, z)", "int64[1] z = {1}"))
        rows += _rows(7, 25, _one(f"y = {kind}(x)"))
    rows += _rows(7, 12, _one("y = ReduceSum<axes = [1, 2], keepdims = 0>(x)"))
    rows += _rows(11, 17, _one("y = ReduceMean<axes = [-1]>(x)"))
    rows += _rows(13, 25, _one("y = ReduceSum<keepdims = 0>(x, z)", "int64[1] z = {-1}"))
    rows += _rows(13, 25, _one("y = ReduceSum<noop_with_empty_axes = 1>(x, z)", "int64[0] z = {}"))
    rows += _rows(18, 25, _one("y = ReduceMax<noop_with_empty_axes = 1>(x)"))
    for kind in ("ArgMax", "ArgMin"):
        rows += _rows(7, 25, _one(f"y = {kind}<axis = 1, keepdims = 0>(x)", out="int64"))
        rows += _rows(12, 25, _one(f"y = {kind}<axis = 1, select_last_index = 1>(x)", out="int64"))
        rows += _rows(11, 25, _one(f"y = {kind}<axis = -1>(x)", out="int64"))
    return rows


def _axes() -> list[Row]:
    rows = []
    for kind in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis in (1, 2):
            rows += _rows(7, 25, _one(f"y = {kind}<axis = {axis}>(x)"))
        rows += _rows(7, 25, _one(f"y = {kind}(x)"), _one(f"y = {kind}(x)", dims="N, 5"))
        rows += _rows(11, 25, _one(f"y = {kind}<axis = -1>(x)"), _one(f"y = {kind}<axis = -2>(x)"))
    rows += _rows(7, 12, _one("y = Squeeze<axes = [1]>(x)", dims="N, 1, 4"), _one("y = Unsqueeze<axes = [1]>(x)"))
    rows += _rows(11, 12, _one("y = Squeeze<axes = [-1]>(x)", dims="N, 4, 1"), _one("y = Unsqueeze<axes = [-1]>(x)"))
    rows += _rows(13, 25, _one("y = Squeeze(x, z)", "int64[1] z = {1}", "N, 1, 4"))
    rows += _rows(13, 25, _one("y = Unsqueeze(x, z)", "int64[1] z = {1}"))
    rows += _rows(7, 12, _one("y, z = Split<axis = 1, split = [1, 2]>(x)"), _one("y, z, w = Split<axis = 1>(x)"))
    rows += _rows(
        13, 17, _one("y, z = Split<axis = 1>(x, s)", "int64[2] s = {1, 2}"), _one("y, z = Split<axis = 2>(x)")
    )
    rows += _rows(18, 25, _one("y, z = Split<axis = 1>(x, s)", "int64[2] s = {1, 2}"))
    rows += _rows(18, 25, _one("y, z = Split<axis = 2, num_outputs = 2>(x)"))
    rows += _rows(18, 25, _one("y, z = Split<axis = 2, num_outputs = 2>(x)", dims="N, 3, 5"))
    rows += _rows(
        7,
        9,
        _one("y = Slice<starts = [1], ends = [-1], axes = [2]>(x)"),
        _one("y = Slice<starts = [0], ends = [9]>(x)"),
    )
    rows += _rows(10, 25, _one("y = Slice(x, b, e, a)", "int64[1] b = {1}, int64[1] e = {9}, int64[1] a = {2}"))
    backwards = "int64[1] b = {-1}, int64[1] e = {-9}, int64[1] a = {2}, int64[1] t = {-2}"
    rows += _rows(10, 25, _one("y = Slice(x, b, e, a, t)", backwards))
    rows += _rows(7, 25, _one("y = Concat<axis = 1>(x, x)"), _one("y = Flatten<axis = 2>(x)"), _one("y = Flatten(x)"))
    rows += _rows(11, 25, _one("y = Concat<axis = -1>(x, x)"), _one("y = Flatten<axis = -1>(x)"))
    rows += _rows(7, 25, _one("y = Transpose<perm = [0, 2, 1]>(x)"), _one("y = Transpose(x)"))
    rows += _rows(
        7,
        25,
        _one("y = Gather<axis = 1>(x, i)", "int64[2] i = {2, 0}"),
        _one("y = Tile(x, i)", "int64[3] i = {1, 2, 1}"),
    )
    rows += _rows(11, 25, _one("y = Gather<axis = 1>(x, i)", "int64[2] i = {-1, 0}"))
    rows += _rows(7, 25, _one("y = Shape(x)", out="int64"), _one("y = Size(x)", out="int64"))
    rows += _rows(15, 25, _one("y = Shape<start = 1, end = -1>(x)", out="int64"))
    rows += _rows(7, 9, _one("y, i = TopK<axis = 1, k = 2>(x)").replace("float i", "int64 i"))
    rows += _rows(10, 10, _one("y, i = TopK<axis = 1>(x, k)", "int64[1] k = {2}").replace("float i", "int64 i"))
    for more in ("", ", largest = 0", ", sorted = 1"):
        rows += _rows(
            11, 25, _one(f"y, i = TopK<axis = 1{more}>(x, k)", "int64[1] k = {2}").replace("float i", "int64 i")
        )
    return rows


def _attributes() -> list[Row]:
    norm = "float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] m = {0.5, 0}, float[2] v = {1, 3}"
    rows = _rows(7, 10, _one("y = Clip<min = -1.0, max = 1.0>(x)"), _one("y = Clip<max = 0.5>(x)"), _one("y = Clip(x)"))
    rows += _rows(
        11, 25, _one("y = Clip(x, l, h)", "float l = {-1}, float h = {1}"), _one("y = Clip(x, , h)", "float h = {1}")
    )
    rows += _rows(11, 25, _one("y = Clip(x)"))
    for mode in ("constant", "reflect", "edge"):
        rows += _rows(7, 10, _one(f'y = Pad<mode = "{mode}", pads = [0, 1, 0, 0, 0, 1]>(x)'))
        rows += _rows(11, 25, _one(f'y = Pad<mode = "{mode}">(x, p)', "int64[6] p = {0, 1, 0, 0, 0, 1}"))
    rows += _rows(7, 10, _one("y = Pad<pads = [0, 1, -1, 0, 0, 1], value = 2.0>(x)"))
    rows += _rows(18, 25, _one("y = Pad(x, p, v, a)", "int64[2] p = {1, 1}, float v = {3}, int64[1] a = {1}"))
    rows += _rows(19, 25, _one('y = Pad<mode = "wrap">(x, p)', "int64[6] p = {0, 1, 0, 0, 0, 1}"))
    rows += _rows(7, 11, _one("y = Dropout<ratio = 0.5>(x)"))
    rows += _rows(12, 25, _one("y = Dropout(x, r)", "float r = {0.5}"), _one("y = Dropout(x)"))
    rows += _rows(7, 25, _image("y = BatchNormalization(x, s, b, m, v)", norm))
    rows += _rows(7, 25, _image("y = BatchNormalization<epsilon = 0.5, momentum = 0.5>(x, s, b, m, v)", norm))
    rows += _rows(7, 8, _image("y = BatchNormalization<spatial = 1>(x, s, b, m, v)", norm))
    rows += _rows(7, 25, _one("y = Cast<to = 7>(x)", out="int64"), _one("y = Cast<to = 10>(x)", out="float16"))
    rows += _rows(7, 25, _one("y = Cast<to = 9>(x)", out="bool"), _one("y = Cast<to = 1>(x)", kind="int32"))
    rows += _rows(
        19, 25, _one("c = Cast<to = 17, saturate = 0>(x) y = Cast<to = 1>(c)").replace("(float c)", "(float y)")
    )
    rows += _rows(15, 25, "(float[N, 3] x, int32[N, 3] z) => (int32 y) { y = CastLike(x, z) }")
    rows += _rows(7, 25, _image("y = Conv<kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, w)", _W))
    rows += _rows(7, 25, _image('y = Conv<auto_pad = "SAME_LOWER", strides = [2, 2]>(x, w)', _W))
    rows += _rows(
        7, 25, _image("y = ConvTranspose<strides = [2, 2]>(x, w)", _W.replace("[4, 2, 3, 3]", "[2, 4, 3, 3]"))
    )
    rows += _rows(
        7,
        25,
        _image("y = DepthToSpace<blocksize = 2>(x)", dims="N, 8, 2, 3"),
        _image("y = SpaceToDepth<blocksize = 2>(x)"),
    )
    rows += _rows(11, 25, _image('y = DepthToSpace<blocksize = 2, mode = "CRD">(x)', dims="N, 8, 2, 3"))
    rows += _rows(
        7, 25, _image("y = LRN<size = 3>(x)"), _image("y = InstanceNormalization(x, s, s)", "float[2] s = {1, 2}")
    )
    rows += _rows(9, 12, _image("y = MeanVarianceNormalization(x)"))
    rows += _rows(9, 25, _image("y = LpNormalization<axis = 1, p = 1>(x)"))
    rows += _rows(
        7,
        25,
        "(float[N, 3] x, float[3, 4] w) => (float y) <float[4] c = {1, 2, 3, 4}> { y = Gemm<alpha = 0.5>(x, w, c) }",
    )
    rows += _rows(11, 25, "(float[N, 3] x, float[3, 4] w) => (float y) { y = Gemm(x, w) }")
    return rows


def _others() -> list[Row]:
    rows = []
    for kind in _UNARY.split():
        rows += _rows(7, 25, _one(f"y = {kind}(x)"))
    for kind in ("Add", "Div", "Pow", "Max", "Sum", "PRelu", "MatMul"):
        dims = "3, 4" if kind != "MatMul" else "4, 2"
        rows += _rows(8, 25, f"(float[N, 3, 4] x, float[{dims}] z) => (float y) {{ y = {kind}(x, z) }}")
    for kind, first in (("Greater", 7), ("Less", 7), ("Equal", 11), ("GreaterOrEqual", 12), ("LessOrEqual", 12)):
        rows += _rows(first, 25, f"(float[N, 3] x, float[3] z) => (bool y) {{ y = {kind}(x, z) }}")
    rows += _rows(10, 25, "(float[N, 3] x, float[3] z) => (float y) { y = Mod<fmod = 1>(x, z) }")
    rows += _rows(10, 25, "(int32[N, 3] x) => (int32 y) <int32[3] z = {2, 3, -4}> { y = Mod(x, z) }")
    rows += _rows(12, 25, "(float[N, 3] x) => (float y) <int32 z = {2}> { y = Pow(x, z) }")
    rows += _rows(
        9,
        25,
        "(bool[N, 3] c, float[N, 3] x) => (float y) { y = Where(c, x, x) }",
        _one("y = Erf(x)"),
        _one("y = Sign(x)"),
    )
    rows += _rows(9, 25, _one("y = IsNaN(x)", out="bool"), _one("y = NonZero(x)", out="int64"), _one("y = Cosh(x)"))
    rows += _rows(9, 25, "(int64[N] x) => (float y) <int64 d = {4}, float[2] v = {0, 1}> { y = OneHot(x, d, v) }")
    rows += _rows(11, 25, "(float[N, 3] x, bool[N] c) => (float y) { y = Compress<axis = 0>(x, c) }")
    rows += _rows(9, 10, "(float[N, 3] x, int64[N, 3] i) => (float y) { y = Scatter<axis = 1>(x, i, x) }")
    for more in ("", ', reduction = "add"', ', reduction = "max"'):
        first = 11 if not more else 16 if "add" in more else 18
        rows += _rows(
            first, 25, f"(float[N, 3] x, int64[N, 3] i) => (float y) {{ y = ScatterElements<axis = 1{more}>(x, i, x) }}"
        )
    rows += _rows(11, 25, "(float[N, 3] x, int64[2, 1] i, float[2, 3] u) => (float y) { y = ScatterND(x, i, u) }")
    rows += _rows(11, 25, "(float[N, 3] x, int64[N, 3] i) => (float y) { y = GatherElements<axis = 1>(x, i) }")
    rows += _rows(
        11,
        25,
        "(float[N, 3] x, int64[2, 1] i) => (float y) { y = GatherND(x, i) }",
        _one("y = CumSum(x, a)", "int32 a = {1}"),
    )
    rows += _rows(8, 25, "(float[N, 3] x) => (float y) <int64[3] s = {2, 1, 3}> { y = Expand(x, s) }")
    rows += _rows(9, 25, "(int64[3] x) => (float y) { y = ConstantOfShape<value = float[1] {2}>(x) }")
    rows += _rows(
        11, 25, _one("y = Round(x)"), _one('y = BitShift<direction = "LEFT">(x, x)', kind="uint8", out="uint8")
    )
    quantized = "float s = {0.5}, uint8 z = {3}"
    rows += _rows(10, 25, _one("y = QuantizeLinear(x, s, z)", quantized, out="uint8"))
    rows += _rows(10, 25, _one("y = DequantizeLinear(x, s, z)", quantized, kind="uint8"))
    axis = "float[3] s = {0.5, 1, 2}, uint8[3] z = {3, 0, 1}"
    rows += _rows(13, 25, _one("y = QuantizeLinear<axis = 1>(x, s, z)", axis, out="uint8"))
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        w = ", ".join(str((i % 7 - 3) / 4) for i in range(gates * 2 * 3))
        r = ", ".join(str((i % 5 - 2) / 4) for i in range(gates * 2 * 2))
        constants = f"float[1, {2 * gates}, 3] w = {{{w}}}, float[1, {2 * gates}, 2] r = {{{r}}}"
        rows += _rows(7, 25, _one(f"y, h = {kind}<hidden_size = 2>(x, w, r)", constants, "4, N, 3"))
    rows += _rows(
        14,
        25,
        _one(
            "y, h = GRU<hidden_size = 2, layout = 0>(x, w, r)",
            f"float[1, 6, 3] w = {{{', '.join(['0.5'] * 18)}}}, float[1, 6, 2] r = {{{', '.join(['0.25'] * 12)}}}",
            "4, N, 3",
        ),
    )
    rows += _rows(
        10,
        20,  # no onnxruntime runs the one of 22
        "(float[N, 2, 6, 6] x) => (float y) <float[1, 4] b = {0, 0, 4, 4}, int64[1] i = {0}>"
        " { y = RoiAlign<output_height = 2, output_width = 2>(x, b, i) }",
    )
    rows += _rows(16, 25, "(float[N, 2, 4, 4] x, float[N, 3, 3, 2] g) => (float y) { y = GridSample(x, g) }")
    rows += _rows(7, 10, _one("c = Constant<value = float[1] {2}>() y = Add(x, c)").replace("(float c)", "(float y)"))
    rows += _rows(12, 25, _one("c = Constant<value_float = 2.0>() y = Add(x, c)").replace("(float c)", "(float y)"))
    return rows


WORLD = [*_resizes(), *_pools(), *_reductions(), *_axes(), *_attributes(), *_others()]
