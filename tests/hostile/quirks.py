"""Where onnxruntime is no witness: what it does with empty tensors, operator by operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

FRAGILE = frozenset(
    "GRU LSTM RNN Trilu GatherElements Unique ReverseSequence GatherND Scan Loop Einsum Conv ConvTranspose "
    "ConvInteger QLinearConv DeformConv LRN InstanceNormalization FeatureVectorizer "
    "MultiHeadAttention Attention QAttention GroupQueryAttention QLinearAveragePool NhwcMaxPool MaxUnpool".split()
)
"""Operators that an empty tensor makes abort the whole process."""

EMPTY = frozenset(
    # A reduction of nothing keeps the dims of its input; a Concat skips what is empty, and its dims with it; of no
    # channels a GroupNormalization makes as many as it has scales; a QLinearSoftmax of nothing has no dims at all.
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare ArgMax ArgMin Concat GroupNormalization QLinearConcat QLinearSoftmax".split()
)


_WINDOWS = frozenset("AveragePool MaxPool LpPool".split())
"""A window wider than what it slides over is none; they round towards 0 and give one element."""


def _too_wide(node: Any, value: Any) -> bool:
    said = {each.name: list(each.ints) for each in node.attribute}
    if not isinstance(value, np.ndarray) or value.ndim < 3 or "kernel_shape" not in said:
        return False
    kernel, rank = said["kernel_shape"], value.ndim - 2
    pads = said.get("pads") or [0] * 2 * rank
    sizes = zip(value.shape[2:], kernel, pads[:rank], pads[rank:], strict=True)
    return any(size + before + after < window for size, window, before, after in sizes)


NAN = frozenset(
    "ReduceMax ReduceMin MaxPool GlobalMaxPool ArgMax ArgMin TopK Max Min Clip Relu Hardmax ThresholdedRelu Unique "
    "LeakyRelu Softmax LogSoftmax HardSigmoid PRelu Celu Elu Selu Sign Round Softplus".split()
)
"""Operators that see a NaN or pass over it by its place among the elements."""


SUMS = frozenset("MatMul Gemm Einsum Conv ConvTranspose DeformConv RNN GRU LSTM".split())
"""Operators that sum products: of infinities, and of what becomes one, the order of the sum makes a NaN or none."""
_OVERFLOWING = 1e18


def clouded(graph: Any, values: Mapping[str, Any]) -> bool:
    """Whether a NaN, or an infinity, meets an operator that does not treat it alike everywhere."""
    return any(
        (node.op_type in NAN and any(_has_nan(values.get(name)) for name in node.input))
        or (node.op_type in SUMS and any(_overflows(values.get(name)) for name in node.input))
        for node in graph.node
    )


def _overflows(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return False
    return not bool((np.abs(value) < _OVERFLOWING).all())


def _has_nan(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and bool(np.isnan(value).any())


def captured(node: Any) -> set[str]:
    """Names that the graphs inside a node read."""
    found: set[str] = set()
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                found |= set(inner.input) | captured(inner)
            found |= {value.name for value in graph.output}
    return found


def doubtful(graph: Any, values: Mapping[str, Any]) -> set[str]:
    """The values of one run that follow from what an operator made of an empty tensor."""
    found: set[str] = set()
    for node in graph.node:
        odd = node.op_type in EMPTY and any(_is_empty(values.get(name)) for name in node.input)
        odd = odd or (node.op_type in _WINDOWS and _too_wide(node, values.get(node.input[0])))
        odd = odd or (node.op_type == "Reshape" and _undetermined(node, values))
        if odd or not found.isdisjoint({*node.input, *captured(node)}):
            found.update(node.output)
    return found


def _undetermined(node: Any, values: Mapping[str, Any]) -> bool:
    """A -1 beside a literal 0 could be any size, and is refused by the specification; they take 1."""
    literal = any(each.name == "allowzero" and each.i for each in node.attribute)
    target = values.get(node.input[1]) if len(node.input) > 1 else None
    return literal and isinstance(target, np.ndarray) and {0, -1} <= {*target.ravel().tolist()}


def _is_empty(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size == 0
