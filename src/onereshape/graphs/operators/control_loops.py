"""Where the batch goes through loops: Loop and Scan.

What a loop carries has N at one and the same place in every turn; how often it turns must be the same for all samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.backtracking import inside
from onereshape.graphs.batch_rules.bodies import BatchBody, carrying, followed, found_inside
from onereshape.graphs.batch_rules.marks import Mark, marked
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.node_view import Refused, counted
from onereshape.graphs.operators.control_batch import check_output, graph_of, shown
from onereshape.rule.sizes import Size


class _Carried(NamedTuple):
    """The values that a loop hands from turn to turn."""

    slots: range
    """The inputs of the node that give their start values."""
    inside: Sequence[ir.Value]
    """The inputs of the body that are these values in a turn."""
    ends: range
    """The outputs of the body that are these values in the next turn."""


class _Shared(NamedTuple):
    """A value of the body that is the same for all samples."""

    inside: ir.Value
    slot: int
    """The input of the node that it is made of, or starts as,"""
    along: int | None = None
    """and the axis of that which is stepped along."""

    def given(self, mark: Mark) -> Mark:
        """Where the input carries N, if this does so there."""
        return mark if self.along is None else mark.at(mark.axis + (self.along <= mark.axis))


def _stable(
    view: BatchView,
    graph: ir.Graph,
    carried: _Carried,
    given: dict[ir.Value, Mark | None],
    steps: Sequence[_Shared] = (),
) -> BatchBody:
    """The body with the marks that hold in every turn: what one of them makes differ, differs in all.

    Of several samples, what begins with the same rows for each may have to be theirs from the start: what a turn makes
    of it is no constant.
    """
    own = dict(zip(carried.inside, (view.mark(slot) for slot in carried.slots), strict=True))
    try:
        return _settled(view, graph, carried, given, own)
    except Refused as refusal:
        if view.size == 1 or refusal.final:
            raise
        first = refusal
    starts = [*map(_Shared, carried.inside, carried.slots), *steps]
    for rows in _repeated(view, [start for start in starts if view.mark(start.slot) is None]):
        begun = {value: mark or rows.get(value) for value, mark in own.items()}
        stepped = {start.inside: rows[start.inside] for start in steps if start.inside in rows}
        try:
            return _settled(view, graph, carried, {**given, **stepped}, begun)
        except Refused:
            continue
    raise first


def _settled(
    view: BatchView,
    graph: ir.Graph,
    carried: _Carried,
    given: dict[ir.Value, Mark | None],
    own: dict[ir.Value, Mark | None],
) -> BatchBody:
    """The body, gone round until its marks stay the same."""
    while True:
        body = followed(view, graph, {**given, **own})
        after = {value: own[value] or body.mark(end) for value, end in zip(own, carried.ends, strict=True)}
        if after == own:
            return body
        own = after


def _repeated(view: BatchView, starts: Sequence[_Shared]) -> Iterator[dict[ir.Value, Mark]]:
    """Marks for constants whose rows repeat for each sample, all at one axis: axis 0 first, then axis 1, and so on."""
    most = max((view.rank(start.slot) for start in starts), default=0)
    for axis in range(most):
        found = {start.inside: Mark(axis) for start in starts if _repeats(view, start.slot, start.given(Mark(axis)))}
        if found:
            yield found


def _repeats(view: BatchView, slot: int, mark: Mark) -> bool:
    if mark.axis >= view.rank(slot):
        return False
    try:
        return view.rows(slot, mark) is None
    except Refused:
        return False


def _carried_marks(view: BatchView, body: BatchBody, carried: _Carried) -> tuple[list[Mark | None], list[Edit]]:
    """The marks of carried values, and the edits that give their starts and their ends N at the marked axis."""
    marks = [body.state.marks.get(value) for value in carried.inside]
    edits: list[Edit] = []
    for slot, value, end, mark in zip(carried.slots, carried.inside, carried.ends, marks, strict=True):
        if mark is not None:
            dims = body.state.dims(value)
            if dims is None or mark.axis >= len(dims) or dims[mark.axis] != mark.size(view.size):
                raise Refused(f"{value.name}, which it carries, has not the size of the batch in every turn")
            if view.mark(slot) is None:
                edits.append(view.spread(slot, mark))
        edits += carrying(view, body, end, mark)
    return marks, edits


def _uneven(value: ir.Value) -> Refused:
    return Refused(f"how often it turns depends on the sample: {value.name} carries the batch")


def batch_loop(view: BatchView) -> Iterator[BatchAnswer]:
    """Loop: as many turns for all samples; what it gives for each turn has N one axis further."""
    for slot in (0, 1):
        if view.mark(slot) is not None:
            raise _uneven(view.value(slot))
    count = len(view.node.inputs) - 2
    if count < 0:
        raise Refused("it has neither a number of turns nor a condition")
    graph = graph_of(view, "body", count + 2, max(count, len(view.node.outputs)) + 1)
    carried = _Carried(range(2, count + 2), graph.inputs[2:], range(1, count + 1))
    body = _stable(view, graph, carried, {})
    if body.mark(0) is not None:
        raise _uneven(graph.outputs[0])
    marks, edits = _carried_marks(view, body, carried)
    for place in range(count + 1, len(view.node.outputs) + 1):
        mark, output = body.mark(place), view.node.outputs[place - 1]
        dims = view.state.dims(output)
        if mark is not None and output.name and (dims is None or dims[mark.axis + 1] != mark.size(view.size)):
            raise Refused(f"whether it turns at all is not known, and if not, {output.name} has dims of its own")
        if mark is not None and output.name and dims is not None and not _turns(view):
            edits.append(_stacked(view, place - 1, dims, mark.at(mark.axis + 1)))
        marks.append(None if mark is None else mark.at(mark.axis + 1))
    yield _answer(view, body, marks, edits)


def _turns(view: BatchView) -> bool:
    """Whether a Loop turns once for sure."""
    count, first = (view.integers(slot) if view.has(slot) else [1] for slot in (0, 1))
    return bool(count and first and count[0] > 0 and first[0])


def _stacked(view: BatchView, place: int, dims: Sequence[Size], mark: Mark) -> Edit:
    """What a Loop gives for each turn, with N in its dims where there is no turn: the engine takes 0 for it there."""
    if view.opset < 7:
        raise Refused("whether it turns at all is not known, and to say the dims of no turn needs opset 7")
    view.not_empty(dims)
    wanted = [0, *marked(dims, mark, view.batch)[1:]]
    node, name = view.node, view.node.outputs[place].name
    message = (
        f"{view.label} may not turn at all, and then {name} has {view.state.symbol} at axis {mark.axis} all the same"
    )
    return view.edit(
        None,
        message,
        shown(dims[1:]),
        shown(wanted),
        lambda build: build.reshape_output(node, build.summed(wanted), place),
    )


def batch_scan(view: BatchView) -> Iterator[BatchAnswer]:
    """Scan: along an axis that is not the batch, so that each step sees all samples; or through the samples alone."""
    if view.opset < 9:
        raise Refused("before opset 9 it takes its inputs otherwise")
    node, steps = view.node, int(view.attribute("num_scan_inputs", 0))
    states = len(node.inputs) - steps
    if not 1 <= steps <= len(node.inputs):
        raise Refused(f"it steps through {steps} of its {len(node.inputs)} inputs")
    graph = graph_of(view, "body", len(node.inputs), max(states, len(node.outputs)))
    axes = [
        counted(axis, view.rank(states + place)) for place, axis in enumerate(_listed(view, "scan_input_axes", steps))
    ]
    given: dict[ir.Value, Mark | None] = {}
    for slot, along in enumerate(axes, states):
        mark = view.mark(slot)
        if mark is not None and mark.axis == along:
            yield _one_by_one(view, graph, axes)
            return
        if mark is not None:
            given[graph.inputs[slot]] = mark.at(mark.axis - (along < mark.axis))
    carried = _Carried(range(states), graph.inputs[:states], range(states))
    shared = [
        _Shared(graph.inputs[slot], slot, along) for slot, along in enumerate(axes, states) if view.mark(slot) is None
    ]
    body = _stable(view, graph, carried, given, shared)
    _check_states(body, carried)
    marks, edits = _carried_marks(view, body, carried)
    edits += _spread_steps(view, body, shared)
    for place, axis in enumerate(_listed(view, "scan_output_axes", len(graph.outputs) - states)):
        mark = body.mark(states + place)
        if mark is not None:
            mark = mark.at(mark.axis + (counted(axis, len(body.dims(states + place)) + 1) <= mark.axis))
        marks.append(mark)
    yield _answer(view, body, marks, edits)


def _check_states(body: BatchBody, carried: _Carried) -> None:
    """Refuses a state that changes its dims: that is no Scan, though engines may let it pass."""
    for value, end in zip(carried.inside, carried.ends, strict=True):
        before, after = body.state.dims(value), body.state.dims(body.graph.outputs[end])
        if before is not None and after is not None and before != after:
            raise Refused(f"its state {value.name} has dims {shown(before)} before a step and {shown(after)} after it")


def _spread_steps(view: BatchView, body: BatchBody, shared: Sequence[_Shared]) -> Iterator[Edit]:
    """The edits that spread scanned inputs over N where the body had to take their slices for each sample's own."""
    for step in shared:
        mark = body.state.marks.get(step.inside)
        if mark is not None:
            yield view.spread(step.slot, step.given(mark))


