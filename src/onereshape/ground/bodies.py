"""The bodies of operators that are compositions: ONNX's own, and those that `functions` writes for other operators.

    body = body_of(asked)     # None where the operator is none of others; NoBodyError where this node asks too much
    body.function            # an onnx_ir.Function: run its nodes at `function.opset_imports`
    body.attributes          # the attributes of the node, and those that its schema gives a value to

A body is of plainer operators, some of which have bodies in turn: whoever wants plain arithmetic asks again for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import onnx
import onnx_ir as ir
from onnx_ir.serde import SerdeError, deserialize_function

from onereshape.ground.composing import MISSING, Asked, NoBodyError, check_dims, forms_of
from onereshape.ground.functions import FUNCTIONS

__all__ = ["Asked", "Body", "NoBodyError", "body_of", "is_written"]

_GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


@dataclass(frozen=True, slots=True)
class Body:
    """What an operator is composed of."""

    function: ir.Function
    attributes: Mapping[str, ir.Attr]
    """What the nodes of the body may refer to."""
    places: tuple[int | None, ...] | None = None
    """For each output of the operator that of the function; None where the body does not make it."""

    def results(self, made: Sequence[Any]) -> list[Any]:
        """What is known of the outputs of the function, one for each output of the operator; None for what it lacks."""
        return [*made] if self.places is None else [None if place is None else made[place] for place in self.places]


_DIMS = {
    "Attention": ["B S .|B . S .", "B T .|B . T .", "B T .|B . T .", "*", "B *", "B *", "B"],
    "NegativeLogLikelihoodLoss": ["N C *", "N *", "C"],
    "RotaryEmbedding": ["B S .|B . S .", "B S .|. .", "B S .|. .", "B S"],
    "SoftmaxCrossEntropyLoss": ["N C *", "N *", "C"],
}
"""What is said of the dims of operators whose bodies are ONNX's own, input by input, where these would broadcast."""

Given = tuple[ir.DataType | None, int | None] | None
"""An input: its type and its rank, as far as known; None where it is left out."""


def body_of(
    node: ir.Node,
    opset: int,
    given: Sequence[Given],
    attributes: Mapping[str, ir.Attr] | None = None,
    dims: Sequence[Sequence[Any] | None] = (),
) -> Body | None:
    """The body of a node's operator; None where it has none.

    `opset` is that of the operator's domain, `given` tells the inputs, and `attributes` are the node's own with all
    references resolved (its own as they stand, where they are left out).  `dims` are those of the inputs, as far as
    known: no body has them, but some are refused, as engines would refuse them.
    """
    there = node.attributes if attributes is None else attributes
    domain = "" if node.domain == "ai.onnx" else node.domain
    ours = FUNCTIONS.get(f"{domain}::{node.op_type}" if domain else node.op_type)
    if ours is not None:
        asked = _asked(node, given, there)
        function, places = _parsed(ours.written(asked))
        check_dims(ours.forms, dims)
        return Body(function, there, places)
    if domain:
        return None
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, domain)
    except onnx.defs.SchemaError:
        return None
    if node.op_type in _DIMS:
        check_dims([forms_of(each) for each in _DIMS[node.op_type]], dims)
    found = _official(schema, opset, node, given, there)
    return None if found is None else Body(found, _filled(schema, there))


def is_written(op: str, domain: str) -> bool:
    """Whether an operator has a row in `functions`."""
    return (f"{domain}::{op}" if domain else op) in FUNCTIONS


def _asked(node: ir.Node, given: Sequence[Given], attributes: Mapping[str, ir.Attr]) -> Asked:
    """How a node asks for its operator."""
    plain = {name: each.value for name, each in attributes.items() if each.type not in _GRAPHS}
    inputs = [None if each is None else (None if each[0] is None else each[0].name, each[1]) for each in given]
    while inputs and inputs[-1] is None:
        inputs.pop()
    settings = {name: list(each) if isinstance(each, (tuple, list)) else each for name, each in plain.items()}
    return Asked(tuple(inputs), settings, tuple(bool(value.name) for value in node.outputs))


