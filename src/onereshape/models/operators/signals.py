"""Operators on signals: windows, and what is made of frequencies."""

from __future__ import annotations

from onereshape.models.facts.asking import Asking, Shapes
from onereshape.models.facts.kinds import Kind, by_attribute
from onereshape.models.node_view import Refused, counted
from onereshape.models.record import Record
from onereshape.sizes import Size, cut


def shape_window(asking: Asking) -> Shapes:
    """As many entries as an input says."""
    return [(asking.first(0),)]


def shape_dft(asking: Asking) -> Shapes:
    """Along one axis, real or complex."""
    dims = list(asking.dims(0))
    inverse, onesided = asking.attribute("inverse", 0), asking.attribute("onesided", 0)
    if asking.opset < 20:
        places: list[int] | None = [asking.attribute("axis", 1)]
    else:
        places = asking.integers(2) if asking.has(2) else [-2]
    length = asking.elements(1) if asking.has(1) else None
    dims[-1] = 1 if inverse and onesided else 2
    if places is None:
        return [(*asking.unknown(len(dims) - 1), dims[-1])]
    (axis,) = places
    axis = counted(axis, len(dims))
    if axis == len(dims) - 1:
        raise Refused("it goes along the axis of real and imaginary parts")
    size: Size | None = dims[axis]
    if asking.has(1):
        size = length[0] if length is not None and len(length) == 1 else None
    if size is None or (onesided and inverse and not asking.has(1)):
        dims[axis] = asking.new()
    else:
        dims[axis] = asking.size(cut(size, 2) + 1 if onesided and not inverse else size)
    return [tuple(dims)]


def shape_stft(asking: Asking) -> Shapes:
    """The frames of a signal, each transformed."""
    dims = asking.dims(0)
    lengths = asking.integers(3) if asking.has(3) else None
    if lengths is None and asking.has(2) and not asking.has(3):
        size = asking.length(2)
        lengths = None if size is None else [size]
    steps = asking.integers(1)
    if lengths is None or len(lengths) != 1:
        return [(dims[0], asking.new(), asking.new(), 2)]
    bins = lengths[0] // 2 + 1 if asking.attribute("onesided", 1) else lengths[0]
    known = steps is not None and len(steps) == 1 and steps[0] > 0 and isinstance(dims[1], int)
    count = (dims[1] - lengths[0]) // steps[0] + 1 if known and steps is not None and isinstance(dims[1], int) else None
    return [(dims[0], asking.size(count), bins, 2)]


RECORDS = {
    **dict.fromkeys(
        ("BlackmanWindow", "HannWindow", "HammingWindow"),
        Record(shape=shape_window, kinds=by_attribute("output_datatype", Kind.FLOAT)),
    ),
    "DFT": Record(shape=shape_dft),
    "STFT": Record(shape=shape_stft),
}
