"""What an ONNX file leaves out of a Reshape, inferred: it need not declare what is between its inputs and outputs."""

from __future__ import annotations

from dataclasses import replace

import onnx_ir as ir

from onereshape.backends.convert.unchanged import type_name
from onereshape.formats.model import Model
from onereshape.formats.model_data import LONGEST_TARGET, ReshapeNode
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.shapes import facts_of
from onereshape.rule.dims import Dim, MaybeDims, parse


def completed(model: Model, node: ReshapeNode) -> ReshapeNode:
    """A Reshape with its element type, and the dims that the file does not say, as far as they can be told."""
    facts = facts_of(model.ir)
    inputs, outputs = list(node.node.inputs), list(node.node.outputs)
    data, target, *_ = [*inputs, None, None]
    output, *_ = [*outputs, None]
    return replace(
        node,
        element_type=node.element_type or _type(facts, data, output),
        data=_dims(facts, data) if node.data is None else node.data,
        output=_dims(facts, output) if node.output is None else node.output,
        target=_open(_dims(facts, target)) if node.target is None else node.target,
    )


def _type(facts: Facts, data: ir.Value | None, output: ir.Value | None) -> str | None:
    """The type of data: inferred, or declared for the output, whose type is the same."""
    if data is not None and (kind := facts.kinds.get(data)) is not None:
        return kind.name.lower()
    said = None if output is None else type_name(output)
    return None if said is None else said.removeprefix("tensor(").removesuffix(")")


def _dims(facts: Facts, value: ir.Value | None) -> MaybeDims:
    """The dims, None for each that has no name in the file."""
    if value is None or facts.dims_of(value) is None:
        return None
    return tuple(None if facts.unnamed & _names(dim) else dim for dim in facts.dims[value])


def _names(dim: Dim) -> set[str]:
    return set(parse(dim).symbols) if isinstance(dim, str) else set()


def _open(dims: MaybeDims) -> MaybeDims:
    """A target of which only its length is known."""
    length = dims[0] if dims is not None and len(dims) == 1 else None
    return (None,) * length if isinstance(length, int) and length <= LONGEST_TARGET else None
