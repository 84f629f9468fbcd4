"""Shape rules that several operators have: the dims of input 0, or of all inputs broadcast together."""

from __future__ import annotations

from onereshape.graphs.facts.asking import Asking, Shapes


def broadcast(asking: Asking) -> Shapes:
    """The dims of all inputs broadcast: `(4, 1), (3) -> (4, 3)`; before opset 7 the second inside the first."""
    shapes = [asking.dims(index) for index in range(len(asking.node.inputs)) if asking.has(index)]
    if asking.opset < 7 and len(shapes) == 2:
        (first, second), rank = shapes, len(shapes[0])
        lead = asking.lead(1, rank, len(second))
        return [asking.broadcast(first, (*second, *[1] * (rank - lead - len(second))))]
    return [asking.broadcast(*shapes)]


def same(asking: Asking) -> Shapes:
    """Every output has the dims of input 0."""
    return [asking.dims(0)] * asking.count


def same_first(asking: Asking) -> Shapes:
    """The first output has the dims of input 0."""
    return [asking.dims(0)]
