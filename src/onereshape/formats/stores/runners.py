"""Who makes the blocks: threads or processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice

from onereshape.formats.stores.blocks import Job
from onereshape.formats.stores.children import children
from onereshape.formats.stores.cluster import close, connect, on_cluster
from onereshape.ground.errors import ReshapeError

Done = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Crew:
    """How many blocks are made at a time, what memory each may take (None: no one says), and how they are run."""

    size: int
    is_apart: bool
    """Whether each block is made in a process of its own, with libraries of its own."""
    memory: int | None
    run: Callable[[int, int, Job, list[int], Done], None]
    """Runs blocks, so many at a time; processes hold an open file, the lock, as long as they live."""
    close: Callable[[], None]


def crew(scheduler: str) -> Crew:
    """The threads or processes of this machine, or the cluster of that address."""
    here = {"threads": _threads, "processes": _processes}
    if scheduler in here:
        return Crew(os.cpu_count() or 1, scheduler == "processes", None, here[scheduler], lambda: None)
    if "://" not in scheduler and ":" not in scheduler:
        why = f"--scheduler {scheduler}: it is threads, processes or the address of a Dask scheduler, tcp://HOST:PORT"
        raise ReshapeError("bad-usage", why=why)
    client, threads, memory = connect(scheduler)

    def run(_at_once: int, _lock: int, job: Job, blocks: list[int], done: Done) -> None:
        on_cluster(client, job, blocks, done)

    return Crew(threads, True, memory, run, lambda: close(client))


def _threads(at_once: int, _lock: int, job: Job, blocks: list[int], done: Done) -> None:
    _each(at_once, job, blocks, done)


def _processes(at_once: int, lock: int, job: Job, blocks: list[int], done: Done) -> None:
    with children(job, min(at_once, len(blocks)), lock) as made:
        _each(at_once, made, blocks, done)


def _each(at_once: int, make: Callable[[int], None], blocks: list[int], done: Done) -> None:
    """Calls `make` of each block in threads, and `done` here; ends when no thread is in a block any more."""
    todo = iter(blocks)
    made: dict[Future[None], int] = {}
    pool = ThreadPoolExecutor(at_once)
    try:
        while True:
            made |= {pool.submit(make, block): block for block in islice(todo, 2 * at_once - len(made))}
            if not made:
                return
            for future in wait(made, return_when=FIRST_COMPLETED).done:
                block = made.pop(future)
                future.result()
                done(block)
    finally:
        pool.shutdown(cancel_futures=True)
