"""What onnx-ir does not carry from one ONNX file to the next, carried.

onnx-ir drops what has no effect (empty doc strings, the order of value infos, extra keys of external data) and what it
has no place for (training info, sparse tensors, types of maps), and adds value infos.  Here a changed model is merged
with the message it came from: wherever the change did not touch, the original stands.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import groupby
from typing import Any

import onnx
import onnx_ir as ir

# A model that onnx-ir mends while reading is its user's business, who may listen to this logger; nothing is printed.
logging.getLogger("onnx_ir").addHandler(logging.NullHandler())

Message = Any
"""A protobuf message."""


def _node_key(node: Message) -> Any:
    """The first output that has a name."""
    for name in node.output:
        if name:
            return name
    return (node.op_type, node.name, *node.input)


_KEYS: dict[str, Callable[[Message], Any]] = {
    "node": _node_key,
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
_TEXTS = ("name", "doc_string", "domain", "overload")
"""The texts of a node that onnx-ir leaves out where they are empty."""


def to_ir(proto: onnx.ModelProto) -> ir.Model:
    """The model of a message; what onnx-ir cannot hold is left out of it, and `merged` brings it back."""
    try:
        return ir.from_proto(proto)
    except ir.serde.SerdeError:
        readable = onnx.ModelProto()
        readable.CopyFrom(proto)
        _strip_graph(readable.graph)
        for function in readable.functions:
            _strip_nodes(function.node)
        return ir.from_proto(readable)


def written(original: onnx.ModelProto, after: onnx.ModelProto) -> onnx.ModelProto:
    """`original` as onnx-ir writes it; `after` is what became of it.

    onnx-ir is shown only the nodes that differ there: a node of `original` that is in `after` is what `merged` takes,
    whatever onnx-ir would have made of it.  For each row of nodes that it is not shown, one stands in that makes all of
    their values, so that these are written where they would be.
    """
    old, now = ({_node_key(node): node for node in each.graph.node} for each in (original, after))
    if len(old) < len(original.graph.node) or len(now) < len(after.graph.node):  # not told apart
        return ir.to_proto(to_ir(original))
    kept = {which for which, node in old.items() if which in now and _is_same(node, now[which])}
    shown = onnx.ModelProto()
    shown.CopyFrom(original)
    shown.graph.ClearField("node")
    stands_in: list[bool] = []
    for is_kept, row in groupby(old, key=kept.__contains__):
        nodes = [old[which] for which in row]
        stands_in += [True] if is_kept else [False] * len(nodes)
        shown.graph.node.extend([_stand_in(nodes)] if is_kept else nodes)
    result = ir.to_proto(to_ir(shown))
    made = (node for node, other in zip(result.graph.node, stands_in, strict=True) if not other)
    whole = onnx.GraphProto()
    whole.node.extend(now[which] if which in kept else next(made) for which in old)
    result.graph.ClearField("node")
    result.graph.node.MergeFrom(whole.node)
    return result


def _stand_in(nodes: list[onnx.NodeProto]) -> onnx.NodeProto:
    return onnx.NodeProto(op_type="StandIn", output=[name for node in nodes for name in node.output if name])


def _is_same(node: onnx.NodeProto, now: onnx.NodeProto) -> bool:
    """Whether a node is what it was, but for texts that are empty."""
    if node == now:
        return True
    bare = onnx.NodeProto()
    bare.CopyFrom(node)
    for name in _TEXTS:
        if not getattr(bare, name):
            bare.ClearField(name)
    return bool(bare == now)


def merged(original: Message, before: Message, after: Message) -> Message:
    """`original` with what changed between `before` and `after`, which are the same model as onnx-ir writes it."""
    result = type(original)()
    _merge(result, original, before, after)
    return result


def _merge(result: Message, original: Message, before: Message, after: Message) -> None:
    if before == after:
        result.CopyFrom(original)
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
