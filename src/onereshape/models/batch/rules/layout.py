"""Operators that move elements without computing: where N goes is a question of row-major order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import onnx_ir as ir

from onereshape.dims import Size
from onereshape.models.batch.rules.pointwise import any_place, common_mark, only_first, reshaped_around, sized_mark
from onereshape.models.batch.rules.rule import Rule, each_home
from onereshape.models.rewrite import LAST, Rewriter
from onereshape.models.batch.marks import Mark, homes, marked, over, times
from onereshape.models.batch.view import Answer, View
from onereshape.models.edit import Edit
from onereshape.models.node_view import Refused

_PARTS = ("starts", "ends")
_ALL = 2**31 - 1
"""An end of a slice that no size reaches; exporters write it, or the largest int64, for "to the end"."""


def flatten(view: View) -> Iterator[Answer]:
    """Two dims: all before an axis, and all from it on."""
    mark, dims = only_first(view), view.dims(0)
    axis = view.axis(len(dims), 1, end=True)
    start, end = (0, axis) if mark.axis < axis else (axis, len(dims))
    outer = times(*dims[start : mark.axis], mark.outer)
    inner = times(mark.inner, *dims[mark.axis + 1 : end])
    yield Answer((Mark(int(mark.axis >= axis), outer, inner),))


def squeeze(view: View) -> Iterator[Answer]:
    """Dims of size 1 go; where N would be one of them, a Reshape keeps it in another."""
    mark, dims = only_first(view), view.dims(0)
    given = view.axes(1, len(dims))
    if given is None:
        _same_rank(view, mark)
    axes = [axis for axis, dim in enumerate(dims) if dim == 1] if given is None else given
    if given is not None and mark.axis not in axes:
        yield Answer((mark.at(mark.axis - sum(axis < mark.axis for axis in axes)),))
        return
    yield from as_reshape(view, [dim for axis, dim in enumerate(dims) if axis not in axes])


def _same_rank(view: View, mark: Mark) -> None:
    """Makes sure that a Squeeze without axes removes the same ones at all sizes."""
    named = [dim for axis, dim in enumerate(view.dims(0)) if axis != mark.axis and not isinstance(dim, int)]
    if named:
        raise Refused(f"it removes whatever has size 1, and only the run says whether {named[0]} has")
    if view.state.named and view.size == 1:
        raise Refused(f"it removes the axis that is {view.state.symbol} where that is 1, and keeps it elsewhere")


def as_reshape(view: View, output: Sequence[Size]) -> Iterator[Answer]:
    """The same as a Reshape of input 0, which can keep N."""
    mark, dims, node = only_first(view), view.dims(0), view.node

    def answer(home: Mark) -> Answer:
        target = view.sayable(marked(dims, mark, view.batch), marked(output, home, view.batch))

        def apply(build: Rewriter) -> None:
            build.replace(node, "Reshape", [node.inputs[0], build.vector(target)])

        after = f"Reshape [{', '.join(map(str, target))}]"
        message = f"{view.label} removes the axis that is {view.state.symbol}"
        return Answer((home,), (view.edit(None, message, node_words(view), after, apply),))

    none = f"it removes the axis that is {view.state.symbol}, and no other can take it"
    yield from each_home(homes(dims, mark, output, view.size), answer, none)


def node_words(view: View) -> str:
    """The node in a word or two."""
    return f"{view.node.op_type} of {[str(dim) for dim in view.dims(0)]}".replace("'", "")


def unsqueeze(view: View) -> Iterator[Answer]:
    """New dims of size 1."""
    mark = only_first(view)
    rank = len(view.output_dims())
    axes = view.axes(1, rank) or []
    old = [axis for axis in range(rank) if axis not in axes]
    yield Answer((mark.at(old[mark.axis]),))


def transpose(view: View) -> Iterator[Answer]:
    """The axes in another order."""
    mark = only_first(view)
    order = list(view.attribute("perm", ())) or list(range(view.rank(0)))[::-1]
    if sorted(order) != list(range(view.rank(0))):
        raise Refused(f"its perm {order} is no order of {view.rank(0)} axes")
    yield Answer((mark.at(order.index(mark.axis)),))


def expand(view: View) -> Iterator[Answer]:
    """Sizes of 1 grow; N stays where it is."""
    mark = view.mark(0)
    if mark is None:
        grown = _grown(view, 1)
        if grown is None:
            yield Answer((), (view.pin(1),))
        else:
            yield from (Answer((home,)) for home in any_place(grown))
        return
    before, output = view.original(1), view.output_dims()
    if before is None:
        raise Refused("its shape is computed at run time from what is not known")
    axis = mark.axis + len(output) - view.rank(0)
    entry = axis - (len(output) - len(before))
    live = (view.live(1) or before)[entry] if entry >= 0 else 1
    said = before[entry] if entry >= 0 else 1
    if said in (1, view.dims(0)[mark.axis]) or live == mark.size(view.batch):
        own = {} if entry < 0 else {entry: live if live == mark.size(view.batch) else 1}
        yield Answer((mark.at(axis),), view.corrected(1, "shape", own))
        return
    if not mark.bare or view.size != 1 or not isinstance(said, int):
        raise Refused(f"it grows axis {axis}, which is {mark.size(view.batch)}, to {said}")
    yield _expand_apart(view, mark, axis, said)


def _expand_apart(view: View, mark: Mark, axis: int, copies: int) -> Answer:
    """Several copies of each sample on the axis that N has for itself."""
    dims, output = view.dims(0), view.output_dims()
    split = [*dims[: mark.axis], view.batch, 1, *dims[mark.axis + 1 :]]
    grown = [
        1 if place >= 0 and dims[place] == size else size for place, size in enumerate(output, len(dims) - len(output))
    ]
    if not all(isinstance(size, int) for size in grown):
        raise Refused("it grows to sizes that are computed at run time")
    wide: list[Size] = [*grown[:axis], 1, copies, *grown[axis + 1 :]]
    home = Mark(axis, 1, copies)
    between = (*output[:axis], view.batch, copies, *output[axis + 1 :])
    sides = (between, marked(output, home, view.batch))
    edit = reshaped_around(view, [(0, split)], sides, f"{view.batch} x {copies} at axis {axis}")
    node = view.node

    def apply(build: Rewriter) -> None:
        edit.apply(build)
        node.replace_input_with(1, build.vector(wide))

    return Answer((home,), (edit._replace(apply=apply),))


def _grown(view: View, index: int) -> Mark | None:
    """Where a tensor that all samples share grows with N; None where its sizes are no batch."""
    try:
        home = sized_mark(view, index)
    except Refused:
        return None
    if view.node.op_type != "Expand":
        return home
    # The sizes are counted from the right, and may be fewer than the axes.
    rank = len(view.output_dims())
    home = home.at(home.axis + rank - len(view.live(index) or ()))
    here = home.axis - rank + view.rank(0)
    return None if here >= 0 and view.dims(0)[here] != 1 else home


def tile(view: View) -> Iterator[Answer]:
    """Copies after one another: of N too, all samples again after the last."""
    mark, dims = view.mark(0), view.dims(0)
    if view.opset < 6:
        raise Refused("before opset 6 it takes its repeats otherwise")
    if mark is None:
        home = _grown(view, 1)
        grown = None if home is None else home._replace(inner=times(home.inner, dims[home.axis]))
        yield Answer((), (view.pin(1),)) if grown is None else Answer((grown,))
        return
    repeats = view.original(1)
    count = None if repeats is None else repeats[mark.axis]
    if count is None:
        raise Refused("its repeats are not known")
    yield Answer((mark._replace(outer=times(count, mark.outer)),), view.corrected(1, "repeats", {}))


def concat(view: View) -> Iterator[Answer]:
    """Side by side along an axis; what all samples share is repeated for each."""
    batched = view.batched()
    mark = common_mark([mark for index in batched if (mark := view.mark(index))], view)
    axis = view.axis(view.rank(0), 1)
    if axis != mark.axis:
        edits = [view.spread(index, mark) for index in range(len(view.node.inputs)) if index not in batched]
        yield Answer((mark,), tuple(edits))
        return
    if len(batched) < len(view.node.inputs) or mark.outer != 1:
        raise Refused(f"it joins along axis {axis}, which is {mark.size(view.batch)}", mixes=True)
    yield Answer((mark._replace(outer=len(batched)),))


def split(view: View) -> Iterator[Answer]:
    """Apart along an axis that is not N, or along what stands outside N on its axis."""
    mark = only_first(view)
    axis, count = view.axis(view.rank(0), 0), len(view.node.outputs)
    if axis != mark.axis:
        yield Answer((mark,) * count, view.corrected(1, "split", {}) if view.has(1) else ())
        return
    sizes = {view.output_dims(index)[axis] for index in range(count)}
    inner = over(mark.outer, count)
    if len(sizes) != 1 or inner is None:
        raise Refused(f"it cuts axis {axis}, which is {mark.size(view.batch)}", mixes=True)
    edits: tuple[Edit, ...] = ()
    if view.has(1) or "split" in view.node.attributes:
        whole = times(inner, view.batch, mark.inner)
        edits = view.corrected(1, "split", dict.fromkeys(range(count), whole)) if view.has(1) else (_even_split(view),)
    yield Answer((mark._replace(outer=inner),) * count, edits)


def _even_split(view: View) -> Edit:
    node, sizes = view.node, list(view.attribute("split"))

    def drop(_: Rewriter) -> None:
        node.attributes.pop("split")

    message = f"{view.state.symbol} is forced to {view.size} by {view.label}: split = {sizes}"
    return view.edit(None, message, str(sizes), "even", drop)


def slice_(view: View) -> Iterator[Answer]:
    """A part of some axes; of N's own axis, only the whole."""
    mark, dims = only_first(view), view.dims(0)
    rank = len(dims)
    old = view.opset < 10
    starts, ends = (
        list(view.attribute(name, ())) if old else view.original(index) for index, name in enumerate(_PARTS, 1)
    )
    axes = view.axes(3, rank) if view.opset < 10 or view.has(3) else None
    if axes is None:
        axes = list(range(rank if starts is None else len(starts)))
    place = axes.index(mark.axis) if mark.axis in axes else None
    own: dict[str, dict[int, Size]] = {"starts": {}, "ends": {}, "steps": {}}
    if place is not None:
        steps = view.original(4) if view.has(4) else [1] * len(axes)
        if starts is None or ends is None or steps is None:
            raise Refused("what it takes is computed at run time")
        from_end = view.state.named and isinstance(starts[place], int) and starts[place] < 0  # type: ignore[operator]
        if from_end or not _takes_all(starts[place], ends[place], steps[place], dims[mark.axis]):
            raise Refused(f"it takes a part of axis {mark.axis}, which is {mark.size(view.batch)}", mixes=view.size > 1)
        own = {"starts": {place: 0}, "ends": {place: _whole_end(view, mark, place, ends[place])}, "steps": {place: 1}}
    edits = [
        edit for name, index in (("starts", 1), ("ends", 2), ("steps", 4)) for edit in _part(view, name, index, own)
    ]
    yield Answer((mark,), tuple(edits))


