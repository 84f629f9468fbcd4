"""Chunked arrays: ours beside Dask's own reshape and beside a plain copy of a store: `python bench/dask.py`.

1. Dask arrays of 1 GB, on threads: time, tasks, bytes that tasks make, largest block, peak of memory.
2. Zarr stores of 1 GB through `--memory 512MB`, beside a copy of the same store by Dask.
3. 4 GB through two workers of 512 MB: an array, and a store.  `--small` makes these a tenth.

Each runs in a process of its own; a peak is what a process had beyond what it had after its imports.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = str(Path(__file__).resolve().parent)
sys.path[:] = [path for path in sys.path if str(Path(path or ".").resolve()) != HERE]  # this file's name is Dask's

import json
import re
import shutil
import subprocess
import tempfile
import time
from math import prod
from typing import Any

import dask.array as da
import numpy as np
import zarr
from dask.callbacks import Callback
from dask.threaded import get

import onereshape as orx

Dims = tuple[int, ...]

ARRAYS: dict[str, tuple[Dims, Dims, Dims]] = {  # float32: dims, chunks, target
    "rows to longer rows": ((16384, 16384), (256, 16384), (8192, 32768)),
    "tiles to longer rows": ((16384, 16384), (2048, 2048), (8192, 32768)),
    "rows crossed": ((16384, 16385), (256, 16385), (16385, 16384)),
    "rows to flat": ((16384, 16384), (256, 16384), (2**28,)),
    "tiles to flat": ((16384, 16384), (2048, 2048), (2**28,)),
    "columns to flat": ((16384, 16384), (16384, 256), (2**28,)),
    "flat to 3 axes": ((2**28,), (4_000_003,), (256, 1024, 1024)),
    "time of tiles": ((64, 2048, 2048), (16, 512, 512), (64, 2**22)),
    "last two merged": ((300, 180, 4, 1220), (300, 180, 1, 61), (300, 180, 4880)),
}
STORES: dict[str, tuple[Dims, Dims, Dims]] = {
    "rows to longer rows": ARRAYS["rows to longer rows"],
    "rows to flat": ARRAYS["rows to flat"],
    "tiles to flat": ARRAYS["tiles to flat"],
    "columns to flat": ARRAYS["columns to flat"],
}


def memory(which: str = "VmHWM") -> int:
    found = re.search(rf"{which}:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) * 1024


class Counted(Callback):
    """What tasks make, beyond the blocks of data: all bytes, and the largest."""

    def __init__(self, but: set[Any]) -> None:
        self.but, self.bytes, self.largest = but, 0, 0

    def _posttask(self, key: Any, result: Any, *_: Any) -> None:
        made = [one for one in (result if isinstance(result, list) else [result]) if isinstance(one, np.ndarray)]
        if key in self.but or not made:
            return
        self.bytes += sum(one.nbytes for one in made if one.flags.owndata)
        self.largest = max(self.largest, sum(one.nbytes for one in made))


def total(block: Any) -> Any:
    return np.asarray(block[(0,) * block.ndim], np.float64).reshape((1,) * block.ndim)


def array_child(name: str, who: str) -> dict[str, Any]:
    """One reshape of an array that is made block by block, and forgotten block by block."""
    dims, chunks, target = ARRAYS[name]
    data = da.ones(dims, chunks=chunks, dtype=np.float32).map_blocks(np.array, dtype=np.float32)
    try:
        start = time.perf_counter()
        result: Any = orx.reshape(data, target, "onnx") if who == "ours" else data.reshape(target)
        planned = time.perf_counter() - start
    except NotImplementedError:
        return {"refused": True}
    known = set(dict(data.__dask_graph__()))
    tasks = len(set(dict(result.__dask_graph__())) - known)
    sums = result.map_blocks(total, chunks=tuple((1,) * len(sizes) for sizes in result.chunks), dtype=np.float64)
    graph, keys = dict(sums.__dask_graph__()), sums.__dask_keys__()
    before = memory("VmRSS")
    start = time.perf_counter()
    counted = Counted(
        known | {key for key in graph if str(key[0] if isinstance(key, tuple) else key).startswith("total")}
    )
    with counted:
        get(graph, keys, num_workers=2)
    return {
        "seconds": time.perf_counter() - start,
        "plan": planned,
        "tasks": tasks,
        "moved": counted.bytes / data.nbytes,
        "largest": counted.largest / 1e6,
        "peak": (memory() - before) / 1e6,
        "chunks": result.npartitions,
    }


def store_child(name: str, who: str) -> dict[str, Any]:
    """One reshape, or one copy, of the store x.zarr in the current folder."""
    _, _, target = STORES[name]
    before = memory("VmRSS")
    start = time.perf_counter()
    if who == "ours":
        from onereshape.cli import main

        words = ["run", "x.zarr", "--target", ",".join(map(str, target)), "-o", "y.zarr", "--memory", "512MB"]
        assert main([*words, "--json"]) == 0
    else:
        source: Any = zarr.open_array("x.zarr")
        data = da.from_zarr(source)
        if who == "dask":
            data = data.reshape(target)
        chunk = tuple(max(sizes) for sizes in data.chunks)
        sink: Any = zarr.create_array("y.zarr", shape=data.shape, chunks=chunk, dtype=data.dtype, compressors=None)
        da.store(data, sink, lock=False, scheduler="threads", num_workers=2)
    return {"seconds": time.perf_counter() - start, "peak": (memory() - before) / 1e6, "rss": memory() / 1e6}


def make_store(path: str, dims: Dims, chunks: Dims) -> None:
    array: Any = zarr.create_array(path, shape=dims, chunks=chunks, dtype="f4", compressors=None)
    for start in range(0, dims[0], chunks[0]):
        stop = min(dims[0], start + chunks[0])
        rows = np.arange((stop - start) * prod(dims[1:]), dtype=np.float32).reshape(stop - start, *dims[1:])
        array[start:stop] = rows + np.float32(start)


def cluster_child(small: bool) -> dict[str, Any]:
    """4 GB through two workers of 512 MB, as an array that goes from store to store and as a store."""
    from distributed import Client, LocalCluster

    from onereshape.cli import main

    dims, chunks, target = (
        (32768 // (10 if small else 1), 32768),
        (64, 32768),
        (32768 // (10 if small else 1) * 2, 16384),
    )
    make_store("x.zarr", dims, chunks)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, memory_limit="512MB", dashboard_address=None, silence_logs=50
    )
    found: dict[str, Any] = {"gigabytes": prod(dims) * 4 / 1e9}
    with cluster, Client(cluster) as client:
        peaks = lambda: {k: v / 1e6 for k, v in zip("ab", client.run(memory).values(), strict=False)}  # noqa: E731
        start = time.perf_counter()
        result = orx.reshape(da.from_zarr(str(Path("x.zarr").resolve())), target, "onnx")
        sink: Any = zarr.create_array(
            str(Path("y.zarr").resolve()),
            shape=target,
            chunks=tuple(max(sizes) for sizes in result.chunks),
            dtype="f4",
            compressors=None,
        )
        da.store(result, sink, lock=False)
        found["array"] = {"seconds": time.perf_counter() - start, "peaks": peaks()}
        check("x.zarr", "y.zarr")
        shutil.rmtree("y.zarr")
        client.restart()
        start = time.perf_counter()
        address = str(client.scheduler_info()["address"])
        words = ["run", "x.zarr", "--target", ",".join(map(str, target)), "-o", "y.zarr", "--scheduler", address]
        assert main([*words, "--json"]) == 0
        found["store"] = {"seconds": time.perf_counter() - start, "peaks": peaks()}
        check("x.zarr", "y.zarr")
    return found


def check(one: str, other: str) -> None:
    """The same elements in the same order, looked at in some places."""
    first, second = (zarr.open_array(path) for path in (one, other))
    ratio = second.shape[0] // first.shape[0]
    for row in range(0, first.shape[0], max(1, first.shape[0] // 50)):
        mine: Any = second[ratio * row : ratio * (row + 1)]
        theirs: Any = first[row]
        assert (mine.reshape(-1) == theirs.reshape(-1)).all()


def child(*words: str) -> dict[str, Any]:
    run = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=False)  # noqa: S603
    if run.returncode:
        return {"failed": run.stderr.strip().splitlines()[-1][:60] if run.stderr else str(run.returncode)}
    answer: dict[str, Any] = json.loads(run.stdout.strip().splitlines()[-1])
    return answer


def arrays() -> None:
    print(f"{'1 GB of float32, two threads':28} {'who':5} {'s':>6} {'plan s':>7} {'tasks':>6} {'chunks':>6} ", end="")
    print(f"{'x moved':>7} {'block MB':>8} {'peak MB':>8}")
    for name in ARRAYS:
        for who in ("ours", "dask"):
            found = child("array", name, who)
            if "seconds" not in found:
                print(f"{name:28} {who:5} {found.get('failed', 'refused')}")
                continue
            times = f"{found['seconds']:6.2f} {found['plan']:7.3f} {found['tasks']:6} {found['chunks']:6}"
            print(f"{name:28} {who:5} {times} {found['moved']:7.2f} {found['largest']:8.0f} {found['peak']:8.0f}")


def stores() -> None:
    print(f"\n{'Zarr, 1 GB, --memory 512MB':28} {'who':5} {'s':>6} {'x copy':>7} {'peak MB':>8} {'in all MB':>9}")
    for name, (dims, chunks, _) in STORES.items():
        with tempfile.TemporaryDirectory() as folder:
            at = Path(folder)
            make_store(str(at / "x.zarr"), dims, chunks)
            copied = 0.0
            for who in ("copy", "ours", "dask"):
                shutil.rmtree(at / "y.zarr", ignore_errors=True)
                words = [sys.executable, __file__, "store", name, who]
                run = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603
                if run.returncode:
                    why = "refused" if "NotImplementedError" in run.stderr else run.stderr.strip().splitlines()[-1:]
                    print(f"{name:28} {who:5} {why}")
                    continue
                found = json.loads(run.stdout.strip().splitlines()[-1])
                copied = found["seconds"] if who == "copy" else copied
                times = found["seconds"] / copied
                print(
                    f"{name:28} {who:5} {found['seconds']:6.1f} {times:7.2f} {found['peak']:8.0f} {found['rss']:9.0f}"
                )


def clusters(*, small: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "cluster", *(["--small"] if small else [])]
        run = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)  # noqa: S603
        if run.returncode:
            print(run.stderr[-2000:])
            return
        found = json.loads(run.stdout.strip().splitlines()[-1])
    print(f"\n{found['gigabytes']:.1f} GB through two workers of 512 MB: seconds, and the peak of each worker in MB")
    for kind in ("array", "store"):
        one = found[kind]
        print(f"{kind:28} {one['seconds']:6.1f}  {', '.join(f'{peak:.0f}' for peak in one['peaks'].values())}")


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["array"]:
        print(json.dumps(array_child(*words[1:3])))
    elif words[:1] == ["store"]:
        print(json.dumps(store_child(*words[1:3])))
    elif words[:1] == ["cluster"]:
        print(json.dumps(cluster_child("--small" in words)))
    else:
        arrays()
        stores()
        clusters(small="--small" in words)


if __name__ == "__main__":
    main()
