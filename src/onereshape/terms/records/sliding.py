"""Windows: the places of a dim that each place of the answer reads, from strides, dilations and pads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call
from onereshape.terms.hashing import Words
from onereshape.terms.tensor import Tensor

_IGNORES_BEHIND: Final = 22
_FARTHEST: Final = 1 << 31
"""Steps and kernels beyond this are no one's."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows along one axis."""

    size: int
    """The size of the dim that is read."""
    kernel: int
    stride: int = 1
    dilation: int = 1
    begin: int = 0
    """Places that are added before the first."""
    end: int = 0
    """And behind the last; a window may go beyond them if dims are rounded up."""
    count: int = 0
    """The number of windows."""

    @property
    def reach(self) -> int:
        """How many places a window goes over."""
        return (self.kernel - 1) * self.dilation + 1

    @property
    def whole(self) -> int:
        """The number of places that all windows together go over."""
        return (self.count - 1) * self.stride + self.reach

    @property
    def plain(self) -> bool:
        """Whether every place is a window by itself, so that nothing slides."""
        return self.kernel == 1 and self.stride == 1 and not self.begin and not self.end


def sizes(call: Call, name: str, count: int, default: int = 1) -> list[int]:
    """An attribute that lists a positive number for each of `count` axes: strides, dilations; else the default."""
    found = call.attribute(name)
    if not found:
        return [default] * count
    if len(found) != count or min(found) < 1 or max(found) > _FARTHEST:
        call.refuse(f"its {name} {list(found)} are not those of {count} axes")
    return [int(each) for each in found]


def pads_of(call: Call, count: int) -> list[tuple[int, int]]:
    """The pads before and behind each axis, from the attribute: `pads = [1, 2, 3, 4] -> [(1, 3), (2, 4)]`."""
    found = call.attribute("pads") or [0] * (2 * count)
    if len(found) != 2 * count or min(found, default=0) < 0:
        call.refuse(f"its pads {list(found)} are not those of {count} axes")
    if any(found) and automatic(call):
        call.refuse("has pads beside auto_pad")
    return list(zip(found[:count], found[count:], strict=True))


def automatic(call: Call) -> str:
    """The attribute `auto_pad`, or an empty text where pads are given."""
    found = call.attribute("auto_pad") or "NOTSET"
    if found not in {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}:
        call.refuse(f"there is no auto_pad {found!r}")
    return "" if found == "NOTSET" else str(found)


def windows_of(call: Call, dims: Sequence[int], kernel: Sequence[int], *, ceil: bool = False) -> list[Windows]:
    """The windows of a convolution or a pool along each axis."""
    count = len(dims)
    strides, dilations = sizes(call, "strides", count), sizes(call, "dilations", count)
    pads, how = pads_of(call, count), automatic(call)
    found = []
    for size, width, stride, dilation, pad in zip(dims, kernel, strides, dilations, pads, strict=True):
        reach = (width - 1) * dilation + 1
        if how.startswith("SAME"):
            number = -(-size // stride)
            needed = (number - 1) * stride + reach - size
            if needed < 0 and call.op.endswith("Pool"):
                call.refuse("has less than no padding, which not all take for none")
            begin, end = halves(max(needed, 0), upper=how == "SAME_UPPER")
        else:
            begin, end = pad
            number = _count(call, size + begin + end - reach, stride, size + begin, ceil=ceil)
            if how and (size - reach) // stride + 1 != number:
                call.refuse("rounds up without padding, which is not what all do")
        if number < 1:
            call.refuse("it has no windows")
        clipped = ceil and number == 1 and dilation == 1 and begin == end == 0  # what is behind the end is not there
        found.append(Windows(size, min(width, size) if clipped else width, stride, dilation, begin, end, number))
    return found


def halves(total: int, *, upper: bool) -> tuple[int, int]:
    """Padding before and behind; what is odd goes behind, or before.

    >>> halves(3, upper=True), halves(3, upper=False)
    ((1, 2), (2, 1))
    """
    return (total // 2, total - total // 2) if upper else (total - total // 2, total // 2)


def _count(call: Call, room: int, stride: int, inside: int, *, ceil: bool) -> int:
    """How many windows there are; since opset 22 none begins behind the places of the tensor."""
    if room < 0 and not ceil:
        call.refuse("its kernel is larger than what it goes over")
    if not ceil:
        return room // stride + 1
    number = -(-room // stride) + 1
    if (number - 1) * stride < inside:
        return number
    if call.version < _IGNORES_BEHIND or call.op == "LpPool":
        call.refuse("it is not said whether windows begin behind the tensor")
    return number - 1


def check_growth(call: Call, data: Tensor, windows: Sequence[Windows]) -> None:
    """Notes windows over a dim that grows with the number of samples."""
    growth = data.growth[data.rank - len(windows) :] if data.growth else ()
    if any(grows and not each.plain for grows, each in zip(growth, windows, strict=False)):
        call.not_for_all("has windows over a dim that grows with the number of samples")


def padded(call: Call, words: Words, windows: Sequence[Windows], pad: Words, beyond: Words | None = None) -> Words:
    """Words with the pads of windows around them: `pad` within the pads, `beyond` where windows reach beyond these."""
    outer = words.shape[: words.ndim - len(windows)]
    shape = (*outer, *(each.whole for each in windows))
    if all(not each.begin and each.whole <= each.size for each in windows):
        cut: Words = words[within(slice(each.whole) for each in windows)]
        return cut
    call.check_size(shape)
    found = np.empty(shape, np.uint64)
    found[...] = pad if beyond is None else beyond
    if beyond is not None:
        found[within(slice(each.begin + each.size + each.end) for each in windows)] = pad
    kept = within(slice(max(each.whole - each.begin, 0)) for each in windows)
    found[within(slice(each.begin, each.begin + each.size) for each in windows)] = words[kept]
    return found


def within(parts: Iterable[slice]) -> Any:
    """An index of slices of the last axes: `[slice(2)] -> (..., slice(2))`."""
    return (..., *parts)


def contents(call: Call, words: Words, windows: Sequence[Windows]) -> Words:
    """The content of each window, of places that are padded: linear, and to be mixed.

    An axis along which windows are of one place adds nothing, so that a kernel of (1, 3) is as one of (3,).
    """
    slot = 0
    for place, each in enumerate(windows):
        axis = words.ndim - len(windows) + place
        if each.kernel == 1:
            words = words[(slice(None),) * axis + (slice(None, None, each.stride),)]
            continue
        words = call.hashing.slide(words, axis, each.kernel, each.stride, each.dilation, slot)
        slot += 1
    return words
