"""Pools whose window follows the size of the data: as many results at all sizes, each over its own part of the data.

Exporters write an adaptive pool so.  A window is an attribute, which no size can reach, so the data are reshaped to
their parts, and reduced over each; where a part is all there is along an axis, they are reduced as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.graphs.facts.scope import Dims
from onereshape.graphs.rewrite import Rewriter
from onereshape.repair.fitting.formulas import Known
from onereshape.rule.sizes import Size, exact, over

POOLS = {"AveragePool": "ReduceMean", "MaxPool": "ReduceMax", "LpPool": "ReduceL2"}
"""Pool -> the reduction that does the same over whole axes."""
_AXES_AS_INPUT = 18
"""The opset from which these reductions take their axes as an input."""
FOLLOWING = frozenset({"kernel_shape", "strides"})
"""The attributes of a pool that may follow the size of the data."""


class Pool(NamedTuple):
    """A pool that gives as many results at all sizes."""

    node: ir.Node
    parts: tuple[Size, ...]
    """The number of results along each axis of the data, but for the first two."""
    windows: tuple[Size, ...]
    """The number of entries along each axis that a result is over."""

    def dims(self, data: Dims) -> Dims:
        """The dims of the result."""
        return (*data[:2], *self.parts)

    def write(self, writer: Rewriter) -> None:
        """Puts a reduction in the place of the pool, of data that are reshaped where there are several parts."""
        data = self.node.inputs[0]
        if all(1 in pair for pair in zip(self.parts, self.windows, strict=True)):
            axes = [axis for axis, window in enumerate(self.windows, 2) if window != 1]
            self._reduce(writer, data, axes, keep=True)
            return
        split: list[Size] = [0, 0]
        for part, window in zip(self.parts, self.windows, strict=True):
            split += [part, window]
        apart = writer.insert(self.node, "Reshape", [data, writer.vector(split)])
        self._reduce(writer, apart, list(range(3, 2 * len(self.parts) + 2, 2)), keep=False)

    def _reduce(self, writer: Rewriter, data: ir.Value | None, axes: list[int], *, keep: bool) -> None:
        reduction = POOLS[self.node.op_type]
        if writer.opset >= _AXES_AS_INPUT:
            writer.replace(self.node, reduction, [data, writer.integers(axes)], {"keepdims": int(keep)})
        else:
            writer.replace(self.node, reduction, [data], {"axes": axes, "keepdims": int(keep)})


def pool_of(node: ir.Node, given: Mapping[str, Sequence[Sequence[int]]], data: Dims | None, known: Known) -> Pool | str:
    """The pool that a node is at all sizes, or why it is none.

    `given` has the attributes that differ, each with what it is in every export.
    """
    if not given.keys() <= FOLLOWING or data is None or len(node.outputs) != 1 or node.attributes.get_int("p", 2) != 2:
        return "an attribute cannot follow a size"
    if _moved(node):
        return "its window follows a size, and it reads some entries more than once, or not at all"
    windows = _each(node, given, "kernel_shape", len(data) - 2, known)
    strides = _each(node, given, "strides", len(data) - 2, known)
    parts: list[Size] = []
    lengths: list[Size] = []
    for size, window, stride in zip(data[2:], windows, strides, strict=True):
        part: Size = 1
        length: Size = size
        if known.values(size) == window:  # one result, however far the next one would be
            pass
        elif {*window, *stride} == {1}:
            part, length = size, 1
        else:
            found = _parted(size, window, stride, known)
            if isinstance(found, str):
                return found
            part, length = found
        parts.append(part)
        lengths.append(length)
    return Pool(node, tuple(parts), tuple(lengths))


def _parted(size: Size, window: Sequence[int], stride: Sequence[int], known: Known) -> tuple[Size, Size] | str:
    """The number of parts of an axis and their length: 14 and 21 in windows of 2 and 3 -> `(7, S/7)`; or why none."""
    values = known.values(size)
    if values is None or window != stride:
        return "its window and its strides follow a size, and are not equal"
    counts = {(value // width, value % width) for value, width in zip(values, window, strict=True)}
    if len(counts) != 1 or (count := next(iter(counts)))[1]:
        return "its window follows a size, and the number of its results does too"
    length = exact(size, count[0])
    if length is None:
        length = over(size, count[0])
        known.whole(length)
    return count[0], length


def _each(
    node: ir.Node, given: Mapping[str, Sequence[Sequence[int]]], name: str, rank: int, known: Known
) -> list[tuple[int, ...]]:
    """An attribute by axis, with its value in every export: `[2, 3]` and `[4, 6]` -> `[(2, 4), (3, 6)]`."""
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
    return listed or padded
