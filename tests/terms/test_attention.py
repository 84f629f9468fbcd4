"""Attention and RotaryEmbedding against onnxruntime and the law of dependency."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from onereshape.terms.refusal import NotProven
from tests.terms.perturbing import Array, Node, check, floats, leaves, on_terms, words

BATCH = {0: 0, 1: 0, 2: 0, 4: 0, 5: 0, 6: 0, ~0: 0, ~1: 0, ~2: 0, ~3: 0}


def attention(rng: np.random.Generator, opset: int = 23, heads: int = 2, others: int = 2, **attributes: Any) -> Node:
    """Two samples, queries of 3 and keys of 4 places."""
    inputs = [floats(rng, 2, heads, 3, 2), floats(rng, 2, others, 4, 2), floats(rng, 2, others, 4, 3)]
    return Node("Attention", opset, inputs, attributes, 1, batch=BATCH, rounding=1e-6)


def test_attention_depends_on_what_it_reads() -> None:
    rng = np.random.default_rng(0)
    for attributes in ({}, {"is_causal": 1}, {"scale": 0.3}, {"softcap": 2.0}):
        for heads, others in ((2, 2), (4, 2), (2, 1)):
            check(attention(rng, 23, heads, others, **attributes), rng, 6)


def test_attention_of_three_axes() -> None:
    rng = np.random.default_rng(1)
    inputs = [floats(rng, 2, 3, 4), floats(rng, 2, 5, 4), floats(rng, 2, 5, 6)]
    node = Node("Attention", 23, inputs, {"q_num_heads": 2, "kv_num_heads": 2}, batch=BATCH, rounding=1e-6)
    check(node, rng, 5)
    with pytest.raises(NotProven, match=r"Reshape|Expand"):
        words(node.changed(q_num_heads=3))
    with pytest.raises(NotProven, match=r"Reshape|Expand"):
        words(replace(node, attributes={}))


@pytest.mark.parametrize("mask", [(3, 4), (1, 1, 3, 4), (2, 1, 3, 4), (1, 2, 3, 4), (2, 3, 4), (2, 2, 3, 4)])
def test_masks(mask: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(mask))
    node = attention(rng)
    for each in (floats(rng, *mask), rng.random(mask) < 0.6):
        masked = replace(node, inputs=[*node.inputs, each])
        check(masked, rng, 5)
        assert np.all(words(masked)[0] != words(node)[0])
    for bad in ((3, 5), (4, 4), (3, 2)):
        with pytest.raises(NotProven, match=r"(?i)attn|mask"):
            words(replace(node, inputs=[*node.inputs, floats(rng, *bad)]))


def test_the_past() -> None:
    rng = np.random.default_rng(2)
    node = attention(rng)
    past: list[Array | None] = [None, floats(rng, 2, 2, 5, 2), floats(rng, 2, 2, 5, 3)]
    for attributes in ({}, {"is_causal": 1}, {"qk_matmul_output_mode": 3}):
        check(replace(node, inputs=[*node.inputs, *past], attributes=attributes, outputs=4), rng, 4)
    plain = replace(node, inputs=[*node.inputs, *past], outputs=3)
    found, given = words(plain), leaves(plain)
    np.testing.assert_array_equal(found[1], np.concatenate([given["i4"].array, given["i1"].array], 2))
    np.testing.assert_array_equal(found[2], np.concatenate([given["i5"].array, given["i2"].array], 2))
    with pytest.raises(NotProven, match="Expanded"):
        words(replace(plain, inputs=plain.inputs[:5]))


def test_other_attentions_have_other_words() -> None:
    rng = np.random.default_rng(3)
    node = attention(rng)
    changes: list[dict[str, Any]] = [
        {},
        {"is_causal": 1},
        {"scale": 0.5},
        {"scale": 0.25},
        {"softcap": 1.0},
        {"softmax_precision": 11},
    ]
    found = [words(node.changed(**each))[0] for each in changes]
    for place, one in enumerate(found):
        for two in found[:place]:
            assert np.all(one != two)


def test_lengths_of_the_cache() -> None:
    rng = np.random.default_rng(4)
    node = attention(rng, 24)
    lengths = np.array([2, 4])
    for attributes in ({}, {"is_causal": 1}):
        fed = replace(node, inputs=[*node.inputs, None, None, None, lengths], attributes=attributes)
        first = words(fed)[0]
        given = leaves(fed)
        other = given["i6"].array.copy()
        other[1] += np.uint64(1)
        again = on_terms(fed)({**given, "i6": replace(given["i6"], words=other)})[0].array
        np.testing.assert_array_equal((first != again).reshape(2, -1).all(1), [False, True])


def rotary(rng: np.random.Generator, shape: tuple[int, ...], width: int, *, ids: bool, **attributes: Any) -> Node:
    length = shape[2] if len(shape) == 4 else shape[1]
    inputs = [floats(rng, *shape), *(floats(rng, *((7,) if ids else (2, length)), width // 2) for _ in range(2))]
    if ids:
        inputs.append(rng.integers(0, 7, (2, length)))
    batch = {0: 0, 3: 0, ~0: 0} if ids else {0: 0, 1: 0, 2: 0, ~0: 0}
    return Node("RotaryEmbedding", 23, inputs, attributes, batch=batch)


@pytest.mark.parametrize("ids", [True, False])
@pytest.mark.parametrize("interleaved", [0, 1])
def test_rotary_embedding(ids: bool, interleaved: int) -> None:
    rng = np.random.default_rng(5)
    for node in (
        rotary(rng, (2, 3, 4, 6), 6, ids=ids, interleaved=interleaved),
        rotary(rng, (2, 4, 8), 4, ids=ids, interleaved=interleaved, num_heads=2),
        rotary(rng, (2, 4, 16), 4, ids=ids, interleaved=interleaved, num_heads=2, rotary_embedding_dim=4),
    ):
        check(node, rng, 6)
        assert np.any(words(node)[0] != words(node.changed(interleaved=1 - interleaved))[0])
        if ids:
            check(replace(node, constants=frozenset([3]), batch={0: 0, ~0: 0}), rng, 6)


def test_what_is_not_turned_stays() -> None:
    rng = np.random.default_rng(6)
    node = rotary(rng, (2, 4, 16), 4, ids=False, num_heads=2, rotary_embedding_dim=4)
    same = words(node)[0] == leaves(node)["i0"].array
    np.testing.assert_array_equal(same[0, 0], [False] * 4 + [True] * 4 + [False] * 4 + [True] * 4)
    with pytest.raises(NotProven, match="Reshape"):
        words(node.changed(rotary_embedding_dim=3))


def fused(op: str, inputs: list[Array | None], batch: dict[int, int], **attributes: Any) -> Node:
    return Node(op, 17, inputs, {"num_heads": 2, **attributes}, 1, frozenset(), batch, "com.microsoft")


def test_attention_of_many_heads_as_onnxruntime_fuses_it() -> None:
    rng = np.random.default_rng(7)
    inputs: list[Array | None] = [floats(rng, 2, 3, 4), floats(rng, 2, 5, 4), floats(rng, 2, 5, 6)]
    mask = np.array([[1, 1, 0, 1, 1], [1, 1, 1, 0, 0]], np.int32)
    node = fused("MultiHeadAttention", inputs, {0: 0, 1: 0, 2: 0, 4: 0, 5: 0, ~0: 0})
    check(node, rng, 5)
    check(replace(node, inputs=[*inputs, floats(rng, 14), mask]), rng, 5)
    biased = replace(node, inputs=[*inputs, None, None, floats(rng, 2, 2, 3, 5)])
    check(biased, rng, 5)
    assert np.all(words(node)[0] != words(biased)[0])
    masked = replace(node, inputs=[*inputs, None, mask])
    assert np.all(words(masked)[0] != words(masked.changed(mask_filter_value=-1.0))[0])
    for change in ({"scale": 0.25}, {"num_heads": 1}):
        assert np.all(words(node)[0] != words(node.changed(**change))[0])
    with pytest.raises(NotProven):  # of which onnxruntime's kernel makes something of its own
        words(node.changed(unidirectional=1))
    for bad in (
        [inputs[0]],
        [*inputs[:2], floats(rng, 2, 4, 6)],
        [*inputs, floats(rng, 13)],
        [*inputs, None, mask[:1]],
    ):
        with pytest.raises(NotProven):
            words(replace(node, inputs=bad))


def test_attention_with_weights_as_onnxruntime_fuses_it() -> None:
    rng = np.random.default_rng(8)
    inputs: list[Array | None] = [floats(rng, 2, 3, 4), floats(rng, 4, 12), floats(rng, 12)]
    node = fused("Attention", inputs, {0: 0, 3: 0, ~0: 0})
    check(node, rng, 5)
    check(replace(node, inputs=[*inputs, np.array([[1, 1, 0], [1, 1, 1]], np.int32)]), rng, 5)
    assert np.all(words(node)[0][:, :-1] != words(node.changed(unidirectional=1))[0][:, :-1])
