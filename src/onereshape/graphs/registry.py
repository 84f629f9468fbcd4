"""The registry: the record of every operator, for all that asks, also for what a `Record` is made of.

It knows no class of a record: `operators` fills it, and `record` says what a record has.  What stands
below that file says the type of the field that it reads; what stands above it has the typed look-ups there.
"""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX


class Registry(dict[str, Any]):
    """Records by operator; those of other domains than ONNX's are written `domain::operator`."""

    nothing: Any = None
    """The record of an operator that nobody wrote one for."""

    def __missing__(self, operator: str) -> Any:
        if not self:
            raise RuntimeError("onereshape.graphs.operators must be imported before a record is asked for")
        return self.nothing


RECORDS = Registry()


def record_named(operator: str) -> Any:
    """The record of an operator."""
    return RECORDS[operator]


def record_of(node: ir.Node) -> Any:
    """The record of a node's operator."""
    return RECORDS[operator_of(node)]


def operator_of(node: ir.Node) -> str:
    """The operator of a node, as it is written in `RECORDS`."""
    return node.op_type if node.domain in ONNX else f"{node.domain}::{node.op_type}"
