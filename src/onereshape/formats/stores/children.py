"""Processes that make blocks.  They import nothing from the folder that is worked in, as multiprocessing's would.

They are given a job and numbers of blocks through a pipe.  They hold the lock of the folder that they write in, so that
no other run takes it over while one of them is left.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Self

from onereshape.formats.stores.partial_folder import InterruptedRunError
from onereshape.ground.errors import ReshapeError
from onereshape.ground.isolation.child import die_with
from onereshape.ground.isolation.room import signal_name


class Children:
    """So many processes, each of which makes one block at a time."""

    def __init__(self, job: Callable[[int], None], count: int, lock: int) -> None:
        # -P: the working folder may hold modules by the names of those that are installed.
        command = [sys.executable, "-P", "-m", "onereshape.formats.stores.children", str(os.getpid())]
        self.all: list[subprocess.Popen[bytes]] = []
        self.idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self.job = pickle.dumps(job)
        for _ in range(count):
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            child = subprocess.Popen(command, **pipes, pass_fds=(lock,))  # noqa: S603 - our own module
            self.all.append(child)
            self.idle.put(child)
            _send(child, self.job)

    def make(self, block: int) -> None:
        """Makes a block, in whichever process is idle."""
        child = self.idle.get()
        try:
            _send(child, pickle.dumps(block))
            answer = pickle.load(child.stdout)  # type: ignore[arg-type]  # noqa: S301 - of our own process
        except (OSError, EOFError, pickle.UnpicklingError):
            code = child.wait()
            why = f"signal {signal_name(-code)}" if code < 0 else f"exit code {code}"
            raise InterruptedRunError(f"--scheduler processes: a process died ({why})") from None
        finally:
            self.idle.put(child)
        if answer is not None:
            raise answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.all:
            child.kill()  # idle, or its block counts for nothing
        for child in self.all:
            child.wait()
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()


def _send(child: subprocess.Popen[bytes], content: bytes) -> None:
    assert child.stdin is not None  # noqa: S101 - it has a pipe
    try:
        child.stdin.write(content)
        child.stdin.flush()
    except BrokenPipeError:
        return  # whoever reads the answer will find none


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the run, which then ends us
    die_with(int(sys.argv[1]))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever libraries print is no answer
    questions = sys.stdin.buffer
    job = pickle.load(questions)  # noqa: S301 - of our own process
    while True:
        try:
            block = pickle.load(questions)  # noqa: S301
        except EOFError:
            return
        answer: Exception | None = None
        try:
            job(block)
        except ReshapeError as error:
            answer = error
        except MemoryError:
            answer = MemoryError()
        except Exception as error:  # noqa: BLE001 - said by whoever asked
            answer = ReshapeError("unforeseen", type=type(error).__name__, place="stores/children.py", variable="")
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    _main()
