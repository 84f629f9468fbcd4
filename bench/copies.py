"""Copies that a Reshape cannot avoid, against memcpy, NumPy and torch: `python bench/copies.py [--svg PATH]`.

Ten named cases, items of 1, 2, 4 and 8 bytes, at 64 MB, 1 MB and 64 KB; then random layouts, by a seed: ranks 2 to 6,
short and odd dims, steps and backward ones, items of 1 to 16 bytes, 64 KB to 256 MB.  All copy between the same
existing, aligned blocks of memory, so that none pays for fresh pages; NumPy by `copyto`, torch by `copy_` with all its
threads, memcpy with one; ours by NumPy too where the plan says that a kernel gains nothing.  Rounds are interleaved and
the best of each counts; every result is compared with NumPy's.  `called` times `onereshape.reshape` as it is called,
against `ndarray.reshape`, output and all.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import platform
import time
from collections.abc import Callable
from math import exp, log, prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

import onereshape as orx
from onereshape.arrays import _copy, calls, cpu_copy
from onereshape.arrays.threads import threads

Dims = tuple[int, ...]
Array = np.ndarray[Any, np.dtype[Any]]
clock = time.perf_counter

SIZES = {"64 MB": 64 << 20, "1 MB": 1 << 20, "64 KB": 64 << 10}
ITEMS = (1, 2, 4, 8)
WANTED = {"64 MB": {"memcpy": 0.85, "numpy": 6, "torch": 3}, "1 MB": {"numpy": 3}, "64 KB": {"numpy": 2}}


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


def drawn(seed: int, number: int) -> tuple[Array, str]:
    """A random layout, as a view of zeros, and its name."""
    random = Random(f"{seed}, {number}")  # noqa: S311 - a seed draws the same layouts again
    item = random.choice((1, 1, 2, 2, 4, 4, 8, 8, 16))
    count = int((64 << 10) * 2 ** random.uniform(0, 12)) // item
    rank = random.randint(2, 6)
    dims = [1] * rank
    for axis in random.sample(range(rank), rank - 1):
        room = count // prod(dims) // 2
        dims[axis] = min(room, round(2 ** random.uniform(1, random.choice((3, 6, 10))))) or 1
    dims[dims.index(1) if 1 in dims else 0] *= max(1, count // prod(dims))
    steps = [random.choice((2, 3, -1, -2)) if random.random() < 0.15 else 1 for _ in dims]
    order = tuple(random.sample(range(rank), rank))
    whole = tuple(dim * abs(step) for dim, step in zip(dims, steps, strict=True))
    base = aligned(prod(whole) * item).view("c16" if item == 16 else f"i{item}").reshape(whole)
    view = base[tuple(slice(None, None, step) for step in steps)].transpose(order)
    stepped = f" steps {steps}" if set(steps) != {1} else ""
    return view, f"i{item} {dims} by {order}{stepped}".replace(" ", "").replace("by", " by ").replace(
        "steps", " steps "
    )


def best(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The least seconds of each call, over rounds that take about so long in all."""
    found = dict.fromkeys(calls, float("inf"))
    until = clock() + seconds
    rounds = 0
    while rounds < 3 or (clock() < until and rounds < 400):
        for name, call in calls.items():
            start = clock()
            call()
            found[name] = min(found[name], clock() - start)
        rounds += 1
    return found


def measured(x: Array, seconds: float, threads: int) -> dict[str, float]:
    """How many times faster we are than each of the others; for memcpy the share of its speed."""
    fill(x)
    blocks = aligned(x.nbytes), aligned(x.nbytes)
    y, expected = (block.view(x.dtype).reshape(x.shape) for block in blocks)
    plan = cpu_copy.kernel_plan(x.shape, x.strides, x.itemsize)
    destination, source = (block.ctypes.data for block in blocks)
    least = cpu_copy.BYTES_PER_THREAD
    taken = cpu_copy.takes(x)
    np.copyto(expected, x)
    blocks[0].fill(0xA5)
    _copy.copy_array(plan, y, x, threads, least, cpu_copy.STREAM_FROM)
    assert np.array_equal(*blocks), "not NumPy's copy"
    calls: dict[str, Callable[[], Any]] = {
        "ours": lambda: _copy.copy_array(plan, y, x, threads, least, cpu_copy.STREAM_FROM),
        "memcpy": lambda: ctypes.memmove(destination, source, x.nbytes),
        "numpy": lambda: np.copyto(y, x),
    }
    if min(x.strides) >= 0:  # torch has no steps backwards
        theirs, ours = torch.from_numpy(x), torch.from_numpy(y)
        calls["torch"] = lambda: ours.copy_(theirs)
    took = best(calls, seconds)
    if not taken:  # what gains nothing is left to NumPy
        took["ours"] = took["numpy"]
    op = orx.Reshape("onnx").bind([-1])
    called = best({"ours": lambda: op(x), "numpy": lambda: x.reshape(-1)}, seconds / 4)
    row = {name: took[name] / took["ours"] for name in calls if name != "ours"}
    return row | {
        "taken": float(taken),
        "called": called["numpy"] / called["ours"],
        **{f"{name} share": took["memcpy"] / took[name] for name in calls if name in {"numpy", "torch"}},
    }


