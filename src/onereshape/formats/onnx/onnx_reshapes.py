"""The Reshapes of an ONNX model: of its graph, of the branches and bodies in it, and of its functions.

Targets are followed through constants only: initializers, Constant nodes, and what Identity, Cast, Unsqueeze and Concat
make of them.  What data dims would add is left to inference.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.formats.model_data import LONGEST_TARGET, ReshapeNode
from onereshape.formats.onnx.onnx_graphs import ONNX, external_file, nodes, roots
from onereshape.formats.refusals import unreadable
from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.rule.dims import Dim, declared
from onereshape.rule.specs import NEWEST_OPSET, Spec, spec as find_spec

_DEEPEST = 64
"""How many nodes a target is followed through."""

_INTEGERS = frozenset("int64 int32 int16 int8 uint64 uint32 uint16 uint8".split())
_FOLLOWED = frozenset({"Identity", "Cast", "Unsqueeze", "Concat"})
"""The domain of ONNX's own operators, in both spellings."""


class TargetEntries(NamedTuple):
    """What is known of an integer tensor."""

    values: tuple[Dim, ...] | None
    """Its elements, None for each that is not known; None: their number is not known."""
    source: str
    type: str | None = None
    dims: tuple[int, ...] | None = None
    """Where it is a constant; a target must have one dim."""


def reshapes(model: ir.Model, path: str) -> tuple[ReshapeNode, ...]:
    """One entry per Reshape, in the order of the file; `path` is for the messages and for external data."""
    words = _TargetReader(path, model.ir_version)
    found = []
    for graph, start in roots(model):
        spec: Spec | None = None
        for node, place in nodes(graph, start, only="Reshape"):
            if node.domain in ONNX and node.op_identifier() not in model.functions:
                spec = spec or _spec(graph, model, place, path)
                found.append(_entry(node, place, spec, words))
    return tuple(found)


def _entry(node: ir.Node, place: str, spec: Spec, reader: _TargetReader) -> ReshapeNode:
    attributes = {name: _value(attribute) for name, attribute in node.attributes.data.items()}
    if spec.target_in == "attribute":
        words = (
            reader.attribute(attributes["shape"], place) if "shape" in attributes else TargetEntries(None, "missing")
        )
    else:
        words = reader.words(node.inputs[1] if len(node.inputs) > 1 else None, place)
    if words.dims is not None and len(words.dims) != 1:
        words = words._replace(values=None, source=f"{words.source}, which has dims {list(words.dims)}")
    data = node.inputs[0] if node.inputs else None
    output = node.outputs[0] if node.outputs else None
    return ReshapeNode(
        name=node.name or place,
        place=place,
        spec=spec,
        data=_dims(data),
        target=words.values,
        attributes=attributes,
        element_type=_element_type(data),
        output=_dims(output),
        target_from=words.source,
        target_type=words.type,
        node=node,
    )


def _spec(graph: Any, model: ir.Model, place: str, path: str) -> Spec:
    """The version of Reshape that the imports of a graph or a function choose."""
    imports = graph.opset_imports
    opset = imports.get("", imports.get("ai.onnx", 1 if model.ir_version < 3 and graph is model.graph else None))
    if opset is None:
        raise unreadable(path, f"has a Reshape at {place}, but no import of an ONNX opset there")
    try:
        return find_spec(f"onnx-{opset}")
    except ReshapeError:
        why = f"has a Reshape at {place} of opset {opset}, and only 1 to {NEWEST_OPSET} are known"
        raise unreadable(path, why) from None


def _value(attribute: ir.Attr) -> Any:
    value = attribute.value  # None where the caller of a function gives it
    return list(value) if isinstance(value, tuple) else value


def _integers(value: Any) -> tuple[int, ...] | None:
    return tuple(value) if isinstance(value, list) and all(type(entry) is int for entry in value) else None


def _element_type(value: ir.Value | None) -> str | None:
    dtype = None if value is None or not isinstance(value.type, ir.TensorType) else value.type.dtype
    return None if dtype is None or dtype == ir.DataType.UNDEFINED else dtype.name.lower()


def _dims(value: ir.Value | None) -> tuple[Dim, ...] | None:
    """The declared dims; a negative size, which some exporters write for an unknown one, is unknown."""
    if value is None or value.shape is None or not isinstance(value.type, ir.TensorType | None):
        return None
    known = [dim if isinstance(dim, int) else dim.value for dim in value.shape]
    return tuple(
        (dim if dim >= 0 else None) if isinstance(dim, int) else declared(dim) if dim else None for dim in known
    )


