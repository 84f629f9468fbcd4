"""check_written(): whether a model's opset has the operators, with the types, that its constants became."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import onnx_ir as ir

from onereshape.ground.errors import FixError

_SINCE: Mapping[str, int] = {
    **dict.fromkeys(("Add", "Div", "Mul", "Sub"), 7),
    "Expand": 8,
    "Mod": 10,
    "Resize": 11,
    "Slice": 10,
    "Where": 9,
}
"""Operator -> the opset from which on it is as it is written, broadcast and with inputs for attributes;"""
_OF_INTEGERS: Mapping[str, int] = {"Less": 9, "Max": 12, "Min": 12}
"""and from which on it is there for integers."""
_NARROW = frozenset(
    kind for kind in ir.DataType if kind.name.startswith(("FLOAT8", "FLOAT4", "INT4", "UINT4", "INT2", "UINT2"))
)
_OF_ALL = frozenset({"Cast", "Reshape", "Transpose", "Shape", "Identity"})
"""Operators that take the types of a few bits too."""


def check_written(nodes: Iterable[ir.Node], opset: int) -> None:
    """Refuses new nodes that the opset does not have, or does not have for their types."""
    for node in nodes:
        first = node.inputs[0].dtype if node.inputs and node.inputs[0] is not None else None
        table = _OF_INTEGERS if first == ir.DataType.INT64 and node.op_type in _OF_INTEGERS else _SINCE
        since = table.get(node.op_type, 1)
        if since > opset:
            raise _refused(opset, f"a constant that follows the sizes takes {node.op_type} of opset {since}")
        kind = node.outputs[0].dtype
        if kind in _NARROW and node.op_type not in _OF_ALL:
            raise _refused(opset, f"a constant that follows the sizes is {kind}, for which there is no {node.op_type}")


def _refused(opset: int, why: str) -> FixError:
    return FixError("cannot-free", node="the model", op=f"opset {opset}", why=why)
