"""Temporary files beside an output: how they are named, whether their writer still lives, and removing the dead ones.

A writer holds a lock on its file from before its first byte until after its rename; the system lets go of the lock when
the writer ends, however it ends.  So a file that can be locked has no writer, wherever locks are seen: between all
processes of one kernel, containers included.  Between machines that share a folder not every file system passes locks
on; a name therefore says which kernel made it, and a file of another one must also be a day old.  Where the system has
no such locks (Windows) none is taken, and what a killed writer left stays.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import secrets
import stat
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl as _fcntl
except ImportError:  # Windows
    _fcntl = None  # type: ignore[assignment]

_LOCKS: Any = _fcntl
HOLDS = _LOCKS is not None
"""Whether a file is held open, and locked, until it has been renamed; elsewhere an open file cannot be renamed."""
_NAME = re.compile(r"\.onereshape-([0-9a-f]{8})-[0-9a-f]{16}\.tmp")
_DAY = 86400
_BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Differs with every kernel that starts."""


def temporary(folder: Path) -> Path:
    """A new name in a folder; short, so that beside a name that the file system can just hold it is not too long."""
    return folder / f".onereshape-{_kernel()}-{secrets.token_hex(8)}.tmp"


def opened(path: Path) -> BinaryIO | None:
    """A new file at a path, locked; None where another process locked it first, to remove it as a dead one."""
    file = path.open("xb")  # plainly, so that the umask has its say
    if not HOLDS:
        return file
    try:
        _LOCKS.flock(file.fileno(), _LOCKS.LOCK_EX | _LOCKS.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    except OSError:  # a file system without locks: nobody else can lock it either, and it is left alone
        return file
    if os.fstat(file.fileno()).st_nlink == 0:
        file.close()
        return None
    return file


def remove_dead(folder: Path) -> None:
    """Removes the temporary files that writers of this user left behind; what cannot be looked at is left alone."""
    if not HOLDS:
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if found := _NAME.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_dead(Path(entry.path), is_ours=found[1] == _kernel())


def _remove_if_dead(path: Path, *, is_ours: bool) -> None:
    number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(number)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            return
        if not is_ours and time.time() - found.st_mtime < _DAY:
            return
        _LOCKS.flock(number, _LOCKS.LOCK_EX | _LOCKS.LOCK_NB)
        path.unlink()
    finally:
        os.close(number)


@cache
def _kernel() -> str:
    try:
        name = _BOOT.read_bytes()
    except OSError:
        name = platform.node().encode(errors="surrogateescape")
    return hashlib.blake2b(name, digest_size=4).hexdigest()
