"""Counts that the model multiplies: 0, 1, 2 ... times 8, as detectors make places of a picture of the cells of a grid.

The 8 may be a number, or the picture's size by that of the grid, rounded down: see families/strides.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from onereshape.graphs.constants import constant_tensor
from onereshape.graphs.registry import operator_of
from onereshape.repair.fitting.exported import Binding
from onereshape.repair.fitting.families.strides import Quotient, quotients
from onereshape.repair.fitting.fitted import Fitted
from onereshape.rule.sizes import Formula

_HANDED_ON = {"Add", "Cast", "Concat", "Expand", "Flatten", "Identity", "Reshape", "Sub", "Transpose", "Unsqueeze"}
"""Operators behind which a count is still one, perhaps from another start on."""


def multiplied(found: Fitted, bindings: tuple[Binding, ...]) -> Iterator[Quotient]:
    """The quotients of sizes that the steps of a count are in all exports, once the model has multiplied it."""
    growing = [axis for axis, size in enumerate(found.dims) if isinstance(size, Formula)]
    steps = {_step(array, axis) for array in found.use.arrays for axis in growing}
    if len(growing) != 1 or len(steps) != 1 or None in steps:
        return
    (axis,), (step,) = growing, steps
    for factor in set(_factors(found.use.node, found.use.slot)):
        yield from quotients(found.dims[axis], np.array([float(step or 0) * factor]), bindings)


def _step(array: np.ndarray, axis: int) -> float | None:
    """By how much numbers along their only long axis grow, if always by as much."""
    if array.dtype.kind not in "fi" or array.size != array.shape[axis] or array.size < 2:
        return None
    steps = np.diff(array.reshape(-1))
    return float(steps[0]) if steps[0] and np.all(steps == steps[0]) else None


def _factors(node: ir.Node, slot: int | str) -> Iterator[float]:
    """The numbers by which an input of a node is multiplied, there or further on."""
    left = [(node, slot)] if isinstance(slot, int) else []
    seen: set[ir.Node] = set()
    while left:
        node, slot = left.pop()
        if node in seen:
            continue
        seen.add(node)
        operator = operator_of(node)
        if operator == "Mul" and len(node.inputs) == 2 and (factor := _number(node.inputs[1 - int(slot)])) is not None:
            yield factor
        elif operator in _HANDED_ON:
            left += [(use.node, use.idx) for use in node.outputs[0].uses()]


def _number(value: ir.Value | None) -> float | None:
    """The number that a constant is all along."""
    made = None if value is None else value.producer()
    if made is not None and operator_of(made) == "ConstantOfShape":
        tensor = made.attributes["value"].as_tensor() if "value" in made.attributes else None
    else:
        tensor = None if value is None else constant_tensor(value)
    if tensor is None or tensor.size != 1:
        return None
    number = tensor.numpy().reshape(-1)[0]
    return float(number) if number.dtype.kind in "fi" else None
