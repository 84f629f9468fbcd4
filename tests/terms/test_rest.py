"""Bits, texts and counts on terms."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.terms.prove import prove_same
from onereshape.terms.refusal import NotProven
from tests.terms.single_nodes import Node, check_apart, check_dependency, check_dims, differ


def _same(one: str, other: str, opset: int = 21) -> str:
    models = [
        ir.from_proto(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}'))
        for text in (one, other)
    ]
    return prove_same(models[0], models[1], [{}], seed=5).verdict


def test_bits() -> None:
    values = np.array([1.5, -2.0, 0.0], np.float32)
    found = Node("BitCast", [values], {"to": onnx.TensorProto.INT32}, opset=26, held=frozenset({0})).run()[0]
    np.testing.assert_array_equal(found.array, values.view(np.int32))
    one, two = (Node("BitCast", [values], {"to": kind}, opset=26) for kind in (6, 12))
    assert differ(one, two, everywhere=True)
    assert one.run()[0].shape == (3,)
    with pytest.raises(NotProven):
        Node("BitCast", [values], {"to": onnx.TensorProto.INT64}, opset=26).run()
    with pytest.raises(NotProven):
        Node("BitCast", [values], {"to": 99}, opset=26).run()


def test_bits_are_of_their_types() -> None:
    """The same integers of INT8 and UINT8 have other bits."""
    texts = [
        f"agraph (bool[2] x) => (float[2] y) {{ a = Cast<to = {kind}>(x)  b = Neg(a)  c = Cast<to = {kind}>(b)"
        f"  d = BitCast<to = {to}>(c)  y = Cast<to = 1>(d) }}"
        for kind, to in ((3, 2), (5, 4))
    ]
    assert _same(texts[0], texts[0], 26) == "proven"
    assert _same(texts[0], texts[1], 26) == "differs"


def test_texts() -> None:
    one = "agraph (string[2] x, string[1] z) => (string[2] y) { y = StringConcat(x, z) }"
    two = "agraph (string[2] x, string[1] z) => (string[2] y) { y = StringConcat(z, x) }"
    assert _same(one, one) == "proven"
    assert _same(one, two) == "differs"
    texts = [
        f'agraph (string[2] x) => (bool[2] y) {{ y = RegexFullMatch<pattern = "{pattern}">(x) }}'
        for pattern in ("a+", "b+")
    ]
    assert _same(texts[0], texts[0]) == "proven"
    assert _same(texts[0], texts[1]) == "differs"


def test_gates() -> None:
    whole = "agraph (float[2, 3] a, float[2, 3] b) => (float[2, 3] y) { y = SwiGLU<alpha = 0.5>(a, b) }"
    parts = "agraph (float[2, 3] a, float[2, 3] b) => (float[2, 3] y) { s = Swish<alpha = 0.5>(a)  y = Mul(s, b) }"
    other = "agraph (float[2, 3] a, float[2, 3] b) => (float[2, 3] y) { y = SwiGLU(a, b) }"
    wrong = "agraph (float[2, 3] a, float[3] b) => (float[2, 3] y) { y = SwiGLU(a, b) }"
    assert _same(whole, parts, 28) == "proven"
    assert _same(whole, other, 28) == "differs"
    assert _same(wrong, wrong, 28) == "not proven"


def test_counts() -> None:
    attributes: dict[str, Any] = {
        "mode": "TF",
        "min_gram_length": 1,
        "max_gram_length": 2,
        "max_skip_count": 0,
        "ngram_counts": [0, 2],
        "ngram_indexes": [0, 1, 2, 3],
        "pool_int64s": [2, 3, 5, 4, 5, 6],
    }
    rng = np.random.default_rng(0)
    node = Node("TfIdfVectorizer", [rng.integers(2, 7, (3, 6))], attributes)
    check_dims(node)
    check_dependency(node, rng, lambda _: rng.integers(2, 7), 8)
    check_apart(node, {0: 0}, [0])
    other = Node("TfIdfVectorizer", node.inputs, {**attributes, "pool_int64s": [2, 3, 5, 4, 5, 7]})
    assert differ(node, other, everywhere=True)