def fill(x: Array) -> None:
    """Random bytes, the same again and again where there are many."""
    base = x
    while isinstance(base.base, np.ndarray):
        base = base.base
    flat = base.reshape(-1).view(np.uint8)
    some = np.random.default_rng(1).integers(0, 256, min(flat.size, 4_000_037), np.uint8)
    for start in range(0, flat.size, some.size):
        flat[start : start + some.size] = some[: flat.size - start]


def named(args: argparse.Namespace) -> dict[str, Any]:
    """The named cases, at every size, printed as they are done."""
    results: dict[str, Any] = {}
    for label, size in SIZES.items():
        if args.cases != "none":
            print(f"\n{label}: times NumPy, times torch, share of memcpy; items of 1, 2, 4, 8 bytes")
        rows: dict[str, list[dict[str, float]]] = {}
        for case in cases(1 << 20):
            if args.cases == "none" or args.cases not in case:
                continue
            for item in ITEMS:
                dims, axes = cases(size // item)[case]
                x = aligned(prod(dims) * item).view(f"i{item}").reshape(dims).transpose(axes)
                seconds = args.seconds if size > 1 << 22 else args.seconds / 4
                rows.setdefault(case, []).append(measured(x, seconds, args.threads))
            cells = "   ".join(f"{r['numpy']:5.1f} {r['torch']:5.1f} {r['memcpy']:5.2f}" for r in rows[case])
            print(f"{case:20} {cells}", flush=True)
        if rows:
            found = summed([row for each in rows.values() for row in each])
            results[label] = {**found, "rows": rows}
            print(f"wanted {WANTED[label]}")
    return results


def summed(rows: list[dict[str, float]]) -> dict[str, Any]:
    """The geometric means and the least, printed."""
    means = {key: mean([row[key] for row in rows if key in row]) for key in ("memcpy", "numpy", "torch", "called")}
    least = min(row["numpy"] for row in rows)
    slower = sum(row["numpy"] < 1 for row in rows)
    shown = ", ".join(f"{name} {means[name]:.2f}" for name in ("memcpy", "numpy", "torch"))
    print(f"geometric means: {shown}; least against NumPy {least:.2f}; slower than NumPy {slower} of {len(rows)}")
    left = sum(not row["taken"] for row in rows)
    print(f"{left} left to NumPy, of which ours is the same")
    behind = sum(row["called"] < 1 for row in rows)
    print(f"as called, output and all: {means['called']:.2f} times NumPy, slower {behind} of {len(rows)}")
    return {"means": means, "least": least, "slower": slower}


def random(args: argparse.Namespace) -> dict[str, Any]:
    """The random layouts, and of them the worst ten."""
    print(f"\n{args.count} random layouts of seed {args.seed}")
    rows: dict[str, dict[str, float]] = {}
    for number in range(args.count):
        x, name = drawn(args.seed, number)
        if x.size and not x.flags.c_contiguous:
            rows[f"{x.nbytes / 2**20:8.2f} MB {name}"] = measured(x, args.seconds / 2, args.threads)
    found = summed(list(rows.values()))
    for low, high in ((0, 1), (1, 16), (16, 1024)):
        some = [row for name, row in rows.items() if low <= float(name.split()[0]) < high]
        if some:
            print(f"of {low} to {high} MB: memcpy {mean([row['memcpy'] for row in some]):.2f}", end=", ")
            print(f"numpy {mean([row['numpy'] for row in some]):.2f}, {len(some)} layouts")
    print("the worst ten against NumPy: times NumPy, as called, share of memcpy")
    for name, row in sorted(rows.items(), key=lambda each: each[1]["numpy"])[:10]:
        print(f"{row['numpy']:6.2f} {row['called']:6.2f} {row['memcpy']:6.2f} {name}")
    return {**found, "rows": rows}


def mean(numbers: list[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, numbers)) / len(numbers))


