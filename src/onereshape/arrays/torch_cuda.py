"""Copies of CUDA tensors: the Triton kernels where they pay, torch's own copy elsewhere."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch

from onereshape.arrays.gpu_plan import Launch, launch_of
from onereshape.arrays.layout import copy_plan

SMALLEST = 1 << 20
"""The bytes below which torch's own copy is as fast."""


@lru_cache(maxsize=4096)
def _launch(dims: tuple[int, ...], strides: tuple[int, ...], itemsize: int, alignment: int) -> Launch | None:
    plan = copy_plan(dims, tuple(stride * itemsize for stride in strides), itemsize)
    return launch_of(plan, alignment)


def contiguous(data: Any) -> Any:
    """A copy of a CUDA tensor in C order, which its layout is not."""
    itemsize = data.element_size()
    if data.numel() * itemsize < SMALLEST:
        return data.clone(memory_format=torch.contiguous_format)
    return copied(data) if (launch := launch_for(data)) is None else launched(data, launch)


def copied(data: Any) -> Any:
    return data.clone(memory_format=torch.contiguous_format)


def launch_for(data: Any) -> Launch | None:
    """The launch of a kernel for this tensor, or None."""
    address = data.data_ptr()
    return _launch(tuple(data.shape), data.stride(), data.element_size(), (address | 16) & -(address | 16))


def launched(data: Any, launch: Launch) -> Any:
    """The copy, by one kernel; fresh CUDA memory is aligned to more than 16 bytes."""
    from onereshape.arrays import triton_copy  # noqa: PLC0415 - Triton is imported by the first copy that needs it

    output = torch.empty(data.shape, dtype=data.dtype, device=data.device)
    index = data.device.index
    if torch.cuda.current_device() == index:
        triton_copy.run(launch, data.data_ptr(), output.data_ptr(), index)
    else:
        with torch.cuda.device(index):
            triton_copy.run(launch, data.data_ptr(), output.data_ptr(), index)
    return output
