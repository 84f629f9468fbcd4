"""Elementwise operators on terms, beside onnxruntime: what equal words must never say."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotImplemented_

from onereshape.terms.hashing import Hashing
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.prove import prove_same
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor
from tests.terms.single_nodes import Node, check_apart, check_dependency, check_dims, differ


def _same(one: str, other: str, opset: int = 21) -> str:
    """The verdict on two models in the text form of onnx."""
    return prove_same(_model(one, opset), _model(other, opset), [{}], seed=5).verdict


def _model(text: str, opset: int) -> ir.Model:
    return ir.from_proto(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}'))


def test_integers_that_wrap_are_of_their_type() -> None:
    """A product that wraps in INT32 does not in INT64, though both are the same linear form."""
    narrow = """agraph (int32[2] x) => (float[2] y)
        <int32[1] c = {1048576}> { a = Mul(x, c)  y = Cast<to = 1>(a) }"""
    wide = """agraph (int32[2] x) => (float[2] y)
        <int64[1] c = {1048576}> { l = Cast<to = 7>(x)  a = Mul(l, c)  y = Cast<to = 1>(a) }"""
    assert _same(narrow, narrow) == "proven"
    assert _same(narrow, wide) == "other"
    small = """agraph (int8[2] x) => (float[2] y)
        <int32[1] c = {1000}> { l = Cast<to = 6>(x)  a = Mul(l, c)  y = Cast<to = 1>(a) }"""
    large = """agraph (int8[2] x) => (float[2] y)
        <int64[1] c = {1000}> { l = Cast<to = 7>(x)  a = Mul(l, c)  y = Cast<to = 1>(a) }"""
    assert _same(small, large) == "proven"


@pytest.mark.parametrize("body", ["BitwiseNot(l)", 'BitShift<direction = "LEFT">(l, l)', "Mul(l, l)", "Sub(k, l)"])
def test_what_a_type_decides(body: str) -> None:
    """What unsigned bytes and longer integers do is not the same, though the operand is."""
    models = [
        f"""agraph (uint8[2] x) => (float[2] y) {{ l = Cast<to = {kind}>(x)
            k = Constant<value = {name}[1] {{0}}>()  a = {body}  y = Cast<to = 1>(a) }}"""
        for kind, name in ((2, "uint8"), (12, "uint32"), (13, "uint64"))
    ]
    for place, one in enumerate(models):
        assert _same(one, one) == "proven"
        for other in models[place + 1 :]:
            assert _same(one, other) == "other"


def test_large_unsigned_constants_are_not_negative_ones() -> None:
    chosen = [
        f"""agraph (bool[2] x) => (float[2] y) {{ a = Constant<value = {kind}[1] {{{number}}}>()
            b = Constant<value = {kind}[1] {{0}}>()  c = Where(x, a, b)  y = Cast<to = 1>(c) }}"""
        for kind, number in (("uint64", 1 << 63), ("int64", -(1 << 63)))
    ]
    assert _same(chosen[0], chosen[1]) == "other"


def test_linear_integers_agree() -> None:
    for kind in ("int64", "int32", "uint8"):
        one = f"agraph ({kind}[2] x) => ({kind}[2] y) <{kind}[1] c = {{5}}> {{ a = Add(x, c)  y = Add(a, c) }}"
        two = f"agraph ({kind}[2] x) => ({kind}[2] y) <{kind}[1] c = {{10}}> {{ y = Add(c, x) }}"
        assert _same(one, two) == "proven"


def test_attributes_that_are_equal_to_python() -> None:
    data = np.ones((2, 2), np.float32)
    assert differ(
        Node("LeakyRelu", [data], {"alpha": 0.0}), Node("LeakyRelu", [data], {"alpha": -0.0}), everywhere=True
    )


_FLOATS = (np.float16, np.float32, np.float64)
_INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)


def _numbers(rng: np.random.Generator, kind: Any, dims: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Small and large ones, and those at the ends."""
    if np.dtype(kind).kind == "f":
        return np.asarray(rng.normal(size=dims) * rng.choice([0.01, 1, 100], dims), kind)
    info = np.iinfo(kind)
    ends = rng.choice(np.array([info.min, info.max], object), dims)
    small = rng.integers(max(info.min, -9), 9, dims)
    return np.where(rng.random(dims) < 0.2, ends, small).astype(kind)


