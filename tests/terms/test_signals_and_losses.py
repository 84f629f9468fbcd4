"""Losses, transforms and windows against onnxruntime and the law of dependency."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from onereshape.terms.refusal import NotProven
from tests.terms.perturbing import Array, Node, check, floats, leaves, on_terms, words


def loss(rng: np.random.Generator, op: str, dims: tuple[int, ...], *, weighted: bool, **attributes: Any) -> Node:
    labels = rng.integers(0, 3, (dims[0], *dims[1:]))
    inputs: list[Array | None] = [floats(rng, dims[0], 3, *dims[1:]), labels]
    if weighted:
        inputs.append(np.abs(floats(rng, 3)))
    batch = {0: 0, 1: 0, ~0: 0} if attributes.get("reduction") == "none" else {}
    return Node(op, 13, inputs, attributes, batch=batch)


@pytest.mark.parametrize("op", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [True, False])
def test_losses(op: str, reduction: str, weighted: bool) -> None:
    rng = np.random.default_rng(7)
    for dims in ((4,), (2, 3)):
        node = loss(rng, op, dims, weighted=weighted, reduction=reduction)
        check(node, rng, 6)
        check(node.changed(ignore_index=1), rng, 6)
        if op == "SoftmaxCrossEntropyLoss":
            check(replace(node, outputs=2, batch={0: 0, ~1: 0}), rng, 6)
        others = [words(node.changed(**each))[0] for each in ({"ignore_index": 1}, {"ignore_index": 2})]
        assert np.all(words(node)[0] != others[0])
        assert np.all(others[1] != others[0])


def test_the_log_probability_is_that_of_log_softmax() -> None:
    rng = np.random.default_rng(8)
    node = loss(rng, "SoftmaxCrossEntropyLoss", (2, 4), weighted=False)
    alone = Node("LogSoftmax", 13, node.inputs[:1], {"axis": 1})
    np.testing.assert_array_equal(words(replace(node, outputs=2))[1], words(alone)[0])


def test_losses_that_are_none() -> None:
    rng = np.random.default_rng(9)
    node = loss(rng, "NegativeLogLikelihoodLoss", (4,), weighted=True)
    for inputs in ([node.inputs[0], np.zeros(3, np.int64)], [*node.inputs[:2], np.ones(4, np.float32)]):
        with pytest.raises(NotProven):
            words(replace(node, inputs=inputs))


@pytest.mark.parametrize("opset", [17, 20])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("length", [None, 3, 5, 8])
def test_fourier_transforms(opset: int, parts: int, length: int | None) -> None:
    rng = np.random.default_rng(10)
    for inverse, onesided in ((0, 0), (1, 0), (0, 1)):
        if onesided and parts == 2:
            continue
        inputs: list[Array | None] = [floats(rng, 3, 5, parts), None if length is None else np.array(length)]
        attributes = {"inverse": inverse, "onesided": onesided}
        if opset == 20:
            inputs.append(np.array(1))
        elif length is None:
            inputs.pop()
        node = Node("DFT", opset, inputs, attributes, 1, frozenset([1, 2]), {0: 0, ~0: 0}, rounding=1e-4)
        check(node, rng, 6)
        turned = words(node.changed(inverse=1 - inverse, onesided=0))[0]
        least = (length or 5) // 2 + 1
        assert np.all(words(node)[0][:, :least] != turned[:, :least])
    with pytest.raises(NotProven):
        words(Node("DFT", 17, [floats(rng, 3, 5, 2)], {"onesided": 1}))
    with pytest.raises(NotProven):
        words(Node("DFT", 17, [floats(rng, 3, 5, 1)], {"axis": 2}))


def test_a_longer_transform_is_another() -> None:
    rng = np.random.default_rng(11)
    short, long = (
        words(Node("DFT", 17, [floats(rng, 2, 5, 1), np.array(length)], {}, 1, frozenset([1])))[0] for length in (6, 7)
    )
    assert np.all(short != long[:, :6])


def test_the_real_inverse() -> None:
    rng = np.random.default_rng(12)
    node = Node("DFT", 20, [floats(rng, 2, 5, 2)], {"inverse": 1, "onesided": 1}, batch={0: 0, ~0: 0})
    assert words(node)[0].shape == (2, 8, 1)


@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("windowed", [True, False])
def test_short_time_transforms(onesided: int, windowed: bool) -> None:
    rng = np.random.default_rng(13)
    window = np.abs(floats(rng, 4)) if windowed else None
    inputs: list[Array | None] = [floats(rng, 2, 11, 1), np.array(3), window, np.array(4)]
    node = Node("STFT", 17, inputs, {"onesided": onesided}, 1, frozenset([1, 3]), {0: 0, ~0: 0}, rounding=1e-4)
    check(node, rng, 8)
    first, given = words(node)[0], leaves(node)
    other = given["i0"].array.copy()
    other[0, 4, 0] += np.uint64(1)
    again = on_terms(node)({**given, "i0": replace(given["i0"], words=other)})[0].array
    np.testing.assert_array_equal((first != again)[0].all((1, 2)), [False, True, False])
    with pytest.raises(NotProven, match="with L = 4"):
        words(replace(node, inputs=[*inputs[:2], np.ones(5, np.float32), np.array(4)]))


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_windows(op: str) -> None:
    rng = np.random.default_rng(14)
    node = Node(op, 17, [np.array(6)], {}, 1, frozenset([0]))
    check(node, rng)
    assert np.all(words(node)[0][1:] != words(node.changed(periodic=0))[0][1:])
    longer = words(replace(node, inputs=[np.array(7)]))[0]
    assert np.all(words(node)[0][1:] != longer[1:6])
    check(node.changed(output_datatype=11), rng)
    with pytest.raises(NotProven):
        words(replace(node, constants=frozenset()))


def test_mel_weights() -> None:
    rng = np.random.default_rng(15)
    inputs: list[Array | None] = [np.array(each) for each in (4, 16, 8000)]
    inputs += [np.array(each, np.float32) for each in (0.0, 4000.0)]
    node = Node("MelWeightMatrix", 17, inputs, {}, 1, frozenset(range(5)))
    first = check(node, rng)[0]
    other = words(replace(node, inputs=[*inputs[:4], np.array(3000.0, np.float32)]))[0]
    assert np.all(first != other)
