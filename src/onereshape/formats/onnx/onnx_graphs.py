"""The graphs of an ONNX model: how to walk them, and what must hold before anything is said of them."""

from __future__ import annotations

import copyreg
import os
from collections.abc import Callable, Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import onnx_ir as ir

from onereshape.formats.beside import file_beside
from onereshape.formats.foreign import pointer
from onereshape.formats.reading import cycle
from onereshape.formats.refusals import unreadable, unwritable

ONNX = frozenset({"", "ai.onnx"})
"""The domain of ONNX's own operators, by both of its names."""
_SHOWN = 8
"""Names of a circle that a message shows."""
MOST_UNFOLDED = 200_000
"""Nodes of a model whose functions stand where they are called; functions that call twice double with each."""
_GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
_HOLDING = (*_GRAPHS, ir.AttributeType.TENSOR, ir.AttributeType.TENSORS)
"""The kinds of attributes that hold tensors, or graphs that do."""


def roots(model: ir.Model) -> Iterator[tuple[Any, str]]:
    """The graph and the functions of a model, each with the start of its nodes' places."""
    yield model.graph, "graph"
    for function in model.functions.values():
        overload = f":{function.overload}" if function.overload else ""
        yield function, f"{function.domain}::{function.name}{overload}"


def domain_of(graph: Any) -> str:
    """How a graph or a function calls the domain of ONNX."""
    return "" if "" in graph.opset_imports else "ai.onnx"


def opset_of(graph: Any) -> int:
    """The opset of ONNX that a graph or a function imports; the first where it says none."""
    return int(graph.opset_imports.get(domain_of(graph), 1))


def nodes(graph: Any, start: str, only: str | None = None) -> Iterator[tuple[ir.Node, str]]:
    """Every node of a graph and, after it, of the subgraphs in it, with its place; `only` those of one operator."""
    counts: dict[str, int] = {}
    for node in graph:
        op = node.op_type
        count = counts[op] = counts.get(op, -1) + 1
        if only is None or op == only:
            yield node, f"{start}/{op}#{count}"
        if node.attributes.data:
            for label, subgraph in subgraphs(node):
                yield from nodes(subgraph, f"{start}/{op}#{count}/{label}", only)


def every(graph: Any) -> Iterator[ir.Node]:
    """Every node of a graph and of its subgraphs, in the order of `nodes`, without places."""
    for node in graph:
        yield node
        if node.attributes.data:
            for _, subgraph in subgraphs(node):
                yield from every(subgraph)


def graphs(graph: Any) -> list[Any]:
    """A graph or a function, and every graph in it."""
    found = [graph]
    for node in graph:
        if node.attributes.data and (inner := subgraphs(node)):
            found += [subgraph for _, subgraph in inner]
            found += [part for _, subgraph in inner for part in graphs(subgraph)[1:]]
    return found


def subgraphs(node: ir.Node) -> list[tuple[str, ir.Graph]]:
    """The branches and bodies of a node, by the names of its attributes."""
    found: list[tuple[str, ir.Graph]] = []
    for attribute in node.attributes.data.values():
        kind = attribute.type
        if kind not in _GRAPHS or attribute.is_ref():
            continue
        if kind == ir.AttributeType.GRAPH:
            found.append((attribute.name, attribute.as_graph()))
        else:
            found += [(f"{attribute.name}[{index}]", graph) for index, graph in enumerate(attribute.as_graphs())]
    return found


def unfolded(model: ir.Model) -> int:
    """The number of nodes if every call were replaced by its function's nodes, counted up to one above the limit."""
    if not model.functions:
        return min(sum(1 for _ in every(model.graph)), MOST_UNFOLDED + 1)
    counts: dict[Any, int] = {}
    calls = {key: [node.op_identifier() for node in every(each)] for key, each in model.functions.items()}
    needs = {key: [call for call in made if call in calls] for key, made in calls.items()}
    for key in TopologicalSorter(needs).static_order():
        counts[key] = min(sum(counts.get(call, 1) for call in calls[key]), MOST_UNFOLDED + 1)
    return min(sum(counts.get(node.op_identifier(), 1) for node in every(model.graph)), MOST_UNFOLDED + 1)


def external_file(tensor: ir.ExternalTensor, path: str) -> Path:
    """The file of a tensor's data; refuses one outside the folder that it is tied to, by a link too."""
    location = str(tensor.location)
    file = file_beside(str(Path(tensor.base_dir) / "model"), location)
    if file is None:
        raise unreadable(path, f"the data of {tensor.name!r} are in {location!r}, outside its own folder")
    return file


