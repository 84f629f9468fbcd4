"""The folder in which a store is made: whatever others put beside the output, and whatever was left there."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onereshape.formats.stores.reshape_store as whole
from onereshape.cli import main
from onereshape.formats.stores import beneath, partial_folder, stream
from onereshape.formats.stores.passes import passes
from onereshape.ground.errors import FormatError
from tests.commands import Captured, said
from tests.formats.stored import files, folder_with_stores, held, run, stored  # noqa: F401 - a fixture

TARGET = ("--target", "100,-1", "-o", "y.zarr")
START = f".onereshape-{hashlib.sha256(b'y.zarr').hexdigest()[:16]}-"
PLANTED = f"{START}{'0' * 16}.partial"
DATA = np.arange(20_000, dtype=np.int32).reshape(200, 100)


@pytest.fixture(autouse=True)
def large(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(str(here / "l.zarr"), DATA, (10, 100))
    blocks_of(monkeypatch, 1000)


def blocks_of(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(whole, "passes", lambda a, b, c, d, _: passes(a, b, c, d, size))


def interrupted(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
    """The folder that a run leaves which is interrupted after 5 blocks."""
    call = stream.Journal.__call__

    def stop(record: stream.Journal, block: int) -> None:
        call(record, block)
        if record.done >= 5:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(stream.Journal, "__call__", stop)
        assert main(run("l.zarr", *TARGET)) == 130
    assert "goes on where this one stopped" in capsys.readouterr().err
    return next(Path().glob(".onereshape-*"))


def right(out: str, *, resumed: bool) -> bool:
    """Whether a run went on with an earlier one, or not; and made all that it should, and left nothing else."""
    assert (held("y.zarr") == DATA.reshape(100, -1)).all()
    assert [name for name in files() if name.startswith(".")] == []
    return ("earlier run" in out) == resumed


class TestResumed:
    @pytest.mark.parametrize("size", [600, 1000, 3000])
    def test_with_any_memory(self, size: int, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        """The blocks of the earlier run are gone on with, whatever size this one would have chosen."""
        interrupted(monkeypatch, capsys)
        blocks_of(monkeypatch, size)
        out = said(capsys, *run("l.zarr", *TARGET, "--memory", "64GB"))
        assert right(out, resumed=True)
        assert "5 of 20 blocks" in out

    def test_with_memory_for_fewer_at_a_time(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        interrupted(monkeypatch, capsys)
        monkeypatch.setattr(whole, "_budget", lambda *words: 1000 if words[-1] == 1 else 10)
        assert right(said(capsys, *run("l.zarr", *TARGET)), resumed=True)

    def test_with_too_little_memory_it_begins_anew_and_says_so(
        self, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        interrupted(monkeypatch, capsys)
        monkeypatch.setattr(whole, "_at_once", lambda *_: 0)
        blocks_of(monkeypatch, 3000)
        out = said(capsys, *run("l.zarr", *TARGET))
        assert out.endswith("; an earlier run, planned for more memory, was not gone on with\n")
        assert right(out, resumed=True)

    def test_a_refusal_costs_nothing(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        interrupted(monkeypatch, capsys)
        assert main(run("l.zarr", *TARGET, "--memory", "1kB")) == 2
        assert main(run("l.zarr", "--target", "7,-1", "-o", "y.zarr")) == 1
        capsys.readouterr()
        assert right(said(capsys, *run("l.zarr", *TARGET)), resumed=True)

    def test_by_another_scheduler(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        interrupted(monkeypatch, capsys)
        words = ("--scheduler", "processes", "--memory", "64GB")
        assert right(said(capsys, *run("l.zarr", *TARGET, *words)), resumed=True)

    def test_of_no_use_any_more(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        """Another input, target or chunks: what was left for this output goes."""
        for change in (("x.zarr",), ("l.zarr", "--target", "50,-1"), ("l.zarr", *TARGET[:2], "--chunks", "3,50")):
            interrupted(monkeypatch, capsys)
            words = (*change, "--target", "-1") if change == ("x.zarr",) else change
            assert "earlier" not in said(capsys, *run(*words, "-o", "y.zarr"))
            assert [name for name in files() if name.startswith(".")] == []
            shutil.rmtree("y.zarr")

    def test_what_is_left_for_other_outputs_stays(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        left = interrupted(monkeypatch, capsys)
        said(capsys, *run("l.zarr", "--target", "-1", "-o", "z.zarr"))
        assert left.is_dir()

    @pytest.mark.parametrize("damage", ["", "{", "null", "[]", '{"identity": 1}', "\xff", "[" * 10**5])
    def test_a_plan_that_is_damaged(self, damage: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        (interrupted(monkeypatch, capsys) / "plan").write_text(damage, encoding="latin-1")
        assert right(said(capsys, *run("l.zarr", *TARGET)), resumed=False)

    def test_notes_that_are_damaged(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        left = interrupted(monkeypatch, capsys)
        with (left / "0.done").open("ab") as file:
            file.write(b"x\n-1\n99999999999999999999999\n1000\n\n\xff\n1")
        assert "5 of 20 blocks" in said(capsys, *run("l.zarr", *TARGET))
        assert (held("y.zarr") == DATA.reshape(100, -1)).all()

    @pytest.mark.parametrize("sink", ["y.zarr", "y.npy"])
    def test_after_the_output_was_in_place(self, sink: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        """Killed between the rename and the end."""
        with monkeypatch.context() as patch:
            patch.setattr(partial_folder, "_remove", lambda _: None)
            said(capsys, *run("l.zarr", *TARGET[:2], "-o", sink, "--memory", "64GB"))
        assert list(Path().glob(".onereshape-*"))
        assert main(run("l.zarr", *TARGET[:2], "-o", sink, "--memory", "64GB")) == (2 if sink == "y.zarr" else 0)
        assert not list(Path().glob(".onereshape-*"))
        assert (held(sink) == DATA.reshape(100, -1)).all()


class TestOthers:
    """What someone else has put there is neither believed nor followed nor harmed."""

    def test_a_name_that_no_one_knows(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        names = set()
        for _ in range(3):
            left = interrupted(monkeypatch, capsys)
            names.add(left.name)
            assert left.stat().st_mode & 0o777 == 0o700
            shutil.rmtree(left)
        assert len(names) == 3

    def planted(self, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> Path:
        """A folder with blocks that are not those of the input, for whoever believes it."""
        left = interrupted(monkeypatch, capsys)
        left.rename(PLANTED)
        for one in Path(PLANTED).rglob("c/*/*"):
            one.write_bytes(b"planted")
        return Path(PLANTED)

    @pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720, 0o702])
    def test_a_folder_that_others_can_write(self, mode: int, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        self.planted(monkeypatch, capsys).chmod(mode)
        assert "earlier run" not in said(capsys, *run("l.zarr", *TARGET))
        assert (held("y.zarr") == DATA.reshape(100, -1)).all()
        assert Path(PLANTED).is_dir()

    def test_a_folder_of_someone_else(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        self.planted(monkeypatch, capsys)
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert partial_folder._candidates(Path("y.zarr").absolute()) == []

    def test_a_link_to_a_folder(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        self.planted(monkeypatch, capsys).rename("elsewhere")
        Path(PLANTED).symlink_to("elsewhere")
        before = sorted(Path("elsewhere").rglob("*"))
        assert "earlier run" not in said(capsys, *run("l.zarr", *TARGET))
        assert (held("y.zarr") == DATA.reshape(100, -1)).all()
        assert sorted(Path("elsewhere").rglob("*")) == before

    @pytest.mark.parametrize("name", ["lock", "plan", "0.done", "0.made", "0.zarr", "0.zarr/c/0/0", "0.zarr/zarr.json"])
    def test_links_in_a_folder_of_ours(self, name: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        """As from an archive that was unpacked here."""
        left = interrupted(monkeypatch, capsys)
        Path("victim").write_bytes(b"kept")
        one = left / name
        shutil.rmtree(one) if one.is_dir() else one.unlink(missing_ok=True)
        one.symlink_to(Path("victim").absolute())
        said(capsys, *run("l.zarr", *TARGET))
        assert (held("y.zarr") == DATA.reshape(100, -1)).all()
        assert Path("victim").read_bytes() == b"kept"

    def test_a_folder_of_another_kind_by_that_name(self, capsys: Captured) -> None:
        """Renamed by whoever may write to the folder above."""
        Path(PLANTED).mkdir(mode=0o700)
        Path(PLANTED, "thesis.tex").write_text("all of it", encoding="ascii")
        said(capsys, *run("l.zarr", *TARGET))
        assert Path(PLANTED, "thesis.tex").exists()

    def test_an_empty_folder_of_ours(self, capsys: Captured) -> None:
        Path(PLANTED).mkdir(mode=0o700)
        assert right(said(capsys, *run("l.zarr", *TARGET)), resumed=False)

    def test_a_folder_that_has_become_someone_elses(self, here: Path) -> None:
        with pytest.raises(OSError, match="has become someone else's"):
            beneath.write(str(here), "c/0", b"", (os.getuid() + 1,))
        assert not (here / "c").exists()

    def test_a_link_on_the_way_is_not_written_through(self, here: Path) -> None:
        (here / "far").mkdir()
        (here / "c").symlink_to("far")
        with pytest.raises(OSError, match=r"(?i)director|symbolic"):
            beneath.write(str(here), "c/0", b"x", (os.getuid(),))
        assert not list((here / "far").iterdir())

    def test_a_link_in_the_place_of_a_file_is_replaced(self, here: Path) -> None:
        (here / "victim").write_bytes(b"kept")
        (here / "chunk").symlink_to("victim")
        beneath.write(str(here), "chunk", b"x", (os.getuid(),))
        assert (here / "victim").read_bytes() == b"kept"
        assert (here / "chunk").read_bytes() == b"x"


def test_two_at_once() -> None:
    final = Path("y.zarr").absolute()
    with partial_folder.beside(final, ["a"], "y.zarr") as folder:
        folder.begin(["a"], [])
        for identity in (["a"], ["b"]):
            with (
                pytest.raises(FormatError, match="another run is writing it"),
                partial_folder.beside(final, identity, "y.zarr"),
            ):
                pass
        assert json.loads((folder.path / "plan").read_bytes()) == {"identity": ["a"], "plan": []}


def test_what_is_removed_is_not_believed_when_that_is_cut_short(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan goes first: chunks that are gone would be taken for empty ones."""
    left = interrupted(monkeypatch, capsys)
    gone: list[str] = []

    def stop(path: Any, **_: Any) -> None:
        gone.append(Path(path).name)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", stop)
        with pytest.raises(KeyboardInterrupt):
            partial_folder._remove(left)
    assert gone
    assert not (left / "plan").exists()
    assert right(said(capsys, *run("l.zarr", *TARGET)), resumed=False)
