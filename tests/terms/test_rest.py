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
    assert _same(texts[0], texts[1], 26) == "other"


def test_texts() -> None:
    one = "agraph (string[2] x, string[1] z) => (string[2] y) { y = StringConcat(x, z) }"
    two = "agraph (string[2] x, string[1] z) => (string[2] y) { y = StringConcat(z, x) }"
    assert _same(one, one) == "proven"
    assert _same(one, two) == "other"
    texts = [
        f'agraph (string[2] x) => (bool[2] y) {{ y = RegexFullMatch<pattern = "{pattern}">(x) }}'
        for pattern in ("a+", "b+")
    ]
    assert _same(texts[0], texts[0]) == "proven"
    assert _same(texts[0], texts[1]) == "other"


def test_gates() -> None:
    whole = "agraph (float[2, 3] a, float[2, 3] b) => (float[2, 3] y) { y = SwiGLU<alpha = 0.5>(a, b) }"
    parts = "agraph (float[2, 3] a, float[2, 3] b) => (float[2, 3] y) { s = Swish<alpha = 0.5>(a)  y = Mul(s, b) }"
    other = "agraph (float[2, 3] a, float[2, 3] b) => (float[2, 3] y) { y = SwiGLU(a, b) }"
    wrong = "agraph (float[2, 3] a, float[4] b) => (float[2, 3] y) { y = SwiGLU(a, b) }"
    assert _same(whole, parts, 28) == "proven"
    assert _same(whole, other, 28) == "other"
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


def _itself(text: str, opset: int = 21) -> str:
    return _same(text, text, opset)


def test_texts_that_are_left_out_or_cut() -> None:
    upper = 'agraph (string[2] x) => (string[n] y) { y = StringNormalizer<case_change_action = "UPPER">(x) }'
    lower = upper.replace("UPPER", "LOWER")
    assert _same(upper, upper) == "proven"
    assert _same(upper, lower) == "other"
    assert _itself(upper.replace("<", '<stopwords = ["a"], ')) == "not proven"
    assert _itself(upper.replace("string[2]", "string[2, 2]")) == "not proven"
    numbers = 'agraph (string[2] x) => (int64[2] z) { y, z = StringSplit<delimiter = "a">(x) }'
    assert _same(numbers, numbers) == "proven"
    assert _same(numbers, numbers.replace('"a"', '"b"')) == "other"
    assert _itself("agraph (string[2] x) => (string[2, n] y) { y, z = StringSplit(x) }") == "not proven"


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_blocks_in_either_order(mode: str) -> None:
    """A SpaceToDepth that has a mode, as Reshapes and a Transpose."""
    order = "0, 3, 5, 1, 2, 4" if mode == "DCR" else "0, 1, 3, 5, 2, 4"
    head = "agraph (float[1, 2, 4, 4] x) => (float[1, 8, 2, 2] y)"
    whole = f'{head} {{ y = SpaceToDepth<blocksize = 2, mode = "{mode}">(x) }}'
    parts = (
        f"{head} <int64[6] a = {{1, 2, 2, 2, 2, 2}}, int64[4] b = {{1, 8, 2, 2}}>"
        f" {{ r = Reshape(x, a) t = Transpose<perm = [{order}]>(r) y = Reshape(t, b) }}"
    )
    other = whole.replace(mode, "CRD" if mode == "DCR" else "DCR")
    assert _same(whole, parts, 28) == "proven"
    assert _same(whole, other, 28) == "other"
    assert _itself(whole.replace(mode, "RCD"), 28) == "not proven"