def check_names(parts: Iterable[Any], path: str) -> None:
    """Refuses names that are not UTF-8, which protobuf hands out as bytes."""
    kinds: set[type] = set()
    for part in parts:
        values = {*part.inputs, *part.outputs, *getattr(part, "initializers", {}).values()}
        for node in part:
            kinds.update(map(type, (node.op_type, node.domain, node.name, *node.attributes.data)))
            values.update(node.inputs)
            values.update(node.outputs)
        values.discard(None)
        kinds.update(map(type, [part.name, *[value.name for value in values]]))
        shapes = [shape for value in values if (shape := value.shape) is not None]
        kinds.update(type(dim.value) for shape in shapes for dim in shape if not isinstance(dim, int))
    if not kinds <= {str, type(None)}:
        raise unreadable(path, "has a name that is not UTF-8")


def check_references(model: ir.Model, path: str) -> None:
    """Refuses references to attributes of a function outside of functions; onnx.checker does not look for them."""
    if not any(attribute.is_ref() for node in every(model.graph) for attribute in node.attributes.data.values()):
        return
    for node, place in nodes(model.graph, "graph"):
        for attribute in node.attributes.values():
            if attribute.is_ref():
                raise unreadable(path, f"attribute {attribute.name} of {place} is that of a function, and is in none")


def check_outputs(parts: Iterable[Any], path: str) -> None:
    """Refuses outputs that nothing makes; onnx.checker does not look for them, and no engine loads such a model."""
    for part in parts:
        for value in part.outputs:
            if value.producer() is None and not value.is_graph_input() and not value.is_initializer():
                raise unreadable(path, f"its output {value.name!r} is made by no node")


def put_in_order(model: ir.Model, path: str) -> None:
    """Sorts the nodes of each graph behind the makers of their inputs, as not all tools write them; refuses circles."""
    for graph, _ in roots(model):
        if not in_order(graph):
            for part in graphs(graph):
                _check_circle(part, path)
            graph.sort()
    calls: dict[Any, list[Any]] = {
        key: [call for node in every(function) if (call := node.op_identifier()) in model.functions]
        for key, function in model.functions.items()
    }
    if (found := cycle(calls)) is not None:
        names = " -> ".join(key[1] for key in found[:_SHOWN])
        raise unreadable(path, f"its functions call one another in a circle: {names}")


def _check_circle(graph: Any, path: str) -> None:
    members = set(graph)
    needs: dict[Any, list[Any]] = {node: [need for need in _needs(node) if need in members] for node in graph}
    if (found := cycle(needs)) is not None:
        names = " -> ".join(str(node.name or node.op_type) for node in found[:_SHOWN])
        raise unreadable(path, f"its nodes are in a circle: {names}")


def in_order(graph: Any, used: set[ir.Value | None] | None = None) -> bool:
    """Whether no node makes what was used before, as the specification asks; then there is no circle."""
    used = set() if used is None else used
    for node in graph:
        used.update(node.inputs)
        if node.attributes.data and not all(in_order(subgraph, used) for _, subgraph in subgraphs(node)):
            return False
        if not used.isdisjoint(node.outputs):
            return False
    return True


def copyable(graph: ir.Graph, known: set[ir.Value] | None = None) -> bool:
    """Whether onnx-ir can copy a graph: every value that is used is an input, a constant, or made before."""
    known = set() if known is None else known
    known.update(graph.inputs)
    known.update(graph.initializers.values())
    for node in graph:
        if not all(value is None or value in known for value in node.inputs):
            return False
        if not all(copyable(subgraph, known) for _, subgraph in subgraphs(node)):
            return False
        known.update(node.outputs)
    return known.issuperset(graph.outputs)


def _needs(node: ir.Node) -> Iterator[ir.Node]:
    for value in node.inputs:
        if value is not None and (producer := value.producer()) is not None:
            yield producer
    for _, subgraph in subgraphs(node):
        for inner in subgraph:
            yield from _needs(inner)


def external_tensors(model: ir.Model) -> Iterator[ir.ExternalTensor]:
    """The tensors whose data are in other files: of each graph and function the initializers, then the attributes."""
    return (tensor for tensor in _tensors(model) if isinstance(tensor, ir.ExternalTensor))


