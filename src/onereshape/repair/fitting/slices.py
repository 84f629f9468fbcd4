"""How much a Slice takes whose bounds are formulas.

At all sizes from the exported ones on, each bound is a place counted from the start, or each one counted from the end.
"""

from __future__ import annotations

import onnx_ir as ir

from onereshape.graphs.facts.scope import Scope
from onereshape.graphs.registry import operator_of
from onereshape.repair.fitting.formulas import Known
from onereshape.rule.sizes import Formula, Size, ceiling, largest, smallest

STEPPED = frozenset({"Slice"})
"""Operators whose dims, as `taken` finds them, depend on the steps of the sizes."""
_ALL = 2**31 - 1
"""An end from which on all is taken."""


def taken(node: ir.Node, scope: Scope, known: Known) -> dict[int, Size]:
    """Axis -> the size that a Slice leaves, if bounds are formulas and steps go forward: `x[1:S]` -> `{0: S - 1}`."""
    data = scope.dims_of(node.inputs[0]) if node.inputs and node.inputs[0] is not None else None
    if operator_of(node) != "Slice" or data is None or len(node.inputs) < 3:
        return {}
    starts, ends, axes, steps = (_held(node, place, scope) for place in range(1, 5))
    if starts is None or ends is None or (axes is None and _has(node, 3)) or (steps is None and _has(node, 4)):
        return {}
    found: dict[int, Size] = {}
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis, step = place if axes is None else axes[place], 1 if steps is None else steps[place]
        if not isinstance(axis, int) or not any(isinstance(each, Formula) for each in (start, end)):
            continue
        if not isinstance(step, int) or step < 1:
            continue
        size = data[axis % len(data)]
        first, last = _place(size, start, known), _place(size, end, known)
        if first is not None and last is not None:
            found[axis % len(data)] = ceiling(_plain(last - first, known), step)
    return found


def _place(size: Size, bound: Size | None, known: Known) -> Size | None:
    """A bound as a place from 0 to the size, at all sizes from the exported ones on; None where it is not known."""
    if bound is None or (isinstance(bound, int) and bound >= _ALL):
        return None if bound is None else size
    if known.never_below(bound, 0):
        return bound if known.never_below(size - bound, 0) else smallest(bound, size)
    if known.never_below(-1 * bound, 1):
        return size + bound if known.never_below(size + bound, 0) else largest(0, size + bound)
    here, most = known.values(bound), known.values(size)
    if here is None or most is None or known.knows(bound):
        return None
    return bound if all(0 <= one <= other for one, other in zip(here, most, strict=True)) else None  # it is still open


def _plain(size: Size, known: Known) -> Size:
    return size if known.never_below(size, 0) else largest(0, size)


def _has(node: ir.Node, place: int) -> bool:
    return place < len(node.inputs) and node.inputs[place] is not None


def _held(node: ir.Node, place: int, scope: Scope) -> list[Size | None] | None:
    value = node.inputs[place] if place < len(node.inputs) else None
    held = None if value is None else scope.held(value)
    return None if held is None else held.reshape(-1).tolist()