_EXACT = {
    "Abs": 1,
    "Neg": 1,
    "Sign": 1,
    "Relu": 1,
    "Sqrt": 1,
    "Ceil": 1,
    "Floor": 1,
    "Round": 1,
    "Reciprocal": 1,
    "BitwiseNot": 1,
    "Not": 1,
    "IsNaN": 1,
    "Add": 2,
    "Sub": 2,
    "Mul": 2,
    "Div": 2,
    "Mod": 2,
    "Max": 2,
    "Min": 2,
    "Pow": 2,
    "Equal": 2,
    "Less": 2,
    "GreaterOrEqual": 2,
    "BitwiseAnd": 2,
    "BitwiseXor": 2,
    "And": 2,
    "Where": 3,
    "Clip": 3,
}
"""Operators that are done on numbers, and how many operands they have."""


def _allowed(op: str, opset: int) -> list[Any]:
    kinds = [np.bool_, *_FLOATS, *_INTEGERS]
    schema = onnx.defs.get_schema(op, opset)
    letter = schema.inputs[1 if op == "Where" else 0].type_str
    types = next(each.allowed_type_strs for each in schema.type_constraints if each.type_param_str == letter)
    names = {f"tensor({ir.DataType.from_numpy(np.dtype(kind)).name.lower()})": kind for kind in kinds}
    return [kind for name, kind in names.items() if name in types]


@pytest.mark.parametrize("op", _EXACT)
@pytest.mark.parametrize("seed", range(8))
def test_numbers_are_those_of_the_engine(op: str, seed: int) -> None:
    rng = np.random.default_rng([seed, len(op)])
    opset = int(rng.choice([13, 14, 18, 21]))
    opset = max(opset, 18) if op.startswith("Bitwise") else opset
    kinds = _allowed(op, opset)
    kind = kinds[rng.integers(len(kinds))]
    inputs = [
        rng.random((3, 4)) < 0.5 if kind is np.bool_ or (op == "Where" and not place) else _numbers(rng, kind, (3, 4))
        for place in range(_EXACT[op])
    ]
    attributes = {}
    if op == "Mod" and (np.dtype(kind).kind == "f" or rng.random() < 0.5):
        attributes["fmod"] = 1
    if op in {"Div", "Mod"}:
        inputs[1] = np.where(inputs[1] == 0, kind(3), inputs[1])
        inputs[1] = (
            np.where(inputs[1] == kind(0) - kind(1), kind(2), inputs[1]) if np.dtype(kind).kind == "i" else inputs[1]
        )
    if op == "Pow":
        inputs[1] = _numbers(rng, np.int64, (3, 4)) % 4
    if op == "Clip":
        inputs[1:] = [np.asarray(np.min(each)) for each in inputs[1:]]
    if op == "Reciprocal":
        inputs[0] = np.ldexp(kind(1), rng.integers(-14, 15, (3, 4))).astype(kind) * rng.choice(
            [kind(-1), kind(1)], (3, 4)
        )
    node = Node(op, inputs, attributes, opset=opset, held=frozenset(range(3)))
    found = node.run()[0]
    try:
        wanted = node.engine()[0]
    except NotImplemented_:
        return
    assert found.dtype == ir.DataType.from_numpy(wanted.dtype)
    if found.values is not None:
        np.testing.assert_array_equal(found.values, wanted)
        if wanted.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(found.values), np.signbit(wanted))
    else:
        assert op == "Pow" or (op == "Mod" and attributes and np.dtype(kind).itemsize == 8)


def test_a_remainder_that_is_taken_of_floats_is_no_number() -> None:
    """2^63 - 1 is no DOUBLE: onnxruntime takes the remainder of C of 2^63."""
    large, three = np.array([(1 << 63) - 1]), np.array([3])
    for values in ([large, three], [three, large]):
        assert Node("Mod", values, {"fmod": 1}, held=frozenset({0, 1})).run()[0].values is None
        node = Node("Mod", values, held=frozenset({0, 1}))
        np.testing.assert_array_equal(node.run()[0].values, node.engine()[0])


