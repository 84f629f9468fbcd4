"""Rows of `functions` for operators on quantised numbers: floats in between, or products of integers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from onereshape.ground.composing import Asked, Function, NoBodyError, row, transposed

_BYTES: Final = "INT8 UINT8"
_CONV: Final = "auto_pad dilations group kernel_shape pads strides"
_POOL: Final = "auto_pad: string?, ceil_mode: int?, kernel_shape: ints, pads: ints?, strides: ints?"
_QUANTISED: Final = "T x, F xs, T xz?, F ys, T yz?"
_SINGLE: Final = "xs: single, xz: single, ys: single, yz: single"
_SINGLES: Final = "as: single, az: single, bs: single, bz: single, ys: single, yz: single"
_PAIR: Final = "T a, F as, T az?, T b, F bs, T bz?, F ys, T yz?"


def _channels_behind(body: str) -> Callable[[Asked], str]:
    """A body on `x` and `y` with the channels behind space, where `channels_last` is true."""

    def made(asked: Asked) -> str:
        rank = asked.rank(0)
        if not asked.get("channels_last", 1):
            return body
        return f"""
            x = Transpose <{transposed([0, rank - 1, *range(1, rank - 1)])}> (x)
            {body}
            y = Transpose <{transposed([0, *range(2, rank), 1])}> (y)
        """

    return made


def _quantised(body: str) -> str:
    """A body on the floats `x` and `y`, where the operator has quantised ones: x with xs, xz and y with ys, yz."""
    return f"""
        yz = Identity (0~x) if not yz
        x = DequantizeLinear (x, xs, xz)
        {body}
        y = QuantizeLinear (y, ys, yz)
    """


def _two_quantised(op: str) -> str:
    return f"""
        yz = Identity (0~a) if not yz
        a = DequantizeLinear (a, as, az)
        b = DequantizeLinear (b, bs, bz)
        y = {op} (a, b)
        y = QuantizeLinear (y, ys, yz)
    """


def _quantised_parts(asked: Asked) -> str:
    """QLinearConcat: a scale, a zero point, and three inputs for each part."""
    count = len(asked.given)
    if count < 5 or count % 3 != 2 or None in asked.given:
        raise NoBodyError("its parts have not each a scale and a zero point")
    for place in (1, *range(2, count, 3), *range(4, count, 3)):
        if asked.type(place) != asked.type(1) or asked.type(place) not in _BYTES.split():
            raise NoBodyError(f"input {place} is a tensor of {asked.type(place)}, which it does not take")
    parts = [f"p{place} = DequantizeLinear (x{place}, x{place + 1}, x{place + 2})" for place in range(2, count, 3)]
    names = ", ".join(f"p{place}" for place in range(2, count, 3))
    return "\n".join([*parts, f"y = Concat <axis: int = $axis> ({names})", "y = QuantizeLinear (y, x0, x1)"])


def _quantised_softmax(asked: Asked) -> str:
    """QLinearSoftmax: before opset 13 over all axes from `axis` on."""
    if asked.get("opset") >= 13:
        return _quantised("y = Softmax <axis: int = $axis> (x)")
    return _quantised("""
        d = Shape (x)
        x = Flatten <axis: int = $axis> (x)
        y = Softmax <axis: int = -1> (x)
        y = Reshape (y, d)
    """)


def _quantised_product(asked: Asked) -> str:
    """QLinearMatMul: scales may be of rows of the first, and of columns of the second."""
    if asked.rank(1) > 1 or asked.rank(4) > 1:
        raise NoBodyError("its scales are of matrices")
    rows, columns = ("<axis: int = -2> " if asked.rank(1) and asked.rank(0) > 1 else "", "<axis: int = -1> ")
    return f"""
        a = DequantizeLinear {rows}(a, as, az)
        b = DequantizeLinear {columns}(b, bs, bz)
        y = MatMul (a, b)
        y = QuantizeLinear (y, ys, yz)
    """


_QUANTISED_CONV: Final = f"""
    x = DequantizeLinear (x, xs, xz)
    w = DequantizeLinear <axis: int = 0> (w, ws, wz)
    s = Mul (xs, ws) if bias
    bias = CastLike (bias, s) if bias
    bias = Mul (bias, s) if bias
    y = Conv <$({_CONV})> (x, w, bias)
    y = QuantizeLinear (y, ys, yz)
"""

_INTEGER_PRODUCT: Final = """
    y = MatMulInteger (a, b, az, bz)
    s = Mul (as, bs)
    y = CastLike (y, s)
    y = Mul (y, s)
    y = Add (y, bias) if bias
