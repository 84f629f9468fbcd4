"""The workers of a Dask cluster, which may die, and whose scheduler may."""

from __future__ import annotations

import time
from asyncio import CancelledError
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

from onereshape.formats.stores.partial_folder import InterruptedRunError
from onereshape.ground.errors import ReshapeError

_PATIENCE = "10s"
"""For a scheduler to answer."""
_ALONE = 60.0
"""Seconds without any worker after which a run ends."""
_LOOK = 1.0
"""Seconds after which it is seen whether there are workers, if nothing happens."""
_LONGEST = 60
"""Seconds for a worker to end a block."""


def connect(address: str) -> tuple[Any, int, int | None]:
    """A client of that scheduler, how many blocks its workers make at a time, and the memory for each of these."""
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
    return client, max(1, threads), min(shares, default=None)


def close(client: Any) -> None:
    """Leaves the cluster, in whatever state it is."""
    with suppress(Exception):
        client.close()


def on_cluster(client: Any, job: Callable[[int], None], blocks: list[int], done: Callable[[int], None]) -> None:
    """Makes the blocks; a cluster that fails ends the run so that the next one goes on with what was made."""
    futures: list[Any] = []
    try:
        finished: SimpleQueue[Any] = SimpleQueue()
        futures = client.map(job, blocks, pure=False, key="onereshape-block")
        numbers = {future.key: number for future, number in zip(futures, blocks, strict=True)}
        for future in futures:
            future.add_done_callback(finished.put)
        for _ in futures:
            future = _next(client, finished)
            if future.status in {"error", "cancelled"}:  # what a dead worker had done is done nevertheless
                future.result(timeout=_LONGEST)
            done(numbers[future.key])
    except (ReshapeError, InterruptedRunError):
        raise
    except (Exception, CancelledError) as error:  # noqa: BLE001 - workers die in many ways
        raise InterruptedRunError(f"the Dask cluster failed ({type(error).__name__})") from None
    finally:
        with suppress(Exception):
            client.cancel(futures)
            _wait(client, {future.key for future in futures})


def _next(client: Any, finished: SimpleQueue[Any]) -> Any:
    """The next future that is done; no workers for long, or no scheduler, is an InterruptedRunError."""
    since = time.monotonic()
    while True:
        try:
            return finished.get(timeout=_LOOK)
        except Empty:
            if client.status != "running":
                raise InterruptedRunError("the Dask scheduler is gone") from None
            if client.scheduler_info(n_workers=-1)["workers"]:
                since = time.monotonic()
            elif time.monotonic() - since > _ALONE:
                why = f"the Dask cluster has had no worker for {_ALONE:.0f} seconds"
                raise InterruptedRunError(why) from None


def _wait(client: Any, keys: set[Any]) -> None:
    """Waits for the blocks that workers are still making: they would write into a folder that is being removed."""
    end = time.monotonic() + _LONGEST
    while time.monotonic() < end and any(keys & set(busy) for busy in client.call_stack(keys=list(keys)).values()):
        time.sleep(0.1)
