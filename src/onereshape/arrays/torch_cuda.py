"""Copies of CUDA tensors: by our kernel where it pays, by torch's own elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from statistics import median
from typing import Any, TypeVar

import torch
from torch import _C

from onereshape.arrays import cuda_copy, cuda_driver
from onereshape.arrays.cuda_copy import SMALLEST
from onereshape.ground.integers import Dims

_T = TypeVar("_T")

_MOST = 4096
_NEAR = 1.25
"""Which ways are timed well: those that took this much of the fastest one's time when each was timed alone."""

_TOGETHER, _ROUNDS = 4, 3
"""The copies one after the other that are timed together then, and how often."""

_EVEN = 0.98
"""The share of its time that torch's own copy is counted with, so that what is as fast is torch's."""

_BUSY, _AGAIN = 10_000, 4
"""The cycles that the device waits first for each launch and each mark, so that the host is ahead of it.

Where it is not, what was timed is the host: then once more, with twice the time, so often at most.
"""

_first: dict[Any, cuda_driver.Ready | None] = {}
"""The launch by rule, for each layout that came."""

_fastest: dict[Any, cuda_driver.Ready | None] = {}
"""The fastest, for those that came again; None is torch's own copy."""


def contiguous(data: Any) -> Any:
    """A copy of a CUDA tensor in C order."""
    if data.numel() * data.element_size() < SMALLEST:
        return data.clone(memory_format=torch.contiguous_format)
    return _copied(data, _launch_for(data)[0])


def handed_over(data: Any) -> bool:
    """Whether a copy of this layout, which came at least twice, is torch's own."""
    return data.numel() * data.element_size() < SMALLEST or _fastest.get(_key(data)) is None


def by_kernel(data: Any) -> Any:
    """A copy of a CUDA tensor in C order by the kernel, even where it does not pay; without a kernel by torch."""
    return _copied(data, None if torch.cuda.is_current_stream_capturing() else _by_rule(data))


def _copied(data: Any, ready: cuda_driver.Ready | None) -> Any:
    output = None if ready is None else _launched(ready, data, data.shape, data.get_device(), data.data_ptr())
    return data.clone(memory_format=torch.contiguous_format) if output is None else output


def quickest(data: Any, plain: Callable[[Any], bool], otherwise: Callable[[Any, Dims], Any]) -> Callable[..., Any]:
    """The function `copied(data, output)` for tensors of this layout; tensors that are not plain go to `otherwise`."""
    if torch.cuda.is_current_stream_capturing():
        return otherwise
    if _by_rule(data) is None:
        return torch.Tensor.reshape
    known: dict[tuple[int, int], cuda_driver.Ready | None] = {}

    def copied(data: Any, output: Dims) -> Any:
        if not plain(data) or (data.requires_grad and torch.is_grad_enabled()):
            return otherwise(data, output)
        device, source = data.get_device(), data.data_ptr()
        try:
            ready = known[device, source & 31]
        except KeyError:
            ready, tried = _launch_for(data)
            if tried:
                known[device, source & 31] = ready
        found = None if ready is None else _launched(ready, data, output, device, source)
        return torch.Tensor.reshape(data, output) if found is None else found

    return copied


def _launched(ready: cuda_driver.Ready, data: Any, dims: Dims, device: int, source: int) -> Any:
    """A tensor of these dims with the elements of data; None where the driver does not take the launch."""
    output = data.new_empty(dims)
    # What torch.cuda asks for a Stream and for the current device: both take long beside the launch.
    stream = _C._cuda_getCurrentRawStream(device)  # noqa: SLF001
    if _C._cuda_getDevice() == device:  # noqa: SLF001
        done = ready(source, output.data_ptr(), stream)
    else:
        with torch.cuda.device(device):
            done = ready(source, output.data_ptr(), stream)
    return output if done else None


def _launch_for(data: Any) -> tuple[cuda_driver.Ready | None, bool]:
    """The launch for a layout, or None for torch's own copy, and whether it is the fastest of all that were tried.

    When a layout comes first, it is the one by rule; they are tried when it comes again.  While a graph is captured,
    nothing is planned, compiled or tried.
    """
    key = _key(data)
    try:
        return _fastest[key], True
    except KeyError:  # or another thread has just forgotten it
        pass
    if torch.cuda.is_current_stream_capturing():
        return _first.get(key), False
    again = key in _first
    kept, found = (_fastest, _tried(data)) if again else (_first, _by_rule(data))
    if len(kept) >= _MOST:
        kept.clear()
    kept[key] = found
    return found, again


def _key(data: Any) -> tuple[Any, ...]:
    return data.shape, data.stride(), data.dtype, data.data_ptr() & 31, data.get_device()


def _layout(data: Any) -> tuple[Dims, Dims, int, int]:
    itemsize = data.element_size()
    return tuple(data.shape), tuple(stride * itemsize for stride in data.stride()), itemsize, data.data_ptr()


def _by_rule(data: Any) -> cuda_driver.Ready | None:
    with torch.cuda.device(data.device):
        return cuda_copy.by_rule(*_layout(data), data.get_device())


def _tried(data: Any) -> cuda_driver.Ready | None:
    """The launch that takes the least time on the device, or None for torch's own copy: all are tried, in turn."""
    with torch.cuda.device(data.device), torch.no_grad():
        output = torch.empty(data.shape, dtype=data.dtype, device=data.device)
        addresses = data.data_ptr(), output.data_ptr(), _C._cuda_getCurrentRawStream(data.get_device())  # noqa: SLF001
        launches = cuda_copy.ways(*_layout(data), data.get_device())
        taken: list[cuda_driver.Ready | None] = [ready for ready in launches if ready(*addresses)]
        taken.append(None)

        def copied(ready: cuda_driver.Ready | None) -> None:
            _own(data, output) if ready is None else ready(*addresses)

        if len(taken) > 1:
            spans = _spans(taken, copied, 1)
            taken = [ready for ready, span in zip(taken, spans, strict=True) if span <= _NEAR * min(spans)]
        if len(taken) > 1:
            spans = _spans(taken, copied, _TOGETHER)
            if taken[-1] is None:
                spans[-1] *= _EVEN
            taken = [taken[spans.index(min(spans))]]
        return taken[0]


def _spans(ways: list[_T], copied: Callable[[_T], None], together: int) -> list[float]:
    """How long the device takes for each, so many one after the other: the median, since a clock may once jump."""
    for slower in range(_AGAIN):
        torch.cuda._sleep((_BUSY << slower) * (together + 1) * _ROUNDS * len(ways))  # noqa: SLF001
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(len(ways) * _ROUNDS + 1)]
        marks[0].record()
        for way, mark in zip(ways * _ROUNDS, marks[1:], strict=True):
            for _ in range(together):
                copied(way)
            mark.record()
        ahead = not marks[0].query()
        marks[-1].synchronize()
        if ahead:
            break
    spans = [begin.elapsed_time(end) for begin, end in pairwise(marks)]
    return [median(spans[place :: len(ways)]) for place in range(len(ways))]


def _own(data: Any, output: Any) -> None:
    """Torch's own copy."""
    output.copy_(data)
