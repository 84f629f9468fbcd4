"""Inputs that carry N at different places, brought to one.

Two operands that meet with N at axis 0 of one and axis 2 of the other would have each sample meet all others.  Of one
sample both axes have size 1, so that they can change places: then N is at the same axis of both, and each sample meets
itself.  It is tried only where no other answer of an earlier rule helps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import wraps

import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import Apart
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.node_view import Refused
from onereshape.graphs.rewrite import Rewriter

BatchRule = Callable[[BatchView], Iterator[BatchAnswer]]


def aligning(rule: BatchRule) -> BatchRule:
    """The rule; where its inputs carry N at different places, asked again with all of them at one."""

    @wraps(rule)
    def answers(view: BatchView) -> Iterator[BatchAnswer]:
        try:
            yield from rule(view)
        except Apart as refused:
            if not view.state.aligns:
                view.state.apart = True
                raise
            found = _first(rule, view)
            if found is None:
                raise refused from None
            yield found

    return answers


def _first(rule: BatchRule, view: BatchView) -> BatchAnswer | None:
    """The first answer of a rule asked with N at one axis of all inputs, and the edits that bring N there, or None."""
    for swaps in _places(view):
        marks = {index: mark.at(swaps[index][1]) for index in swaps if (mark := view.mark(index))}
        try:
            answer = next(rule(view.elsewhere(marks)), None)
        except Refused:
            continue
        if answer is not None:
            moves = [_swap(view, index, *axes) for index, axes in swaps.items()]
            return answer._replace(edits=(*moves, *answer.edits))
    return None


def _places(view: BatchView) -> Iterator[Mapping[int, tuple[int, int]]]:
    """Ways to bring N to one axis, counted from the right: the inputs that must change, and which axes they swap."""
    batched = [(index, mark) for index in view.batched() if (mark := view.mark(index)) is not None]
    bare = all(mark.bare and view.counts(index) is None for index, mark in batched)
    if view.size != 1 or view.state.named or not bare:
        return
    now = {index: view.rank(index) - mark.axis for index, mark in batched}
    for place in sorted({*now.values(), *(view.rank(index) for index in now)}, reverse=True):
        ranks = {index: view.rank(index) for index, own in now.items() if own != place}
        swaps = {index: (rank - now[index], rank - place) for index, rank in ranks.items()}
        if all(to >= 0 and view.dims(index)[to] == 1 for index, (_, to) in swaps.items()):
            yield swaps


def _swap(view: BatchView, index: int, axis: int, to: int) -> Edit:
    """An input with two of its axes in each other's place."""
    order = list(range(view.rank(index)))
    order[axis], order[to] = to, axis

    def make(build: Rewriter, value: ir.Value) -> ir.Value:
        return build.insert(view.node, "Transpose", [value], {"perm": order})

    name, symbol = view.value(index).name, view.state.symbol
    message = f"{name} carries {symbol} at axis {axis}, and {view.label} meets the other samples there"
    return view.replace_input(index, message, f"{symbol} at axis {axis}", f"{symbol} at axis {to}", make)
