"""Reshapes alone as a oneDNN graph: the JSON that the library dumps and benchdnn reads."""

from __future__ import annotations

import json
from itertools import count
from math import prod
from typing import Any

from onereshape.errors import TranslateError
from onereshape.formats.atomic import replacing
from onereshape.formats.model import Model
from onereshape.formats.plan import Link, Plan, Step, Tensor, Wiring, not_whole

_VERSION = "3.3.0"
_UNKNOWN = -(2**63)
"""DNNL_GRAPH_UNKNOWN_DIM."""


def write(plan: Plan, path: str) -> None:
    """Writes the graph of a plan; what it is made of is known before the file is opened."""
    content = _content(plan)
    with replacing(path) as file:
        file.write(content)


def _content(plan: Plan) -> bytes:
    """The graph; a target known only at run time is a second input."""
    numbers: dict[str, int] = {}
    operators = []
    ids = count(len(plan.steps))
    for index, step in enumerate(plan.steps):
        attributes: dict[str, Any] = {"special_zero": {"type": "bool", "value": int(step.after.zero_copies)}}
        inputs = [step.data]
        if plan.spec.target_in == "attribute":
            attributes["shape"] = {"type": "s64[]", "value": list(step.after.target or ())}
        else:
            inputs.append(_target(step))
        for tensor in (*inputs, step.output):
            if tensor.name not in numbers:
                numbers[tensor.name] = next(ids)
        operators.append(
            {
                "id": index,
                "name": step.name,
                "kind": plan.spec.operator,
                "attrs": attributes,
                "inputs": [_tensor(tensor, numbers) for tensor in inputs],
                "outputs": [_tensor(step.output, numbers)],
            }
        )
    graph = {
        "version": _VERSION,
        "engine_kind": "cpu",
        "fpmath_mode": "strict",
        "input_ports": [numbers[tensor.name] for tensor in plan.inputs],
        "output_ports": [numbers[tensor.name] for tensor in plan.outputs],
        "graph": operators,
    }
    return (json.dumps(graph, indent=2) + "\n").encode()


def _target(step: Step) -> Tensor:
    if step.target is None:
        why = "a oneDNN graph file holds no elements of tensors"
        what, could = f"the constant target {list(step.after.target or ())}", "; it can be said in onednn-static"
        error = TranslateError(
            "untranslatable", spec=step.after.spec, what=what, to=f"a file of {step.after.spec}", why=why, could=could
        )
        error.add_note(f"node    {step.name}")
        raise error
    return step.target


def _tensor(tensor: Tensor, numbers: dict[str, int]) -> dict[str, Any]:
    dims = tensor.dims
    sizes = [dim for dim in dims or () if isinstance(dim, int)]
    whole = dims is not None and len(sizes) == len(dims)
    shape = [_UNKNOWN] if dims is None else [dim if isinstance(dim, int) else _UNKNOWN for dim in dims]
    return {
        "id": numbers[tensor.name],
        "dtype": tensor.type.onednn,
        "shape": shape,
        "stride": [prod(sizes[axis + 1 :]) for axis in range(len(sizes))] if whole else [_UNKNOWN] * len(shape),
        "layout_type": "strided" if whole else "undef",
        "property_type": "undef",
    }


def wiring(model: Model) -> Wiring:
    """The values of a file of nothing but Reshapes and their constants."""
    by_node = {id(node.node): node for node in model.reshapes}
    links = []
    for operator in model.ir["graph"]:
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
    ends = [key for key in model.ir.get("output_ports", []) if key in made]
    outputs = ends or [link.output for link in links if link.output not in used]
    return Wiring(tuple(fed), tuple(outputs), tuple(links), {})
