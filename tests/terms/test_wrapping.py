"""Integers of fewer than 64 bits wrap where wider ones do not: they are other expressions."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.terms.hashing import Hashing
from onereshape.terms.prove import prove_same

HEAD = '<ir_version: 8, opset_import: ["" : 18]> g '
NARROW = (
    HEAD + "(TYPE[3] x, TYPE[3] y) => (bool[3] z) { NODE limit = Constant<value = TYPE {5}>() z = Greater(s, limit) }"
)
WIDE = HEAD + (
    "(TYPE[3] x, TYPE[3] y) => (bool[3] z) { a = Cast<to=WHICH>(x) b = Cast<to=WHICH>(y) NODE"
    " limit = Constant<value = WIDER {5}>() z = Greater(s, limit) }"
)


def model(text: str, **parts: str) -> ir.Model:
    for name, part in parts.items():
        text = text.replace(name, part)
    return ir.from_proto(onnx.parser.parse_model(text))


@pytest.mark.parametrize(
    ("node", "kind", "wider"),
    [
        ("s = Add(A, B)", "int32", ("int64", "7")),
        ("s = Sub(A, B)", "int32", ("int64", "7")),
        ("s = Mul(A, B)", "int32", ("int64", "7")),
        ("m = Neg(A) s = Identity(m)", "int32", ("int64", "7")),
        ("m = Abs(A) s = Identity(m)", "int32", ("int64", "7")),
        ("s = Pow(A, B)", "int32", ("int64", "7")),
        ('s = BitShift<direction="LEFT">(A, B)', "uint8", ("uint32", "12")),
        ("m = BitwiseNot(A) s = Identity(m)", "uint8", ("uint32", "12")),
        ("m = ReduceSum<keepdims=1>(A) s = Sub(m, B)", "int32", ("int64", "7")),
    ],
)
def test_a_wider_type_is_another_expression(node: str, kind: str, wider: tuple[str, str]) -> None:
    narrow = model(NARROW, NODE=_named(node, "x", "y"), TYPE=kind)
    wide = model(WIDE, NODE=_named(node, "a", "b"), TYPE=kind, WIDER=wider[0], WHICH=wider[1])
    assert prove_same(narrow, narrow, [{}], seed=1).verdict == "proven"
    assert prove_same(narrow, wide, [{}], seed=1).verdict == "other"


def _named(node: str, one: str, two: str) -> str:
    return node.replace("(A", f"({one}").replace(" B)", f" {two})")


def test_two_contents_do_not_exchange_elements() -> None:
    hashing = Hashing(7)
    one, two = hashing.leaves(1, 3), hashing.leaves(2, 3)
    other, another = one.copy(), two.copy()
    other[1], another[0] = two[0], one[1]
    pairs = [[hashing.fold(each, (0,)) for each in pair] for pair in ((one, two), (other, another))]
    assert hashing.mix(3, *pairs[0]) != hashing.mix(3, *pairs[1])
    assert np.all(hashing.multipliers(5) % 2 == 1)
