"""The child process, `python -P -m onereshape.ground.isolation.child PARENT LOCK [MODULE ...]`, of `room` alone.

A question names a function of ours, which takes the plain data and the arrays of the question and gives those of the
answer; a first message, empty, says that it begins.  Standard output is kept for answers; what libraries print goes to
the same place as their errors.  LOCK is `-`, or the number of an open file that is held as long as the process lives:
it then writes files of any size.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from onereshape.ground.isolation.kept import KEPT
from onereshape.ground.isolation.messages import Arrays, Plain, read, write

NO_MEMORY = 77
"""The exit code of a child to which memory was refused."""
IDLE = 60.0
"""Seconds after which a child that holds nothing and hears nothing goes."""
_LARGEST_FILE = 1 << 26
"""Bytes of a file that a library may write here: its complaints among them."""
_GRACE = 10
"""Seconds after which a question ends that the parent did not end."""
_PDEATHSIG = 1
_ALL = 1 << 62


def main() -> NoReturn:
    """Answers until there is nobody to answer to."""
    with suppress(ValueError, OSError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's matter
    _die_with(int(sys.argv[1]))
    _limit("RLIMIT_CORE", 0)
    if sys.argv[2] == "-":
        _limit("RLIMIT_FSIZE", _LARGEST_FILE)
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for module in sys.argv[3:]:
        with suppress(Exception):  # whoever asks for it is told
            import_module(module)
    try:
        while _waited(questions):
            plain, arrays = read(questions, _ALL)
            function = _begun(plain)
            write(answers, {}, {})
            write(answers, *_answer(function, plain, arrays))
    except MemoryError:
        os._exit(NO_MEMORY)
    except (EOFError, BrokenPipeError):
        pass
    os._exit(0)  # what fails while it is torn down is of no interest


def _begun(asked: Plain) -> Callable[[Plain, Arrays], tuple[Plain, Arrays]] | str:
    """The function that a question names, imported within the limit of memory; a text if it cannot be had."""
    for number in asked["freed"]:
        KEPT.pop(number, None)
    _limit("RLIMIT_DATA", asked["memory"])
    module, _, name = asked["function"].partition(":")
    try:
        found: Callable[[Plain, Arrays], tuple[Plain, Arrays]] = getattr(import_module(module), name)
    except Exception as error:  # noqa: BLE001 - whatever an import raises
        return f"{type(error).__name__}: {error}"
    return found


def _answer(
    function: Callable[[Plain, Arrays], tuple[Plain, Arrays]] | str, asked: Plain, arrays: Arrays
) -> tuple[Plain, Arrays]:
    if isinstance(function, str):
        return {"failed": function}, {}
    _alarm(int(asked["seconds"]) + _GRACE)
    try:
        plain, found = function(asked["plain"], arrays)
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - an answer as well
        return {"failed": f"{type(error).__name__}: {error}"}, {}
    finally:
        _alarm(0)
    return {"answer": plain}, found


def _alarm(seconds: int) -> None:
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _waited(questions: Any) -> bool:
    """Waits for a question; whether one comes."""
    if KEPT or os.name != "posix":
        return True
    return bool(select.select([questions], [], [], IDLE)[0])


def _limit(name: str, most: int) -> None:
    try:
        import resource  # noqa: PLC0415 - not on Windows

        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    except (ImportError, AttributeError, OSError, ValueError):
        return


def _die_with(parent: int) -> None:
    """Has the kernel end this process when its parent ends; elsewhere than on Linux the end of a question does."""
    with suppress(Exception):
        import ctypes  # noqa: PLC0415 - takes long

        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    if os.name == "posix" and os.getppid() != parent:
        os._exit(0)


if __name__ == "__main__":
    main()