def drawn_beside(path: Path, machine: str, rows: dict[str, list[dict[str, float]]]) -> None:
    """Notes the shares of a machine's cases beside the picture, and draws all machines that are noted there."""
    notes = path.with_suffix(".json")
    known: dict[str, Any] = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
    known[machine] = {
        case: {name: round(mean([row[key] for row in found]), 2) for name, key in BARS.items()}
        for case, found in rows.items()
    }
    notes.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    path.write_text(picture(known), encoding="utf-8")


BARS = {"NumPy": "numpy share", "torch": "torch share", "onereshape": "memcpy"}
COLOURS = {"NumPy": "#9aa5b1", "torch": "#e08e45", "onereshape": "#2f6fdb"}


def picture(machines: dict[str, dict[str, dict[str, float]]]) -> str:
    """Bars per case, for each machine: the share of memcpy's speed of NumPy, torch and ours, as SVG."""
    left, height, apart = 170, 44, 400
    cases = list(dict.fromkeys(case for rows in machines.values() for case in rows))
    whole = 68 + len(cases) * height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + apart * len(machines)}" height="{whole + 20}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>',
        '<text x="10" y="18" font-size="13">Copies of 64 MB: share of a one-thread memcpy, '
        "mean over items of 1 to 8 bytes</text>",
    ]
    for place, (name, colour) in enumerate(COLOURS.items()):
        parts.append(f'<rect x="{left + place * 110}" y="28" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{left + 16 + place * 110}" y="37">{name}</text>')
    for line, case in enumerate(cases):
        parts.append(f'<text x="{left - 8}" y="{90 + line * height}" text-anchor="end">{case}</text>')
    for place, (machine, rows) in enumerate(machines.items()):
        start = left + place * apart
        most = max(share for row in rows.values() for share in row.values())
        scale = 340 / max(most, 1.1)
        parts.append(f'<text x="{start}" y="57" font-weight="bold">{machine}</text>')
        for line, case in enumerate(cases):
            for bar, (name, share) in enumerate(rows.get(case, {}).items()):
                width, top = max(1, round(share * scale)), 68 + line * height + bar * 12
                parts.append(f'<rect x="{start}" y="{top}" width="{width}" height="10" fill="{COLOURS[name]}"/>')
                parts.append(f'<text x="{start + width + 4}" y="{top + 9}" font-size="10">{share:.2f}</text>')
        at = round(start + scale)
        parts.append(f'<line x1="{at}" y1="64" x2="{at}" y2="{whole}" stroke="#444" stroke-dasharray="3 3"/>')
        parts.append(f'<text x="{at}" y="{whole + 14}" text-anchor="middle" font-size="10">memcpy</text>')
    return "\n".join([*parts, "</svg>\n"])


def main() -> None:
    """Times all of them, prints the tables and the means, and draws the picture where asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--svg", type=Path, help="the picture, of this machine beside others noted in a .json there")
    parser.add_argument("--machine", default=f"{platform.machine()}, {threads()} threads", help="its name")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--seconds", type=float, default=0.6, help="for each case of 64 MB; a part of it for others")
    parser.add_argument("--cases", default="", help="only the named cases with this in their name, or none")
    parser.add_argument("--count", type=int, default=200, help="of random layouts")
    parser.add_argument("--seed", type=int, default=0, help="of random layouts")
    parser.add_argument("--threads", type=int, default=threads())
    args = parser.parse_args()
    looked = "C++" if calls.ASKED else "Python"
    print(f"{args.threads} threads, torch {torch.get_num_threads()}; level {_copy.levels() - 1}; calls by {looked}")
    results = named(args)
    if args.count:
        results["random"] = random(args)
    if args.svg is not None:
        drawn_beside(args.svg, args.machine, results["64 MB"]["rows"])
    if args.json is not None:
        args.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
