"""Folding: the arrays that parts of a graph compute from constants and known shapes alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
import onnx_ir as ir

from onereshape.graphs.constants import constant_tensor
from onereshape.graphs.folding.folded_operators import Unfolded, Use, folded
from onereshape.graphs.folding.folded_work import work
from onereshape.graphs.registry import record_of
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Size

MOST_ELEMENTS = 1 << 24
"""Of an array that is folded; nothing that is tiled over a batch is larger."""
MOST_TOGETHER = 1 << 26
"""Elements of all arrays that one search folds."""
_MOST_NODES = 2_000

DimsOf = Callable[[ir.Value], Sequence[Size | None] | None]


class Folding:
    """Arrays by value, each found once."""

    def __init__(self, dims: DimsOf, opset: int, *, fixed: bool = False) -> None:
        self._dims = dims
        self._opset = opset
        self._fixed = fixed
        """Whether initializers that are inputs too are what they are."""
        self._found: dict[ir.Value, Array | None] = {}
        self._left = MOST_TOGETHER

    def array(self, value: ir.Value) -> Array | None:
        """What a value always is, or None if that is not known."""
        if value not in self._found:
            self._fold(value)
        return self._found[value]

    def applied(self, node: ir.Node, inputs: Sequence[Array | None]) -> Array | None:
        """The first output of a node on these integers, or None if that is not known."""
        if any(value is not None and array is None for value, array in zip(node.inputs, inputs, strict=True)):
            return None
        found = self._used(node, [None if array is None else array.astype(np.int64) for array in inputs])
        return None if found is None else found[0]

    def _fold(self, value: ir.Value) -> None:
        """Finds a value, and all that it is computed from."""
        for node in self._needed(value):
            if all(output in self._found for output in node.outputs):
                continue
            arrays = self._outputs(node)
            for index, output in enumerate(node.outputs):
                self._found[output] = None if arrays is None else arrays[index]
        self._found.setdefault(value, None)

    def _needed(self, value: ir.Value) -> list[ir.Node]:
        """The nodes that compute a value, in order; none where one of them cannot be folded."""
        order: list[ir.Node] = []
        seen: set[ir.Node] = set()
        pending: list[tuple[ir.Value, bool]] = [(value, False)]
        while pending:
            current, done = pending.pop()
            node = current.producer()
            if done and node is not None:
                order.append(node)
                continue
            if self._known(current):
                if self._found[current] is None:
                    return []
                continue
            if node is None or not record_of(node).folds:
                return []
            if node in seen:
                continue
            seen.add(node)
            if len(seen) > _MOST_NODES or self._large(node):
                return []
            pending.append((current, True))
            if self._sizes(node) is None:
                pending += [(each, False) for each in node.inputs if each is not None]
        return order

    def _known(self, value: ir.Value) -> bool:
        """Whether a value was found before, or is a constant."""
        if value in self._found:
            return True
        tensor = constant_tensor(value)
        if tensor is None:
            return False
        known = (self._fixed or not value.is_graph_input()) and tensor.size <= MOST_ELEMENTS
        self._found[value] = np.asarray(tensor.numpy()) if known else None
        return True

    def _large(self, node: ir.Node) -> bool:
        for output in node.outputs:
            dims = self._dims(output)
            if dims is not None and prod(dim for dim in dims if isinstance(dim, int)) > MOST_ELEMENTS:
                return True
        return False

    def _sizes(self, node: ir.Node) -> list[int] | None:
        """The dims that a Shape or a Size reads, where all are numbers."""
        value = node.inputs[0] if record_of(node).from_dims is not None and node.inputs else None
        dims = None if value is None else self._dims(value)
        if dims is None or not all(isinstance(dim, int) for dim in dims):
            return None
        return [dim for dim in dims if isinstance(dim, int)]

    def _outputs(self, node: ir.Node) -> list[Array] | None:
        sizes = self._sizes(node)
        from_dims: Callable[[ir.Node, Sequence[int]], Array] | None = record_of(node).from_dims
        if sizes is not None and from_dims is not None:
            return [from_dims(node, sizes)]
        arrays = [None if value is None else self._found.get(value) for value in node.inputs]
        if any(value is not None and array is None for value, array in zip(node.inputs, arrays, strict=True)):
            return None
        return self._used(node, arrays)

    def _used(self, node: ir.Node, arrays: Sequence[Array | None]) -> list[Array] | None:
        proto = ir.serde.serialize_node(node)
        proto.domain = ""
        try:
            use = Use(proto, self._opset, arrays)
            if work(use) > min(MOST_ELEMENTS, self._left):
                return None
            found = folded(use)
        except Unfolded:
            return None
        self._left -= sum(array.size for array in found)
        return found if all(array.size <= MOST_ELEMENTS for array in found) else None
