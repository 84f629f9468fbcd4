"""Convolutions and pools on terms beside onnxruntime: dims, what depends on what, and differences that must show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onereshape.terms.hashing import Hashing
from onereshape.terms.refusal import NotProven
from tests.terms.one_node import Array, Node, agrees, answers, depends, exchanges, run, runs, words


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(31)


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def drawn(rng: np.random.Generator, low: int, high: int, count: int) -> list[int]:
    return [int(each) for each in rng.integers(low, high, count, endpoint=True)]


def some_attributes(rng: np.random.Generator, axes: int) -> dict[str, Any]:
    """Of windows along some axes."""
    found: dict[str, Any] = {}
    if rng.random() < 0.7:
        found["strides"] = drawn(rng, 1, 3, axes)
    if rng.random() < 0.5:
        found["dilations"] = drawn(rng, 1, 2, axes)
    kind = rng.random()
    if kind < 0.5:
        found["pads"] = drawn(rng, 0, 2, 2 * axes)
    elif kind < 0.8:
        found["auto_pad"] = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]))
        if found["auto_pad"].startswith("SAME"):
            found.pop("dilations", None)
    return found


def draw_conv(rng: np.random.Generator, op: str) -> Node:
    axes, group = int(rng.integers(1, 4)), int(rng.choice([1, 1, 2, 4]))
    inner, outer = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    kernel = drawn(rng, 1, 3, axes)
    dims = drawn(rng, 5, 7, axes)
    data = floats(rng, 2, group * inner, *dims)
    weights = floats(rng, group * outer, inner, *kernel)
    attributes = {**some_attributes(rng, axes), "group": group}
    if op == "ConvTranspose":
        weights = floats(rng, group * inner, outer, *kernel)
        if rng.random() < 0.3:
            attributes["output_padding"] = [
                int(rng.integers(max(*pair)))
                for pair in zip(*(attributes.get(name, [1] * axes) for name in ("strides", "dilations")), strict=True)
            ]
    if rng.random() < 0.5:
        attributes["kernel_shape"] = kernel
    bias = [floats(rng, group * outer)] if rng.random() < 0.5 else []
    return Node(
        op,
        [data, weights, *bias],
        attributes,
        int(rng.choice([1, 11, 22])) if op == "Conv" else int(rng.choice([11, 22])),
    )


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_convolutions(rng: np.random.Generator, op: str) -> None:
    done = refused = 0
    for _ in range(30):
        node = draw_conv(rng, op)
        if not runs(node):
            continue
        try:
            agrees(node)
        except NotProven:
            refused += 1
            continue
        depends(node, rng, 2, exact=True, apart=True)
        exchanges(node, rng, 5)
        done += 1
    assert done > 20
    assert refused < 20


@pytest.mark.parametrize("upper", ["SAME_UPPER", "SAME_LOWER", "NOTSET"])
def test_output_shape_of_a_transposed_convolution(rng: np.random.Generator, upper: str) -> None:
    for target in ([7, 12], [8, 11], [9, 13]):
        attributes = {"strides": [2, 2], "output_shape": target, "auto_pad": upper}
        node = Node("ConvTranspose", [floats(rng, 2, 3, 4, 6), floats(rng, 3, 2, 3, 3)], attributes)
        agrees(node)
        depends(node, rng, 20, exact=True, apart=True)
        exchanges(node, rng, 5)


def test_convolutions_of_integers(rng: np.random.Generator) -> None:
    for _ in range(20):
        kernel, dims = drawn(rng, 1, 3, 2), drawn(rng, 4, 6, 2)
        data = rng.integers(0, 255, (2, 2, *dims)).astype(np.uint8)
        weights = rng.integers(0, 255, (3, 2, *kernel)).astype(np.uint8)
        zeros: list[Array | None] = [np.array(7, np.uint8), np.array([1], np.uint8)] if rng.random() < 0.7 else []
        attributes = some_attributes(rng, 2)
        attributes.pop("auto_pad", None)
        node = Node("ConvInteger", [data, weights, *zeros], attributes, 10)
        if not runs(node):
            continue
        agrees(node)
        depends(node, rng, 2, apart=True)
        exchanges(node, rng, 5)


PLANTED_CONV: list[dict[str, Any]] = [
    {},
    {"strides": [2, 1]},
    {"strides": [1, 2]},
    {"dilations": [2, 1]},
    {"dilations": [1, 2]},
    {"pads": [1, 0, 0, 0]},
    {"pads": [0, 1, 0, 0]},
    {"pads": [1, 1, 1, 1]},
    {"auto_pad": "SAME_UPPER"},
    {"auto_pad": "SAME_LOWER"},
]


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool"])
def test_other_windows_have_other_words(rng: np.random.Generator, op: str) -> None:
    """Answers at the same place are compared: none may have the words of another node's, unless it is the same."""
    inputs = [floats(rng, 1, 4, 6, 6)]
    attributes: dict[str, Any] = {}
    if op.startswith("Conv"):
        inputs.append(floats(rng, 4, 4, 2, 2))
    else:
        attributes = {"kernel_shape": [2, 2]}
    nodes = [Node(op, inputs, {**attributes, **each}) for each in PLANTED_CONV]
    found = [(words(node)[0], answers(node)[0]) for node in nodes if runs(node)]
    assert len(found) > 6
    for place, (one, real) in enumerate(found):
        for other, theirs in found[:place]:
            dims = tuple(slice(min(pair)) for pair in zip(one.shape, other.shape, strict=True))
            same = one[dims] == other[dims]
            assert not (same & ~np.isclose(real[dims], theirs[dims], 1e-4, 1e-5)).any()
            assert one.shape != other.shape or not same.all() or np.allclose(real, theirs, 1e-4, 1e-5)