def _whole_end(view: View, mark: Mark, place: int, end: Size | None) -> Size:
    """The end of a slice that takes all of N: the one that is there, if it does."""
    live = view.live(2) if view.opset >= 10 else None
    if live is not None and live[place] == mark.size(view.batch):
        return mark.size(view.batch)
    wide = view.opset < 10 or view.state.dtype(view.value(2)) == ir.DataType.INT64
    return end if isinstance(end, int) and end >= _ALL else LAST if wide else _ALL


def _part(view: View, name: str, index: int, own: Mapping[str, Mapping[int, Size]]) -> tuple[Edit, ...]:
    """The edit of one of a Slice's vectors."""
    if view.opset >= 10:
        return view.corrected(index, name, own[name]) if view.has(index) else ()
    if name == "steps":
        return ()
    node, before = view.node, list(view.attribute(name, ()))
    wanted = [own[name].get(place, number) for place, number in enumerate(before)]
    if wanted == before:
        return ()

    def set_attribute(_: Rewriter) -> None:
        node.attributes[name] = ir.AttrInt64s(name, wanted)

    message = f"{view.state.symbol} is forced to {view.size} by {view.label}: {name} = {before}"
    return (view.edit(None, message, str(before), str(wanted), set_attribute),)


def _takes_all(start: Size | None, end: Size | None, step: Size | None, here: Size) -> bool:
    """Whether a slice takes all of an axis of the original, in its order."""
    if not (isinstance(start, int) and isinstance(end, int) and isinstance(step, int)):
        return False
    if not isinstance(here, int):
        return start == 0 and step == 1 and end >= _ALL
    return step > 0 and list(range(here)[start:end:step]) == list(range(here))


