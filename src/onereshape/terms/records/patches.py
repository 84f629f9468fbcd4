"""Patches of images: blocks that become channels or the other way round, sums of blocks, and windows that are bent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.sliding import Windows, windows_of, within
from onereshape.terms.tensor import Tensor


def _block(call: Call) -> int:
    block = int(call.attribute("blocksize"))
    if block < 1:
        call.refuse(f"there are no blocks of {block}")
    return block


def _depth_to_space(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    block = _block(call)
    samples, channels, height, width = call.dims("N C H W")
    mode = call.attribute("mode", "DCR")
    if channels % (block * block):
        call.refuse(f"{channels} channels are no blocks of {block} by {block}")
    if mode not in {"DCR", "CRD"}:
        call.refuse(f"there is no mode {mode!r}")
    if data.growth and data.growth[1]:
        call.not_for_all("splits channels that grow with the number of samples")
    depth = channels // (block * block)
    dims = (block, block, depth) if mode == "DCR" else (depth, block, block)
    order = (0, 3, 4, 1, 5, 2) if mode == "DCR" else (0, 1, 4, 2, 5, 3)
    shape = (samples, depth, height * block, width * block)
    return [
        data.moved(lambda array: array.reshape(samples, *dims, height, width).transpose(order).reshape(shape)),
    ]


def _space_to_depth(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    block = _block(call)
    samples, channels, height, width = call.dims("N C H W")
    mode = call.attribute("mode", "DCR")
    if height % block or width % block:
        call.refuse(f"the dims {list(data.shape)} have no blocks of {block}")
    if mode not in {"DCR", "CRD"}:
        call.refuse(f"there is no mode {mode!r}")
    if any(each % block for each in data.growth[2:]):
        call.not_for_all("has blocks over a dim that grows with the number of samples")
    dims = (samples, channels, height // block, block, width // block, block)
    shape = (samples, channels * block * block, height // block, width // block)
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return [data.moved(lambda array: array.reshape(dims).transpose(order).reshape(shape))]


def _col2im(call: Call) -> Sequence[Tensor]:
    """A sum of what each block has for a place, in the order of the places in a block; what is not there is 0."""
    data, image, block = call.tensor(0), call.integers(1), call.integers(2)
    if len(image) != len(block) or not block or min(*image, *block) < 1:
        call.refuse(f"there are no blocks {block} of {image}")
    windows, kernel = windows_of(call, image, block), prod(block)
    samples, channels = call.dims(f"N {kernel}C L", L=prod(each.count for each in windows))
    if any(data.growth[1:]):
        call.not_for_all("has blocks over a dim that grows with the number of samples")
    outer = (samples, channels)
    words = data.hashed(call.hashing).reshape(*outer, kernel, *(each.count for each in windows))
    zero = call.hashing.constants(np.zeros((), data.dtype.numpy()), data.dtype.name)
    taps = call.hashing.taps("tap", 0, kernel)
    whole = [each.begin + each.size + each.end for each in windows]
    call.check_size((*outer, *whole))
    total = np.empty((*outer, *whole), np.uint64)
    total[...] = zero * taps.sum(dtype=np.uint64)
    for place, step in enumerate(product(*(range(each) for each in block))):
        part = within(
            slice(first := at * each.dilation, first + (each.count - 1) * each.stride + 1, each.stride)
            for at, each in zip(step, windows, strict=True)
        )
        total[part] += (words[:, :, place] - zero) * taps[place]
    kept = total[within(slice(each.begin, each.begin + each.size) for each in windows)]
    return [call.mixed(data.dtype, call.key(data.dtype.name), kept)]


def _deform_conv(call: Call) -> Sequence[Tensor]:
    """What a window has depends on its offsets, so that it is a function of the whole image of its group."""
    data, weights = call.tensor(0), call.tensor(1)
    group, groups = int(call.attribute("group", 1)), int(call.attribute("offset_group", 1))
    windows = _bent_windows(call, data, weights, group, groups)
    samples, outputs, dims = data.shape[0], weights.shape[0], tuple(each.count for each in windows)
    bends = groups * prod(weights.shape[2:])
    space = " ".join(map(str, dims))
    call.dims("N _ *S", "M _ *K", f"N {bends * len(windows)} {space}", "M ?", f"N {bends} {space} ?")
    where = [_content(call, place) for place in (2, 4) if call.has(place)]
    images = data.hashed(call.hashing).reshape(samples, group, data.shape[1] // group, *data.shape[2:])
    rows = call.hashing.fold(images, tuple(range(2, images.ndim)))
    columns = weights.folded(call.hashing, tuple(range(1, weights.rank)))
    if call.has(3):
        columns = call.hashing.mix(call.key("bias"), columns, call.words(3))
    ones = [1] * len(windows)
    key = call.key(data.dtype.name, tuple(windows), group, groups, call.has(4))
    call.check_size((samples, outputs, *dims))
    found = call.mixed(
        data.dtype,
        key,
        rows.reshape(samples, group, 1, *ones),
        columns.reshape(1, group, -1, *ones),
        call.hashing.leaves(call.key("group"), group).reshape(1, group, 1, *ones),
        call.hashing.leaves(call.key("place"), prod(dims)).reshape(1, 1, 1, *dims),
        *(each[:, None, None] for each in where),
    )
    return [found.moved(lambda array: array.reshape(samples, outputs, *dims))]


def _bent_windows(call: Call, data: Tensor, weights: Tensor, group: int, groups: int) -> list[Windows]:
    """The windows before they are bent, of operands that go together."""
    if data.rank != weights.rank or group < 1 or groups < 1:
        call.refuse(f"the dims {list(data.shape)} and {list(weights.shape)} do not go together in {group} groups")
    call.dims(f"N {group}D X *S", f"{group}M D Y *K")
    kernel, asked = list(weights.shape[2:]), call.attribute("kernel_shape")
    if (asked and list(asked) != kernel) or not prod(kernel) or data.shape[1] % groups:
        call.refuse("its kernel_shape or its groups are not those of its operands")
    if any(data.growth[1:]) or weights.grows:
        call.not_for_all("is over a dim that grows with the number of samples")
    return windows_of(call, data.shape[2:], kernel)


def _content(call: Call, place: int) -> Words:
    """The content of an input's channels for each window: of the offsets or the mask of a DeformConv."""
    found = call.tensor(place)
    if any(found.growth[1:]):
        call.not_for_all("is over a dim that grows with the number of samples")
    return found.folded(call.hashing, (1,))


RECORDS: Final[dict[str, Record]] = {
    "Col2Im": record(_col2im),
    "DeformConv": record(_deform_conv),
    "DepthToSpace": record(_depth_to_space, carries=True),
    "SpaceToDepth": record(_space_to_depth, carries=True),
}
