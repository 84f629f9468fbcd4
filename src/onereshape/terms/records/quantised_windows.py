"""Windows over quantised data: convolutions, and the plan of any window.

A window's content is collapsed along its channels first, then over the places of the kernel, so that it costs no more
than reading the data once for each of these.  What lies beside the data is padded with the word of their zero point.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.content import content
from onereshape.terms.records.quantised import limited, single, zero
from onereshape.terms.tensor import Tensor

_PADS: Final = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """Where the windows lie, along each axis of space."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    counts: tuple[int, ...]
    """The number of windows along each axis."""

    def contents(self, call: Call, words: Words, outside: Words) -> Words:
        """The content of each window of words [..., *space], in its order; it is not yet mixed."""
        lead = words.ndim - len(self.kernel)
        reach = [
            max((count - 1) * step + (size - 1) * wide + 1, dim + before + after)
            for count, step, size, wide, dim, before, after in zip(
                self.counts,
                self.strides,
                self.kernel,
                self.dilations,
                words.shape[lead:],
                self.before,
                self.after,
                strict=True,
            )
        ]
        dims = (*words.shape[:lead], *reach)
        call.check_size(dims)
        call.check_size((*words.shape[:lead], *self.counts))
        padded = np.broadcast_to(outside, dims).copy()
        inside = tuple(slice(before, before + dim) for before, dim in zip(self.before, words.shape[lead:], strict=True))
        front = (slice(None),) * lead
        padded[front + inside] = words
        odd = call.hashing.multipliers(prod(self.kernel))
        total: Words = np.zeros((*words.shape[:lead], *self.counts), np.uint64)
        for factor, offsets in zip(odd, product(*map(range, self.kernel)), strict=True):
            part = tuple(
                slice(offset * wide, offset * wide + (count - 1) * step + 1 if count else 0, step)
                for offset, wide, count, step in zip(offsets, self.dilations, self.counts, self.strides, strict=True)
            )
            total += padded[front + part] * factor
        return total


