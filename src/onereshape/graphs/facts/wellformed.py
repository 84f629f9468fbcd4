"""Whether a node is what its operator's schema says: shape rules are written for such nodes, and asked of no other."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import onnx
import onnx_ir as ir


class _Schema(NamedTuple):
    required: frozenset[int]
    """The inputs that must be there."""
    fewest: int
    most: int
    outputs: int
    attributes: frozenset[tuple[str, str]]
    """The name and the type of each attribute."""
    named: frozenset[str]
    needed: frozenset[str]
    """The attributes that must be there."""


def is_wellformed(node: ir.Node, version: int) -> bool:
    """Whether a node has the inputs, the outputs and the attributes that its operator asks for."""
    inputs, attributes = node.inputs, node.attributes.data
    missing = () if None not in inputs else tuple(place for place, value in enumerate(inputs) if value is None)
    said = [(name, None if each.is_ref() else each.type) for name, each in attributes.items()] if attributes else ()
    return _fits(node.op_type, node.domain, version, len(inputs), missing, len(node.outputs), tuple(said))


@lru_cache(maxsize=4096)
def _fits(  # noqa: PLR0913, PLR0917 - all of a node that a schema speaks of
    op: str,
    domain: str,
    version: int,
    inputs: int,
    missing: tuple[int, ...],
    outputs: int,
    attributes: tuple[tuple[str, ir.AttributeType | None], ...],
) -> bool:
    """Whether nodes of this form satisfy the schema: remembered, because a model has many nodes alike."""
    schema = _schema(op, domain, version)
    if schema is None:  # nobody can say
        return True
    return (
        schema.fewest <= inputs <= schema.most
        and schema.required.isdisjoint(missing)
        and 0 < outputs <= schema.outputs
        and schema.needed <= {name for name, _ in attributes}
        and all(
            kind is None or name not in schema.named or (name, kind.name) in schema.attributes
            for name, kind in attributes
        )
    )


@lru_cache(maxsize=4096)
def _schema(op: str, domain: str, version: int) -> _Schema | None:
    try:
        found = onnx.defs.get_schema(op, version, domain)
    except onnx.defs.SchemaError:
        return None
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    return _Schema(
        frozenset(index for index, each in enumerate(found.inputs) if each.option == single),
        found.min_input,
        found.max_input,
        found.max_output,
        frozenset((name, str(each.type).rpartition(".")[2]) for name, each in found.attributes.items()),
        frozenset(found.attributes),
        frozenset(name for name, each in found.attributes.items() if each.required),
    )