def test_groups_have_other_words(rng: np.random.Generator) -> None:
    data, weights = floats(rng, 1, 4, 5, 5), floats(rng, 4, 2, 3, 3)
    one = words(Node("Conv", [data, weights], {"group": 2}))[0]
    other = words(Node("Conv", [data[:, :2], weights], {"group": 1}))[0]
    assert np.array_equal(one[:, :2], other[:, :2])
    assert not (one[:, 2:] == other[:, 2:]).any()


def test_padding_is_a_pad_with_zeros(rng: np.random.Generator) -> None:
    hashing = Hashing(5)
    data, weights = floats(rng, 2, 3, 5, 5), floats(rng, 2, 3, 3, 3)
    known = frozenset({0, 1})
    for op, more in (("Conv", {}), ("AveragePool", {"kernel_shape": [3, 3], "count_include_pad": 1})):
        inputs = [data, weights] if op == "Conv" else [data]
        padded = [np.pad(data, [(0, 0), (0, 0), (1, 1), (2, 0)]), *inputs[1:]]
        one = run(Node(op, inputs, {**more, "pads": [1, 2, 1, 0]}, known=known), hashing)[0]
        two = run(Node(op, padded, more, known=known), hashing)[0]
        assert np.array_equal(one.array, two.array)


def test_a_kernel_of_one_place_is_a_matmul(rng: np.random.Generator) -> None:
    hashing, known = Hashing(5), frozenset({0, 1})
    data, weights = floats(rng, 2, 3, 4), floats(rng, 5, 3, 1)
    one = run(Node("Conv", [data, weights], {}, known=known), hashing)[0].array
    two = run(Node("MatMul", [data.transpose(0, 2, 1), weights[:, :, 0].T], {}, known=known), hashing)[0].array
    assert np.array_equal(one, two.transpose(0, 2, 1))


