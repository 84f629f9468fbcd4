"""Copies on a GPU, each against a device copy of the same bytes and against torch, in one run.

    python bench/gpu.py [--json PATH] [--count 200] [--seed 0] [--least 0]

Fourteen cases with names, then random layouts of 64 KB to 256 MB, or of at least so many MB: two to six dims, permuted,
some in steps, elements of 1 to 16 bytes.  Every result is first compared, byte for byte, with torch's on fresh random
data.  Times are medians over device events; the figures are ratios to the device copy, so that 1 is memory speed.  A
layout in steps cannot reach 1: memory moves 64 bytes at a time, and what lies between the elements is read too.  Its
ceiling is what a copy would reach that reads each such piece once; "of the ceiling" is the share of that.  Where a copy
is handed over to torch, both are the same and are not counted as slower.  Last, what calls take on the host.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
import timeit
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from math import exp, log, prod
from pathlib import Path
from random import Random
from typing import Any

import torch

import onereshape as orx
from onereshape.arrays import torch_cuda
from onereshape.arrays.view_or_copy import c_strides, view_strides

Dims = tuple[int, ...]

REGULAR: dict[str, tuple[Dims, Dims]] = {
    "transpose 16384 x 16384": ((16384, 16384), (1, 0)),
    "NCHW to NHWC": ((256, 256, 56, 56), (0, 2, 3, 1)),
    "NHWC to NCHW": ((256, 56, 56, 256), (0, 3, 1, 2)),
    "NCHW to NHWC, C=3": ((256, 3, 512, 512), (0, 2, 3, 1)),
    "NHWC to NCHW, C=3": ((256, 512, 512, 3), (0, 3, 1, 2)),
    "head merge": ((32, 32, 2048, 128), (0, 2, 1, 3)),
    "patchify": ((256, 3, 32, 16, 32, 16), (0, 2, 4, 1, 3, 5)),
    "window partition": ((256, 8, 8, 8, 8, 192), (0, 1, 3, 2, 4, 5)),
    "pixel shuffle": ((64, 16, 2, 2, 256, 256), (0, 1, 4, 2, 5, 3)),
    "reversed 5-D": ((64, 32, 48, 40, 32), (4, 3, 2, 1, 0)),
}
ODD: dict[str, tuple[Dims, Dims]] = {
    "odd transpose 16383 x 16385": ((16383, 16385), (1, 0)),
    "odd C=3, 511 x 509": ((256, 3, 511, 509), (0, 2, 3, 1)),
    "7 x 7 windows, C=1": ((512, 73, 7, 73, 7, 1), (0, 1, 3, 2, 4, 5)),
    "odd head merge, 127": ((32, 32, 2048, 127), (0, 2, 1, 3)),
}
MOVED = 64
TYPES = ("float32", "float16", "int8")
DRAWN = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}
SHORT = (
    2,
    2,
    3,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
    12,
    13,
    16,
    17,
    24,
    31,
    32,
    33,
    48,
    63,
    64,
    65,
    100,
    127,
    128,
    129,
    255,
    256,
    257,
)


def drawn(seed: int, least: int = 0) -> torch.Tensor | None:
    """A random view, whose one long dim is anywhere; None where it has fewer bytes."""
    random = Random(seed)  # noqa: S311 - a seed that fails must fail again
    while True:
        item = random.choice((1, 1, 2, 2, 4, 4, 8, 16))
        count = max(4, int(2 ** random.uniform(16, 28)) // item)
        dims: list[int] = []
        for _ in range(random.randint(1, 5)):
            fitting = [size for size in SHORT if prod(dims) * size * 2 <= count]
            dims += [random.choice(fitting)] if fitting else []
        dims.insert(random.randint(0, len(dims)), max(2, count // prod(dims)))
        axes = random.sample(range(len(dims)), len(dims))
        steps = [1] * len(dims)
        if random.random() < 0.3:
            steps[random.randrange(len(dims))] = random.choice((2, 3))
        first = int(random.random() < 0.1)
        base = tuple(dim * step for dim, step in zip(dims, steps, strict=True))
        strides = [stride * step for stride, step in zip(c_strides(base, 1), steps, strict=True)]
        view = tuple(dims[axis] for axis in axes), tuple(strides[axis] for axis in axes)
        if view_strides(*view, 1, (prod(dims),)) is None:
            break
    if prod(dims) * item < least:
        return None
    whole = fresh((prod(base) + first,), DRAWN[item])[first:].view(base)
    return whole[tuple(slice(None, None, step) for step in steps)].permute(axes)


def fresh(dims: Dims, dtype: torch.dtype) -> torch.Tensor:
    """Random bits."""
    count = prod(dims) * dtype.itemsize
    return torch.randint(0, 256, (count,), dtype=torch.uint8, device="cuda").view(dtype).view(dims)


def ceiling(dims: Dims, strides: Dims, item: int) -> float:
    """The most that a copy of this layout can reach: each 64 bytes of the source that hold an element are read once."""
    span, pieces = item, 1
    for stride, size in sorted((abs(stride) * item, size) for stride, size in zip(strides, dims, strict=True)):
        if pieces == 1 and stride - span < MOVED:
            span += (size - 1) * stride
        else:
            pieces *= size
    beside = MOVED - 1 if span % MOVED else 0  # pieces begin anywhere, on average
    return 2 / (1 + max(1.0, pieces * (span + beside) / (prod(dims) * item)))


def medians(*calls: Callable[[], Any], repeats: int = 15) -> list[float]:
    """Seconds of each call on the device, in turn: what is the same must come out the same."""
    for call in calls * 3:
        call()
    events: list[list[tuple[Any, Any]]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, marks in zip(calls, events, strict=True):
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(200_000)  # noqa: SLF001  # the host runs ahead meanwhile: only the device is timed
            start.record()
            call()
            end.record()
            marks.append((start, end))
    torch.cuda.synchronize()
    return [median_of(start.elapsed_time(end) / 1e3 for start, end in marks) for marks in events]


def bits(x: torch.Tensor) -> torch.Tensor:
    """The bytes of a tensor in C order."""
    return x.reshape(-1).view(torch.uint8)


def same(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.shape == y.shape and torch.equal(bits(x), bits(y))


def scaled(dims: Dims, itemsize: int, nbytes: int) -> Dims:
    """The same case at about that many bytes: the outermost dim, or all of a matrix, made smaller."""
    share = nbytes / (prod(dims) * itemsize)
    if len(dims) == 2:
        return tuple(max(1, int(dim * share**0.5) // 16 * 16 + dim % 16 - 16 * (dim % 16 > 8)) for dim in dims)
    return (max(1, round(dims[0] * share)), *dims[1:])


def measured(x: torch.Tensor) -> dict[str, Any]:
    """One case: the ratios of torch and ours to the device copy, and the host's time."""
    expected = x.clone(memory_format=torch.contiguous_format)
    plain = bits(expected).clone()
    for _ in range(2):  # the second repeats a launch that is remembered
        other = torch.bitwise_not(plain)
        del other  # its memory is what the next tensor of that size gets
        copied = orx.reshape(x, [-1], "onnx")
        assert same(copied, expected.view(-1)), (x.shape, x.stride(), x.dtype)
    (copy,) = medians(plain.clone)
    theirs, ours = medians(lambda: x.reshape(-1), lambda: orx.reshape(x, [-1], "onnx"))
    row: dict[str, Any] = {"bytes": plain.numel(), "copy_tb_s": 2 * plain.numel() / copy / 1e12}
    row |= {"torch": copy / theirs, "ours": copy / ours, "shape": tuple(x.shape), "strides": x.stride()}
    row["ceiling"] = ceiling(tuple(x.shape), x.stride(), x.element_size())
    row["handed_over"] = torch_cuda.handed_over(x)
    return row | {
        "item": x.element_size(),
        "host_us": host(lambda: orx.reshape(x, [-1], "onnx")),
        "torch_us": host(lambda: x.reshape(-1)),
    }


