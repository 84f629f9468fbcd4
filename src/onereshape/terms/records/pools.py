"""Pools: a function of the content of each window, in which places that are not there have a word of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.sliding import (
    Windows,
    automatic,
    check_growth,
    contents,
    padded,
    pads_of,
    sizes,
    windows_of,
)
from onereshape.terms.tensor import Tensor, terms


def pool_windows(call: Call, data: Tensor) -> list[Windows]:
    call.dims("N C X *S")
    if not call.attribute("kernel_shape"):
        call.refuse("has no kernel_shape")
    kernel = sizes(call, "kernel_shape", data.rank - 2)
    found = windows_of(call, data.shape[2:], kernel, ceil=bool(call.attribute("ceil_mode", 0)))
    if automatic(call).startswith("SAME") and any(each.dilation > 1 for each in found):
        call.refuse("is padded to the same size and has gaps, which engines do not count alike")
    check_growth(call, data, found)
    return found


def _pooled(call: Call, data: Tensor, windows: Sequence[Windows], pad: Words, beyond: Words | None = None) -> Words:
    words = data.hashed(call.hashing)
    return contents(call, padded(call, words, windows, pad, beyond), windows)


def _nothing(call: Call) -> Words:
    return np.asarray(call.key(op="nothing"), np.uint64)


def _pool_key(call: Call, name: str, count: int, *parts: Any) -> int:
    """The key of a pool over windows of `count` places; GlobalMaxPool has that of a MaxPool with one such window."""
    return call.key(count, *parts, op=name)


def max_pool(call: Call) -> Sequence[Tensor]:
    """MaxPool: the largest element of each window, and its index, if that output is read."""
    data = call.tensor(0)
    windows = pool_windows(call, data)
    content = _pooled(call, data, windows, _nothing(call))
    key = _pool_key(call, "MaxPool", prod(each.kernel for each in windows))
    found = call.mixed(data.dtype, key, content)
    return [found, _indices(call, data, windows, content)] if call.outputs > 1 else [found]


def _indices(call: Call, data: Tensor, windows: Sequence[Windows], content: Words) -> Tensor:
    """Where the largest elements are in the whole tensor: a place in a plane, and where the plane begins.

    The place depends on what the window has and on where it lies.
    """
    starts = [np.arange(each.count) * each.stride - each.begin for each in windows]
    grid = np.meshgrid(*starts, indexing="ij", sparse=True)
    where = [call.hashing.constants(each, "INT64") for each in grid]
    parts = [(each.size, each.kernel, each.dilation) for each in windows]
    key = call.key(tuple(parts), call.attribute("storage_order", 0), op="MaxPool indices")
    local = call.hashing.mix(key, content, *where)
    plane = prod(data.shape[2:])
    first = (np.arange(prod(data.shape[:2])) * plane).reshape(*data.shape[:2], *[1] * len(windows))
    begin = np.broadcast_to(first, local.shape)
    found = terms(local + begin.astype(np.uint64) * call.hashing.unit, ir.DataType.INT64, begin, begin + (plane - 1))
    return _leaning(call, data, found)


def _leaning(call: Call, data: Tensor, found: Tensor) -> Tensor:
    """Planes begin at (n * C + c) * D, of which n or c may be the sample's place."""
    if not data.grows:
        return found
    channels, plane = data.shape[1], prod(data.shape[2:])
    if data.growth[0] == 1:
        return found.leaning(0, channels * plane)
    if data.growth[1] == 1:
        rows = np.arange(data.shape[0]).reshape(-1, *[1] * (data.rank - 1))
        return found.leaning(rows * plane, plane)
    call.not_for_all("its indices count over a dim that grows with the number of samples")
    return found


def _max_unpool(call: Call) -> Sequence[Tensor]:
    """Each place of a plane depends on all of the plane, as its indices may be any of it."""
    data, index = call.tensor(0), call.tensor(1)
    call.dims("N C X *S", "N C X *S")
    count = data.rank - 2
    kernel, strides = sizes(call, "kernel_shape", count), sizes(call, "strides", count)
    places = [
        (dim - 1) * stride + width - begin - end
        for dim, width, stride, (begin, end) in zip(data.shape[2:], kernel, strides, pads_of(call, count), strict=True)
    ]
    shape = (*data.shape[:2], *places)
    call.check_size(shape)
    if call.has(2) and tuple(call.integers(2, sized=True)) != shape:
        call.refuse(f"its output_shape is not {list(shape)}, and it is not said how it is filled")
    plane = prod(places)
    first = (np.arange(prod(data.shape[:2])) * plane).reshape(*data.shape[:2], *[1] * count)
    low, high = index.bounds()
    if low is None or high is None or np.any(low < first) or np.any(high >= first + plane):
        call.refuse("its indices may be of other planes")
    if data.grows or index.depends:
        ours = np.all(index.integers.place == data.shape[1] * plane) and not np.any(index.integers.slope)
        if not ours or data.growth[:1] != (1,):
            call.not_for_all("its indices count over a dim that grows with the number of samples")
    over = tuple(range(2, data.rank))
    which = call.hashing.fold(index.hashed(call.hashing) - first.astype(np.uint64) * call.hashing.unit, over)
    content = call.hashing.mix(call.key("plane"), data.folded(call.hashing, over), which)
    found = call.mixed(data.dtype, call.key(), content[..., None], call.hashing.leaves(call.key("place"), plane))
    return [found.moved(lambda array: array.reshape(shape))]


def _average_pool(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    windows = pool_windows(call, data)
    counted = bool(call.attribute("count_include_pad", 0))
    key = _pool_key(call, "AveragePool", prod(each.kernel for each in windows))
    pad = call.hashing.constants(np.zeros((), data.dtype.numpy()), data.dtype.name) if counted else _nothing(call)
    return [call.mixed(data.dtype, key, _pooled(call, data, windows, pad, _nothing(call)))]


def _lp_pool(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    windows = pool_windows(call, data)
    key = _pool_key(call, "LpPool", prod(each.kernel for each in windows), float(call.attribute("p", 2)))
    return [call.mixed(data.dtype, key, _pooled(call, data, windows, _nothing(call)))]


def _global_pool(call: Call) -> Sequence[Tensor]:
    """A global pool, as a pool with one window over all places."""
    call.dims("N C X *S")
    data = call.tensor(0)
    places = data.shape[2:]
    if not prod(places):
        call.refuse("pools nothing")
    parts = [float(call.attribute("p", 2))] if call.op == "GlobalLpPool" else []
    windows = [Windows(dim, dim, count=1) for dim in places]
    content = contents(call, data.hashed(call.hashing), windows)
    return [call.mixed(data.dtype, _pool_key(call, call.op.removeprefix("Global"), prod(places), *parts), content)]


RECORDS: Final[dict[str, Record]] = {
    "AveragePool": record(_average_pool),
    "GlobalAveragePool": record(_global_pool),
    "GlobalLpPool": record(_global_pool),
    "GlobalMaxPool": record(_global_pool),
    "LpPool": record(_lp_pool),
    "MaxPool": record(max_pool),
    "MaxUnpool": record(_max_unpool, carries=True),
}
