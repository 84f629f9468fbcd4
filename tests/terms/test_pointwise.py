"""Elementwise operators on terms, beside onnxruntime: what equal words must never say."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from onereshape.terms.hashing import Hashing
from onereshape.terms.program import Limits, Program
from onereshape.terms.prove import prove_same
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor
from tests.terms.single_nodes import Node, check_apart, check_dependency, check_dims, differ


def _same(one: str, other: str, opset: int = 21) -> str:
    """The verdict on two models in the text form of onnx."""
    texts = [f'<ir_version: 10, opset_import: ["" : {opset}]> {text}' for text in (one, other)]
    models = [ir.from_proto(onnx.parser.parse_model(text)) for text in texts]
    return prove_same(*models, [{}], seed=5).verdict


def test_integers_that_wrap_are_of_their_type() -> None:
    """A product that wraps in INT32 does not in INT64, though both are the same linear form."""
    narrow = """agraph (int32[2] x) => (float[2] y)
        <int32[1] c = {1048576}> { a = Mul(x, c)  y = Cast<to = 1>(a) }"""
    wide = """agraph (int32[2] x) => (float[2] y)
        <int64[1] c = {1048576}> { l = Cast<to = 7>(x)  a = Mul(l, c)  y = Cast<to = 1>(a) }"""
    assert _same(narrow, narrow) == "proven"
    assert _same(narrow, wide) == "differs"
    small = """agraph (int8[2] x) => (float[2] y)
        <int32[1] c = {1000}> { l = Cast<to = 6>(x)  a = Mul(l, c)  y = Cast<to = 1>(a) }"""
    large = """agraph (int8[2] x) => (float[2] y)
        <int64[1] c = {1000}> { l = Cast<to = 7>(x)  a = Mul(l, c)  y = Cast<to = 1>(a) }"""
    assert _same(small, large) == "proven"


@pytest.mark.parametrize(
    "body", ["BitwiseNot(l)", "BitShift<direction = \"LEFT\">(l, l)", "Mul(l, l)", "Sub(k, l)"]
)
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
            assert _same(one, other) == "differs"


def test_large_unsigned_constants_are_not_negative_ones() -> None:
    chosen = [
        f"""agraph (bool[2] x) => (float[2] y) {{ a = Constant<value = {kind}[1] {{{number}}}>()
            b = Constant<value = {kind}[1] {{0}}>()  c = Where(x, a, b)  y = Cast<to = 1>(c) }}"""
        for kind, number in (("uint64", 1 << 63), ("int64", -(1 << 63)))
    ]
    assert _same(*chosen) == "differs"


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
