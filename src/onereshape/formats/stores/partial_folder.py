"""The folder beside an output in which it is made: ours alone, found again by the same command, gone in the end.

Its name ends in random digits, so that no one can prepare it; it belongs to whoever runs and is closed to all others.
What is made in it, and for what, is in a file in it.  A run that ends, or fails, removes it; one that is interrupted or
killed leaves it, and the next run for the same output goes on with it, or removes it if it is of no use any more.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onereshape.formats.stores import beneath
from onereshape.ground.errors import FormatError

_NAMES = re.compile(r"lock|plan|complete|\d+\.(zarr|npy|done|made)|\..*\.tmp")
_PATIENCE = 2.0
"""Seconds for another run to find its folder."""
_LONGEST_PLAN = 1 << 24


class InterruptedRunError(Exception):
    """A run that cannot go on now, and whose work is worth keeping: the same command goes on with it."""


@dataclass(slots=True)
class Folder:
    """A folder of ours, locked."""

    path: Path
    here: int
    """The folder itself, open: whatever becomes of its name."""
    lock: int
    """The open file that holds the lock."""
    plan: Any
    """The plan that an earlier run with the same identity wrote down, else None."""
    began: bool = field(default=False)

    @property
    def owners(self) -> tuple[int, ...]:
        """The users who may own files in the folder: ours, and the owner of the lock."""
        return os.geteuid(), os.fstat(self.lock).st_uid

    def begin(self, identity: Any, plan: Any) -> None:
        """Writes down what is made here, unless that is what was found; whatever else was made is removed."""
        self.began = True
        if plan != self.plan:
            _empty(self.path)
            text = json.dumps({"identity": identity, "plan": plan})
            beneath.write(str(self.path), "plan", text.encode(), self.owners)

    def sync(self) -> None:
        """Returns when all that was written in here is on the disk."""
        _sync(self.here)

    def close(self) -> None:
        """Gives the lock back."""
        os.close(self.lock)
        os.close(self.here)

    def put_in_place(self, name: str, final: Path) -> None:
        """Renames the finished output to its place: a power cut leaves the old output, or all of the new one."""
        beneath.write(str(self.path), "complete", b"", self.owners)
        self.sync()
        os.rename(name, final, src_dir_fd=self.here)
        above = os.open(final.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(above)
        finally:
            os.close(above)


@contextmanager
def beside(final: Path, identity: Any, shown: str) -> Iterator[Folder]:
    """The folder in which `final` is made: that of an earlier run for the same, or a new one."""
    try:
        with _alone(final.parent):
            folder = _earlier(final, identity, shown) or _new(final)
        try:
            yield folder
        except InterruptedRunError:
            raise
        except Exception:
            if folder.began or folder.plan is None:  # a refusal before anything was done costs no work
                _remove(folder.path)
            raise
        else:
            _remove(folder.path)
        finally:
            folder.close()
    except OSError as error:
        why = "its folder does not exist" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        raise FormatError("unwritable", path=shown, why=why) from None


def sweep(final: Path) -> None:
    """Removes what a run left that was killed just after its output was in place."""
    with suppress(OSError):
        for path in _candidates(final):
            found = _locked(path)
            if found is not None:
                if not (path / "plan").exists() or _is_emptied(path):
                    _remove(path)
                found.close()


def _is_emptied(path: Path) -> bool:
    """Whether the output that was made in a folder has been moved to its place."""
    made = sorted(int(one.stem) for one in path.glob("*.made"))
    return bool(made) and not any((path / f"{made[-1]}{suffix}").exists() for suffix in (".zarr", ".npy"))


def _start(final: Path) -> str:
    return f".onereshape-{hashlib.sha256(os.fsencode(final.name)).hexdigest()[:16]}-"


def _candidates(final: Path) -> list[Path]:
    """Folders with the name of a partial output that are ours: of our user, closed to others, only known files in."""
    name = re.compile(re.escape(_start(final)) + r"[0-9a-f]{16}\.partial")
    with os.scandir(final.parent) as entries:
        found = [Path(entry.path) for entry in entries if name.fullmatch(entry.name) and _is_ours(entry)]
    return sorted(found)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        there = entry.stat(follow_symlinks=False)
        if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.geteuid() or there.st_mode & 0o077:
            return False
        with os.scandir(entry.path) as entries:
            return all(_NAMES.fullmatch(one.name) and not one.is_symlink() for one in entries)
    except OSError:  # it is gone
        return False


def _earlier(final: Path, identity: Any, shown: str) -> Folder | None:
    """The folder of an earlier run for the same; those of others for this output, who run no more, are removed."""
    chosen: Folder | None = None
    for path in _candidates(final):
        found = _locked(path)
        if found is None:
            if chosen is not None:
                chosen.close()
            raise FormatError("unwritable", path=shown, why="another run is writing it")
        found.plan = _plan(path, identity)
        if chosen is None and found.plan is not None and not _is_emptied(path) and _is_clean(path):
            chosen = found
        else:
            _remove(path)
            found.close()
    return chosen


def _new(final: Path) -> Folder:
    path = final.with_name(f"{_start(final)}{secrets.token_hex(8)}.partial")
    path.mkdir(mode=0o700)
    found = _locked(path)
    if found is None:
        raise FileNotFoundError
    return found


def _locked(path: Path) -> Folder | None:
    """The folder, locked; None if someone else holds it, or has just removed it."""
    try:
        here = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        lock = os.open("lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600, dir_fd=here)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.stat("lock", dir_fd=here)  # it may have been removed with all the rest, before it was ours
        except OSError:
            os.close(lock)
            raise
    except OSError:
        os.close(here)
        return None
    return Folder(path, here, lock, None)


def _plan(path: Path, identity: Any) -> Any:
    """What the folder is for, if that is this; None if not, or if nothing was written down."""
    try:
        found = json.loads(beneath.read(str(path), "plan", 0, None, _LONGEST_PLAN) or b"null")
        return found["plan"] if found["identity"] == json.loads(json.dumps(identity)) else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_clean(path: Path) -> bool:
    """Whether all in it are files and folders of ours; what was being written when a run was killed is removed."""
    folders = [path]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                there = entry.stat(follow_symlinks=False)
                if there.st_uid != os.geteuid():
                    return False
                if stat.S_ISDIR(there.st_mode):
                    folders.append(Path(entry.path))
                elif not stat.S_ISREG(there.st_mode):
                    return False
                elif entry.name.endswith(beneath.TEMPORARY):
                    os.unlink(entry.path)  # noqa: PTH108
    return True


def _remove(path: Path) -> None:
    """Removes a folder; the lock last, so that no one takes a half of it for a whole."""
    _empty(path)
    shutil.rmtree(path, ignore_errors=True)


def _empty(path: Path) -> None:
    """Removes all but the lock, and the plan first: without it nothing that is left counts; links are not followed."""
    with suppress(OSError):
        names = sorted(os.listdir(path), key=lambda name: name != "plan")  # noqa: PTH208
        for name in names:
            one = path / name
            if one.is_dir() and not one.is_symlink():
                shutil.rmtree(one, ignore_errors=True)
            elif name != "lock":
                one.unlink(missing_ok=True)


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Locks the folder of an output, so that no other run looks for partial folders there; it waits only a moment."""
    here = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(here, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > end:
                    break
                time.sleep(0.02)
            except OSError:
                break
            else:
                break
        yield
    finally:
        os.close(here)


def _sync(folder: int) -> None:
    """Waits for the disk; of one file system where the system can tell them apart."""
    try:
        syncfs = ctypes.CDLL(None, use_errno=True).syncfs
    except (AttributeError, OSError, TypeError):
        os.sync()
        return
    if syncfs(folder):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
