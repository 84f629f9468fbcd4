"""Sequences, each tensor of which carries the batch where it does by itself, and values that may be left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import common_mark, only_first
from onereshape.graphs.batch_rules.marks import Mark, times
from onereshape.graphs.batch_rules.spreading import spread
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds
from onereshape.graphs.node_view import NodeView, Refused, counted
from onereshape.graphs.operators.joining import joined
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Size

_MOST: int = 1 << 12
"""Tensors that one is split into."""


def kinds_first(given: Kinds, _: Attribute) -> list[Kind | None]:
    """The type of input 0, which for a sequence is the type of its tensors."""
    return [given(0)]


def _answer(parts: Sequence[Mark | None], edits: tuple[Edit, ...] = ()) -> BatchAnswer:
    """A sequence of tensors that carry N here."""
    first = next((mark for mark in parts if mark is not None), None)
    return BatchAnswer((first,), edits, parts=tuple(parts))


def _place(view: NodeView, index: int, count: int, *, end: bool = False) -> int | None:
    """A position in a sequence of so many tensors: the last one, or the place after it, where none is given."""
    if not view.has(index):
        return count - (not end)
    given = view.integers(index)
    return None if not given else counted(given[0], count, end=end)


def _known_place(view: BatchView, index: int, count: int, *, end: bool = False) -> int | None:
    """The place of a tensor in a sequence; refused where it differs from sample to sample."""
    if view.mark(index) is not None:
        raise Refused(f"at which place of the sequence differs from sample to sample: {view.value(index).name} says it")
    return _place(view, index, count, end=end)


# Made and taken apart


def shape_construct(asking: Asking) -> Shapes:
    """SequenceConstruct: its inputs."""
    return asking.give(tuple(asking.known(index) for index in range(len(asking.node.inputs))))


def batch_construct(view: BatchView) -> Iterator[BatchAnswer]:
    """SequenceConstruct: each tensor of the sequence carries N where its input does."""
    yield _answer([view.mark(index) for index in range(len(view.node.inputs))])


def shape_empty(asking: Asking) -> Shapes:
    """SequenceEmpty: nothing yet."""
    return asking.give(())


def kinds_empty(_: Kinds, attribute: Attribute) -> list[Kind | None]:
    """Floats, unless an attribute says otherwise."""
    found = attribute("dtype")
    return [Kind(found) if isinstance(found, int) and found in Kind._value2member_map_ else Kind.FLOAT]


def shape_insert(asking: Asking) -> Shapes:
    """SequenceInsert: the dims of the tensors, the new tensor's put in at its place: by default the end."""
    parts, new = asking.parts(), asking.known(1)
    place = _place(asking, 2, len(parts), end=True)
    if place is None:
        if any(each != new for each in parts):
            raise Refused("at which place is computed at run time")
        place = 0
    return asking.give((*parts[:place], new, *parts[place:]))


def batch_insert(view: BatchView) -> Iterator[BatchAnswer]:
    """SequenceInsert: the marks of the tensors, the new tensor's put in at its place: by default the end."""
    parts, new = view.parts(), view.mark(1)
    place = _known_place(view, 2, len(parts), end=True)
    if place is None:
        if any(each != new for each in parts):
            raise Refused("at which place is computed at run time, and its tensors carry the batch at several")
        place = 0
    yield _answer((*parts[:place], new, *parts[place:]))


def shape_erase(asking: Asking) -> Shapes:
    """SequenceErase: the dims of the tensors without the erased tensor's: by default the last."""
    parts = asking.parts()
    place = _place(asking, 1, len(parts))
    if place is None:
        if len(set(parts)) > 1:
            raise Refused("which tensor is computed at run time")
        place = 0
    return asking.give((*parts[:place], *parts[place + 1 :]))


def batch_erase(view: BatchView) -> Iterator[BatchAnswer]:
    """SequenceErase: the marks of the tensors without the erased tensor's: by default the last."""
    parts = view.parts()
    place = _known_place(view, 1, len(parts))
    if place is None:
        if len(set(parts)) > 1:
            raise Refused("which tensor is computed at run time, and they carry the batch at several places")
        place = 0
    yield _answer((*parts[:place], *parts[place + 1 :]))


