"""Files below a folder, found without following any link: what is read or written there is nowhere else."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
TEMPORARY = ".tmp"
"""The end of the names of files that are being written."""


class RefusedError(OSError):
    """A file below a folder that is neither read nor written; the text says why."""


def read(root: str, key: str, start: int, length: int | None, most: int) -> bytes | None:
    """Bytes of a regular file from `start` on (from its end where negative); None if there is no such file.

    More than `most` bytes are refused before any is read.
    """
    try:
        with _opened(root, key) as (folder, name):
            file = os.open(name, os.O_RDONLY | _FILE, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refusal(root, key, error) from None
    try:
        there = os.fstat(file)
        if not stat.S_ISREG(there.st_mode):
            raise RefusedError(f"{key!r:.100} in it is not a regular file")
        start = max(0, there.st_size + start) if start < 0 else start
        length = max(0, there.st_size - start) if length is None else length
        if length > most:
            raise RefusedError(f"{key!r:.100} in it has {length:,} bytes to be read, where its metadata allow {most:,}")
        return _exactly(file, start, length)
    finally:
        os.close(file)


def _exactly(file: int, start: int, length: int) -> bytes:
    """That many bytes, or fewer at the end of the file."""
    found = os.pread(file, length, start)
    while found and len(found) < length:  # beyond 2 GiB, or on some networks, less than asked for
        more = os.pread(file, length - len(found), start + len(found))
        if not more:
            break
        found += more
    return found


def write(root: str, key: str, content: bytes | memoryview, owners: tuple[int, ...]) -> None:
    """A file with that content, whole or not at all, in a folder that belongs to one of `owners`."""
    temporary = f".{secrets.token_hex(8)}{TEMPORARY}"
    with _opened(root, key, owners) as (folder, name):
        file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o666, dir_fd=folder)
        try:
            try:
                left = memoryview(content).cast("B")
                while left:
                    left = left[os.write(file, left) :]
            finally:
                os.close(file)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise


def remove(root: str, key: str, owners: tuple[int, ...]) -> None:
    """Removes the file `key` below the folder `root`, where it exists."""
    with suppress(FileNotFoundError), _opened(root, key, owners) as (folder, name):
        os.unlink(name, dir_fd=folder)


@contextmanager
def _opened(root: str, key: str, owners: tuple[int, ...] | None = None) -> Iterator[tuple[int, str]]:
    """The folder of a key, and the name in it; with `owners` it is to be written, and made where it is missing."""
    *folders, name = key.split("/")
    if not all(part not in {"", ".", ".."} for part in (*folders, name)):
        raise RefusedError(f"{key!r:.100} is no name within it")
    here = os.open(root, _FOLDER)
    try:
        if owners is not None and os.fstat(here).st_uid not in owners:
            raise RefusedError("the folder that it is written in has become someone else's")
        for part in folders:
            if owners is not None:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=here)
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)


def _refusal(root: str, key: str, error: OSError) -> RefusedError:
    parts = key.split("/")
    with suppress(OSError):
        for end in range(1, len(parts) + 1):
            if Path(root, *parts[:end]).is_symlink():
                why = f"{'/'.join(parts[:end])!r:.100} in it is a symbolic link, and links in a store are not followed"
                return RefusedError(f"{why} (cp -rL makes a copy without them)")
    return RefusedError(f"{key!r:.100} in it: {error.strerror or error}")
