"""Operators of a vendor as functions of ONNX's: such an operator is written here, and nowhere else.

A row has a signature and a body, both nearly ONNX text (`onnx.parser`):

- each input has the letter of its types, and `?` where it may be left out: `T bias?`; `(...)` is any number of inputs;
- an attribute has a default (`alpha: float = 0.01`), must be given (`axis: int`), or may be left out (`pads: ints?`);
- `... if bias`, `... if not bias` behind a line: only where this input is given, or this attribute is not 0;
- a name may be made again: `x = Add (x, bias) if bias`; an input that is left out is left out of what reads it;
- `0.5~x` is a number of the type of x, `[1, -1]` among inputs a list of INT64;
- `dims` says which dims inputs may have, where a body would broadcast what engines refuse: `x: B S D, y: 1/B S|single`;
- `$alpha` is the attribute, `$(pads strides)` are those of these that the node has, as attributes of the line.

A body that depends on more (ranks, types, how many inputs there are) is made by a function of an `Asked`.  No dim is
known there: so no size gets into a body as a number.  Operators without a line here are no compositions.  Each row is
held against onnxruntime's own kernel by `tests/terms/test_functions.py`, where a new one needs cases.
"""

from __future__ import annotations

from typing import Final

from onereshape.ground.attending import ATTENTIONS
from onereshape.ground.composing import Asked, Function, NoBodyError, row, transposed
from onereshape.ground.quantised_functions import QUANTISED

_FLOATS: Final = "FLOAT FLOAT16 DOUBLE BFLOAT16"
_NARROW: Final = "FLOAT FLOAT16 BFLOAT16"
_ALL: Final = f"{_FLOATS} BOOL UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64"
_CONV: Final = "auto_pad dilations group kernel_shape pads strides"

_GELU: Final = """
    z = Div (x, 1.4142135623730951~x)
    z = Erf (z)
    z = Add (z, 1~x)
    y = Mul (x, z)
    y = Mul (y, 0.5~x)
"""
_TANH_GELU: Final = """
    z = Pow (x, 3~x)
    z = Mul (z, 0.044715~x)
    z = Add (x, z)
    z = Mul (z, 0.7978845608028654~x)
    z = Tanh (z)
    z = Add (z, 1~x)
    y = Mul (x, 0.5~x)
    y = Mul (y, z)
"""


def _activation(asked: Asked, *values: float | None) -> str:
    """The line of an activation by name and numbers: `y = LeakyRelu <alpha: float = 0.1> (y)`."""
    kind = asked.get("activation", "")
    names = {"Relu": (), "Tanh": (), "Sigmoid": (), "LeakyRelu": ("alpha",), "HardSigmoid": ("alpha", "beta")}
    if not kind:
        return ""
    if kind == "Clip" and len(values) > 1 and None not in values[:2]:
        return f"y = Clip (y, {values[0]}~y, {values[1]}~y)"
    if kind not in names:
        raise NoBodyError(f"has an activation {kind!r}, which is not known")
    given = zip(names[kind], values, strict=False)
    told = ", ".join(f"{name}: float = {float(value)!r}" for name, value in given if value is not None)
    return f"y = {kind} <{told}> (y)" if told else f"y = {kind} (y)"


def _fused_conv(asked: Asked) -> str:
    return f"""
        y = Conv <$({_CONV})> (x, w, b)
        d = Shape (y) if z
        z = Reshape (z, d) if z
        y = Add (y, z) if z
        {_activation(asked, *asked.get("activation_params", []))}
    """


def _fused_gemm(asked: Asked) -> str:
    numbers = [asked.get(f"activation_{name}") for name in ("alpha", "beta", "gamma")]
    return f"y = Gemm <$(alpha beta transA transB)> (a, b, c)\n{_activation(asked, *numbers)}"


def _fused_matmul(asked: Asked) -> str:
    lines = []
    for place, name in enumerate("ab"):
        rank = asked.rank(place)
        order = list(range(rank))
        if asked.get(f"transBatch{name.upper()}") and rank > 2:
            order = [*order[1:-1], 0, order[-1]]
        if asked.get(f"trans{name.upper()}") and rank > 1:
            order[-2:] = order[:-3:-1]
        if order != sorted(order):
            lines.append(f"{name} = Transpose <{transposed(order)}> ({name})")
    lines.append("y = MatMul (a, b)")
    if asked.get("alpha") != 1:
        lines.append("y = Mul (y, $alpha~y)")
    return "\n".join(lines)


