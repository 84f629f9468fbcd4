"""An input that changes while it is reshaped, or before a run goes on: no output is a mixture of two states."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onereshape.formats.stores.reshape_store as whole
from onereshape.cli import main
from onereshape.formats.stores import stream
from onereshape.formats.stores.fingerprint import fingerprint
from onereshape.formats.stores.npy_files import NpyFile, open_npy
from onereshape.formats.stores.passes import passes
from tests.commands import Captured, refused, said
from tests.formats.stored import files, folder_with_stores, held, run, stored  # noqa: F401 - a fixture

DATA = np.arange(20_000, dtype=np.int32).reshape(200, 100)
MEMORY = ("--memory", "64GB")


def rewritten(path: Path) -> None:
    """A chunk, in place, with the same size."""
    with path.open("r+b") as file:
        content = file.read()
        file.seek(0)
        file.write(content[::-1])


def restored(path: Path) -> None:
    """As by a tool that keeps the times of files."""
    there = path.stat()
    rewritten(path)
    os.utime(path, ns=(there.st_atime_ns, there.st_mtime_ns))


def replaced(path: Path) -> None:
    Path("new").write_bytes(path.read_bytes()[::-1])
    Path("new").replace(path)


CHANGES: dict[str, Any] = {
    "rewritten": rewritten,
    "restored": restored,
    "replaced": replaced,
    "removed": Path.unlink,
    "touched": Path.touch,
    "another": lambda path: (path.parent / "9").write_bytes(b""),
    "metadata": lambda _: Path("l.zarr/zarr.json").touch(),
}


@pytest.fixture(autouse=True)
def large(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(str(here / "l.zarr"), DATA, (10, 100), compressors=None)
    np.save("l.npy", DATA)
    monkeypatch.setattr(whole, "passes", lambda a, b, c, d, _: passes(a, b, c, d, 1000))


def meanwhile(monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    """Changes something when a block is done."""
    call = stream.Journal.__call__

    def changed(record: stream.Journal, block: int) -> None:
        call(record, block)
        if record.done == 1:
            change()

    monkeypatch.setattr(stream.Journal, "__call__", changed)


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("which", [0, 19])
def test_while_it_is_read(kind: str, which: int, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: CHANGES[kind](Path(f"l.zarr/c/{which}/0")))
    before = files()
    code, text = refused(capsys, *run("l.zarr", "--target", "100,-1", "-o", "y.zarr"))
    assert (code, text) == (2, "l.zarr: was changed while it was read; nothing is written  [unreadable]")
    assert files() == before


def test_in_the_array_of_a_group_only() -> None:
    """What happens to its neighbours does not matter."""
    import zarr

    group = zarr.create_group("g.zarr")
    for name in "ab":
        group.create_array(name, shape=DATA.shape, chunks=(10, 100), dtype=DATA.dtype)[...] = DATA
    first = whole.open_store("g.zarr", "a").seen
    group["b"][...] = 0  # type: ignore[index]
    assert whole.open_store("g.zarr", "a").seen == first


@pytest.mark.parametrize("sink", ["y.zarr", "y.npy"])
def test_a_file(sink: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    meanwhile(monkeypatch, lambda: rewritten(Path("l.npy")))
    code, text = refused(capsys, *run("l.npy", "--target", "100,-1", "-o", sink, *MEMORY))
    assert (code, text) == (2, "l.npy: was changed while it was read; nothing is written  [unreadable]")
    assert sink not in files()


@pytest.mark.parametrize("scheduler", ["threads", "processes"])
def test_a_file_that_is_cut_off(scheduler: str) -> None:
    """In a process of its own, which a map would end."""
    code = (
        "import os, sys\nimport onereshape.formats.stores.reshape_store as whole\nfrom onereshape.cli import main\n"
        "from onereshape.formats.stores import stream\nfrom onereshape.formats.stores.passes import passes\n"
        "whole.passes = lambda a, b, c, d, _: passes(a, b, c, d, 1000)\nsay = stream.Journal.__call__\n"
        "def cut(record, block):\n    say(record, block)\n    os.truncate('l.npy', 5000)\n"
        "stream.Journal.__call__ = cut\nsys.exit(main(sys.argv[1:]))\n"
    )
    words = run("l.npy", "--target", "100,-1", "-o", "y.zarr", "--chunks", "5,200", "--scheduler", scheduler, *MEMORY)
    found = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)  # noqa: S603
    assert found.returncode == 2, found
    assert found.stderr.count("\n") == 1
    assert "l.npy: " in found.stderr
    assert "y.zarr" not in files()


def test_before_a_run_goes_on(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """One byte of a chunk that was read already, in place, its times put back."""

    def stop() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        meanwhile(patch, stop)
        assert main(run("l.zarr", "--target", "100,-1", "-o", "y.zarr")) == 130
    capsys.readouterr()
    restored(Path("l.zarr/c/0/0"))
    assert "earlier run" not in said(capsys, *run("l.zarr", "--target", "100,-1", "-o", "y.zarr"))
    assert (held("y.zarr") == held("l.zarr").reshape(100, -1)).all()


def test_a_change_within_a_tick(here: Path) -> None:
    """Written just now, and once more at once: the two are told apart."""
    for number in range(20):
        path = here / "file"
        path.write_bytes(b"a" * 10)
        first = fingerprint(path)
        with path.open("r+b") as file:
            file.write(b"b" * 10)
        assert fingerprint(path) != first, number


class TestReading:
    """Slices of a file are those of NumPy, however they are read."""

    @pytest.mark.parametrize("span", [1, 64, 1 << 20])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_any_box(self, span: int, order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("onereshape.formats.stores.npy_files._SPAN", span)
        monkeypatch.setattr("onereshape.formats.stores.npy_files._SHORT", span // 8)
        draw = random.Random(0)  # noqa: S311
        for _ in range(60):
            dims = [draw.randint(1, 6) for _ in range(draw.randint(0, 4))]
            data = np.arange(int(np.prod(dims))).reshape(dims).astype(draw.choice(["i2", "<f8", ">i4", "U3"]))
            np.save("a.npy", np.asarray(data, order=order))
            file = open_npy("a.npy")
            box = tuple(slice(*sorted(draw.choices(range(dim + 1), k=2))) for dim in dims)
            assert file[box].tolist() == data[box].tolist()
            assert file[box].dtype == data.dtype

    def test_a_file_that_has_become_shorter(self) -> None:
        file: NpyFile = open_npy("l.npy")
        os.truncate("l.npy", 5000)
        assert file[slice(0, 10), slice(0, 100)].size == 1000
        with pytest.raises(OSError, match="has become shorter than it was"):
            file[slice(100, 110), slice(0, 100)]
