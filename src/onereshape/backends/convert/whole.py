"""A whole file that holds nothing but Reshapes and their constants, as a plan."""

from __future__ import annotations

from collections.abc import Hashable
from graphlib import TopologicalSorter

from onereshape.backends.convert.steps import planned
from onereshape.formats.model import Model
from onereshape.formats.model_formats import format_of
from onereshape.formats.reshape_plan import Link, PlanTensor, ReshapePlan, ReshapeStep, Wiring, not_whole
from onereshape.ground.errors import ReshapeError
from onereshape.rule.specs import opset_of, spec as find_spec


def whole(model: Model, spec: str) -> ReshapePlan:
    """Every Reshape of a file in another dialect, each for the dims that the one before it gives."""
    row = find_spec(spec)
    if not model.reshapes:
        raise ReshapeError("bad-usage", why=f"{model.path} has no Reshape")
    wiring = format_of(model.format).plans.wiring(model)
    names = _names(wiring)
    tensors: dict[Hashable, PlanTensor] = {}
    steps: list[ReshapeStep] = []
    for link in _ordered(wiring):
        given = tensors.get(link.data)
        if given is None and link.data not in wiring.inputs:
            raise not_whole(model, f"the data of {link.node.name} are a constant")
        step = planned(link.node, row, given, (names[link.data], names.get(link.target, ""), names[link.output]))
        if step.target is not None and link.target not in wiring.inputs:
            raise not_whole(model, f"the target of {link.node.name} is {link.node.target_from}")
        if step.target is not None and tensors.setdefault(link.target, step.target).type != step.target.type:
            raise not_whole(model, f"the target of {link.node.name} is also reshaped")
        tensors |= {link.data: step.data, link.output: step.output}
        steps.append(step)
    for key, use in [(key, "input") for key in wiring.inputs] + [(key, "output") for key in wiring.outputs]:
        if key not in tensors or (use == "output" and key in wiring.inputs):
            raise not_whole(model, f"the {use} {names.get(key, key)} belongs to no Reshape")
    inputs, outputs = ([tensors[key] for key in dict.fromkeys(keys)] for keys in (wiring.inputs, wiring.outputs))
    return ReshapePlan(row, opset_of(spec), tuple(inputs), tuple(steps), tuple(outputs))


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
