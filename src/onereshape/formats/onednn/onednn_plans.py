"""Reshapes alone as a oneDNN graph: the JSON that the library dumps and benchdnn reads."""

from __future__ import annotations

import json
from itertools import count
from math import prod
from typing import Any

from onereshape.formats.model_data import ModelData
from onereshape.formats.onednn.onednn_graph import graph_of
from onereshape.formats.reshape_plan import Link, PlanTensor, ReshapePlan, ReshapeStep, Wiring, not_whole
from onereshape.ground.atomic import replacing
from onereshape.ground.errors import TranslateError

_VERSION = "3.12.0"
"""The release whose dumps have this form."""
_UNKNOWN = -(2**63)
"""DNNL_GRAPH_UNKNOWN_DIM; alone in a list: nothing is known of the shape, or of the strides."""


def write(plan: ReshapePlan, path: str) -> None:
    """Writes the graph of a plan; what it is made of is known before the file is opened."""
    content = _content(plan)
    with replacing(path) as file:
        file.write(content)


def _content(plan: ReshapePlan) -> bytes:
    """The graph; a target known only at run time is a second input."""
    tensors: dict[str, dict[str, Any]] = {}
    operators = []
    ids = count(len(plan.steps))
    for index, step in enumerate(plan.steps):
        attributes: dict[str, Any] = {"special_zero": {"type": "bool", "value": int(step.after.zero_copies)}}
        inputs = [step.data]
        if plan.spec.target_in == "attribute":
            attributes["shape"] = {"type": "s64[]", "value": list(step.after.target or ())}
        else:
            inputs.append(_target(step))
        for tensor in inputs:
            if tensor.name not in tensors:
                tensors[tensor.name] = _tensor(tensor, _sizes(tensor), next(ids))
        tensors[step.output.name] = _tensor(step.output, _output_sizes(step), next(ids))
        operators.append(
            {
                "id": index,
                "name": step.name,
                "kind": plan.spec.operator,
                "attrs": attributes,
                "inputs": [tensors[tensor.name] for tensor in inputs],
                "outputs": [tensors[step.output.name]],
            }
        )
    graph = {
        "version": _VERSION,
        "engine_kind": "cpu",
        "fpmath_mode": "strict",
        "fpmath_mode_apply_to_int": "false",
        "input_ports": [tensors[tensor.name]["id"] for tensor in plan.inputs],
        "output_ports": [tensors[tensor.name]["id"] for tensor in plan.outputs],
        "graph": operators,
    }
    return (json.dumps(graph, indent=2) + "\n").encode()


def _target(step: ReshapeStep) -> PlanTensor:
    if step.target is None:
        why = "a oneDNN graph file holds no elements of tensors"
        what, could = f"the constant target {list(step.after.target or ())}", "; it can be said in onednn-static"
        error = TranslateError(
            "untranslatable", spec=step.after.spec, what=what, to=f"a file of {step.after.spec}", why=why, could=could
        )
        error.add_note(f"node    {step.name}")
        raise error
    return step.target


def _tensor(tensor: PlanTensor, shape: list[int], number: int) -> dict[str, Any]:
    return {
        "id": number,
        "dtype": tensor.type.onednn,
        "shape": shape,
        "stride": _strides(shape),
        "layout_type": "strided",
        "property_type": "undef",
    }


def _sizes(tensor: PlanTensor) -> list[int]:
    """The shape of what comes in: the dims that are known, beside others that are not, of which a dump says none."""
    return [_UNKNOWN] if tensor.dims is None else [dim if isinstance(dim, int) else _UNKNOWN for dim in tensor.dims]


def _output_sizes(step: ReshapeStep) -> list[int]:
    """The shape of what comes out, all of it or nothing; nothing too of one that is empty if data is.

    Of an output that it is told to be empty the library infers and checks no more: elements of data would be lost.
    """
    sizes = _sizes(step.output)
    return [_UNKNOWN] if _UNKNOWN in sizes or (0 in sizes and _UNKNOWN in _sizes(step.data)) else sizes


def _strides(shape: list[int]) -> list[int]:
    """Those of C order, with an empty dim counted as 1; as many unknown ones where a dim is unknown."""
    if _UNKNOWN in shape:
        return [_UNKNOWN] * len(shape)
    return [prod(max(dim, 1) for dim in shape[axis + 1 :]) for axis in range(len(shape))]


def wiring(model: ModelData) -> Wiring:
    """The values of a file of nothing but Reshapes and their constants."""
    by_node = {id(node.node): node for node in model.reshapes}
    links = []
    for operator in graph_of(model)["graph"]:
        found = by_node.get(id(operator))
        if found is None:
            raise not_whole(model, f"{operator['kind']} {operator.get('name', '')} is no Reshape")
        inputs, outputs = operator.get("inputs", []), operator.get("outputs", [])
        if len(inputs) < (2 if found.spec.target_in == "input" else 1) or not outputs:
            raise not_whole(model, f"{found.name} lacks an input or an output")
        target = inputs[1]["id"] if found.spec.target_in == "input" else None
        links.append(Link(found, inputs[0]["id"], target, outputs[0]["id"]))
    made = {link.output for link in links}
    used = [key for link in links for key in (link.data, link.target) if key is not None]
    fed = [key for key in dict.fromkeys(used) if key not in made]
    ends = [key for key in graph_of(model).get("output_ports", []) if key in made]
    outputs = ends or [link.output for link in links if link.output not in used]
    return Wiring(tuple(fed), tuple(outputs), tuple(links), {})
