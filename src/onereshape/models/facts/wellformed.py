"""Whether a node is what its operator's schema says: shape rules are written for such nodes, and asked of no other."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import onnx
import onnx_ir as ir


class _Schema(NamedTuple):
    required: tuple[int, ...]
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
    schema = _schema(node.op_type, node.domain, version)
    if schema is None:  # nobody can say
        return True
    inputs, attributes = node.inputs, node.attributes
    return (
        schema.fewest <= len(inputs) <= schema.most
        and all(inputs[index] is not None for index in schema.required if index < len(inputs))
        and 0 < len(node.outputs) <= schema.outputs
        and schema.needed <= attributes.keys()
        and all(
            attribute.is_ref() or name not in schema.named or (name, attribute.type.name) in schema.attributes
            for name, attribute in attributes.items()
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
        tuple(index for index, each in enumerate(found.inputs) if each.option == single),
        found.min_input,
        found.max_input,
        found.max_output,
        frozenset((name, str(each.type).rpartition(".")[2]) for name, each in found.attributes.items()),
        frozenset(found.attributes),
        frozenset(name for name, each in found.attributes.items() if each.required),
    )
