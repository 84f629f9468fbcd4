"""Crops: a Slice that may take the middle of an axis, with as much left out before it as behind.

An axis that is one entry too long loses its last one, whether ends are cut or half of what is too much, rounded down.
Where it may be too long by two, no export shows at which end it is cut; but what a Pad added is what is cut again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.facts.scope import Scope
from onereshape.graphs.registry import operator_of
from onereshape.repair.fitting.formulas import Known
from onereshape.rule.sizes import Formula, Size, cut

_TOLD = slice(1, 4)
"""The inputs of a Slice that say where it begins and ends, and along which axes."""


class _Crop(NamedTuple):
    """An axis of which a Slice takes a part: where the part starts, and how much is left out."""

    start: Size
    left_out: Formula
    """The entries before the part and behind it, together."""


def settle_crops(nodes: Sequence[ir.Node], scope: Scope, known: Known) -> None:
    """Asks for sizes at which Slices leave out as little before what they take as all exports do."""
    crops = [crop for node in nodes if operator_of(node) == "Slice" for crop in _crops(node, scope)]
    doubtful = [crop for crop in crops if _is_halved(crop, known)]
    added = [size for node in nodes if operator_of(node) == "Pad" for size in _added(node, scope)] if doubtful else []
    for crop in doubtful:
        if crop.start or not any(known.equal(crop.left_out, size) for size in added):
            known.keep(cut(crop.left_out, 2), crop.start)


def _crops(node: ir.Node, scope: Scope) -> Iterator[_Crop]:
    """The axes from which a Slice takes entries side by side, as many as a size says."""
    dims = None if node.inputs[0] is None else scope.dims_of(node.inputs[0])
    told = [None if value is None else scope.held(value) for value in node.inputs[_TOLD]]
    known = [held.reshape(-1).tolist() for held in told if held is not None]
    if dims is None or len(known) < 3 or any(_strides(steps, scope) for steps in node.inputs[4:]):
        return
    for start, end, axis in zip(*known, strict=False):
        follows = start is not None and end is not None and any(isinstance(each, Formula) for each in (start, end))
        if follows and isinstance(axis, int) and -len(dims) <= axis < len(dims):
            left_out = dims[axis] - (end - start)
            if isinstance(left_out, Formula):
                yield _Crop(start, left_out)


def _strides(steps: ir.Value | None, scope: Scope) -> bool:
    """Whether a Slice goes on by more than 1, or may do so."""
    held = None if steps is None else scope.held(steps)
    return steps is not None and (held is None or any(step != 1 for step in held.reshape(-1).tolist()))


def _is_halved(crop: _Crop, known: Known) -> bool:
    """Whether a part starts at half of what is left out, rounded down, in all exports."""
    values, starts = known.values(crop.left_out), known.values(crop.start)
    if values is None or starts is None:
        return False
    return all(each // 2 == start for each, start in zip(values, starts, strict=True))


def _added(node: ir.Node, scope: Scope) -> Iterator[Size]:
    """How much a Pad adds behind each axis to which it adds nothing before."""
    pads = scope.held(node.inputs[1]) if len(node.inputs) > 1 and node.inputs[1] is not None else None
    numbers = [] if pads is None else pads.reshape(-1).tolist()
    half = len(numbers) // 2
    pairs = zip(numbers[:half], numbers[half:], strict=False)
    yield from (after for before, after in pairs if before == 0 and after is not None)
