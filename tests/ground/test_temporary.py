"""Temporary files: those of dead writers go at the next write, those of living ones stay."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from onereshape.ground import temporary
from onereshape.ground.atomic import replacing
from onereshape.ground.temporary import opened

OTHER = "00000000"
"""The name of another machine's kernel."""


def dead(folder: Path, kernel: str | None = None, days: float = 0) -> Path:
    """What a killed writer leaves behind."""
    path = temporary.temporary(folder)
    if kernel is not None:
        path = path.with_name(f".onereshape-{kernel}-{'0' * 16}.tmp")
    path.write_bytes(b"half")
    then = time.time() - days * 86400
    os.utime(path, (then, then))
    return path


def write(folder: Path) -> None:
    with replacing(str(folder / "a.npy")) as file:
        file.write(b"new")


def test_the_dead_go(tmp_path: Path) -> None:
    dead(tmp_path)
    write(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["a.npy"]


def test_the_living_stay(tmp_path: Path) -> None:
    with replacing(str(tmp_path / "b.npy")) as file:
        file.write(b"slow")
        write(tmp_path)

    assert (tmp_path / "b.npy").read_bytes() == b"slow"


@pytest.mark.parametrize(("days", "stays"), [(0.9, True), (1.1, False)])
def test_those_of_other_machines_go_after_a_day(tmp_path: Path, days: float, stays: bool) -> None:
    path = dead(tmp_path, OTHER, days)
    write(tmp_path)

    assert path.exists() is stays


def test_what_is_locked_stays_however_old_it_is(tmp_path: Path) -> None:
    path = dead(tmp_path, OTHER, 30)
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        write(tmp_path)

    assert path.exists()


def test_what_only_looks_like_ours_stays(tmp_path: Path) -> None:
    """A link, a folder, a pipe, a file of another user, and other names."""
    kept = tmp_path / "kept"
    kept.write_bytes(b"of the user")
    links, folder, pipe, others = (temporary.temporary(tmp_path) for _ in range(4))
    links.symlink_to(kept)
    folder.mkdir()
    os.mkfifo(pipe)
    others.write_bytes(b"")
    if os.geteuid() == 0:
        os.chown(others, 12345, 12345)
    else:
        others.unlink()
    (tmp_path / ".onereshape-notes.tmp").write_bytes(b"")
    before = sorted(tmp_path.iterdir())
    write(tmp_path)

    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "a.npy"])
    assert kept.read_bytes() == b"of the user"


def test_a_file_that_is_taken_for_dead_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways in which a writer and a sweeper can meet between `open` and `flock`."""
    lock = fcntl.flock
    sweeps = iter([True, False])

    def meet(number: int, how: int) -> None:
        path = next(tmp_path.glob("*.tmp"))
        if next(sweeps, None):
            path.unlink()
        lock(number, how)

    monkeypatch.setattr(fcntl, "flock", meet)
    write(tmp_path)
    monkeypatch.undo()
    path = tmp_path / "held.tmp"

    def hold(number: int, how: int) -> None:
        with path.open("rb") as file:
            lock(file, fcntl.LOCK_EX)
            lock(number, how)

    monkeypatch.setattr(fcntl, "flock", hold)
    assert opened(path) is None
    assert (tmp_path / "a.npy").read_bytes() == b"new"


def test_it_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a power cut only the order of the calls can be seen here: the file, its name, its folder."""
    calls: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(number: int) -> None:
        calls.append("folder" if os.path.isdir(f"/proc/self/fd/{number}") else "file")  # noqa: PTH112
        fsync(number)

    def renamed(source: str, target: str) -> None:
        calls.append("name")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write(tmp_path)

    assert calls == ["file", "name", "folder"]