def shape_at(asking: Asking) -> Shapes:
    """SequenceAt: one of the tensors."""
    parts = asking.parts()
    place = _place(asking, 1, len(parts))
    if place is not None:
        return [parts[place]]
    known = [dims for dims in parts if dims is not None]
    if not known or len(known) < len(parts) or len({len(dims) for dims in known}) > 1:
        raise Refused("which tensor is computed at run time")
    return [tuple(one[0] if len({*one}) == 1 else asking.new() for one in zip(*known, strict=True))]


def batch_at(view: BatchView) -> Iterator[BatchAnswer]:
    """SequenceAt: one of the tensors; where only the run says which, all carry N at one place."""
    parts = view.parts()
    place = _known_place(view, 1, len(parts))
    if place is not None:
        yield BatchAnswer((parts[place],))
        return
    home = common_mark((mark for mark in parts if mark is not None), view)
    yield BatchAnswer((home,), _evened(view, 0, home))


def shape_length(asking: Asking) -> Shapes:
    """SequenceLength: a number."""
    output = asking.node.outputs[0]
    count = asking.scope.parts.get(asking.value(0))
    if count is not None:
        asking.scope.elements[output] = np.array(len(count), object)
    return [()]


def batch_length(view: BatchView) -> Iterator[BatchAnswer]:
    """SequenceLength: the same for all samples."""
    view.parts()
    yield BatchAnswer((None,))


# Of one tensor, and to one


def shape_split(asking: Asking) -> Shapes:
    """SplitToSequence: by sizes that are known, in pieces of one size, or entry by entry."""
    dims = asking.dims(0)
    axis = asking.axis(len(dims), 0)
    sizes = _sizes(asking, dims[axis])
    drops = _drops(asking)
    return asking.give(tuple((*dims[:axis], *(() if drops else (size,)), *dims[axis + 1 :]) for size in sizes))


def _drops(view: NodeView) -> bool:
    """Whether the axis is gone in the tensors."""
    gone = not view.attribute("keepdims", 1)
    if gone and view.has(1):
        raise Refused("its keepdims is 0 beside split, where the specification keeps the axis and engines do not")
    return gone


def _sizes(asking: Asking, whole: Size) -> list[Size]:
    """The sizes of the pieces."""
    if not asking.has(1):
        if not isinstance(whole, int) or whole > _MOST:
            raise Refused(f"it makes {whole} tensors")
        return [1] * whole
    given = asking.integers(1)
    if given is None:
        raise Refused("the sizes of its parts are computed at run time")
    if asking.known(1) == ():
        if not isinstance(whole, int) or given[0] <= 0 or whole > _MOST * given[0]:
            raise Refused(f"it cuts {whole} into pieces of {given[0]}")
        return [min(given[0], whole - start) for start in range(0, whole, given[0])]
    return [asking.size(each) for each in given]


def batch_split(view: BatchView) -> Iterator[BatchAnswer]:
    """SplitToSequence: along an axis that is not N, or along what stands outside N on its axis."""
    if (mark := view.mark(1)) is not None:
        raise Refused(f"the sizes of its parts differ from sample to sample: {view.value(1).name} says them")
    mark = only_first(view)
    axis, parts = view.axis(view.rank(0), 0), view.state.facts.parts.get(view.node.outputs[0])
    drops = _drops(view)
    if axis == mark.axis:
        size = mark.size(view.batch)
        what = "each entry is a tensor of its own" if not view.has(1) else "it cuts it"
        raise Refused(
            f"it takes apart axis {axis}, which is {size}: {what}, so that no tensor has all samples", mixes=True
        )
    if parts is None:
        raise Refused(f"how many tensors it makes is not known, as axis {axis} is {view.dims(0)[axis]}")
    edits = view.corrected(1, "split", {}) if view.has(1) else ()
    home = mark.at(mark.axis - (drops and axis < mark.axis))
    yield _answer([home] * len(parts), tuple(edits))


def shape_concat(asking: Asking) -> Shapes:
    """ConcatFromSequence: side by side, or along a new axis."""
    parts = [dims for dims in asking.parts() if dims is not None]
    if not parts or len(parts) < len(asking.parts()):
        raise Refused("the rank of its tensors is not known")
    if not asking.attribute("new_axis", 0):
        return [joined(parts, asking, 0)]
    axis = asking.axis(len(parts[0]) + 1, 0)
    return [(*parts[0][:axis], len(parts), *parts[0][axis:])]


