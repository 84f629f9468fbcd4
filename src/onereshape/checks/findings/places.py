"""Where the nodes of a model are, in the order of its graph."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import chain

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import nodes as walk, roots


class Places:
    """Where the nodes of a model are, found when somebody asks."""

    def __init__(self, model: ir.Model) -> None:
        self._model = model

    def _all(self) -> Iterator[tuple[ir.Node, str]]:
        return chain.from_iterable(walk(root, start) for root, start in roots(self._model))

    @cached_property
    def of(self) -> dict[ir.Node, str]:
        """The place of each node."""
        return dict(self._all())

    @cached_property
    def called(self) -> dict[str, str]:
        """The place of each node by what it is called: one without a name by its place, or by its first output."""
        found: dict[str, str] = {}
        for node, place in self._all():
            name = node.name
            found.setdefault(name or place, place)
            if not name and node.outputs:
                found.setdefault(f"{node.op_type} of {node.outputs[0].name}", place)
        return found

    @cached_property
    def order(self) -> dict[str, int]:
        """The place of each node -> how many nodes are before it."""
        return {place: number for number, place in enumerate(self.of.values())}
