"""The part of an ONNX model that changed: onnx-ir reads and writes that alone, and the rest stays as it was.

A node or a constant that is what the file says needs no merging, whatever onnx-ir would have made of it.  Without these
there are three short messages: of what was read, of what onnx-ir makes of that, and of what it makes of the model as it
is now.  They are merged, and the rest is put back.  Where values of nodes that are left out are declared, a node stands
in that makes them, so that the declarations are read and written too.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import onnx
import onnx_ir as ir

from onereshape.formats.onnx.onnx_bulk import BulkTensor
from onereshape.formats.onnx.onnx_lists import LongAttr, StandIn, marked, message, view
from onereshape.formats.onnx.onnx_merge import Message, merged, node_key, to_ir

_NO_PROPS: dict[str, str] = {}


class Short(NamedTuple):
    """The three short messages of a changed model that are to be merged, and which nodes and constants are left out."""

    original: onnx.ModelProto
    """The whole message that was read."""
    read: onnx.ModelProto
    """The message that was read, as far as the model is another one now."""
    before: onnx.ModelProto
    """The message `read`, as onnx-ir writes it."""
    after: onnx.ModelProto
    """The model as it is now without the nodes and constants left out, as onnx-ir writes it."""
    places: Sequence[int] | None
    """Where each node of the model is in the original, -1 if it is not as it is there; None: no node is left out."""
    constants: frozenset[str]
    """The initializers that are left out."""
    moved: bool
    """Whether nodes are in another order, there are more of them, or fewer."""

    @property
    def unchanged(self) -> bool:
        """Whether the model is the one that was read."""
        return not self.moved and bool(self.before == self.after)


def shortened(original: onnx.ModelProto, model: ir.Model) -> Short:
    """The messages without what did not change; the whole ones, where nodes are not told apart."""
    nodes = original.graph.node
    old = {node_key(node): place for place, node in enumerate(nodes)}
    found = list(_placed(nodes, old, model.graph))
    if len(old) < len(nodes) or len({key for key, _ in found}) < len(found):
        return Short(original, original, ir.to_proto(to_ir(original)), message(model)[0], None, frozenset(), False)
    places = [place for _, place in found]
    moved = [old.get(key) for key, _ in found] != list(range(len(nodes)))
    constants = _same_constants(original.graph, model.graph)
    read, are_shown = _read(original, {place for place in places if place >= 0}, constants)
    before = ir.to_proto(to_ir(read))
    _drop_nodes(read.graph, are_shown)
    _drop_nodes(before.graph, are_shown)
    short = copy.copy(model)
    written = list(_written(places, model.graph))
    short.graph = view(model.graph, map(marked, written), constants)
    after = ir.serde.serialize_model(short)
    _drop_nodes(after.graph, [isinstance(node, ir.Node) for node in written])
    return Short(original, read, before, after, places, constants, moved)


def completed(short: Short) -> onnx.ModelProto:
    """The message of the model as it is now: what changed is merged, and the rest is that of the original."""
    result: onnx.ModelProto = merged(short.read, short.before, short.after)
    if short.places is None:
        return result
    original, graph, whole = short.original.graph, result.graph, onnx.GraphProto()
    changed = iter(graph.node)
    whole.node.extend(original.node[place] if place >= 0 else next(changed) for place in short.places)
    whole.node.extend(changed)
    graph.ClearField("node")
    graph.node.MergeFrom(whole.node)
    if short.constants:
        whole = onnx.GraphProto()
        others = {tensor.name: tensor for tensor in graph.initializer}
        for tensor in original.initializer:
            if tensor.name in short.constants:
                whole.initializer.append(tensor)
            elif tensor.name in others:
                whole.initializer.append(others.pop(tensor.name))
        whole.initializer.extend(others.values())
        graph.ClearField("initializer")
        graph.initializer.MergeFrom(whole.initializer)
    return result


def _placed(read: Sequence[onnx.NodeProto], old: dict[Any, int], graph: ir.Graph) -> Iterator[tuple[Any, int]]:
    """The key of each node of a graph, and its place in the file; the place is -1 for a new or changed node."""
    for node in graph:
        outputs = [value.name or "" for value in node.outputs]
        inputs = [(value.name or "") if value is not None else "" for value in node.inputs]
        key = next(filter(None, outputs), None)
        if key is None:  # nobody could say which of the nodes that make nothing it is
            yield (node.op_type, node.name or "", *inputs), -1
        else:
            place = old.get(key, -1)
            yield key, place if place >= 0 and _is_same(node, inputs, outputs, read[place]) else -1


def _is_same(node: ir.Node, inputs: list[str], outputs: list[str], read: onnx.NodeProto) -> bool:
    """Whether a node is what a message says; texts that are empty and those that are missing are alike."""
    attributes = node.attributes.data
    props = read.metadata_props
    return (
        inputs == read.input
        and outputs == read.output
        and node.op_type == read.op_type
        and len(attributes) == len(read.attribute)
        and (not attributes or all(map(_is_same_attribute, attributes.values(), read.attribute)))
        and (node.name or "") == read.name
        and (node.domain or "") == read.domain
        and (node.overload or "") == read.overload
        and (node.doc_string or "") == read.doc_string
        and node.metadata_props == ({entry.key: entry.value for entry in props} if props else _NO_PROPS)
        and not node.device_configurations
        and not read.device_configurations
    )


def _is_same_attribute(attribute: ir.Attr, read: onnx.AttributeProto) -> bool:
    kind = attribute.type
    doc = attribute.entries.mark if isinstance(attribute, LongAttr) else attribute.doc_string or ""
    if attribute.is_ref() or int(kind) != read.type or attribute.name != read.name or doc != read.doc_string:
        return False
    if isinstance(attribute, LongAttr):
        return True
    if kind == ir.AttributeType.INT:
        return bool(attribute.value == read.i)
    if kind == ir.AttributeType.INTS:
        return bool(attribute.value == tuple(read.ints))
    if kind == ir.AttributeType.TENSOR and _is_tensor(attribute.value, read.t):
        return True
    return bool(ir.serde.serialize_attribute(attribute) == read)


def _is_tensor(tensor: Any, read: onnx.TensorProto) -> bool:
    """Whether a tensor of the model is nothing but this message."""
    if isinstance(tensor, BulkTensor):
        return tensor.read is read and tensor.name == read.name and not (tensor.metadata_props or tensor.doc_string)
    return isinstance(tensor, ir.TensorProtoTensor) and tensor.raw is read and not tensor.metadata_props


def _same_constants(read: onnx.GraphProto, graph: ir.Graph) -> frozenset[str]:
    """The initializers that are what the file says, of which nothing else is said in either."""
    said = {each.name for each in (*read.value_info, *read.input, *read.output)}
    said.update(each.tensor_name for each in read.quantization_annotation)
    found: set[str] = set()
    for tensor in read.initializer:
        name = tensor.name
        value = graph.initializers.get(name)
        if name in found or name in said or value is None or value.name != name:
            said.add(name)
            continue
        constant = value.const_value
        if constant is None or not _is_tensor(constant, tensor):
            continue
        if value.is_graph_input() or value.is_graph_output():
            continue
        plain = not (value.metadata_props or value.doc_string or value.meta)
        kind = value.type
        same = isinstance(kind, ir.TensorType) and kind.dtype == constant.dtype and not kind.denotation
        if plain and same and value.shape == constant.shape:
            found.add(name)
    return frozenset(found - said)


def _read(original: onnx.ModelProto, kept: set[int], constants: frozenset[str]) -> tuple[onnx.ModelProto, list[bool]]:
    """The message without the nodes and constants that are kept; and which of its nodes are not mere stand-ins."""
    read, graph = onnx.ModelProto(), original.graph
    take(read, original, but={"graph"})
    take(read.graph, graph, but={"node", "initializer"})
    read.graph.initializer.extend(tensor for tensor in graph.initializer if tensor.name not in constants)
    declared = {info.name for info in graph.value_info} | {each.tensor_name for each in graph.quantization_annotation}
    shown: list[onnx.NodeProto] = []
    are_shown: list[bool] = []
    undeclared = list(constants)
    rows = groupby(enumerate(graph.node), key=lambda entry: entry[0] in kept)
    for is_kept, row in rows:
        nodes = [node for _, node in row]
        if not is_kept:
            shown += nodes
            are_shown += [True] * len(nodes)
            continue
        outputs = [name for node in nodes for name in node.output if name]
        undeclared += [name for name in outputs if name not in declared]
        if said := [name for name in outputs if name in declared]:
            shown.append(onnx.NodeProto(op_type="StandIn", output=said))
            are_shown.append(False)
    used = {name for node in shown for name in node.input} | {info.name for info in graph.output}
    deeper = any(attribute.HasField("g") or attribute.graphs for node in shown for attribute in node.attribute)
    read.graph.node.add(op_type="StandIn", output=[name for name in undeclared if deeper or name in used])
    read.graph.node.extend(shown)
    return read, [False, *are_shown]


def _written(places: Sequence[int], graph: ir.Graph) -> Iterator[Any]:
    """The nodes of a graph that are to be written; for those that are kept, stand-ins with what is said of values."""
    for is_kept, row in groupby(zip(places, graph, strict=True), key=lambda entry: entry[0] >= 0):
        if not is_kept:
            yield from (node for _, node in row)
        elif said := [value for _, node in row for value in node.outputs if _says(value)]:
            yield StandIn(said)


def _says(value: ir.Value) -> bool:
    """Whether there is more of a value than its name."""
    known = value.shape is not None or value.type is not None
    return bool(known or value.metadata_props or value.doc_string or value.meta)


def take(result: Message, source: Message, *, but: set[str]) -> None:
    """Copies the fields of a message but for some."""
    for each, value in source.ListFields():
        if each.name in but:
            continue
        if hasattr(value, "extend"):  # repeated
            getattr(result, each.name).MergeFrom(value)
        elif each.message_type is not None:
            getattr(result, each.name).CopyFrom(value)
        else:
            setattr(result, each.name, value)


def _drop_nodes(graph: onnx.GraphProto, are_kept: Sequence[bool]) -> None:
    whole = onnx.GraphProto()
    whole.node.extend(node for node, kept in zip(graph.node, are_kept, strict=True) if kept)
    graph.ClearField("node")
    graph.node.MergeFrom(whole.node)
