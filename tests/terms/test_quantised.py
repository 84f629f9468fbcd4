"""Quantised operators on terms, beside onnxruntime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.terms.proof import Proof
from onereshape.terms.prove import prove_batch
from onereshape.terms.refusal import NotProven
from tests.terms.single_nodes import Array, Node, check_apart, check_dependency, check_dims, differ

_BYTES = (np.uint8, np.int8)


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _floats(rng: np.random.Generator, *dims: int) -> Array:
    return rng.normal(size=dims).astype(np.float32) * 3


def _positive(rng: np.random.Generator, *dims: int) -> Array:
    return np.asarray(rng.uniform(0.01, 0.1, dims), np.float32)


def _bytes(rng: np.random.Generator, kind: Any, *dims: int) -> Array:
    info = np.iinfo(kind)
    return np.asarray(rng.integers(info.min, info.max, dims, endpoint=True), kind)


def _draw(node: Node, rng: np.random.Generator) -> Any:
    """New numbers for the inputs of a node, of their own kinds."""

    def draw(place: int) -> Any:
        each = node.inputs[place]
        assert each is not None
        if each.dtype.kind == "f":
            return abs(rng.normal()) + 0.01 if each.size and np.all(each > 0) else rng.normal() * 9
        return _bytes(rng, each.dtype)

    return draw


def _quantize(rng: np.random.Generator) -> Node:
    kind = _BYTES[rng.integers(2)]
    rank = int(rng.integers(1, 4))
    dims = [int(each) for each in rng.integers(1, 5, rank)]
    opset = int(rng.choice([10, 13, 19, 21, 23]))
    how = "tensor" if opset < 13 else rng.choice(["tensor", "axis", "block"] if opset >= 21 else ["tensor", "axis"])
    attributes: dict[str, Any] = {}
    scales: list[int] = []
    if how != "tensor":
        axis = int(rng.integers(-rank, rank))
        attributes["axis"] = axis
        scales = [dims[axis]]
    if how == "block":
        attributes["block_size"] = block = int(rng.integers(1, 4))
        scales = list(dims)
        scales[axis] = -(-dims[axis] // block)
    point = _bytes(rng, kind, *scales) if rng.random() < 0.7 else None
    if rng.random() < 0.5:
        inputs = [_floats(rng, *dims), _positive(rng, *scales), point]
        return Node("QuantizeLinear", inputs, attributes, opset=opset)
    data = _bytes(rng, kind, *dims)
    return Node("DequantizeLinear", [data, _positive(rng, *scales), point], attributes, opset=opset)


@pytest.mark.parametrize("seed", range(60))
def test_quantizing(seed: int) -> None:
    rng = _rng(seed)
    node = _quantize(rng)
    check_dims(node)
    check_dependency(node, rng, _draw(node, rng))
    if node.inputs[1].ndim == 0 or not node.attributes:
        check_apart(node, {0: 0}, [0])


@pytest.mark.parametrize("seed", range(60))
def test_numbers_are_those_of_the_engine(seed: int) -> None:
    node = _quantize(_rng(seed))
    held = Node(node.op, node.inputs, node.attributes, opset=node.opset, held=frozenset(node.fed))
    found = held.run()[0]
    assert found.values is not None
    np.testing.assert_array_equal(found.values, held.engine()[0])


def _product(rng: np.random.Generator) -> Node:
    left, right, out = (_BYTES[each] for each in rng.integers(2, size=3))
    if left is np.int8:
        right, out = np.int8, np.int8
    else:
        out = np.uint8
    m, k, n = (int(each) for each in rng.integers(1, 5, 3))
    lead = [int(each) for each in rng.integers(1, 4, rng.integers(0, 3))]
    first = _bytes(rng, left, *lead, m, k)
    second = _bytes(rng, right, *(lead if rng.random() < 0.4 else []), k, n)
    columns = [n] if second.ndim == 2 and rng.random() < 0.5 else []
    return Node(
        "QLinearMatMul",
        [
            first,
            _positive(rng),
            _bytes(rng, left),
            second,
            _positive(rng, *columns),
            _bytes(rng, right, *columns),
            np.asarray(rng.uniform(0.1, 1), np.float32),
            _bytes(rng, out),
        ],
        opset=int(rng.choice([10, 21])),
    )


@pytest.mark.parametrize("seed", range(40))
def test_products(seed: int) -> None:
    rng = _rng(seed)
    node = _product(rng)
    check_dims(node)
    check_dependency(node, rng, _draw(node, rng))
    first, second = node.inputs[0], node.inputs[3]
    assert first is not None
    assert second is not None
    if first.ndim > 2:
        check_apart(node, {0: 0} if second.ndim == 2 else {0: 0, 3: 0}, [0])


def _convolution(rng: np.random.Generator) -> Node:
    group = int(rng.integers(1, 3))
    depth, filters = (int(each) for each in rng.integers(1, 3, 2))
    rank = int(rng.integers(1, 3))
    kernel = [int(each) for each in rng.integers(1, 4, rank)]
    attributes: dict[str, Any] = {"group": group}
    if rng.random() < 0.5:
        attributes["strides"] = [int(each) for each in rng.integers(1, 3, rank)]
    if rng.random() < 0.5:
        attributes["dilations"] = [int(each) for each in rng.integers(1, 3, rank)]
    how = rng.choice(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if how != "NOTSET":
        attributes["auto_pad"] = str(how)
        attributes.pop("dilations", None)  # which onnxruntime has not beside it
    elif rng.random() < 0.7:
        attributes["pads"] = [int(each) for each in rng.integers(0, 2, 2 * rank)]
    wide = [int(each) for each in rng.integers(5, 8, rank)]
    m = filters * group
    many = [m] if rng.random() < 0.5 else []
    inputs: list[Array | None] = [
        _bytes(rng, np.uint8, 2, depth * group, *wide),
        _positive(rng),
        _bytes(rng, np.uint8),
        _bytes(rng, np.int8, m, depth, *kernel),
        _positive(rng, *many),
        np.zeros(many, np.int8),
        np.asarray(rng.uniform(0.1, 0.3), np.float32),
        _bytes(rng, np.uint8),
    ]
    if rng.random() < 0.5:
        inputs.append(np.asarray(rng.integers(-900, 900, m), np.int32))
    return Node("QLinearConv", inputs, attributes, held=frozenset({2, 5}), opset=13)


@pytest.mark.parametrize("seed", range(40))
def test_convolutions(seed: int) -> None:
    rng = _rng(seed)
    node = _convolution(rng)
    check_dims(node)
    check_dependency(node, rng, _draw(node, rng))
    check_apart(node, {0: 0}, [0])


def test_a_dynamic_scale_mixes_the_samples() -> None:
    rng = _rng(0)
    node = Node("DynamicQuantizeLinear", [_floats(rng, 3, 4)], outputs=3)
    check_dims(node)
    check_dependency(node, rng, _draw(node, rng), 8)
    for was, becomes in zip(node.words(), node.words(node.changed(0, (1, 2))), strict=True):
        assert np.all(was != becomes)


def test_planted_differences() -> None:
    rng = _rng(1)
    data, scale, scales = _floats(rng, 3, 3), _positive(rng), _positive(rng, 3)
    point = np.asarray(3, np.uint8)
    held = frozenset({1, 2})
    base = Node("QuantizeLinear", [data, scale, point], held=held)
    assert differ(base, Node("QuantizeLinear", [data, scale * 2, point], held=held), everywhere=True)
    assert differ(base, Node("QuantizeLinear", [data, scale, point + np.uint8(1)], held=held), everywhere=True)
    assert differ(base, Node("QuantizeLinear", [data, scale, point.astype(np.int8)], held=held), everywhere=True)
    assert differ(base, Node("DequantizeLinear", [data.astype(np.int8), scale], held=held))
    zeros = Node("QuantizeLinear", [data, scale, np.asarray(0, np.uint8)], held=held)
    assert not differ(zeros, Node("QuantizeLinear", [data, scale], held=frozenset({1})))
    one, two = (Node("QuantizeLinear", [data, scales], {"axis": axis}, held=held) for axis in (0, 1))
    assert differ(one, two)
    one, two = (Node("QuantizeLinear", [data, scale], {"precision": kind}, opset=23) for kind in (1, 10))
    assert differ(one, two, everywhere=True)


def test_what_is_not_said_is_refused() -> None:
    rng = _rng(2)
    data, scales = _floats(rng, 3, 4), _positive(rng, 3)
    for node in (
        Node("QuantizeLinear", [data, scales], {"axis": 1}),
        Node("QuantizeLinear", [data, scales], opset=10),
        Node("QuantizeLinear", [data, scales, np.zeros(4, np.uint8)], {"axis": 0}),
        Node("QuantizeLinear", [data, _positive(rng, 3, 3)], {"axis": 1, "block_size": 2}),
        Node("QuantizeLinear", [data, _positive(rng, 3, 4)], {"axis": 1}),
        Node("QuantizeLinear", [data, _positive(rng), np.zeros((), np.uint8)], {"output_dtype": 3}),
        Node("DynamicQuantizeLinear", [np.zeros((0, 2), np.float32)], outputs=3),
    ):
        with pytest.raises(NotProven):
            node.run()


def _batch(body: str, axes: dict[str, int] | None = None) -> Proof:
    """The same graph for one sample and for N."""
    opsets = '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>'
    weights = "<float s = {0.1}, uint8 z = {3}, int8[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, int8 v = {0}>"
    one, many = (
        ir.from_proto(
            onnx.parser.parse_model(f"{opsets} agraph (float[{n}, 4] x) => (float[{n}, 2] y) {weights} {body}")
        )
        for n in ("1", "N")
    )
    return prove_batch(one, many, axes or {"x": 0}, seed=3)


def test_quantised_models_are_proven_for_every_number_of_samples() -> None:
    found = _batch(
        "{ q = QuantizeLinear(x, s, z)  p = QLinearMatMul(q, s, z, w, s, v, s, z)  y = DequantizeLinear(p, s, z) }"
    )
    assert (found.verdict, found.always) == ("proven", True)
    found = _batch("{ q = QuantizeLinear(x, s, z)  y = com.microsoft.MatMulIntegerToFloat(q, w, s, s, z, v) }")
    assert (found.verdict, found.always) == ("proven", True)


def test_a_dynamic_scale_is_found() -> None:
    """It is right for one sample, and wrong for more: each then depends on the others."""
    for body in (
        "{ q, a, b = DynamicQuantizeLinear(x)  y = com.microsoft.MatMulIntegerToFloat(q, w, a, s, b, v) }",
        "{ y = com.microsoft.DynamicQuantizeMatMul(x, w, s, v) }",
    ):
        assert _batch(body).verdict == "other"