def pad(view: View) -> Iterator[Answer]:
    """More entries around some axes; around N, none."""
    mark, rank = only_first(view), view.rank(0)
    name = "pads" if view.opset > 1 else "paddings"
    pads = list(view.attribute(name, ())) if view.opset < 11 else view.integers(1)
    if pads is None:
        raise Refused("its pads are computed at run time")
    axes = (view.axes(3, rank) or []) if view.has(3) else list(range(rank))
    if len(pads) != 2 * len(axes):
        raise Refused(f"it has {len(pads)} pads for {len(axes)} axes")
    if mark.axis in axes:
        place = axes.index(mark.axis)
        if pads[place] or pads[place + len(axes)]:
            raise Refused(f"it pads axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    yield Answer((mark,), () if view.opset < 11 else view.corrected(1, "pads", {}))


RULES = {
    "Flatten": Rule(flatten),
    "Squeeze": Rule(squeeze, several=True),
    "Unsqueeze": Rule(unsqueeze),
    "Transpose": Rule(transpose),
    "Expand": Rule(expand, slots=frozenset({1}), several=True),
    "Tile": Rule(tile, slots=frozenset({1})),
    "Concat": Rule(concat),
    "Split": Rule(split, slots=frozenset({1})),
    "Slice": Rule(slice_, slots=frozenset({1, 2, 4})),
    "Pad": Rule(pad, slots=frozenset({1})),
}
