"""Writing all of a file or nothing of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from onereshape.ground.errors import FormatError
from onereshape.ground.temporary import HOLDS, opened, remove_dead, temporary


class _Replacement(NamedTuple):
    """A temporary file that is to be renamed to `final`, with the permissions `mode`."""

    path: str
    file: BinaryIO
    mode: int | None
    beside: Path
    final: Path


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write to, which becomes `path` when the block ends, and vanishes when the block fails.

    The bytes go to a temporary file in the same folder, which is then renamed: whoever opens `path` finds the old
    content or the new one, never a part; after a power cut too.  An existing file keeps its permissions, a new one gets
    the usual ones, and a symbolic link stays a link.  Every `OSError`, a full disk included, becomes a `FormatError`.
    """
    with replacing_in_turn([path]) as (file,):
        yield file


@contextmanager
def replacing_in_turn(paths: Sequence[str]) -> Iterator[list[BinaryIO]]:
    """Replaces several files: all are written before the first is renamed, and the renames come in this order.

    A kill between two renames leaves the first files new and the others old: whoever calls chooses an order in which
    that is harmless.  A path may come more than once, to be replaced again.
    """
    temporaries: list[Path] = []
    blamed = paths[-1]
    if any("\0" in path for path in paths):
        raise FormatError("unwritable", path=blamed, why="is not a path")
    try:
        with ExitStack() as open_files:
            moves = []
            for path in paths:
                blamed, final = path, followed(path)
                mode = mode_to_keep(path, final)
                remove_dead(final.parent)
                file = open_files.enter_context(_created(final.parent, temporaries))
                moves.append(_Replacement(path, file, mode, temporaries[-1], final))
            yield [move.file for move in moves]
            for move in moves:
                blamed = move.path
                move.file.flush()
                if move.mode is not None and hasattr(os, "fchmod"):  # Windows has it since Python 3.13
                    os.fchmod(move.file.fileno(), move.mode)
                os.fsync(move.file.fileno())
                if not HOLDS:
                    move.file.close()
            for move in moves:
                blamed = move.path
                move.beside.replace(move.final)
                _sync_folder(move.final.parent)
    except OSError as error:
        _remove(temporaries)
        if Path(blamed).parent.is_dir():
            raise FormatError("unwritable", path=blamed, why=error.strerror or str(error)) from None
        raise FormatError("unwritable", path=paths[-1], why="its folder does not exist") from None
    except BaseException:  # an interrupt too
        _remove(temporaries)
        raise


def followed(path: str) -> Path:
    """The file itself, whatever links lead to it; not a link that someone else put into a folder where anyone can."""
    try:
        final = Path(os.path.realpath(path))
        link = Path(path)
        if link.is_symlink():
            there, folder = link.lstat(), link.parent.stat()
            shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
            if shared and there.st_uid not in {os.geteuid(), folder.st_uid}:
                raise FormatError(
                    "unwritable", path=path, why="is a link of someone else's, in a folder that all share"
                )
    except OSError as error:  # the working folder may be gone
        raise FormatError("unwritable", path=path, why=error.strerror or str(error)) from None
    return final


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


def _created(folder: Path, temporaries: list[Path]) -> BinaryIO:
    """A new temporary file; its name is in the list before it exists, so that no interrupt can leave it behind."""
    while True:
        temporaries.append(temporary(folder))
        if (file := opened(temporaries[-1])) is not None:
            return file
        temporaries.pop()


def _sync_folder(folder: Path) -> None:
    """Has the rename itself on the disk before anything comes after it; not every file system can."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _remove(temporaries: list[Path]) -> None:
    for beside in temporaries:
        with suppress(OSError):
            beside.unlink()
