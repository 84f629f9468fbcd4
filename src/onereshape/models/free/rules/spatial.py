"""Operators on images and signals: axis 0 is the batch, axis 1 the channels, and the rest is space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from onereshape.models.free.alignment import Axis, size_of
from onereshape.models.free.formula import Size, cut, exact
from onereshape.models.free.rules.contractions import summed
from onereshape.models.free.rules.pointwise import ONE
from onereshape.models.free.state import Answer, Dims
from onereshape.models.edit import Edit
from onereshape.models.free.view import View
from onereshape.models.node_view import Refused

_LARGEST_RATIO = 64
_WIDE = 4
"""A window from which on it is likely to mean all there is; smaller ones are common."""


def convolution(view: View) -> Iterator[Answer]:
    """A window of weights moves over space; the channels are fixed by the weights."""
    dims, weights = view.dims(0), view.known(1)
    if view.free(1):
        raise Refused(f"its weights {view.value(1).name} depend on a free size")
    channels = size_of(weights[1]) * view.attribute("group", 1)
    summed(view, (0, dims[1]), (1, (channels,)))
    kernel = [_number(size_of(axis)) for axis in weights[2:]]
    yield Answer(((dims[0], (size_of(weights[0]),), *_windows(view, dims[2:], kernel)),))


def _number(size: Size) -> int:
    if not isinstance(size, int):
        raise Refused(f"its window has size {size}")
    return size


def _each(given: Sequence[Any], count: int) -> Sequence[Any]:
    """A list with an entry for each axis; engines refuse others, and onnx's checker does not see all of them."""
    if len(given) != count:
        raise Refused(f"a list of {count} sizes is needed, and it has one of {len(given)}")
    return given


def pool(view: View) -> Iterator[Answer]:
    """A window moves over space, each channel by itself."""
    dims = view.dims(0)
    kernel = _each(view.attribute("kernel_shape", ()), len(dims) - 2)
    if view.node.op_type == "AveragePool":
        for axis, own in enumerate(dims[2:]):
            if own is not None and view.output()[axis + 2] == 1:
                _not_all(view, size_of(own), kernel[axis])
    space = _windows(view, dims[2:], kernel)
    yield Answer(((*dims[:2], *space),) * len(view.node.outputs))


def _not_all(view: View, size: Size, window: int) -> None:
    """Refuses a mean over all of a free axis that is written as one over a window."""
    then = view.state.then(size)
    if view.move(size) and isinstance(then, int) and window >= max(then, _WIDE):
        why = f"its window of {window} covers all of {size}, which was {then}"
        raise Refused(f"{why}: whether it is to cover all of another size too is not known")


def _windows(view: View, space: Dims, kernel: Sequence[int]) -> list[Axis | None]:
    """How many places a window has along each axis."""
    count = len(space)
    kernel = _each(kernel, count)
    strides = _each(view.attribute("strides", ()) or [1] * count, count)
    wide = _each(view.attribute("dilations", ()) or [1] * count, count)
    pads = _each(view.attribute("pads", ()) or [0] * 2 * count, 2 * count)
    mode = str(view.attribute("auto_pad", "NOTSET") or "NOTSET")
    found: list[Axis | None] = []
    for axis, own in enumerate(space):
        if own is None:
            found.append(None)
            continue
        size, stride = size_of(own), strides[axis]
        reach = wide[axis] * (kernel[axis] - 1) + 1
        around = pads[axis] + pads[axis + count] if mode == "NOTSET" else 0
        if mode.startswith("SAME"):
            places: Size | None = cut(size + (stride - 1), stride)
        elif view.attribute("ceil_mode", 0):
            # The last window must begin inside; with these numbers it always does.
            inside = stride + pads[axis + count] <= reach or mode != "NOTSET"
            places = cut(size + (around - reach + stride - 1), stride) + 1 if inside else None
        else:
            places = cut(size + (around - reach), stride) + 1
        found.append(own if places == size else None if places is None else (places,))
    return found


def transposed(view: View) -> Iterator[Answer]:
    """ConvTranspose: space grows by the strides."""
    dims, weights = view.dims(0), view.known(1)
    summed(view, (0, dims[1]), (1, weights[0]))
    count = len(dims) - 2
    _each(weights, len(dims))
    strides = _each(view.attribute("strides", ()) or [1] * count, count)
    wide = _each(view.attribute("dilations", ()) or [1] * count, count)
    pads = _each(view.attribute("pads", ()) or [0] * 2 * count, 2 * count)
    extra = _each(view.attribute("output_padding", ()) or [0] * count, count)
    same = str(view.attribute("auto_pad", "NOTSET") or "NOTSET").startswith("SAME")
    found: list[Axis | None] = []
    for axis, own in enumerate(dims[2:]):
        if own is None:
            found.append(None)
            continue
        if view.attribute("output_shape") and view.move(size_of(own)):
            raise Refused(f"its output_shape fixes the size of axis {axis + 2}, which is {size_of(own)}")
        reach = wide[axis] * (_number(size_of(weights[axis + 2])) - 1) + 1
        around = pads[axis] + pads[axis + count]
        grown = size_of(own) * strides[axis]
        found.append((grown,) if same else (grown + (extra[axis] + reach - strides[axis] - around),))
    channels = size_of(weights[1]) * view.attribute("group", 1)
    yield Answer(((dims[0], (channels,), *found),))


