"""Seeds over several processes, each told before and after, so that a death has a name."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from multiprocessing.connection import wait
from typing import Any, NamedTuple

BLOCK = 25


class Ended(NamedTuple):
    """What became of a process that says no more."""

    how: str
    """hang or died"""
    code: int | None
    sign: int
    """What the process had raised last: see Worker."""


def _serve(link: Any, sign: Any, begin: Callable[[Any, Any], None], told: Callable[[int, Any], Any], room: Any) -> None:
    begin(sign, room)
    while (seeds := link.recv()) is not None:
        for seed in seeds:
            link.send((seed, False, None))
            link.send((seed, True, told(seed, room)))


class Worker:
    """A process that tells of seeds; `begin` gets a shared number to raise as a sign, and `room`, as `told` does.

    It is forked from a process that does nothing but import, once for all workers, the module of `begin` and those that
    are named in its READY: to import them takes seconds, and one that died is replaced.
    """

    def __init__(self, begin: Callable[[Any, Any], None], told: Callable[[int, Any], Any], room: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([begin.__module__, *getattr(import_module(begin.__module__), "READY", ())])
        self.made = begin, told, room
        self.link, theirs = context.Pipe()
        self.sign = context.Value("b", 0, lock=False)
        self.process = context.Process(target=_serve, args=(theirs, self.sign, *self.made), daemon=True)
        self.process.start()
        theirs.close()
        self.left: list[int] = []
        self.at: int | None = None
        self.heard = time.monotonic()

    def give(self, seeds: Iterable[int]) -> None:
        self.left, self.heard = list(seeds), time.monotonic()
        if self.left:
            self.link.send(self.left)

    def again(self) -> Worker:
        """Another one in the place of one that ended, for the seeds after the one that it ended on."""
        fresh = Worker(*self.made)
        fresh.give(seed for seed in self.left if seed != self.ended_on)
        return fresh

    @property
    def ended_on(self) -> int:
        return self.at if self.at in self.left else self.left[0]

    def heard_of(self, patience: float) -> tuple[int, Any] | None:
        """What it has told of a seed since it was asked last, or how it ended; None: nothing yet."""
        try:
            if self.link.poll():
                self.at, is_done, what = self.link.recv()
                self.heard = time.monotonic()
                if not is_done:
                    return None
                self.left.remove(self.at)
                return self.at, what
        except (EOFError, ConnectionResetError):
            self.process.join(5)
        else:
            if time.monotonic() - self.heard < patience:
                return None
        return self.ended_on, self.end()

    def end(self) -> Ended:
        if alive := self.process.is_alive():
            self.process.kill()
        self.process.join()
        return Ended("hang" if alive else "died", self.process.exitcode, self.sign.value)


def blocks(start: int, count: int | None, seconds: float | None) -> Iterator[list[int]]:
    """Seeds for the workers, until the count or the time is used up."""
    end = None if seconds is None else time.monotonic() + seconds
    while (count is None or count > 0) and (end is None or time.monotonic() < end):
        size = BLOCK if count is None else min(BLOCK, count)
        yield list(range(start, start + size))
        start += size
        count = None if count is None else count - size


def hunted(
    workers: list[Worker], tasks: Iterator[list[int]], patience: float, *, keep: bool = False
) -> Iterator[tuple[int, Any]]:
    """Each seed with what was told of it, or with how it ended; `keep`: the workers will get more to do."""
    busy = set(range(len(workers)))
    while busy:
        for place in [place for place in busy if not workers[place].left]:
            workers[place].give(next(tasks, []))
            if not workers[place].left:
                busy.remove(place)
        wait([workers[place].link for place in busy], timeout=0.2)
        for place in busy:
            worker = workers[place]
            found = worker.heard_of(patience)
            if found is None:
                continue
            if isinstance(found[1], Ended):
                workers[place] = worker.again()
            yield found
    for worker in workers if not keep else ():
        worker.link.send(None)
