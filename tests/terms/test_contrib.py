"""Operators of com.microsoft on terms, beside onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from onereshape.terms.refusal import NotProven
from tests.terms.single_nodes import Array, Node, check_apart, check_dependency, check_dims, differ

_RNG = np.random.default_rng


def _floats(seed: int, *dims: int) -> Array:
    return np.asarray(_RNG([seed, *dims]).normal(size=dims), np.float32)


def _bytes(seed: int, kind: Any, *dims: int) -> Array:
    info = np.iinfo(kind)
    return np.asarray(_RNG([seed, *dims]).integers(info.min, info.max, dims, endpoint=True), kind)


def _scale(value: float = 0.05) -> Array:
    return np.asarray(value, np.float32)


def _point(value: int = 3, kind: Any = np.uint8) -> Array:
    return np.asarray(value, kind)


@dataclass(frozen=True)
class Case:
    """A node, which axes of its inputs and outputs have the samples, and what else would be another answer."""

    node: Node
    axes: Mapping[int, int]
    outputs: Sequence[int] = (0,)
    others: Sequence[Mapping[str, Any]] = ()
    """Attributes that make another node."""
    draws: Mapping[int, Callable[[np.random.Generator], Any]] = field(default_factory=dict)
    mixes: bool = False
    """Whether the samples reach one another."""


def _case(op: str, inputs: Sequence[Array | None], attributes: Mapping[str, Any] | None = None, **more: Any) -> Case:
    node = {name: more.pop(name) for name in ("outputs_", "held", "kept", "domain") if name in more}
    made = Node(
        op,
        inputs,
        attributes or {},
        node.get("outputs_", 1),
        domain=node.get("domain", "com.microsoft"),
        held=frozenset(node.get("held", ())),
        kept=node.get("kept"),
    )
    return Case(made, more.pop("axes", {0: 0}), **more)


def _small(top: int) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.integers(top)


_U8, _I8 = _bytes(1, np.uint8, 3, 4), _bytes(2, np.uint8, 3, 4)
_X = _floats(0, 3, 4, 8)
_PER = [_scale(), _point(), _scale(0.1), _point(9)]
_IMAGE = _bytes(3, np.uint8, 2, 3, 5, 6)
_ONES = np.ones((2, 4), np.int32)
_CASES: dict[str, Case] = {
    "Gelu": _case("Gelu", [_X]),
    "QuickGelu": _case("QuickGelu", [_X], {"alpha": 1.5}, others=[{"alpha": 1.0}, {}]),
    "FastGelu": _case("FastGelu", [_X]),
    "FastGelu bias": _case("FastGelu", [_X, _floats(1, 8)]),
    "BiasGelu": _case("BiasGelu", [_X, _floats(1, 8)]),
    "SkipLayerNormalization": _case(
        "SkipLayerNormalization",
        [_X, _floats(1, 3, 4, 8), _floats(2, 8), _floats(3, 8), _floats(4, 8)],
        {"epsilon": 1e-5},
        axes={0: 0, 1: 0},
        outputs_=4,
        kept=[0, 3],
        outputs=(0, 0),
        others=[{"epsilon": 1e-6}],
    ),
    "SkipLayerNormalization shared": _case(
        "SkipLayerNormalization", [_X, _floats(1, 4, 8), _floats(2, 8)], others=[{"epsilon": 1e-6}]
    ),
    "SkipSimplifiedLayerNormalization": _case(
        "SkipSimplifiedLayerNormalization",
        [_X, _floats(1, 3, 4, 8), _floats(2, 8), _floats(3, 8)],
        axes={0: 0, 1: 0},
        outputs_=4,
        kept=[0, 3],
        outputs=(0, 0),
        others=[{"epsilon": 1e-6}],
    ),
    "SimplifiedLayerNormalization": _case(
        "SimplifiedLayerNormalization",
        [_X, _floats(2, 8)],
        {"epsilon": 1e-5},
        domain="",
        outputs_=2,
        outputs=(0, 0),
        others=[{"epsilon": 1e-6}],
    ),
    "EmbedLayerNormalization": _case(
        "EmbedLayerNormalization",
        [
            _bytes(1, np.uint8, 2, 4).astype(np.int32) % 7,
            _bytes(2, np.uint8, 2, 4).astype(np.int32) % 2,
            _floats(1, 7, 8),
            _floats(2, 6, 8),
            _floats(3, 2, 8),
            _floats(4, 8),
            _floats(5, 8),
            _ONES,
        ],
        {"epsilon": 1e-5},
        axes={0: 0, 1: 0, 7: 0},
        outputs_=3,
        outputs=(0, 0, 0),
        others=[{"epsilon": 1e-6}],
        draws={0: _small(7), 1: _small(2), 7: _small(2)},
    ),
    "EmbedLayerNormalization positions": _case(
        "EmbedLayerNormalization",
        [
            _bytes(1, np.uint8, 2, 4).astype(np.int32) % 7,
            None,
            _floats(1, 7, 8),
            _floats(2, 6, 8),
            None,
            _floats(4, 8),
            _floats(5, 8),
            None,
            _bytes(3, np.uint8, 2, 4).astype(np.int32) % 6,
        ],
        {"mask_index_type": 0},
        axes={0: 0, 8: 0},
        draws={0: _small(7), 8: _small(6)},
    ),
    "FusedGemm": _case(
        "FusedGemm",
        [_floats(1, 3, 4), _floats(2, 5, 4), _floats(3, 5)],
        {"transB": 1, "alpha": 0.5, "activation": "LeakyRelu", "activation_alpha": 0.1},
        others=[
            {"transB": 1, "alpha": 0.25, "activation": "LeakyRelu", "activation_alpha": 0.1},
            {"transB": 1, "alpha": 0.5, "activation": "LeakyRelu", "activation_alpha": 0.2},
            {"transB": 1, "alpha": 0.5, "activation": "Relu"},
        ],
    ),
    "FusedConv": _case(
        "FusedConv",
        [_floats(1, 2, 4, 5, 5), _floats(2, 6, 2, 3, 3), _floats(3, 6)],
        {"group": 2, "pads": [1, 0, 1, 1], "activation": "Relu"},
        others=[{"group": 2, "pads": [1, 1, 1, 0], "activation": "Relu"}, {"group": 2, "pads": [1, 0, 1, 1]}],
    ),
    "FusedConv sum": _case(
        "FusedConv",
        [_floats(1, 2, 3, 5), _floats(2, 4, 3, 3), _floats(3, 4), _floats(4, 2, 4, 3)],
        {"activation": "Relu", "dilations": [1]},
        axes={0: 0, 3: 0},
    ),
    "Inverse": _case("Inverse", [_floats(1, 3, 4, 4)]),
    "Trilu": _case("Trilu", [_floats(1, 3, 4, 5), np.asarray(1)], {"upper": 0}, others=[{"upper": 1}], held=[1]),
    "GridSample": _case(
        "GridSample",
        [_floats(1, 2, 3, 4, 5), _floats(2, 2, 3, 3, 2)],
        {"mode": "bilinear"},
        axes={0: 0, 1: 0},
        others=[{"mode": "nearest"}, {"align_corners": 1}, {"padding_mode": "border"}],
    ),
    "QLinearAdd": _case(
        "QLinearAdd", [_U8, _scale(), _point(), _I8, _scale(0.07), _point(5), _scale(0.1), _point(4)], axes={0: 0, 3: 0}
    ),
    "QLinearMul": _case(
        "QLinearMul", [_U8, _scale(), _point(), _I8[:1], _scale(0.07), _point(), _scale(0.1), _point(4)]
    ),
    "QLinearSigmoid": _case("QLinearSigmoid", [_U8, *_PER]),
    "QLinearLeakyRelu": _case("QLinearLeakyRelu", [_U8, *_PER], {"alpha": 0.2}, others=[{"alpha": 0.1}]),
    "QLinearConcat": _case(
        "QLinearConcat",
        [_scale(), _point(), _U8, _scale(0.1), _point(1), _I8, _scale(0.2), _point(2)],
        {"axis": 1},
        axes={2: 0, 5: 0},
    ),
    "QLinearSoftmax": _case(
        "QLinearSoftmax",
        [_bytes(1, np.uint8, 3, 4, 5), *_PER],
        {"axis": 1, "opset": 13},
        others=[{"axis": 1, "opset": 12}, {"axis": 2, "opset": 13}],
    ),
    "QLinearSoftmax 12": _case("QLinearSoftmax", [_bytes(1, np.uint8, 3, 4, 5), *_PER], {"axis": 1, "opset": 12}),
    "QLinearAveragePool": _case(
        "QLinearAveragePool",
        [_IMAGE, *_PER],
        {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1], "strides": [2, 1], "count_include_pad": 1},
        others=[{"kernel_shape": [2, 3], "pads": [0, 1, 1, 1], "strides": [2, 1]}],
    ),
    "QLinearAveragePool last": _case(
        "QLinearAveragePool",
        [_IMAGE, *_PER],
        {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1, "channels_last": 1},
    ),
    "QLinearAveragePool ceil": _case(
        "QLinearAveragePool", [_IMAGE, *_PER], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}
    ),
    "NhwcMaxPool": _case(
        "NhwcMaxPool",
        [_bytes(3, np.uint8, 2, 5, 6, 3)],
        {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1], "strides": [2, 1]},
        others=[{"kernel_shape": [2, 3], "pads": [0, 1, 1, 1], "strides": [2, 1], "dilations": [2, 1]}],
    ),
    "QLinearGlobalAveragePool": _case("QLinearGlobalAveragePool", [_IMAGE, *_PER]),
    "QLinearGlobalAveragePool last": _case("QLinearGlobalAveragePool", [_IMAGE, *_PER], {"channels_last": 1}),
    "DynamicQuantizeMatMul": _case(
        "DynamicQuantizeMatMul",
        [_floats(1, 3, 4), _bytes(1, np.int8, 4, 5), np.abs(_floats(2, 5)), np.zeros(5, np.int8), _floats(3, 5)],
        mixes=True,
        held=[3],
    ),
    "MatMulIntegerToFloat": _case(
        "MatMulIntegerToFloat",
        [
            _bytes(1, np.uint8, 2, 3, 4),
            _bytes(2, np.int8, 4, 5),
            _scale(),
            np.abs(_floats(2, 5)),
            _point(),
            None,
            _floats(3, 5),
        ],
    ),
    "QGemm": _case(
        "QGemm",
        [
            _bytes(1, np.uint8, 3, 4),
            _scale(),
            _point(),
            _bytes(2, np.int8, 5, 4),
            np.abs(_floats(2, 5)),
            np.zeros(5, np.int8),
            _bytes(3, np.uint8, 5).astype(np.int32),
            _scale(3),
            _point(),
        ],
        {"transB": 1},
        others=[{"transB": 1, "alpha": 2.0}],
    ),
    "QGemm float": _case(
        "QGemm",
        [
            _bytes(1, np.uint8, 3, 4),
            _scale(),
            _point(),
            _bytes(2, np.int8, 4, 5),
            _scale(),
            _point(0, np.int8),
        ],
    ),
    "MatMulNBits": _case(
        "MatMulNBits",
        [_floats(1, 3, 2, 32), _bytes(1, np.uint8, 5, 2, 8), _floats(2, 5, 2), _bytes(3, np.uint8, 5, 1)],
        {"K": 32, "N": 5, "bits": 4, "block_size": 16},
        others=[{"K": 32, "N": 5, "bits": 4, "block_size": 16, "accuracy_level": 4}],
    ),
    "GatherBlockQuantized": _case(
        "GatherBlockQuantized",
        [_bytes(1, np.uint8, 7, 16), _bytes(2, np.uint8, 3, 2).astype(np.int64) % 7, _floats(2, 7, 2)],
        {"bits": 4, "block_size": 16, "quantize_axis": 1},
        axes={1: 0},
        held=[0, 2],
        draws={1: _small(7)},
    ),
    "QuantizeLinear": _case("QuantizeLinear", [_X, np.abs(_floats(1, 4)), _bytes(1, np.uint8, 4)], {"axis": 1}),
    "DequantizeLinear": _case("DequantizeLinear", [_U8, _scale(), _point()]),
    "Attention": _case(
        "Attention",
        [_X[:2], _floats(1, 8, 24), _floats(2, 24), _ONES],
        {"num_heads": 2, "unidirectional": 1},
        axes={0: 0, 3: 0},
        others=[{"num_heads": 4, "unidirectional": 1}, {"num_heads": 2}, {"num_heads": 2, "scale": 0.3}],
        draws={3: _small(2)},
    ),
    "Attention past": _case(
        "Attention",
        [_X[:2], _floats(1, 8, 24), _floats(2, 24), None, _floats(3, 2, 2, 2, 3, 4)],
        {"num_heads": 2},
        axes={0: 0, 4: 1},
        outputs_=2,
        outputs=(0, 1),
    ),
    "MultiHeadAttention": _case(
        "MultiHeadAttention",
        [_X[:2], _floats(1, 2, 5, 8), _floats(2, 2, 5, 6), _floats(3, 22), np.ones((2, 5), np.int32)],
        {"num_heads": 2},
        axes={0: 0, 1: 0, 2: 0, 4: 0},
        others=[{"num_heads": 1}, {"num_heads": 2, "mask_filter_value": -9.0}],
        draws={4: _small(2)},
    ),
    "MultiHeadAttention past": _case(
        "MultiHeadAttention",
        [
            _X[:2],
            _floats(1, 2, 4, 8),
            _floats(2, 2, 4, 8),
            None,
            None,
            _floats(5, 1, 1, 4, 7),
            _floats(3, 2, 2, 3, 4),
            _floats(4, 2, 2, 3, 4),
        ],
        {"num_heads": 2},
        axes={0: 0, 1: 0, 2: 0, 6: 0, 7: 0},
        outputs_=3,
        outputs=(0, 0, 0),
    ),
    "GroupQueryAttention": _case(
        "GroupQueryAttention",
        [
            _floats(1, 2, 1, 16),
            _floats(2, 2, 1, 8),
            _floats(3, 2, 1, 8),
            _floats(4, 2, 1, 3, 8),
            _floats(5, 2, 1, 3, 8),
            np.array([3, 3], np.int32),
            np.asarray(4, np.int32),
        ],
        {"num_heads": 2, "kv_num_heads": 1},
        axes={0: 0, 1: 0, 2: 0, 3: 0, 4: 0},
        outputs_=3,
        outputs=(0, 0, 0),
        held=[5, 6],
        others=[{"num_heads": 2, "kv_num_heads": 1, "softcap": 5.0}],
    ),
    "GroupQueryAttention prompt": _case(
        "GroupQueryAttention",
        [_floats(1, 2, 4, 32), None, None, None, None, np.array([3, 2], np.int32), np.asarray(4, np.int32)],
        {"num_heads": 2, "kv_num_heads": 1},
        outputs_=3,
        outputs=(0, 0, 0),
        held=[5, 6],
    ),
    "RotaryEmbedding": _case(
        "RotaryEmbedding",
        [_X, _bytes(1, np.uint8, 3, 4).astype(np.int64) % 6, _floats(2, 6, 4), _floats(3, 6, 4)],
        axes={0: 0, 1: 0},
        others=[{"interleaved": 1}],
        draws={1: _small(6)},
    ),
    "RotaryEmbedding heads": _case(
        "RotaryEmbedding", [_floats(1, 2, 3, 4, 8), np.array([1]), _floats(2, 6, 4), _floats(3, 6, 4)], held=[1]
    ),
    "QAttention": _case(
        "QAttention",
        [
            _bytes(1, np.uint8, 2, 4, 8),
            _bytes(2, np.int8, 8, 24),
            _floats(2, 24),
            _scale(),
            _scale(0.01),
            _ONES,
            _point(),
            _point(0, np.int8),
        ],
        {"num_heads": 2},
        axes={0: 0, 5: 0},
        draws={5: _small(2)},
    ),
}


def _draw(case: Case, rng: np.random.Generator) -> Callable[[int], Any]:
    def draw(place: int) -> Any:
        each = case.node.inputs[place]
        assert each is not None
        if place in case.draws:
            return case.draws[place](rng)
        if each.dtype.kind == "f":
            return abs(rng.normal()) + 0.02 if np.all(each > 0) else rng.normal()
        return rng.integers(np.iinfo(each.dtype).min, np.iinfo(each.dtype).max)

    return draw


@pytest.mark.parametrize("name", _CASES)
def test_dims_and_dependency(name: str) -> None:
    case, rng = _CASES[name], _RNG(7)
    check_dims(case.node)
    check_dependency(case.node, rng, _draw(case, rng), 4)


@pytest.mark.parametrize("name", [name for name, case in _CASES.items() if not case.mixes])
def test_samples_are_apart(name: str) -> None:
    case = _CASES[name]
    check_apart(case.node, case.axes, case.outputs)


@pytest.mark.parametrize("name", [name for name, case in _CASES.items() if case.mixes])
def test_samples_that_mix_show(name: str) -> None:
    node = _CASES[name].node
    for was, becomes in zip(node.words(), node.words(node.changed(0, 1)), strict=True):
        assert np.all(was != becomes)


@pytest.mark.parametrize("name", [name for name, case in _CASES.items() if case.others])
def test_other_attributes_are_other_words(name: str) -> None:
    case = _CASES[name]
    for attributes in case.others:
        assert differ(case.node, replace(case.node, attributes=attributes)), attributes


@pytest.mark.parametrize("name", _CASES)
def test_other_weights_are_other_words(name: str) -> None:
    """Every input counts: another number anywhere in it is another word somewhere."""
    node = _CASES[name].node
    words = node.words()
    for place in node.fed:
        each = node.inputs[place]
        assert each is not None
        where = tuple(0 for _ in each.shape)
        now = node.words(node.changed(place, where))
        assert any(not np.array_equal(was, becomes) for was, becomes in zip(words, now, strict=True)), place


@pytest.mark.parametrize("name", _CASES)
def test_malformed_nodes_are_refused(name: str) -> None:
    node = _CASES[name].node
    short = (
        replace(node, inputs=node.inputs[:1]) if name not in {"Gelu", "QuickGelu", "Inverse", "NhwcMaxPool"} else None
    )
    for wrong in (
        replace(node, attributes={**node.attributes, "unknown": 1}),
        replace(node, inputs=[*node.inputs, *[_scale()] * 14]),
        replace(node, inputs=[np.asarray(node.inputs[0]).astype(np.complex64), *node.inputs[1:]]),
        *([short] if short and node.op not in {"FastGelu", "Trilu", "QuickGelu"} else []),
    ):
        with pytest.raises(NotProven):
            wrong.run()


@pytest.mark.parametrize("name", _CASES)
def test_other_dims_are_refused_or_run(name: str) -> None:
    """Whatever the dims: nothing but a refusal leaves a rule."""
    node, rng = _CASES[name].node, _RNG(3)
    for place, each in enumerate(node.inputs):
        if each is None:
            continue
        for _ in range(4):
            dims = tuple(int(dim) for dim in rng.integers(0, 4, rng.integers(0, 5)))
            other = [np.zeros(dims, each.dtype) if index == place else given for index, given in enumerate(node.inputs)]
            with suppress(NotProven):
                replace(node, inputs=other).run()


@pytest.mark.parametrize("name", [name for name, case in _CASES.items() if case.node.attributes])
def test_other_attributes_are_refused_or_run(name: str) -> None:
    node = _CASES[name].node
    for attribute in node.attributes:
        for value in (-7, 0, 99, 0.5, "none", [0], [-1, 2], [0.5, 1.5], ["a"]):
            with suppress(NotProven):
                replace(node, attributes={**node.attributes, attribute: value}).run()
