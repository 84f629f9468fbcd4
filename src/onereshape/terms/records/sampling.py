"""Samples of images at places that depend on data: each is a function of the place and of the whole image."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.picking import check_index, places, windows
from onereshape.terms.tensor import Tensor


def _spatial(call: Call, data: Tensor) -> tuple[int, ...]:
    """The axes behind samples and channels."""
    if any(data.growth[2:]):
        call.not_for_all("samples a dim that grows with the number of samples")
    return tuple(range(2, data.rank))


def _grid_sample(call: Call) -> Sequence[Tensor]:
    data, grid = call.tensor(0), call.tensor(1)
    call.dims("N C H W" if call.version < 20 else "N C X *S", "N *G D", D=data.rank - 2)
    if grid.rank != data.rank:
        call.refuse(f"the dims {list(data.shape)} and {list(grid.shape)} do not go together")
    over = _spatial(call, data)
    mode = str(call.attribute("mode", "linear")).removeprefix("bi")
    padding = str(call.attribute("padding_mode", "zeros"))
    if mode not in {"linear", "nearest", "cubic"} or padding not in {"zeros", "border", "reflection"}:
        call.refuse(f"there is no mode {mode!r} with {padding!r}")
    key = call.key(data.dtype.name, mode, padding, call.attribute("align_corners", 0), data.shape[2:])
    image = data.folded(call.hashing, over).reshape(*data.shape[:2], *[1] * len(over))
    where = grid.folded(call.hashing, (grid.rank - 1,))[:, None]
    return [call.mixed(data.dtype, key, image, where)]


def _affine_grid(call: Call) -> Sequence[Tensor]:
    theta, size = call.tensor(0), call.integers(1, sized=True)
    count = len(size) - 2
    if count not in {2, 3} or min(size) < 1:
        call.refuse(f"there are no images of {size}")
    call.dims("N D E", N=size[0], D=count, E=count + 1)
    slopes = call.tensor(1).slopes().ravel()
    growth = [*theta.growth[:1], 0][0]
    if slopes[0] != growth or any(slopes[1:]) or any(theta.growth[1:]):
        call.not_for_all("makes a grid of a number that depends on the number of samples")
    call.check_size((*size[:1], *size[2:], count))
    align = call.attribute("align_corners", 0)
    where = [
        np.array([call.key("place", align, place, dim) for place in range(dim)], np.uint64).reshape(
            -1, *[1] * (count - axis)
        )
        for axis, dim in enumerate(size[2:])
    ]
    rows = theta.folded(call.hashing, (2,)).reshape(size[0], *[1] * count, count)
    return [call.mixed(theta.dtype, call.key(), rows, *where)]


def _roi_align(call: Call) -> Sequence[Tensor]:
    data, regions, index = call.tensor(0), call.tensor(1), call.tensor(2)
    call.dims("N C H W", "R 4", "R")
    over = _spatial(call, data)
    if call.attribute("mode", "avg") not in {"avg", "max"}:
        call.refuse(f"there is no mode {call.attribute('mode')!r}")
    dims = [int(call.attribute(name, 1)) for name in ("output_height", "output_width")]
    shift = (
        call.attribute("coordinate_transformation_mode", "half_pixel") if call.version >= 16 else "output_half_pixel"
    )
    parts = [
        call.attribute("mode", "avg"),
        shift,
        call.attribute("sampling_ratio", 0),
        call.attribute("spatial_scale", 1.0),
    ]
    images = _picked(call, data, index, data.folded(call.hashing, over))
    return [_regions(call, data, images, regions.folded(call.hashing, (1,)), dims, parts)]


def _picked(call: Call, data: Tensor, index: Tensor, images: Words) -> Words:
    """The words of the image that each region is cut from: an image by a known index, a function of many by data."""
    check_index(call, index, data, 0)
    if not data.shape[0]:
        call.refuse("picks from nothing")
    if index.values is not None:
        if index.size and index.values.min() < 0:
            call.refuse("an index is negative")
        return np.asarray(images[places(call, index, data.shape[0])])
    words, low, high = windows(call, index, data.shape[0])
    if index.size and (np.ptp(low) or np.ptp(high)):
        call.refuse("its indices have several ranges")
    part = images[int(low.min()) : int(high.max()) + 1] if index.size else images
    content = call.hashing.fold(call.hashing.mix(call.key("image"), part), (0,))
    return call.hashing.mix(call.key(op="Pick"), words[:, None], content[None])


def _regions(  # noqa: PLR0913, PLR0917 - what a region depends on
    call: Call, data: Tensor, images: Words, regions: Words, dims: Sequence[int], parts: Sequence[Any]
) -> Tensor:
    """Regions of images, which are divided into bins."""
    if len(dims) != 2 or min(dims) < 1:
        call.refuse(f"there are no {list(dims)} bins")
    call.check_size((*images.shape, *dims))
    key = call.key(data.dtype.name, data.shape[2:], tuple(dims), *parts)
    bins = call.hashing.leaves(call.key("bin"), prod(dims)).reshape(tuple(dims))
    return call.mixed(data.dtype, key, images[:, :, None, None], regions[:, None, None, None], bins)


def _max_roi_pool(call: Call) -> Sequence[Tensor]:
    """The first number of a region says of which image it is."""
    data, regions = call.tensor(0), call.tensor(1)
    call.dims("N C H W", "R 5")
    over = _spatial(call, data)
    if data.grows:
        call.not_for_all("picks places of a dim that grows with the number of samples")
    contents = data.folded(call.hashing, over)
    if regions.values is not None:
        index = regions.values[:, 0].astype(np.float64)
        if not np.all((index >= 0) & (index < data.shape[0]) & (index == np.floor(index))):
            call.refuse("a region is of no image")
        images = contents[index.astype(np.int64)]
    else:
        content = call.hashing.fold(call.hashing.mix(call.key("image"), contents), (0,))
        images = np.broadcast_to(content[None], (regions.shape[0], data.shape[1]))
    numbers = call.hashing.fold(regions.hashed(call.hashing)[:, int(regions.known) :], (1,))
    dims = [int(each) for each in call.attribute("pooled_shape")]
    parts = [call.attribute("spatial_scale", 1.0), regions.known]
    return [_regions(call, data, images, numbers, dims, parts)]


RECORDS: Final[dict[str, Record]] = {
    "AffineGrid": record(_affine_grid, carries=True),
    "GridSample": record(_grid_sample),
    "MaxRoiPool": record(_max_roi_pool),
    "RoiAlign": record(_roi_align, carries=True),
}
