"""Where onnxruntime is no witness: what it does with empty tensors, operator by operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

FRAGILE = frozenset("GRU LSTM RNN Trilu GatherElements Unique ReverseSequence InstanceNormalization".split())
"""Operators that an empty tensor makes abort the whole process."""

_EMPTY = frozenset(
    # A reduction of nothing keeps the dims of its input; a Concat skips what is empty, and its dims with it.
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
    "ReduceSumSquare ArgMax ArgMin Concat".split()
)


def doubtful(graph: Any, values: Mapping[str, Any]) -> set[str]:
    """The values of one run that follow from what an operator made of an empty tensor."""
    found: set[str] = set()
    for node in graph.node:
        empty = node.op_type in _EMPTY and any(_is_empty(values.get(name)) for name in node.input)
        if empty or not found.isdisjoint(node.input):
            found.update(node.output)
    return found


def _is_empty(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size == 0
