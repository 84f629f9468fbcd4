"""Shapes and elements of operators that move, repeat, join and cut."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np

from onereshape.models.facts.asking import Asking, Dims
from onereshape.models.facts.elements import Array, Holding, Unknown, array_of, constant_array, few, whole
from onereshape.models.facts.reshaping import reshape
from onereshape.models.node_view import Refused
from onereshape.models.record import Record
from onereshape.semantics import resolve
from onereshape.errors import ReshapeError
from onereshape.sizes import Size, bounds, ceiling, cut, is_size, largest, product, smallest

Shapes = Sequence[Dims | None]
Elements = list[Array | None]
FAR = 2**31 - 1
"""From here on the end of a Slice means the end of the dim."""


def flatten(asking: Asking) -> Shapes:
    """Two dims: all before an axis, and all from it on."""
    dims = asking.dims(0)
    axis = asking.axis(len(dims), 1, end=True)
    return [(product(dims[:axis]), product(dims[axis:]))]


def squeeze(asking: Asking) -> Shapes:
    """Without axes all dims of 1 go, which only numbers tell."""
    dims = asking.dims(0)
    given = asking.has(1)
    axes = asking.integers(1) if given else asking.attribute("axes")
    if axes is not None and not len(axes):  # none to the specification, all dims of 1 to engines
        return [dims if all(isinstance(size, int) and size != 1 for size in dims) else None]
    if axes is not None:
        gone = {_axis(axis, len(dims)) for axis in axes}
        return [tuple(size for axis, size in enumerate(dims) if axis not in gone)]
    if given:
        count = asking.length(1)
        return [None if not count or count > len(dims) else asking.unknown(len(dims) - count)]
    return [tuple(size for size in dims if size != 1) if all(isinstance(size, int) for size in dims) else None]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Refused(f"it names axis {axis} of {rank}")
    return axis % rank


def unsqueeze(asking: Asking) -> Shapes:
    """New dims of size 1."""
    dims = asking.dims(0)
    given = asking.integers(1) if asking.has(1) else asking.attribute("axes")
    if given is None:
        count = asking.length(1)
        return [None if count is None else asking.unknown(len(dims) + count)]
    rank = len(dims) + len(given)
    axes = {_axis(axis, rank) for axis in given}
    if len(axes) != len(given):
        raise Refused("it names an axis twice")
    left = iter(dims)
    return [tuple(1 if axis in axes else next(left) for axis in range(rank))]


def transpose(asking: Asking) -> Shapes:
    """The axes in another order."""
    dims = asking.dims(0)
    order = asking.attribute("perm") or range(len(dims))[::-1]
    if sorted(order) != list(range(len(dims))):
        raise Refused(f"its perm {list(order)} is no order of {len(dims)} axes")
    return [tuple(dims[axis] for axis in order)]


def expand(asking: Asking) -> Shapes:
    """Broadcast both ways: an entry of 1, or a target of fewer entries, leaves the dims of data as they are."""
    dims, target = asking.dims(0), asking.elements(1)
    if target is None:
        count = asking.length(1)
        return [None if count is None else asking.unknown(max(len(dims), count))]
    return [asking.broadcast(dims, tuple(map(asking.told, target)))]


def tile(asking: Asking) -> Shapes:
    """Copies after one another."""
    dims, repeats = asking.dims(0), asking.elements(1)
    if asking.opset < 6:
        return [asking.unknown(len(dims))]
    if repeats is None or len(repeats) != len(dims):
        return [asking.unknown(len(dims))]
    return [
        tuple(
            size * asking.told(times) if times is not None else asking.new()
            for size, times in zip(dims, repeats, strict=True)
        )
    ]


def range_(asking: Asking) -> Shapes:
    """As many as there are steps, and none where the limit lies on the other side."""
    kind = asking.kind(0)
    if kind is None or not kind.is_integer():
        return [(asking.size(_float_count(asking)),)]
    known = [asking.elements(index) for index in range(3)]
    if any(each is None or len(each) != 1 or each[0] is None for each in known):
        return [(asking.new(),)]
    start, limit, step = (each[0] for each in known if each is not None)
    if start is None or limit is None or not isinstance(step, int) or step == 0:
        return [(asking.new(),)]
    away = limit - start if step > 0 else start - limit
    return [(_steps(away, abs(step)),)]


def _steps(away: Size, step: int) -> Size:
    """How many steps there are on the way, none where it goes back."""
    most = bounds(away)[1]
    return 0 if most is not None and most <= 0 else largest(0, ceiling(away, step))


def _float_count(asking: Asking) -> int | None:
    numbers = [asking.floats(index) for index in range(3)]
    if any(each is None or len(each) != 1 or not np.isfinite(each[0]) for each in numbers):
        return None
    start, limit, step = (Fraction(each[0].item()) for each in numbers if each is not None)
    exactly = all(each.denominator == 1 for each in (start, limit, step)) and step
    return max(0, -((start - limit) // step)) if exactly else None


def constant_of_shape(asking: Asking) -> Shapes:
    """The dims that an input gives."""
    target = asking.elements(0)
    if target is None:
        count = asking.length(0)
        return [None if count is None else asking.unknown(count)]
    return [tuple(map(asking.told, target))]


def concat(asking: Asking) -> Shapes:
    """The sizes along the axis, added up; the other dims are those of the first input."""
    shapes = [asking.dims(index) for index in range(len(asking.node.inputs))]
    if len({len(dims) for dims in shapes}) != 1:
        raise Refused("its inputs have several ranks")
    axis = asking.axis(len(shapes[0]), 1)
    if len(shapes) > 64 and not all(isinstance(dims[axis], int) for dims in shapes):
        total: Size = sum(size for dims in shapes if isinstance(size := dims[axis], int))
        for dims in shapes:
            total = total if isinstance(dims[axis], int) else dims[axis] + total
    else:
        total = shapes[0][axis]
        for dims in shapes[1:]:
            total = total + dims[axis]
    return [(*shapes[0][:axis], total, *shapes[0][axis + 1 :])]


def split(asking: Asking) -> Shapes:
    """By sizes that are known; else evenly, where no input says otherwise."""
    dims, count = asking.dims(0), asking.count
    axis = asking.axis(len(dims), 0)
    sizes: Sequence[Size | None] | None
    if asking.has(1):
        sizes = asking.elements(1)
    else:
        sizes = asking.attribute("split")
        if sizes is None:
            # Before version 18 the dim divides; since then the last piece, and only that, may be smaller.
            sizes = _pieces(asking, dims[axis], count)
    found: list[Dims] = []
    for output in range(count):
        size = sizes[output] if sizes is not None and output < len(sizes) else None
        found.append((*dims[:axis], asking.told(size), *dims[axis + 1 :]))
    return found


def _pieces(asking: Asking, size: Size, count: int) -> list[Size | None]:
    if isinstance(size, int):
        piece = -(-size // count)
        return [max(0, min(piece, size - piece * place)) for place in range(count)]
    return [None] * count if asking.opset >= 18 else [cut(size, count)] * count


def slice_(asking: Asking) -> Shapes:
    """The exact number of elements, also where the dim is shorter than the cut; unknown where the cut is."""
    dims = list(asking.dims(0))
    starts, ends, axes, steps = (_bounds(asking, name, index) for index, name in enumerate(_BOUNDS, 1))
    count = next((len(each) for each in (axes, starts, ends) if each is not None), asking.length(1))
    if count is None or (axes is None and asking.has(3)):
        return [asking.unknown(len(dims))]
    unread = steps is None and asking.has(4)
    for place in range(count):
        number = place if axes is None else axes[place]
        if not isinstance(number, int):  # along which axis is told at run time
            return [asking.unknown(len(dims))]
        axis = _axis(number, len(dims))
        start, end = (None if each is None else each[place] for each in (starts, ends))
        step = None if unread else 1 if steps is None else steps[place]
        dims[axis] = asking.size(sliced(dims[axis], start, end, step))
    return [tuple(dims)]


_BOUNDS = ("starts", "ends", "axes", "steps")


def _bounds(asking: Asking, name: str, index: int) -> Sequence[Size | None] | None:
    """One of the vectors of a Slice, which were attributes before opset 10."""
    return asking.attribute(name) if asking.opset < 10 else asking.elements(index)


def sliced(size: Size, start: Size | None, end: Size | None, step: Size | None) -> Size | None:
    """How many elements a slice takes of a dim; None where that is not known, or engines differ."""
    if not isinstance(start, int) or not isinstance(step, int) or step == 0:
        return None
    if not isinstance(end, int):
        whole = end is not None and start >= 0 and step == 1 and is_size(end)
        return largest(0, smallest(end, size) - start) if whole and end is not None else None
    if step < 0 and end >= FAR:  # "to the end", which is not the same end for all
        return None
    if isinstance(size, int):
        # As in Python, but for a start before the first element: going backwards it is the first.
        first = 0 if step < 0 and start < -size else start
        return len(range(*slice(first, end, step).indices(size)))
    # What lies beyond the dim on the one side need not be clamped: the difference is below 0 then anyway.
    if step > 0:
        begin: Size = start if start >= 0 else _below(size, start, 0)
        stop: Size = size if end >= FAR else smallest(end, size) if end >= 0 else _below(size, end, 0)
        return _steps(stop - begin, step)
    if start >= FAR or start == -1:
        begin = size - 1
    else:
        begin = smallest(start if start >= 0 else _below(size, start, 0), size - 1)
    stop = end if end >= 0 else _below(size, end, -1)
    return _steps(begin - stop, -step)


def _below(size: Size, place: int, low: int) -> Size:
    """A place that is counted from the end, and not before `low`."""
    return low if place <= -FAR else largest(low, size + place)


def pad(asking: Asking) -> Shapes:
    """More at both ends of some axes."""
    dims = list(asking.dims(0))
    name = "pads" if asking.opset > 1 else "paddings"
    pads: Sequence[Size | None] | None = asking.attribute(name) if asking.opset < 11 else asking.elements(1)
    axes = list(range(len(dims)))
    if asking.has(3):
        given = asking.integers(3)
        if given is None:
            return [asking.unknown(len(dims))]
        axes = [_axis(axis, len(dims)) for axis in given]
    if pads is None:
        return [tuple(asking.new() if axis in axes else size for axis, size in enumerate(dims))]
    if len(pads) != 2 * len(axes):
        raise Refused(f"it has {len(pads)} pads for {len(axes)} axes")
    for place, axis in enumerate(axes):
        before, after = pads[place], pads[place + len(axes)]
        total = None if before is None or after is None else dims[axis] + before + after
        dims[axis] = asking.new() if total is None else total
        if isinstance(total, int) and total < 0:
            raise Refused("it cuts away more than there is")
    return [tuple(dims)]


def shape(asking: Asking) -> Shapes:
    """As many entries as data has dims."""
    rank = len(asking.dims(0))
    return [(len(range(rank)[slice(asking.attribute("start", 0), asking.attribute("end"))]),)]


def count(asking: Asking) -> Shapes:
    """Size: one number."""
    asking.value(0)
    return [()]


def cropped(asking: Asking) -> Shapes:
    """CenterCropPad: some axes at the sizes that an input gives."""
    dims, sizes = list(asking.dims(0)), asking.elements(1)
    axes = [_axis(axis, len(dims)) for axis in asking.attribute("axes", range(len(dims)))]
    if sizes is not None and len(sizes) != len(axes):
        raise Refused("it has not a size for each axis")
    for place, axis in enumerate(axes):
        dims[axis] = asking.size(None if sizes is None else sizes[place])
    return [tuple(dims)]


# Elements


def _flat(holding: Holding) -> Elements:
    data, axis = holding.given(0), holding.attribute("axis", 1)
    axis = axis + data.ndim if axis < 0 else axis
    return [data.reshape(prod(data.shape[:axis]), prod(data.shape[axis:]))]


def _squeezed(holding: Holding) -> Elements:
    axes = holding.numbers("axes", 1)
    if axes is not None and not axes:
        raise Unknown
    return [np.squeeze(holding.given(0), None if axes is None else tuple(axes))]


def _unsqueezed(holding: Holding) -> Elements:
    axes = holding.numbers("axes", 1)
    if axes is None:
        raise Unknown
    return [np.expand_dims(holding.given(0), tuple(axes))]


def _reshaped(holding: Holding) -> Elements:
    target, data = holding.numbers("shape", 1), holding.given(0)
    if target is None:
        raise Unknown
    flag = holding.attribute("allowzero", 0)
    try:
        return [data.reshape(resolve(data.shape, target, "onnx-14", allowzero=flag))]
    except ReshapeError:
        raise Unknown from None


def _expanded(holding: Holding) -> Elements:
    data = holding.given(0)
    dims = np.broadcast_shapes(data.shape, tuple(whole(holding.given(1))))
    few(*dims)
    return [np.broadcast_to(data, dims)]


def _tiled(holding: Holding) -> Elements:
    data, repeats = holding.given(0), whole(holding.given(1))
    if holding.opset < 6 or len(repeats) != data.ndim:
        raise Unknown
    few(*repeats, data.size)
    return [np.tile(data, repeats)]


def _counted(holding: Holding) -> Elements:
    start, limit, step = (whole(holding.given(index))[0] for index in range(3))
    numbers = range(start, limit, step)
    few(len(numbers))
    return [array_of(numbers)]


def _filled(holding: Holding) -> Elements:
    """ConstantOfShape; without a value it is of floats, and nobody asks for those."""
    dims, tensor = whole(holding.given(0)), holding.attribute("value")
    filler = None if tensor is None else constant_array(tensor)
    if filler is None:
        raise Unknown
    few(*dims)
    return [array_of([filler.reshape(-1)[0]] * prod(dims), dims)]


def _joined(holding: Holding) -> Elements:
    parts = holding.all()
    few(sum(array.size for array in parts))
    return [np.concatenate(parts, axis=holding.attribute("axis", 1))]


def _apart(holding: Holding) -> Elements:
    data, axis = holding.given(0), holding.attribute("axis", 0)
    sizes, outputs = holding.numbers("split", 1), len(holding.node.outputs)
    if sizes is None:
        size = data.shape[axis]
        each = -(-size // outputs)
        sizes = [max(0, min(each, size - each * place)) for place in range(outputs)]
    return list(np.split(data, np.cumsum(sizes)[: outputs - 1], axis=axis))


def _sliced(holding: Holding) -> Elements:
    data = holding.given(0)
    starts, ends = holding.numbers("starts", 1), holding.numbers("ends", 2)
    if starts is None or ends is None:
        raise Unknown
    axes, steps = holding.numbers("axes", 3), holding.numbers("steps", 4)
    index: list[Any] = [slice(None)] * data.ndim
    steps = [1] * len(starts) if steps is None else steps
    for start, end, axis, step in zip(starts, ends, range(len(starts)) if axes is None else axes, steps, strict=True):
        if step < 0 and end >= FAR:  # "to the end", which engines understand differently
            raise Unknown
        # As in Python, but for a start before the first element: going backwards it is the first.
        first = 0 if step < 0 and start < -data.shape[axis] else start
        index[axis] = slice(first, end, step)
    return [data[tuple(index)]]


def _dims_held(holding: Holding) -> Elements:
    sizes = holding.sizes()
    few(len(sizes))
    return [array_of(sizes[slice(holding.attribute("start", 0), holding.attribute("end"))])]


def _count_held(holding: Holding) -> Elements:
    sizes = holding.sizes()
    return [array_of([None if None in sizes else product(size for size in sizes if size is not None)], ())]


RECORDS = {
    "Reshape": Record(reshape, _reshaped),
    "Flatten": Record(flatten, _flat),
    "Squeeze": Record(squeeze, _squeezed),
    "Unsqueeze": Record(unsqueeze, _unsqueezed),
    "Transpose": Record(transpose, lambda holding: [np.transpose(holding.given(0), holding.attribute("perm"))]),
    "Expand": Record(expand, _expanded),
    "Tile": Record(tile, _tiled),
    "Range": Record(range_, _counted),
    "ConstantOfShape": Record(constant_of_shape, _filled),
    "Concat": Record(concat, _joined),
    "Split": Record(split, _apart),
    "Slice": Record(slice_, _sliced),
    "Pad": Record(pad),
    "CenterCropPad": Record(cropped),
    "Shape": Record(shape, _dims_held, from_dims=True),
    "Size": Record(count, _count_held, from_dims=True),
}