def test_a_kernel_of_a_line_may_lie_in_a_plane(rng: np.random.Generator) -> None:
    hashing, known = Hashing(5), frozenset({0, 1})
    data, weights = floats(rng, 2, 3, 6), floats(rng, 5, 3, 3)
    line = run(Node("Conv", [data, weights], {"pads": [1, 1]}, known=known), hashing)[0].array
    for axis, pads in ((2, [0, 1, 0, 1]), (3, [1, 0, 1, 0])):
        lifted = [np.expand_dims(each, axis) for each in (data, weights)]
        plane = run(Node("Conv", lifted, {"pads": pads}, known=known), hashing)[0].array
        assert np.array_equal(line, plane.squeeze(axis))


POOLS = {"MaxPool": [1, 8, 10, 12, 22], "AveragePool": [7, 10, 11, 19, 22], "LpPool": [2, 11, 18, 22]}


@pytest.mark.parametrize("op", POOLS)
def test_pools(rng: np.random.Generator, op: str) -> None:
    done = refused = 0
    for _ in range(40):
        axes, opset = int(rng.integers(1, 4)), int(rng.choice(POOLS[op]))
        attributes = some_attributes(rng, axes)
        attributes["kernel_shape"] = drawn(rng, 1, 3, axes)
        if opset < {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]:
            attributes.pop("dilations", None)
        if opset >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[op] and rng.random() < 0.5:
            attributes["ceil_mode"] = 1
        if op == "AveragePool" and rng.random() < 0.5:
            attributes["count_include_pad"] = 1
        if op == "LpPool":
            attributes["p"] = int(rng.integers(1, 4))
        node = Node(op, [floats(rng, 2, 2, *drawn(rng, 4, 7, axes))], attributes, max(opset, 7))
        if not runs(node):
            continue
        try:
            agrees(node)
        except NotProven:
            refused += 1
            continue
        depends(node, rng, 6, exact=op == "AveragePool", apart=True)
        exchanges(node, rng, 5)
        done += 1
    assert done > 20, (done, refused)
    assert refused < 60


def test_pools_that_differ(rng: np.random.Generator) -> None:
    data = [floats(rng, 1, 1, 6, 6)]
    pads = [1, 1, 1, 1]
    nodes = [
        Node("MaxPool", data, {"kernel_shape": [3, 3], "pads": pads}),
        Node("AveragePool", data, {"kernel_shape": [3, 3], "pads": pads}),
        Node("AveragePool", data, {"kernel_shape": [3, 3], "pads": pads, "count_include_pad": 1}),
        Node("LpPool", data, {"kernel_shape": [3, 3], "pads": pads, "p": 2}),
        Node("LpPool", data, {"kernel_shape": [3, 3], "pads": pads, "p": 1}),
    ]
    found = [words(node)[0] for node in nodes]
    for place, one in enumerate(found):
        for other in found[:place]:
            assert not (one == other)[..., 0, :].any()
    assert np.array_equal(found[1][0, 0, 1:-1, 1:-1], found[2][0, 0, 1:-1, 1:-1])  # no pads are counted there


@pytest.mark.parametrize(
    ("op", "pool"), [("GlobalMaxPool", "MaxPool"), ("GlobalAveragePool", "AveragePool"), ("GlobalLpPool", "LpPool")]
)
def test_global_pools(rng: np.random.Generator, op: str, pool: str) -> None:
    for dims in ((5,), (3, 4), (2, 3, 2)):
        node = Node(op, [floats(rng, 2, 3, *dims)], {}, 7)
        agrees(node)
        depends(node, rng, apart=True, exact=op == "GlobalAveragePool")
        exchanges(node, rng, 5)
        whole = Node(pool, node.inputs, {"kernel_shape": list(dims)})
        assert np.array_equal(words(node)[0], words(whole)[0])
    assert not (
        words(node)[0] == words(Node("GlobalMaxPool" if "Max" not in op else "GlobalLpPool", node.inputs, {}))[0]
    ).any()


