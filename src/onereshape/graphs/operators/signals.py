"""Operators on signals: windows, and what is made of frequencies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from onereshape.graphs.batch_rules.answers import images, only_first
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Kind, by_attribute
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.free_rules.state import FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused, counted
from onereshape.graphs.record import Record
from onereshape.rule.sizes import Size, cut


def shape_window(asking: Asking) -> Shapes:
    """As many entries as an input says."""
    return [(asking.first(0),)]


def shape_mel(asking: Asking) -> Shapes:
    """MelWeightMatrix: a row for each frequency, a column for each bin."""
    bins, length = asking.first(0), asking.elements(1)
    whole = length[0] if length is not None and len(length) == 1 else None
    return [(asking.new() if whole is None else asking.size(cut(whole, 2) + 1), bins)]


def _transformed(view: NodeView, rank: int) -> int | None:
    """The axis that a DFT goes along; None where it is computed at run time."""
    if view.opset < 20:
        places: list[int] | None = [int(view.attribute("axis", 1))]
    else:
        places = view.integers(2) if view.has(2) else [-2]
    if places is None or len(places) != 1:
        return None
    axis = counted(places[0], rank)
    if axis == rank - 1:
        raise Refused("it goes along the axis of real and imaginary parts")
    return axis


def shape_dft(asking: Asking) -> Shapes:
    """Along one axis, real or complex."""
    dims = list(asking.dims(0))
    inverse, onesided = asking.attribute("inverse", 0), asking.attribute("onesided", 0)
    axis = _transformed(asking, len(dims))
    length = asking.elements(1) if asking.has(1) else None
    dims[-1] = 1 if inverse and onesided else 2
    if axis is None:
        return [(*asking.unknown(len(dims) - 1), dims[-1])]
    size: Size | None = dims[axis]
    if asking.has(1):
        size = length[0] if length is not None and len(length) == 1 else None
    if size is None or (onesided and inverse and not asking.has(1)):
        dims[axis] = asking.new()
    else:
        dims[axis] = asking.size(cut(size, 2) + 1 if onesided and not inverse else size)
    return [tuple(dims)]


def batch_dft(view: BatchView) -> Iterator[BatchAnswer]:
    """One axis is transformed, and the last one has real and imaginary parts; N is neither."""
    mark, rank = only_first(view), view.rank(0)
    axis, what = _transformed(view, rank), mark.size(view.batch)
    if axis is None:
        raise Refused("its axis is computed at run time")
    if mark.axis == axis:
        raise Refused(f"it transforms axis {axis}, which is {what}", mixes=True)
    if mark.axis == rank - 1:
        raise Refused(f"it takes axis {mark.axis}, which is {what}, for real and imaginary parts", mixes=True)
    yield BatchAnswer((mark,))


def free_dft(view: FreeView) -> Iterator[FreeAnswer]:
    """Every size but that which is transformed is left alone; that may be cut to a length, or filled up to it."""
    dims = view.dims(0)
    axis = _transformed(view, len(dims))
    if axis is None:
        raise Refused("its axis is computed at run time")
    length = view.live(1) if view.has(1) else None
    for answer in by_shape(view):
        yield answer._replace(suspect=_suspect(view, dims[axis], length[0] if length else None))


def _suspect(view: FreeView, own: Axis | None, length: Size | None) -> str:
    """Why a length that is all there was may be meant to be all there is."""
    if own is None or not isinstance(length, int) or not view.move(size_of(own)):
        return ""
    then = view.state.then(size_of(own))
    return f"it transforms {length} entries of {size_of(own)}, which was {then}" if then == length else ""


def _frame(view: NodeView, length: Callable[[int], int | None]) -> int | None:
    """How many entries an STFT transforms at once; None where that is not known.  `length` is that of an input."""
    if view.has(3):
        found = view.integers(3)
        return found[0] if found is not None and len(found) == 1 else None
    return length(2) if view.has(2) else None


def shape_stft(asking: Asking) -> Shapes:
    """The frames of a signal, each transformed."""
    dims, frame, steps = asking.dims(0), _frame(asking, asking.length), asking.integers(1)
    if frame is None:
        return [(dims[0], asking.new(), asking.new(), 2)]
    bins = frame // 2 + 1 if asking.attribute("onesided", 1) else frame
    if steps is None or len(steps) != 1 or steps[0] <= 0 or (isinstance(dims[1], int) and dims[1] < frame):
        return [(dims[0], asking.new(), bins, 2)]
    asking.at_least(dims[1], frame)
    return [(dims[0], cut(dims[1] - frame, steps[0]) + 1, bins, 2)]


def batch_stft(view: BatchView) -> Iterator[BatchAnswer]:
    """STFT: N is the signals, axis 0, which share one window."""
    yield from images(0)(view)


def free_stft(view: FreeView) -> Iterator[FreeAnswer]:
    """As many frames as a signal has room for."""
    dims = view.dims(0)

    def length(index: int) -> int | None:
        known = view.dims(index)
        size = size_of(known[0]) if len(known) == 1 and known[0] is not None else None
        return size if isinstance(size, int) else None

    frame = _frame(view, length)
    for answer in by_shape(view):
        yield answer._replace(suspect=_suspect(view, dims[1], frame))


RECORDS = {
    **dict.fromkeys(
        ("BlackmanWindow", "HannWindow", "HammingWindow"),
        Record(shape=shape_window, kinds=by_attribute("output_datatype", Kind.FLOAT), takes={0: "limit"}),
    ),
    "MelWeightMatrix": Record(shape=shape_mel, kinds=by_attribute("output_datatype", Kind.FLOAT)),
    "DFT": Record(shape=shape_dft, batch=batch_dft, free=free_dft, takes={2: "axes"}),
    "STFT": Record(shape=shape_stft, batch=batch_stft, free=free_stft),
}
