"""oneDNN graphs: the `.json` that the library dumps and benchdnn reads.

The model is the dict that the file holds.  A dump has the dims of tensors but never their elements, so that only the
target of a StaticReshape, which is an attribute, is known.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any, NamedTuple, cast

from onereshape.formats.model_data import LONGEST_TARGET, ModelData, ReshapeNode
from onereshape.formats.reading import content_of, cycle
from onereshape.formats.refusals import cause, unreadable, unwritable
from onereshape.ground.atomic import replacing
from onereshape.rule.dims import Dim
from onereshape.rule.specs import spec as find_spec

_LARGEST = 1 << 27
"""Bytes of a file; a dump of a thousand operators has about one million."""
_TOO_LARGE = "which no dump of a graph has"
_SPECS = {"StaticReshape": "onednn-static", "Reshape": "onednn-reshape", "DynamicReshape": "onednn-dynamic"}
_UNKNOWN = -(2**63)
"""DNNL_GRAPH_UNKNOWN_DIM; alone in a list it is all that the library writes where any dim is unknown."""


class _Operator(NamedTuple):
    """An operator of the file, with its tensors."""

    node: dict[str, Any]
    place: str
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]

    @property
    def name(self) -> str:
        return self.node.get("name") or self.place


def load(path: str) -> ModelData:
    """The graph of a file, checked as far as its operators and their tensors are asked for."""
    return read(content_of(path, _LARGEST, _TOO_LARGE), path)


def read(content: bytes, name: str) -> ModelData:
    """The graph in the bytes of a file; `name` is for messages."""
    if len(content) > _LARGEST:
        raise unreadable(name, f"has more than {_LARGEST} bytes, {_TOO_LARGE}")
    graph = _parsed(content, name)
    return ModelData("onednn", name, _reshapes(graph, name), graph, content)


def graph_of(model: ModelData) -> dict[str, Any]:
    """The dict of a graph."""
    return cast("dict[str, Any]", model.content)


def save(model: ModelData, path: str) -> None:
    """Writes the graph, in the bytes that were read if it is unchanged."""
    try:
        text = json.dumps(graph_of(model), indent=2, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        raise unwritable(path, f"the graph cannot be written: {cause(error)}") from None
    original = cast("bytes", model.original)
    unchanged = text == json.dumps(_parsed(original, model.path), indent=2)
    with replacing(path) as file:
        file.write(original if unchanged else f"{text}\n".encode())


def reshapes(model: ModelData) -> tuple[ReshapeNode, ...]:
    """The view of the model as it is now."""
    return _reshapes(graph_of(model), model.path)


def data_files(_: ModelData) -> list[str]:
    """None: a dump has no elements of tensors."""
    return []


def _parsed(content: bytes, path: str) -> dict[str, Any]:
    """The dict of a graph, with lists where a graph has lists; its operators are not looked at yet."""
    found = _json(content, path)
    if not isinstance(found, dict) or not isinstance(found.get("graph"), list):
        raise unreadable(path, "is no oneDNN graph: it has no list of operators under the key 'graph'")
    for key in ("input_ports", "output_ports"):
        if _integers(found.get(key, [])) is None:
            raise unreadable(path, f"is no oneDNN graph: its {key} are no list of integers")
    return found


def _json(content: bytes, path: str) -> Any:
    """A JSON value in which every key of an object stands once and every number is one."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(found)
        if len(members) < len(found):
            twice = next(key for key, count in Counter(key for key, _ in found).items() if count > 1)
            raise ValueError(f"the key {twice!r} stands twice in one object")
        return members

    def number(text: str) -> float:
        if not math.isfinite(value := float(text)):
            raise ValueError(f"{text[:40]} is no finite number")
        return value

    try:
        text = content.decode()
        return json.loads(text, object_pairs_hook=pairs, parse_float=number, parse_constant=number)
    except UnicodeDecodeError:
        raise unreadable(path, "is not JSON: it is not UTF-8") from None
    except RecursionError:
        raise unreadable(path, "has lists within lists, deeper than any graph") from None
    except ValueError as error:
        raise unreadable(path, f"is not sound JSON: {cause(error)}") from None


