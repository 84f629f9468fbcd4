"""The fingerprint of a file or a store, which changes when anything in it is written: by it an old plan is refused."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

_TICK = 20_000_000
"""Nanoseconds: two changes within a tick of a file system's clock may have one time."""


def fingerprint(path: Path) -> str:
    """Of all files of a store, or of one file: their names, sizes, times and numbers.

    Waits a moment where something has only just been written: a later change then has a later time.
    """
    found, newest = _looked(path)
    since = time.time_ns() - newest
    if 0 <= since < _TICK:
        time.sleep((_TICK - since) / 1e9)
        found, _ = _looked(path)
    return found


def _looked(path: Path) -> tuple[str, int]:
    total = count = newest = 0
    for name, status in _files(path):
        seen = (name, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        digest = hashlib.blake2b(repr(seen).encode("utf-8", "surrogateescape"), digest_size=16).digest()
        total = (total + int.from_bytes(digest)) % (1 << 128)  # in whatever order a folder lists them
        count, newest = count + 1, max(newest, status.st_ctime_ns)
    return f"{count}-{total:032x}", newest


def _files(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    if not path.is_dir():
        yield "", path.stat()
        return
    folders = [(str(path), "")]
    while folders:
        folder, within = folders.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                name = f"{within}/{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders.append((entry.path, name))
                else:
                    yield name, entry.stat(follow_symlinks=False)
