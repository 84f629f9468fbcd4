"""Dask arrays and stores on a cluster of worker processes with little memory, one of which dies in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
import zarr
from distributed import Client, LocalCluster

import onereshape as orx
from onereshape.cli import main
from tests.strategies import Array

MEMORY = 256 * 2**20
"""Of each of the two workers; Python, NumPy and Dask alone take about half of it."""

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # of a worker that was killed


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, memory_limit=MEMORY, dashboard_address=None
    )
    with cluster, Client(cluster) as found:
        yield found


def address(client: Client) -> str:
    return str(client.scheduler_info()["address"])


def stored(path: str) -> Array:
    found: Any = zarr.open_array(path)
    return np.asarray(found[...])


def slowly(block: Array, seconds: float) -> Array:
    time.sleep(seconds)
    return block


def wrong(block: Array, block_info: Any = None) -> Array:
    """How many elements are not their own number in C order."""
    place, dims = block_info[0]["array-location"], block_info[0]["shape"]
    numbers = np.zeros((1,) * len(dims), np.int32)
    for axis, ((start, stop), dim) in enumerate(zip(place, dims, strict=True)):
        along = np.arange(start, stop, dtype=np.int32).reshape([-1 if n == axis else 1 for n in range(len(dims))])
        numbers = numbers * np.int32(dim) + along
    return np.array(np.count_nonzero(block != numbers)).reshape((1,) * block.ndim)


def kill_one(client: Client) -> int:
    """Ends one worker process, and returns its number."""
    pids = client.run(os.getpid)
    victim: int = next(iter(pids.values()))
    os.kill(victim, signal.SIGKILL)
    return victim


def test_the_answer_of_numpy(client: Client) -> None:
    data = np.arange(210 * 66).reshape(210, 66)
    result = orx.reshape(da.from_array(data, chunks=(50, 20)), [140, -1], "onnx", limit=8 * 1000)

    assert (client.compute(result, sync=True) == data.reshape(140, -1)).all()


def test_eight_times_the_memory_of_a_worker(client: Client) -> None:
    rows, columns = 2**15, 2**14
    array = da.arange(rows * columns, chunks=2**22, dtype=np.int32).reshape(rows, columns)
    assert array.nbytes == 8 * MEMORY
    result = orx.reshape(array, [rows // 2, 2 * columns], "onnx")
    failures = result.map_blocks(wrong, chunks=tuple((1,) * len(sizes) for sizes in result.chunks), dtype=int).sum()

    assert client.compute(failures, sync=True) == 0


def test_the_death_of_a_worker(client: Client) -> None:
    data = np.arange(600 * 40).reshape(600, 40)
    array = da.from_array(data, chunks=(15, 40)).map_blocks(slowly, seconds=0.05, dtype=data.dtype)
    result = orx.reshape(array, [100, 240], "onnx", limit=8 * 700)
    future = client.compute(result)
    time.sleep(0.7)
    assert not future.done()
    victim = kill_one(client)

    assert (future.result(timeout=60) == data.reshape(100, 240)).all()
    client.wait_for_workers(2, timeout=60)
    assert victim not in client.run(os.getpid).values()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Array:
    """An array in x.zarr of the folder that is worked in."""
    monkeypatch.chdir(tmp_path)
    data = np.arange(3000 * 400, dtype=np.float32).reshape(3000, 400)
    array = zarr.create_array("x.zarr", shape=data.shape, chunks=(10, 400), dtype=data.dtype)
    array[...] = data
    return data


def test_a_store_on_a_cluster(client: Client, store: Array) -> None:
    """In a process of its own, which knows no other client."""
    words = ["run", "x.zarr", "--target", "2000,-1", "-o", "y.zarr", "--scheduler", address(client)]
    found = subprocess.run([sys.executable, "-m", "onereshape", *words], capture_output=True, text=True, check=False)  # noqa: S603

    assert (found.returncode, found.stderr) == (0, "")
    assert (stored("y.zarr") == store.reshape(2000, 600)).all()


def test_a_failure_on_a_cluster(client: Client, store: Array, capsys: pytest.CaptureFixture[str]) -> None:
    assert store.size
    chunk = next(path for path in Path("x.zarr").rglob("*") if path.is_file() and path.name != "zarr.json")
    chunk.write_bytes(b"damaged")
    words = ["run", "x.zarr", "--target", "2000,-1", "-o", "y.zarr", "--scheduler", address(client)]

    assert main(words) == 2
    assert "x.zarr: cannot be read at [" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["x.zarr"]


def test_the_death_of_a_worker_within_a_store(
    client: Client, store: Array, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import onereshape.formats.stores.reshape_store as module
    from onereshape.formats.stores import stream
    from onereshape.formats.stores.passes import passes

    told = 0

    def progress(self: stream.Journal, block: int) -> None:
        nonlocal told
        told += 1
        if told == 3:
            kill_one(client)
        said(self, block)

    said = stream.Journal.__call__
    monkeypatch.setattr(stream.Journal, "__call__", progress)
    monkeypatch.setattr(module, "passes", lambda a, b, c, d, _: passes(a, b, c, d, 6000))  # many blocks
    words = ["run", "x.zarr", "--target", "2000,-1", "-o", "y.zarr", "--scheduler", address(client)]

    assert main(words) == 0, capsys.readouterr().err
    assert told > 100
    assert (stored("y.zarr") == store.reshape(2000, 600)).all()
    client.wait_for_workers(2, timeout=60)


def apart(code: str) -> subprocess.Popen[str]:
    """A cluster in a process of its own, which prints its address."""
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)  # noqa: S603


LOST = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    apart = {"processes": False, "protocol": "tcp", "host": "127.0.0.1", "dashboard_address": None}
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, **apart)
    print(cluster.scheduler_address, flush=True)
    sys.stdin.readline()
    %s
    sys.stdin.readline()
"""


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("cluster.scale(0)", "the Dask cluster has had no worker for 2 seconds"),
        ("import os; os._exit(0)", "the Dask "),
    ],
)
def test_a_cluster_that_is_lost(
    loss: str, said: str, store: Array, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends, says so, and the same command goes on with what was made."""
    import onereshape.formats.stores.reshape_store as module
    from onereshape.formats.stores import cluster, stream
    from onereshape.formats.stores.passes import passes

    monkeypatch.setattr(cluster, "_ALONE", 2.0)
    monkeypatch.setattr(cluster, "_PATIENCE", "4s")  # as long is a scheduler looked for that is gone
    monkeypatch.setattr(module, "passes", lambda a, b, c, d, _: passes(a, b, c, d, 6000))
    call = stream.Journal.__call__
    with apart(LOST % loss) as process:
        assert process.stdout is not None
        assert process.stdin is not None

        def lose(self: stream.Journal, block: int) -> None:
            call(self, block)
            if self.done == 3:
                process.stdin.write("\n")
                process.stdin.flush()
                time.sleep(0.5)

        words = [
            "run",
            "x.zarr",
            "--target",
            "2000,-1",
            "-o",
            "y.zarr",
            "--scheduler",
            process.stdout.readline().strip(),
        ]
        with monkeypatch.context() as patch:
            patch.setattr(stream.Journal, "__call__", lose)
            code = main(words)
        error = capsys.readouterr().err
        process.kill()
    assert code == 2, error
    assert error.startswith(f"onereshape: {said}")
    assert "; the same command goes on where this one stopped" in error
    assert main([*words[:-2], "--memory", "64GB"]) == 0
    assert "blocks were there from an earlier run" in capsys.readouterr().out
    assert (stored("y.zarr") == store.reshape(2000, 600)).all()
    assert sorted(path.name for path in Path().iterdir()) == ["x.zarr", "y.zarr"]
