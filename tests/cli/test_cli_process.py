"""The command as a process: what it prints where, its limits, and how it ends."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onereshape.cli import main, run
from tests.commands import infer, process
from tests.models import small, write


class TestForeignTexts:
    def test_warnings_and_logs_of_others(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        said = run.answer

        def noisy(args: Any) -> Any:
            warnings.warn("noise", RuntimeWarning, stacklevel=1)
            np.float32(3e38) * np.float32(3e38)
            for name in ("distributed", "onnx_ir", ""):
                logging.getLogger(name).critical("noise")
            return said(args)

        monkeypatch.setattr(run, "answer", noisy)
        main(["run", "no_such.npy", "--target", "1"])
        captured = capfd.readouterr()

        assert "no_such.npy" in captured.err
        assert "oise" not in captured.err + captured.out
        assert "overflow" not in captured.err
        assert not logging.root.manager.disable


class TestLimits:
    @pytest.mark.parametrize("command", ["fix", "certify", "convert", "conform"])
    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (["--timeout", "0"], "timeout is 0, but it takes seconds, up to 86400"),
            (["--timeout", "nan"], "timeout is nan, but it takes seconds, up to 86400"),
            (["--timeout", "soon"], "--timeout: 'soon' is not a number of seconds"),
            (["--memory", "much"], "--memory much: write a whole number with a unit, such as 2GB or 512MiB"),
            (["--memory", "1MB"], "memory is 1 MB, and an engine needs at least 256 MB"),
        ],
    )
    def test_what_is_none(
        self, command: str, words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        path = write(small(), tmp_path / "m.onnx")
        out = ["-o", str(tmp_path / "o.onnx")]
        more = {
            "fix": [path, *out, "--batch"],
            "certify": [path, path],
            "convert": [path, *out, "--to", "onnx-13"],
            "conform": [],
        }[command]

        assert main([command, *more, *words]) == 2
        assert sentence in capsys.readouterr().err
        assert [each.name for each in tmp_path.iterdir()] == ["m.onnx"]


class TestProcess:
    """The same through a process of its own."""

    def test_exit_codes(self, tmp_path: Path) -> None:
        (tmp_path / "x.npy").write_text("no array")
        answers = [
            process(*infer("2,3", "-1"), cwd=tmp_path),
            process(*infer("2,3", "5"), cwd=tmp_path),
            process("run", "x.npy", "--target", "5", cwd=tmp_path),
        ]
        assert [answer.returncode for answer in answers] == [0, 1, 2]
        assert answers[0].stdout == "[6]\n  6  inferred: 6 / 1\n"
        expected = "onereshape: x.npy: is not a .npy file: its first bytes are not NumPy's signature  [unreadable]\n"
        assert answers[2].stderr == expected
        assert not any("Traceback" in answer.stderr for answer in answers)

    def test_a_name_that_is_not_text(self, tmp_path: Path) -> None:
        name = b"\xff.npy".decode(errors="surrogateescape")
        np.save(tmp_path / name, np.zeros(6))
        done = process("run", name, "--target", "2,3", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, "\\udcff.npy: float64 [6] -> [2, 3]\n")
        done = process("run", name, "--target", "2,3", "--json", cwd=tmp_path)
        assert json.loads(done.stdout)["input"] == name

    @pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
    def test_a_full_disk_behind_standard_output(self) -> None:
        with Path("/dev/full").open("w") as full:
            done = process(*infer("2", "2"), capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert (done.returncode, done.stderr) == (2, "onereshape: standard output: No space left on device\n")

    def test_a_reader_that_has_gone(self) -> None:
        command = f'"{sys.executable}" -m onereshape infer --data 2 --target 2; echo "code $?" >&2'
        done = subprocess.run(  # noqa: S602 - a pipe as people make it
            f"({command}) | exec 0<&-", shell=True, check=False, capture_output=True, text=True
        )
        assert done.stderr == "code 141\n"

    @pytest.mark.skipif(sys.platform == "win32", reason="needs setrlimit")
    def test_a_file_that_may_not_grow(self, tmp_path: Path) -> None:
        """A real failure in the middle of writing."""
        np.save(tmp_path / "x.npy", np.zeros(100_000))
        limit = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
        code = f"{limit}from onereshape.cli import main; sys.exit(main(sys.argv[1:]))"
        command = [sys.executable, "-c", code, "run", "x.npy", "--target", "2,-1", "-o", "y.npz"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=tmp_path)  # noqa: S603
        assert (done.returncode, done.stderr) == (2, "onereshape: y.npz: File too large  [unwritable]\n")
        assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]

    def test_onnx_is_not_imported_for_infer(self) -> None:
        code = "import sys; from onereshape.cli import main; main(sys.argv[1:]); print('onnx' in sys.modules)"
        command = [sys.executable, "-c", code, *infer("2", "2")]
        done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        assert done.stdout.splitlines()[-1] == "False"
