"""Kills at chosen moments of every command that writes whole files; `python -m tests.cli.killing` tries more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import onereshape as orx
from onereshape.formats.onnx_weights import save_with_weights
from onereshape.ground import atomic
from tests.cli.killing import prepare


@pytest.mark.parametrize(("count", "cases"), [(4, ("run", "convert")), (2, ("fix", "conform"))])
def test_the_old_or_the_new(count: int, cases: tuple[str, ...]) -> None:
    words = [sys.executable, "-m", "tests.cli.killing", "--count", str(count)]
    for case in cases:
        words += ["--case", case]
    memory = {"TMPDIR": "/dev/shm"} if Path("/dev/shm").is_dir() else {}  # where no disk is waited for  # noqa: S108
    root, variables = Path(__file__).parent.parent.parent, {**os.environ, **memory}
    run = subprocess.run(words, capture_output=True, text=True, check=False, cwd=root, env=variables)  # noqa: S603

    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("moment", range(1, 4))
def test_an_interrupt_leaves_a_model_its_weights(moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the second rename the model is in place, and whoever tidies up must not take its weights away."""
    prepare(tmp_path)
    model = orx.load(str(tmp_path / "b.onnx"))
    renames = 0

    def interrupted(_: Path) -> None:
        nonlocal renames
        renames += 1
        if renames == moment:
            raise KeyboardInterrupt

    monkeypatch.setattr(atomic, "_sync_folder", interrupted)
    path = tmp_path / "other" / "o.onnx"
    if moment > 2:
        save_with_weights(model, str(path))
    else:
        with pytest.raises(KeyboardInterrupt):
            save_with_weights(model, str(path))
    assert path.exists() == (moment > 1)
    assert sorted(file.name for file in path.parent.iterdir()) == (["o.onnx", "w.bin"] if moment > 1 else [])
    if moment > 1:
        onnx.load(path)
