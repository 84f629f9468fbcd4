"""The processes of `--scheduler processes`: a job is plain data there and back, and however they end is told."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onereshape.formats.stores.reshape_store as whole
from onereshape.cli import main
from onereshape.formats.stores import children
from onereshape.formats.stores.blocks import Job, Store, job_of
from onereshape.formats.stores.npy_files import create_npy, open_npy
from onereshape.formats.stores.passes import passes
from onereshape.formats.stores.zarr_arrays import create_zarr
from onereshape.ground.isolation.room import Child
from tests.commands import Captured, said
from tests.formats.stored import DATA, files, folder_with_stores, held, run, stored  # noqa: F401 - a fixture

LONG = run("x.npy", "--target", "3,8", "-o", "y.zarr", "--chunks", "1,2", "--scheduler", "processes")


class TestToldJobs:
    @pytest.mark.parametrize(
        "dtype", ["<f4", ">f4", ">V2", "<f1", "|V1", "<M8[ns]", "<U3", [("a", "<i2"), ("b", ">f8", (2,))]]
    )
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_an_npy_file_of_any_type(self, dtype: Any, order: Any, here: Path) -> None:
        """`>V2` is bfloat16 of the other byte order, `<f1` float8_e5m2."""
        header = {"descr": dtype, "fortran_order": order == "F", "shape": (4, 6)}
        size = 2 if dtype == ">V2" else 1 if dtype == "<f1" else np.dtype(dtype).itemsize
        with Path("t.npy").open("wb") as file:
            np.lib.format.write_array_header_1_0(file, header)
            file.write(bytes(24 * size))
        source = open_npy("t.npy")
        check(source, create_npy(here / "s.npy", (24,), source.dtype))

    def test_zarr(self, here: Path) -> None:
        source = whole.open_store("x.zarr").store
        check(source, create_zarr(here / "s.zarr", (24,), (5,), source, "s.zarr"))

    def test_a_path_that_is_no_text(self, here: Path) -> None:
        folder = Path(os.fsdecode(b"\xff\n"))
        folder.mkdir()
        stored(str(folder / "v.zarr"), DATA, (2, 3))
        source = whole.open_store(str(folder / "v.zarr")).store
        check(source, create_npy(here / folder / "s.npy", (24,), source.dtype))


def check(source: Store, sink: Store) -> None:
    """The job that comes back from JSON is the same, also in its types."""
    job = Job(source, "a", sink, "b", (4, 6), (24,), (5,), ((str(source.witness), 7),))
    again = job_of(json.loads(json.dumps(job.told())))
    assert (again, again.chosen.output) == (job, job.chosen.output)


@pytest.mark.usefixtures("here")
class TestEnding:
    def test_a_process_that_is_killed(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        """What it made counts, and the next run goes on."""
        ask = Child.ask

        def killed(child: Child, function: str, plain: Any, *more: Any, **options: Any) -> Any:
            if plain.get("block") == 7:
                os.kill(child._process.pid, signal.SIGKILL)
            return ask(child, function, plain, *more, **options)

        blocks(monkeypatch, 2)
        with monkeypatch.context() as patch:
            patch.setattr(Child, "ask", killed)
            assert main(LONG) == 2
        words = "--scheduler processes: a process died (SIGKILL); the same command goes on where this one stopped"
        assert words in capsys.readouterr().err
        assert "blocks were there from an earlier run" in said(capsys, *LONG)
        assert held("y.zarr").tolist() == DATA.reshape(3, 8).tolist()

    def test_none_can_be_started(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "executable", "/no/such/python")
        assert main(LONG) == 2
        assert "a process died (not started: [Errno 2] No such file or directory" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("error", "words"),
        [
            ("MemoryError", "there is not enough memory for this  [bad-usage]"),
            ("KeyError('x')", "a mistake of onereshape's"),
            ("FormatError('unreadable', path='p', why='is bad')", "onereshape: p: is bad  [unreadable]\n"),
        ],
    )
    def test_what_a_block_raises(
        self, error: str, words: str, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is told as data, and raised again; nothing is left behind."""
        planted(tmp_path, monkeypatch, f"def fails(job, block): raise {error}\nblocks.Job.__call__ = fails\n")
        assert main(LONG) == 2
        assert words in capsys.readouterr().err
        assert files() == ["x.npy", "x.zarr"]

    def test_the_traceback_of_a_mistake_is_that_of_the_child(
        self, capsys: Captured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ONERESHAPE_TRACEBACK", "1")
        planted(tmp_path, monkeypatch, "def fails(job, block): raise KeyError('here')\nblocks.Job.__call__ = fails\n")
        assert main(LONG) == 2
        assert "in fails" in capsys.readouterr().err


def planted(root: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Has the processes import a module that changes what they know."""
    modules = root.parent / f"{root.name}-modules"
    modules.mkdir()
    imports = (
        "from onereshape.formats.stores import blocks\nfrom onereshape.formats.stores.children import begin, make\n"
    )
    errors = "from onereshape.ground.errors import FormatError\n"
    (modules / "planted_blocks.py").write_text(imports + errors + code, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(modules))
    monkeypatch.setattr(children, "__name__", "planted_blocks")


def blocks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Has blocks hold so many elements."""
    monkeypatch.setattr(whole, "passes", lambda a, b, c, d, _: passes(a, b, c, d, size))
