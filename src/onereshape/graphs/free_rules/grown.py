"""Grown: a tensor that is as large as it must be, and the copy of a node on such tensors while it is being made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.edit import Change
from onereshape.graphs.free_rules.alignment import size_of
from onereshape.graphs.free_rules.state import Axes, FreeState, Limit, Make, shown, sizes
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.rule.sizes import Size

Wanted = Mapping[int, Size]
"""Axis -> the size that it must have."""


class Grown(NamedTuple):
    """A tensor made larger: its dims, and how it is made."""

    dims: Axes
    make: Make
    span: Size | None = None
    """Its largest entry, of integers."""
    uses: tuple[ir.Value, ...] = ()
    changes: tuple[Change, ...] = ()
    limits: tuple[Limit, ...] = ()


class Growing(NamedTuple):
    """One node about to be copied so that its output has the wanted sizes, as the rule `grows` sees it."""

    view: FreeView
    wanted: Wanted
    label: str
    depth: int
    grow: Callable[[FreeState, ir.Value, Wanted, str, int], Grown]

    def input(self, index: int, wanted: Wanted) -> Grown:
        """Input `index` grown along the wanted axes: `{0: S}` makes a table of 12 rows one of S rows."""
        whole = self._whole(index, wanted)
        return self.grow(self.view.state, self.view.value(index), whole, self.view.label, self.depth + 1)

    def _whole(self, index: int, wanted: Wanted) -> Wanted:
        """The sizes wanted of an input, and the sizes that an edit of this node has already planned for it."""
        planned = self.view.state.planned.get((self.view.node, index))
        return wanted if planned is None else {**(planned.wanted or {}), **wanted}

    def exactly(self, index: int, wanted: Wanted) -> Grown:
        """An input grown along the wanted axes; refused if another axis of it would grow too."""
        view = self.view
        grown = self.input(index, wanted)
        for axis, (own, new) in enumerate(zip(view.dims(index), grown.dims, strict=True)):
            if axis not in self._whole(index, wanted) and own != new and own is not None and new is not None:
                why = f"{view.value(index).name} grows along axis {axis} too, from {size_of(own)} to {size_of(new)}"
                raise Refused(why)
        return grown

    def entries(self, index: int, what: str) -> list[Size]:
        """The sizes that an input holds, all of them known."""
        words = self.view.words(index)
        if words is None or None in words:
            raise Refused(f"the {what} of {self.view.label} is computed at run time from what is not known")
        return [size for size in words if size is not None]

    def reworded(self, own: Wanted, index: int, entries: Sequence[Size], what: str) -> Inputs:
        """Data grown along the axes `own`, and input `index`, a vector of sizes, with `entries` where it has others."""
        found = {0: self.exactly(0, own)} if own else {}
        if entries != self.view.words(index):
            found[index] = self.vector(index, entries, what)
        return found, {}

    def vector(self, index: int, entries: Sequence[Size], what: str) -> Grown:
        """An input that holds sizes, rewritten: entries `[1, S]` in place of `[1, 12]`."""
        view, kept = self.view, list(entries)
        view.computable(kept)
        before = view.words(index)
        place = next(each for each, size in enumerate(kept) if before is None or before[each] != size)
        message = view.forced(kept[place], f"{what}[{place}]", "?" if before is None else before[place])
        change = view.change(view.value(index), message, shown(before), shown(kept))
        return Grown(((len(kept),),), lambda writer, _: writer.vector(kept), changes=(change,))


Inputs = tuple[dict[int, Grown], Wanted]
"""The inputs that are others, and the axes of the output that grew though nobody asked."""


def moved_axes(growing: Growing, origins: Sequence[int | None]) -> Inputs:
    """For operators that only move axes: each axis of the output is one of data, or new."""
    own: dict[int, Size] = {}
    for axis, size in growing.wanted.items():
        origin = origins[axis]
        if origin is None:
            raise Refused(f"{growing.view.label} makes axis {axis}, which has size 1, where {size} is needed")
        own[origin] = size
    grown = growing.input(0, own)
    own = {place: size for place, size in enumerate(sizes(grown.dims)) if size is not None}
    further = {place: size for place, size in own.items() if growing.view.move(size)}
    return {0: grown}, {axis: further[origin] for axis, origin in enumerate(origins) if origin in further}


def same_axes(growing: Growing) -> Inputs:
    return moved_axes(growing, range(growing.view.rank(0)))
