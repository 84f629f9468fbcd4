"""GPU copies by the Triton kernels: compiled once per class of launches, then called directly."""

from __future__ import annotations

from typing import Any

import torch
import triton

from onereshape.arrays.gpu_plan import Launch
from onereshape.arrays.triton_kernels import KERNELS

WORD_TYPES = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}

_compiled: dict[Any, Any] = {}


class Pointer:
    """A device address that Triton takes for a tensor of words."""

    __slots__ = ("address", "dtype")

    def __init__(self, address: int, word: int) -> None:
        self.address = address
        self.dtype = WORD_TYPES[word]

    def data_ptr(self) -> int:
        return self.address


def run(launch: Launch, source: int, output: int, device: int) -> tuple[Any, ...]:
    """Copies on the current stream of the current device; the addresses are those of the first items.

    Gives what `again` needs to do the same for other addresses of the same alignment, at the price of a launch alone.
    """
    key = (launch.kernel, launch.word, launch.constants, launch.warps, source % 16 == 0, output % 16 == 0, device)
    compiled = _compiled.get(key)
    numbers = (*launch.integers, *(value for _, value in launch.constants))
    if compiled is None:
        pointers = Pointer(source, launch.word), Pointer(output, launch.word)
        compiled = _compiled[key] = interpret(launch, *pointers)
        return compiled.run, launch.programs, compiled.function, compiled.packed_metadata, numbers
    ready = (compiled.run, launch.programs, compiled.function, compiled.packed_metadata, numbers)
    again(ready, source, output, device)
    return ready


def again(ready: tuple[Any, ...], source: int, output: int, device: int) -> None:
    """The compiled kernel called directly: finding it through its arguments costs more than the launch."""
    call, programs, function, metadata, numbers = ready
    stream = triton.runtime.driver.active.get_current_stream(device)
    call(programs, 1, 1, stream, function, metadata, None, None, None, source, output, *numbers)


def interpret(launch: Launch, source: Any, output: Any) -> Any:
    """The same through Triton's own call, which compiles; or interprets, where that was asked for."""
    kernel = KERNELS[launch.kernel]
    values = [value for _, value in launch.constants]
    return kernel[(launch.programs,)](source, output, *launch.integers, *values, num_warps=launch.warps)
