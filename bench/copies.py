"""Copies that a Reshape cannot avoid, against memcpy, NumPy and torch: `python bench/copies.py [--svg PATH]`.

Ten cases, items of 1, 2, 4 and 8 bytes, at 64 MB, 1 MB and 64 KB.  All copy between the same existing, aligned blocks
of memory, so that none pays for fresh pages; NumPy by `copyto`, torch by `copy_` with all its threads, memcpy with one.
Rounds are interleaved and the best of each counts.  The last lines time `onereshape.reshape` as it is called, against
`ndarray.reshape`, output and all.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import time
from collections.abc import Callable
from math import exp, log, prod
from pathlib import Path
from typing import Any

import numpy as np
import torch

import onereshape as orx
from onereshape.arrays import _copy, cpu_copy

Dims = tuple[int, ...]
Array = np.ndarray[Any, np.dtype[Any]]

SIZES = {"64 MB": 64 << 20, "1 MB": 1 << 20, "64 KB": 64 << 10}
ITEMS = (1, 2, 4, 8)
WANTED = {"64 MB": {"memcpy": 0.6, "numpy": 6, "torch": 3}, "1 MB": {"numpy": 3}, "64 KB": {"numpy": 2}}


def cases(count: int) -> dict[str, tuple[Dims, Dims]]:
    """The dims and the permutation of each case, of about so many elements."""
    bits = count.bit_length() - 1
    side = 56 if count >= 1 << 20 else 28 if count >= 1 << 16 else 8
    wide = 224 if count >= 1 << 20 else 56
    patches = wide // 16 if wide == 224 else 4
    deep = 32 if count >= 1 << 21 else 8

    def outer(*inner: int) -> int:
        return max(1, count // prod(inner))

    return {
        "transpose": ((1 << bits // 2, 1 << (bits - bits // 2)), (1, 0)),
        "NCHW to NHWC, C=64": ((outer(64, side, side), 64, side, side), (0, 2, 3, 1)),
        "NHWC to NCHW, C=64": ((outer(64, side, side), side, side, 64), (0, 3, 1, 2)),
        "NCHW to NHWC, C=3": ((outer(3, wide, wide), 3, wide, wide), (0, 2, 3, 1)),
        "NHWC to NCHW, C=3": ((outer(3, wide, wide), wide, wide, 3), (0, 3, 1, 2)),
        "head merge": ((outer(8, side, 64), 8, side, 64), (0, 2, 1, 3)),
        "patchify": ((outer(3, 256, patches, patches), 3, patches, 16, patches, 16), (0, 2, 4, 1, 3, 5)),
        "window partition": ((outer(2, 8, 2, 8, 32), 2, 8, 2, 8, 32), (0, 1, 3, 2, 4, 5)),
        "pixel shuffle": ((outer(4, 32, 32), 1, 2, 2, 32, 32), (0, 1, 4, 2, 5, 3)),
        "reversed 5-D": ((outer(deep, deep, deep, deep), deep, deep, deep, deep), (4, 3, 2, 1, 0)),
    }


def aligned(nbytes: int) -> Array:
    raw = np.empty(nbytes + 64, np.uint8)
    start = -_copy.beyond_line(raw) % 64
    return raw[start : start + nbytes]


def best(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The least seconds of each call, over rounds that take about so long in all."""
    found = dict.fromkeys(calls, float("inf"))
    for call in calls.values():
        call()
    until = time.perf_counter() + seconds
    rounds = 0
    while rounds < 3 or (time.perf_counter() < until and rounds < 400):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            found[name] = min(found[name], time.perf_counter() - start)
        rounds += 1
    return found


def measured(dims: Dims, axes: Dims, itemsize: int, seconds: float) -> dict[str, float]:
    """How many times faster we are than each of the others; for memcpy the share of its speed."""
    base = aligned(prod(dims) * itemsize)
    base[:] = np.random.default_rng(itemsize).integers(0, 256, base.size, np.uint8)
    x = base.view(f"i{itemsize}").reshape(dims).transpose(axes)
    block = aligned(base.size)
    y = block.view(f"i{itemsize}").reshape(x.shape)
    plan = cpu_copy.kernel_plan(x.shape, x.strides, itemsize)
    threads = cpu_copy.threads()
    source, destination = base.ctypes.data, block.ctypes.data
    theirs, ours = torch.from_numpy(x), torch.from_numpy(y)
    least = cpu_copy.BYTES_PER_THREAD
    _copy.copy_array(plan, y, x, threads, least)
    assert np.array_equal(x, y)
    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: _copy.copy_array(plan, y, x, threads, least),
        "memcpy": lambda: ctypes.memmove(destination, source, base.size),
        "numpy": lambda: np.copyto(y, x),
        "torch": lambda: ours.copy_(theirs),
    }
    if seconds > 0.5:  # NumPy's slowest take a second each
        calls.pop("numpy")
        slow = best({"numpy": lambda: np.copyto(y, x)}, 0)
    else:
        slow = {}
    took = best(calls, seconds) | slow
    op = orx.Reshape("onnx").bind([-1])
    called = best({"ours": lambda: op(x), "numpy": lambda: x.reshape(-1)}, seconds / 4)
    row = {name: took[name] / took["ours"] for name in ("memcpy", "numpy", "torch")}
    return row | {
        "called": called["numpy"] / called["ours"],
        "numpy share": took["memcpy"] / took["numpy"],
        "torch share": took["memcpy"] / took["torch"],
    }


