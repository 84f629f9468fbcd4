"""The room in which native code is asked: a child process that may die, hang or want too much, and the parent may not.

`ask` puts a question to the child of this thread, which is started when it is first needed, kept for the next question
and replaced when it has died.  However it ends is told by an `Ended`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from math import inf
from typing import IO, Any, BinaryIO, Literal, Self, cast

from onereshape.ground.isolation.budget import SECONDS, Limits, OutOfTime, late, limits, size
from onereshape.ground.isolation.child import IDLE, NO_MEMORY
from onereshape.ground.isolation.messages import Arrays, Plain, TooLarge, read, write
from onereshape.ground.isolation.pages import kept_pages

Ending = Literal["crash", "hang", "memory"]
_LONGEST = 200
"""Characters of a last line that are kept."""
_PIPE = 1 << 20
_KILLED = 9
"""The number of SIGKILL, which Windows does not name."""
_ENDING = 5.0
"""Seconds that a process may take to end after it closed its pipes."""


class Ended(Exception):  # noqa: N818 - what happened to a child
    """A child that gave no answer; its text is a sentence that lacks its subject, whoever was asked."""

    def __init__(self, kind: Ending, how: str, sentence: str) -> None:
        self.kind: Ending = kind
        self.how = how
        """The end in a few words: a signal, and the last line that the child printed."""
        super().__init__(sentence)


class Child:
    """A child process: started at once, asked one question after the other, ended when nothing holds it any more."""

    def __init__(self, *modules: str, lock: int | None = None) -> None:
        """Starts a process, which imports these modules at once.

        With the open file of a `lock`, which it holds as long as it lives, it may write files of any size.
        """
        self._owner = os.getpid()
        try:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        except OSError as error:
            why = f"not started: no temporary file can be made ({error.strerror or error})"
            raise Ended("crash", why, f"could not be {why[4:]}") from None
        # -P: the working folder may hold modules by the names of those that are installed.
        words = [str(self._owner), "-" if lock is None else str(lock), *modules]
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-P", "-m", "onereshape.ground.isolation.child", *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                pass_fds=() if lock is None else (lock,),
                env=kept_pages() | os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"},
            )
        except (OSError, ValueError) as error:
            self._errors.close()
            raise Ended("crash", f"not started: {error}", f"could not be started: {error}") from None
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ImportError, AttributeError):  # more than the usual at once, where that can be had
                import fcntl  # noqa: PLC0415 - not on Windows

                fcntl.fcntl(cast("IO[bytes]", pipe), fcntl.F_SETPIPE_SZ, _PIPE)
        self._late = self._busy = False
        self._last: Ended | None = None
        self._begun: set[str] = set()
        self._freed: list[int] = []
        self._asked = time.monotonic()
        self.end = weakref.finalize(self, _end, self._process, self._errors, self._owner)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def lives(self) -> bool:
        """Whether a question can be put to it, by this process and now."""
        mine = self._owner == os.getpid() and self.end.alive
        return mine and not self._late and not self._busy and self._process.poll() is None

    @property
    def stays(self) -> bool:
        """Whether it will not leave of itself in the meantime."""
        return self.lives and time.monotonic() - self._asked < IDLE / 2

    def free(self, number: int) -> None:
        """Lets go of what the child keeps under a number, when it is asked next."""
        self._freed.append(number)

    def ask(
        self, function: str, plain: Plain, arrays: Arrays, limit: Limits, *, most: int | None = None
    ) -> tuple[Plain, Arrays]:
        """What MODULE:FUNCTION gives in the child; `arrays` is emptied, and `most` bytes are taken as an answer.

        An OutOfTime where the time of all answers is over; a child that has ended tells how again.
        """
        if self._last is not None:
            raise self._last
        limit.check()
        freed, self._freed = self._freed, []
        told = {"function": function, "plain": plain, "freed": freed, "memory": limit.memory, "seconds": limit.left}
        self._busy = True
        try:
            # To start, and to import a library, is no answer; who has begun once begins at once.
            patience = min(max(limit.seconds, SECONDS), limit.until - time.monotonic())
            with nullcontext() if function in self._begun else self._killed_after(patience):
                write(cast("BinaryIO", self._process.stdin), told, arrays)
                read(cast("BinaryIO", self._process.stdout), 0)
            self._begun.add(function)
            with self._killed_after(limit.left):
                given, found = read(cast("BinaryIO", self._process.stdout), limit.memory if most is None else most)
            failed = given.get("failed")
            answer = {} if failed else dict(given["answer"])
        except TooLarge as large:
            sentence = f"gave an answer of {size(large.size)}, too much for {size(limit.memory)} of memory"
            raise self._ended("memory", f"an answer of {size(large.size)}", sentence) from None
        except (EOFError, OSError):
            raise self._gone(limit) from None
        except (ValueError, KeyError, TypeError):
            raise self._ended("crash", "garbage", "gave what is no answer") from None
        except BaseException:  # Ctrl-C among them: whatever it is at work on is of no use any more
            self.end()
            raise
        finally:
            self._busy = False
            self._asked = time.monotonic()
        if failed:
            raise self._ended("crash", str(failed), f"fails: {failed}")
        return answer, found

    @contextmanager
    def _killed_after(self, seconds: float) -> Iterator[None]:
        timer = threading.Timer(seconds, self._kill_late)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _kill_late(self) -> None:
        self._late = True
        self._process.kill()

    def _ended(self, kind: Ending, how: str, sentence: str) -> Ended:
        self.end()
        self._last = Ended(kind, how, sentence)
        return self._last

    def _gone(self, limit: Limits) -> Ended | OutOfTime:
        """The reason why the child ended, after its pipes have closed: a signal, no memory, no time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING)
        self._process.kill()
        code = self._process.wait()
        last = _last_line(self._errors)
        if self._late and limit.until < inf:
            self.end()
            return late(limit.seconds)
        if self._late:
            return self._ended("hang", f"no answer in {limit.seconds:g} s", f"did not answer in {limit.seconds:g} s")
        how = f"exit code {code}" if code >= 0 else _signal_name(-code)
        if code == NO_MEMORY or "bad_alloc" in last or last.startswith("MemoryError"):
            return self._ended("memory", how, f"needed more than {size(limit.memory)} of memory")
        kind: Ending = "memory" if code == -_KILLED else "crash"
        why = f"{how}, as the system does where memory runs out" if code == -_KILLED else how
        return self._ended(kind, f"{how}: {last}" if last else how, f"ended its process ({why})")