def plan(call: Call, space: Sequence[int], kernel: Sequence[int], *, ceil: bool = False) -> WindowPlan:
    """The windows that the attributes of a node ask for."""
    rank = len(space)
    strides, dilations = (_sizes(call, name, rank) for name in ("strides", "dilations"))
    if len(kernel) != rank or min(kernel, default=1) < 1:
        call.refuse(f"a kernel of {list(kernel)} does not go over {list(space)}")
    reach = [(size - 1) * wide + 1 for size, wide in zip(kernel, dilations, strict=True)]
    before, after = _padding(call, space, reach, strides)
    counts = []
    for dim, size, step, first, last in zip(space, reach, strides, before, after, strict=True):
        room = dim + first + last - size
        if room < 0:
            call.refuse(f"a kernel of {list(kernel)} does not fit into {list(space)}")
        count = (-(-room // step) if ceil else room // step) + 1
        if ceil and (count - 1) * step >= dim + first:
            count -= 1  # a window does not begin behind the data
        counts.append(count)
    return WindowPlan(tuple(kernel), strides, dilations, before, after, tuple(counts))


def _sizes(call: Call, name: str, rank: int) -> tuple[int, ...]:
    found = call.attribute(name)
    if found is None:
        return (1,) * rank
    if len(found) != rank or min(found, default=1) < 1:
        call.refuse(f"its {name} are {list(found)}, and there are {rank} axes of space")
    return tuple(int(each) for each in found)


def _padding(
    call: Call, space: Sequence[int], reach: Sequence[int], strides: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rank, how, pads = len(space), call.attribute("auto_pad", "NOTSET"), call.attribute("pads")
    if how not in _PADS:
        call.refuse(f"there is no padding {how!r}")
    if how == "NOTSET":
        pads = [0] * 2 * rank if pads is None else [int(each) for each in pads]
        if len(pads) != 2 * rank or min(pads, default=0) < 0:
            call.refuse(f"its pads are {pads}, and there are {rank} axes of space")
        return tuple(pads[:rank]), tuple(pads[rank:])
    if pads is not None and any(pads):
        call.refuse(f"it has pads beside the padding {how!r}")
    if how == "VALID":
        return (0,) * rank, (0,) * rank
    totals = [
        max((-(-dim // step) - 1) * step + size - dim, 0) for dim, size, step in zip(space, reach, strides, strict=True)
    ]
    small = [total // 2 if how == "SAME_UPPER" else -(-total // 2) for total in totals]
    return tuple(small), tuple(total - each for total, each in zip(totals, small, strict=True))


def watch_growth(call: Call, data: Tensor, channels: int = 1) -> None:
    """Windows are the same for every N only along axes that do not grow."""
    if any(growth for axis, growth in enumerate(data.growth) if axis >= channels):
        call.not_for_all("goes over a dim that grows with the number of samples")


@dataclass(frozen=True, slots=True)
class Convolution:
    """What a convolution is made of: [n, m, *space] = windows with filters."""

    windows: Words
    """A word for each window of the group of each filter."""
    filters: Words
    """A word for each filter, [m, 1, ...]."""
    inner: int
    """How many numbers a window has."""


def convolution(call: Call, data: Tensor, weights: Tensor, outside: Words) -> Convolution:
    """The windows and the filters of a convolution [n, c, *space] with [m, c / group, *kernel]."""
    rank, group = data.rank - 2, int(call.attribute("group", 1))
    if rank < 1 or weights.rank != data.rank or group < 1:
        call.refuse(f"the dims {list(data.shape)} and {list(weights.shape)} are not those of a convolution")
    many, channels, *space = data.shape
    filters, depth, *kernel = weights.shape
    asked = call.attribute("kernel_shape")
    if channels != depth * group or filters % group or (asked is not None and list(asked) != list(kernel)):
        call.refuse(f"the dims {list(data.shape)} and {list(weights.shape)} do not go together in {group} groups")
    watch_growth(call, data)
    where = plan(call, space, kernel)
    call.check_size((many, filters, *where.counts))
    grouped = data.hashed(call.hashing).reshape(many, group, depth, *space)
    key = call.key(depth, op="channels")
    collapsed = call.hashing.mix(key, call.hashing.fold(grouped, (2,)))
    beside = call.hashing.mix(key, call.hashing.fold(np.broadcast_to(outside, (1, depth)), (1,))).reshape(())
    windows = call.hashing.mix(call.key(op="window"), where.contents(call, collapsed, beside))
    each = content(call, weights, range(1, weights.rank))
    return Convolution(np.repeat(windows, filters // group, 1), each.reshape(-1, *[1] * rank), depth * prod(kernel))


def per_filter(call: Call, place: int, filters: int, rank: int) -> Words:
    """The words of a parameter that is a single number or a vector of `filters`, shaped `[filters, 1, ...]` then."""
    tensor = call.tensor(place)
    if tensor.size == 1 and tensor.rank <= 1:
        return single(call, place)
    if tensor.shape != (filters,):
        call.refuse(f"input {place} has the dims {list(tensor.shape)}, and there are {filters} filters")
    return tensor.hashed(call.hashing).reshape(-1, *[1] * rank)


def _convolution(call: Call) -> Sequence[Tensor]:
    data, weights = call.tensor(0), call.tensor(3)
    made = convolution(call, data, weights, single(call, 2))
    rank, filters, dtype = data.rank - 2, weights.shape[0], call.tensor(7).dtype
    scales = [per_filter(call, place, filters, rank) for place in (4, 5)]
    bias = zero(call, weights.dtype).hashed(call.hashing)
    if call.has(8):
        if call.tensor(8).shape != (filters,):
            call.refuse(f"its bias has the dims {list(call.tensor(8).shape)}, and there are {filters} filters")
        bias = per_filter(call, 8, filters, rank)
    one = [single(call, place) for place in (1, 2, 6, 7)]
    key = call.key(made.inner, dtype.name)
    return [limited(call.mixed(dtype, key, made.windows, made.filters, *scales, bias, *one).array, dtype)]


RECORDS: Final[dict[str, Record]] = {
    "QLinearConv": record(_convolution),
}
