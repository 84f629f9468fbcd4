"""Dims of inputs that a Reshape fixes, or swallows, although the file calls them dynamic."""

from __future__ import annotations

from collections.abc import Container, Iterator

from onereshape.dims import Dim, Size, multiply, parse, show
from onereshape.formats.model import ReshapeNode
from onereshape.models.inference.shapes import Shapes


def forced(node: ReshapeNode, shapes: Shapes, symbols: Container[str]) -> Iterator[tuple[str, str]]:
    """A symbol of an input that must have one size for the Reshape to succeed, and the sentence that says so."""
    for condition in shapes.conditions.get(node.node, ()):
        names, found = condition.names, condition.forces
        if found is not None and all(name in symbols for name in names):
            product, size = found
            slot = _slot(node, shapes, str(product), size)
            yield min(names), f"{product} is forced to {size} by {node.name}: {slot}"


def absorbed(node: ReshapeNode, shapes: Shapes, symbols: Container[str]) -> Iterator[tuple[str, str]]:
    """A symbol in axis 0 of data that the -1 takes although a 1 stands where it would go, and the sentence."""
    data, target = _dims(node, shapes, 0), _target(node, shapes)
    if data is None or target is None or not isinstance(data[0] if data else None, str) or data[0] not in symbols:
        return
    slot = next((axis for axis, entry in enumerate(target) if entry == -1), None)
    rest = _product(data[1:])
    if slot is None or rest == multiply([1]) or 0 in target or not slot or any(entry != 1 for entry in target[:slot]):
        return
    output = shapes.dims.get(node.node.outputs[0], ())
    taken = output[slot] if slot < len(output) else None
    if isinstance(taken, str) and data[0] in parse(taken).symbols:
        kept = f"target[{slot}] = -1 becomes {taken}, while target[0] = 1"
        yield str(data[0]), f"{data[0]} is swallowed by {node.name}: {kept} stands where {data[0]} should be"


def _slot(node: ReshapeNode, shapes: Shapes, symbol: str, size: int) -> str:
    """The entry of the target that holds the size, at the symbol's own axis if it can be told."""
    data, target = _dims(node, shapes, 0), _target(node, shapes)
    if target is None:
        return "its target is computed"
    places = [axis for axis, entry in enumerate(target) if entry == size]
    own = [axis for axis in places if data is not None and axis < len(data) and data[axis] == symbol]
    for axis in (*own, *places):
        return f"shape[{axis}] = {size}"
    return f"shape = [{', '.join(str(show(entry)) for entry in target)}]"


def _target(node: ReshapeNode, shapes: Shapes) -> tuple[Dim, ...] | None:
    if node.spec.target_in == "attribute":
        return node.target
    return shapes.values.get(node.node.inputs[1], node.target) if len(node.node.inputs) > 1 else None


def _dims(node: ReshapeNode, shapes: Shapes, index: int) -> tuple[Dim, ...] | None:
    return shapes.dims.get(node.node.inputs[index]) if len(node.node.inputs) > index else None


def _product(dims: tuple[Dim, ...]) -> Size | None:
    """The product of dims; None where one is not known."""
    sizes: list[Size] = []
    for dim in dims:
        if not isinstance(dim, int | str):
            return None
        sizes.append(dim if isinstance(dim, int) else parse(dim))
    return multiply(sizes)