def _reshapes(graph: dict[str, Any], path: str) -> tuple[ReshapeNode, ...]:
    operators: list[_Operator] = []
    counts: Counter[str] = Counter()
    for node in graph["graph"]:
        kind, inputs, outputs = _checked(node, path)
        operators.append(_Operator(node, f"graph/{kind}#{counts[kind]}", inputs, outputs))
        counts[kind] += 1
    makers = {tensor["id"]: operator for operator in operators for tensor in operator.outputs}
    needs: dict[Any, list[str]] = {
        operator.place: [makers[tensor["id"]].place for tensor in operator.inputs if tensor["id"] in makers]
        for operator in operators
    }
    if (found := cycle(needs)) is not None:
        raise unreadable(path, f"its operators are in a circle: {' -> '.join(found[:8])}")
    return tuple(_entry(operator, makers, path) for operator in operators if operator.node["kind"] in _SPECS)


def _checked(operator: Any, path: str) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """The kind and the tensors of an operator, each with its id."""
    if not isinstance(operator, dict) or not isinstance(operator.get("kind"), str):
        raise unreadable(path, "has an operator without a kind")
    kind: str = operator["kind"]
    name = operator.get("name", "")
    if not isinstance(name, str) or not isinstance(operator.get("attrs", {}), dict):
        raise unreadable(path, f"has a {kind} whose name is no text or whose attrs are no object")
    sides = [operator.get(side, []) for side in ("inputs", "outputs")]
    for tensors in sides:
        if not isinstance(tensors, list) or not all(isinstance(tensor, dict) for tensor in tensors):
            raise unreadable(path, f"the inputs or outputs of {kind} {name} are no list of tensors")
        if not all(type(tensor.get("id")) is int for tensor in tensors):
            raise unreadable(path, f"has a tensor at {kind} {name} whose id is no integer")
    return kind, sides[0], sides[1]


def _entry(operator: _Operator, makers: dict[int, _Operator], path: str) -> ReshapeNode:
    node, inputs, outputs = operator.node, operator.inputs, operator.outputs
    spec = find_spec(_SPECS[node["kind"]])
    attributes = {}
    for name, attribute in node.get("attrs", {}).items():
        if not isinstance(attribute, dict) or "value" not in attribute:
            raise unreadable(path, f"the attribute {name!r} of {operator.name} has no value")
        attributes[name] = attribute["value"]
    target: tuple[Dim, ...] | None
    if spec.target_in == "attribute":
        target, target_type = _integers(attributes.get("shape")), None
        source = "attribute" if "shape" in attributes else "missing"
    else:
        target, source, target_type = _second(inputs, makers, path)
    return ReshapeNode(
        name=operator.name,
        place=operator.place,
        spec=spec,
        data=_dims(inputs[0], path) if inputs else None,
        target=target,
        attributes=attributes,
        element_type=_type(inputs[0]) if inputs else None,
        output=_dims(outputs[0], path) if outputs else None,
        target_from=source,
        target_type=target_type,
        node=node,
    )


def _second(
    inputs: list[dict[str, Any]], makers: dict[int, _Operator], path: str
) -> tuple[tuple[Dim, ...] | None, str, str | None]:
    """The target as a second input: how many integers it has, and where they come from."""
    if len(inputs) < 2:
        return None, "missing", None
    tensor = inputs[1]
    dims = _dims(tensor, path)
    length = dims[0] if dims is not None and len(dims) == 1 else None
    target = (None,) * length if isinstance(length, int) and length <= LONGEST_TARGET else None
    if tensor["id"] in makers:
        source = f"computed by {makers[tensor['id']].name}"
    elif tensor.get("property_type") == "constant":
        source = f"constant tensor {tensor['id']}, whose values are not in the file"
    else:
        source = f"input {tensor['id']}"
    return target, source, _type(tensor)


def _integers(value: Any) -> tuple[int, ...] | None:
    return tuple(value) if isinstance(value, list) and all(type(entry) is int for entry in value) else None


def _dims(tensor: dict[str, Any], path: str) -> tuple[Dim, ...] | None:
    dims = tensor.get("shape")
    if dims is None or dims == [_UNKNOWN]:
        return None
    if not isinstance(dims, list) or not all(type(dim) is int for dim in dims):
        raise unreadable(path, f"tensor {tensor['id']} has a shape that is no list of integers")
    if wrong := [dim for dim in dims if dim < -1 and dim != _UNKNOWN]:
        raise unreadable(path, f"tensor {tensor['id']} has a dim of {wrong[0]}")
    return tuple(None if dim < 0 else dim for dim in dims)


def _type(tensor: dict[str, Any]) -> str | None:
    kind = tensor.get("dtype")
    return kind if isinstance(kind, str) and kind != "undef" else None
