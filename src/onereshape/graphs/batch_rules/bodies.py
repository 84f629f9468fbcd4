"""Graphs inside nodes, followed with the batch: what the values in them carry, and where their outputs are to carry it.

What a graph reads from outside carries there what it carries outside.  What its inputs carry the rule of its node says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.marks import Mark, times
from onereshape.graphs.batch_rules.spreading import first, spread
from onereshape.graphs.batch_rules.view import BatchState, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.node_view import Refused
from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Size


class BatchBody(NamedTuple):
    """A graph inside a node that was decided."""

    graph: ir.Graph
    state: BatchState
    """What is known in it."""
    edits: tuple[Edit, ...]

    def mark(self, place: int) -> Mark | None:
        """Where an output carries N."""
        return self.state.marks.get(self.graph.outputs[place])

    def dims(self, place: int) -> tuple[Size, ...]:
        """The dims of an output in the original."""
        end = self.graph.outputs[place]
        dims = self.state.dims(end)
        if dims is None:
            raise Refused(f"the rank of {end.name}, inside it, is not known")
        return dims


def followed(view: BatchView, graph: ir.Graph, marks: Mapping[ir.Value, Mark | None] | None = None) -> BatchBody:
    """Decides a graph inside a node; `marks` are those of its inputs."""
    if view.state.follow is None:
        raise RuntimeError("a graph inside a node is followed only by a search")
    given = {value: mark for value, mark in (marks or {}).items() if mark is not None}
    state = view.state.within(given)
    edits = view.state.follow(graph, state)
    return BatchBody(graph, state, (*edits, *_pinned(view, graph, state)))


def found_inside(view: BatchView, *bodies: BatchBody) -> dict[ir.Value, Mark]:
    """The marks of the values in graphs, without those of what they read from outside."""
    outside = view.state.marks
    return {value: mark for body in bodies for value, mark in body.state.marks.items() if value not in outside}


def _pinned(view: BatchView, graph: ir.Graph, state: BatchState) -> list[Edit]:
    """Outputs that would grow with N, as what one sample has: who reads them outside could not tell."""
    found = []
    for place, end in enumerate(graph.outputs):
        if end in state.counts:
            raise Refused(f"the graph inside it gives {end.name}, the numbers of the samples")
        if end not in state.sized:
            continue
        view.not_told(end.name or "")
        array = state.folding.array(end)
        if array is None:
            raise Refused(f"{end.name}, inside it, is computed from {state.symbol}, and its value is not known")
        message = f"{view.label} gives {end.name}, which grows with {state.symbol}, where each sample has its own"
        said = _Said(graph, place, message, "computed", str(array.tolist()))
        found.append(_ended(view, said, partial(_constant, array)))
    return found


def _constant(array: Array, build: Rewriter, _: ir.Value) -> ir.Value:
    return build.constant(array)


def carrying(view: BatchView, body: BatchBody, place: int, mark: Mark | None) -> list[Edit]:
    """What makes an output of a graph carry N at a place: it is spread there, or N is moved to there."""
    own, end, symbol = body.mark(place), body.graph.outputs[place], view.state.symbol
    if own == mark:
        return []
    if mark is None:
        raise Refused(f"{end.name}, inside it, carries {symbol} where it must not")
    dims = body.dims(place)
    if own is None:
        return [_spread(view, body, place, dims, mark)]
    if view.size != 1 or not (own.bare and mark.bare) or dims[own.axis] != 1 or dims[mark.axis] != 1:
        raise Refused(
            f"{end.name}, inside it, carries {symbol} at axis {own.axis} ({own.size(view.batch)}), "
            f"and has to carry it at axis {mark.axis} ({mark.size(view.batch)})"
        )
    order = list(range(len(dims)))
    order[own.axis], order[mark.axis] = mark.axis, own.axis
    message = f"{end.name}, inside {view.label}, carries {symbol} at axis {own.axis}, and has to at axis {mark.axis}"

    def make(build: Rewriter, now: ir.Value) -> ir.Value:
        return build.after(now, "Transpose", [now], {"perm": order})

    return [_ended(view, _Said(body.graph, place, message, f"axis {own.axis}", f"axis {mark.axis}"), make)]


def _spread(view: BatchView, body: BatchBody, place: int, dims: tuple[Size, ...], mark: Mark) -> Edit:
    end = body.graph.outputs[place]
    name, here, one = end.name, dims[mark.axis] if mark.axis < len(dims) else 0, times(mark.outer, mark.inner)
    rows = None if here == one else _rows_of_one(view, body, end, dims, mark)
    if here != one and rows is None:
        raise Refused(f"{name}, inside it, has size {here} where one sample has {one}")
    if mark.outer != 1 and not all(isinstance(dim, int) for dim in dims):
        raise Refused(f"{name}, inside it, would have to be spread between sizes that are not known")
    if mark.outer != 1:
        view.not_empty(dims)
    symbol = view.state.symbol
    message = (
        f"{name}, inside {view.label}, is the same for all samples, "
        f"and has size {here} at axis {mark.axis}, where {symbol} is needed"
    )
    said = _Said(body.graph, place, message, str(here), f"spread over {symbol} at axis {mark.axis}")
    if rows is None:
        return _ended(view, said, lambda build, now: spread(build, now, dims, mark))
    single = (*dims[: mark.axis], rows, *dims[mark.axis + 1 :])
    return _ended(view, said, lambda build, now: spread(build, first(build, now, mark.axis, rows), single, mark))


def _rows_of_one(view: BatchView, body: BatchBody, end: ir.Value, dims: tuple[Size, ...], mark: Mark) -> int | None:
    """The number of rows of one sample in an output whose rows repeat for each sample; None where they differ."""
    rows, array = mark.inner, body.state.folding.array(end)
    if array is None or mark.outer != 1 or not isinstance(rows, int) or dims[mark.axis] != view.size * rows:
        return None
    apart = np.moveaxis(array, mark.axis, 0).reshape(view.size, -1)
    return rows if all(apart[0].tobytes() == row.tobytes() for row in apart) else None


class _Said(NamedTuple):
    """An output of a graph, and what is told of its change."""

    graph: ir.Graph
    place: int
    message: str
    before: str
    after: str


def _ended(view: BatchView, said: _Said, make: Callable[[Rewriter, ir.Value], ir.Value]) -> Edit:
    """An edit that puts what is made of an output of a graph in its place."""

    def apply(build: Rewriter) -> None:
        now = said.graph.outputs[said.place]
        dims = None if now.shape is None else ir.Shape([None] * len(now.shape))  # as it was, N was elsewhere
        build.end(said.graph, said.place, make(build, now), dims)

    return view.edit(None, *said[2:], apply)
