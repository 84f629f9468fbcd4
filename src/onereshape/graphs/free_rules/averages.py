"""Sums over a free axis that later nodes divide by its old size: a mean that is written in two steps."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.registry import record_named

_MOST_FOLLOWED = 16

_NEAR = 1e-3
"""How far a number in 16 bits is from the one that is meant."""


def not_divided(view: FreeView, own: Axis | None) -> None:
    """Refuses a mean over a free axis that is written as a sum and a division by the old size."""
    then = None if own is None or not view.move(size_of(own)) else view.state.then(size_of(own))
    if own is None or not isinstance(then, int) or then < 2:
        return
    for user, index in users_of(view):
        record = record_named(user.op_type)
        if record.divides or record.multiplies:
            number = single(view, user.inputs[1 - index])
            if number is not None and _stands_for(number, then):
                name = user.name or user.outputs[0].name
                raise Refused(f"it sums over {size_of(own)}, and {name} then takes {number} for it")


def users_of(view: FreeView) -> Iterator[tuple[ir.Node, int]]:
    """The nodes that use what a node makes, and as which input; also where it was moved before."""
    pending = list(view.node.outputs)
    for _ in range(_MOST_FOLLOWED):
        if not pending:
            return
        for user, index in pending.pop().uses():
            if record_named(user.op_type).keeps and index == 0:
                pending += user.outputs
            else:
                yield user, index


def single(view: FreeView, value: ir.Value | None) -> float | None:
    """The number that a constant is."""
    array = None if value is None or view.state.matters(value) else view.state.folding.array(value)
    return None if array is None or array.size != 1 else float(array.reshape(-1)[0])


def _stands_for(number: float, size: int) -> bool:
    """Whether a number is a size, or one less, or the reciprocal of these: what a sum is divided by to be a mean."""
    counts = [size, size - 1] if size > 2 else [size]
    return any(abs(each / count - 1) < _NEAR for count in counts for each in (number, number * count * count))
