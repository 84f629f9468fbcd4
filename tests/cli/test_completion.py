"""Completion in real shells: what is offered after what was typed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from onereshape.cli.commands import COMMANDS
from onereshape.cli.parsing import parser_of
from onereshape.cli.shells import SCRIPTS
from tests.commands import Captured, refused, said

BASH = """\
source ./script
COMP_WORDS=(onereshape {words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); COMPREPLY=()
_onereshape
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
INSTALL = "completion is tried in real shells: apt-get install zsh fish"

OFFERED = {
    "ch": ["check"],
    "--v": ["--version"],
    "check --fo": ["--format"],
    "check m.onnx --format ''": ["text", "json", "github", "sarif"],
    "check m.onnx --format = j": ["json"],
    "fix m.onnx --no": ["--no-new-axis", "--no-certify"],
    "fix m.onnx -": None,
    "infer --spec openv": ["openvino"],
    "convert m.onnx --to onnx-28": ["onnx-28"],
    "infer --allowzero ''": ["0", "1"],
    "run x.npy --special-zero t": ["true"],
    "conform --engine onnxruntime-1": ["onnxruntime-13", "onnxruntime-1"],
    "completion ''": ["bash", "zsh", "fish"],
    "check m": [""],
    "fix m.onnx -o ''": [""],
    "fix m.onnx --seed ''": [""],
}
"""What bash is offered; nothing: it completes files, or what is typed can be anything."""


@pytest.fixture(autouse=True, name="here")
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(*command: str) -> list[str]:
    assert shutil.which(command[0]), INSTALL
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("words", OFFERED)
def test_bash(words: str, here: Path, capsys: Captured) -> None:
    (here / "script").write_text(said(capsys, "completion", "bash"))
    found = asked("bash", "--norc", "-c", BASH.format(words=words))
    expected = OFFERED[words]

    assert found == ([*parser_of("fix").options] if expected is None else expected)


@pytest.mark.parametrize("shell", SCRIPTS)
def test_the_script_is_one_of_its_shell(shell: str, here: Path, capsys: Captured) -> None:
    (here / "script").write_text(said(capsys, "completion", shell))

    assert asked(shell, "-n", "script") == []


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_command_and_option_is_there(shell: str, capsys: Captured) -> None:
    script = said(capsys, "completion", shell)

    for name in COMMANDS:
        assert name in script
        for option in parser_of(name).options:
            assert (
                option if shell != "fish" else f" {'-l' if option.startswith('--') else '-s'} {option.lstrip('-')}"
            ) in script


def test_fish(here: Path, capsys: Captured) -> None:
    (here / "script").write_text(said(capsys, "completion", "fish"))
    (here / "model.onnx").touch()

    def offered(line: str) -> list[str]:
        return [each.split("\t")[0] for each in asked("fish", "-N", "-c", f"source script; complete -C {line!r}")]

    assert offered("onereshape ch") == ["check"]
    assert offered("onereshape check --form") == ["--format"]
    assert offered("onereshape check --format j") == ["json"]
    assert offered("onereshape completion ") == ["bash", "fish", "zsh"]
    assert offered("onereshape check mo") == ["model.onnx"]
    assert offered("onereshape fix model.onnx --seed ") == []


def test_another_shell(capsys: Captured) -> None:
    code, message = refused(capsys, "completion", "zs")

    assert code == 2
    assert message.startswith("bash|zsh|fish: 'zs' is none of bash, zsh, fish (did you mean zsh?)")
