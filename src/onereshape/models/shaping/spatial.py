"""Shapes of operators on images and signals: axis 0 is the batch, axis 1 the channels, and the rest is space."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any, NamedTuple

import numpy as np

from onereshape.models.facts.asking import Asking, Dims
from onereshape.models.node_view import Refused
from onereshape.models.record import Record
from onereshape.sizes import Size, ceiling, cut, smallest

Shapes = Sequence[Dims | None]
_FLOAT_EXACT = 2**24
"""Integers that a 32-bit float holds exactly."""
_CROP = "tf_crop_and_resize"


class _Window(NamedTuple):
    """How a window moves along one axis."""

    reach: int
    stride: int
    begin: int
    end: int
    dilated: bool


def _windows(asking: Asking, kernel: Sequence[int | None]) -> list[_Window | None]:
    """The windows along each axis of space, None where their size is not known."""
    rank = len(kernel)
    strides = _list(asking, "strides", rank, 1)
    dilations = _list(asking, "dilations", rank, 1)
    pads = _list(asking, "pads", 2 * rank, 0)
    if min((*strides, *dilations), default=1) < 1:
        raise Refused("its windows stand still")
    none = _padding(asking) != "NOTSET"
    return [
        None
        if size is None
        else _Window(
            dilations[axis] * (size - 1) + 1,
            strides[axis],
            0 if none else pads[axis],
            0 if none else pads[axis + rank],
            dilations[axis] > 1,
        )
        for axis, size in enumerate(kernel)
    ]


def _list(asking: Asking, name: str, count: int, otherwise: int) -> list[int]:
    found = asking.attribute(name)
    if not found:
        return [otherwise] * count
    if len(found) != count:
        raise Refused(f"a list of {count} sizes is needed, and it has one of {len(found)}")
    return list(found)


def _padding(asking: Asking) -> str:
    return str(asking.attribute("auto_pad", "NOTSET") or "NOTSET")


def _kernel(asking: Asking, weights: Dims, rank: int) -> list[int | None]:
    given = asking.attribute("kernel_shape")
    if given:
        if len(given) != rank:
            raise Refused(f"its kernel has {len(given)} sizes for {rank} axes")
        return list(given)
    if len(weights) != rank + 2:
        raise Refused("its weights have not the rank of its data")
    return [size if isinstance(size, int) else None for size in weights[2:]]


def convolution(data: int, weights: int) -> Any:
    """A window of weights moves over space; these inputs are data and weights."""

    def rule(asking: Asking) -> Shapes:
        dims, kernel = asking.dims(data), asking.dims(weights)
        rank = len(dims) - 2
        if rank < 1:
            raise Refused("its data have no space")
        found: list[Size] = []
        for size, window in zip(dims[2:], _windows(asking, _kernel(asking, kernel, rank)), strict=True):
            found.append(asking.new() if window is None else _places(asking, size, window))
        return [(dims[0], kernel[0], *found)]

    return rule


def _places(asking: Asking, size: Size, window: _Window) -> Size:
    """How many places a window has."""
    if _padding(asking).startswith("SAME"):
        return ceiling(size, window.stride)
    return _sure(cut(size + (window.begin + window.end - window.reach), window.stride) + 1)


def _sure(size: Size) -> Size:
    """A size of which engines make sure that it is none below 0."""
    if isinstance(size, int) and size < 0:
        raise Refused("its window is larger than the data")
    return size


def transposed(asking: Asking) -> Shapes:
    """ConvTranspose: space grows by the strides."""
    dims, weights = asking.dims(0), asking.dims(1)
    rank = len(dims) - 2
    if rank < 1 or len(weights) != len(dims):
        raise Refused("its weights have not the rank of its data")
    channels = weights[1] * asking.attribute("group", 1)
    given = asking.attribute("output_shape")
    if given:
        return [(dims[0], channels, *_list(asking, "output_shape", rank, 0))]
    extra = _list(asking, "output_padding", rank, 0)
    found: list[Size] = []
    windows = _windows(asking, _kernel(asking, weights, rank))
    strides = _list(asking, "strides", rank, 1)
    for axis, (size, window) in enumerate(zip(dims[2:], windows, strict=True)):
        if _padding(asking).startswith("SAME"):
            found.append(size * strides[axis])
        elif window is None:
            found.append(asking.new())
        else:
            around = extra[axis] + window.reach - window.stride - window.begin - window.end
            found.append(_sure(size * window.stride + around))
    return [(dims[0], channels, *found)]


def pool(asking: Asking) -> Shapes:
    """A window that begins beyond the data, in the padding at the end, is none."""
    dims = asking.dims(0)
    kernel = asking.attribute("kernel_shape")
    if kernel is None or len(kernel) != len(dims) - 2:
        raise Refused("its kernel has not the rank of its data")
    mode = _padding(asking)
    found: list[Size] = []
    for size, window in zip(dims[2:], _windows(asking, kernel), strict=True):
        if window is None:
            found.append(asking.new())
        elif mode.startswith("SAME"):  # with dilations onnxruntime pads by less than the specification
            found.append(asking.new() if window.dilated else ceiling(size, window.stride))
        else:
            room = size + (window.begin + window.end - window.reach)
            if asking.attribute("ceil_mode", 0):
                inside = ceiling(size + window.begin, window.stride)
                places = smallest(ceiling(room, window.stride) + 1, inside)
            else:
                places = cut(room, window.stride) + 1
            found.append(_sure(places))
    return [(*dims[:2], *found)] * asking.count


def whole_space(asking: Asking) -> Shapes:
    """Global pooling: space becomes one place."""
    dims = asking.dims(0)
    return [(*dims[:2], *[1] * (len(dims) - 2))]


def unpool(asking: Asking) -> Shapes:
    """MaxUnpool: the sizes that an input gives."""
    dims = asking.dims(0)
    given = asking.elements(2)
    if asking.has(2):
        return [asking.unknown(len(dims)) if given is None else tuple(map(asking.size, given))]
    return [(*dims[:2], *asking.unknown(len(dims) - 2))]


def resize(asking: Asking) -> Shapes:
    """By sizes as they are given; by scales where floats cannot round another way."""
    dims = list(asking.dims(0))
    opset = asking.opset
    axes = asking.attribute("axes")
    places = list(range(len(dims))) if axes is None else [_axis(axis, len(dims)) for axis in axes]
    scales = asking.attribute("scales") if opset < 9 else asking.floats(1 if opset in {9, 10} else 2)
    sizes = asking.elements(3) if asking.has(3) else None
    policy = asking.attribute("keep_aspect_ratio_policy", "stretch")
    if scales and len(scales) == len(places) and asking.attribute("coordinate_transformation_mode") != _CROP:
        for axis, scale in zip(places, scales, strict=True):
            dims[axis] = asking.size(_scaled(dims[axis], scale))
    elif not scales and sizes and len(sizes) == len(places):
        chosen = sizes if policy == "stretch" else _kept(policy, [dims[axis] for axis in places], sizes)
        for axis, size in zip(places, chosen, strict=True):
            dims[axis] = asking.size(size)
    else:
        for axis in places:
            dims[axis] = asking.new()
    return [tuple(dims)]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise Refused(f"it names axis {axis} of {rank}")
    return axis % rank


def _scaled(size: Size, scale: Any) -> Size | None:
    """The floor of a dim times a scale, which engines calculate in 32-bit floats."""
    if not np.isfinite(scale) or scale <= 0:
        return None
    exact = Fraction(float(scale))
    if isinstance(size, int):
        floored = exact * size // 1
        rounded = int(np.float32(scale) * np.float32(size))
        return rounded if rounded == floored else None
    if exact.denominator > 64 or exact.numerator >= _FLOAT_EXACT:
        return None
    return cut(size * exact.numerator, exact.denominator)


def _kept(policy: str, dims: Sequence[Size], sizes: Sequence[Size | None]) -> list[int | None]:
    """The sizes that keep the aspect ratio: all dims by one scale, rounded; a half may go either way."""
    numbers = [
        (dim, size) for dim, size in zip(dims, sizes, strict=True) if isinstance(dim, int) and isinstance(size, int)
    ]
    if len(numbers) < len(dims) or any(dim == 0 for dim, _ in numbers):
        return [None] * len(dims)
    ratios = [Fraction(size, dim) for dim, size in numbers]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [None if (scale * dim) % 1 == Fraction(1, 2) else round(scale * dim) for dim, _ in numbers]


def depth_to_space(asking: Asking) -> Shapes:
    """Channels become space."""
    dims, block = asking.dims(0), asking.attribute("blocksize")
    if len(dims) != 4:
        raise Refused("its data have not four dims")
    return [(dims[0], cut(dims[1], block * block), dims[2] * block, dims[3] * block)]


def space_to_depth(asking: Asking) -> Shapes:
    """Space becomes channels."""
    dims, block = asking.dims(0), asking.attribute("blocksize")
    if len(dims) != 4:
        raise Refused("its data have not four dims")
    return [(dims[0], dims[1] * (block * block), cut(dims[2], block), cut(dims[3], block))]


def grid_sample(asking: Asking) -> Shapes:
    """As many places as the grid has."""
    dims, grid = asking.dims(0), asking.dims(1)
    return [(*dims[:2], *grid[1:-1])]


def affine_grid(asking: Asking) -> Shapes:
    """A place for each pixel of an image of the size that an input gives."""
    size = asking.elements(1)
    if size is None:
        count = asking.length(1)
        return [None if count not in {4, 5} else (*asking.unknown(count - 1), count - 2)]
    if len(size) not in {4, 5}:
        raise Refused("its size is that of no image")
    return [(asking.size(size[0]), *map(asking.size, size[2:]), len(size) - 2)]


def columns_to_image(asking: Asking) -> Shapes:
    """Col2Im: blocks in columns become an image."""
    dims = asking.dims(0)
    image, block = asking.elements(1), asking.integers(2)
    if image is None:
        count = asking.length(1)
        return [None if count is None else asking.unknown(count + 2)]
    channels = asking.new() if block is None or len(dims) < 2 or not prod(block) else cut(dims[1], prod(block))
    return [(dims[0], channels, *map(asking.size, image))]


def regions(asking: Asking) -> Shapes:
    """RoiAlign and MaxRoiPool: an image of a fixed size for each region."""
    dims, rois = asking.known(0), asking.known(1)
    if asking.node.op_type == "RoiAlign":
        height, width = asking.attribute("output_height", 1), asking.attribute("output_width", 1)
    else:
        height, width = asking.attribute("pooled_shape")
    count = asking.new() if rois is None or not rois else rois[0]
    channels = asking.new() if dims is None or len(dims) < 2 else dims[1]
    return [(count, channels, height, width)]


RECORDS = {
    **dict.fromkeys(("Conv", "ConvInteger", "DeformConv"), Record(convolution(0, 1))),
    "QLinearConv": Record(convolution(0, 3)),
    "ConvTranspose": Record(transposed),
    **dict.fromkeys(("AveragePool", "MaxPool", "LpPool"), Record(pool)),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), Record(whole_space)),
    "MaxUnpool": Record(unpool),
    **dict.fromkeys(("Resize", "Upsample"), Record(resize)),
    "DepthToSpace": Record(depth_to_space),
    "SpaceToDepth": Record(space_to_depth),
    "GridSample": Record(grid_sample),
    "AffineGrid": Record(affine_grid),
    "Col2Im": Record(columns_to_image),
    **dict.fromkeys(("RoiAlign", "MaxRoiPool"), Record(regions)),
}
