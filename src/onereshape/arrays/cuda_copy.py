"""Copies into C order on CUDA devices, by addresses alone: for every library whose arrays lie there.

There are no launches where no kernel fits, or where it cannot be compiled here; then the library copies by itself.
"""

from __future__ import annotations

from pathlib import Path

from onereshape.arrays import cuda_driver
from onereshape.arrays.gpu_boxes import boxes_of, ways_of
from onereshape.arrays.gpu_plans import Boxes
from onereshape.arrays.layout import CopyPlan, copy_plan

Dims = tuple[int, ...]

SMALLEST = 4 << 20
"""The bytes below which a library's own copy is as fast: the host takes longer than the device."""

_WARP, _SECTOR = 32, 32

_LIBRARY = {2: (1.13, 0.064), 4: (0.72, 0.09), 8: (0.555, 0.116), 16: (0.51, 0.18)}
"""What one thread for each element takes for a megabyte, in microseconds, by an element's bytes.

The first is for elements in order; the second for what is read besides, as a multiple of the elements' own bytes.
"""

_BOXES = 0.49, 0.53
"""The same for boxes."""

_BEGIN = 2.4, 4.1
"""What either takes to begin and to end."""

_DOUBT = 1.5
"""By how much these may be wrong."""


def by_rule(dims: Dims, strides: Dims, itemsize: int, address: int, device: int) -> cuda_driver.Ready | None:
    """The launch that copies elements of these dims and strides, in bytes, as a rule the fastest one.

    None where there is none.  `device` is the current one.
    """
    boxes = boxes_for(copy_plan(dims, strides, itemsize), address)
    return next(iter(_launches([] if boxes is None else [boxes], device)), None)


def ways(dims: Dims, strides: Dims, itemsize: int, address: int, device: int) -> list[cuda_driver.Ready]:
    """That launch, and others of which one is often faster."""
    return _launches(ways_of(copy_plan(dims, strides, itemsize), _alignment(address)), device)


def _launches(found: list[Boxes], device: int) -> list[cuda_driver.Ready]:
    """Of all these boxes, or of none, where no kernel can be compiled here."""
    try:
        return [launch(boxes, device) for boxes in found]
    except cuda_driver.NoKernel:
        return []


def boxes_for(plan: CopyPlan, address: int) -> Boxes | None:
    """The boxes of a copy from there."""
    return boxes_of(plan, _alignment(address))


def _alignment(address: int) -> int:
    """Fresh CUDA memory is aligned to more than the 32 bytes that count."""
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


def doubtful(dims: Dims, strides: Dims, itemsize: int, address: int) -> bool:
    """Whether one thread for each element, in the destination's order, may be faster: what libraries do by themselves.

    It begins sooner, and reads hardly more where elements are wide or nearly in order.
    """
    plan = copy_plan(dims, strides, itemsize)
    boxes = boxes_for(plan, address)
    if itemsize not in _LIBRARY or boxes is None:
        return boxes is None
    megabytes = plan.nbytes / 1e6
    each, beside = _LIBRARY[itemsize]
    library = _BEGIN[0] + megabytes * (each + beside * (_read_in_order(plan, itemsize) - 1))
    return library < _DOUBT * (_BEGIN[1] + megabytes * (_BOXES[0] + _BOXES[1] * (boxes.cost - 1)))


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
