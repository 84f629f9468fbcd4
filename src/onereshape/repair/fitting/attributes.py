"""Attributes that differ between exports, of operators that have no input for them in an early opset.

No size reaches an attribute.  Some can say the same without one: a Slice up to the end, or up to so many before it; a
Split into equal parts.  The others are refused, with the opset from which on they are inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.facts.scope import Dims
from onereshape.graphs.registry import operator_of
from onereshape.graphs.rewrite import LAST, Rewriter
from onereshape.repair.fitting.formulas import Known

DifferingAttributes = Mapping[str, Sequence[Sequence[int]]]
"""Name -> the value of an attribute that differs in each export: `{"ends": [[11], [22]]}`."""

_INPUTS_SINCE = {"Pad": 11, "Slice": 10, "Split": 13, "Tile": 6, "Reshape": 5, "Upsample": 9, "TopK": 10, "Expand": 8}
"""Operator -> the opset from which on it takes as inputs what were attributes."""


class Said(NamedTuple):
    """Attributes of a node that are right at all sizes."""

    node: ir.Node
    attributes: Mapping[str, tuple[int, ...] | None]
    """Name -> the value of an attribute; None: it is left out."""

    def write(self, _: Rewriter | None = None) -> None:
        """Gives the node its attributes: it does the same as before at its own sizes."""
        for name, numbers in self.attributes.items():
            if numbers is not None:
                self.node.attributes[name] = ir.AttrInt64s(name, numbers)
            else:
                self.node.attributes.pop(name, None)


def said(node: ir.Node, given: DifferingAttributes, data: Dims | None, known: Known) -> Said | str:
    """The attributes with which a node is the same in every export, or why there are none."""
    operator = operator_of(node)
    if operator == "Slice" and data is not None and given.keys() <= {"starts", "ends"}:
        found = {name: _bounds(node, numbers, data, known) for name, numbers in given.items()}
        if None not in found.values():
            return Said(node, found)
    if operator == "Split" and given.keys() == {"split"} and all(len({*parts}) == 1 for parts in given["split"]):
        return Said(node, {"split": None})
    since = _INPUTS_SINCE.get(operator)
    return "an attribute cannot follow a size" + ("" if since is None else f"; from opset {since} on it is an input")


def _bounds(node: ir.Node, numbers: Sequence[Sequence[int]], data: Dims, known: Known) -> tuple[int, ...] | None:
    """The bounds of a Slice, counted from the end where they follow the size: 11 of 12 and 22 of 23 -> -1."""
    axes = node.attributes.get_ints("axes") or range(len(numbers[0]))
    found: list[int] = []
    for axis, bounds in zip(axes, zip(*numbers, strict=True), strict=True):
        if len({*bounds}) == 1:
            found.append(bounds[0])
            continue
        sizes = known.values(data[axis])
        before = {bound - size for bound, size in zip(bounds, sizes or (), strict=sizes is not None)}
        if len(before) != 1 or (place := before.pop()) > 0:
            return None
        found.append(place or LAST)
    return tuple(found)
