"""Random copies of CUDA tensors by the kernel, each compared with torch's own, byte for byte.

    python tests/arrays/fuzz_gpu.py [--seconds 240] [--start 0] [--most 0.25]

Needs a GPU.  The memory that a copy is written to held other bytes before.  Most tensors are small and go to the kernel
all the same, past the threshold below which torch copies, in each of the ways in which it may cut them (`--most`: their
megabytes).  Some are larger than it and go through `reshape` three times: the second looks for the fastest way, the
third repeats it.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

import onereshape as orx
from onereshape.arrays import cuda_copy
from onereshape.arrays.view_or_copy import copy_plan
from tests.arrays.copying import random_dims

TYPES = (torch.uint8, torch.int16, torch.float32, torch.int64, torch.complex128, torch.bfloat16)


def layout(random: Random, item: int, most: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
    """Dims, strides and the first element of a view: axes permuted, in steps or repeated, and not always aligned."""
    dims = list(random_dims(random, max(1, most // item), longest=6))
    if random.random() < 0.4:  # planes that are woven, or taken apart, in rows of every length
        dims = [*random_dims(random, max(1, most // item // 520), longest=2), random.choice((2, 3, 4)), 0]
        dims[-1] = random.choice((8, 16, 24, 32, 48, 64, 96, 128, 130))
    strides: list[int] = []
    step = 1
    for dim in reversed(dims):
        strides.insert(0, step)
        step *= dim
    order = random.sample(range(len(dims)), len(dims))
    if random.random() < 0.3:
        order = [*range(len(dims) - 2), *reversed(range(max(0, len(dims) - 2), len(dims)))]
    view = [(dims[axis], strides[axis]) for axis in order]
    if random.random() < 0.3:
        view = [(-(-dim // by), stride * by) for dim, stride in view for by in [random.choice((1, 1, 2, 3))]]
    if random.random() < 0.1:
        view.insert(random.randint(0, len(view)), (random.randint(2, 5), 0))
    offset = random.choice((0, 0, 0, 1, 2, 3, 4, 8))
    return tuple(dim for dim, _ in view), tuple(stride for _, stride in view), offset


def one(seed: int, most: int) -> str:
    """One layout, of so many bytes at most; what was done."""
    random = Random(seed)  # noqa: S311 - a seed that fails must fail again
    kind = random.choice(TYPES)
    large = random.random() < 0.05
    dims, strides, offset = layout(random, kind.itemsize, max(24 << 20, most) if large else most)
    reach = sum((dim - 1) * stride for dim, stride in zip(dims, strides, strict=True)) + 1 + offset
    torch.manual_seed(seed)
    raw = torch.randint(0, 256, (reach * kind.itemsize,), dtype=torch.uint8, device="cuda")
    data = raw.view(kind).as_strided(dims, strides, offset)
    wanted = _bytes(data)
    for _ in range(3 if large else 0):
        other = torch.bitwise_not(wanted)
        del other  # its memory is what the next tensor of that size gets
        assert torch.equal(_bytes(orx.reshape(data, [-1], "onnx", copy=True)), wanted), said(seed, data)
    bytes_apart = tuple(stride * kind.itemsize for stride in strides)
    place = dims, bytes_apart, kind.itemsize, data.data_ptr()
    ways = cuda_copy.ways(*place, torch.cuda.current_device())
    for ready in ways:
        output = torch.bitwise_not(wanted)
        assert ready(data.data_ptr(), output.data_ptr(), torch.cuda.current_stream().cuda_stream)
        assert torch.equal(output, wanted), said(seed, data)
    boxes = cuda_copy.boxes_for(copy_plan(*place[:3]), data.data_ptr())
    return "torch's own" if boxes is None else f"units of {boxes.unit}, {len(ways)} ways"


def said(seed: int, data: Any) -> str:
    return f"seed {seed}: {data.dtype} {tuple(data.shape)} {data.stride()} {data.storage_offset()}"


def _bytes(tensor: Any) -> Any:
    return torch.empty(tensor.numel(), dtype=tensor.dtype, device="cuda").copy_(tensor.reshape(-1)).view(torch.uint8)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=240)
    options.add_argument("--start", type=int, default=0)
    options.add_argument("--most", type=float, default=0.25)
    asked = options.parse_args()
    kinds: Counter[str] = Counter()
    seed, end = asked.start, time.monotonic() + asked.seconds
    while time.monotonic() < end:
        try:
            kinds[one(seed, int(asked.most * (1 << 20)))] += 1
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        seed += 1
    print(f"{seed - asked.start} layouts, in all ways as torch's: {dict(sorted(kinds.items()))}")


if __name__ == "__main__":
    main()
