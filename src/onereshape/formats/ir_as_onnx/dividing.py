"""How openvino's CPU plugin divides whole numbers, which depends on the machine.

The specification rounds down, or cuts towards 0 where `m_pythondiv` is false.  The plugin does not look at that: it
cuts on x86-64, and rounds down on Arm.  Of numbers that are not negative both are the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.machine import ARM

_SIGNED: Final = frozenset({ir.DataType.INT16, ir.DataType.INT32, ir.DataType.INT64})
"""Bytes are not among them: Arm's plugin cuts those, as long as no dim is dynamic."""
_SIZES: Final = frozenset({"Shape", "Size", "NonZero"})
_KEEPS_ALL: Final = frozenset({"Add", "Concat", "Div", "Max", "Min", "Mul"})
"""Of no negative numbers they make none,"""
_KEEPS_FIRST: Final = frozenset(
    "Cast Gather Identity ReduceMax ReduceMin ReduceProd ReduceSum Reshape Slice Squeeze Unsqueeze".split()
)
"""or look at the numbers of their first input only."""
_FAR: Final = 100
"""Values that are looked at."""


def rounds_down(kind: ir.DataType | None, left: ir.Value, right: ir.Value) -> bool:
    """Whether a quotient of this type is another one than ONNX's, which cuts, where one of both is negative."""
    return ARM and kind in _SIGNED and not _never_negative([left, right])


def _never_negative(values: list[ir.Value]) -> bool:
    """Whether these follow from sizes and constants alone, in a way that makes no negative number."""
    waiting, seen = [*values], set(values)
    while waiting and len(seen) <= _FAR:
        value = waiting.pop()
        node, tensor = value.producer(), ir.convenience.get_const_tensor(value)
        if tensor is not None:
            if tensor.size > _FAR or np.any(tensor.numpy() < 0):
                return False
            continue
        if node is None or node.op_type not in _SIZES | _KEEPS_ALL | _KEEPS_FIRST:
            return False
        count = 0 if node.op_type in _SIZES else len(node.inputs) if node.op_type in _KEEPS_ALL else 1
        more = [each for each in node.inputs[:count] if each is not None and each not in seen]
        seen.update(more)
        waiting += more
    return not waiting
