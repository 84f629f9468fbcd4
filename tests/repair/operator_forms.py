"""A small model of one node for every form that an operator of ONNX ever had, by the opset since which it has it.

A form is written in words, one for each input: `x[1,3]` is data of one sample (`x[4,1*,3]`: the samples are at the
star), `f[3]` a constant of that many numbers, `f(1,2)` one of these, `f.2` a single number, `-` an input that is left
out.  The letter is the type: f, i (int64), u (uint8), b (bool), s (text); data are floats where none follows the x.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]

_IMAGE = "x[1,3,4,4]"
_LINE = "x[1,4]"
_ROWS = "x[1,3,4]"
_CELL = {size: f"x[4,1*,3] f[1,{size},3] f[1,{size},2]" for size in (2, 6, 8)}
_FIRST = {"consumed_inputs": [0]}
"""The first opset had a list of the inputs that a node may overwrite."""

TYPES: Mapping[str, Any] = {"f": np.float32, "i": np.int64, "u": np.uint8, "b": np.bool_, "s": np.object_}


class Form(NamedTuple):
    """One node: its inputs in words, its attributes and how many outputs it has."""

    inputs: str
    attributes: Mapping[str, Any] = {}
    outputs: int = 1


def _graph(text: str) -> onnx.GraphProto:
    return onnx.parser.parse_graph(text)


_BRANCH = "{name} () => (float[1, 4] {end}) {{ {end} = {op}(x0) }}"
_SAME = _graph("turn (int64 i, bool c, float[1, 4] s) => (bool d, float[1, 4] t) { d = Identity(c) t = Relu(s) }")
_STEP = _graph("step (float[1, 4] s, float[1, 4] v) => (float[1, 4] t, float[1, 4] w) { t = Add(s, v) w = Relu(t) }")
_ROW = _graph("row (float[4] s, float[4] v) => (float[4] t, float[4] w) { t = Add(s, v) w = Relu(t) }")
_BRANCHES = {
    "then_branch": _graph(_BRANCH.format(name="one", end="p", op="Relu")),
    "else_branch": _graph(_BRANCH.format(name="two", end="q", op="Neg")),
}
_WORDS = {
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 1,
    "max_skip_count": 0,
    "ngram_counts": [0],
    "ngram_indexes": [0, 1],
    "pool_int64s": [0, 1],
}

FORMS: dict[str, dict[int, Form]] = {
    **{op: {1: Form(f"{_LINE} f[1,4]", _FIRST), 6: Form(f"{_LINE} f[1,4]")} for op in ("Add", "Div", "Mul", "Sub")},
    **{op: {1: Form(f"{_LINE} f[1,4]")} for op in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Pow")},
    **{op: {1: Form("xb[1,4] b[1,4]")} for op in ("And", "Or", "Xor")},
    **{op: {1: Form("xi[1,4] i[1,4]")} for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal")},
    **{op: {1: Form(f"{_LINE} f[1,4]", _FIRST), 6: Form(f"{_LINE} f[1,4]")} for op in ("Max", "Mean", "Min", "Sum")},
    **{
        op: {1: Form(_LINE, _FIRST), 6: Form(_LINE)}
        for op in ("Abs", "Ceil", "Elu", "Exp", "Floor", "HardSigmoid", "LeakyRelu", "Log", "Neg", "Reciprocal", "Relu")
    },
    **{op: {1: Form(_LINE, _FIRST), 6: Form(_LINE)} for op in ("Selu", "Sigmoid", "Sqrt", "Tanh")},
    **{
        f"Reduce{op}": {1: Form(_ROWS, {"axes": [1]}), 13 if op == "Sum" else 18: Form(f"{_ROWS} i(1)")}
        for op in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
    },
    **{op: {1: Form(_ROWS, {"axis": 1})} for op in ("ArgMax", "ArgMin")},
    **{op: {1: Form("i.3")} for op in ("BlackmanWindow", "HammingWindow", "HannWindow")},
    **{op: {1: Form(_IMAGE)} for op in ("GlobalAveragePool", "GlobalMaxPool")},
    "AffineGrid": {20: Form("x[1,2,3] i(1,1,2,2)")},
    "Attention": {23: Form("x[1,2,3,4] f[1,2,3,4] f[1,2,3,4]")},
    "AveragePool": {1: Form(_IMAGE, {"kernel_shape": [2, 2]})},
    "BatchNormalization": {
        1: Form(f"{_IMAGE} f[3] f[3] f[3] f[3]", {"is_test": 1, "consumed_inputs": [0, 0, 0, 1, 1]}),
        6: Form(f"{_IMAGE} f[3] f[3] f[3] f[3]", {"is_test": 1}),
        7: Form(f"{_IMAGE} f[3] f[3] f[3] f[3]"),
    },
    "BitCast": {26: Form(_LINE, {"to": TensorProto.INT32})},
    "BitShift": {11: Form("xu[1,4] u[1,4]", {"direction": "LEFT"})},
    "BitwiseNot": {18: Form("xi[1,4]")},
    "Cast": {1: Form(_LINE, {"to": "DOUBLE"}), 6: Form(_LINE, {"to": TensorProto.DOUBLE})},
    "CastLike": {15: Form(f"{_LINE} i.1")},
    "CausalConvWithState": {27: Form("x[1,3,4] f[3,1,2]", {}, 2)},
    "CenterCropPad": {18: Form(f"{_LINE} i(2)", {"axes": [1]})},
    "Clip": {1: Form(_LINE, _FIRST), 6: Form(_LINE, {"min": 0.0}), 11: Form(f"{_LINE} f.0")},
    "Col2Im": {18: Form("x[1,4,4] i(3,3) i(2,2)")},
    "Compress": {9: Form(f"{_LINE} b(1,0,1)", {"axis": 1})},
    "Concat": {1: Form("x[1,2] f[1,3]", {"axis": 1})},
    "Constant": {1: Form("", {"value": numpy_helper.from_array(np.ones(2, np.float32))})},
    "ConstantOfShape": {9: Form("i(2)")},
    "Conv": {1: Form(f"{_IMAGE} f[2,3,2,2] f[2]")},
    "ConvInteger": {10: Form("xu[1,3,4,4] u[2,3,2,2]")},
    "ConvTranspose": {1: Form(f"{_IMAGE} f[3,2,2,2] f[2]")},
    "CumProd": {26: Form(f"{_LINE} i.1")},
    "CumSum": {11: Form(f"{_LINE} i.1")},
    "DFT": {17: Form("x[1,4,1]", {"axis": 1}), 20: Form("x[1,4,1] - i.1")},
    "DeformConv": {19: Form("x[1,1,3,3] f[1,1,2,2] x[1,8,2,2]")},
    "DepthToSpace": {1: Form("x[1,4,2,2]", {"blocksize": 2})},
    "DequantizeLinear": {10: Form("xu[1,4] f.0.5 u.3")},
    "Det": {11: Form("x[1,3,3]")},
    "Dropout": {
        1: Form(_LINE, {"is_test": 1, "consumed_inputs": [0]}),
        6: Form(_LINE, {"is_test": 1}),
        7: Form(_LINE),
    },
    "Einsum": {12: Form("x[1,3,4] f[4,2]", {"equation": "bij,jk->bik"})},
    "Expand": {8: Form("x[1,1,4] i(1,3,4)")},
    "Flatten": {1: Form(_ROWS)},
    "GRU": {1: Form(_CELL[6], {"hidden_size": 2}, 2)},
    "Gather": {1: Form(f"{_ROWS} i(2,0)", {"axis": 1})},
    "GatherElements": {11: Form("x[1,4] xi[1,2]", {"axis": 1})},
    "GatherND": {11: Form("x[1,4] i(0,2,0,3)@2,2"), 12: Form("x[1,4] xi[1,2,1]", {"batch_dims": 1})},
    "Gemm": {1: Form("x[1,3] f[3,4] f[4]", {"broadcast": 1}), 7: Form("x[1,3] f[3,4] f[4]")},
    "GlobalLpPool": {1: Form(_IMAGE)},
    "GridSample": {16: Form("x[1,1,3,3] x[1,2,2,2]")},
    "GroupNormalization": {
        18: Form("x[1,4,3] f[2] f[2]", {"num_groups": 2}),
        21: Form("x[1,4,3] f[4] f[4]", {"num_groups": 2}),
    },
    "If": {1: Form("b.1 x[1,4]", _BRANCHES)},
    "ImageDecoder": {20: Form("u[4]")},
    "InstanceNormalization": {1: Form(f"{_IMAGE} f[3] f[3]", _FIRST), 6: Form(f"{_IMAGE} f[3] f[3]")},
    "LRN": {1: Form(_IMAGE, {"size": 3})},
    "LSTM": {1: Form(_CELL[8], {"hidden_size": 2}, 3)},
    "LayerNormalization": {17: Form("x[1,3,4] f[4] f[4]")},
    "LinearAttention": {
        27: Form("x[1,3,4] x[1,3,4] x[1,3,4]", {"q_num_heads": 1, "kv_num_heads": 1, "update_rule": "linear"}, 2)
    },
    "Loop": {1: Form("i.3 b.1 x[1,4]", {"body": _SAME})},
    "LpPool": {1: Form(_IMAGE, {"kernel_shape": [2, 2], "p": 2.0}), 2: Form(_IMAGE, {"kernel_shape": [2, 2], "p": 2})},
    "MatMul": {1: Form("x[1,3,4] f[4,2]")},
    "MatMulInteger": {10: Form("xu[1,3,4] u[4,2]")},
    "MaxPool": {1: Form(_IMAGE, {"kernel_shape": [2, 2]})},
    "MaxRoiPool": {1: Form(f"{_IMAGE} f[1,5]", {"pooled_shape": [2, 2]})},
    "MaxUnpool": {9: Form("x[1,1,2,2] xi[1,1,2,2]", {"kernel_shape": [2, 2], "strides": [2, 2]})},
    "MeanVarianceNormalization": {9: Form(_IMAGE, {"axes": [2, 3]})},
    "MelWeightMatrix": {17: Form("i.4 i.8 i.8000 f.0 f.4000")},
    "Mod": {10: Form("xi[1,4] i(2,3,2,5)")},
    "Multinomial": {7: Form(_LINE)},
    "NegativeLogLikelihoodLoss": {12: Form("x[1,3] xi[1]", {"reduction": "none"})},
    "NonMaxSuppression": {10: Form("x[1,4,4] x[1,1,4] i.2")},
    "Not": {1: Form("xb[1,4]")},
    "OneHot": {9: Form("xi[1,4] i.3 f(0,1)")},
    "Optional": {15: Form(_LINE)},
    "PRelu": {1: Form(f"{_IMAGE} f[3]", _FIRST), 6: Form(f"{_IMAGE} f[3]"), 7: Form(f"{_IMAGE} f[3,1,1]")},
    "Pad": {
        1: Form(_LINE, {"paddings": [0, 1, 0, 1]}),
        2: Form(_LINE, {"pads": [0, 1, 0, 1]}),
        11: Form(f"{_LINE} i(0,1,0,1)"),
    },
    "QLinearConv": {10: Form("xu[1,3,4,4] f.0.5 u.3 u[2,3,2,2] f.0.5 u.3 f.9 u.3")},
    "QLinearMatMul": {10: Form("xu[1,3,4] f.0.5 u.3 u[4,2] f.0.5 u.3 f.2 u.3")},
    "QuantizeLinear": {10: Form(f"{_LINE} f.0.5 u.3")},
    "RMSNormalization": {23: Form("x[1,3,4] f[4]")},
    "RNN": {1: Form(_CELL[2], {"hidden_size": 2}, 2)},
    "RandomNormal": {1: Form("", {"shape": [2, 3]})},
    "RandomUniform": {1: Form("", {"shape": [2, 3]})},
    "Range": {11: Form("i.0 i.3 i.1")},
    "RegexFullMatch": {20: Form("xs[1,4]", {"pattern": "a"})},
    "Reshape": {1: Form(_ROWS, {"shape": [1, 12]}), 5: Form(f"{_ROWS} i(1,12)")},
    "Resize": {
        10: Form("x[1,1,2,2] f(1,1,2,2)"),
        11: Form("x[1,1,2,2] f() f(1,1,2,2)"),
        13: Form("x[1,1,2,2] - f(1,1,2,2)"),
    },
    "ReverseSequence": {10: Form("x[1,4] i(3)", {"batch_axis": 0, "time_axis": 1})},
    "RoiAlign": {10: Form("x[1,2,4,4] x[1,4] i(0)")},
    "RotaryEmbedding": {23: Form("x[1,2,3,4] f[1,3,2] f[1,3,2]")},
    "STFT": {17: Form("x[1,8,1] i.2 f[4] i.4")},
    "Scan": {
        8: Form("- x[1,4] x[1,3,4]", {"num_scan_inputs": 1, "body": _ROW}, 2),
        9: Form("x[1,4] x[3,1*,4]", {"num_scan_inputs": 1, "body": _STEP}, 2),
    },
    "Scatter": {9: Form("x[1,4] xi[1,1] x[1,1]", {"axis": 1})},
    "ScatterElements": {11: Form("x[1,4] xi[1,1] x[1,1]", {"axis": 1})},
    "ScatterND": {11: Form("x[1,4] i(0,2)@1,2 x[1]")},
    "SequenceEmpty": {11: Form("")},
    "Slice": {1: Form(_LINE, {"starts": [1], "ends": [3], "axes": [1]}), 10: Form(f"{_LINE} i(1) i(3) i(1)")},
    "SoftmaxCrossEntropyLoss": {12: Form("x[1,3] xi[1]", {"reduction": "none"})},
    "SpaceToDepth": {1: Form(_IMAGE, {"blocksize": 2})},
    "Split": {
        1: Form(f"{_LINE} f(2,2)", {"axis": 1}, 2),
        2: Form(_LINE, {"axis": 1, "split": [2, 2]}, 2),
        13: Form(f"{_LINE} i(2,2)", {"axis": 1}, 2),
    },
    "SplitToSequence": {11: Form(_LINE, {"axis": 1})},
    "Squeeze": {1: Form("x[1,1,4]", {"axes": [1]}), 13: Form("x[1,1,4] i(1)")},
    "StringConcat": {20: Form("xs[1,4] s[1,4]")},
    "StringNormalizer": {10: Form("xs[1,4]")},
    "StringSplit": {20: Form("xs[1,4]", {}, 2)},
    "SwiGLU": {28: Form(f"{_LINE} {_LINE}")},
    "TensorScatter": {24: Form("x[1,2,4,3] x[1,2,1,3] xi[1]")},
    "TfIdfVectorizer": {9: Form("xi[1,4]", _WORDS)},
    "Tile": {1: Form(f"{_LINE} f.2 f.1"), 6: Form(f"{_LINE} i(1,2)")},
    "TopK": {1: Form(_LINE, {"k": 2}, 2), 10: Form(f"{_LINE} i(2)", {}, 2)},
    "Transpose": {1: Form(_ROWS, {"perm": [0, 2, 1]})},
    "Trilu": {14: Form("x[1,3,3]")},
    "Unsqueeze": {1: Form(_LINE, {"axes": [1]}), 13: Form(f"{_LINE} i(1)")},
    "Upsample": {
        1: Form("x[1,1,2,2]", {"height_scale": 2.0, "width_scale": 2.0}),
        7: Form("x[1,1,2,2]", {"scales": [1.0, 1.0, 2.0, 2.0]}),
        9: Form("x[1,1,2,2] f(1,1,2,2)"),
    },
    "Where": {9: Form("b(1,0,1,0) x[1,4] f[1,4]")},
}
"""By operator and by the opset since which it is written so; those that are not here take one tensor."""


class Node(NamedTuple):
    """A form at an opset."""

    op: str
    opset: int
    form: Form

    def __str__(self) -> str:
        return f"{self.op}-{self.opset}"


@cache
def versions() -> Mapping[str, tuple[int, ...]]:
    """The operators of ONNX, and the opsets with which each of them changed."""
    found: dict[str, set[int]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            found.setdefault(schema.name, set()).add(schema.since_version)
    return {op: tuple(sorted(opsets)) for op, opsets in sorted(found.items())}


def every_node() -> Iterator[Node]:
    """Each operator at the first and at the last opset of each of its versions, one that was taken back as well."""
    for op, since in versions().items():
        forms = FORMS.get(op, {1: Form(_LINE)})
        ends = [*(each - 1 for each in since[1:]), onnx.defs.onnx_opset_version()]
        for opset in sorted({*since, *ends}):
            if known := [first for first in forms if first <= opset]:
                yield Node(op, opset, forms[max(known)])


_TOKEN = re.compile(r"(x?)([fiubs]?)(?:\[([\d,*]*)\]|\(([^)]*)\)(?:@([\d,]+))?|\.([-\d.]+))")


def _filled(letter: str, dims: tuple[int, ...]) -> Array:
    count = int(np.prod(dims, dtype=np.int64))
    if letter == "s":
        return np.array(["a", "b"] * count, np.object_)[:count].reshape(dims)
    numbers = np.arange(count) % 5 * 0.375 + 0.25 if letter == "f" else np.arange(count) % 2
    return numbers.reshape(dims).astype(TYPES[letter])


class Given(NamedTuple):
    """Data of a model, and where its samples are."""

    dims: tuple[int, ...]
    axis: int
    letter: str


def written(node: Node) -> tuple[onnx.ModelProto, dict[str, Given]]:
    """The model, and its data."""
    names, given, held = list[str](), dict[str, Given](), dict[str, Array]()
    for place, word in enumerate(node.form.inputs.split()):
        name = "" if word == "-" else f"{'x' if word[0] == 'x' else 'c'}{place}"
        names.append(name)
        if not name:
            continue
        found = _TOKEN.fullmatch(word)
        assert found, word
        data, letter, dims, values, shape, single = found.groups()
        sizes = tuple(int(each.rstrip("*")) for each in (dims or "").split(",") if each)
        if data:
            axis = next((axis for axis, each in enumerate(dims.split(",")) if each.endswith("*")), 0)
            given[name] = Given(sizes, axis, letter or "f")
        elif single is not None:
            held[name] = np.array(float(single)).astype(TYPES[letter])
        elif values is not None:
            held[name] = np.array([float(each) for each in values.split(",") if each]).astype(TYPES[letter])
            held[name] = held[name].reshape([int(each) for each in shape.split(",")] if shape else -1)
        else:
            held[name] = _filled(letter, sizes)
    if node.op == "If":  # its branches read the data
        given = {"x0": given.pop("x1")}
        names = names[:1]
        held = {"cond": held.pop("c0")}
        names = ["cond"]
    outputs = [f"y{place}" for place in range(node.form.outputs)]
    made = helper.make_node(node.op, names, outputs, "n", **node.form.attributes)
    kinds = {"s": TensorProto.STRING}
    values_in = [
        helper.make_tensor_value_info(
            name, kinds.get(each.letter) or helper.np_dtype_to_tensor_dtype(np.dtype(TYPES[each.letter])), each.dims
        )
        for name, each in given.items()
    ]
    kept = [numpy_helper.from_array(array, name) for name, array in held.items()]
    if node.opset < 9:  # then an initializer was an input too
        values_in += [helper.make_tensor_value_info(each.name, each.data_type, each.dims) for each in kept]
    graph = helper.make_graph([made], "form", values_in, [onnx.ValueInfoProto(name=name) for name in outputs], kept)
    imports = [helper.make_opsetid("", node.opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=3 if node.opset < 9 else 10), given


def drawn(given: Mapping[str, Given], samples: int) -> dict[str, Array]:
    """Data of so many samples."""
    rng = np.random.default_rng(7)
    feeds: dict[str, Array] = {}
    for name, each in given.items():
        dims = [size * samples if axis == each.axis else size for axis, size in enumerate(each.dims)]
        if each.letter == "s":
            feeds[name] = rng.choice(np.array(["a", "b a", "c"], np.object_), dims)
        elif each.letter == "f":
            feeds[name] = rng.uniform(0.1, 1.9, dims).astype(np.float32)
        else:
            feeds[name] = rng.integers(0, 2, dims).astype(TYPES[each.letter])
    return feeds
