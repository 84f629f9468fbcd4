"""Models of text, and what is known of their values, by name."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
from onnx import parser

from onereshape.graphs.facts.facts import Facts

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


def read(text: str, head: str = HEAD) -> ir.Model:
    """A model of text."""
    return ir.serde.deserialize_model(parser.parse_model(head + text))


def dims(shapes: Facts) -> dict[str, Any]:
    """The dims by name."""
    return {str(value.name): found for value, found in shapes.dims.items()}


def values(shapes: Facts) -> dict[str, Any]:
    """The elements by name."""
    return {str(value.name): found for value, found in shapes.values.items()}


def node_of(model: ir.Model, op: str) -> ir.Node:
    return next(node for node in model.graph.all_nodes() if node.op_type == op)


def rename(model: ir.Model, old: str, new: str) -> None:
    """Gives the dims of inputs a name that the parser of texts has no words for."""
    for value in model.graph.inputs:
        assert value.shape is not None
        value.shape = ir.Shape([new if dim == old else dim for dim in value.shape])