def host(call: Callable[[], Any]) -> float:
    """Microseconds of the host for one call, the least of ten."""
    best = float("inf")
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e6


def called() -> dict[str, float]:
    """What the host takes for calls one after the other, as ratios to torch's own: of a view, and of copies.

    Torch is quickest to read dims that are arguments; a view by a tuple or a list is also timed beside its own by such.
    """
    view = torch.zeros(2, 3, 4, device="cuda")
    flat, op = orx.Reshape("onnx").bind([-1]), orx.Reshape("onnx").bind([0, -1])
    calls: dict[str, tuple[Callable[[], Any], ...]] = {
        "a view": (
            lambda: view.reshape(2, 12),
            lambda: op(view),
            lambda: orx.reshape(view, (0, -1), "onnx"),
            lambda: orx.reshape(view, [0, -1], "onnx"),
        ),
        "by a tuple": (lambda: view.reshape((2, 12)), lambda: orx.reshape(view, (0, -1), "onnx")),
        "by a list": (lambda: view.reshape([2, 12]), lambda: orx.reshape(view, [0, -1], "onnx")),
    }
    for dims, axes in (((1024, 1025), (1, 0)), ((16, 3, 224, 224), (0, 2, 3, 1)), ((8, 16, 512, 64), (0, 2, 1, 3))):
        x = fresh(dims, torch.float32).permute(axes)
        calls[f"a copy of {x.numel() * 4 >> 20} MB"] = (
            partial(x.reshape, -1),
            partial(flat, x),
            partial(orx.reshape, x, (-1,), "onnx"),
            partial(orx.reshape, x, [-1], "onnx"),
        )
    found: dict[str, float] = {}
    for name, ways in calls.items():
        best = [float("inf")] * len(ways)
        for _ in range(100):
            for place, call in enumerate(ways):
                best[place] = min(best[place], timeit.timeit(call, number=20))
                torch.cuda.synchronize()
        bare = best[0]
        forms = ("op(x)", "reshape, a tuple", "reshape, a list") if len(ways) > 2 else ("reshape",)
        found |= {f"{name}, {form}": each / bare for form, each in zip(forms, best[1:], strict=True)}
        print(f"{name:16} torch {bare / 20 * 1e6:5.1f} us; " + ", ".join(f"{each / bare:.2f}" for each in best[1:]))
    return found