class _TargetReader:
    """Reads targets; each value once, however many paths lead to it."""

    def __init__(self, path: str, ir_version: int) -> None:
        self.path = path
        self.ir_version = ir_version
        self.seen: dict[ir.Value, TargetEntries] = {}

    def attribute(self, given: Any, place: str) -> TargetEntries:
        """A target that is the attribute `shape`."""
        if isinstance(given, list):
            self._check_length(len(given), "attribute shape", place)
        return TargetEntries(_integers(given), "attribute")

    def words(self, value: ir.Value | None, place: str, depth: int = 0) -> TargetEntries:
        if value is None:
            return TargetEntries(None, "missing")
        if value not in self.seen:
            self.seen[value] = self._words(value, place, depth)
        return self.seen[value]

    def _words(self, value: ir.Value, place: str, depth: int) -> TargetEntries:
        tensor, node = value.const_value, value.producer()
        if tensor is not None and value.is_initializer():
            # Before IR version 4 every initializer had to be listed as an input, and none can be overridden.
            if value.is_graph_input() and self.ir_version >= 4:
                return _unknown(value, f"input {value.name}, whose default can be overridden")
            return self._constant(tensor, f"initializer {value.name}", place)
        if node is None:
            return _unknown(value, f"{'input' if value.is_graph_input() else 'undeclared value'} {value.name}")
        return self._computed(node, value, place, depth)

    def _computed(self, node: ir.Node, value: ir.Value, place: str, depth: int) -> TargetEntries:
        words = _unknown(value, f"computed by {node.op_type} {node.name or value.name}")
        if node.domain not in ONNX or depth >= _DEEPEST:
            return words
        inputs = [] if node.op_type not in _FOLLOWED else [self.words(each, place, depth + 1) for each in node.inputs]
        match node.op_type, inputs:
            case "Constant", _:
                words = self._constant_node(node, f"Constant node {node.name or value.name}", place)
            case "Identity", [first]:
                words = first
            case "Cast", [first]:
                words = _cast(node, first, words)
            case "Unsqueeze", [first, *_]:
                words = _unsqueezed(first, words)
            case "Concat", _:
                words = _joined(inputs, words)
        return words

    def _constant_node(self, node: ir.Node, source: str, place: str) -> TargetEntries:
        """A Constant in any of its forms; one that the caller of a function chooses is not known."""
        name, attribute = next(iter(node.attributes.items()), ("", None))
        if attribute is None or attribute.is_ref():
            return TargetEntries(None, source)
        if name == "value" and attribute.type == ir.AttributeType.TENSOR:
            return self._constant(attribute.as_tensor(), source, place)
        if name == "value_ints" and attribute.type == ir.AttributeType.INTS:
            values = tuple(attribute.as_ints())
            self._check_length(len(values), source, place)
            return TargetEntries(values, source, "int64", (len(values),))
        if name == "value_int" and attribute.type == ir.AttributeType.INT:
            return TargetEntries((attribute.as_int(),), source, "int64", ())
        return TargetEntries(None, f"{source}, which has no integers")

    def _constant(self, tensor: Any, source: str, place: str) -> TargetEntries:
        """The integers of a constant tensor, inside the model or in another file; refuses a file that is too short."""
        kind, dims = tensor.dtype.name.lower(), tuple(tensor.shape.numpy())
        count = prod(dims)
        if min(dims, default=0) < 0:
            raise unreadable(self.path, f"{source} has a negative dim: {list(dims)}")
        if kind not in _INTEGERS:
            return TargetEntries((None,) * count if count <= LONGEST_TARGET else None, source, kind, dims)
        self._check_length(count, source, place)
        is_external = isinstance(tensor, ir.ExternalTensor)
        array = self._external(tensor, source, count) if is_external else tensor.numpy()
        return TargetEntries(tuple(array.reshape(-1).tolist()), source, kind, dims)

    def _check_length(self, count: int, source: str, place: str) -> None:
        if count > LONGEST_TARGET:
            why = f"{source} holds {count} integers for the target of {place}, more than {LONGEST_TARGET}"
            raise unreadable(self.path, why)

    def _external(self, tensor: ir.ExternalTensor, source: str, count: int) -> Any:
        needed = count * int(tensor.dtype.itemsize)
        file = external_file(tensor, self.path)
        if not file.is_file():
            raise unreadable(self.path, f"the data of {source} are in {str(tensor.location)!r}, which is not there")
        with file.open("rb") as stream:
            stream.seek(tensor.offset or 0)
            data = stream.read(needed)
        if len(data) < needed:
            raise unreadable(self.path, f"{source} has {len(data)} bytes of data, but its dims need {needed}")
        return np.frombuffer(data, tensor.dtype.numpy().newbyteorder("<"))


def _unknown(value: ir.Value, source: str) -> TargetEntries:
    """A tensor of which at most the number of elements is declared."""
    dims = _dims(value)
    length = dims[0] if dims is not None and len(dims) == 1 else None
    known = isinstance(length, int) and length <= LONGEST_TARGET
    return TargetEntries((None,) * length if known and isinstance(length, int) else None, source, _element_type(value))


def _cast(node: ir.Node, words: TargetEntries, otherwise: TargetEntries) -> TargetEntries:
    """The entries of a target behind a Cast to int64, where they fit; `otherwise` for any other Cast."""
    to = node.attributes.get("to")
    fits = words.values is not None and all(
        entry is None or (isinstance(entry, int) and entry <= INT64_MAX) for entry in words.values
    )
    if to is None or to.is_ref() or to.value != ir.DataType.INT64 or words.type not in _INTEGERS or not fits:
        return otherwise
    return words._replace(source=otherwise.source, type="int64")


def _unsqueezed(words: TargetEntries, otherwise: TargetEntries) -> TargetEntries:
    """The one entry of a target that an Unsqueeze makes of a number without dims."""
    known = words.values is not None and words.dims == ()
    return TargetEntries(words.values if known else (None,), otherwise.source, otherwise.type or words.type)


def _joined(parts: list[TargetEntries], otherwise: TargetEntries) -> TargetEntries:
    """A Concat: known as far as its parts are; a target has one dim, so it joins along that."""
    values: list[Dim] = []
    for part in parts:
        wrong = part.dims is not None and len(part.dims) != 1
        if wrong or part.values is None or len(values) + len(part.values) > LONGEST_TARGET:
            return otherwise
        values.extend(part.values)
    kind = next((part.type for part in parts if part.type is not None), None)
    return TargetEntries(tuple(values), otherwise.source, otherwise.type or kind)
