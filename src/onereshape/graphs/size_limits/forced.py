"""Dims of inputs that a Reshape fixes, or swallows, although the file calls them dynamic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onereshape.formats.model_data import ReshapeNode
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.likely_batch import is_batch, is_length
from onereshape.graphs.size_limits.free_names import Places, names_of
from onereshape.rule.dims import Dim, show
from onereshape.rule.sizes import Formula, Size, product


class FixedDims(NamedTuple):
    """Dims of inputs that a Reshape does not leave free."""

    names: tuple[str, ...]
    """In the order of the inputs."""
    plain: bool
    """Whether one dim alone is in the way, and the model runs where that is 1."""
    message: str


def forced(node: ReshapeNode, facts: Facts, symbols: Places) -> Iterator[FixedDims]:
    """Symbols of inputs that must have one size for the Reshape to succeed, and the sentence that says so."""
    for condition in facts.conditions.get(node.node, ()):
        names, found = names_of(condition, symbols), condition.forces
        if found is not None and names is not None:
            product, size = found
            slot = _slot(node, facts, str(product), size)
            message = f"{product} is forced to {size} by {node.name}: {slot}"
            yield FixedDims(names, size == len(names) == 1, message)


def absorbed(node: ReshapeNode, facts: Facts, symbols: Places) -> Iterator[FixedDims]:
    """A batch in axis 0 of data that the -1 takes although a 1 stands where it would go, and the sentence."""
    data, target = _sizes(node, facts), _target(node, facts)
    first = data[0] if data else None
    name = first.name if isinstance(first, Formula) else None
    if data is None or target is None or name is None or not may_be_batch(name, symbols):
        return
    slot = next((axis for axis, entry in enumerate(target) if entry == -1), None)
    if not slot or product(data[1:]) == 1 or 0 in target or any(entry != 1 for entry in target[:slot]):
        return
    output = facts.dims_of(node.node.outputs[0]) or ()
    taken = output[slot] if slot < len(output) else None
    if isinstance(taken, Formula) and name in taken.symbols:
        kept = f"target[{slot}] = -1 becomes {taken}, while target[0] = 1"
        message = f"{first} is swallowed by {node.name}: {kept} stands where {first} should be"
        yield FixedDims((name,), len(taken.symbols) == 1, message)


def may_be_batch(name: str, symbols: Places) -> bool:
    """Whether a dim may be that of the samples: the first of an input, or one that is called so."""
    return name in symbols and not is_length(name) and (is_batch(name) or any(axis == 0 for _, axis in symbols[name]))


def _slot(node: ReshapeNode, facts: Facts, symbol: str, size: int) -> str:
    """The entry of the target that holds the size, at the symbol's own axis if it can be told."""
    data, target = _sizes(node, facts), _target(node, facts)
    if target is None:
        return "its target is computed"
    places = [axis for axis, entry in enumerate(target) if entry == size]
    own = [axis for axis in places if data is not None and axis < len(data) and str(data[axis]) == symbol]
    for axis in (*own, *places):
        return f"shape[{axis}] = {size}"
    return f"shape = [{', '.join(str(show(entry)) for entry in target)}]"


def _target(node: ReshapeNode, facts: Facts) -> tuple[Dim, ...] | None:
    if node.spec.target_in == "attribute":
        return node.target
    value = node.node.inputs[1] if len(node.node.inputs) > 1 else None
    return None if value is None else facts.entries(value) or node.target


def _sizes(node: ReshapeNode, facts: Facts) -> tuple[Size, ...] | None:
    """The dims of data."""
    return facts.dims_of(node.node.inputs[0]) if node.node.inputs and node.node.inputs[0] is not None else None
