"""A whole file that holds nothing but Reshapes and their constants, as a plan."""

from __future__ import annotations

import re
from collections.abc import Hashable
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.convert.plan import Plan, Step, Tensor, opset_of, planned
from onereshape.errors import ReshapeError
from onereshape.formats.model import Model, ReshapeNode
from onereshape.specs import spec as find_spec


class Link(NamedTuple):
    """A Reshape with what it is tied to; keys are whatever tells the values of a file apart."""

    node: ReshapeNode
    data: Hashable
    target: Hashable
    """None: an attribute."""
    output: Hashable


class Wiring(NamedTuple):
    """The values of a file, and the Reshapes between them."""

    inputs: tuple[Hashable, ...]
    outputs: tuple[Hashable, ...]
    links: tuple[Link, ...]
    names: dict[Hashable, str]
    """The file's own names of values, where it has them."""


def whole(model: Model, spec: str) -> Plan:
    """Every Reshape of a file in another dialect, each for the dims that the one before it gives."""
    row = find_spec(spec)
    if not model.reshapes:
        raise ReshapeError("bad-usage", why=f"{model.path} has no Reshape")
    wiring = {"onnx": _onnx, "openvino": _openvino, "onednn": _onednn}[model.format](model)
    names = _names(wiring)
    tensors: dict[Hashable, Tensor] = {}
    steps: list[Step] = []
    for link in _ordered(wiring):
        given = tensors.get(link.data)
        if given is None and link.data not in wiring.inputs:
            raise _refused(model, f"the data of {link.node.name} are a constant")
        step = planned(link.node, row, given, (names[link.data], names.get(link.target, ""), names[link.output]))
        if step.target is not None and link.target not in wiring.inputs:
            raise _refused(model, f"the target of {link.node.name} is {link.node.target_from}")
        if step.target is not None and tensors.setdefault(link.target, step.target).type != step.target.type:
            raise _refused(model, f"the target of {link.node.name} is also reshaped")
        tensors |= {link.data: step.data, link.output: step.output}
        steps.append(step)
    for key, use in [(key, "input") for key in wiring.inputs] + [(key, "output") for key in wiring.outputs]:
        if key not in tensors or (use == "output" and key in wiring.inputs):
            raise _refused(model, f"the {use} {names.get(key, key)} belongs to no Reshape")
    inputs, outputs = ([tensors[key] for key in dict.fromkeys(keys)] for keys in (wiring.inputs, wiring.outputs))
    return Plan(row, opset_of(spec), tuple(inputs), tuple(steps), tuple(outputs))


def _ordered(wiring: Wiring) -> list[Link]:
    makers = {link.output: link for link in wiring.links}
    needs = {
        link.output: [key for key in (link.data, link.target) if key is not None and key in makers]
        for link in wiring.links
    }
    return [makers[key] for key in TopologicalSorter(needs).static_order()]


def _names(wiring: Wiring) -> dict[Hashable, str]:
    """A name for every value, no two the same."""
    keys: dict[Hashable, None] = dict.fromkeys(wiring.inputs)
    for link in wiring.links:
        keys |= dict.fromkeys((link.data, link.target, link.output))
    names: dict[Hashable, str] = {}
    taken: set[str] = set()
    for number, key in enumerate(key for key in keys if key is not None):
        name = wiring.names.get(key) or f"t{number}"
        while name in taken:
            name += "_"
        taken.add(name)
        names[key] = name
    return names


def _refused(model: Model, what: str) -> ReshapeError:
    why = f"{model.path}: {what}; the file converts whole only if it holds nothing but Reshapes and their constants"
    return ReshapeError("unsupported-model", why=f"{why}: take one Reshape with --node NAME")


def _onnx(model: Model) -> Wiring:
    graph = model.ir.graph
    by_node = {id(node.node): node for node in model.reshapes}
    links = []
    for node in graph:
        if (found := by_node.get(id(node))) is None:
            if node.op_type == "Constant" and node.domain in {"", "ai.onnx"}:
                continue
            raise _refused(model, f"{node.op_type} {node.name or node.outputs[0].name} is no Reshape")
        if not node.inputs or node.inputs[0] is None:
            raise _refused(model, f"{found.name} has no data")
        target = node.inputs[1] if len(node.inputs) > 1 and found.spec.target_in == "input" else None
        links.append(Link(found, node.inputs[0], target, node.outputs[0]))
    constant = [value for value in graph.inputs if value.is_initializer() and model.ir.ir_version < 4]
    inputs = [value for value in graph.inputs if not any(value is other for other in constant)]
    values: list[ir.Value] = [*inputs, *(value for link in links for value in link[1:] if isinstance(value, ir.Value))]
    names: dict[Hashable, str] = {value: value.name or "" for value in values}
    return Wiring(tuple(inputs), tuple(graph.outputs), tuple(links), names)


def _openvino(model: Model) -> Wiring:
    by_layer = {node.node.get("id"): node for node in model.reshapes}
    layers = model.ir.findall("layers/layer")
    names: dict[Hashable, str] = {}
    feeds = {
        (edge.get("to-layer"), edge.get("to-port")): (edge.get("from-layer"), edge.get("from-port"))
        for edge in model.ir.iterfind("edges/edge")
    }
    inputs, outputs, links = [], [], []
    for layer in layers:
        number, kind = layer.get("id"), layer.get("type")
        if kind not in {"Parameter", "Const", "Result"} and number not in by_layer:
            raise _refused(model, f"{kind} {layer.get('name')} is no Reshape")
        for port in layer.iterfind("output/port"):
            tensor = re.split(r"(?<!\\),", port.get("names", ""))[0].replace("\\,", ",")
            names[number, port.get("id")] = (tensor if kind != "Const" else "") or layer.get("name", "")
        fed = [feeds.get((number, port.get("id"))) for port in layer.iterfind("input/port")]
        made: list[Any] = [(number, port.get("id")) for port in layer.iterfind("output/port")]
        if kind == "Parameter":
            inputs += made[:1]
        elif kind == "Result":
            outputs += fed[:1]
        elif kind == "Reshape":
            if len(fed) < 2 or None in fed[:2] or not made:
                raise _refused(model, f"{by_layer[number].name} lacks an input or an output")
            links.append(Link(by_layer[number], fed[0], fed[1], made[0]))
    return Wiring(tuple(inputs), tuple(outputs), tuple(links), names)


def _onednn(model: Model) -> Wiring:
    by_node = {id(node.node): node for node in model.reshapes}
    links = []
    for operator in model.ir["graph"]:
        found = by_node.get(id(operator))
        if found is None:
            raise _refused(model, f"{operator['kind']} {operator.get('name', '')} is no Reshape")
        inputs, outputs = operator.get("inputs", []), operator.get("outputs", [])
        if len(inputs) < (2 if found.spec.target_in == "input" else 1) or not outputs:
            raise _refused(model, f"{found.name} lacks an input or an output")
        target = inputs[1]["id"] if found.spec.target_in == "input" else None
        links.append(Link(found, inputs[0]["id"], target, outputs[0]["id"]))
    made = {link.output for link in links}
    used = [key for link in links for key in (link.data, link.target) if key is not None]
    fed = [key for key in dict.fromkeys(used) if key not in made]
    ends = [key for key in model.ir.get("output_ports", []) if key in made]
    outputs = ends or [link.output for link in links if link.output not in used]
    return Wiring(tuple(fed), tuple(outputs), tuple(links), {})