@pytest.mark.parametrize("order", [0, 1])
def test_indices_of_the_largest(rng: np.random.Generator, order: int) -> None:
    for attributes in ({}, {"pads": [1, 0, 1, 0]}, {"strides": [2, 2]}, {"dilations": [2, 1]}):
        whole = {"kernel_shape": [2, 3], "storage_order": order, **attributes}
        node = Node("MaxPool", [floats(rng, 2, 2, 5, 6)], whole, 12, outputs=2)
        agrees(node)
        depends(node, rng, 15, apart=True)
        exchanges(node, rng, 5)
        found = run(node, Hashing(2))[1]
        real = answers(node)[1]
        assert np.all(found.integers.low <= real)
        assert np.all(real <= found.integers.high)
    assert not (words(node)[1] == words(node.but(storage_order=1 - order))[1]).any()


def test_unpooling(rng: np.random.Generator) -> None:
    pooled = Node("MaxPool", [floats(rng, 2, 2, 4, 6)], {"kernel_shape": [2, 2], "strides": [2, 2]}, outputs=2)
    data, index = answers(pooled)
    node = Node("MaxUnpool", [data, index], {"kernel_shape": [2, 2], "strides": [2, 2]}, known=frozenset({1}))
    agrees(node)
    depends(node, rng, 10, apart=True)
    exchanges(node, rng, 5)
    with pytest.raises(NotProven, match="other planes"):
        run(Node("MaxUnpool", [data, index], {"kernel_shape": [2, 2], "strides": [2, 2]}), Hashing(1))


