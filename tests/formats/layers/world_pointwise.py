"""Layers that work element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from openvino import opset1, opset4, opset5, opset7, opset9, opset10, opset13, opset16

from tests.formats.layers.making import Case, Made, Maker, case

_HALF, _REAL, _INT, _LONG, _BYTE, _TRUTH = np.float16, np.float32, np.int32, np.int64, np.uint8, np.bool_
_ONE: dict[str, tuple[Callable[[Any], Made], tuple[float, float]]] = {
    "Abs": (opset1.abs, (-3, 3)),
    "Acos": (opset1.acos, (-1, 1)),
    "Acosh": (opset4.acosh, (1, 4)),
    "Asin": (opset1.asin, (-1, 1)),
    "Asinh": (opset4.asinh, (-3, 3)),
    "Atan": (opset1.atan, (-3, 3)),
    "Atanh": (opset4.atanh, (-0.9, 0.9)),
    "Ceiling": (opset1.ceiling, (-3, 3)),
    "Cos": (opset1.cos, (-3, 3)),
    "Cosh": (opset1.cosh, (-3, 3)),
    "Erf": (opset1.erf, (-3, 3)),
    "Exp": (opset1.exp, (-3, 3)),
    "Floor": (opset1.floor, (-3, 3)),
    "HSigmoid": (opset5.hsigmoid, (-6, 6)),
    "HSwish": (opset4.hswish, (-6, 6)),
    "Identity": (opset16.identity, (-3, 3)),
    "Log": (opset1.log, (0.1, 3)),
    "Mish": (opset4.mish, (-6, 6)),
    "Negative": (opset1.negative, (-3, 3)),
    "ReLU": (opset1.relu, (-3, 3)),
    "Sigmoid": (opset1.sigmoid, (-6, 6)),
    "Sign": (opset1.sign, (-3, 3)),
    "Sin": (opset1.sin, (-3, 3)),
    "Sinh": (opset1.sinh, (-3, 3)),
    "SoftPlus": (opset4.softplus, (-6, 6)),
    "SoftSign": (opset9.softsign, (-6, 6)),
    "Sqrt": (opset1.sqrt, (0.1, 3)),
    "Tan": (opset1.tan, (-1, 1)),
    "Tanh": (opset1.tanh, (-3, 3)),
}
_WHOLE = {"Abs", "Identity", "Negative", "ReLU", "Sign"}
"""Which onnxruntime has for whole numbers too."""
_DIMS: tuple[tuple[int, ...], ...] = ((), (1,), (7,), (2, 3), (1, 3, 4), (0, 3), (2, 1, 3, 2))


def _of_one() -> Iterator[Case]:
    for kind, (op, (low, high)) in _ONE.items():
        for dims in _DIMS:

            def build(make: Maker, op: Any = op, dims: tuple[int, ...] = dims, ends: Any = (low, high)) -> Made:
                return op(make.given(*dims, low=ends[0], high=ends[1]))

            yield case(kind, f"f32 {dims}", build, loose=1e-4)
        if kind in _WHOLE:
            yield case(kind, "i32", lambda make, op=op: op(make.given(2, 3, kind=_INT)))
            if kind != "ReLU":
                yield case(kind, "i64", lambda make, op=op: op(make.given(2, 3, kind=_LONG)))
    for number, dims in enumerate(_DIMS):
        yield case("LogicalNot", f"{dims}", lambda make, dims=dims: opset1.logical_not(make.given(*dims, kind=_TRUTH)))
        yield case(
            "BitwiseNot", f"i32 {dims}", lambda make, dims=dims: opset13.bitwise_not(make.given(*dims, kind=_INT))
        )
        for kind, op in (("IsNaN", opset10.is_nan), ("IsFinite", opset10.is_finite)):
            yield case(kind, f"{dims}", lambda make, op=op, dims=dims: op(_odd(make, dims)))
        ends = {"detect_negative": number % 2 == 0, "detect_positive": number % 3 == 0}
        yield case("IsInf", f"{dims} {ends}", lambda make, ends=ends, dims=dims: opset10.is_inf(_odd(make, dims), ends))
    yield case("BitwiseNot", "bool", lambda make: opset13.bitwise_not(make.given(4, kind=_TRUTH)))
    yield case("BitwiseNot", "u8", lambda make: opset13.bitwise_not(make.given(4, kind=_BYTE, high=255)))


def _odd(make: Maker, dims: tuple[int, ...]) -> Made:
    """Numbers, infinities and what is no number."""
    return make.fed(make.random.choice([0.0, -1.5, np.inf, -np.inf, np.nan], dims), _REAL)


_TWO: dict[str, tuple[Callable[..., Made], str]] = {
    "Add": (opset1.add, "filb"),
    "BitwiseAnd": (opset13.bitwise_and, "ilut"),
    "BitwiseOr": (opset13.bitwise_or, "ilut"),
    "BitwiseXor": (opset13.bitwise_xor, "ilut"),
    "Divide": (opset1.divide, "fil"),
    "Equal": (opset1.equal, "filu"),
    "FloorMod": (opset1.floor_mod, "fil"),
    "Greater": (opset1.greater, "fil"),
    "GreaterEqual": (opset1.greater_equal, "fil"),
    "Less": (opset1.less, "fil"),
    "LessEqual": (opset1.less_equal, "fil"),
    "LogicalAnd": (opset1.logical_and, "t"),
    "LogicalOr": (opset1.logical_or, "t"),
    "LogicalXor": (opset1.logical_xor, "t"),
    "Maximum": (opset1.maximum, "fil"),
    "Minimum": (opset1.minimum, "fil"),
    "Mod": (opset1.mod, "fil"),
    "Multiply": (opset1.multiply, "fil"),
    "NotEqual": (opset1.not_equal, "fil"),
    "Power": (opset1.power, "f"),
    "SquaredDifference": (opset1.squared_difference, "fi"),
    "Subtract": (opset1.subtract, "fil"),
}
_KINDS: dict[str, Any] = {"f": _REAL, "i": _INT, "l": _LONG, "u": _BYTE, "t": _TRUTH, "b": np.float64}
_PAIRED: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((2, 3), (2, 3)),
    ((2, 3), (3,)),
    ((1, 3), (2, 1)),
    ((4,), (2, 3, 4)),
    ((), (5,)),
    ((2, 1, 2), (1,)),
    ((0, 2), (1, 2)),
)


def _of_two() -> Iterator[Case]:
    for kind, (op, letters) in _TWO.items():
        for letter in letters:
            for dims in _PAIRED:

                def build(make: Maker, op: Any = op, dims: Any = dims, letter: str = letter, kind: str = kind) -> Made:
                    return op(*_pair(make, kind, letter, *dims))

                yield case(kind, f"{letter} {dims}", build, loose=1e-4)
        yield case(kind, "constant", lambda make, op=op, kind=kind, ts=letters: op(*_fixed(make, kind, ts[0])))
        none = (('auto_broadcast="numpy"', 'auto_broadcast="none"'),)
        if not kind.startswith("Bitwise"):
            yield case(
                kind,
                "none",
                lambda make, op=op, kind=kind, ts=letters: op(*_pair(make, kind, ts[0], (2, 3), (2, 3))),
                swap=none,
                loose=1e-4,
            )


def _pair(make: Maker, kind: str, letter: str, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[Made, Made]:
    """Both inputs; a divisor is not 0, and what is raised to a power is above 0."""
    low = 0.2 if kind == "Power" else -9
    one = make.given(*first, kind=_KINDS[letter], low=low, high=9)
    if kind not in {"Divide", "FloorMod", "Mod"}:
        return one, make.given(*second, kind=_KINDS[letter], low=-3, high=3)
    other = make.random.choice([-4, -3, -2, -1, 1, 2, 3, 5], second)
    return one, make.fed(other * (1.25 if letter == "f" else 1), _KINDS[letter])


def _fixed(make: Maker, kind: str, letter: str) -> tuple[Made, Made]:
    low = 0.2 if kind == "Power" else -9
    return make.given(2, 4, kind=_KINDS[letter], low=low, high=9), make.held([1, -2, 3, 1], _KINDS[letter])


def _parts() -> Iterator[Case]:
    """PDPD: the second is laid along an axis of the first."""
    for axis in (-1, 0, 1):
        second = {-1: (3, 4), 0: (2, 3), 1: (3,)}[axis]
        swap = (('auto_broadcast="numpy"', f'auto_broadcast="pdpd" auto_broadcast_axis="{axis}"'),)
        for kind, op in (("Add", opset1.add), ("Multiply", opset1.multiply)):

            def build(make: Maker, op: Any = op, second: tuple[int, ...] = second) -> Made:
                filled = make.held(make.random.uniform(-2, 2, (3, 4)[-len(second) :] if len(second) > 1 else (4,)))
                return op(make.given(2, 3, 4), filled)

            yield case(kind, f"pdpd {axis}", build, swap=swap, undrawn="auto_broadcast")
    yield case("Add", "pdpd alike", lambda make: opset1.add(make.given(2, 3), make.held(np.ones((2, 3)))), swap=swap)


def _choices() -> Iterator[Case]:
    shapes = (
        ((2, 3), (2, 3), (2, 3)),
        ((3,), (2, 3), (2, 3)),
        ((2, 3), (), (1,)),
        ((2, 1), (3,), (1, 3)),
        ((1,), (2, 3), (3,)),
        ((0, 3), (3,), (3,)),
    )
    for kind in (_REAL, _INT, _LONG):
        for dims in shapes:

            def build(make: Maker, dims: Any = dims, kind: Any = kind) -> Made:
                tests = make.given(*dims[0], kind=_TRUTH)
                return opset1.select(tests, make.given(*dims[1], kind=kind), make.given(*dims[2], kind=kind))

            yield case("Select", f"{np.dtype(kind).name} {dims}", build)
    one = ('auto_broadcast="numpy"', 'auto_broadcast="none"')
    yield case("Select", "none", lambda make: _select(make, (2, 3)), swap=(one,))
    two = ('auto_broadcast="numpy"', 'auto_broadcast="pdpd"')
    yield case("Select", "pdpd", lambda make: _select(make, (2, 3)), swap=(two,), undrawn="auto_broadcast")


def _select(make: Maker, dims: tuple[int, ...]) -> Made:
    return opset1.select(make.given(*dims, kind=_TRUTH), make.given(*dims), make.given(*dims))


def _conversions() -> Iterator[Case]:
    pairs = (
        (_REAL, "i32"), (_REAL, "i64"), (_REAL, "f16"), (_REAL, "boolean"), (_REAL, "i8"), (_REAL, "f64"),
        (_INT, "f32"), (_INT, "i64"), (_INT, "boolean"), (_LONG, "i32"), (_LONG, "f32"), (_BYTE, "f32"),
        (_TRUTH, "f32"), (_TRUTH, "i64"), (_TRUTH, "i32"), (_HALF, "f32"), (np.int8, "i32"), (_BYTE, "i64"),
    )  # fmt: skip
    for before, after in pairs:

        def build(make: Maker, before: Any = before, after: str = after) -> Made:
            return opset1.convert(make.given(2, 5, kind=before, low=-4, high=4), after)

        def alike(make: Maker, before: Any = before, after: str = after) -> Made:
            like = opset1.convert(make.given(2), after)
            return opset1.convert_like(make.given(2, 5, kind=before, low=-4, high=4), like)

        yield case("Convert", f"{np.dtype(before).name} {after}", build)
        yield case("ConvertLike", f"{np.dtype(before).name} {after}", alike)


def _gates() -> Iterator[Case]:
    for number, dims in enumerate(_DIMS[:5]):
        for mode in ("erf", "tanh"):

            def gelu(make: Maker, dims: tuple[int, ...] = dims, mode: str = mode) -> Made:
                return opset7.gelu(make.given(*dims), mode)

            yield case("Gelu", f"{mode} {dims}", gelu, loose=1e-3)
        alpha = 0.3 + number

        def elu(make: Maker, dims: tuple[int, ...] = dims, alpha: float = alpha) -> Made:
            return opset1.elu(make.given(*dims), alpha)

        def selu(make: Maker, dims: tuple[int, ...] = dims, alpha: float = alpha) -> Made:
            return opset1.selu(make.given(*dims), make.held([alpha]), make.held([1.1]))

        def hard(make: Maker, dims: tuple[int, ...] = dims, alpha: float = alpha) -> Made:
            return opset1.hard_sigmoid(make.given(*dims), make.held(alpha), make.held(0.4))

        def swish(make: Maker, dims: tuple[int, ...] = dims, alpha: float = alpha) -> Made:
            return opset4.swish(make.given(*dims), make.held(alpha))

        yield case("Elu", f"{dims}", elu)
        yield case("Selu", f"{dims}", selu, loose=1e-4)
        yield case("HardSigmoid", f"{dims}", hard)
        yield case("Swish", f"{dims}", swish)
    yield case("Elu", "zero", lambda make: opset1.elu(make.given(3, 4), 0.0))
    yield case(
        "Selu", "numbers", lambda make: opset1.selu(make.given(3, 4), make.held(1.5), make.held(0.5)), loose=1e-4
    )
    yield case(
        "HardSigmoid", "negative", lambda make: opset1.hard_sigmoid(make.given(9), make.held(-0.5), make.held(0.1))
    )
    yield case(
        "HardSigmoid",
        "computed",
        lambda make: opset1.hard_sigmoid(make.given(9), make.given(), make.held(0.1)),
        undrawn="no constants",
    )
    yield case("Swish", "no beta", lambda make: opset4.swish(make.given(3, 4)))
    yield case("Swish", "computed", lambda make: opset4.swish(make.given(3, 4), make.given()))
    slopes: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
        ((2, 3), (3,)), ((2, 3), (1,)), ((2, 3, 4), (3,)), ((2, 3, 4, 4), (3,)), ((2, 3, 3), (3,)), ((4,), (1,)),
        ((4,), (4,)), ((2, 3, 4), (1, 3, 1)), ((2, 3, 4), (3, 1)), ((2, 3, 4), (4,)), ((2, 3, 4), (2, 3, 4)),
        ((2, 3, 4), ()), ((1, 1, 5), (1,)),
    )  # fmt: skip
    for dims, slope in slopes:

        def prelu(make: Maker, dims: Any = dims, slope: Any = slope) -> Made:
            return opset1.prelu(make.given(*dims), make.drawn(*slope))

        yield case("PReLU", f"{dims} {slope}", prelu)
    yield case("PReLU", "computed", lambda make: opset1.prelu(make.given(2, 3, 4), make.given(3)))


def _limits() -> Iterator[Case]:
    for low, high in ((-1, 1), (0, 6), (-0.5, 2.25), (1.5, 2.5), (-2.5, -1.5), (0, 0)):
        for kind in (_REAL, _INT, _LONG, _BYTE):
            if kind is _BYTE and low != int(low):
                continue  # which the plugin rounds the other way

            def clamp(make: Maker, low: float = low, high: float = high, kind: Any = kind) -> Made:
                return opset1.clamp(make.given(3, 5, kind=kind, low=-4, high=4), low, high)

            yield case("Clamp", f"{np.dtype(kind).name} {low} {high}", clamp)
    yield case("Clamp", "wide", lambda make: opset1.clamp(make.given(3, kind=_INT), -1e20, 1e20))
    for number, dims in enumerate(_DIMS[:6]):
        mode = ("half_to_even", "half_away_from_zero")[number % 2]

        def halves(make: Maker, dims: tuple[int, ...] = dims, mode: str = mode) -> Made:
            return opset5.round(make.fed(make.random.integers(-9, 10, dims) / 2, _REAL), mode)

        yield case("Round", f"{mode} {dims}", halves)
    whole = np.arange(-12, 13) / 4
    for mode in ("half_to_even", "half_away_from_zero"):
        yield case("Round", f"{mode} quarters", lambda make, mode=mode: opset5.round(make.fed(whole, _REAL), mode))


def _quantised() -> Iterator[Case]:
    limits: dict[str, tuple[Any, Any, Any, Any]] = {
        "numbers": (-1.0, 2.0, -1.0, 2.0),
        "moved": (-1.0, 1.0, 0.0, 10.0),
        "turned": (-1.0, 1.0, 3.0, -3.0),
        "channels": (np.array([[[-1.0]], [[-2.0]], [[0.0]]]), np.array([[[1.0]], [[0.5]], [[3.0]]]), -1.0, 1.0),
        "all channels": tuple(
            np.array(each).reshape(1, 3, 1, 1) for each in ([-1, -2, 0], [1, 1, 3], [-2, 0, 1], [2, 1, 3])
        ),
        "equal": (np.array([[[-1.0]], [[0.5]], [[0.0]]]), np.array([[[1.0]], [[0.5]], [[3.0]]]), -1.0, 1.0),
        "last": (np.array([-1.0, -0.5, -2.0, 0.0]), 1.0, -1.0, 1.0),
    }
    for levels in (2, 3, 16, 255, 256):
        for name, ends in limits.items():

            def build(make: Maker, levels: int = levels, ends: Any = ends) -> Made:
                return opset1.fake_quantize(make.given(2, 3, 2, 4), *(make.held(each) for each in ends), levels)

            yield case("FakeQuantize", f"{name} {levels}", build, loose=1e-4, **_said(name, levels))
    yield case(
        "FakeQuantize",
        "computed",
        lambda make: opset1.fake_quantize(
            make.given(2, 3), make.given(low=-2, high=-1), make.given(low=1, high=2), make.held(-1), make.held(1), 256
        ),
        loose=1e-4,
    )


def _said(name: str, levels: int) -> dict[str, bool]:
    """The plugin takes 255 levels for 256 where dims are not known, and has no rule for equal limits."""
    equal = name == "equal"
    return {"said": equal or (name == "all channels" and levels == 255), "specified": equal}


def _shifts() -> Iterator[Case]:
    for kind, op in (
        ("BitwiseLeftShift", opset16.bitwise_left_shift),
        ("BitwiseRightShift", opset16.bitwise_right_shift),
    ):
        for first, second in _PAIRED[:6]:

            def build(make: Maker, op: Any = op, first: Any = first, second: Any = second) -> Made:
                return op(make.given(*first, kind=np.uint32, high=90), make.given(*second, kind=np.uint32, high=5))

            yield case(kind, f"u32 {first} {second}", build)
        yield case(
            kind,
            "i32",
            lambda make, op=op: op(make.given(4, kind=_INT), make.given(4, kind=_INT, low=0)),
            undrawn="sign",
        )


def _spelled() -> Iterator[Case]:
    """Another spelling of the type, which older files have."""
    for dims in _DIMS[:6]:
        swap = (('type="ReLU"', 'type="Relu"'),)
        yield case("Relu", f"{dims}", lambda make, dims=dims: opset1.relu(make.given(*dims)), swap=swap)


CASES = [
    *_of_one(), *_of_two(), *_parts(), *_choices(), *_conversions(), *_gates(), *_limits(), *_quantised(), *_shifts(),
    *_spelled(),
]  # fmt: skip
