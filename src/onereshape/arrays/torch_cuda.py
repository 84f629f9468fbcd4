"""Copies of CUDA tensors: the Triton kernels where they pay, torch's own copy elsewhere."""

from __future__ import annotations

from typing import Any

import torch

from onereshape.arrays.gpu_plan import Launch, launch_of
from onereshape.arrays.layout import copy_plan

SMALLEST = 4 << 20
"""The bytes below which torch's own copy is as fast: the host takes longer than the device."""

_READY = 4096
_ready: dict[Any, Any] = {}


def contiguous(data: Any) -> Any:
    """A copy of a CUDA tensor in C order."""
    if data.numel() * data.element_size() < SMALLEST:
        return data.clone(memory_format=torch.contiguous_format)
    return by_kernel(data)


def by_kernel(data: Any) -> Any:
    """The same by a kernel, whatever its size; torch's own copy where no kernel fits."""
    address, index = data.data_ptr(), data.device.index
    key = (data.shape, data.stride(), data.dtype, address & 15, index)
    ready = _ready.get(key)
    if ready is None:
        launch = launch_for(data)
        if launch is None:
            return data.clone(memory_format=torch.contiguous_format)
        if len(_ready) >= _READY:
            _ready.clear()
        output, _ready[key] = launched(data, launch)
        return output
    from onereshape.arrays import triton_copy  # noqa: PLC0415 - imported by the first copy

    output = torch.empty_like(data, memory_format=torch.contiguous_format)
    if torch.cuda.current_device() == index:
        triton_copy.again(ready, address, output.data_ptr(), index)
    else:
        with torch.cuda.device(index):
            triton_copy.again(ready, address, output.data_ptr(), index)
    return output


def launch_for(data: Any, **tuned: int) -> Launch | None:
    """The launch of a kernel for this tensor; fresh CUDA memory is aligned to more than the 16 bytes that count."""
    itemsize = data.element_size()
    plan = copy_plan(tuple(data.shape), tuple(stride * itemsize for stride in data.stride()), itemsize)
    low = data.data_ptr() | 16
    return launch_of(plan, low & -low, **tuned)


def launched(data: Any, launch: Launch) -> tuple[Any, tuple[Any, ...]]:
    """The copy, and what repeats it."""
    from onereshape.arrays import triton_copy  # noqa: PLC0415 - Triton is imported by the first copy that needs it

    output = torch.empty_like(data, memory_format=torch.contiguous_format)
    with torch.cuda.device(data.device):
        return output, triton_copy.run(launch, data.data_ptr(), output.data_ptr(), data.device.index)
