"""Pools whose window follows the size of the data: as many results at all sizes, each over its own part of the data.

Exporters write an adaptive pool so.  A window is an attribute, which no size can reach, so the data are reshaped to
their parts, and reduced over each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.models.facts.asking import Dims
from onereshape.models.like.formulas import Known
from onereshape.models.rewrite import Rewriter
from onereshape.sizes import Size, exact, over

_REDUCTIONS = {"AveragePool": "ReduceMean", "MaxPool": "ReduceMax"}
_AXES_AS_INPUT = 18
"""The opset from which these reductions take their axes as an input."""
FOLLOWING = frozenset({"kernel_shape", "strides"})
"""The attributes of a pool that may follow the size of the data."""


class Pool(NamedTuple):
    """A pool that gives as many results at all sizes."""

    node: ir.Node
    parts: tuple[int, ...]
    """How many results there are along each axis of the data, but for the first two."""
    windows: tuple[Size, ...]
    """How many entries each of them is over."""

    def dims(self, data: Dims) -> Dims:
        """The dims of the result."""
        return (*data[:2], *self.parts)

    def write(self, writer: Rewriter) -> None:
        """Puts the reshaped data and a reduction in the place of the pool."""
        data = self.node.inputs[0]
        reduction = _REDUCTIONS[self.node.op_type]
        rank = 2 * len(self.parts) + 2
        split: list[Size] = [0, 0]
        for part, window in zip(self.parts, self.windows, strict=True):
            split += [part, window]
        apart = writer.insert(self.node, "Reshape", [data, writer.vector(split)])  # type: ignore[list-item]
        axes = list(range(3, rank, 2))
        if writer.opset >= _AXES_AS_INPUT:
            writer.replace(self.node, reduction, [apart, writer.integers(axes)], {"keepdims": 0})
        else:
            writer.replace(self.node, reduction, [apart], {"axes": axes, "keepdims": 0})


def pool_of(node: ir.Node, given: Mapping[str, Sequence[Sequence[int]]], data: Dims | None, known: Known) -> Pool | str:
    """The pool that a node is at all sizes, or why it is none.

    `given` has the attributes that differ, each with what it is in every export.
    """
    if node.op_type not in _REDUCTIONS or not given.keys() <= FOLLOWING or data is None or len(node.outputs) != 1:
        return "an attribute cannot follow a size"
    sizes = [known.values(size) for size in data[2:]]
    windows = _each(node, given, "kernel_shape", len(sizes), known)
    strides = _each(node, given, "strides", len(sizes), known)
    if any(values is None for values in sizes) or windows != strides or _moved(node):
        return "its window and its strides follow a size, and are not equal"
    parts: list[int] = []
    lengths: list[Size] = []
    for size, values, window in zip(data[2:], sizes, windows, strict=True):
        counts = {(value // width, value % width) for value, width in zip(values or (), window, strict=True)}
        if len(counts) != 1 or (count := next(iter(counts)))[1]:
            return "its window follows a size, and the number of its results does too"
        length = exact(size, count[0])
        if length is None:
            length = over(size, count[0])
            known.whole(length)
        parts.append(count[0])
        lengths.append(length)
    return Pool(node, tuple(parts), tuple(lengths))


def _each(
    node: ir.Node, given: Mapping[str, Sequence[Sequence[int]]], name: str, rank: int, known: Known
) -> list[tuple[int, ...]]:
    """An attribute in every export, by axis."""
    exports = len(known.bindings)
    if name in given:
        return [tuple(values[axis] for values in given[name]) for axis in range(rank)]
    found = node.attributes.get_ints(name)
    return [((1 if found is None else found[axis]),) * exports for axis in range(rank)]


def _moved(node: ir.Node) -> bool:
    """Whether a pool reads anything but each entry once."""
    plain: dict[str, Any] = {"pads": 0, "dilations": 1}
    listed = any(any(each != number for each in node.attributes.get_ints(name) or ()) for name, number in plain.items())
    padded = node.attributes.get_string("auto_pad", "NOTSET") not in {"NOTSET", "VALID"}
    return listed or padded or bool(node.attributes.get_int("ceil_mode", 0))