"""


def _integer_gemm(asked: Asked) -> str:
    return f"""
        a = Transpose <perm: ints = [1, 0]> (a) if transA
        b = Transpose <perm: ints = [1, 0]> (b) if transB
        y = MatMulInteger (a, b, az, bz)
        y = Add (y, c) if c
        y = Cast <to: int = 1> (y)
        s = Mul (as, bs)
        {"" if asked.get("alpha") == 1 else "s = Mul (s, $alpha~s)"}
        y = Mul (y, s)
        y = QuantizeLinear (y, ys, yz) if yz
    """


def _by_axis(op: str) -> str:
    return f"y = {op} <$(axis)> (x, s, z)"


QUANTISED: Final[tuple[tuple[str, Function], ...]] = (
    row(f"QLinearAdd ({_PAIR}) -> y", _two_quantised("Add"), T=_BYTES, F="FLOAT", dims=_SINGLES),
    row(f"QLinearMul ({_PAIR}) -> y", _two_quantised("Mul"), T=_BYTES, F="FLOAT", dims=_SINGLES),
    row(f"QLinearSigmoid ({_QUANTISED}) -> y", _quantised("y = Sigmoid (x)"), T=_BYTES, F="FLOAT", dims=_SINGLE),
    row(
        f"QLinearLeakyRelu <alpha: float = 0.01> ({_QUANTISED}) -> y",
        _quantised("y = LeakyRelu <$(alpha)> (x)"),
        T=_BYTES,
        F="FLOAT",
        dims=_SINGLE,
    ),
    row(
        "QLinearConv <auto_pad: string?, dilations: ints?, group: int?, kernel_shape: ints?, pads: ints?, "
        "strides: ints?> (X x, F xs, X xz, W w, F ws, W wz, F ys, Y yz, B bias?) -> y",
        _QUANTISED_CONV,
        domain="",
        X=_BYTES,
        W=_BYTES,
        Y=_BYTES,
        F="FLOAT",
        B="INT32",
        dims="x: N *, w: M *, xs: single, xz: single, ws: single|M, wz: single|M, ys: single, yz: single, bias: M",
    ),
    row(
        "QLinearMatMul (A a, F as, A az, B b, G bs, B bz, H ys, Y yz) -> y",
        _quantised_product,
        domain="",
        A=_BYTES,
        B=_BYTES,
        Y=_BYTES,
        F="FLOAT",
        G="FLOAT",
        H="FLOAT",
    ),
    row("QLinearConcat <axis: int> (...) -> y", _quantised_parts),
    row(
        f"QLinearSoftmax <axis: int = -1, opset: int> ({_QUANTISED}) -> y",
        _quantised_softmax,
        T=_BYTES,
        F="FLOAT",
        dims=_SINGLE,
    ),
    row(
        f"QLinearWhere (B if_, {_PAIR}) -> y",
        """
            yz = Identity (0~a) if not yz
            a = DequantizeLinear (a, as, az)
            b = DequantizeLinear (b, bs, bz)
            y = Where (if_, a, b)
            y = QuantizeLinear (y, ys, yz)
        """,
        B="BOOL",
        T=_BYTES,
        F="FLOAT",
        dims=_SINGLES,
    ),
    row(
        f"QLinearAveragePool <{_POOL}, channels_last: int = 0, count_include_pad: int = 0> ({_QUANTISED}) -> y",
        lambda asked: _quantised(
            _channels_behind("y = AveragePool <$(auto_pad ceil_mode kernel_shape pads strides count_include_pad)> (x)")(
                asked
            )
        ),
        T=_BYTES,
        F="FLOAT",
        dims=_SINGLE,
    ),
    row(
        f"QLinearGlobalAveragePool <channels_last: int = 0> ({_QUANTISED}) -> y",
        lambda asked: _quantised(_channels_behind("y = GlobalAveragePool (x)")(asked)),
        T=_BYTES,
        F="FLOAT",
        dims=_SINGLE,
    ),
    row(
        f"NhwcMaxPool <{_POOL}, dilations: ints?> (T x) -> y",
        _channels_behind("y = MaxPool <$(auto_pad ceil_mode dilations kernel_shape pads strides)> (x)"),
        T=_BYTES,
    ),
    row(
        "DynamicQuantizeMatMul (F a, T b, F bs, T bz?, F bias?) -> y",
        f"a, as, az = DynamicQuantizeLinear (a)\n{_INTEGER_PRODUCT}",
        T=_BYTES,
        F="FLOAT",
        dims="a: * K, b: * K N, bs: single|N, bz: single|N, bias: N",
    ),
    row(
        "MatMulIntegerToFloat (A a, B b, F as, F bs, A az?, B bz?, F bias?) -> y",
        _INTEGER_PRODUCT,
        A=_BYTES,
        B=_BYTES,
        F="FLOAT FLOAT16",
        dims="a: * K, b: * K N, as: single, bs: single|N, az: single, bz: single|N, bias: N",
    ),
    row(
        "QGemm <alpha: float = 1, transA: int = 0, transB: int = 0> "
        "(A a, F as, A az, B b, F bs, B bz, C c?, F ys?, Y yz?) -> y",
        _integer_gemm,
        A=_BYTES,
        B=_BYTES,
        C="INT32",
        F="FLOAT",
        Y=_BYTES,
        dims="a: . ., b: . ., as: single, az: single, bs: single|., bz: single|., ys: single, yz: single",
    ),
    row(
        "QuantizeLinear <axis: int?> (F x, F s, Q z?) -> y",
        _by_axis("QuantizeLinear"),
        F="FLOAT FLOAT16",
        Q=f"{_BYTES} INT16 UINT16 INT4 UINT4",
        opset=21,
    ),
    row(
        "DequantizeLinear <axis: int?> (Q x, F s, Q z?) -> y",
        _by_axis("DequantizeLinear"),
        F="FLOAT FLOAT16",
        Q=f"{_BYTES} INT16 UINT16 INT4 UINT4 INT32",
        opset=21,
    ),
)
"""The rows by domain and operator."""