def test_a_reciprocal_that_is_rounded_is_no_number() -> None:
    """On Arm the last digit of onnxruntime's depends on the place, and 1/1e-45 is -inf."""
    for kind in _FLOATS:
        tiny = np.finfo(kind).smallest_subnormal
        for value in (3, 0.1, 0.0, np.inf, np.nan, tiny, np.finfo(kind).max):
            values = np.array([2, value], kind)
            assert Node("Reciprocal", [values], held=frozenset({0})).run()[0].values is None


@pytest.mark.parametrize("kind", [*_FLOATS, *_INTEGERS, np.bool_])
@pytest.mark.parametrize("to", [*_FLOATS, *_INTEGERS, np.bool_])
def test_casts_are_those_of_the_engine(kind: Any, to: Any) -> None:
    rng = np.random.default_rng(3)
    values = rng.random((4, 4)) < 0.5 if kind is np.bool_ else _numbers(rng, kind, (4, 4))
    code = helper.np_dtype_to_tensor_dtype(np.dtype(to))
    node = Node("Cast", [values], {"to": code}, held=frozenset({0}))
    found, wanted = node.run()[0], node.engine()[0]
    if found.values is not None:
        np.testing.assert_array_equal(found.values, wanted)
    else:
        assert np.dtype(kind).kind == "f" or to is np.float16


def test_what_is_rounded_twice_is_no_number() -> None:
    """DOUBLE to FLOAT16 goes through FLOAT in some engines, and 2^63 is no INT64."""
    for values, code in (
        (np.array([1 + 2.0**-11 + 2.0**-30]), 10),
        (np.array([2.0**63]), 7),
        (np.array([(1 << 24) + 1]), 16),
        (np.array([np.nan]), 6),
    ):
        assert Node("Cast", [values], {"to": code}, held=frozenset({0})).run()[0].values is None


def test_negative_zeros_and_nans_are_no_numbers() -> None:
    for values in (np.array([-0.0], np.float32), np.array([np.nan], np.float32)):
        for op in ("Relu", "Sign"):
            assert Node(op, [values], held=frozenset({0})).run()[0].values is None
        for op in ("Max", "Min", "Clip"):
            other = np.array(1, np.float32)
            assert Node(op, [values, other], held=frozenset({0, 1})).run()[0].values is None


_ATTRIBUTES: dict[str, dict[str, list[Any]]] = {
    "Celu": {"alpha": [0.5, 2.0]},
    "Elu": {"alpha": [0.5, 2.0]},
    "Gelu": {"approximate": ["none", "tanh"]},
    "HardSigmoid": {"alpha": [0.1, 0.3], "beta": [0.4, 0.6]},
    "IsInf": {"detect_negative": [0, 1], "detect_positive": [0, 1]},
    "LeakyRelu": {"alpha": [0.1, 0.3]},
    "Selu": {"alpha": [1.0, 2.0], "gamma": [1.0, 2.0]},
    "Shrink": {"bias": [0.0, 0.2], "lambd": [0.1, 0.4]},
    "ThresholdedRelu": {"alpha": [0.1, 0.3]},
}


@pytest.mark.parametrize("op", _ATTRIBUTES)
def test_attributes_count(op: str) -> None:
    rng = np.random.default_rng(0)
    data = _numbers(rng, np.float32, (3, 4))
    for name, values in _ATTRIBUTES[op].items():
        nodes = [Node(op, [data], {name: value}) for value in values]
        for node in nodes:
            check_dims(node)
            check_dependency(node, rng, lambda _: rng.normal() * 3)
            check_apart(node, {0: 0}, [0])
        assert differ(*nodes, everywhere=True)


