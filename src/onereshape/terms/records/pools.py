"""Pools: a function of the content of each window, in which places that are not there have a word of their own."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.sliding import Windows, check_growth, contents, padded, sizes, windows_of
from onereshape.terms.tensor import Tensor


def _windows(call: Call, data: Tensor) -> list[Windows]:
    if data.rank < 3:
        call.refuse(f"the dims {list(data.shape)} are not those of a pool")
    if not call.attribute("kernel_shape"):
        call.refuse("has no kernel_shape")
    kernel = sizes(call, "kernel_shape", data.rank - 2)
    found = windows_of(call, data.shape[2:], kernel, ceil=bool(call.attribute("ceil_mode", 0)))
    check_growth(call, data, found)
    return found


def _pooled(call: Call, data: Tensor, windows: Sequence[Windows], pad: Words, beyond: Words | None = None) -> Words:
    words = data.hashed(call.hashing)
    return contents(call, padded(call, words, windows, pad, beyond), windows)


def _nothing(call: Call) -> Words:
    return np.asarray(call.key(op="nothing"), np.uint64)


def _pool_key(call: Call, name: str, count: int, *parts: Any) -> int:
    """The same for a pool and for one over all places."""
    return call.key(count, *parts, op=name)


def _max_pool(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    windows = _windows(call, data)
    content = _pooled(call, data, windows, _nothing(call))
    key = _pool_key(call, "MaxPool", prod(each.kernel for each in windows))
    found = call.mixed(data.dtype, key, content)
    if call.outputs > 1:
        call.refuse("its indices are read")
    return [found]


def _average_pool(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    windows = _windows(call, data)
    counted = bool(call.attribute("count_include_pad", 0))
    key = _pool_key(call, "AveragePool", prod(each.kernel for each in windows))
    pad = call.hashing.constants(np.zeros((), data.dtype.numpy()), data.dtype.name) if counted else _nothing(call)
    return [call.mixed(data.dtype, key, _pooled(call, data, windows, pad, _nothing(call)))]


def _lp_pool(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    windows = _windows(call, data)
    key = _pool_key(call, "LpPool", prod(each.kernel for each in windows), float(call.attribute("p", 2)))
    return [call.mixed(data.dtype, key, _pooled(call, data, windows, _nothing(call)))]


def _global_pool(call: Call) -> Sequence[Tensor]:
    """As a pool with one window over all places."""
    data = call.tensor(0)
    if data.rank < 3:
        call.refuse(f"the dims {list(data.shape)} are not those of a pool")
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
    "MaxPool": record(_max_pool),
}
