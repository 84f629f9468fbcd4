"""View: one node of a graph whose dims are being freed, as its rule sees it.

A rule answers with the dims of the outputs and with edits, which are made when the whole graph has been decided; it
changes nothing but what is known of the sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.graphs.edit import Change, Edit, origin_of
from onereshape.graphs.free_rules.alignment import Axis
from onereshape.graphs.free_rules.state import Axes, FreeState, Make, shown
from onereshape.graphs.node_view import NodeView, Ranked, Refused
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Formula, Size


class FreeView(NodeView):
    """A node as the rule `free` sees it: the dims, the sizes and the constants of its inputs."""

    __slots__ = ("state",)

    def __init__(self, node: ir.Node, state: FreeState) -> None:
        super().__init__(node)
        self.state = state

    @property
    def opset(self) -> int:
        return self.state.opset

    def dims(self, index: int) -> Axes:
        """The dims of an input."""
        found = self.state.dims(self.value(index))
        if found is None:
            raise Refused(self.state.facts.unknown(self.value(index)))
        return Ranked(found)

    def known(self, index: int) -> tuple[Axis, ...]:
        """The dims of an input, all of which must be known."""
        return Ranked(_known(self.dims(index), self.value(index)))

    def rank(self, index: int) -> int:
        """The rank of an input."""
        return len(self.dims(index))

    def free(self, index: int) -> bool:
        """Whether the dims of an input depend on the symbols."""
        return self.has(index) and self.state.tensors.get(self.value(index)) is not None

    def output(self, index: int = 0) -> tuple[Size | None, ...]:
        """The dims of an output in the original."""
        found = self.state.original(self.node.outputs[index])
        if found is None:
            raise Refused(self.state.facts.unknown(self.node.outputs[index]))
        return found

    def live(self, index: int) -> list[Size | None] | None:
        """The integers of an input when the symbols are free."""
        found = self.state.live(self.value(index))
        return None if found is None else list(found.reshape(-1).tolist())

    def integers(self, index: int) -> list[int] | None:
        """The integers of an input, where they are all known numbers."""
        found = self.live(index)
        return _numbers(found)

    def constant(self, index: int) -> np.ndarray[Any, Any] | None:
        """The array of an input that does not depend on anything."""
        value = self.value(index)
        return None if self.state.matters(value) else self.state.folding.array(value)

    def move(self, size: Size | None) -> bool:
        """Whether a size depends on the symbols."""
        return self.state.moves(size)

    def same(self, one: Size, other: Size) -> bool:
        """Whether two sizes are equal, if need be by a condition on the symbols."""
        return self.state.equate(one, other)

    # Edits

    def change(self, value: ir.Value | None, message: str, before: str, after: str) -> Change:
        """What is reported of one input, or of the node itself."""
        origin = f"attribute of {self.label}" if value is None else origin_of(value)
        name = (self.node.outputs[0] if value is None else value).name or ""
        return Change("baked-dim", self.label, self.node.op_type, name, origin, message, before, after)

    def replace_input(self, index: int, message: str, before: str, after: str, make: Make) -> Edit:
        """An edit that puts another value in the place of an input."""
        node = self.node

        def apply(writer: Rewriter) -> None:
            node.replace_input_with(index, make(writer, node))

        return Edit((self.change(self.value(index), message, before, after),), apply, node, index)

    def set_attribute(self, name: str, message: str, before: Sequence[Any], after: Sequence[int]) -> Edit:
        """An edit of an attribute that is a list of integers."""
        node = self.node

        def apply(_: Rewriter) -> None:
            node.attributes[name] = ir.AttrInt64s(name, list(after))

        return Edit((self.change(None, message, str(list(before)), str(list(after))),), apply, node, None)

    def reword(self, index: int, wanted: Sequence[Size], what: str, meant: Size | None = None) -> Edit:
        """A vector of sizes that says the symbols; `meant` is the size that the first other entry stands for."""
        before = self.live(index)
        self.computable(wanted)
        place = next(each for each, size in enumerate(wanted) if before is None or before[each] != size)
        size = wanted[place] if meant is None else meant
        message = self.forced(size, f"{what}[{place}]", "?" if before is None else before[place])
        entries = tuple(wanted)
        edit = self.replace_input(
            index, message, shown(before), shown(entries), lambda writer, _: writer.vector(entries)
        )
        return edit._replace(entries=entries)

    def words(self, index: int) -> list[Size | None] | None:
        """The sizes that an input holds once the edits that are decided are made."""
        planned = self.state.planned.get((self.node, index))
        return self.live(index) if planned is None or planned.entries is None else list(planned.entries)

    def computes(self, wanted: Sequence[Size]) -> bool:
        """Whether the sizes can be computed from the dims of the inputs."""
        return all(not isinstance(size, Formula) or size.symbols <= self.state.sources for size in wanted)

    def computable(self, wanted: Sequence[Size]) -> None:
        """Makes sure that the sizes can be computed from the dims of the inputs."""
        for size in wanted:
            if not self.computes([size]):
                raise Refused(f"the size {size} would have to be computed, and no input has such a dim")

    def forced(self, size: Size, what: str, said: Any) -> str:
        """The message for a number that should be a size."""
        return f"{size} is forced to {self.state.then(size)} by {self.label}: {what} = {said}"


def _known(dims: Axes, value: ir.Value) -> tuple[Axis, ...]:
    if None in dims:
        raise Refused(f"the size of {value.name} at axis {dims.index(None)} is not known")
    return tuple(axis for axis in dims if axis is not None)


def _numbers(found: Sequence[Any] | None) -> list[int] | None:
    if found is None or not all(isinstance(each, int) for each in found):
        return None
    return [int(each) for each in found]
