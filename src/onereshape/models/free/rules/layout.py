"""Operators that repeat, join, cut and pad: sizes are added and multiplied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product as combinations
from typing import NamedTuple

from onereshape.models.free.alignment import Axis, axis_of, size_of
from onereshape.models.rewrite import LAST
from onereshape.models.free.formula import Size, cut
from onereshape.models.free.rules.pointwise import ONE, Meeting
from onereshape.models.free.state import Answer, Dims, shown
from onereshape.models.edit import Edit
from onereshape.models.free.view import View
from onereshape.models.free.growth import grown_input
from onereshape.models.node_view import Refused, paired

_UNBOUNDED = 2**31 - 1
"""An end from which on a slice takes all there is."""


def expand(view: View) -> Iterator[Answer]:
    """Sizes of 1 grow; a number for a size that is free anyway becomes 1."""
    dims, shape = view.dims(0), view.live(1)
    if shape is None:
        yield Answer((_at_least(dims, len(view.output())),))
        return
    rank = max(len(dims), len(shape))
    entries = list(shape)
    found: list[Axis | None] = []
    wanted: dict[int, Size] = {}
    suspect = ""
    for axis in range(rank):
        place, entry = axis - rank + len(dims), axis - rank + len(shape)
        own = dims[place] if place >= 0 else ONE
        said = entries[entry] if entry >= 0 else 1
        if said == 1 or own is None or (said is None and own != ONE):
            found.append(own)
        elif own == ONE:
            found.append(None if said is None else (said,))
            suspect = suspect or _suspect(view, axis, said)
        else:
            found.append(_grown_to(view, own, said, place, wanted))
            if said is not None and not view.move(said) and view.move(size_of(own)):
                entries[entry] = 1
    edits = [grown_input(view, 0, wanted)[0]] if wanted else []
    if entries != shape:
        first = next(place for place, old in enumerate(shape) if entries[place] != old)
        free = found[rank - len(shape) + first]
        known = [size for size in entries if size is not None]
        if len(known) < len(entries):
            raise Refused("its shape is computed from what is not known, and would have to be rewritten")
        edits.append(view.reword(1, known, "shape", None if free is None else size_of(free)))
    yield Answer((tuple(found),), tuple(edits), suspect=suspect)


def _at_least(dims: Dims, rank: int) -> Dims:
    """What is known of a result that is not smaller than data: a dim that is more than 1 already."""
    return (*[None] * (rank - len(dims)), *(own if own is not None and own != ONE else None for own in dims))


def _grown_to(view: View, own: Axis, said: Size | None, place: int, wanted: dict[int, Size]) -> Axis:
    """A dim of more than one entry that must be what the shape says."""
    here = size_of(own)
    if said is None or view.state.same(here, said):
        return own
    if view.move(said) and not view.move(here) and view.state.then(said) == here:
        wanted[place] = said
        return (said,)
    if view.move(here) and (said == view.state.then(here) or (view.move(said) and view.same(here, said))):
        return own
    raise Refused(f"it grows {here} at axis {place} to {said}")


def _suspect(view: View, axis: int, said: Size | None) -> str:
    """Why a number must not stay: it is one of the sizes that were freed."""
    own = {
        str(size): view.state.then(size)
        for each in view.dims(0)
        if each is not None and view.move(size := size_of(each))
    }
    for name, size in {**view.state.sizes, **own}.items():
        if said == size and size != 1:
            return f"it makes {said} entries at axis {axis}, and whether that is {name} or always {said} is not known"
    return ""


def tile(view: View) -> Iterator[Answer]:
    """Copies after one another."""
    dims, repeats = view.dims(0), view.live(1)
    if view.opset < 6 or repeats is None:
        raise Refused("its repeats are not known")
    found: list[Axis | None] = []
    suspect = ""
    for axis, (own, count) in enumerate(paired(dims, repeats)):
        found.append(None if own is None or count is None else own if count == 1 else axis_of(count, *own))
        suspect = suspect or (_suspect(view, axis, count) if own == ONE else "")
    yield Answer((tuple(found),), suspect=suspect)


def range_(view: View) -> Iterator[Answer]:
    """As many numbers as there are between the limits."""
    parts = [view.live(index) for index in range(3)]
    start, limit, step = (None if part is None else part[0] for part in parts)
    if start is None or limit is None or not isinstance(step, int) or step < 1:
        yield Answer(((None,),))
        return
    yield Answer((((cut(limit - start + (step - 1), step),),),))


def constant_of_shape(view: View) -> Iterator[Answer]:
    """The dims that an input gives."""
    live = view.live(0)
    rank = len(view.output())
    yield Answer((tuple([None] * rank if live is None else [None if size is None else (size,) for size in live]),))


def concat(view: View) -> Iterator[Answer]:
    """Side by side along an axis; all others must agree."""
    dims = [view.dims(index) for index in range(len(view.node.inputs))]
    axis = view.axis(len(dims[0]), 1)
    total: Size = 0
    for own in dims:
        part = own[axis]
        total = (0 if part is None else size_of(part)) + total
    known = all(own[axis] is not None for own in dims)
    if known and view.move(total):
        view.state.join(total, tuple(size_of(own[axis] or ONE) for own in dims))

    def compute(meeting: Meeting) -> Dims:
        places = range(len(dims[0]))
        return tuple(((total,) if known else None) if place == axis else _joint(meeting, place) for place in places)

    yield Meeting(view).result(compute)


def _joint(meeting: Meeting, place: int) -> Axis | None:
    """Dims that must be equal: unlike in broadcasting, 1 is a size like any other."""
    indices = range(len(meeting.view.node.inputs))
    sizes = {size_of(axis) for index in indices if (axis := meeting.dims(index)[place]) is not None}
    if 1 in sizes and any(meeting.view.move(size) for size in sizes):
        raise Refused(f"it joins sizes {shown(sorted(sizes, key=str))}, of which one is always 1")
    return meeting.meet([(index, place) for index in indices])


def split(view: View) -> Iterator[Answer]:
    """Apart along an axis: evenly, or into parts of which one takes what the others leave."""
    dims = view.dims(0)
    axis, count = view.axis(len(dims), 0), len(view.node.outputs)
    own = dims[axis]
    if own is None or not view.move(size_of(own)):
        parts = [view.output(index)[axis] for index in range(count)]
        yield Answer(tuple(_at(dims, axis, part) for part in parts))
        return
    size = size_of(own)
    given = view.live(1) if view.has(1) else view.attribute("split")
    if given is None and not view.has(1):
        part = cut(size, count)
        if not view.same(part * count, size):
            raise Refused(f"{size} does not divide by {count}")
        yield Answer(tuple(_at(dims, axis, part) for _ in range(count)))
        return
    numbers = [each for each in given or () if isinstance(each, int)]
    if len(numbers) != count:
        raise Refused("the sizes of its parts are computed at run time")
    if (apart := _at_seams(view, size, numbers)) is not None:
        edits = () if apart == numbers else ((view.reword(1, apart, "split") if view.has(1) else _no_split(view)),)
        yield Answer(tuple(_at(dims, axis, part) for part in apart), edits)
        return
    order = sorted(range(count), key=lambda index: -numbers[index])
    for free in order:
        sizes: list[Size] = list(numbers)
        sizes[free] = size - (sum(numbers) - numbers[free])
        edit = view.reword(1, sizes, "split") if view.has(1) else _no_split(view)
        yield Answer(tuple(_at(dims, axis, part) for part in sizes), (edit,), alone=count == 1)


def _at_seams(view: View, size: Size, numbers: Sequence[int]) -> list[Size] | None:
    """The sizes of the parts, where a dim that was joined comes apart again."""
    seams, place = view.state.seams(size), 0
    found: list[Size] = []
    done: Size = 0
    for number in numbers:
        place += number
        if place not in seams:
            return None
        found.append(seams[place] - done)
        done = seams[place]
    return found


def _no_split(view: View) -> Edit:
    raise Refused(f"its parts {list(view.attribute('split'))} are an attribute, which cannot say a free size")


def _at(dims: Dims, axis: int, size: Size | None) -> Dims:
    return (*dims[:axis], None if size is None else (size,), *dims[axis + 1 :])


class _Cut(NamedTuple):
    """One way to read the bounds of a slice along one axis."""

    size: Axis | None
    whole: Size | None = None
    """All of the axis."""
    start: Size | None = None
    """A start to write, None to keep what is there."""
    end: Size | None = None


def slice_(view: View) -> Iterator[Answer]:
    """A part of some axes; a bound that was the old size is the free one."""
    dims = view.dims(0)
    starts, ends = _bounds(view, "starts", 1), _bounds(view, "ends", 2)
    axes = view.axes(3, len(dims)) if view.has(3) or "axes" in view.node.attributes else None
    if starts is None or ends is None:
        cut_axes = range(len(dims)) if axes is None else axes
        yield Answer((tuple(None if axis in cut_axes else own for axis, own in enumerate(dims)),))
        return
    axes = list(range(len(starts))) if axes is None else axes
    steps = (view.live(4) or [None] * len(axes)) if view.has(4) else [1] * len(axes)
    ways = [_cuts(view, dims[axis], axis, bounds) for axis, *bounds in paired(axes, starts, ends, steps)]
    for chosen in combinations(*ways):
        found = list(dims)
        for axis, way in zip(axes, chosen, strict=True):
            found[axis] = way.size
        edits = _new_bounds(view, chosen, starts, ends)
        yield Answer((tuple(found),), edits, alone=all(len(way) == 1 for way in ways))


def _bounds(view: View, name: str, index: int) -> list[Size | None] | None:
    return list(view.attribute(name, ())) if view.opset < 10 else view.live(index)


def _new_bounds(
    view: View, chosen: Sequence[_Cut], starts: Sequence[Size | None], ends: Sequence[Size | None]
) -> tuple[Edit, ...]:
    edits = []
    for name, index, before, new in (
        ("starts", 1, starts, [way.start for way in chosen]),
        ("ends", 2, ends, [way.end for way in chosen]),
    ):
        wanted = [old if size is None else size for old, size in zip(before, new, strict=True)]
        if wanted == list(before):
            continue
        numbers = [size for size in wanted if size is not None]
        if len(numbers) < len(wanted):
            raise Refused(f"its {name} are computed from what is not known, and would have to be rewritten")
        if view.opset >= 10:
            first = next(place for place, old in enumerate(before) if wanted[place] != old)
            edits.append(view.reword(index, numbers, name, chosen[first].whole))
        else:
            plain = [size for size in numbers if isinstance(size, int)]
            edits.append(view.set_attribute(name, f"{view.label} has a fixed bound: {name}", before, plain))
    return tuple(edits)


def _cuts(view: View, own: Axis | None, axis: int, bounds: Sequence[Size | None]) -> list[_Cut]:
    """The ways to read the bounds along one axis."""
    start, end, step = bounds
    if own is None or start is None or end is None or not isinstance(step, int):
        return [_Cut(None)]
    whole = size_of(own)
    if not view.move(whole):
        return [_fixed(view, whole, axis, (start, end, step))]
    then = view.state.then(whole)
    if not isinstance(then, int):
        raise Refused(f"it cuts axis {axis}, which is {whole}")
    if step < 0:
        return [_backwards(own, start, end, step, axis)]
    found = []
    for first, last in combinations(_places(view, start, whole, then), _places(view, end, whole, then)):
        size = cut(last.place - first.place + (step - 1), step)
        if not isinstance(size, int) or size > 0:
            found.append(_Cut(own if size == whole else (size,), whole, first.word, last.word))
    return found


class _Place(NamedTuple):
    """What a bound can mean, and the word to write for it, None to keep what is there."""

    place: Size
    word: Size | None = None


def _places(view: View, bound: Size, whole: Size, then: int) -> list[_Place]:
    """What a bound can mean: a number near the old end may have been counted from it, or be the half of it."""
    if not isinstance(bound, int) or 0 <= 2 * bound < then:
        return [_Place(bound)]
    if bound < 0:
        return [_Place(whole + bound if bound + then > 0 else 0)]
    if bound >= then:
        return [_Place(whole, None if bound >= _UNBOUNDED else LAST)]
    if (seam := view.state.seams(whole).get(bound)) is not None:
        return [_Place(seam, None if isinstance(seam, int) else seam)]
    half = cut(whole, 2)
    halves = [_Place(half, half)] if 2 * bound == then and view.computes([half]) else []
    return [_Place(bound), _Place(whole - (then - bound), bound - then), *halves]


def _fixed(view: View, whole: Size, axis: int, bounds: tuple[Size, Size, int]) -> _Cut:
    """A part of a fixed axis, which may be as long as a free size."""
    start, end, step = bounds
    if not view.move(start) and not view.move(end):
        size = view.output()[axis]
        return _Cut(None if size is None else (size,))
    if not isinstance(whole, int) or step != 1 or (isinstance(end, int) and end < 0):
        return _Cut(None)
    stop: Size = whole if isinstance(end, int) and end >= whole else end
    view.state.limit(stop, whole, f"{view.value(0).name} has {whole} entries along axis {axis}")
    return _Cut((stop - start,))


def _backwards(own: Axis, start: Size, end: Size, step: int, axis: int) -> _Cut:
    """All of an axis, from the last entry to the first."""
    if step == -1 and start == -1 and isinstance(end, int) and end < -_UNBOUNDED:
        return _Cut(own)
    raise Refused(f"it goes backwards along axis {axis}, which is {size_of(own)}, from {start} to {end}")


def pad(view: View) -> Iterator[Answer]:
    """More at both ends of an axis."""
    dims = view.dims(0)
    pads = view.live(1) if view.opset >= 11 else list(view.attribute("pads" if view.opset > 1 else "paddings", ()))
    axes = view.axes(3, len(dims)) if view.has(3) else list(range(len(dims)))
    if pads is not None and len(pads) != 2 * len(axes or ()):
        raise Refused(f"it has {len(pads)} pads for {len(axes or ())} axes")
    found: list[Axis | None] = list(dims)
    for place, axis in enumerate(axes or ()):
        own = dims[axis]
        around = None if pads is None else (pads[place], pads[place + len(axes or ())])
        if own is None or around is None or around[0] is None or around[1] is None:
            found[axis] = None
        elif around != (0, 0):
            found[axis] = (size_of(own) + around[0] + around[1],)
    yield Answer((tuple(found),))


RULES = {
    "Expand": expand,
    "Tile": tile,
    "Range": range_,
    "ConstantOfShape": constant_of_shape,
    "Concat": concat,
    "Split": split,
    "Slice": slice_,
    "Pad": pad,
}
