"""LSTM, GRU and RNN against onnxruntime and the law of dependency."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from onereshape.terms.refusal import NotProven
from tests.terms.perturbing import Array, Node, check, floats, leaves, on_terms, words

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, WIDTH, HIDDEN = 3, 2, 2, 3


def layer(rng: np.random.Generator, op: str, direction: str, *, given: str = "", opset: int = 14) -> Node:
    """A layer; `given` names the optional inputs that are there: bias, lengths, hidden, cell, peepholes."""
    two, rows = 2 if direction == "bidirectional" else 1, GATES[op] * HIDDEN
    inputs: list[Array | None] = [
        floats(rng, STEPS, BATCH, WIDTH),
        floats(rng, two, rows, WIDTH),
        floats(rng, two, rows, HIDDEN),
        floats(rng, two, 2 * rows) if "b" in given else None,
        rng.integers(1, STEPS + 1, BATCH).astype(np.int32) if "l" in given else None,
        floats(rng, two, BATCH, HIDDEN) if "h" in given else None,
    ]
    if op == "LSTM":
        inputs.append(floats(rng, two, BATCH, HIDDEN) if "c" in given else None)
        inputs.append(floats(rng, two, 3 * HIDDEN) if "p" in given else None)
    while inputs[-1] is None:
        inputs.pop()
    outputs = 3 if op == "LSTM" else 2
    batch = {0: 1, 4: 0, 5: 1, 6: 1, ~0: 2, ~1: 1, ~2: 1}
    return Node(op, opset, inputs, {"hidden_size": HIDDEN, "direction": direction}, outputs, batch=batch)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("given", ["", "b", "bhcp", "hp", "bl", "blhcp"])
def test_layers_depend_on_what_they_read(op: str, direction: str, given: str) -> None:
    rng = np.random.default_rng(len(direction) + len(given))
    for opset in (7, 14):
        check(layer(rng, op, direction, given=given, opset=opset), rng)


def test_known_lengths() -> None:
    rng = np.random.default_rng(0)
    for op in GATES:
        node = layer(rng, op, "bidirectional", given="l")
        for lengths in ([3, 3], [1, 3]):
            inputs = [*node.inputs]
            inputs[4] = np.array(lengths, np.int32)
            known = replace(node, inputs=inputs, constants=frozenset([4]))
            found = check(known, rng)
            plain = words(replace(node, inputs=node.inputs[:3]))
            same = [np.array_equal(one, two) for one, two in zip(found, plain, strict=True)]
            assert all(same) if lengths == [3, 3] else not any(same)


def test_a_step_reads_nothing_of_later_ones() -> None:
    rng = np.random.default_rng(1)
    for op in GATES:
        for direction, kept in (("forward", slice(0, 1)), ("reverse", slice(2, 3))):
            node = layer(rng, op, direction, given="b")
            feeds = leaves(node)
            other = feeds["i0"].array.copy()
            other[1, 0, 0] += np.uint64(1)
            first, again = (
                on_terms(node)(each)[0].array for each in (feeds, {**feeds, "i0": replace(feeds["i0"], words=other)})
            )
            changed = first != again
            assert not np.any(changed[kept])
            assert not np.any(changed[:, :, 1])
            assert np.all(np.delete(changed, range(3)[kept], 0)[:, :, 0])


def test_what_is_left_out_is_zero() -> None:
    rng = np.random.default_rng(2)
    node = layer(rng, "LSTM", "bidirectional", given="bhcp")
    zeros = [each if place < 3 or each is None else np.zeros_like(each) for place, each in enumerate(node.inputs)]
    one = words(replace(node, inputs=zeros, constants=frozenset(range(3, 8))))
    two = words(replace(node, inputs=node.inputs[:3]))
    for mine, theirs in zip(one, two, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_another_layer_has_other_words() -> None:
    rng = np.random.default_rng(3)
    changes: dict[str, list[dict[str, Any]]] = {
        "LSTM": [
            {"clip": 0.5},
            {"clip": 0.25},
            {"input_forget": 1},
            {"direction": "reverse"},
            {"activations": ["Sigmoid", "Tanh", "Relu"]},
            {"activations": ["Tanh", "Sigmoid", "Tanh"]},
            {"activations": ["HardSigmoid", "Tanh", "Tanh"]},
            {"activations": ["HardSigmoid", "Tanh", "Tanh"], "activation_alpha": [0.3]},
            {"activations": ["HardSigmoid", "Tanh", "Tanh"], "activation_alpha": [0.4]},
            {"activations": ["HardSigmoid", "Tanh", "Tanh"], "activation_beta": [0.4]},
        ],
        "GRU": [{"linear_before_reset": 1}, {"clip": 0.5}, {"direction": "reverse"}, {"activations": ["Tanh", "Tanh"]}],
        "RNN": [{"clip": 0.5}, {"direction": "reverse"}, {"activations": ["Relu"]}],
    }
    for op, different in changes.items():
        node = layer(rng, op, "forward", given="b")
        found = [words(each) for each in (node, *(node.changed(**change) for change in different))]
        for place, one in enumerate(found):
            for two in found[:place]:
                for mine, theirs in zip(one, two, strict=True):
                    middle = slice(1, 2) if mine.ndim == 4 else slice(None)
                    assert np.all(mine[middle] != theirs[middle])


def test_the_default_activations_by_name() -> None:
    rng = np.random.default_rng(4)
    for op, names in (("LSTM", ["Sigmoid", "Tanh", "Tanh"]), ("GRU", ["sigmoid", "tanh"]), ("RNN", ["Tanh"])):
        node = layer(rng, op, "bidirectional")
        np.testing.assert_array_equal(words(node)[0], words(node.changed(activations=names * 2))[0])
        with pytest.raises(NotProven, match="too few"):
            words(node.changed(activations=names))


def test_the_batch_first() -> None:
    rng = np.random.default_rng(5)
    for op in GATES:
        node = layer(rng, op, "bidirectional", given="bhc")
        turned = [
            np.swapaxes(each, 0, 1) if place in {0, 5, 6} and each is not None else each
            for place, each in enumerate(node.inputs)
        ]
        first = replace(node.changed(layout=1), inputs=turned)
        moved = {
            name: replace(each, words=np.swapaxes(each.array, 0, 1)) if name in {"i0", "i5", "i6"} else each
            for name, each in leaves(node).items()
        }
        one = [each.array for each in on_terms(node)(leaves(node))]
        two = [each.array for each in on_terms(first)(moved)]
        np.testing.assert_array_equal(one[0].transpose(2, 0, 1, 3), two[0])
        for mine, theirs in zip(one[1:], two[1:], strict=True):
            np.testing.assert_array_equal(np.swapaxes(mine, 0, 1), theirs)


def test_dims_that_do_not_go_together() -> None:
    rng = np.random.default_rng(6)
    node = layer(rng, "LSTM", "forward", given="blhcp")
    for place, shape in enumerate([(3, 2), (1, 11, 2), (1, 12, 2), (1, 23), (3,), (1, 1, 3), (1, 2, 1), (1, 3)]):
        inputs = [*node.inputs]
        inputs[place] = np.zeros(shape, np.asarray(inputs[place]).dtype)
        with pytest.raises(NotProven):
            words(replace(node, inputs=inputs))
    for change in ({"hidden_size": 4}, {"direction": "sideways"}, {"layout": 2}):
        with pytest.raises(NotProven):
            words(node.changed(**change))


def test_the_forward_direction_is_the_same_alone() -> None:
    rng = np.random.default_rng(7)
    both = layer(rng, "GRU", "bidirectional")
    weights = [np.asarray(each) for each in both.inputs[1:3]]
    known = replace(both, constants=frozenset([1, 2]))
    alone = replace(known.changed(direction="forward"), inputs=[both.inputs[0], *(each[:1] for each in weights)])
    np.testing.assert_array_equal(words(known)[0][:, :1], words(alone)[0])
