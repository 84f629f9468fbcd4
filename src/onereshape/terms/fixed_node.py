"""FixedNode: what is known of a node before any run, found once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import onnx_ir as ir

from onereshape.ground.bodies import Body, NoBodyError, body_of, is_written
from onereshape.terms.call import Record, Value
from onereshape.terms.conform import LEARNED, check_node, defaults, is_known, schema
from onereshape.terms.needs import GRAPHS
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor


@dataclass(frozen=True, slots=True)
class FixedNode:
    """A node's name, schema, record and attributes: found once, for all of its runs."""

    here: str
    name: str
    called: str
    schema: Any
    """None for operators of other domains."""
    record: Record | None
    opset: int
    used: int
    written: int
    attributes: Mapping[str, Any] | None
    """None where some are given by the caller of a function."""
    _letters: dict[tuple[Any, ...], dict[str, str]] = field(default_factory=dict)

    def letters(self, node: ir.Node, inputs: Sequence[Value]) -> dict[str, str]:
        """The types that the letters of the schema stand for; a node is checked once for each combination of types."""
        if self.schema is None:
            return {}
        types = tuple(each.dtype if isinstance(each, Tensor) else each is None for each in inputs)
        if types not in self._letters:
            self._letters[types] = check_node(node, self.schema, inputs)
        return self._letters[types]

    def settings(self, there: Mapping[str, ir.Attr]) -> dict[str, Any]:
        """The attributes of a call, with lists of its own that a rule may change."""
        found = self.attributes if self.attributes is not None else _attributes(self.schema, there)
        return {name: list(each) if isinstance(each, (tuple, list)) else each for name, each in found.items()}

    def body(self, node: ir.Node, inputs: Sequence[Value], attributes: Mapping[str, ir.Attr]) -> Body:
        """The body of an operator that has no record; NotProven where there is none."""
        given = [each if each is None else _type(each) for each in inputs]
        try:
            dims = [each.shape if isinstance(each, Tensor) else None for each in inputs]
            found = body_of(node, self.opset, given, attributes, dims)
        except NoBodyError as error:
            raise NotProven(f"{self.here}: {error.why}") from None
        if found is None:
            raise NotProven(f"{self.here}: there is no record of the operator {self.called}")
        return found


def fixed(node: ir.Node, opsets: Mapping[str, int], records: Mapping[tuple[str, str], Record]) -> FixedNode:
    """A node of a graph with these opsets, by its record, or by its body where there is none."""
    name = str(node.name or node.outputs[0].name)
    here = f"{node.op_type} {name}"
    domain = "" if node.domain == "ai.onnx" else node.domain
    record = records.get((domain, node.op_type))
    opset = opsets.get(domain, opsets.get("ai.onnx", 1) if not domain else 1)
    ours = domain in {"", LEARNED}
    found = schema(node.op_type, opset, domain) if ours else None
    written = record is not None or is_written(node.op_type, domain)
    if ours and found is None and (not written or is_known(node.op_type, domain)):
        raise NotProven(f"{here}: opset {opset} has no such operator")
    plain = not any(each.is_ref() for each in node.attributes.values())
    attributes = _attributes(found, node.attributes) if plain else None
    called = f"{domain}.{node.op_type}" if domain else node.op_type
    return FixedNode(here, name, called, found, record, opset, _used(node), len(node.outputs), attributes)


def _attributes(found: Any, there: Mapping[str, ir.Attr]) -> dict[str, Any]:
    """Attributes as a call has them, with the defaults of the schema; graphs are asked for otherwise."""
    own = {name: _value(each) for name, each in there.items() if each.type not in GRAPHS}
    return {**dict(defaults(found) if found else ()), **own}


def _value(attribute: ir.Attr) -> Any:
    """An attribute's value; for a long list, which is read when it is asked for, its `entries`."""
    entries = getattr(attribute, "entries", None)
    return attribute.value if entries is None else entries


def _type(value: Value) -> tuple[ir.DataType | None, int | None]:
    return (value.dtype, value.rank) if isinstance(value, Tensor) else (None, None)


def _used(node: ir.Node) -> int:
    """How many outputs a node has, without those behind the last that anyone reads; one at least."""
    read = [place for place, value in enumerate(node.outputs) if value.uses() or value.is_graph_output()]
    return max(read, default=0) + 1