def _one_by_one(view: BatchView, graph: ir.Graph, axes: Sequence[int]) -> BatchAnswer:
    """A step for each sample: nothing goes from one to the next, and what each gives has its place."""
    states = len(view.node.inputs) - len(axes)
    for slot, along in enumerate(axes, states):
        if view.mark(slot) != Mark(along):
            raise Refused(
                f"it steps through the samples, and {view.value(slot).name} has them elsewhere, or not at all"
            )
    name = view.value(states).name
    if states:
        raise Refused(f"it steps along axis {axes[0]} of {name}, which is {view.batch}, with a state", mixes=True)
    state = view.state
    if any(value in state.marks or value in state.sized for value in inside(view.node)):
        raise Refused(f"it steps through the samples of {name}, and each step reads all of them", mixes=True)
    given = _listed(view, "scan_output_axes", len(graph.outputs))
    turned = {*_listed(view, "scan_input_directions", len(axes))}
    if len(turned.union(_listed(view, "scan_output_directions", len(graph.outputs)))) > 1:
        raise Refused(f"it steps through the samples of {name}, and gives them in another order", mixes=True)
    body = followed(view, graph)
    marks = [Mark(counted(axis, len(body.dims(place)) + 1)) for place, axis in enumerate(given)]
    return _answer(view, body, marks, ())


def _answer(view: BatchView, body: BatchBody, marks: Sequence[Mark | None], edits: Sequence[Edit]) -> BatchAnswer:
    marks = tuple(marks[: len(view.node.outputs)])
    for index, mark in enumerate(marks):
        check_output(view, index, mark)
    return BatchAnswer(marks, (*body.edits, *edits), inside=found_inside(view, body))


def _listed(view: BatchView, name: str, count: int) -> list[int]:
    found = view.attribute(name)
    if found is not None and len(found) != count:
        raise Refused(f"its {name} are {len(found)} for {count} tensors")
    return [0] * count if found is None else [int(axis) for axis in found]