def test_deformed_windows(rng: np.random.Generator) -> None:
    """onnxruntime has it on the CPU since lately; where it does not, the dims alone are looked at."""
    cases: list[tuple[dict[str, Any], int]] = [
        ({}, 1),
        ({"pads": [1] * 4, "strides": [2, 1]}, 2),
        ({"offset_group": 2}, 1),
    ]
    for attributes, groups in cases:
        offsets = int(attributes.get("offset_group", 1))
        strides, pads = attributes.get("strides", [1, 1]), attributes.get("pads", [0, 0, 0, 0])
        dims = [(5 + pads[axis] + pads[axis + 2] - 3) // strides[axis] + 1 for axis in (0, 1)]
        inputs = [
            floats(rng, 2, 4, 5, 5),
            floats(rng, 2, 4 // groups, 3, 3),
            floats(rng, 2, offsets * 18, *dims),
            floats(rng, 2),
            floats(rng, 2, offsets * 9, *dims),
        ]
        node = Node("DeformConv", inputs, {**attributes, "group": groups}, 19)
        assert run(node, Hashing(1))[0].shape == (2, 2, *dims)
        if runs(node):
            agrees(node)
            depends(node, rng, 5, apart=True)
            exchanges(node, rng, 5)


def test_blocks_of_columns(rng: np.random.Generator) -> None:
    for image, block, attributes in (
        ([5, 5], [2, 2], {}),
        ([5, 6], [2, 3], {"strides": [2, 1], "pads": [1, 0, 1, 0]}),
        ([6, 6], [2, 2], {"dilations": [2, 2]}),
    ):
        strides, pads, dilations = (
            attributes.get(name, default)
            for name, default in (("strides", [1, 1]), ("pads", [0] * 4), ("dilations", [1, 1]))
        )
        count = np.prod(
            [
                (image[axis] + pads[axis] + pads[axis + 2] - dilations[axis] * (block[axis] - 1) - 1) // strides[axis]
                + 1
                for axis in (0, 1)
            ]
        )
        inputs = [floats(rng, 2, 3 * int(np.prod(block)), int(count)), np.array(image), np.array(block)]
        node = Node("Col2Im", inputs, attributes, 18, known=frozenset({1, 2}))
        agrees(node)
        depends(node, rng, 15, exact=True, apart=True)
        exchanges(node, rng, 5)


def test_blocks_become_channels(rng: np.random.Generator) -> None:
    data = floats(rng, 2, 8, 2, 4)
    nodes = [Node("DepthToSpace", [data], {"blocksize": 2, "mode": mode}, 13) for mode in ("DCR", "CRD")]
    nodes += [Node("SpaceToDepth", [data], {"blocksize": 2}, 13), Node("DepthToSpace", [data], {"blocksize": 2}, 1)]
    for node in nodes[:3]:
        moved = run(Node(node.op, node.inputs, node.attributes, node.opset, known=frozenset({0})), Hashing(1))[0]
        assert np.array_equal(moved.array, answers(node)[0])
        agrees(node)
        depends(node, rng, exact=True, apart=True)
        exchanges(node, rng, 5)
    assert np.array_equal(words(nodes[0])[0], words(nodes[3])[0])


@pytest.mark.parametrize(
    ("op", "shapes", "attributes"),
    [
        ("Conv", [(1, 3, 4, 4), (2, 2, 3, 3)], {}),
        ("Conv", [(1, 4, 4, 4), (3, 2, 3, 3)], {"group": 2}),
        ("Conv", [(1, 3, 4, 4), (2, 3, 3)], {}),
        ("Conv", [(1, 3, 4, 4), (2, 3, 5, 5)], {}),
        ("Conv", [(1, 3, 4, 4), (2, 3, 3, 3)], {"pads": [-1, 0, 0, 0]}),
        ("Conv", [(1, 3, 4, 4), (2, 3, 3, 3)], {"strides": [0, 1]}),
        ("Conv", [(1, 3, 4, 4), (2, 3, 3, 3)], {"kernel_shape": [2, 2]}),
        ("Conv", [(1, 3, 4, 4), (2, 3, 3, 3)], {"auto_pad": "SOME"}),
        ("Conv", [(1, 3, 4, 4), (2, 3, 3, 3)], {"auto_pad": "VALID", "pads": [1, 0, 0, 0]}),
        ("Conv", [(1, 3, 4, 4), (2, 3, 3, 3), (3,)], {}),
        ("Conv", [(1, 3), (2, 3)], {}),
        ("Conv", [(1, 3, 4, 4), (2, 3, 3, 3)], {"group": 0}),
        ("Conv", [(1, 3, 4, 4), (0, 3, 0, 3)], {}),
        ("ConvTranspose", [(1, 3, 4, 4), (2, 3, 3, 3)], {}),
        ("ConvTranspose", [(1, 3, 4, 4), (3, 2, 3, 3)], {"output_padding": [3, 0]}),
        ("ConvTranspose", [(1, 3, 4, 4), (3, 2, 3, 3)], {"output_shape": [60, 4]}),
        ("ConvTranspose", [(1, 3, 4, 4), (3, 2, 3, 3)], {"pads": [4, 0, 4, 0]}),
        ("MaxPool", [(1, 3, 4, 4)], {"kernel_shape": [3]}),
        ("MaxPool", [(1, 3, 0, 4)], {"kernel_shape": [1, 1], "auto_pad": "SAME_UPPER"}),
        ("GlobalMaxPool", [(1, 3, 0)], {}),
        ("GlobalAveragePool", [(1, 3)], {}),
        ("DepthToSpace", [(1, 3, 2, 2)], {"blocksize": 2}),
        ("SpaceToDepth", [(1, 3, 2, 3)], {"blocksize": 2}),
        ("SpaceToDepth", [(1, 3, 2, 3)], {"blocksize": 0}),
    ],
)
def test_refusals(rng: np.random.Generator, op: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any]) -> None:
    with pytest.raises(NotProven):
        run(Node(op, [floats(rng, *shape) for shape in shapes], attributes), Hashing(1))


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool"])
def test_a_kernel_larger_than_what_it_goes_over(op: str, rng: np.random.Generator) -> None:
    whole = Node(op, [floats(rng, 2, 3, 4, 4)], {"kernel_shape": [4, 4], "strides": [4, 4]}, 19)
    large = whole.but(kernel_shape=[2560, 2560], strides=[2560, 2560], ceil_mode=1)

    assert words(large)[0].shape == answers(large)[0].shape == (2, 3, 1, 1)
    assert np.array_equal(words(large)[0], words(whole)[0])
    assert np.allclose(answers(large)[0], answers(whole)[0])