@lru_cache(maxsize=512)
def _parsed(text: str) -> tuple[ir.Function, tuple[int | None, ...]]:
    try:
        proto = onnx.parser.parse_function(text)
    except onnx.parser.ParseError:  # an attribute is a name that is no text
        raise NoBodyError("its attributes cannot be written as text") from None
    there = [name for name in proto.output if not name.startswith(MISSING)]
    places = tuple(there.index(name) if name in there else None for name in proto.output)
    del proto.output[:]
    proto.output.extend(there)
    return deserialize_function(proto), places


def _filled(schema: Any, attributes: Mapping[str, ir.Attr]) -> dict[str, ir.Attr]:
    """The attributes of a node, and those that its schema gives a value to: a body reads them all."""
    return {**_defaults(schema), **attributes}


@lru_cache(maxsize=512)
def _defaults(schema: Any) -> dict[str, ir.Attr]:
    found = {name: each.default_value for name, each in schema.attributes.items()}
    there = {name: each for name, each in found.items() if each.type != onnx.AttributeProto.UNDEFINED}
    return {name: ir.from_proto(each) for name, each in there.items()}


def _official(
    schema: Any, opset: int, node: ir.Node, given: Sequence[Given], attributes: Mapping[str, ir.Attr]
) -> ir.Function | None:
    """The newest body that is not above an opset, or else the oldest; None where there is none, or none can be made.

    All bodies of one version of an operator have one meaning, whatever they are written in.  Each is of the opset that
    it was written for, which it says.  Some are made for the types of the inputs: these are told with their ranks
    and without their dims, so that no size gets into a body as a number.
    """
    if schema.non_deterministic:
        return None
    if (version := _nearest(schema.function_opset_versions, opset)) is not None:
        return _plain(schema, version)
    version = _nearest(schema.context_dependent_function_opset_versions, opset)
    if version is None or not all(each is None or None not in each for each in given):
        return None
    proto = onnx.NodeProto(op_type=node.op_type, name=node.name or "")
    proto.input.extend("" if value is None else f"input_{place}" for place, value in enumerate(given))
    proto.output.extend(value.name or "" for value in node.outputs)
    proto.attribute.extend(ir.to_proto(each) for each in _filled(schema, attributes).values())
    types = tuple(_type(each).SerializeToString() for each in given)
    return _made(schema, version, proto.SerializeToString(deterministic=True), types)


def _nearest(versions: Sequence[int], opset: int) -> int | None:
    return max((each for each in versions if each <= opset), default=min(versions, default=None))


@lru_cache(maxsize=512)
def _plain(schema: Any, version: int) -> ir.Function | None:
    return _read(schema.get_function_with_opset_version(version))


@lru_cache(maxsize=512)
def _made(schema: Any, version: int, node: bytes, types: tuple[bytes, ...]) -> ir.Function | None:
    try:
        made = schema.get_context_dependent_function_with_opset_version(version, node, list(types))
    except (RuntimeError, ValueError, TypeError, IndexError):
        return None
    return _read(made)


def _read(text: bytes) -> ir.Function | None:
    proto = onnx.FunctionProto.FromString(text) if text else onnx.FunctionProto()
    made = {name for node in proto.node for name in node.output}.union(proto.input)
    while proto.output and proto.output[-1] not in made:
        proto.output.pop()  # one that was not asked for
    if not proto.node or not made.issuperset(proto.output):
        return None
    try:
        return deserialize_function(proto)
    except SerdeError:
        return None


def _type(given: Given) -> onnx.TypeProto:
    found = onnx.TypeProto()
    if given is not None and given[0] is not None:
        found.tensor_type.elem_type = int(given[0])
        found.tensor_type.shape.dim.extend(onnx.TensorShapeProto.Dimension() for _ in range(given[1] or 0))
    return found
