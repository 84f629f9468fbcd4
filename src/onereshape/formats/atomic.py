"""Writing all of a file or nothing of it."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from onereshape.errors import FormatError


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which becomes `path` when the block ends, and vanishes when the block fails.

    The bytes go to a temporary file in the same folder, which is then renamed: whoever opens `path` finds the old
    content or the new one, never a part.  An existing file keeps its permissions, a new one gets the usual ones, and a
    symbolic link stays a link.  Every `OSError`, a full disk included, becomes a `FormatError`.
    """
    final = Path(os.path.realpath(path))
    # Short, so that a name that the file system can just hold does not become too long.
    beside = final.with_name(f".onereshape-{secrets.token_hex(8)}.tmp")
    try:
        mode = mode_to_keep(path, final)
        with beside.open("xb") as file:  # opened plainly, so that the umask has its say
            yield file
        if mode is not None:
            beside.chmod(mode)
        beside.replace(final)
    except OSError as error:
        _remove(beside)
        why = "its folder does not exist" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        raise FormatError("unwritable", path=path, why=why) from None
    except BaseException:  # an interrupt too
        _remove(beside)
        raise


def mode_to_keep(path: str, final: Path) -> int | None:
    """The permissions of the file that is there already; refuses what must not be replaced."""
    try:
        there = final.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(there.st_mode):
        raise FormatError("unwritable", path=path, why="is a folder")
    if not stat.S_ISREG(there.st_mode):
        raise FormatError("unwritable", path=path, why="is not a regular file")
    if not os.access(final, os.W_OK):  # a rename would not ask
        raise FormatError("unwritable", path=path, why="is write-protected")
    return stat.S_IMODE(there.st_mode)


def _remove(beside: Path) -> None:
    with suppress(OSError):
        beside.unlink()
