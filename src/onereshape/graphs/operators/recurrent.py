"""Operators on many sequences: the recurrences RNN, GRU and LSTM run along their steps, ReverseSequence turns them."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.graphs.batch_rules.answers import common_mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.growth import grown_input
from onereshape.graphs.free_rules.meeting import ONE, Meeting, summed
from onereshape.graphs.free_rules.state import FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused
from onereshape.graphs.record import Record


def shape_recurrence(asking: Asking) -> Shapes:
    """RNN, GRU, LSTM: all states, the last one, and of an LSTM the last cell."""
    dims = asking.dims(0)
    if len(dims) != 3:
        raise Refused("its data have not three dims")
    first = asking.attribute("layout", 0) == 1 and asking.opset >= 14
    directions = 2 if asking.attribute("direction", "forward") == "bidirectional" else 1
    hidden = asking.attribute("hidden_size")
    if hidden is None:
        weights = asking.known(2)
        hidden = asking.new() if weights is None or len(weights) != 3 else weights[2]
    if first:
        return [(dims[0], dims[1], directions, hidden), *[(dims[0], directions, hidden)] * 2]
    return [(dims[0], directions, dims[1], hidden), *[(directions, dims[1], hidden)] * 2]


def batch_recurrence(view: BatchView) -> Iterator[BatchAnswer]:
    """RNN, GRU, LSTM: N is at the batch axis of the sequence and of the states."""
    first = view.attribute("layout", 0) == 1
    axis = 0 if first else 1
    slots = {0: axis, 4: 0, 5: axis, 6: axis}
    found = {index: mark for index in view.batched() if (mark := view.mark(index))}
    for index, mark in found.items():
        if index not in slots:
            raise Refused(f"its weights {view.value(index).name} differ from sample to sample")
        if mark.axis != slots[index]:
            what = "steps" if index == 0 and mark.axis == 1 - axis else "features"
            raise Refused(f"it runs along axis {mark.axis}, its {what}, which is {mark.size(view.batch)}", mixes=True)
    home = common_mark([mark.at(0) for mark in found.values()], view)
    edits = [
        view.spread(index, home.at(place)) for index, place in slots.items() if view.has(index) and index not in found
    ]
    outputs = (home.at(0 if first else 2), home.at(axis), home.at(axis))
    yield BatchAnswer(outputs[: len(view.node.outputs)], tuple(edits))


def free_recurrence(view: FreeView) -> Iterator[FreeAnswer]:
    """LSTM, GRU, RNN: any number of steps and of sequences; one state for each sequence to begin with."""
    if not len(view.dims(0)) == len(view.dims(1)) == len(view.known(2)) == 3:
        raise Refused("its data or its weights have not three dims")
    layout = view.attribute("layout", 0)
    batch = 0 if layout else 1
    states = [(index, 0 if index == 4 else batch) for index in (4, 5, 6) if view.has(index)]
    meeting = Meeting(view)
    edits = meeting.result(lambda each: (each.meet([(0, batch), *states], broadcasts=False),)).edits
    dims = meeting.dims(0)
    steps, sequences = (dims[1], dims[0]) if layout else (dims[0], dims[1])
    summed(view, (0, dims[2]), (1, view.dims(1)[2]))
    _check_lengths(view, 4, steps)
    directions: Axis = (2,) if view.attribute("direction", "forward") == "bidirectional" else ONE
    hidden: Axis = (size_of(view.known(2)[2]),)
    whole = (sequences, steps, directions, hidden) if layout else (steps, directions, sequences, hidden)
    last = (sequences, directions, hidden) if layout else (directions, sequences, hidden)
    yield FreeAnswer((whole, *[last] * (len(view.node.outputs) - 1)), edits)


def _check_lengths(view: FreeView, index: int, steps: Axis | None) -> None:
    """Refuses sequences that are said to be as long as they were, where their steps are free."""
    lengths = view.constant(index) if view.has(index) else None
    then = None if steps is None or not view.move(size_of(steps)) else view.state.then(size_of(steps))
    if lengths is not None and isinstance(then, int) and (lengths == then).any():
        raise Refused(f"its sequences have {then} steps each, which is fixed, of {size_of(steps or ONE)}")


def _reversed_axes(view: NodeView) -> tuple[int, int]:
    """The axis of the sequences, and that of their steps: a ReverseSequence has them in front."""
    found = int(view.attribute("batch_axis", 1)), int(view.attribute("time_axis", 0))
    if {*found} != {0, 1}:
        raise Refused(f"it has its sequences at axis {found[0]} and their steps at axis {found[1]}, not at 0 and 1")
    return found


def batch_reverse(view: BatchView) -> Iterator[BatchAnswer]:
    """ReverseSequence: the first steps of each sequence are turned; N is among the sequences, or in what they hold."""
    sequences, steps = _reversed_axes(view)
    data, lengths = view.mark(0), view.mark(1)
    if data is not None and data.axis == steps:
        raise Refused(f"it turns axis {steps} around, which is {data.size(view.batch)}", mixes=True)
    if data is not None and data.axis != sequences and lengths is None:
        yield BatchAnswer((data,))
        return
    home = common_mark([mark for mark in (data, lengths and lengths.at(sequences)) if mark], view)
    edits = [] if data is not None else [view.spread(0, home)]
    edits += [] if lengths is not None else [view.spread(1, home.at(0))]
    yield BatchAnswer((home,), tuple(edits))


def free_reverse(view: FreeView) -> Iterator[FreeAnswer]:
    """ReverseSequence: the dims of data; a fixed number of sequences, or of lengths, grows to match the free number."""
    sequences, steps = _reversed_axes(view)
    dims, edits = view.dims(0), tuple[Edit, ...]()
    own, given = dims[sequences], view.dims(1)[0]
    if own is not None and given is not None and own != given:
        here, there = size_of(own), size_of(given)
        if view.move(here) and not view.move(there):
            edits = (grown_input(view, 1, {0: here})[0],)
        elif view.move(there) and not view.move(here):
            grown, dims = grown_input(view, 0, {sequences: there})
            edits = (grown,)
        elif view.move(here) and not view.same(here, there):
            raise Refused(f"it has {here} sequences and {there} lengths, which are equal at the original size only")
    _check_lengths(view, 1, dims[steps])
    yield FreeAnswer((dims,), edits)


RECORDS = {
    **dict.fromkeys(
        ("RNN", "GRU", "LSTM"),
        Record(shape=shape_recurrence, batch=batch_recurrence, free=free_recurrence, takes={4: "lengths"}),
    ),
    "ReverseSequence": Record(
        shape=same_first, batch=batch_reverse, free=free_reverse, carries=frozenset({0}), takes={1: "lengths"}
    ),
}
