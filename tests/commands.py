"""Commands as somebody types them, in this process and in one of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onereshape.cli import main

Captured = pytest.CaptureFixture[str]


def ran(capsys: Captured, *words: str) -> tuple[int, str, str]:
    """The exit code of a command, what it prints, and its messages."""
    code = main(words)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def said(capsys: Captured, *words: str) -> str:
    """What a command that succeeds prints."""
    code = main(words)
    printed = capsys.readouterr()
    assert (code, printed.err) == (0, "")
    return printed.out


def refused(capsys: Captured, *words: str) -> tuple[int, str]:
    """The exit code and the message of a command that does not succeed."""
    code = main(words)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("onereshape: ")
    return code, printed.err.removeprefix("onereshape: ").removesuffix("\n")


def infer(data: str, target: str, *more: str) -> tuple[str, ...]:
    """The words of `onereshape infer`."""
    return ("infer", "--data", data, "--target", target, *more)


def process(*words: str, cwd: Path | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command as a process of its own."""
    command = [sys.executable, "-m", "onereshape", *words]
    return subprocess.run(command, check=False, cwd=cwd, text=True, **{"capture_output": True, **options})  # noqa: S603