def mean(numbers: Iterable[float]) -> float:
    """The geometric mean."""
    logs = [log(number) for number in numbers]
    return exp(sum(logs) / max(1, len(logs)))


def beyond_int32() -> bool:
    """More than 2^31 elements, and offsets past 2^31 words."""
    right = True
    for dims, dtype in (((65536, 33000), torch.int8), ((65536, 33000), torch.float32), ((3, 40000, 20000), torch.int8)):
        x = fresh(dims, dtype).transpose(-1, -2)
        output = torch_cuda.by_kernel(x)
        right = right and all(
            same(part.contiguous(), whole) for part, whole in zip(x.split(4096), output.split(4096), strict=True)
        )
        del x, output
    return right


def cupy_agrees() -> str:
    """CuPy arrays stay CuPy arrays, and hold what CuPy itself would."""
    try:
        import cupy  # noqa: PLC0415 - only where it is installed
    except ImportError:
        return "not installed"
    x = cupy.random.randint(0, 255, (64, 3, 256, 256)).astype("int8")
    view = orx.reshape(x, [0, -1], "onnx")
    y = orx.reshape(x.transpose(0, 2, 3, 1), [0, -1], "onnx")
    right = type(y) is type(x) and bool((y == x.transpose(0, 2, 3, 1).reshape(64, -1)).all())
    return "right" if right and cupy.shares_memory(view, x) else "WRONG"


