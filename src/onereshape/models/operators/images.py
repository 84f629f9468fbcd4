"""Operators on images: in another size, at other places, or with space for channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from onereshape.models.batch.answers import common_mark, images, only_first
from onereshape.models.batch.marks import Mark
from onereshape.models.batch.view import Answer as BatchAnswer, View as BatchView
from onereshape.models.free.alignment import Axis, size_of
from onereshape.sizes import Size, cut, exact
from onereshape.models.free.meeting import ONE
from onereshape.models.free.state import Answer as FreeAnswer
from onereshape.models.free.view import View as FreeView
from onereshape.models.edit import Edit
from onereshape.models.node_view import Refused, paired
from onereshape.models.record import Record

_LARGEST_RATIO = 64


def batch_resize(view: BatchView) -> Iterator[BatchAnswer]:
    """Space grows or shrinks; N keeps its size."""
    mark, rank = only_first(view), view.rank(0)
    axes = list(view.attribute("axes", ())) or list(range(rank))
    axes = [axis % rank for axis in axes]
    sized = view.opset >= 11 and view.has(3)
    if mark.axis not in axes:
        yield BatchAnswer((mark,), view.corrected(3, "sizes", {}) if sized else ())
        return
    place = axes.index(mark.axis)
    _check_crop(view, mark, place, len(axes))
    scales = _scales(view)
    if scales is not None:
        if scales[place] != 1:
            raise Refused(f"it resizes axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
        yield BatchAnswer((mark,))
        return
    if view.attribute("keep_aspect_ratio_policy", "stretch") != "stretch" and _one_factor(view, axes) != 1:
        raise Refused(f"it resizes all axes by one factor, and axis {mark.axis} is {mark.size(view.batch)}", mixes=True)
    if view.output_dims()[mark.axis] != view.dims(0)[mark.axis]:
        raise Refused(f"it resizes axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark,), view.corrected(3, "sizes", {place: mark.size(view.batch)}) if sized else ())


def _check_crop(view: BatchView, mark: Mark, place: int, count: int) -> None:
    """Makes sure that no part of N is cut out, and that no sample is taken from half an entry further on."""
    mode = view.attribute("coordinate_transformation_mode", "half_pixel")
    downwards = view.attribute("nearest_mode", "round_prefer_floor") in {"floor", "round_prefer_floor"}
    if mode == "tf_half_pixel_for_nn" and not (view.attribute("mode", "nearest") == "nearest" and downwards):
        raise Refused(f"it looks half an entry further along axis {mark.axis}, which is {mark.size(view.batch)}")
    if mode != "tf_crop_and_resize":
        return
    array = view.state.folding.array(view.value(1))
    if array is None or array.shape != (2 * count,):
        raise Refused("its roi is computed at run time")
    if (array[place], array[place + count]) != (0, 1):
        raise Refused(f"it cuts a part out of axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)


def _one_factor(view: BatchView, axes: list[int]) -> Fraction | None:
    """The factor by which all axes are resized where their proportions are kept; None where it is not known."""
    sizes, dims = view.integers(3), view.dims(0)
    here = [dims[axis] for axis in axes]
    if sizes is None or len(sizes) != len(here) or not all(isinstance(dim, int) and dim for dim in here):
        return None
    factors = [Fraction(size, int(dim)) for size, dim in paired(sizes, here) if isinstance(dim, int)]
    return (min if view.attribute("keep_aspect_ratio_policy") == "not_larger" else max)(factors)


def _scales(view: BatchView) -> list[float] | None:
    """The factors of a Resize or an Upsample that is not given sizes."""
    found = view.attribute("scales")
    index = 2 if view.node.op_type == "Resize" and view.opset >= 11 else 1
    if found is None and view.has(index):
        array = view.state.folding.array(view.value(index))
        found = None if array is None or not array.size else array.tolist()
    return None if found is None else list(found)


def free_resize(view: FreeView) -> Iterator[FreeAnswer]:
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
    yield FreeAnswer((tuple(found),))


def _to_sizes(view: FreeView, dims: Sequence[Axis], axes: Sequence[int]) -> FreeAnswer:
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
    return FreeAnswer((tuple(found),), edits)


def _scaled(view: FreeView, own: Size, said: Size) -> Size:
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


def batch_grid_sample(view: BatchView) -> Iterator[BatchAnswer]:
    """Images and the places to look at, sample by sample."""
    found = [mark for index in view.batched() if (mark := view.mark(index))]
    home = common_mark(found, view)
    if home.axis != 0:
        raise Refused(f"it looks along axis {home.axis}, which is {home.size(view.batch)}", mixes=True)
    edits = [view.spread(index, home) for index in (0, 1) if view.mark(index) is None]
    yield BatchAnswer((home,), tuple(edits))


def free_grid_sample(view: FreeView) -> Iterator[FreeAnswer]:
    """As many places as the grid has."""
    dims, grid = view.dims(0), view.dims(1)
    yield FreeAnswer(((*dims[:2], *grid[1:-1]),))


def free_depth_to_space(view: FreeView) -> Iterator[FreeAnswer]:
    """Channels become space."""
    dims, block = view.known(0), view.attribute("blocksize")
    channels = exact(size_of(dims[1]), block * block)
    if channels is None:
        raise Refused(f"{size_of(dims[1])} channels do not divide by {block * block}")
    yield FreeAnswer(((dims[0], (channels,), *((*axis, block) if axis != ONE else (block,) for axis in dims[2:])),))


def free_space_to_depth(view: FreeView) -> Iterator[FreeAnswer]:
    """Space becomes channels."""
    dims, block = view.known(0), view.attribute("blocksize")
    space: list[Axis] = []
    for axis in dims[2:]:
        size = size_of(axis)
        part = cut(size, block)
        if not view.same(part * block, size):
            raise Refused(f"{size} does not divide by {block}")
        space.append((part,))
    yield FreeAnswer(((dims[0], (size_of(dims[1]) * (block * block),), *space),))


RECORDS = {
    "Resize": Record(batch=batch_resize, slots=frozenset({2, 3}), free=free_resize),
    "Upsample": Record(batch=batch_resize, slots=frozenset({1}), free=free_resize),
    "GridSample": Record(batch=batch_grid_sample, free=free_grid_sample),
    "DepthToSpace": Record(batch=images(0), free=free_depth_to_space, folds=True),
    "SpaceToDepth": Record(batch=images(0), free=free_space_to_depth, folds=True),
}
