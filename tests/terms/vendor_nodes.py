"""Nodes of operators of com.microsoft: what they are fed, which axes have the samples, and what is another answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.terms.single_nodes import Array, Node

_RNG = np.random.default_rng


def floats(seed: int, *dims: int) -> Array:
    return np.asarray(_RNG([seed, *dims]).normal(size=dims), np.float32)


def bytes_of(seed: int, kind: Any, *dims: int) -> Array:
    info = np.iinfo(kind)
    return np.asarray(_RNG([seed, *dims]).integers(info.min, info.max, dims, endpoint=True), kind)


def scale(value: float = 0.05) -> Array:
    return np.asarray(value, np.float32)


def point(value: int = 3, kind: Any = np.uint8) -> Array:
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


_U8, _I8 = bytes_of(1, np.uint8, 3, 4), bytes_of(2, np.uint8, 3, 4)
_X = floats(0, 3, 4, 8)
_PER = [scale(), point(), scale(0.1), point(9)]
_IMAGE = bytes_of(3, np.uint8, 2, 3, 5, 6)
_ONES = np.ones((2, 4), np.int32)
CASES: dict[str, Case] = {
    "Gelu": _case("Gelu", [_X]),
    "QuickGelu": _case("QuickGelu", [_X], {"alpha": 1.5}, others=[{"alpha": 1.0}, {}]),
    "FastGelu": _case("FastGelu", [_X]),
    "FastGelu bias": _case("FastGelu", [_X, floats(1, 8)]),
    "BiasGelu": _case("BiasGelu", [_X, floats(1, 8)]),
    "SkipLayerNormalization": _case(
        "SkipLayerNormalization",
        [_X, floats(1, 3, 4, 8), floats(2, 8), floats(3, 8), floats(4, 8)],
        {"epsilon": 1e-5},
        axes={0: 0, 1: 0},
        outputs_=4,
        kept=[0, 3],
        outputs=(0, 0),
        others=[{"epsilon": 1e-6}],
    ),
    "SkipLayerNormalization shared": _case(
        "SkipLayerNormalization", [_X, floats(1, 4, 8), floats(2, 8)], others=[{"epsilon": 1e-6}]
    ),
    "SkipSimplifiedLayerNormalization": _case(
        "SkipSimplifiedLayerNormalization",
        [_X, floats(1, 3, 4, 8), floats(2, 8), floats(3, 8)],
        axes={0: 0, 1: 0},
        outputs_=4,
        kept=[0, 3],
        outputs=(0, 0),
        others=[{"epsilon": 1e-6}],
    ),
    "SimplifiedLayerNormalization": _case(
        "SimplifiedLayerNormalization",
        [_X, floats(2, 8)],
        {"epsilon": 1e-5},
        domain="",
        outputs_=2,
        outputs=(0, 0),
        others=[{"epsilon": 1e-6}],
    ),
    "EmbedLayerNormalization": _case(
        "EmbedLayerNormalization",
        [
            bytes_of(1, np.uint8, 2, 4).astype(np.int32) % 7,
            bytes_of(2, np.uint8, 2, 4).astype(np.int32) % 2,
            floats(1, 7, 8),
            floats(2, 6, 8),
            floats(3, 2, 8),
            floats(4, 8),
            floats(5, 8),
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
            bytes_of(1, np.uint8, 2, 4).astype(np.int32) % 7,
            None,
            floats(1, 7, 8),
            floats(2, 6, 8),
            None,
            floats(4, 8),
            floats(5, 8),
            None,
            bytes_of(3, np.uint8, 2, 4).astype(np.int32) % 6,
        ],
        {"mask_index_type": 0},
        axes={0: 0, 8: 0},
        draws={0: _small(7), 8: _small(6)},
    ),
    "FusedGemm": _case(
        "FusedGemm",
        [floats(1, 3, 4), floats(2, 5, 4), floats(3, 5)],
        {"transB": 1, "alpha": 0.5, "activation": "LeakyRelu", "activation_alpha": 0.1},
        others=[
            {"transB": 1, "alpha": 0.25, "activation": "LeakyRelu", "activation_alpha": 0.1},
            {"transB": 1, "alpha": 0.5, "activation": "LeakyRelu", "activation_alpha": 0.2},
            {"transB": 1, "alpha": 0.5, "activation": "Relu"},
        ],
    ),
    "FusedConv": _case(
        "FusedConv",
        [floats(1, 2, 4, 5, 5), floats(2, 6, 2, 3, 3), floats(3, 6)],
        {"group": 2, "pads": [1, 0, 1, 1], "activation": "Relu"},
        others=[{"group": 2, "pads": [1, 1, 1, 0], "activation": "Relu"}, {"group": 2, "pads": [1, 0, 1, 1]}],
    ),
    "FusedConv sum": _case(
        "FusedConv",
        [floats(1, 2, 3, 5), floats(2, 4, 3, 3), floats(3, 4), floats(4, 2, 4, 3)],
        {"activation": "Relu", "dilations": [1]},
        axes={0: 0, 3: 0},
    ),
    "Inverse": _case("Inverse", [floats(1, 3, 4, 4)]),
    "Trilu": _case("Trilu", [floats(1, 3, 4, 5), np.asarray(1)], {"upper": 0}, others=[{"upper": 1}], held=[1]),
    "GridSample": _case(
        "GridSample",
        [floats(1, 2, 3, 4, 5), floats(2, 2, 3, 3, 2)],
        {"mode": "bilinear"},
        axes={0: 0, 1: 0},
        others=[{"mode": "nearest"}, {"align_corners": 1}, {"padding_mode": "border"}],
    ),
    "QLinearAdd": _case(
        "QLinearAdd", [_U8, scale(), point(), _I8, scale(0.07), point(5), scale(0.1), point(4)], axes={0: 0, 3: 0}
    ),
    "QLinearMul": _case("QLinearMul", [_U8, scale(), point(), _I8[:1], scale(0.07), point(), scale(0.1), point(4)]),
    "QLinearSigmoid": _case("QLinearSigmoid", [_U8, *_PER]),
    "QLinearLeakyRelu": _case("QLinearLeakyRelu", [_U8, *_PER], {"alpha": 0.2}, others=[{"alpha": 0.1}]),
    "QLinearConcat": _case(
        "QLinearConcat",
        [scale(), point(), _U8, scale(0.1), point(1), _I8, scale(0.2), point(2)],
        {"axis": 1},
        axes={2: 0, 5: 0},
    ),
    "QLinearSoftmax": _case(
        "QLinearSoftmax",
        [bytes_of(1, np.uint8, 3, 4, 5), *_PER],
        {"axis": 1, "opset": 13},
        others=[{"axis": 1, "opset": 12}, {"axis": 2, "opset": 13}],
    ),
    "QLinearSoftmax 12": _case("QLinearSoftmax", [bytes_of(1, np.uint8, 3, 4, 5), *_PER], {"axis": 1, "opset": 12}),
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
        [bytes_of(3, np.uint8, 2, 5, 6, 3)],
        {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1], "strides": [2, 1]},
        others=[{"kernel_shape": [2, 3], "pads": [0, 1, 1, 1], "strides": [2, 1], "dilations": [2, 1]}],
    ),
    "QLinearGlobalAveragePool": _case("QLinearGlobalAveragePool", [_IMAGE, *_PER]),
    "QLinearGlobalAveragePool last": _case("QLinearGlobalAveragePool", [_IMAGE, *_PER], {"channels_last": 1}),
    "DynamicQuantizeMatMul": _case(
        "DynamicQuantizeMatMul",
        [floats(1, 3, 4), bytes_of(1, np.int8, 4, 5), np.abs(floats(2, 5)), np.zeros(5, np.int8), floats(3, 5)],
        mixes=True,
        held=[3],
    ),
    "MatMulIntegerToFloat": _case(
        "MatMulIntegerToFloat",
        [
            bytes_of(1, np.uint8, 2, 3, 4),
            bytes_of(2, np.int8, 4, 5),
            scale(),
            np.abs(floats(2, 5)),
            point(),
            None,
            floats(3, 5),
        ],
    ),
    "QGemm": _case(
        "QGemm",
        [
            bytes_of(1, np.uint8, 3, 4),
            scale(),
            point(),
            bytes_of(2, np.int8, 5, 4),
            np.abs(floats(2, 5)),
            np.zeros(5, np.int8),
            bytes_of(3, np.uint8, 5).astype(np.int32),
            scale(3),
            point(),
        ],
        {"transB": 1},
        others=[{"transB": 1, "alpha": 2.0}],
    ),
    "QGemm float": _case(
        "QGemm",
        [
            bytes_of(1, np.uint8, 3, 4),
            scale(),
            point(),
            bytes_of(2, np.int8, 4, 5),
            scale(),
            point(0, np.int8),
        ],
    ),
    "MatMulNBits": _case(
        "MatMulNBits",
        [floats(1, 3, 2, 32), bytes_of(1, np.uint8, 5, 2, 8), floats(2, 5, 2), bytes_of(3, np.uint8, 5, 1)],
        {"K": 32, "N": 5, "bits": 4, "block_size": 16},
        others=[{"K": 32, "N": 5, "bits": 4, "block_size": 16, "accuracy_level": 4}],
    ),
    "GatherBlockQuantized": _case(
        "GatherBlockQuantized",
        [bytes_of(1, np.uint8, 7, 16), bytes_of(2, np.uint8, 3, 2).astype(np.int64) % 7, floats(2, 7, 2)],
        {"bits": 4, "block_size": 16, "quantize_axis": 1},
        axes={1: 0},
        held=[0, 2],
        draws={1: _small(7)},
    ),
    "QuantizeLinear": _case("QuantizeLinear", [_X, np.abs(floats(1, 4)), bytes_of(1, np.uint8, 4)], {"axis": 1}),
    "DequantizeLinear": _case("DequantizeLinear", [_U8, scale(), point()]),
    "Attention": _case(
        "Attention",
        [_X[:2], floats(1, 8, 24), floats(2, 24), _ONES],
        {"num_heads": 2, "unidirectional": 1},
        axes={0: 0, 3: 0},
        others=[{"num_heads": 4, "unidirectional": 1}, {"num_heads": 2}, {"num_heads": 2, "scale": 0.3}],
        draws={3: _small(2)},
    ),
    "Attention past": _case(
        "Attention",
        [_X[:2], floats(1, 8, 24), floats(2, 24), None, floats(3, 2, 2, 2, 3, 4)],
        {"num_heads": 2},
        axes={0: 0, 4: 1},
        outputs_=2,
        outputs=(0, 1),
    ),
    "MultiHeadAttention": _case(
        "MultiHeadAttention",
        [_X[:2], floats(1, 2, 5, 8), floats(2, 2, 5, 6), floats(3, 22), np.ones((2, 5), np.int32)],
        {"num_heads": 2},
        axes={0: 0, 1: 0, 2: 0, 4: 0},
        others=[{"num_heads": 1}, {"num_heads": 2, "mask_filter_value": -9.0}],
        draws={4: _small(2)},
    ),
    "MultiHeadAttention past": _case(
        "MultiHeadAttention",
        [
            _X[:2],
            floats(1, 2, 4, 8),
            floats(2, 2, 4, 8),
            None,
            None,
            floats(5, 1, 1, 4, 7),
            floats(3, 2, 2, 3, 4),
            floats(4, 2, 2, 3, 4),
        ],
        {"num_heads": 2},
        axes={0: 0, 1: 0, 2: 0, 6: 0, 7: 0},
        outputs_=3,
        outputs=(0, 0, 0),
    ),
    "GroupQueryAttention": _case(
        "GroupQueryAttention",
        [
            floats(1, 2, 1, 16),
            floats(2, 2, 1, 8),
            floats(3, 2, 1, 8),
            floats(4, 2, 1, 3, 8),
            floats(5, 2, 1, 3, 8),
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
        [floats(1, 2, 4, 32), None, None, None, None, np.array([3, 2], np.int32), np.asarray(4, np.int32)],
        {"num_heads": 2, "kv_num_heads": 1},
        outputs_=3,
        outputs=(0, 0, 0),
        held=[5, 6],
    ),
    "RotaryEmbedding": _case(
        "RotaryEmbedding",
        [_X, bytes_of(1, np.uint8, 3, 4).astype(np.int64) % 6, floats(2, 6, 4), floats(3, 6, 4)],
        axes={0: 0, 1: 0},
        others=[{"interleaved": 1}],
        draws={1: _small(6)},
    ),
    "RotaryEmbedding heads": _case(
        "RotaryEmbedding", [floats(1, 2, 3, 4, 8), np.array([0]), floats(2, 6, 4), floats(3, 6, 4)], held=[1]
    ),
    "QAttention": _case(
        "QAttention",
        [
            bytes_of(1, np.uint8, 2, 4, 8),
            bytes_of(2, np.int8, 8, 24),
            floats(2, 24),
            scale(),
            scale(0.01),
            _ONES,
            point(),
            point(0, np.int8),
        ],
        {"num_heads": 2},
        axes={0: 0, 5: 0},
        draws={5: _small(2)},
    ),
}
