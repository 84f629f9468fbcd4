"""What is answered to a command line with a mistake in it: every word of it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

from onereshape.cli import main
from onereshape.cli.commands import COMMANDS
from tests.checking import written
from tests.commands import Captured, refused

BAKED = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }"
TWO = (
    "g (float[1, 6] data, float[1, 6] images) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> {"
    " s = Add(data, images) y = Reshape(s, t) }"
)
PLAIN = "g (float[1, 6] x) => (float[1, 6] y) { y = Relu(x) }"
SEE = "(see onereshape {} --help)"
EXAMPLES = {
    "check": "\n  for example: onereshape check model.onnx",
    "fix": "\n  for example: onereshape fix model.onnx -o dynamic.onnx --batch",
    "infer": "\n  for example: onereshape infer --data 2,3,4 --target 0,-1 --spec onnx-14",
    "run": "\n  for example: onereshape run x.npy --target 0,-1 --spec onnx -o y.npy",
    "convert": "\n  for example: onereshape convert model.onnx --node decoder/Reshape_3 --to openvino -o reshape.xml",
    "show": "\n  for example: onereshape show model.onnx",
    "completion": "\n  for example: source <(onereshape completion bash)",
}
SHAPE = "\n  a shape is written 2,3,4 or [2,3,4] or 2x3x4, and a dim that is not known ?"


def usage(command: str, sentence: str) -> str:
    """The whole message of a mistake that the parser finds."""
    return f"{sentence} {SEE.format(command)}  [bad-usage]{EXAMPLES[command]}"


MISTAKES = {
    # No command, or none that exists
    "chek m.onnx": "'chek' is not a command (did you mean check?) (see onereshape --help)  [bad-usage]",
    "m.onnx": "a command is missing before m.onnx: did you mean: onereshape check m.onnx (see onereshape --help)  "
    "[bad-usage]",
    "gone.onnx --batch": "a command is missing before gone.onnx: did you mean: onereshape check gone.onnx "
    "(see onereshape --help)  [bad-usage]",
    "x.npy": "a command is missing before x.npy: did you mean: onereshape run x.npy --target 0,-1 "
    "(see onereshape --help)  [bad-usage]",
    "--batch m.onnx": "a command is missing before --batch: did you mean: onereshape check --batch m.onnx "
    "(see onereshape --help)  [bad-usage]",
    "--quiet": "a command is missing before --quiet (see onereshape --help)  [bad-usage]",
    "--versoin": "there is no option --versoin without a command (did you mean --version?) (see onereshape --help)  "
    "[bad-usage]",
    "-v": "there is no option -v without a command (did you mean --version?) (see onereshape --help)  [bad-usage]",
    "list": f"'list' is not a command: they are {', '.join(COMMANDS)} (see onereshape --help)  [bad-usage]",
    "help lisst": f"'lisst' is not a command: they are {', '.join(COMMANDS)} (see onereshape --help)  [bad-usage]",
    # Options
    "check --bacth m.onnx": usage("check", "check has no option --bacth (did you mean --batch?)"),
    "check m.onnx --batch-size 4": usage("check", "check has no option --batch-size (did you mean --batch?)"),
    "check m.onnx -o out": usage("check", "check has no option -o"),
    "check m.onnx --format jsn": usage(
        "check", "--format: 'jsn' is none of text, json, github, sarif (did you mean json?)"
    ),
    "check m.onnx --strict=yes": usage("check", "--strict: it takes no value"),
    "check m.onnx --free": usage("check", "--free: its values are missing"),
    "fix m.onnx -o": usage("fix", "-o/--output: its value is missing"),
    "fix m.onnx -o out.onnx --batch --timeout soon": usage("fix", "--timeout: 'soon' is not a number of seconds"),
    "fix m.onnx -o out.onnx --batch --seed x": usage("fix", "--seed: 'x' is not an integer"),
    "fix m.onnx out.onnx other.onnx": usage("fix", "'other.onnx' is one word too many"),
    "infer --data 2,3,4 --target": usage("infer", "--target: its value is missing"),
    "infer --data 2 3 4 --target 6": usage("infer", "'4' is one word too many"),
    "run x.npy": usage("run", "--target is missing"),
    "run --target 6": usage("run", "IN is missing"),
    "convert m.onnx": usage("convert", "--to and -o are missing"),
    "show": usage("show", "MODEL is missing"),
    "completion tcsh": usage("completion", "bash|zsh|fish: 'tcsh' is none of bash, zsh, fish"),
    # Models
    "check": "a model is missing: onereshape check MODEL (see onereshape check --help)  [bad-usage]",
    "check gone.onnx": "gone.onnx: No such file or directory  [unreadable]",
    "check --batch gone.onnx": "gone.onnx: No such file or directory  [unreadable]",
    "check .": ".: is a folder  [unreadable]",
    "check - -": "standard input holds one model: - is typed twice  [bad-usage]",
    "fix": "a model is missing: onereshape fix MODEL -o OUT (see onereshape fix --help)  [bad-usage]",
    "fix m.onnx": "say where to write the repaired model: onereshape fix m.onnx -o m-dynamic.onnx --batch  [bad-usage]",
    "fix m.onnx --batch x --diff": "say where to write the repaired model: "
    "onereshape fix m.onnx --batch x --diff -o m-dynamic.onnx  [bad-usage]",
    "fix m.onnx -o out.onx --batch": "out.onx: an ONNX model is written to a name that ends in "
    ".onnx or .onnx.gz or .onnxtxt  [unwritable]",
    "fix m.onnx -o no/out.onnx --batch": "no/out.onnx: its folder does not exist  [unwritable]",
    "fix m.onnx -o m.onnx --batch": "m.onnx is the input itself, which is changed only with --in-place  [bad-usage]",
    "fix m.onnx b.onnx -o a.onnx": "there are two files to write: b.onnx and a.onnx  [bad-usage]",
    "fix - --in-place --batch": "--in-place writes over a file, and standard input is none  [bad-usage]",
    "fix m.onnx -o out.onnx --batch --memory 2": "memory is 2 bytes, and an engine needs at least 256 MB  [bad-usage]",
    "certify m.onnx": "name two models, the original and the repaired one: only one is named here "
    "(see onereshape certify --help)  [bad-usage]",
    "certify - -": "standard input holds one model: name a file for the other  [bad-usage]",
    "report m.onnx": "name the page to write: -o report.html, or -o - for standard output  [bad-usage]",
    # Inputs
    "check m.onnx --batch y": "the model has no input 'y'; its inputs are x  [unknown-input]\n"
    "  nor is there a file y; write --batch x, or with its axis --batch x:0",
    "check m.onnx --batch 0": "the model has no input '0'; its inputs are x  [unknown-input]\n"
    "  nor is there a file 0; write --batch x, or with its axis --batch x:0",
    "check m.onnx --batch x:5": "the input x has 2 dims, so it has no axis 5  [axis-range]",
    "check two.onnx --batch dta": "the model has no input 'dta' (did you mean 'data'?); its inputs are data, images  "
    "[unknown-input]\n  nor is there a file dta; write --batch data, or with its axis --batch data:0",
    "check both.onnx --batch taken": "'taken' is an input of the model, and a file: "
    "write --batch taken:0 for the input, or ./taken for the file  [bad-usage]",
    "check m.onnx --free x": "'x' is neither a model file nor INPUT:AXIS=NAME, such as x:1=S  [bad-usage]",
    "check m.onnx --free x:1": "'x:1' gives the dim no name: write --free x:1=NAME  [bad-usage]",
    # Shapes and Reshapes
    "infer": "--data and --target are missing (see onereshape infer --help)  [bad-usage]\n"
    "  for example: onereshape infer --data 2,3,4 --target 0,-1",
    "infer 2,3,4": "2,3,4 is no model: a shape is typed after --data, and what is asked for after --target  "
    "[bad-usage]\n  for example: onereshape infer --data 2,3,4 --target 0,-1",
    "infer --node n": "--node n is a Reshape of a model, and no model is named: onereshape infer MODEL --node NAME "
    "(see onereshape infer --help)  [bad-usage]",
    "infer m.onnx --node nn": "m.onnx: no Reshape is named 'nn' (did you mean 'n'?)  [bad-usage]",
    "infer plain.onnx": "plain.onnx has no Reshape  [bad-usage]",
    "infer several.onnx": "several.onnx has 2 Reshapes: name one with --node, by its name or by its place "
    "(graph/Reshape#0, graph/Reshape#1)  [bad-usage]",
    "infer --data '[2,3' --target 6": f"data is '[2,3', not a list of integers  [not-a-list]{SHAPE}",
    "infer --data 2.5 --target 1": f"data[0] is '2.5', not an integer  [not-an-integer]{SHAPE}",
    "infer --data Nx3x224 --target -1": f"data is 'Nx3x224', not a list of integers  [not-a-list]{SHAPE}",
    "infer --data -1,3 --target 3": "data[0] is -1: a dimension cannot be negative  [negative-dim]\n"
    "  data    [-1, 3]\n           ^^\n  a dim that is not known is written ?, or as a name such as N",
    "run x.npy --target 6 --chunks 2 -o -": "--chunks: a .npy in a pipe is reshaped as a whole  [bad-usage]",
    "run - --array a --target 6": "--array chooses in an .npz or a Zarr group, and - is a .npy  [bad-usage]",
    "run x.zarr --target 6 -o -": "x.zarr: a Zarr store is a folder, which is not read from a pipe or written to one  "
    "[bad-usage]",
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(BAKED, tmp_path)
    written(TWO, tmp_path, "two.onnx")
    written(BAKED.replace(" x)", " taken)").replace("(x,", "(taken,"), tmp_path, "both.onnx")
    written(PLAIN, tmp_path, "plain.onnx")
    written(
        "g (float[2, 3] x) => (float[a] y) <int64[2] t = {3, 2}, int64[1] u = {6}> {"
        " h = Reshape(x, t) k = Relu(h) y = Reshape(k, u) }",
        tmp_path,
        "several.onnx",
    )
    (tmp_path / "taken").write_bytes(b"")
    np.save("x.npy", np.zeros((2, 3)))


@pytest.mark.parametrize("words", MISTAKES)
def test_the_whole_message(words: str, capsys: Captured) -> None:
    before = sorted(path.name for path in Path().iterdir())

    assert refused(capsys, *shlex.split(words)) == (2, MISTAKES[words])
    assert sorted(path.name for path in Path().iterdir()) == before


@pytest.mark.parametrize("words", MISTAKES)
def test_the_same_for_machines(words: str, capsys: Captured) -> None:
    command, *more = shlex.split(words)

    assert main([command, "--json", *more]) == 2
    printed = capsys.readouterr()
    answer = json.loads(printed.out)

    assert printed.err == ""
    assert list(answer) == ["json_version", "error"]
    assert answer["json_version"] == 1
    assert answer["error"]["message"]


def test_no_command_at_all(capsys: Captured) -> None:
    """The commands are listed: whoever types this knows none."""
    code, message = refused(capsys)

    assert code == 2
    lines = message.splitlines()
    assert lines[:2] == ["a command is missing (see onereshape --help)  [bad-usage]", "  the commands are:"]
    assert [line.split()[0] for line in lines[2:-1]] == list(COMMANDS)
    assert lines[-1] == "  for example: onereshape check model.onnx"
