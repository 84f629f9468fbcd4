"""Normalisations against onnxruntime and the law of dependency."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from onereshape.terms.refusal import NotProven
from tests.terms.perturbing import Node, check, floats, leaves, on_terms, words

ROWS = {0: 0, ~0: 0}


def all_differ(*nodes: Node) -> None:
    """No element has the same word in two of them."""
    found = [words(each)[0] for each in nodes]
    for place, one in enumerate(found):
        for two in found[:place]:
            assert np.all(one != two)


@pytest.mark.parametrize("axis", [1, 2, -1])
def test_layer_normalization(axis: int) -> None:
    rng = np.random.default_rng(axis % 3)
    data = floats(rng, 3, 2, 4)
    shape = data.shape[axis:]
    node = Node(
        "LayerNormalization",
        17,
        [data, floats(rng, *shape), floats(rng, *shape)],
        {"axis": axis},
        3,
        batch={0: 0, ~0: 0, ~1: 0, ~2: 0},
    )
    check(node, rng)
    check(replace(node, inputs=node.inputs[:2], outputs=1), rng)
    all_differ(node, node.changed(epsilon=1e-3), replace(node, inputs=node.inputs[:2]))
    mean, other = words(node), words(node.changed(epsilon=1e-3))
    np.testing.assert_array_equal(mean[1], other[1])
    assert np.all(mean[2] != other[2])


def test_layer_normalization_over_other_axes() -> None:
    rng = np.random.default_rng(0)
    node = Node("LayerNormalization", 17, [floats(rng, 3, 2, 4), np.ones((4,), np.float32)], {"axis": 1})
    all_differ(node, node.changed(axis=2), node.changed(axis=0))
    for shape in ((3,), (1, 3, 2, 4), (2, 4, 1)):
        with pytest.raises(NotProven):
            words(replace(node, inputs=[node.inputs[0], np.ones(shape, np.float32)]))


def test_rms_normalization() -> None:
    rng = np.random.default_rng(1)
    for axis in (1, -1):
        data = floats(rng, 3, 2, 4)
        node = Node("RMSNormalization", 23, [data, floats(rng, *data.shape[axis:])], {"axis": axis}, batch=ROWS)
        check(node, rng)
        all_differ(node, node.changed(epsilon=1e-2))


@pytest.mark.parametrize("groups", [1, 2, 3, 6])
def test_group_normalization(groups: int) -> None:
    rng = np.random.default_rng(groups)
    data = floats(rng, 2, 6, 2, 2)
    node = Node("GroupNormalization", 21, [data, floats(rng, 6), floats(rng, 6)], {"num_groups": groups}, batch=ROWS)
    check(node, rng, 5)
    all_differ(node, node.changed(epsilon=0.5), node.changed(num_groups=2 if groups != 2 else 3))
    with pytest.raises(NotProven, match="Reshape"):
        words(node.changed(num_groups=4))


def test_group_normalization_with_parameters_for_groups() -> None:
    rng = np.random.default_rng(8)
    data = floats(rng, 2, 6, 4)
    node = Node("GroupNormalization", 18, [data, floats(rng, 3), floats(rng, 3)], {"num_groups": 3}, batch=ROWS)
    check(node, rng, 6)
    assert np.all(words(node)[0] != words(node.changed(epsilon=0.5))[0])
    with pytest.raises(NotProven, match="Mul"):
        words(replace(node, inputs=[data, floats(rng, 6), floats(rng, 6)]))


def test_instance_normalization() -> None:
    rng = np.random.default_rng(2)
    for opset in (6, 22):
        for dims in ((2, 3, 4), (2, 3, 2, 2)):
            node = Node(
                "InstanceNormalization", opset, [floats(rng, *dims), floats(rng, 3), floats(rng, 3)], batch=ROWS
            )
            check(node, rng, 5)
            all_differ(node, node.changed(epsilon=0.5))
    with pytest.raises(NotProven):
        words(replace(node, inputs=[node.inputs[0], node.inputs[1], np.ones(2, np.float32)]))


def test_channels_do_not_read_one_another() -> None:
    rng = np.random.default_rng(3)
    node = Node(
        "InstanceNormalization",
        6,
        [floats(rng, 2, 3, 4), floats(rng, 3), floats(rng, 3)],
        batch={0: 1, 1: 0, 2: 0, ~0: 1},
    )
    check(node, rng, 6)


@pytest.mark.parametrize("order", [1, 2])
def test_lp_normalization(order: int) -> None:
    rng = np.random.default_rng(order)
    for axis in (1, 2, -1):
        node = Node("LpNormalization", 1, [floats(rng, 3, 2, 4)], {"axis": axis, "p": order}, batch=ROWS)
        check(node, rng)
        all_differ(node, node.changed(p=3 - order), node.changed(axis=0))


def test_mean_variance_normalization() -> None:
    rng = np.random.default_rng(4)
    node = Node("MeanVarianceNormalization", 13, [floats(rng, 2, 3, 2, 2)])
    check(replace(node, batch={0: 1, ~0: 1}), rng, 5)
    check(replace(node.changed(axes=[2, 3]), batch=ROWS), rng, 5)
    all_differ(node, node.changed(axes=[2, 3]), node.changed(axes=[1, 2, 3]))
    one, two = (words(node.changed(axes=axes))[0] for axes in ([0, 2, 3], [3, 0, -2]))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("size", [1, 3, 5, 21])
def test_local_response_normalization(size: int) -> None:
    rng = np.random.default_rng(size)
    node = Node("LRN", 13, [floats(rng, 2, 6, 2, 1)], {"size": size, "alpha": 0.5}, batch=ROWS, rounding=1e-5)
    check(node, rng, 8)
    check(replace(node, batch={0: 2, ~0: 2}), rng, 8)
    changes: list[dict[str, Any]] = [{"size": size + 2}, {"alpha": 0.25}, {"beta": 0.5}, {"bias": 2.0}]
    all_differ(node, *(node.changed(**each) for each in changes))
    first = words(node)[0]
    feeds = leaves(node)
    far = feeds["i0"].array.copy()
    far[0, 5] += np.uint64(1)
    again = on_terms(node)({"i0": replace(feeds["i0"], words=far)})[0].array
    reach = min(size // 2, 5)
    assert np.all((first != again)[0, 5 - reach :])
    assert not np.any((first != again)[0, : 5 - reach])
