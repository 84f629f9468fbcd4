"""Assignments by a mask: `y[x < 0] = 0`, which torch writes as NonZero, a count of all samples and ScatterND.

What is written are the places of all samples in one row, so that no node on the way keeps them apart; what is meant is
a Where, which does.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX
from onereshape.graphs.constants import constant_tensor, dims_of_tensor
from onereshape.graphs.facts.facts import Facts


class Put(NamedTuple):
    """One assignment: what a ScatterND writes into its data wherever a mask of the same dims is true."""

    mask: ir.Value
    number: ir.Value
    """A constant of one element."""


def mask_puts(graph: ir.Graph, facts: Facts) -> dict[ir.Node, Put]:
    """The ScatterNDs of a graph that write one number at all places of a mask."""
    found: dict[ir.Node, Put] = {}
    for node in graph:
        if _is(node, "ScatterND") and len(node.inputs) == 3 and _plain(node):
            data, indices, updates = node.inputs
            mask = None if indices is None else _mask(indices)
            number = None if updates is None else _number(updates)
            if data is not None and mask is not None and number is not None and _fits(data, mask, facts):
                found[node] = Put(mask, number)
    return found


def _fits(data: ir.Value, mask: ir.Value, facts: Facts) -> bool:
    dims = facts.dims_of(data)
    return bool(dims) and facts.dims_of(mask) == dims and facts.kinds.get(mask) == ir.DataType.BOOL


def _plain(node: ir.Node) -> bool:
    how = node.attributes.get("reduction")
    return how is None or (not how.is_ref() and how.value == "none")


def _mask(indices: ir.Value) -> ir.Value | None:
    """The mask whose true places are the rows of indices: `Transpose(NonZero(mask)) -> mask`."""
    turned = indices.producer()
    if turned is None or not _is(turned, "Transpose"):
        return None
    order, rows = turned.attributes.get("perm"), _first(turned)
    if rows is None or (order is not None and (order.is_ref() or list(order.value) != [1, 0])):
        return None
    places = rows.producer()
    return _first(places) if places is not None and _is(places, "NonZero") else None


def _number(updates: ir.Value) -> ir.Value | None:
    """The constant of one element that updates repeat: `Expand(0, [5]) -> 0`; None where no node repeats it."""
    value: ir.Value | None = updates
    while value is not None and (maker := value.producer()) is not None and _is(maker, "Reshape", "Identity", "Expand"):
        value = _first(maker)
    if value is None or value is updates:
        return None
    tensor = constant_tensor(value)
    return (
        value if tensor is not None and len(dims_of_tensor(tensor)) < 2 and prod(dims_of_tensor(tensor)) == 1 else None
    )


def _is(node: ir.Node, *ops: str) -> bool:
    return node.domain in ONNX and node.op_type in ops


def _first(node: ir.Node) -> ir.Value | None:
    return node.inputs[0] if node.inputs else None