def _skipped(asked: Asked) -> str:
    if asked.rank(1) > asked.rank(0):
        raise NoBodyError("what is added has more dims than its data")
    return "sum = Add (x, skip)\nsum = Add (sum, bias) if bias\n"


def _simplified(asked: Asked) -> str:
    """The root of the mean square along all axes from one on."""
    axis, rank = asked.get("axis", -1), asked.rank(0)
    half = asked.type(0) in {"FLOAT16", "BFLOAT16"}
    return f"""
        z = {"Cast <to: int = 1>" if half else "Identity"} (x)
        s = Mul (z, z)
        s = ReduceMean <keepdims: int = 1> (s, {list(range(axis if axis < 0 else axis - rank, 0))})
        s = Add (s, $epsilon~s)
        s = Sqrt (s)
        inverse = Reciprocal (s)
        z = Mul (z, inverse)
        z = CastLike (z, scale)
        y = Mul (z, scale)
    """


def _batch_normalization(asked: Asked) -> str:
    """BatchNormalization of inference; mean and variance are of a channel."""
    if asked.get("training_mode") or not asked.get("spatial", 1) or "is_test" in asked.attributes:
        raise NoBodyError("it is one of training, or of an early opset")
    axes = list(range(1, asked.rank(0) - 1))
    apart = [f"{each} = Unsqueeze ({each}, {axes})" for each in ("scale", "shift", "mean", "variance")] if axes else []
    return "\n".join(
        [
            *apart,
            "s = Add (variance, $epsilon~variance)",
            "s = Sqrt (s)",
            "s = Div (scale, s)",
            "y = Sub (x, mean)",
            "y = Mul (y, s)",
            "y = Add (y, shift)",
        ]
    )


def _instance_normalization(asked: Asked) -> str:
    axes, inner = list(range(2, asked.rank(0))), list(range(1, asked.rank(0) - 1))
    return f"""
        m = ReduceMean <keepdims: int = 1> (x, {axes})
        d = Sub (x, m)
        v = Mul (d, d)
        v = ReduceMean <keepdims: int = 1> (v, {axes})
        v = Add (v, $epsilon~v)
        v = Sqrt (v)
        y = Div (d, v)
        scale = Unsqueeze (scale, {inner})
        shift = Unsqueeze (shift, {inner})
        y = Mul (y, scale)
        y = Add (y, shift)
    """


def _gemm(asked: Asked) -> str:
    """Gemm: factors of 1 are left out."""
    return f"""
        a = Transpose <perm: ints = [1, 0]> (a) if transA
        b = Transpose <perm: ints = [1, 0]> (b) if transB
        y = MatMul (a, b)
        {"" if asked.get("alpha") == 1 else "y = Mul (y, $alpha~y)"}
        {"" if asked.get("beta") == 1 else "c = Mul (c, $beta~c) if c"}
        y = Add (y, c) if c
    """


_EMBEDDING: Final = """
    sum = Gather (words, ids)
    length = Shape <start: int = 1> (ids) if not position
    length = Squeeze (length, [0]) if not position
    zero = Constant <value_int: int = 0> () if not position
    one = Constant <value_int: int = 1> () if not position
    position = Range (zero, length, one) if not position
    place = Gather (places, position)
    sum = Add (sum, place)
    kind = Gather (kinds, segment) if segment
    sum = Add (sum, kind) if segment
    y = LayerNormalization <axis: int = -1, $(epsilon)> (sum, scale, shift)
    ones = Equal (mask, 1~mask) if mask
    ones = CastLike (ones, mask) if mask
    lengths = ReduceSum <keepdims: int = 0> (ones, [1]) if mask
"""

