"""`onereshape run` on a store that is interrupted or killed: the next run goes on, and nothing is half-written."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import onereshape.formats.stores.reshape_store as whole
from onereshape.cli import main
from onereshape.formats.stores import stream
from onereshape.formats.stores.blocks import Job
from onereshape.formats.stores.passes import passes
from tests.commands import Captured, said
from tests.formats.stored import files, folder_with_stores, held, run, stored  # noqa: F401 - a fixture


class TestInterrupted:
    """What an interrupted run made is used by the next one, if nothing has changed."""

    TARGET = ("--target", "100,-1", "-o", "y.zarr")

    @pytest.fixture(autouse=True)
    def _large(self, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.data = np.arange(20_000, dtype=np.int32).reshape(200, 100)
        stored(str(here / "l.zarr"), self.data, (10, 100))
        monkeypatch.setattr(whole, "passes", lambda a, b, c, d, _: passes(a, b, c, d, 1000))

    def interrupt(self, monkeypatch: pytest.MonkeyPatch, capsys: Captured, after: int) -> None:
        said_before = stream.Journal.__call__

        def interrupted(record: stream.Journal, block: int) -> None:
            said_before(record, block)
            if record.done >= after:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(stream.Journal, "__call__", interrupted)
            assert main(run("l.zarr", *self.TARGET)) == 130
        assert "goes on where this one stopped" in capsys.readouterr().err
        assert not Path("y.zarr").exists()

    def test_the_next_run_goes_on(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        self.interrupt(monkeypatch, capsys, 5)
        out = said(capsys, *run("l.zarr", *self.TARGET))

        assert out.endswith("; 5 of 20 blocks were there from an earlier run\n")
        assert (held("y.zarr") == self.data.reshape(100, -1)).all()
        assert files() == ["l.zarr", "x.npy", "x.zarr", "y.zarr"]

    def test_what_was_made_is_not_made_again(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        self.interrupt(monkeypatch, capsys, 5)
        made: list[int] = []
        call = Job.__call__

        def noted(job: Job, number: int) -> None:
            made.append(number)
            call(job, number)

        monkeypatch.setattr(Job, "__call__", noted)
        said(capsys, *run("l.zarr", *self.TARGET))

        assert len(made) == 15

    def test_an_input_that_changed(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        self.interrupt(monkeypatch, capsys, 5)
        zarr.open_array("l.zarr", mode="r+")[...] = self.data + 1
        out = said(capsys, *run("l.zarr", *self.TARGET))

        assert "earlier run" not in out
        assert (held("y.zarr") == self.data.reshape(100, -1) + 1).all()

    def test_other_chunks(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        self.interrupt(monkeypatch, capsys, 5)
        assert "earlier run" not in said(capsys, *run("l.zarr", *self.TARGET, "--chunks", "3,200"))
        assert (held("y.zarr") == self.data.reshape(100, -1)).all()

    def test_another_run_at_the_same_time(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        answers: list[int] = []
        said_before = stream.Journal.__call__

        def meanwhile(record: stream.Journal, block: int) -> None:
            if not answers:
                answers.append(-1)
                answers[0] = main(run("l.zarr", *self.TARGET))
            said_before(record, block)

        monkeypatch.setattr(stream.Journal, "__call__", meanwhile)
        assert main(run("l.zarr", *self.TARGET)) == 0
        assert answers == [2]
        assert "y.zarr: another run is writing it" in capsys.readouterr().err
        assert (held("y.zarr") == self.data.reshape(100, -1)).all()

    def test_a_process_that_is_killed(self, capsys: Captured) -> None:
        code = (
            "import os, signal, sys\n"
            "import onereshape.formats.stores.reshape_store as whole\n"
            "from onereshape.cli import main\n"
            "from onereshape.formats.stores import stream\n"
            "from onereshape.formats.stores.passes import passes\n"
            "whole.passes = lambda a, b, c, d, _: passes(a, b, c, d, 1000)\n"
            "say = stream.Journal.__call__\n"
            "def kill(record, block):\n"
            "    say(record, block)\n"
            "    if record.done == 7:\n"
            "        record.note()\n"
            "        os.kill(os.getpid(), signal.SIGKILL)\n"
            "stream.Journal.__call__ = kill\n"
            "main(sys.argv[1:])\n"
        )
        words = [sys.executable, "-c", code, *run("l.zarr", *self.TARGET)]
        assert subprocess.run(words, check=False).returncode == -signal.SIGKILL  # noqa: S603
        assert not Path("y.zarr").exists()
        assert said(capsys, *run("l.zarr", *self.TARGET)).endswith("; 7 of 20 blocks were there from an earlier run\n")
        assert (held("y.zarr") == self.data.reshape(100, -1)).all()