class _Here(threading.local):
    """The child of a thread; it ends with the thread."""

    child: Child | None = None


_HERE = _Here()


def here(*modules: str) -> Child:
    """The child of this thread; a new one imports these modules while its parent does other things."""
    if _HERE.child is None or not _HERE.child.stays:
        _HERE.child = Child(*modules)
    return _HERE.child


def ask(function: str, plain: Plain, arrays: Arrays) -> tuple[Plain, Arrays]:
    """What MODULE:FUNCTION gives in the child of this thread, within the limits in force; or an Ended."""
    return here().ask(function, plain, arrays, limits())


def _end(process: subprocess.Popen[bytes], errors: IO[bytes], owner: int) -> None:
    if os.getpid() == owner:  # a fork has the same pipes, and is no parent
        process.kill()
        process.wait()
    for stream in (process.stdin, process.stdout, errors):
        with suppress(OSError, ValueError):
            cast("IO[Any]", stream).close()


def _last_line(errors: IO[bytes]) -> str:
    try:
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - 4096))
        lines = errors.read().decode(errors="replace").splitlines()
    except (OSError, ValueError):
        return ""
    return next((line.strip()[:_LONGEST] for line in reversed(lines) if line.strip()), "")


def _signal_name(number: int) -> str:
    """The name of a signal: `11 -> SIGSEGV`; `signal 63` where it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
