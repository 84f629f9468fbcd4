"""Copies on a GPU, each against a device copy of the same bytes and against torch, in one run.

    python bench/gpu.py [--json PATH] [--sweep]

Every result is first compared, byte for byte, with torch's on fresh random data.  Times are medians over device events;
the figures are ratios to the device copy, so that 1 is memory speed.  `--sweep` tries other tiles than the rule's.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from math import exp, log, prod
from pathlib import Path
from typing import Any

import torch

import onereshape as orx
from onereshape.arrays import torch_cuda

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
TYPES = ("float32", "float16", "bfloat16", "int8", "float8_e4m3fn")
WANTED = {"regular": {4: 0.90, 2: 0.90, 1: 0.90}, "odd": {4: 0.85, 2: 0.60, 1: 0.35}}

SWEEP: dict[str, list[dict[str, int]]] = {
    "tile": [
        {"along_source": a, "along_destination": b, "warps": w}
        for a, b, w in (
            (64, 64, 4),
            (64, 64, 8),
            (64, 128, 8),
            (64, 128, 16),
            (32, 256, 8),
            (16, 512, 8),
            (16, 256, 8),
            (32, 256, 16),
            (32, 512, 16),
            (64, 256, 16),
            (8, 512, 4),
        )
    ],
    "pack": [
        {"along_source": a, "along_destination": b, "warps": w}
        for a, b, w in ((32, 32, 4), (32, 64, 8), (64, 32, 8), (64, 64, 16), (32, 128, 8), (128, 32, 8))
    ],
    "blocks": [
        {"room": room, "warps": w} for room, w in ((256, 2), (512, 4), (512, 2), (1024, 8), (1024, 2), (2048, 8))
    ],
    "interleave": [{"along_source": n, "warps": w} for n, w in ((128, 1), (256, 2), (512, 4), (1024, 4), (1024, 8))],
}
SWEEP["small"] = [{"room": n, "warps": w} for n, w in ((512, 2), (512, 4), (1024, 2), (1024, 8), (2048, 4), (2048, 8))]
SWEEP["deinterleave"] = SWEEP["interleave"]


def fresh(dims: Dims, dtype: torch.dtype) -> torch.Tensor:
    """Random bits."""
    count = prod(dims) * dtype.itemsize
    return torch.randint(0, 256, (count,), dtype=torch.uint8, device="cuda").view(dtype).view(dims)


def median(call: Callable[[], Any], repeats: int = 15) -> float:
    """Seconds of one call on the device."""
    for _ in range(3):
        call()
    events = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(200_000)  # noqa: SLF001  # the host runs ahead meanwhile, so that only the device is timed
        start.record()
        call()
        end.record()
        events.append((start, end))
    torch.cuda.synchronize()
    return float(sorted(start.elapsed_time(end) for start, end in events)[repeats // 2]) / 1e3


def same(x: torch.Tensor, y: torch.Tensor) -> bool:
    return x.shape == y.shape and bool((x.view(torch.uint8) == y.view(torch.uint8)).all())


def scaled(dims: Dims, itemsize: int, nbytes: int) -> Dims:
    """The same case at about that many bytes: the outermost dim, or all of a matrix, made smaller."""
    share = nbytes / (prod(dims) * itemsize)
    if len(dims) == 2:
        return tuple(max(1, int(dim * share**0.5) // 16 * 16 + dim % 16 - 16 * (dim % 16 > 8)) for dim in dims)
    return (max(1, round(dims[0] * share)), *dims[1:])


def measured(dims: Dims, axes: Dims, dtype: torch.dtype, sweep: bool) -> dict[str, Any]:
    """One case: the ratios of torch and ours to the device copy, and of other tiles where asked."""
    base = fresh(dims, dtype)
    x = base.permute(axes)
    expected = x.clone(memory_format=torch.contiguous_format)
    launch = torch_cuda.launch_for(x)
    assert launch is not None
    assert same(torch_cuda.launched(x, launch)[0], expected), (dims, axes, dtype)
    assert same(torch_cuda.by_kernel(x), expected), (dims, axes, dtype)
    bits = base.view(torch.uint8).flatten()
    plain = median(bits.clone)
    theirs = median(lambda: x.clone(memory_format=torch.contiguous_format))
    ours = median(lambda: torch_cuda.by_kernel(x))
    row: dict[str, Any] = {"bytes": bits.numel(), "copy_tb_s": 2 * bits.numel() / plain / 1e12, "kernel": launch.kernel}
    row |= {"torch": plain / theirs, "ours": plain / ours, "constants": dict(launch.constants), "warps": launch.warps}
    if sweep:
        row["sweep"] = {}
        for tuned in SWEEP[launch.kernel]:
            other = torch_cuda.launch_for(x, **tuned)
            assert other is not None
            try:
                right = same(torch_cuda.launched(x, other)[0], expected)
                took = median(partial(torch_cuda.launched, x, other), 7)
            except Exception as error:  # noqa: BLE001 - a tile that the device cannot hold
                row["sweep"][str(tuned)] = type(error).__name__
                continue
            row["sweep"][" ".join(map(str, tuned.values()))] = plain / took if right else "WRONG"
    return row


def host_cost() -> dict[str, float]:
    """Microseconds of the host for one call on 1 MB, the device kept busy by nothing else."""
    x = fresh((512, 512), torch.float32).t()
    op = orx.Reshape("onnx").bind([-1])
    calls: dict[str, Callable[[], Any]] = {
        "torch": lambda: x.reshape(-1),
        "ours, by a kernel": lambda: torch_cuda.by_kernel(x),
        "onereshape op(x)": lambda: op(x),
    }
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(30):  # in turn, since the host's own speed changes from one second to the next
        for name, call in calls.items():
            call()
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(50):
                call()
            best[name] = min(best[name], (time.perf_counter() - start) / 50)
            torch.cuda.synchronize()
    return {name: seconds * 1e6 for name, seconds in best.items()}


def beyond_int32() -> bool:
    """More than 2^31 elements, and offsets past 2^31 words."""
    right = True
    for dims, dtype in (((65536, 33000), torch.int8), ((65536, 33000), torch.float32), ((3, 40000, 20000), torch.int8)):
        x = fresh(dims, dtype).transpose(-1, -2)
        launch = torch_cuda.launch_for(x)
        assert launch is not None
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sweep", action="store_true")
    args = parser.parse_args()
    began = time.perf_counter()
    results: dict[str, Any] = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "cases": []}
    print(f"{results['device']}, torch {torch.__version__}: ratios to a device copy of the same bytes")
    for group, cases in (("regular", REGULAR), ("odd", ODD)):
        for name, (dims, axes) in cases.items():
            for kind in TYPES:
                dtype = getattr(torch, kind)
                for size in (None, 24 << 20):
                    if size is not None and kind in {"bfloat16", "float8_e4m3fn"}:
                        continue
                    shape = dims if size is None else scaled(dims, dtype.itemsize, size)
                    sweep = args.sweep and size is None and kind not in {"bfloat16", "float8_e4m3fn"}
                    row = measured(shape, axes, dtype, sweep)
                    row |= {"case": name, "group": group, "type": kind, "dims": shape}
                    results["cases"].append(row)
                    missed = (
                        row["ours"] < WANTED[group][dtype.itemsize] if size is None else row["ours"] <= row["torch"]
                    )
                    print(
                        f"{name:28} {kind:14} {row['bytes'] >> 20:6} MB  copy {row['copy_tb_s']:.2f} TB/s",
                        f" torch {row['torch']:.2f}  ours {row['ours']:.2f} {'MISSED' if missed else ''}",
                        flush=True,
                    )
                    if sweep:
                        shown = sorted(
                            row["sweep"].items(), key=lambda pair: -pair[1] if isinstance(pair[1], float) else 9
                        )
                        print(
                            "    ",
                            row["kernel"],
                            row["constants"],
                            row["warps"],
                            "| "
                            + ", ".join(
                                f"{key}: {value:.2f}" if isinstance(value, float) else f"{key}: {value}"
                                for key, value in shown
                            ),
                            flush=True,
                        )
    results["cupy"] = cupy_agrees()
    print(f"CuPy: {results['cupy']}")
    large = [row for row in results["cases"] if row["bytes"] >= 16 << 20]
    results["times_torch"] = exp(sum(log(row["ours"] / row["torch"]) for row in large) / len(large))
    results["slower_than_torch"] = [
        (row["case"], row["type"], row["bytes"]) for row in large if row["ours"] <= row["torch"]
    ]
    results["host_us"] = host_cost()
    results["beyond_int32"] = beyond_int32()
    results["seconds"] = time.perf_counter() - began
    print(
        f"geometric mean, times torch: {results['times_torch']:.2f}; slower than torch: {results['slower_than_torch']}"
    )
    print(f"host, microseconds a call on 1 MB: {results['host_us']}")
    print(f"past 2^31: {results['beyond_int32']}; {results['seconds']:.0f} s")
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
