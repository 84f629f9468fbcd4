"""What the shape rules of several operators share."""

from __future__ import annotations

from onereshape.models.facts.asking import Asking, Shapes


def broadcast(asking: Asking) -> Shapes:
    """All inputs meet at the same axis, counted from the right."""
    return [asking.broadcast(*(asking.dims(index) for index in range(len(asking.node.inputs)) if asking.has(index)))]


def same(asking: Asking) -> Shapes:
    """Every output has the dims of input 0."""
    return [asking.dims(0)] * asking.count


def same_first(asking: Asking) -> Shapes:
    """The first output has the dims of input 0."""
    return [asking.dims(0)]
