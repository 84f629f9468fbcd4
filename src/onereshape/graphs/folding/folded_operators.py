"""What the operators give that may be folded: calculated on constants before a model runs.

It is onnx.reference's answer, or that of `fold` in a record where the reference differs from the specification.  Each
of them is held against onnxruntime, in all its versions; what has not `folds` in its record is not folded, and where
the specification leaves an answer open (an integer divided by 0, a number that its type cannot hold) there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import onnx

from onereshape.graphs.registry import record_named
from onereshape.ground.numpy_types import Array

OLDEST, NEWEST = 7, 25
"""The opsets between which the operators are held against onnxruntime."""
TYPES = frozenset({"float16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint32", "uint64", "bool"})
"""The types in which they are."""


_BROKEN = (ValueError, IndexError, ArithmeticError)
"""How NumPy says that a node breaks the rules of its operator."""
_UNABLE = (*_BROKEN, TypeError, RuntimeError)
"""How onnx.reference says so, or that it cannot do it."""
_NOTHING = np.empty(0, np.float32)


class Unfolded(Exception):  # noqa: N818 - not an error: there is no answer to know
    """A use of an operator whose answer is not known."""


class Use(NamedTuple):
    """One use of an operator: its node, the opset, and the arrays of its inputs."""

    node: onnx.NodeProto
    opset: int
    inputs: Sequence[Array | None]

    def given(self, index: int) -> Array:
        """The array of an input; raises Unfolded where the input is left out."""
        found = self.optional(index)
        if found is None:
            raise Unfolded
        return found

    def optional(self, index: int) -> Array | None:
        """An input that may be left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def attribute(self, name: str, otherwise: Any) -> Any:
        """The value of an attribute."""
        found = [onnx.helper.get_attribute_value(each) for each in self.node.attribute if each.name == name]
        return found[0] if found else otherwise

    def list(self, name: str, index: int) -> list[int] | None:
        """Numbers that are an attribute in old versions and an input in new ones."""
        found, array = self.attribute(name, None), self.optional(index)
        return list(found) if found is not None else None if array is None else array.reshape(-1).tolist()


def folded(use: Use) -> list[Array]:
    """The outputs of an operator on these arrays; raises Unfolded where they are not known."""
    op = use.node.op_type
    record = record_named(op)
    if not record.folds or not _held(op, use.opset):
        raise Unfolded
    rule: Callable[[Use], Sequence[Array]] = record.fold or reference
    if any(array is not None and array.dtype.name not in TYPES for array in use.inputs):
        raise Unfolded
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(each) for each in rule(use)]
    except _BROKEN:
        raise Unfolded from None


@cache
def _held(op: str, opset: int) -> bool:
    """Whether the version that an operator has in an opset is one of those that are held against onnxruntime."""
    try:
        return opset >= OLDEST and onnx.defs.get_schema(op, opset, "").since_version <= NEWEST
    except onnx.defs.SchemaError:
        return False


def reference(use: Use) -> list[Array]:
    """The answer of onnx.reference."""
    moved = _MOVED.get(use.node.op_type)
    found = None if moved is None else moved(use)
    return _evaluated(use) if found is None else [found]


def _evaluated(use: Use) -> list[Array]:
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - takes long

    feeds = {name: array for name, array in zip(use.node.input, use.inputs, strict=True) if array is not None}
    graph = onnx.helper.make_graph(
        [use.node],
        "folded",
        [onnx.ValueInfoProto(name=name) for name in feeds],
        [onnx.ValueInfoProto(name=name) for name in use.node.output if name],
    )
    try:
        found: Any = ReferenceEvaluator(graph, {"": use.opset}).run(None, feeds)
    except _UNABLE:
        raise Unfolded from None
    named = iter(found)
    return [next(named) if name else _NOTHING for name in use.node.output]


# What only moves entries: its answer takes less than the model of one node that onnx.reference makes of it


def _unsqueezed(use: Use) -> Array | None:
    data, axes = use.given(0), use.list("axes", 1)
    several = axes is None or len(axes) != 1
    if not axes or (several and (axes[0] < 0 or sorted({*axes}) != axes)):
        return None
    return np.expand_dims(data, tuple(axes))


def _joined(use: Use) -> Array | None:
    arrays, axis = [use.given(place) for place in range(len(use.inputs))], use.attribute("axis", None)
    return None if axis is None else np.concatenate(arrays, axis)


def _transposed(use: Use) -> Array | None:
    data, order = use.given(0), use.attribute("perm", None)
    return np.transpose(data, order) if order and sorted(order) == [*range(data.ndim)] else None


def _expanded(use: Use) -> Array | None:
    data, shape = use.given(0), use.given(1)
    if shape.ndim != 1 or (shape < 1).any():
        return None
    return np.broadcast_to(data, np.broadcast_shapes(data.shape, tuple(shape.tolist()))).copy()


_MOVED: dict[str, Callable[[Use], Array | None]] = {
    "Unsqueeze": _unsqueezed,
    "Concat": _joined,
    "Transpose": _transposed,
    "Expand": _expanded,
}
"""None where an input or an attribute is not a plain one."""