def whole_space(view: View) -> Iterator[Answer]:
    """Global pooling: space becomes one place."""
    dims = view.dims(0)
    yield Answer(((*dims[:2], *[ONE] * (len(dims) - 2)),))


def depth_to_space(view: View) -> Iterator[Answer]:
    """Channels become space."""
    dims, block = view.known(0), view.attribute("blocksize")
    channels = exact(size_of(dims[1]), block * block)
    if channels is None:
        raise Refused(f"{size_of(dims[1])} channels do not divide by {block * block}")
    yield Answer(((dims[0], (channels,), *((*axis, block) if axis != ONE else (block,) for axis in dims[2:])),))


def space_to_depth(view: View) -> Iterator[Answer]:
    """Space becomes channels."""
    dims, block = view.known(0), view.attribute("blocksize")
    space: list[Axis] = []
    for axis in dims[2:]:
        size = size_of(axis)
        part = cut(size, block)
        if not view.same(part * block, size):
            raise Refused(f"{size} does not divide by {block}")
        space.append((part,))
    yield Answer(((dims[0], (size_of(dims[1]) * (block * block),), *space),))


def resize(view: View) -> Iterator[Answer]:
    """Space in another size: by a factor, or to sizes that are such a factor."""
    dims = view.known(0)
    axes = [axis % len(dims) for axis in view.attribute("axes", ())] or list(range(len(dims)))
    old = view.node.op_type == "Upsample" or view.opset < 11
    if not old and view.has(3):
        yield _to_sizes(view, dims, axes)
        return
    scales = view.constant(1 if old else 2) if view.opset > 7 else np.array(view.attribute("scales", ()), np.float32)
    if scales is None:
        raise Refused("its scales are computed at run time")
    found: list[Axis | None] = list(dims)
    for place, axis in enumerate(axes):
        ratio = Fraction(float(scales[place]))
        if not view.move(size_of(dims[axis])):
            size = view.output()[axis]
            found[axis] = None if size is None else (size,)
        elif ratio != 1:
            small = ratio.denominator <= _LARGEST_RATIO
            found[axis] = (cut(size_of(dims[axis]) * ratio.numerator, ratio.denominator),) if small else None
    yield Answer((tuple(found),))


def _to_sizes(view: View, dims: Sequence[Axis], axes: Sequence[int]) -> Answer:
    sizes = view.live(3)
    if sizes is None or None in sizes:
        raise Refused("its sizes are computed at run time from what is not known")
    wanted: list[Size] = [size for size in sizes if size is not None]
    found: list[Axis | None] = list(dims)
    for place, axis in enumerate(axes):
        own, said = size_of(dims[axis]), wanted[place]
        if view.move(own) and not view.move(said):
            wanted[place] = _scaled(view, own, said)
        found[axis] = dims[axis] if wanted[place] == own else (wanted[place],)
    edits: tuple[Edit, ...] = () if wanted == sizes else (view.reword(3, wanted, "sizes"),)
    return Answer((tuple(found),), edits)


def _scaled(view: View, own: Size, said: Size) -> Size:
    """The size that is the same multiple, or part, of the free one as in the original."""
    then = view.state.then(own)
    if isinstance(then, int) and isinstance(said, int) and then:
        if said % then == 0 and said // then <= _LARGEST_RATIO:
            return own * (said // then)
        if said and then % said == 0:
            part = cut(own, then // said)
            if view.same(part * (then // said), own):
                return part
    raise Refused(f"its size {said} is no whole multiple or part of {own}, which was {then}")


def grid_sample(view: View) -> Iterator[Answer]:
    """As many places as the grid has."""
    dims, grid = view.dims(0), view.dims(1)
    yield Answer(((*dims[:2], *grid[1:-1]),))


RULES = {
    "Conv": convolution,
    "ConvInteger": convolution,
    "ConvTranspose": transposed,
    **dict.fromkeys("AveragePool MaxPool LpPool".split(), pool),
    **dict.fromkeys("GlobalAveragePool GlobalMaxPool GlobalLpPool".split(), whole_space),
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Resize": resize,
    "Upsample": resize,
    "GridSample": grid_sample,
}
