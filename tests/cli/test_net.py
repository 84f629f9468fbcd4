"""The net at the edge of the command line: what nobody foresaw is one line, exit code 2, and no traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from onereshape import cli
from onereshape.checks import check as check_module
from onereshape.cli.commands import COMMANDS, module_of

Captured = pytest.CaptureFixture[str]

WORDS = {
    "infer": ["--data", "2,3", "--target", "6"],
    "run": ["x.npy", "--target", "6"],
    "check": ["m.onnx"],
    "fix": ["m.onnx", "-o", "o.onnx", "--batch"],
    "certify": ["m.onnx", "o.onnx"],
    "convert": ["m.onnx", "--to", "onnx-13", "-o", "o.onnx"],
    "conform": [],
    "show": ["m.onnx"],
    "report": ["m.onnx", "-o", "r.html"],
    "completion": ["bash"],
}
PLANTED = [
    KeyError("x"),
    RecursionError("deep"),
    AttributeError("none"),
    OSError(5, "of no file"),
    RuntimeError("a\nb\nc"),
]


def plant(monkeypatch: pytest.MonkeyPatch, command: str, error: BaseException) -> None:
    def answer(_: Any) -> Any:
        raise error

    monkeypatch.setattr(module_of(command), "answer", answer)


def test_every_command_is_here() -> None:
    assert set(WORDS) == set(COMMANDS)


@pytest.mark.parametrize("command", WORDS)
@pytest.mark.parametrize("error", PLANTED, ids=lambda error: type(error).__name__)
def test_one_line(command: str, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.delenv("ONERESHAPE_TRACEBACK", raising=False)
    plant(monkeypatch, command, error)
    code = cli.main([command, *WORDS[command]])
    printed = capsys.readouterr()

    assert (code, printed.out) == (2, "")
    assert printed.err.count("\n") == 1
    assert printed.err.startswith(f"onereshape: {type(error).__name__} at cli/__init__.py:")
    assert printed.err.endswith("(ONERESHAPE_TRACEBACK=1 shows the traceback)  [unforeseen]\n")
    assert "please report it" in printed.err


def test_the_place_is_the_last_line_of_ours(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    def given_model(_: Any) -> Any:
        raise KeyError("planted")

    monkeypatch.setattr(check_module, "given_model", given_model)
    assert cli.main(["check", "tests/data/corpus/hand_yolo_head.ts.onnx"]) == 2
    assert capsys.readouterr().err.startswith("onereshape: KeyError at checks/check.py:")


@pytest.mark.parametrize("command", WORDS)
def test_for_machines(command: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    plant(monkeypatch, command, KeyError("x"))
    code = cli.main([command, *WORDS[command], "--json"])
    printed = capsys.readouterr()

    assert (code, printed.err) == (2, "")
    assert json.loads(printed.out)["error"]["code"] == "unforeseen"


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_the_traceback_is_there_for_who_asks(
    value: str, shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("ONERESHAPE_TRACEBACK", value)
    plant(monkeypatch, "infer", KeyError("x"))
    assert cli.main(["infer", *WORDS["infer"]]) == 2
    assert ("Traceback (most recent call last)" in capsys.readouterr().err) is shown


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (BrokenPipeError(), 141), (MemoryError(), 2)])
@pytest.mark.parametrize("command", WORDS)
def test_what_was_foreseen_stays(
    command: str, error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(cli, "_silence", lambda _: None)
    plant(monkeypatch, command, error)
    assert cli.main([command, *WORDS[command]]) == code
    assert "unforeseen" not in capsys.readouterr().err
