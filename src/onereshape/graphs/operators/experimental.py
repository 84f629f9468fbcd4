"""Operators that ONNX tried before opset 10 and never took; old files have them, and onnxruntime runs most of them."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.graphs.batch_rules.answers import images, only_first
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.free_rules.state import FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused, counted
from onereshape.graphs.operators.pointwise import UNARY
from onereshape.graphs.record import Record
from onereshape.rule.sizes import Size


def kinds_first(given: Kinds, _: Attribute) -> list[Kind | None]:
    """The type of input 0, for operators that no schema of onnx describes."""
    return [given(0)]


def batch_scaler(view: BatchView) -> Iterator[BatchAnswer]:
    """ImageScaler: a bias for each channel, all else pointwise."""
    mark = only_first(view)
    if mark.axis == 1:
        raise Refused(f"it has a bias for each entry of axis 1, which is {mark.size(view.batch)}")
    yield BatchAnswer((mark,))


def free_scaler(view: FreeView) -> Iterator[FreeAnswer]:
    """ImageScaler: channels are counted by its bias."""
    own = view.dims(0)[1]
    if own is not None and view.move(size_of(own)):
        raise Refused(f"it has a bias for each of {size_of(own)}")
    yield from by_shape(view)


def shape_crop(asking: Asking) -> Shapes:
    """Crop: the image within a border of left, top, right and bottom; with a scale, so much of it."""
    dims = list(asking.dims(0))
    border, scale = list(asking.attribute("border", ())), list(asking.attribute("scale", ()))
    if len(dims) != 4 or len(border) != 4 or len(scale) not in {0, 2}:
        raise Refused("it has not the borders of an image")
    for place, axis in enumerate((2, 3)):
        around = border[1 - place] + border[3 - place]
        dims[axis] = asking.size(scale[place] if scale else dims[axis] - around)
    return [tuple(dims)]


def free_crop(view: FreeView) -> Iterator[FreeAnswer]:
    """Crop: a border stays one; so much of an image does not."""
    moving = [own for own in view.dims(0)[2:] if own is not None and view.move(size_of(own))]
    if moving and view.attribute("scale"):
        raise Refused(f"its scale cuts a fixed size out of {size_of(moving[0])}")
    yield from by_shape(view)


def shape_dynamic_slice(asking: Asking) -> Shapes:
    """DynamicSlice: what is sliced has a size of its own, and all else stays."""
    dims = list(asking.dims(0))
    axes = _sliced(asking, len(dims), asking.length(1))
    if axes is None:
        return [asking.unknown(len(dims))]
    starts, ends = asking.integers(1), asking.integers(2)
    for place, axis in enumerate(axes):
        bounds = None if starts is None or ends is None else (starts[place], ends[place])
        dims[axis] = _between(asking, dims[axis], bounds)
    return [tuple(dims)]


def _sliced(view: NodeView, rank: int, count: int | None) -> list[int] | None:
    """The axes of a DynamicSlice; None where they are computed at run time."""
    if view.has(3):
        found = view.integers(3)
        return None if found is None else [counted(axis, rank) for axis in found]
    return None if count is None else list(range(count))


def _between(asking: Asking, own: Size, bounds: tuple[int, int] | None) -> Size:
    if bounds is None or not isinstance(own, int):
        return asking.new()
    start, end = (min(max(each + own if each < 0 else each, 0), own) for each in bounds)
    return max(end - start, 0)


def batch_dynamic_slice(view: BatchView) -> Iterator[BatchAnswer]:
    """DynamicSlice of axes that are not N."""
    mark = only_first(view)
    starts = view.dims(1)
    count = starts[0] if len(starts) == 1 and isinstance(starts[0], int) else None
    axes = _sliced(view, view.rank(0), count)
    if axes is None:
        raise Refused("its axes are computed at run time")
    if mark.axis in axes:
        raise Refused(f"it slices axis {mark.axis}, which is {mark.size(view.batch)}")
    yield BatchAnswer((mark,))


def free_dynamic_slice(view: FreeView) -> Iterator[FreeAnswer]:
    """DynamicSlice: the dims by its shape rule; a sliced axis must be known and not freed."""
    dims = view.dims(0)
    starts = view.known(1)
    count = size_of(starts[0]) if len(starts) == 1 else None
    for axis in _sliced(view, len(dims), count if isinstance(count, int) else None) or range(len(dims)):
        own: Axis | None = dims[axis]
        if own is None or view.move(size_of(own)):
            raise Refused(f"it slices axis {axis}, which is {'not known' if own is None else size_of(own)}")
    yield from by_shape(view)


_ELEMENTWISE = UNARY._replace(kinds=kinds_first, folds=False)

RECORDS = {
    **dict.fromkeys(("Affine", "ParametricSoftplus", "Scale", "ScaledTanh"), _ELEMENTWISE),
    "ImageScaler": Record(shape=same_first, kinds=kinds_first, batch=batch_scaler, free=free_scaler),
    "Crop": Record(shape=shape_crop, kinds=kinds_first, batch=images(0, 1), free=free_crop),
    "DynamicSlice": Record(
        shape=shape_dynamic_slice,
        kinds=kinds_first,
        batch=batch_dynamic_slice,
        free=free_dynamic_slice,
    ),
}
