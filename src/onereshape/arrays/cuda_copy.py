"""Copies into C order on CUDA devices, by addresses alone: for every library whose arrays lie there.

A launch is planned and compiled once for a layout, and remembered.  None says that there is no kernel for it, that it
cannot be compiled here, or that the library's own copy is as fast; then the library copies by itself.
"""

from __future__ import annotations

from pathlib import Path

from onereshape.arrays import cuda_driver
from onereshape.arrays.gpu_boxes import Boxes, boxes_of
from onereshape.arrays.layout import CopyPlan, copy_plan

Dims = tuple[int, ...]

SMALLEST = 4 << 20
"""The bytes below which a library's own copy is as fast: the host takes longer than the device."""

_SOURCE = Path(__file__).with_name("gpu_copy.cu")
_MOST = 4096
_WARP, _SECTOR = 32, 32
_WIDE = 16
"""The bytes of an element that a thread can move by itself at full speed."""

_LITTLE = 8 << 20
"""The bytes below which that holds also for elements of 4 bytes and more that are read nearly in order."""

_IN_ORDER = 1.7
"""What that reads of the source then, at most, as a multiple of the elements' own bytes."""

_known: dict[tuple[Dims, Dims, int, int, int], cuda_driver.Ready | None] = {}


def ready_for(dims: Dims, strides: Dims, itemsize: int, address: int, device: int) -> cuda_driver.Ready | None:
    """The launch that copies elements of these dims and strides, in bytes; `device` is the current one."""
    key = (dims, strides, itemsize, address & 31, device)
    if key not in _known:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = _prepared(copy_plan(dims, strides, itemsize), itemsize, address, device)
    return _known[key]


def _prepared(plan: CopyPlan, itemsize: int, address: int, device: int) -> cuda_driver.Ready | None:
    boxes = boxes_for(plan, address)
    if boxes is None or as_fast_without(plan, itemsize, boxes):
        return None
    try:
        return launch(boxes, device)
    except cuda_driver.NoKernel:
        return None


def boxes_for(plan: CopyPlan, address: int) -> Boxes | None:
    """The boxes of a copy from there; fresh CUDA memory is aligned to more than the 32 bytes that count."""
    low = address | 32
    return boxes_of(plan, low & -low)


def launch(boxes: Boxes, device: int) -> cuda_driver.Ready:
    defines = (("UNIT", boxes.unit), ("GRAIN", boxes.grain))
    function = cuda_driver.function_of(device, _SOURCE, "copy_boxes", defines)
    return cuda_driver.ready(function, boxes.boxes, boxes.threads, boxes.shared, boxes.parameters)


def as_fast_without(plan: CopyPlan, itemsize: int, boxes: Boxes) -> bool:
    """Whether one thread for each element, in the destination's order, reads hardly more of the source than boxes do.

    That is what libraries do by themselves; it pays for wide elements, for narrower ones where both read the gaps
    between them, and where there is little to copy.
    """
    if itemsize < 4:
        return False
    read = _read_in_order(plan, itemsize)
    if plan.nbytes < _LITTLE and read <= _IN_ORDER:
        return True
    gaps = boxes.cost > 1.2
    return itemsize >= (_WIDE // 2 if gaps else _WIDE) and read <= 1.5 * (2 * boxes.cost - 1)


def _read_in_order(plan: CopyPlan, itemsize: int) -> float:
    """The bytes of the sectors that a warp reads, as a multiple of its elements', by two samples."""
    dims = [*zip(plan.dims, plan.source, strict=True), (plan.item // itemsize, itemsize)]
    total = plan.nbytes // itemsize
    sectors = 0
    for start in (0, total // 2):
        found = set()
        for element in range(start, start + _WARP):
            rest, at = element % total, 0
            for size, stride in reversed(dims):
                rest, place = divmod(rest, size)
                at += place * stride
            found |= {at // _SECTOR, (at + itemsize - 1) // _SECTOR}
        sectors += len(found)
    return sectors * _SECTOR / (2 * _WARP * itemsize)
