"""Products of matrices, convolutions and averages of real numbers: calculated, tap by tap where there are windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as each_of
from math import prod
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.landmarks import Numbers
from onereshape.terms.records.pools import pool_windows
from onereshape.terms.records.real_arithmetic import calculated, reals_of
from onereshape.terms.records.sliding import Windows, windows_of, within
from onereshape.terms.records.windows import group_of, spread_windows
from onereshape.terms.tensor import Tensor

_WORK: Final = 1 << 40
"""Products of two numbers that one node may take."""


def _check_work(call: Call, work: int) -> None:
    if work > _WORK:
        call.refuse(f"{work} products are more than are calculated")


def multiplied(call: Call, left: Numbers, right: Numbers) -> Numbers:
    """The product of two matrices, or of batches of them."""
    if not left.ndim or not right.ndim:
        call.refuse("an operand is a scalar")
    if left.shape[-1] != right.shape[max(right.ndim - 2, 0)]:
        call.refuse(f"the dims {list(left.shape)} and {list(right.shape)} do not go together")
    try:
        batch = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    except ValueError:
        call.refuse(f"the dims {list(left.shape)} and {list(right.shape)} do not go together")
    rows, columns = (left.shape[-2:-1], right.shape[-1:] if right.ndim > 1 else ())
    call.check_size((*batch, *rows, *columns))
    _check_work(call, prod((*batch, *rows, *columns)) * left.shape[-1])
    with np.errstate(all="ignore"):
        return np.asarray(np.matmul(np.ascontiguousarray(left), np.ascontiguousarray(right)))


def _matmul(call: Call) -> Sequence[Tensor]:
    left, right = call.tensor(0), call.tensor(1)
    return [calculated(call, multiplied(call, *reals_of(call, left, right)), left.dtype, left, right)]


def _einsum(call: Call) -> Sequence[Tensor]:
    given = call.tensors()
    equation = str(call.attribute("equation", "")).replace(" ", "")
    sizes: dict[str, int] = {}
    for part, each in zip(equation.partition("->")[0].split(","), given, strict=False):
        if "..." not in part:
            sizes.update(zip(part, each.shape, strict=False))
    _check_work(call, prod(sizes.values()))
    try:
        found = np.einsum(equation, *reals_of(call, *given), optimize=True)
    except (ValueError, TypeError):
        call.refuse(f"its equation {equation!r} is not of its operands")
    call.check_size(found.shape)
    return [calculated(call, found, given[0].dtype, *given)]


def _conv(call: Call) -> Sequence[Tensor]:
    """A convolution: for each place of the kernel the channels that it sees, times the weights there."""
    given = call.tensors() if not call.has(2) else [call.tensor(place) for place in range(3)]
    data, weights = given[:2]
    group = group_of(call, data, weights)
    outputs, channels, *kernel = weights.shape
    windows = windows_of(call, data.shape[2:], kernel)
    counts = [each.count for each in windows]
    call.check_size((data.shape[0], outputs, *counts))
    _check_work(call, data.shape[0] * weights.size * prod(counts))
    numbers, filters, *bias = reals_of(call, *given)
    field = laid_out(call, numbers, windows)
    filters = filters.reshape(group, outputs // group, channels, *kernel)
    found: Any = 0.0
    with np.errstate(all="ignore"):
        for place in each_of(*map(range, kernel)):
            seen = at_tap(field, windows, place).reshape(data.shape[0], group, channels, -1)
            part = tap_of(filters, place)
            found = found + (seen * part if channels == 1 and outputs == group else np.matmul(part, seen))
        found = np.asarray(found).reshape(data.shape[0], outputs, *counts)
        found = found + bias[0].reshape(-1, *[1] * len(counts)) if bias else found
    return [calculated(call, found, data.dtype, *given)]


def laid_out(call: Call, numbers: Numbers, windows: Sequence[Windows], beside: float = 0.0) -> Numbers:
    """Numbers with what lies beside them, as far as windows go: `[1, 2]` with pads of 1 -> `[0, 1, 2, 0]`."""
    wanted = [max(each.whole, each.begin + each.size) for each in windows]
    outer = numbers.shape[: numbers.ndim - len(windows)]
    call.check_size((*outer, *wanted))
    found = np.full((*outer, *wanted), beside)
    found[within(slice(each.begin, each.begin + each.size) for each in windows)] = numbers
    return found


def at_tap(field: Numbers, windows: Sequence[Windows], place: Sequence[int]) -> Numbers:
    """The number that each window has at one of its places."""
    starts = [step * each.dilation for step, each in zip(place, windows, strict=True)]
    parts = (
        slice(start, start + (each.count - 1) * each.stride + 1, each.stride)
        for start, each in zip(starts, windows, strict=True)
    )
    return np.ascontiguousarray(field[within(parts)])


def tap_of(filters: Numbers, place: Sequence[int]) -> Numbers:
    """The weights at one place of the kernel: `[8, 4, 3, 3]` at (0, 2) -> `[8, 4]`."""
    index: Any = (..., *place)
    found: Numbers = filters[index]
    return found


def _conv_transpose(call: Call) -> Sequence[Tensor]:
    """Each element, times the weights, is added to the places that its window goes over."""
    given = call.tensors()
    data, weights = given[:2]
    group = group_of(call, data, weights)
    channels, outputs, *kernel = weights.shape
    windows = spread_windows(call, data.shape[2:], kernel)
    counts = [each.count for each in windows]
    call.check_size((data.shape[0], outputs * group, *counts))
    _check_work(call, data.size * outputs * prod(kernel))
    numbers, filters, *bias = reals_of(call, *given)
    whole = [each.begin + each.count + each.reach + each.stride * each.size for each in windows]
    call.check_size((data.shape[0], outputs * group, *whole))
    found = np.zeros((data.shape[0], outputs * group, *whole))
    rows = numbers.reshape(data.shape[0], group, channels // group, -1)
    parts = filters.reshape(group, channels // group, outputs, *kernel)
    for place in each_of(*map(range, kernel)):
        made = np.matmul(np.swapaxes(tap_of(parts, place), 1, 2), rows)
        starts = [step * each.dilation for step, each in zip(place, windows, strict=True)]
        at = within(
            slice(start, start + (each.size - 1) * each.stride + 1, each.stride)
            for start, each in zip(starts, windows, strict=True)
        )
        found[at] += made.reshape(data.shape[0], outputs * group, *data.shape[2:])
    found = found[within(slice(each.begin, each.begin + each.count) for each in windows)]
    found = found + bias[0].reshape(-1, *[1] * len(counts)) if bias else found
    return [calculated(call, found, data.dtype, *given)]


def _average_pool(call: Call) -> Sequence[Tensor]:
    """The mean of each window, of the places that count in it."""
    data = call.tensor(0)
    windows = pool_windows(call, data)
    (numbers,) = reals_of(call, data)
    call.check_size((*data.shape[:2], *(each.count for each in windows)))
    sums = _summed(laid_out(call, numbers, windows), windows)
    counted = np.ones(data.shape[2:])
    if call.attribute("count_include_pad", 0):
        padded = [
            Windows(each.size + each.begin + each.end, each.kernel, each.stride, each.dilation, 0, 0, each.count)
            for each in windows
        ]
        counts = _summed(laid_out(call, np.ones([each.size for each in padded]), padded), padded)
    else:
        counts = _summed(laid_out(call, counted, windows), windows)
    return [calculated(call, sums / counts, data.dtype, data)]


def _summed(field: Numbers, windows: Sequence[Windows]) -> Numbers:
    found: Any = 0.0
    for place in each_of(*(range(each.kernel) for each in windows)):
        found = found + at_tap(field, windows, place)
    return np.asarray(found)


def _global_average(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    if data.rank < 3 or not prod(data.shape[2:]):
        call.refuse(f"the dims {list(data.shape)} are not those of a pool")
    (numbers,) = reals_of(call, data)
    return [calculated(call, numbers.mean(tuple(range(2, data.rank)), keepdims=True), data.dtype, data)]


RECORDS: Final[dict[str, Record]] = {
    "MatMul": record(_matmul),
    "Einsum": record(_einsum),
    "Conv": record(_conv),
    "ConvTranspose": record(_conv_transpose),
    "AveragePool": record(_average_pool),
    "GlobalAveragePool": record(_global_average),
}
