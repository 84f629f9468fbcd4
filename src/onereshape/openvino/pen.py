"""Pen: what writes layers into a net, and how a spelling reads the node that it is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import onnx_ir as ir

from onereshape.dtypes import named

Place = tuple[str, str]
"""A layer and one of its output ports."""
Dims = Sequence[int | None] | None


class UnspelledError(Exception):
    """OpenVINO has no layer for a node, or nobody knows it."""


class Pen(Protocol):
    """Adds layers to a net."""

    def place(self, value: ir.Value) -> Place: ...
    def constant(self, array: np.ndarray[Any, Any]) -> Place: ...
    def layer(  # noqa: PLR0913, PLR0917 - what a layer is
        self,
        kind: str,
        opset: int,
        inputs: Sequence[Place],
        data: Mapping[str, str],
        outputs: Sequence[ir.Value] = (),
        inner: tuple[str, Dims] | None = None,
        more: Sequence[tuple[str, Dims]] = (),
    ) -> Place: ...


Spelling = Callable[[Pen, ir.Node], None]


def type_name(kind: ir.DataType | None) -> str:
    """OpenVINO's name of a type."""
    found = None if kind is None else named(kind.name.lower())
    if found is None or found.openvino is None:
        raise UnspelledError(f"OpenVINO has no type {None if kind is None else kind.name.lower()}")
    return found.openvino


def attribute(node: ir.Node, name: str, default: Any = None) -> Any:
    """An attribute of a node."""
    found = node.attributes.get(name)
    return default if found is None else found.value


def places(pen: Pen, node: ir.Node) -> list[Place]:
    """Where its inputs come from, all of which must be there."""
    if any(value is None for value in node.inputs):
        raise UnspelledError(f"{node.op_type} lacks an input")
    return [pen.place(value) for value in node.inputs if value is not None]


def integers(pen: Pen, numbers: Any) -> Place:
    """A constant of whole numbers."""
    return pen.constant(np.asarray(numbers, np.int64))


def listed(numbers: Sequence[int]) -> str:
    """Whole numbers as an attribute has them."""
    return ", ".join(str(each) for each in numbers)


def rank_of(value: ir.Value | None) -> int:
    """How many dims a value has."""
    if value is None or value.shape is None:
        raise UnspelledError("a value of unknown rank")
    return len(value.shape)


def kind_of(value: ir.Value) -> ir.DataType | None:  # noqa: PLR0911 - one for each way to know it
    """The type of a value that a repair made: said, or that of what its node works on."""
    if value.dtype is not None:
        return value.dtype
    node = value.producer()
    if node is None:
        return None if value.const_value is None else value.const_value.dtype
    if node.op_type in {"Shape", "NonZero", "Size"}:
        return ir.DataType.INT64
    if node.op_type == "Cast":
        return ir.DataType(node.attributes["to"].as_int())
    if node.op_type in {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And", "Or", "Not", "Xor"}:
        return ir.DataType.BOOL
    if node.op_type == "ConstantOfShape":
        tensor = node.attributes.get("value")
        return ir.DataType.FLOAT if tensor is None else tensor.as_tensor().dtype
    source = node.inputs[1 if node.op_type == "Where" else 0]
    return None if source is None else kind_of(source)
