"""Processes that make blocks: children of `ground.isolation`, to which a job is told as plain data.

They hold the lock of the folder that they write in, so that no other run takes it over while one of them is left.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from queue import SimpleQueue
from typing import Final

from onereshape.formats.stores.blocks import Job, job_of
from onereshape.formats.stores.partial_folder import InterruptedRunError
from onereshape.ground.errors import FormatError
from onereshape.ground.isolation.budget import ENDLESS
from onereshape.ground.isolation.kept import KEPT, keep
from onereshape.ground.isolation.messages import Arrays, Plain
from onereshape.ground.isolation.room import Child, Ended

_NO_MEMORY: Final = "no memory"


@contextmanager
def children(job: Job, count: int, lock: int) -> Iterator[Callable[[int], None]]:
    """What makes a block in one of so many processes, whichever is idle."""
    idle: SimpleQueue[tuple[Child, int]] = SimpleQueue()

    def asked(child: Child, function: str, plain: Plain) -> Plain:
        return child.ask(f"{__name__}:{function}", plain, {}, ENDLESS, most=0)[0]

    def made(block: int) -> None:
        child, number = idle.get()
        try:
            told = asked(child, "make", {"number": number, "block": block})
        finally:
            idle.put((child, number))
        if "refused" in told:
            raise FormatError(told["refused"], **told["fields"])
        if "failed" in told:
            raise MemoryError if told["failed"] == _NO_MEMORY else RuntimeError(told["failed"])

    with ExitStack() as stack:
        try:
            for child in [stack.enter_context(Child(__name__, lock=lock)) for _ in range(count)]:
                idle.put((child, asked(child, "begin", job.told())["number"]))
            yield made
        except Ended as ended:
            raise InterruptedRunError(f"--scheduler processes: a process died ({ended.how})") from None


# In the child


def begin(told: Plain, _arrays: Arrays) -> tuple[Plain, Arrays]:
    """Keeps a job, and gives its number."""
    return {"number": keep(job_of(told))}, {}


def make(told: Plain, _arrays: Arrays) -> tuple[Plain, Arrays]:
    """Makes a block; how that was refused, or where it failed."""
    try:
        KEPT[told["number"]](told["block"])
    except FormatError as error:
        return {"refused": error.code, "fields": error.fields}, {}
    except MemoryError:
        return {"failed": _NO_MEMORY}, {}
    except Exception:  # noqa: BLE001 - a mistake of ours, told by whoever asked
        return {"failed": traceback.format_exc()}, {}
    return {}, {}