def mean(numbers: list[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, numbers)) / len(numbers))


def picture(rows: dict[str, dict[str, float]], machine: str) -> str:
    """Bars per case: the share of memcpy's speed of NumPy, torch and ours, as SVG."""
    colours = {"NumPy": "#9aa5b1", "torch": "#e08e45", "onereshape": "#2f6fdb"}
    left, scale, height = 170, 300, 44
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{len(rows) * height + 70}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="18" font-size="13">Copies of 64 MB: share of a one-thread memcpy ({machine})</text>',
    ]
    for place, (name, colour) in enumerate(colours.items()):
        parts.append(f'<rect x="{left + place * 110}" y="28" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{left + 16 + place * 110}" y="37">{name}</text>')
    for line, (case, row) in enumerate(rows.items()):
        top = 50 + line * height
        parts.append(f'<text x="{left - 8}" y="{top + 22}" text-anchor="end">{case}</text>')
        for place, (key, colour) in enumerate(
            zip(("numpy share", "torch share", "memcpy"), colours.values(), strict=True)
        ):
            width = max(1, round(min(row[key], 1.45) * scale))
            parts.append(f'<rect x="{left}" y="{top + place * 12}" width="{width}" height="10" fill="{colour}"/>')
            parts.append(
                f'<text x="{left + width + 4}" y="{top + 9 + place * 12}" font-size="10">{row[key]:.2f}</text>'
            )
    whole = 50 + len(rows) * height
    parts.append(
        f'<line x1="{left + scale}" y1="46" x2="{left + scale}" y2="{whole}" stroke="#444" stroke-dasharray="3 3"/>'
    )
    parts.append(f'<text x="{left + scale}" y="{whole + 14}" text-anchor="middle" font-size="10">memcpy</text></svg>\n')
    return "\n".join(parts)


def main() -> None:
    """Times all of them, prints the tables and the means, and draws the picture where asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=0.6, help="for each case of 64 MB; a quarter for the others")
    args = parser.parse_args()
    results: dict[str, Any] = {}
    threads = torch.get_num_threads()
    for label, size in SIZES.items():
        print(f"\n{label}: times NumPy, times torch ({threads} threads), share of memcpy; items of 1, 2, 4, 8 bytes")
        rows: dict[str, list[dict[str, float]]] = {}
        for case in cases(1 << 20):
            for item in ITEMS:
                dims, axes = cases(size // item)[case]
                rows.setdefault(case, []).append(
                    measured(dims, axes, item, args.seconds if size > 1 << 22 else args.seconds / 4)
                )
            cells = "   ".join(f"{r['numpy']:5.1f} {r['torch']:5.1f} {r['memcpy']:5.2f}" for r in rows[case])
            print(f"{case:20} {cells}", flush=True)
        flat = [row for found in rows.values() for row in found]
        means = {key: mean([row[key] for row in flat]) for key in flat[0]}
        least = min(row["numpy"] for row in flat)
        shown = ", ".join(f"{name} {means[name]:.2f}" for name in ("memcpy", "numpy", "torch"))
        print(f"geometric means: {shown}; wanted {WANTED[label]}")
        print(f"least against NumPy {least:.2f}; as called, output and all, {means['called']:.1f} times NumPy")
        results[label] = {"means": means, "least": least, "rows": rows}
    if args.svg is not None:
        bars = {
            case: {key: mean([row[key] for row in found]) for key in found[0]}
            for case, found in results["64 MB"]["rows"].items()
        }
        args.svg.write_text(
            picture(bars, f"{cpu_copy.threads()} threads, mean over items of 1 to 8 bytes"), encoding="utf-8"
        )
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