def inner_tensors(model: ir.Model) -> Iterator[ir.TensorProtocol]:
    """The tensors whose data are not."""
    return (tensor for tensor in _tensors(model) if not isinstance(tensor, ir.ExternalTensor))


def _tensors(model: ir.Model) -> Iterator[ir.TensorProtocol]:
    for root, _ in roots(model):
        holding = [node for node in root if any(each.type in _HOLDING for each in node.attributes.data.values())]
        for part in (root, *graphs(holding)[1:]):
            for value in getattr(part, "initializers", {}).values():  # a function has none
                if value.const_value is not None:
                    yield value.const_value
        for node in every(holding):
            for attribute in node.attributes.data.values():
                if attribute.type == ir.AttributeType.TENSOR and attribute.value is not None:
                    yield attribute.value
                elif attribute.type == ir.AttributeType.TENSORS:
                    yield from attribute.value or ()


def own_external(model: ir.Model) -> None:
    """Gives a copy of a model tensors of its own in place of those in other files, which its original has too."""
    for root, _ in roots(model):
        for part in graphs(root):
            for value in getattr(part, "initializers", {}).values():
                if isinstance(value.const_value, ir.ExternalTensor):
                    value.const_value = _twin(value.const_value)
        for node in every(root):
            for name, attribute in [*node.attributes.data.items()]:
                if attribute.type == ir.AttributeType.TENSOR and isinstance(attribute.value, ir.ExternalTensor):
                    node.attributes[name] = ir.AttrTensor(name, _twin(attribute.value), attribute.doc_string)
                elif attribute.type == ir.AttributeType.TENSORS and attribute.value:
                    twins = [_twin(each) if isinstance(each, ir.ExternalTensor) else each for each in attribute.value]
                    node.attributes[name] = ir.AttrTensors(name, twins, attribute.doc_string)


def _twin(tensor: ir.ExternalTensor) -> ir.ExternalTensor:
    made, given = _unread(tensor)
    return made(*given)


def _unread(tensor: ir.ExternalTensor) -> tuple[Callable[..., ir.ExternalTensor], tuple[Any, ...]]:
    """The function and the arguments that make an external tensor anew, without the file that it has open."""
    named: dict[str, Any] = {"name": tensor.name or "", "shape": tensor.shape, "base_dir": tensor.base_dir}
    named |= {"doc_string": tensor.doc_string, "metadata_props": dict(tensor.metadata_props)}
    return _external, (named, tensor.location, tensor.offset, tensor.length, tensor.dtype)


def _external(named: dict[str, Any], *where: Any) -> ir.ExternalTensor:
    return ir.ExternalTensor(*where, **named)


copyreg.pickle(ir.ExternalTensor, _unread)  # a file that is open cannot be pickled


def check_external(model: ir.Model, path: str, folder: Path | None = None) -> None:
    """Has external data read from `folder`, else the model's own; refuses files that lack the announced bytes."""
    folder = Path(path).absolute().parent if folder is None else folder
    sizes: dict[Path, int | None] = {}
    for tensor in external_tensors(model):
        tensor.base_dir = folder  # without a folder onnx-ir would check nothing
        file = external_file(tensor, path)
        if file not in sizes:
            if file.exists() and not file.is_file():
                raise unreadable(path, f"the data of {tensor.name!r} are in {str(tensor.location)!r}, which is no file")
            sizes[file] = file.stat().st_size if file.exists() else None
        start, size, needed = tensor.offset or 0, sizes[file], tensor.nbytes
        length = needed if tensor.length is None else tensor.length
        if start < 0 or length < 0 or (size is not None and start + length > size):
            where = f"at bytes {start} to {start + length} of {str(tensor.location)!r}"
            raise unreadable(path, f"the data of {tensor.name!r} are {where}, which has {size} bytes{pointer(file)}")
        if length != needed:
            raise unreadable(path, f"the data of {tensor.name!r} are {length} bytes long, but its dims need {needed}")


def check_weights(model: ir.Model, path: str) -> None:
    """Refuses a folder from which the external data would not be found."""
    for tensor in external_tensors(model):
        there = Path(os.path.realpath(tensor.path))
        if Path(os.path.realpath(Path(path).absolute().parent / str(tensor.location))) != there:
            where = f"its weights are in {str(tensor.location)!r} beside the model that was read"
            why = f"{where}; save it in that folder, or have `onereshape fix --copy-weights` copy them too"
            raise unwritable(path, why)
