"""Reshapes that are Transposes of several samples: the batch of 1 moved past other entries.

Of one sample [1, S, E] and [S, 1, E] have their elements in the same order, so converters write a Reshape where a
Transpose stood.  Of several samples it is none: N is brought to its place by a Transpose, and the Reshape does the
rest.  It is tried only where N is needed at a place where no Reshape can put it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onereshape.graphs.batch_rules.marks import Mark, homes, marked, over, times
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.node_view import Refused
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Size


def turned(view: BatchView, mark: Mark) -> Iterator[BatchAnswer]:
    """The answers with N on an axis of size 1 that does not begin where N stands."""
    if view.size != 1 or view.state.named or view.opset < 5 or view.counts(0) is not None:
        return
    natural = {home.axis for home in homes(view.dims(0), mark, view.output_dims(), view.size)}
    for axis, dim in enumerate(view.output_dims()):
        parts = _parts(view, mark, axis) if dim == 1 and axis not in natural else None
        if parts is None:
            continue
        if not view.state.turns:
            view.state.turned = True
            return
        try:
            edit = _turn(view, mark, Mark(axis), parts)
        except Refused:
            continue
        yield BatchAnswer((Mark(axis),), (edit,))


def _parts(view: BatchView, mark: Mark, axis: int) -> tuple[list[Size], list[int]] | None:
    """The dims of which two must change places for N to begin at an axis, and their order then."""
    data, output, batch = view.dims(0), view.output_dims(), view.batch
    now, then = times(*data[: mark.axis], mark.outer), times(*output[:axis])
    behind = times(mark.inner, *data[mark.axis + 1 :])
    whole = (*data, *output, mark.outer, mark.inner)
    if (past := over(now, then, whole)) is not None:
        parts, order = [then, past, batch, behind], [0, 2, 1, 3]
    elif (past := over(then, now, whole)) is not None and (rest := over(behind, past, whole)) is not None:
        parts, order = [now, batch, past, rest], [0, 2, 1, 3]
    else:
        return None
    kept = [place for place, part in enumerate(parts) if part != 1]
    return [parts[place] for place in kept], [kept.index(place) for place in order if place in kept]


def _turn(view: BatchView, mark: Mark, home: Mark, parts: tuple[Sequence[Size], Sequence[int]]) -> Edit:
    """A Transpose before the Reshape, whose target has N at its place."""
    apart, order = parts
    node, symbol = view.node, view.state.symbol
    data, wanted = marked(view.dims(0), mark, view.batch), marked(view.output_dims(), home, view.batch)
    first = None if list(data) == list(apart) else view.sayable(data, apart)
    last = view.sayable([apart[place] for place in order], wanted)

    def apply(build: Rewriter) -> None:
        value = view.value(0)
        if first is not None:
            value = build.insert(node, "Reshape", [value, build.vector(first)])
        node.replace_input_with(0, build.insert(node, "Transpose", [value], {"perm": [*order]}))
        node.replace_input_with(1, build.vector(last))
        node.attributes.pop("allowzero", None)

    before, after = view.integers(1), ", ".join(map(str, wanted))
    message = f"{view.label} moves {symbol} past other entries to axis {home.axis}: of 1 sample a Reshape does that"
    said = "computed" if before is None else str(before)
    return view.edit(1, message, said, f"a Transpose, then [{after}]", apply)._replace(slot=None)
