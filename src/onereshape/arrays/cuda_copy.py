"""Copies into C order on CUDA devices, by addresses alone: for every library whose arrays lie there.

There are no launches where no kernel fits, or where it cannot be compiled here; then the library copies by itself.
"""

from __future__ import annotations

from pathlib import Path

from onereshape.arrays import cuda_driver
from onereshape.arrays.gpu_boxes import boxes_of, ways_of
from onereshape.arrays.gpu_plans import Boxes
from onereshape.arrays.view_or_copy import CopyPlan, copy_plan
from onereshape.ground.integers import Dims

SMALLEST = 4 << 20
"""The bytes below which a library's own copy is as fast: the host takes longer than the device."""


def by_rule(dims: Dims, strides: Dims, itemsize: int, address: int, device: int) -> cuda_driver.Ready | None:
    """The launch that copies elements of these dims and strides, in bytes, as a rule the fastest one.

    None where there is none.  `device` is the current one.
    """
    boxes = boxes_for(copy_plan(dims, strides, itemsize), address)
    return next(iter(_launches([] if boxes is None else [boxes], device)), None)


def ways(dims: Dims, strides: Dims, itemsize: int, address: int, device: int) -> list[cuda_driver.Ready]:
    """All launches that can copy these elements, first that of `by_rule`; a later one is often faster."""
    return _launches(ways_of(copy_plan(dims, strides, itemsize), _alignment(address)), device)


def _launches(found: list[Boxes], device: int) -> list[cuda_driver.Ready]:
    """The launches for boxes, ready to run; an empty list where no kernel can be compiled here."""
    try:
        return [launch(boxes, device) for boxes in found]
    except cuda_driver.NoKernel:
        return []


def boxes_for(plan: CopyPlan, address: int) -> Boxes | None:
    """The boxes of a copy whose source begins at an address."""
    return boxes_of(plan, _alignment(address))


def _alignment(address: int) -> int:
    """The bytes, at most 32, that an address is a multiple of; the destination, fresh memory, is of 32 and more."""
    low = address | 32
    return low & -low


def launch(boxes: Boxes, device: int) -> cuda_driver.Ready:
    defines = (("UNIT", boxes.unit), ("GRAIN", boxes.grain))
    function = cuda_driver.function_of(device, *kernel_of(boxes.squares), defines)
    return cuda_driver.ready(function, boxes.boxes, boxes.threads, boxes.shared, boxes.parameters)


def kernel_of(squares: bool) -> tuple[Path, str]:
    """The source of a kernel, and its name."""
    name = "squares" if squares else "boxes"
    return Path(__file__).with_name(f"gpu_{name}.cu"), f"copy_{name}"
