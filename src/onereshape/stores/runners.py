"""Who makes the blocks: threads or processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dask.callbacks import Callback

from onereshape.errors import ReshapeError
from onereshape.formats.model import cause

_PATIENCE = "10s"
"""For a scheduler to answer."""
_LONGEST = 60
"""Seconds for a worker to end a block."""
Job = Callable[[int], None]
Done = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Crew:
    """How many blocks are made at a time, what memory each may take (None: no one says), and how they are run."""

    size: int
    is_apart: bool
    """Whether each block is made in a process of its own, with libraries of its own."""
    memory: int | None
    run: Callable[[Job, list[int], Done], None]
    close: Callable[[], None]


def crew(scheduler: str) -> Crew:
    """The threads or processes of this machine, or the cluster of that address."""
    here = {"threads": _threads, "processes": _processes}
    if scheduler in here:
        return Crew(os.cpu_count() or 1, scheduler == "processes", None, here[scheduler], lambda: None)
    if "://" not in scheduler and ":" not in scheduler:
        why = f"--scheduler {scheduler}: it is threads, processes or the address of a Dask scheduler, tcp://HOST:PORT"
        raise ReshapeError("bad-usage", why=why)
    return _cluster(scheduler)


def _threads(job: Job, blocks: list[int], done: Done) -> None:
    from dask.threaded import get  # noqa: PLC0415

    # A pool of our own: leaving it waits for the blocks that are being made, also when one of them has failed.
    with ThreadPoolExecutor(os.cpu_count()) as pool, Callback(posttask=lambda key, *_: done(key[1])):
        get(*_graph(job, blocks), pool=pool)


def _processes(job: Job, blocks: list[int], done: Done) -> None:
    from dask.multiprocessing import get  # noqa: PLC0415

    with Callback(posttask=lambda key, *_: done(key[1])):
        get(*_graph(job, blocks), num_workers=os.cpu_count(), optimize_graph=False, chunksize=1)


def _graph(job: Job, blocks: list[int]) -> tuple[dict[Any, Any], list[Any]]:
    graph = {("block", number): (job, number) for number in blocks}
    return graph, list(graph)


def _cluster(address: str) -> Crew:
    try:
        from distributed import Client  # noqa: PLC0415
    except ImportError:
        why = f"--scheduler {address}: this needs the package distributed, which is not installed"
        raise ReshapeError("bad-usage", why=why) from None
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
        workers = client.scheduler_info(n_workers=-1)["workers"].values()
    except Exception as error:  # noqa: BLE001 - whatever answers at an address may be no scheduler
        why = f"--scheduler {address}: no Dask scheduler answers there ({type(error).__name__})"
        raise ReshapeError("bad-usage", why=why) from None
    shares = [worker["memory_limit"] // max(1, worker["nthreads"]) for worker in workers if worker["memory_limit"]]
    threads = sum(worker["nthreads"] for worker in workers)

    def run(job: Job, blocks: list[int], done: Done) -> None:
        _on_cluster(client, job, blocks, done)

    def close() -> None:
        with suppress(Exception):
            client.close()

    return Crew(max(1, threads), True, min(shares, default=None), run, close)


def _on_cluster(client: Any, job: Job, blocks: list[int], done: Done) -> None:
    from distributed import as_completed  # noqa: PLC0415

    futures = client.map(job, blocks, pure=False, key="onereshape-block")
    numbers = {future.key: number for future, number in zip(futures, blocks, strict=True)}
    try:
        for future in as_completed(futures, loop=client.loop):  # there may be another client, or none that is known
            future.result()
            done(numbers[future.key])
    except ReshapeError:
        raise
    except Exception as error:  # noqa: BLE001 - workers die in many ways
        raise ReshapeError(
            "bad-usage", why=f"the Dask cluster failed: {type(error).__name__}: {cause(error)}"
        ) from None
    finally:
        with suppress(Exception):
            client.cancel(futures)
            _wait(client, set(numbers))


def _wait(client: Any, keys: set[Any]) -> None:
    """Waits for the blocks that workers are still making: they would write into a folder that is being removed."""
    end = time.monotonic() + _LONGEST
    while time.monotonic() < end and any(keys & set(busy) for busy in client.call_stack(keys=list(keys)).values()):
        time.sleep(0.1)