def said(name: str, rows: list[dict[str, Any]]) -> None:
    """Prints a line about one group of measurements: its name, and its times beside torch's."""
    if not rows:
        return
    shares = sorted(row["ours"] for row in rows)
    reached = [row["ours"] / row["ceiling"] for row in rows]
    kernels = [row for row in rows if not row["handed_over"]]
    slower = [row["ours"] / row["torch"] for row in kernels if row["ours"] < 0.98 * row["torch"]]
    times = mean(row["ours"] / row["torch"] for row in rows)
    hosts = [median_of(row[key] for row in rows) for key in ("host_us", "torch_us")]
    print(
        f"{name:24} {len(rows):4} layouts: {mean(shares):.2f} of a device copy (one in ten below",
        f"{shares[len(shares) // 10]:.2f}, least {shares[0]:.2f}), {mean(min(1.0, of) for of in reached):.2f} of the",
        f"ceiling (least {min(reached):.2f}), {times:.2f} times torch,",
        f"slower in {len(slower)} (least {min(slower, default=1):.2f}), torch's own in {len(rows) - len(kernels)};",
        f"host {hosts[0]:.0f} us, torch {hosts[1]:.0f}",
    )


def median_of(numbers: Iterable[float]) -> float:
    found = sorted(numbers)
    return found[len(found) // 2]


def named() -> Iterator[dict[str, Any]]:
    """The cases with names, each at its own size and at 24 MB."""
    for group, cases in (("regular", REGULAR), ("odd", ODD)):
        for name, (dims, axes) in cases.items():
            for kind in TYPES:
                dtype = getattr(torch, kind)
                row = measured(fresh(dims, dtype).permute(axes)) | {"case": name, "group": group, "type": kind}
                small = measured(fresh(scaled(dims, dtype.itemsize, 24 << 20), dtype).permute(axes))
                print(
                    f"{name:28} {kind:8} {row['bytes'] >> 20:5} MB  copy {row['copy_tb_s']:.2f} TB/s ",
                    f"torch {row['torch']:.2f}  ours {row['ours']:.2f}",
                    f" at 24 MB {small['torch']:.2f} {small['ours']:.2f}",
                    flush=True,
                )
                yield row
                yield small | {"case": name, "group": "24 MB", "type": kind}
                torch.cuda.empty_cache()


def listed(title: str, rows: list[dict[str, Any]]) -> None:
    print(title)
    for row in rows:
        print(
            f"  {row['case']:9} {row['item']:2} {row['bytes'] >> 10} KB {row['shape']} {row['strides']}:",
            f"{row['ours']:.2f}, torch {row['torch']:.2f}, ceiling {row['ceiling']:.2f}",
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    parser.add_argument("--count", type=int, default=200, help="of random layouts")
    parser.add_argument("--seed", type=int, default=0, help="of the first of them")
    parser.add_argument("--least", type=int, default=0, help="MB of a random layout")
    args = parser.parse_args()
    began = time.perf_counter()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}: ratios to a device copy of the same bytes")
    rows = list(named())
    random: list[dict[str, Any]] = []
    seeds = itertools.count(args.seed)
    while len(random) < args.count:
        seed = next(seeds)
        x = drawn(seed, args.least << 20)
        if x is not None:
            random.append(measured(x) | {"case": f"seed {seed}", "group": "random"})
            torch.cuda.empty_cache()
    rows += random
    large = [row for row in random if row["bytes"] >= 63 << 20]
    listed("the slowest random layouts of 64 MB and more:", sorted(large, key=lambda row: float(row["ours"]))[:10])
    kernels = [row for row in rows if not row["handed_over"]]
    listed("torch is ahead by most:", sorted(kernels, key=lambda row: float(row["ours"] / row["torch"]))[:10])
    for group in ("regular", "odd", "24 MB"):
        said(group, [row for row in rows if row["group"] == group])
    said("random, 64 MB and more", large)
    for item in DRAWN:
        said(f"  elements of {item}", [row for row in large if row["item"] == item])
    for low, high in ((0, 1), (1, 4), (4, 16), (16, 64)):
        said(f"random, {low} to {high} MB", [row for row in random if low << 20 <= row["bytes"] < high << 20])
    print("calls, the host's time as times torch's own: op(x), reshape with a tuple, with a list")
    results = {"cases": rows, "calls": called(), "cupy": cupy_agrees(), "beyond_int32": beyond_int32()}
    print(f"CuPy: {results['cupy']}; past 2^31: {results['beyond_int32']}; {time.perf_counter() - began:.0f} s")
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
