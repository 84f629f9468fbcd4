"""What onnx-ir does not carry from one ONNX file to the next, carried.

onnx-ir drops what has no effect (empty doc strings, the order of value infos, extra keys of external data) and what it
has no place for (training info, sparse tensors, types of maps), and adds value infos.  Here a changed model is merged
with the message it came from: wherever the change did not touch, the original stands.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import onnx
import onnx_ir as ir

from onereshape.formats.onnx.onnx_nameless import forget_nameless

# A model that onnx-ir mends while reading is its user's business, who may listen to this logger; nothing is printed.
logging.getLogger("onnx_ir").addHandler(logging.NullHandler())

Message = Any
"""A protobuf message."""


def node_key(node: Message) -> Any:
    """The first output that has a name."""
    for name in node.output:
        if name:
            return name
    return (node.op_type, node.name, *node.input)


_KEYS: dict[str, Callable[[Message], Any]] = {
    "node": node_key,
    "initializer": lambda tensor: tensor.name,
    "value_info": lambda info: info.name,
    "input": lambda info: info.name,
    "output": lambda info: info.name,
    "attribute": lambda attribute: attribute.name,
    "attribute_proto": lambda attribute: attribute.name,
    "functions": lambda function: (function.domain, function.name, function.overload),
    "opset_import": lambda opset: opset.domain,
    "quantization_annotation": lambda annotation: annotation.tensor_name,
    "metadata_props": lambda entry: entry.key,
    "external_data": lambda entry: entry.key,
}
"""What tells the messages of a repeated field apart."""


def to_ir(proto: onnx.ModelProto) -> ir.Model:
    """The model of a message; what onnx-ir cannot hold is left out of it, and `merged` brings it back.

    So are the words that a file has for dims without a name.
    """
    model = _readable(proto)
    forget_nameless(model)
    return model


def _readable(proto: onnx.ModelProto) -> ir.Model:
    try:
        return ir.from_proto(proto)
    except ir.serde.SerdeError:
        readable = onnx.ModelProto()
        readable.CopyFrom(proto)
        _strip_graph(readable.graph)
        for function in readable.functions:
            _strip_nodes(function.node)
        return ir.from_proto(readable)


def merged(original: Message, before: Message, after: Message) -> Message:
    """`original` with what changed between `before` and `after`, which are the same model as onnx-ir writes it."""
    result = type(original)()
    _merge(result, original, before, after)
    return result


def _merge(result: Message, original: Message, before: Message, after: Message) -> None:
    if before == after:
        result.CopyFrom(original)
        return
    if original == before and _parts(before) == _parts(after):  # nothing is lost, and no order to be kept
        result.CopyFrom(after)
        return
    said = {field.name: field for message in (original, before, after) for field, _ in message.ListFields()}
    for name, field in said.items():
        values = [getattr(message, name) for message in (original, before, after)]
        if hasattr(values[0], "extend"):  # repeated
            getattr(result, name).extend(_merged_list(name, *values, messages=field.message_type is not None))
        elif field.message_type is not None:
            if all(message.HasField(name) for message in (original, before, after)):
                _merge(getattr(result, name), *values)
            else:
                source = original if before.HasField(name) == after.HasField(name) else after
                if source.HasField(name):
                    getattr(result, name).CopyFrom(getattr(source, name))
        else:
            source = original if _scalar(before, name) == _scalar(after, name) else after
            if source.HasField(name):
                setattr(result, name, getattr(source, name))


def _parts(message: Message) -> dict[str, Message]:
    """The messages in a message."""
    return {field.name: value for field, value in message.ListFields() if field.message_type is not None}


def _merged_list(name: str, original: Any, before: Any, after: Any, *, messages: bool) -> list[Any]:
    """The entries of a repeated field: in the new order for nodes, otherwise the original ones first."""
    key = _KEYS.get(name)
    if before == after:
        return list(original)
    if not messages or key is None:
        return list(after)
    old, was, now = ({key(entry): entry for entry in entries} for entries in (original, before, after))
    if len(old) < len(original) or len(was) < len(before) or len(now) < len(after):  # not told apart
        return list(after)
    found: dict[Any, Message] = {}
    for which, entry in now.items():
        if which in old and which in was:
            found[which] = old[which] if was[which] == entry else merged(old[which], was[which], entry)
        elif which in old or was.get(which) != entry:
            found[which] = entry
    lost = {which: entry for which, entry in old.items() if which not in was and which not in now}
    both = found | lost
    if name == "node":
        return list(both.values())
    order = [*old, *(which for which in found if which not in old)]
    return [both[which] for which in order if which in both]


def _scalar(message: Message, name: str) -> Any:
    return (message.HasField(name), getattr(message, name))


def _strip_graph(graph: onnx.GraphProto) -> None:
    for info in (*graph.input, *graph.output, *graph.value_info):
        if _holds_map(info.type):
            info.ClearField("type")
    _strip_nodes(graph.node)


def _strip_nodes(nodes: Any) -> None:
    """Removes the attributes that onnx-ir cannot hold, in subgraphs too; protobuf limits how deep those are."""
    sparse = {onnx.AttributeProto.SPARSE_TENSOR, onnx.AttributeProto.SPARSE_TENSORS}
    for node in nodes:
        for index in reversed(range(len(node.attribute))):
            attribute = node.attribute[index]
            types = [attribute.tp, *attribute.type_protos]
            if attribute.type in sparse or any(_holds_map(kind) for kind in types):
                del node.attribute[index]
                continue
            for graph in (attribute.g, *attribute.graphs):
                _strip_graph(graph)


def _holds_map(kind: onnx.TypeProto) -> bool:
    while kind.HasField("sequence_type") or kind.HasField("optional_type"):
        kind = kind.sequence_type.elem_type if kind.HasField("sequence_type") else kind.optional_type.elem_type
    return bool(kind.HasField("map_type") or kind.HasField("opaque_type"))
