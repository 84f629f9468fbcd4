"""The command among others: pipes, terminals, and files that are standard input or output."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from onereshape.cli import main
from onereshape.cli.commands import COMMANDS
from tests.checking import MODELS, proto, written
from tests.commands import Captured, process, said
from tests.models import external

BAKED = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }"


@pytest.fixture(name="here")
def folder_with_a_model(tmp_path: Path) -> Path:
    written(BAKED, tmp_path)
    return tmp_path


def piped(*words: str, given: bytes, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """The command with something on its standard input."""
    command = [sys.executable, "-m", "onereshape", *words]
    return subprocess.run(command, check=False, input=given, capture_output=True, cwd=cwd)  # noqa: S603


def on_terminal(*words: str, cwd: Path, **variables: str) -> tuple[int, str]:
    """The exit code, and what a person sees; standard output and error are one terminal."""
    ours, theirs = pty.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR"}}
    environment |= {"TERM": "xterm-256color", "COLUMNS": "100", **variables}
    command = [sys.executable, "-m", "onereshape", *words]
    started = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=cwd, env=environment)  # noqa: S603
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux's way to say that nobody has it open any more
            break
        if not part:
            break
        seen += part
    os.close(ours)
    return started.wait(), seen.decode()


class TestStandardInput:
    @pytest.mark.parametrize(
        ("words", "code", "said"),
        [
            (["check", "-", "--batch"], 1, "standard input: n: baked-dim: N is forced to 1 by n: shape[0] = 1"),
            (["check", "-", "--batch", "x"], 1, "standard input: n: baked-dim: N is forced to 1 by n: shape[0] = 1"),
            (["check", "--batch", "-"], 1, "standard input: n: baked-dim: N is forced to 1 by n: shape[0] = 1"),
            (["show", "-"], 0, "1 Reshape in standard input"),
            (["infer", "-"], 0, "spec    onnx-14    n in standard input"),
            (["convert", "-", "--node", "n", "--to", "openvino", "-o", "o.xml"], 0, "written to o.xml"),
            (["certify", "-", "m.onnx"], 0, "proven: "),
            (["fix", "-", "-o", "out.onnx", "--batch"], 0, "1 change, written to out.onnx"),
        ],
    )
    def test_a_model(self, words: list[str], code: int, said: str, here: Path) -> None:
        done = piped(*words, given=(here / "m.onnx").read_bytes(), cwd=here)

        assert (done.returncode, done.stderr) == (code, b"")
        assert said in done.stdout.decode()

    def test_what_to_type_next_can_be_typed(self, here: Path) -> None:
        given = (here / "m.onnx").read_bytes()
        done = piped("check", "-", "--json", given=given, cwd=here)
        (found,) = json.loads(done.stdout)["models"][0]["findings"]

        assert found["next"] == "onereshape fix - -o dynamic.onnx --batch"
        assert piped(*found["next"].split()[1:], given=given, cwd=here).returncode == 0
        assert (here / "dynamic.onnx").exists()

    @pytest.mark.parametrize("words", [["check", "-"], ["show", "-"], ["fix", "-", "-o", "out.onnx", "--batch"]])
    @pytest.mark.parametrize(
        ("given", "said"), [(b"", "onereshape: standard input: is empty  [unreadable]\n"), (b"hello", "begins like no")]
    )
    def test_what_is_none(self, words: list[str], given: bytes, said: str, here: Path) -> None:
        done = piped(*words, given=given, cwd=here)

        assert (done.returncode, done.stdout) == (2, b"")
        assert said in done.stderr.decode()

    def test_nothing_is_waited_for_on_a_terminal(self, here: Path) -> None:
        code, seen = on_terminal("check", "-", cwd=here)

        assert code == 2
        assert "- reads the file from standard input, and nothing is piped into it" in seen


class TestStandardOutput:
    def test_a_model_goes_through(self, here: Path) -> None:
        """The bytes are those that a file gets, and what is said goes elsewhere."""
        process("fix", "m.onnx", "-o", "out.onnx", "--batch", "--no-certify", cwd=here)
        done = piped(
            "fix", "-", "-o", "-", "--batch", "--no-certify", "--diff", given=(here / "m.onnx").read_bytes(), cwd=here
        )

        assert done.returncode == 0
        assert done.stdout == (here / "out.onnx").read_bytes()
        onnx.checker.check_model(onnx.load_from_string(done.stdout))
        said = done.stderr.decode().splitlines()
        assert said[:3] == [
            "n (Reshape): baked-dim: N is forced to 1 by n: shape[0] = 1",
            "  - [1, 2, 3]  (initializer t)",
            "  + [0, 2, 3]",
        ]
        assert said[-1] == "1 change, written to standard output"
        assert sorted(path.name for path in here.iterdir()) == ["m.onnx", "out.onnx"]

    def test_a_sound_model_goes_through_byte_for_byte(self, here: Path) -> None:
        process("fix", "m.onnx", "-o", "out.onnx", "--batch", "--no-certify", cwd=here)
        given = (here / "out.onnx").read_bytes()
        done = piped("fix", "-", "-o", "-", "--batch", given=given, cwd=here)

        assert (done.returncode, done.stdout) == (0, given)
        said = "nothing to repair; standard output is standard input, byte for byte"
        assert done.stderr.decode().splitlines()[-1] == said

    def test_nothing_comes_out_where_it_is_refused(self, tmp_path: Path) -> None:
        written(MODELS["cannot-free"], tmp_path)
        done = process("fix", "m.onnx", "-o", "-", "--batch", cwd=tmp_path)

        assert (done.returncode, done.stdout) == (1, "")
        assert "nothing was written to standard output" in done.stderr

    def test_an_array_goes_through(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", np.arange(24, dtype=np.float32).reshape(2, 3, 4))
        process("run", "x.npy", "--target", "0,-1", "-o", "y.npy", cwd=tmp_path)
        done = piped("run", "-", "--target", "0,-1", "-o", "-", given=(tmp_path / "x.npy").read_bytes(), cwd=tmp_path)

        assert (done.returncode, done.stdout) == (0, (tmp_path / "y.npy").read_bytes())
        assert done.stderr.decode() == "standard input: float32 [2, 3, 4] -> [2, 12]\nwritten to standard output\n"

    @pytest.mark.parametrize("command", ["fix m.onnx --batch -o -", "run x.npy --target -1 -o -"])
    def test_bytes_are_not_for_a_terminal(self, command: str, here: Path) -> None:
        np.save(here / "x.npy", np.zeros(6))
        code, seen = on_terminal(*command.split(), cwd=here)

        assert code == 2
        assert "-o - writes bytes, which a terminal cannot show" in seen
        assert "\x93NUMPY" not in seen

    def test_not_beside_json(self, here: Path) -> None:
        done = process("fix", "m.onnx", "--batch", "-o", "-", "--json", cwd=here)

        assert done.returncode == 2
        assert "--json: leave one of them out" in done.stdout

    def test_weights_in_other_files_do_not_fit(self, tmp_path: Path) -> None:
        made = proto(
            "g (float[1, 6] x, float[6] w) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> {"
            " h = Mul(x, w) y = Reshape(h, t) }"
        )
        made.graph.initializer.append(external("w", [6], "w.bin"))
        made.graph.input.pop()
        (tmp_path / "w.bin").write_bytes(bytes(24))
        (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
        done = process("fix", "m.onnx", "--batch", "-o", "-", cwd=tmp_path)

        assert (done.returncode, done.stdout) == (2, "")
        assert "takes one file, and this model has its weights in others" in done.stderr

    @pytest.mark.parametrize("command", ["fix m.onnx --batch -o -", "completion bash", "show m.onnx", "--help"])
    def test_a_reader_that_has_gone(self, command: str, here: Path) -> None:
        line = f'"{sys.executable}" -m onereshape {command} 2>said; echo "code $?" >&2'
        done = subprocess.run(  # noqa: S602 - a pipe as people make it
            f"({line}) | exec 0<&-", shell=True, check=False, capture_output=True, text=True, cwd=here
        )

        assert done.stderr == "code 141\n"
        assert "Traceback" not in (here / "said").read_text()


class TestColours:
    def test_a_diff_on_a_terminal(self, here: Path) -> None:
        code, seen = on_terminal("fix", "m.onnx", "-o", "out.onnx", "--batch", "--no-certify", "--diff", cwd=here)

        assert code == 0
        assert "\x1b[31m  - [1, 2, 3]  (initializer t)\x1b[0m" in seen
        assert "\x1b[32m  + [0, 2, 3]\x1b[0m" in seen

    @pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
    def test_none_where_none_are_wanted(self, variables: dict[str, str], here: Path) -> None:
        code, seen = on_terminal(
            "fix", "m.onnx", "-o", "out.onnx", "--batch", "--no-certify", "--diff", cwd=here, **variables
        )

        assert code == 0
        assert "\n  + [0, 2, 3]\r\n" in seen
        assert "\x1b[32m" not in seen
        assert "\x1b[31m" not in seen

    def test_none_in_a_pipe(self, here: Path) -> None:
        done = process("fix", "m.onnx", "-o", "out.onnx", "--batch", "--no-certify", "--diff", cwd=here)

        assert "\x1b" not in done.stdout

    def test_names_stay_harmless_in_colour(self, tmp_path: Path) -> None:
        made = proto(BAKED)
        made.graph.node[0].name = "n\x1b[2J"
        (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
        _, seen = on_terminal("fix", "m.onnx", "-o", "out.onnx", "--batch", "--no-certify", "--diff", cwd=tmp_path)

        assert "\x1b[2J" not in seen
        assert "n\\x1b[2J (Reshape)" in seen


class TestQuiet:
    COMMANDS: dict[str, tuple[str, int]] = {
        "check": ("check m.onnx --batch", 1),
        "fix": ("fix m.onnx -o out.onnx --batch --diff", 0),
        "certify": ("certify m.onnx m.onnx", 0),
        "infer": ("infer --data 2,3 --target 6", 0),
        "run": ("run x.npy --target 6", 0),
        "convert": ("convert m.onnx --to onnx-13 -o older.onnx", 0),
        "conform": ("conform --engine numpy --case scalar_to_2", 0),
        "show": ("show m.onnx", 0),
        "report": ("report m.onnx -o report.html", 0),
        "completion": ("completion bash", 0),
    }

    def test_every_command_is_here(self) -> None:
        assert set(self.COMMANDS) == set(COMMANDS)

    @pytest.mark.parametrize("name", COMMANDS)
    def test_only_the_exit_code(self, name: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
        np.save(here / "x.npy", np.zeros(6))
        monkeypatch.chdir(here)
        words, code = self.COMMANDS[name]

        assert main(words.split()) == code
        assert capsys.readouterr().out
        assert main([*words.split(), "-q"]) == code
        assert capsys.readouterr() == ("", "")

    def test_errors_are_said(self, here: Path) -> None:
        done = process("check", "gone.onnx", "-q", cwd=here)

        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "onereshape: gone.onnx: No such file or directory  [unreadable]\n"

    def test_json_is_said(self, here: Path) -> None:
        done = process("show", "m.onnx", "-q", "--json", cwd=here)

        assert done.stdout.startswith('{"json_version": 1, ')

    def test_no_bar(self, here: Path) -> None:
        code, seen = on_terminal("fix", "m.onnx", "-o", "out.onnx", "--batch", "-q", cwd=here)

        assert (code, seen) == (0, "")


@pytest.mark.parametrize("name", ["", *COMMANDS])
@pytest.mark.parametrize("columns", [60, 100])
def test_help_fits_the_terminal(name: str, columns: int, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    """All but examples, which are to be copied."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = said(capsys, *name.split(), "--help").splitlines()

    assert lines[0].startswith(f"usage: onereshape {name or 'COMMAND'} ")
    assert any(line.startswith("example") for line in lines) if not name else "example" in "".join(lines[1:8])
    wide = [line for line in lines[1:] if len(line) > columns]
    assert [line for line in wide if not line.startswith("  ") or line.startswith("   ")] == []