@pytest.mark.parametrize("op", "Add Sub Mul Div Max Min Pow PRelu Less Equal Where BatchNormalization Clip".split())
def test_dependency(op: str) -> None:
    rng = np.random.default_rng(1)
    data = [_numbers(rng, np.float32, (3, 4)), _numbers(rng, np.float32, (4,))]
    if op == "Where":
        data.insert(0, rng.random((3, 1)) < 0.5)
    if op == "BatchNormalization":
        data = [data[0], *(np.abs(_numbers(rng, np.float32, (4,))) for _ in range(4))]
    if op == "Clip":
        data[1] = np.asarray(-1, np.float32)
    node = Node(op, data)
    check_dims(node)
    check_dependency(node, rng, lambda place: abs(rng.normal()) if place else rng.normal(), 6)
    check_apart(node, {0: 0}, [0])


def test_the_versions_of_clip() -> None:
    """The old limits are those of FLOAT; the new ones are those of the type, which are no infinity either."""
    for kind in (np.float32, np.float16):
        data = np.array([np.inf, 1, -np.inf], kind)
        old, new = Node("Clip", [data], opset=6), Node("Clip", [data], opset=13)
        assert differ(old, new, everywhere=True) == (kind == np.float16)
        assert differ(new, Node("Identity", [data], opset=13), everywhere=True)
    data = np.array([np.inf, 1, -np.inf], np.float32)
    limits = [np.asarray(each, np.float32) for each in (-1, 2)]
    assert not differ(
        Node("Clip", [data], {"min": -1.0, "max": 2.0}, opset=6),
        Node("Clip", [data, *limits], opset=13, held=frozenset({1, 2})),
    )


def test_old_operators_broadcast_only_if_told_to() -> None:
    one, two = np.ones((2, 3), np.float32), np.ones((3,), np.float32)
    for node in (
        Node("Add", [one, two], opset=6),
        Node("Max", [one, two], opset=6),
        Node("Sum", [one, one, two], opset=6),
        Node("Add", [one, np.ones((2,), np.float32)], {"broadcast": 1}, opset=6),
        Node("PRelu", [one, np.ones((2,), np.float32)], opset=16),
        Node("PRelu", [two, one], opset=16),
        Node("Mod", [one, one], opset=13),
        Node("Dropout", [one], outputs=2, opset=7),
        Node("Dropout", [one], opset=6),
        Node("Dropout", [one, np.asarray(0.5, np.float32), np.asarray(True)], opset=13, held=frozenset({1, 2})),
        Node("BatchNormalization", [one, two, two, two, two], {"training_mode": 1}, outputs=3, opset=15),
        Node("BatchNormalization", [one, two, two, two, two], opset=6),
    ):
        with pytest.raises(NotProven):
            node.run()
    placed = Node("Add", [one, np.ones((2,), np.float32)], {"broadcast": 1, "axis": 0}, opset=6)
    column = Node("Add", [one, np.ones((2, 1), np.float32)], opset=7)
    given = {0: placed.leaves[0], 1: placed.leaves[1]}
    spread = {0: given[0], 1: given[1].moved(lambda array: array[:, None])}
    np.testing.assert_array_equal(placed.words(given)[0], column.words(spread)[0])


def test_texts_are_compared_as_texts() -> None:
    """An initializer has bytes, and an attribute has text."""
    model = """<ir_version: 10, opset_import: ["" : 19]> agraph (float[1] x) => (bool[2] y)
        { a = Constant<value_strings = ["a", "b"]>()  b = Constant<value = string[2] {"a", "c"}>()  y = Equal(a, b) }"""
    found, _ = Program(ir.from_proto(onnx.parser.parse_model(model)), Hashing(1), Limits()).run(
        {"x": Tensor(ir.DataType.FLOAT, values=np.ones(1, np.float32))}
    )
    tensor = found["y"]
    assert isinstance(tensor, Tensor)
    assert tensor.array.tolist() == [True, False]


def test_bfloat16_is_rounded_once() -> None:
    values = [np.array([1.0, 257.0, 3.0], ml_dtypes.bfloat16), np.array([3.0, 1.0, 0.0078125], ml_dtypes.bfloat16)]
    found = Node("Div", values, held=frozenset({0, 1})).run()[0]
    exact = (values[0].astype(np.float64) / values[1].astype(np.float64)).astype(ml_dtypes.bfloat16)
    assert found.array.tobytes() == exact.tobytes()