FUNCTIONS: Final[dict[str, Function]] = dict(
    [
        row("Gelu (T x) -> y", _GELU, T=_FLOATS),
        row("BiasGelu (T x, T bias) -> y", f"x = Add (x, bias)\n{_GELU}", T=_FLOATS, dims="x: * D, bias: D"),
        row(
            "FastGelu (T x, T bias?) -> y",
            f"x = Add (x, bias) if bias\n{_TANH_GELU}",
            T=_FLOATS,
            dims="x: * D, bias: D",
        ),
        row(
            "QuickGelu <alpha: float = 1.702> (T x) -> y",
            "z = Mul (x, $alpha~x)\nz = Sigmoid (z)\ny = Mul (x, z)",
            T=_FLOATS,
            dims="ys: single, yz: single",
        ),
        row(
            "SkipLayerNormalization <epsilon: float = 1e-12> "
            "(T x, T skip, T scale, T shift?, T bias?) -> y, mean, inverse, sum",
            lambda asked: f"{_skipped(asked)}y = LayerNormalization <axis: int = -1, $(epsilon)> (sum, scale, shift)",
            T=_NARROW,
            dims="x: B S D|S D, skip: B S D|1 S D|S D, scale: D, shift: D, bias: D",
        ),
        row(
            "SkipSimplifiedLayerNormalization <epsilon: float = 1e-12> "
            "(T x, T skip, T scale, T bias?) -> y, mean, deviation, sum",
            lambda asked: f"{_skipped(asked)}x = Identity (sum)\n{_simplified(asked)}",
            T=_NARROW,
            dims="x: B S D|S D, skip: B S D|1 S D|S D, scale: D, bias: D",
        ),
        row(
            "SimplifiedLayerNormalization <axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1> "
            "(T x, V scale) -> y, inverse",
            _simplified,
            domain="",
            T=_FLOATS,
            V=_FLOATS,
        ),
        row(
            "EmbedLayerNormalization <epsilon: float = 1e-12, mask_index_type: int?> "
            "(I ids, I segment?, T words, T places, T kinds?, T scale, T shift, I mask?, I position?) "
            "-> y, lengths, sum",
            _EMBEDDING,
            I="INT32",
            T="FLOAT FLOAT16",
            dims="ids: B S, segment: B S, words: . D, places: . D, kinds: . D, scale: D, shift: D, mask: B S, "
            "position: 1/B S",
        ),
        row(
            "FusedConv <auto_pad: string?, dilations: ints?, group: int?, kernel_shape: ints?, pads: ints?, "
            "strides: ints?, activation: string?, activation_params: floats?> (T x, T w, T b?, T z?) -> y",
            _fused_conv,
            T="FLOAT FLOAT16 DOUBLE",
            dims="x: N *, w: M *, b: M, z: N M *",
        ),
        row(
            "FusedGemm <alpha: float = 1, beta: float = 1, transA: int = 0, transB: int = 0, activation: string?, "
            "activation_alpha: float?, activation_beta: float?, activation_gamma: float?> (T a, T b, T c?) -> y",
            _fused_gemm,
            T="FLOAT FLOAT16 DOUBLE",
        ),
        row(
            "FusedMatMul <alpha: float = 1, transA: int = 0, transB: int = 0, transBatchA: int = 0, "
            "transBatchB: int = 0> (T a, T b) -> y",
            _fused_matmul,
            T=_FLOATS,
        ),
        row(
            "TransposeMatMul <alpha: float = 1, transA: int = 0, transB: int = 0> (T a, T b) -> y",
            _fused_matmul,
            T=_FLOATS,
        ),
        row("Trilu <upper: int = 1> (T x, K k?) -> y", "y = Trilu <$(upper)> (x, k)", T=_ALL, K="INT64"),
        row(
            "GridSample <align_corners: int?, mode: string?, padding_mode: string?> (T x, T grid) -> y",
            "y = GridSample <$(align_corners mode padding_mode)> (x, grid)",
            T="FLOAT FLOAT16 DOUBLE",
        ),
        row(
            "BatchNormalization <epsilon: float = 1e-5, momentum: float?, training_mode: int = 0, spatial: int?, "
            "is_test: int?> (T x, U scale, U shift, V mean, V variance) -> y",
            _batch_normalization,
            domain="",
            T=_FLOATS,
            U=_FLOATS,
            V=_FLOATS,
        ),
        row(
            "InstanceNormalization <consumed_inputs: ints?, epsilon: float = 1e-5> (T x, T scale, T shift) -> y",
            _instance_normalization,
            domain="",
            T=_FLOATS,
        ),
        row(
            "Gemm <alpha: float = 1, beta: float = 1, transA: int = 0, transB: int = 0> (T a, T b, T c?) -> y",
            _gemm,
            domain="",
            T=f"{_FLOATS} INT32 INT64 UINT32 UINT64",
        ),
        row("GatherND (T x, K at) -> y", "y = GatherND (x, at)", T=_ALL, K="INT32 INT64"),
        *QUANTISED,
        *ATTENTIONS,
    ]
)
"""The rows by domain and operator: `com.microsoft::Gelu`; what onnxruntime has in ONNX's own domain has no domain."""
