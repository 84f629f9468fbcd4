"""Operators on images: in another size, at other places, or with space for channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from onereshape.graphs.batch_rules.answers import common_mark, images, only_first, sized_mark
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.elements import is_number
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.grown import Growing, Grown, Inputs
from onereshape.graphs.free_rules.growth import grown_input
from onereshape.graphs.free_rules.meeting import ONE, Meeting
from onereshape.graphs.free_rules.state import Axes, FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused, counted, paired
from onereshape.graphs.record import Record
from onereshape.rule.sizes import Size, cut, exact

_LARGEST_RATIO = 64
_FLOAT_EXACT = 2**24
"""Integers that a 32-bit float holds exactly."""
_CROP = "tf_crop_and_resize"


def shape_resize(asking: Asking) -> Shapes:
    """By sizes as they are given; by scales where floats cannot round another way."""
    dims = list(asking.dims(0))
    opset = asking.opset
    axes = asking.attribute("axes")
    places = list(range(len(dims))) if axes is None else [counted(axis, len(dims)) for axis in axes]
    scales = _old_scales(asking) if opset < 9 else _held_scales(asking, 1 if opset in {9, 10} else 2)
    sizes = asking.elements(3) if asking.has(3) else None
    policy = asking.attribute("keep_aspect_ratio_policy", "stretch")
    if scales and len(scales) == len(places) and asking.attribute("coordinate_transformation_mode") != _CROP:
        for axis, scale in zip(places, scales, strict=True):
            dims[axis] = asking.size(_floored(dims[axis], scale))
    elif not scales and sizes and len(sizes) == len(places):
        chosen = sizes if policy == "stretch" else _in_ratio(policy, [dims[axis] for axis in places], sizes)
        for axis, size in zip(places, chosen, strict=True):
            dims[axis] = asking.size(size)
    else:
        for axis in places:
            dims[axis] = asking.new()
    return [tuple(dims)]


def _old_scales(view: NodeView) -> list[Any] | None:
    """The scales of an Upsample as attributes, in the first version those of height and width."""
    found = view.attribute("scales")
    if found is None and view.opset < 7:
        sides = [view.attribute(name) for name in ("height_scale", "width_scale")]
        return None if None in sides else [1.0, 1.0, *sides]
    return None if found is None else list(found)


def _held_scales(asking: Asking, index: int) -> list[Any] | None:
    """The scales in an input, as numbers; None for a scale that is not known."""
    found = asking.held(index)
    return None if found is None else [each if is_number(each) else None for each in found.reshape(-1)]


def _floored(size: Size, scale: Any) -> Size | None:
    """The floor of a dim times a scale, which engines calculate in 32-bit floats."""
    if scale is None or not np.isfinite(scale) or scale <= 0:
        return None
    ratio = Fraction(float(scale))
    if isinstance(size, int):
        floored = ratio * size // 1
        rounded = int(np.float32(scale) * np.float32(size))
        return rounded if rounded == floored else None
    if ratio.denominator > _LARGEST_RATIO or ratio.numerator >= _FLOAT_EXACT:
        return None
    return cut(size * ratio.numerator, ratio.denominator)


def _in_ratio(policy: str, dims: Sequence[Size], sizes: Sequence[Size | None]) -> list[int | None]:
    """The sizes that keep the aspect ratio: all dims by one scale, rounded; a half may go either way."""
    numbers = [
        (dim, size) for dim, size in zip(dims, sizes, strict=True) if isinstance(dim, int) and isinstance(size, int)
    ]
    if len(numbers) < len(dims) or any(dim == 0 for dim, _ in numbers):
        return [None] * len(dims)
    ratios = [Fraction(size, dim) for dim, size in numbers]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [None if (scale * dim) % 1 == Fraction(1, 2) else round(scale * dim) for dim, _ in numbers]


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
        if len(scales) != len(axes):
            raise Refused(f"it has {len(scales)} scales for {len(axes)} axes")
        if scales[place] is None:
            raise Refused(f"how it scales axis {mark.axis}, which is {mark.size(view.batch)}, is computed at run time")
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
    if mode != _CROP:
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


def _scales(view: BatchView) -> list[Any] | None:
    """The factors of a Resize or an Upsample that is not given sizes, None for each that is not known."""
    if view.opset < 9:
        return _old_scales(view)
    index = 2 if view.node.op_type == "Resize" and view.opset >= 11 else 1
    if not view.has(index):
        return None
    array = view.state.folding.array(view.value(index))
    found = view.original(index) if array is None else array.tolist()
    return found or None


def free_resize(view: FreeView) -> Iterator[FreeAnswer]:
    """Space in another size: by a factor, or to sizes that are such a factor."""
    dims = view.known(0)
    axes = [axis % len(dims) for axis in view.attribute("axes", ())] or list(range(len(dims)))
    old = view.node.op_type == "Upsample" or view.opset < 11
    if not old and view.has(3):
        yield _to_sizes(view, dims, axes)
        return
    scales = view.constant(1 if old else 2) if view.opset >= 9 else np.array(_old_scales(view) or (), np.float32)
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


def shape_grid_sample(asking: Asking) -> Shapes:
    """GridSample: images (N, C, H, W) and a grid (N, 5, 6, 2) give (N, C, 5, 6)."""
    dims, grid = asking.dims(0), asking.dims(1)
    return [(*dims[:2], *grid[1:-1])]


def batch_grid_sample(view: BatchView) -> Iterator[BatchAnswer]:
    """Images and the places to look at, sample by sample."""
    found = [mark for index in view.batched() if (mark := view.mark(index))]
    home = common_mark(found, view)
    if home.axis != 0:
        raise Refused(f"it looks along axis {home.axis}, which is {home.size(view.batch)}", mixes=True)
    edits = [view.spread(index, home) for index in (0, 1) if view.mark(index) is None]
    yield BatchAnswer((home,), tuple(edits))


def free_grid_sample(view: FreeView) -> Iterator[FreeAnswer]:
    """As many images as grids, which are never broadcast; a place of each image for each of its grid."""
    image, grid = view.dims(0), view.known(1)
    if view.move(size_of(grid[-1])):
        raise Refused(f"its places have as many numbers as an image has axes, and axis {len(grid) - 1} is free")

    def compute(meeting: Meeting) -> Axes:
        first = meeting.meet([(0, 0), (1, 0)], broadcasts=False)
        return (first, meeting.dims(0)[1], *meeting.dims(1)[1:-1])

    doubts = [
        f"it looks at {here} places along {size_of(own)}, which was {here}"
        for own, here in paired(image[2:], [*map(size_of, grid[1:-1])])
        if own is not None and view.move(size_of(own)) and here == view.state.then(size_of(own))
    ]
    yield Meeting(view).result(compute)._replace(suspect=next(iter(doubts), ""))


def grow_grid_sample(growing: Growing) -> Inputs:
    """More images with more grids, more channels of the images, and more places in the grids."""
    needed: dict[int, dict[int, Size]] = {}
    for axis, size in growing.wanted.items():
        for index in (0, 1) if axis == 0 else (0,) if axis == 1 else (1,):
            needed.setdefault(index, {})[axis - (axis > 1)] = size
    return {index: growing.exactly(index, wanted) for index, wanted in needed.items()}, {}


def shape_depth_to_space(asking: Asking) -> Shapes:
    """DepthToSpace, channels into space by blocks of 2: `(N, 12, 5, 6) -> (N, 3, 10, 12)`."""
    dims, block = asking.dims(0), asking.attribute("blocksize")
    if len(dims) != 4:
        raise Refused("its data have not four dims")
    return [(dims[0], cut(dims[1], block * block), dims[2] * block, dims[3] * block)]


def free_depth_to_space(view: FreeView) -> Iterator[FreeAnswer]:
    """Channels become space."""
    dims, block = view.known(0), view.attribute("blocksize")
    channels = exact(size_of(dims[1]), block * block)
    if channels is None:
        raise Refused(f"{size_of(dims[1])} channels do not divide by {block * block}")
    yield FreeAnswer(((dims[0], (channels,), *((*axis, block) if axis != ONE else (block,) for axis in dims[2:])),))


def shape_space_to_depth(asking: Asking) -> Shapes:
    """SpaceToDepth, blocks of 2 into channels: `(N, 3, 10, 12) -> (N, 12, 5, 6)`."""
    dims, block = asking.dims(0), asking.attribute("blocksize")
    if len(dims) != 4:
        raise Refused("its data have not four dims")
    return [(dims[0], dims[1] * (block * block), cut(dims[2], block), cut(dims[3], block))]


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


def shape_affine_grid(asking: Asking) -> Shapes:
    """A place for each pixel of an image of the size that an input gives."""
    size = asking.elements(1)
    if size is None:
        count = asking.length(1)
        return [None if count not in {4, 5} else (*asking.unknown(count - 1), count - 2)]
    if len(size) not in {4, 5}:
        raise Refused("its size is that of no image")
    return [(asking.size(size[0]), *map(asking.size, size[2:]), len(size) - 2)]


def batch_affine_grid(view: BatchView) -> Iterator[BatchAnswer]:
    """A grid for each matrix: the first entry of size says how many there are."""
    mark = view.mark(0)
    if mark is None:
        yield _shared_grid(view)
        return
    if mark.axis != 0:
        raise Refused(
            f"its matrices have axis {mark.axis} for themselves, which is {mark.size(view.batch)}", mixes=True
        )
    yield BatchAnswer((mark,), view.corrected(1, "size", {0: mark.size(view.batch)}))


def _shared_grid(view: BatchView) -> BatchAnswer:
    """AffineGrid of matrices that all samples share: N grids where its size says N, else the size of one sample."""
    try:
        home = sized_mark(view, 1)
    except Refused:
        home = None
    if home is None or home.axis != 0:
        return BatchAnswer((), (view.pin(1),))
    return BatchAnswer((home,), (view.spread(0, home),))


def free_affine_grid(view: FreeView) -> Iterator[FreeAnswer]:
    """As many grids as matrices, which are never broadcast, each of the size that an input says."""
    theta, size = view.known(0), view.live(1)
    if moving := [axis for axis in (1, 2) if view.move(size_of(theta[axis]))]:
        raise Refused(f"its matrices have a fixed size, and axis {moving[0]} is {size_of(theta[moving[0]])}")
    if size is None or None in size or len(size) != size_of(theta[1]) + 2:
        raise Refused("its size is computed at run time from what is not known")
    wanted: list[Size] = [each for each in size if each is not None]
    own, said, edits = size_of(theta[0]), wanted[0], tuple[Edit, ...]()
    if view.move(own) and not view.move(said):
        wanted[0] = own
        edits = (view.reword(1, wanted, "size"),)
    elif view.move(said) and not view.move(own):
        edits = (grown_input(view, 0, {0: said})[0],)
    elif view.move(said) and not view.same(own, said):
        raise Refused(f"it has {own} matrices and makes {said} grids, which are equal at the original size only")
    yield FreeAnswer(((*((each,) for each in (wanted[0], *wanted[2:])), theta[1]),), edits)


def grow_affine_grid(growing: Growing) -> Inputs:
    """A larger grid by another size; for more of them, more matrices."""
    view, entries = growing.view, growing.entries(1, "size")
    found: dict[int, Grown] = {}
    for axis, each in growing.wanted.items():
        if axis + 1 >= len(entries):
            raise Refused(f"{view.label} has a place of {len(entries) - 2} numbers at axis {axis}")
        entries[axis + 1 if axis else 0] = each
        if axis == 0:
            found[0] = growing.exactly(0, {0: each})
    if entries != view.words(1):
        found[1] = growing.vector(1, entries, "size")
    return found, {}


_RESIZE = Record(shape=shape_resize, batch=batch_resize, free=free_resize)

RECORDS = {
    "Resize": _RESIZE._replace(slots=frozenset({2, 3}), takes={2: "scales", 3: "new dims"}),
    "Upsample": _RESIZE._replace(slots=frozenset({1}), takes={1: "scales"}),
    "GridSample": Record(
        shape=shape_grid_sample, batch=batch_grid_sample, free=free_grid_sample, grows=grow_grid_sample
    ),
    "DepthToSpace": Record(shape=shape_depth_to_space, batch=images(0), free=free_depth_to_space, folds=True),
    "SpaceToDepth": Record(shape=shape_space_to_depth, batch=images(0), free=free_space_to_depth, folds=True),
    "AffineGrid": Record(
        shape=shape_affine_grid,
        batch=batch_affine_grid,
        slots=frozenset({1}),
        free=free_affine_grid,
        grows=grow_affine_grid,
    ),
}