def batch_concat(view: BatchView) -> Iterator[BatchAnswer]:
    """ConcatFromSequence: side by side along another axis than N; what all samples share is repeated for each."""
    parts, fresh = view.parts(), bool(view.attribute("new_axis", 0))
    home = common_mark((mark for mark in parts if mark is not None), view)
    rank = len(view.output_dims())
    axis = view.axis(rank, 0)
    if fresh:
        yield BatchAnswer((home.at(home.axis + (axis <= home.axis)),), _evened(view, 0, home))
    elif axis != home.axis:
        yield BatchAnswer((home,), _evened(view, 0, home))
    elif None in parts or home.outer != 1:
        raise Refused(f"it joins rows of all samples along axis {axis}, which is {home.size(view.batch)}", mixes=True)
    else:
        yield BatchAnswer((home._replace(outer=len(parts)),))


def _evened(view: BatchView, index: int, home: Mark) -> tuple[Edit, ...]:
    """The edit that has all tensors of a sequence carry N at one place: those that all samples share are spread."""
    parts, dims = view.parts(index), view.parts_dims(index)
    shared = [place for place, mark in enumerate(parts) if mark is None]
    if not shared:
        return ()
    for place in shared:
        own = dims[place]
        if own is None or home.axis >= len(own) or own[home.axis] != times(home.outer, home.inner):
            known = "is not known" if own is None else f"has dims [{', '.join(map(str, own))}]"
            raise Refused(f"tensor {place} of {view.value(index).name} {known}, and all samples share it")
    node, name, symbol = view.node, view.value(index).name, view.state.symbol

    def make(build: Rewriter, now: ir.Value) -> ir.Value:
        taken = []
        for place in range(len(parts)):
            at = build.constant(np.array(place, np.int64))
            value = build.insert(node, "SequenceAt", [now, at])
            own = dims[place]
            taken.append(value if place not in shared or own is None else spread(build, value, own, home))
        return build.insert(node, "SequenceConstruct", taken)

    message = (
        f"tensor {shared[0]} of {name} is the same for all samples; {view.label} needs {symbol} at axis {home.axis}"
    )
    return (view.replace_input(index, message, "shared", f"spread over {symbol} at axis {home.axis}", make),)


# What is handed on


def shape_same(asking: Asking) -> Shapes:
    """Identity and Optional: the dims of input 0, or of its tensors where input 0 is a sequence."""
    if asking.value(0) in asking.scope.parts:
        return asking.give(asking.parts())
    return [asking.dims(0)]


def batch_same(view: BatchView) -> Iterator[BatchAnswer]:
    """Identity and Optional: the mark of input 0, or the marks of its tensors."""
    value = view.value(0)
    yield BatchAnswer((view.mark(0),), parts=view.state.parts.get(value))


def batch_identity(
    otherwise: Callable[[BatchView], Iterator[BatchAnswer]],
) -> Callable[[BatchView], Iterator[BatchAnswer]]:
    """Identity: what it is given; of a tensor by its own rule."""

    def answers(view: BatchView) -> Iterator[BatchAnswer]:
        yield from batch_same(view) if view.value(0) in view.state.parts else otherwise(view)

    return answers


def shape_has(_: Asking) -> Shapes:
    """OptionalHasElement: a truth value."""
    return [()]


def batch_has(_: BatchView) -> Iterator[BatchAnswer]:
    """OptionalHasElement: the same for all samples."""
    yield BatchAnswer((None,))


_SAME = Record(shape=shape_same, kinds=kinds_first, batch=batch_same, in_order=True, carries=frozenset({0}))

RECORDS = {
    "SequenceConstruct": Record(shape=shape_construct, kinds=kinds_first, batch=batch_construct),
    "SequenceEmpty": Record(shape=shape_empty, kinds=kinds_empty),
    "SequenceInsert": Record(shape=shape_insert, kinds=kinds_first, batch=batch_insert),
    "SequenceErase": Record(shape=shape_erase, kinds=kinds_first, batch=batch_erase),
    "SequenceAt": Record(shape=shape_at, kinds=kinds_first, batch=batch_at),
    "SequenceLength": Record(shape=shape_length, batch=batch_length),
    "SplitToSequence": Record(shape=shape_split, kinds=kinds_first, batch=batch_split, slots=frozenset({1})),
    "ConcatFromSequence": Record(shape=shape_concat, kinds=kinds_first, batch=batch_concat),
    "Optional": _SAME,
    "OptionalGetElement": _SAME,
    "OptionalHasElement": Record(shape=shape_has, batch=batch_has),
}
