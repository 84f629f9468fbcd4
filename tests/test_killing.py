"""Kills at chosen moments of every command that writes whole files; `python -m tests.killing` tries more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("count", "cases"), [(7, ("run", "convert")), (2, ("fix", "conform"))])
def test_the_old_or_the_new(count: int, cases: tuple[str, ...]) -> None:
    words = [sys.executable, "-m", "tests.killing", "--count", str(count)]
    for case in cases:
        words += ["--case", case]
    run = subprocess.run(words, capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent)  # noqa: S603

    assert run.returncode == 0, run.stdout + run.stderr
