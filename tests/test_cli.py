"""The command line: what it answers, what it refuses and how, and its exit codes."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from onereshape.cli import main, run
from tests.models import small, write
from tests.tensors import ONNX_TYPES, sample

Captured = pytest.CaptureFixture[str]


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
    return ("infer", "--data", data, "--target", target, *more)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a float32 [2, 3, 4] in x.npy."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    return tmp_path


class TestInfer:
    def test_copied_and_inferred(self, capsys: Captured) -> None:
        expected = "[2, 12]\n  2   copied from data[0]\n  12  inferred: 24 / 2\n"
        assert said(capsys, *infer("2,3,4", "0,-1", "--spec", "onnx-14")) == expected

    def test_fixed(self, capsys: Captured) -> None:
        expected = "[4, 1, 6]\n  4  fixed by target[0]\n  1  fixed by target[1]\n  6  inferred: 24 / 4\n"
        assert said(capsys, *infer("2,3,4", "4,1,-1")) == expected

    def test_copied_dims_of_size_zero_in_openvino(self, capsys: Captured) -> None:
        expected = "[0, 3]\n  0  copied from data[0]\n  3  inferred: 3 / 1, among the dims that are not copied\n"
        assert said(capsys, *infer("0,3", "0,-1", "--spec", "openvino", "--special-zero", "true")) == expected

    def test_empty_data(self, capsys: Captured) -> None:
        assert said(capsys, *infer("0,3", "-1,5")) == "[0, 5]\n  0  inferred: 0 / 5\n  5  fixed by target[1]\n"

    def test_literal_zero(self, capsys: Captured) -> None:
        expected = "[0, 7]\n  0  fixed by target[0]\n  7  fixed by target[1]\n"
        assert said(capsys, *infer("3,0", "0,7", "--allowzero", "1")) == expected

    def test_scalar(self, capsys: Captured) -> None:
        assert said(capsys, *infer("1,1", "[]")) == "[]\n"
        assert said(capsys, *infer("", "")) == "[]\n"

    def test_json(self, capsys: Captured) -> None:
        expected = {
            "output": [2, 12],
            "spec": "onnx-14",
            "dims": [{"dim": 2, "why": "copied from data[0]"}, {"dim": 12, "why": "inferred: 24 / 2"}],
            "conditions": [],
        }
        assert json.loads(said(capsys, *infer("2,3,4", "0,-1", "--spec", "onnx-17", "--json"))) == expected

    def test_refused_by_the_rule(self, capsys: Captured) -> None:
        expected = (
            "target[1] cannot be inferred: 24 elements do not divide by 5 (remainder 4)\n"
            "  data    [2, 3, 4]  (24 elements)\n"
            "  target  [5, -1]\n"
            "              ^^\n"
            "  rule    onnx Reshape-14: input and output must have the same number of elements  [indivisible]"
        )
        assert refused(capsys, *infer("2,3,4", "5,-1", "--spec", "onnx-14")) == (1, expected)

    def test_refused_in_json(self, capsys: Captured) -> None:
        assert main([*infer("2,3,4", "5,-1"), "--json"]) == 1
        printed = capsys.readouterr()
        assert printed.err == ""
        error = json.loads(printed.out)["error"]
        assert error["code"] == "indivisible"
        assert error["message"].startswith("target[1] cannot be inferred: 24 elements do not divide by 5")
        assert (error["axis"], error["data"], error["target"]) == (1, [2, 3, 4], [5, -1])

    @pytest.mark.parametrize("words", [("--target", "-1,3"), ("--target=-1,3",), ("--target", " -1x3")])
    def test_a_leading_minus_is_no_option(self, words: tuple[str, ...], capsys: Captured) -> None:
        out = said(capsys, "infer", "--data", "2,3", *words)
        assert out.startswith("[2, 3]\n")

    def test_negative_data(self, capsys: Captured) -> None:
        code, message = refused(capsys, "infer", "--data", "-1,3", "--target", "3")
        assert code == 2
        assert message.startswith("data[0] is -1: a dimension cannot be negative")

    def test_the_flag_that_has_no_default(self, capsys: Captured) -> None:
        expected = (
            "openvino Reshape-1 requires the attribute 'special_zero', which has no default  [missing-attribute]\n"
            "  hint    --special-zero true (a 0 in the target copies) or --special-zero false (a 0 is a 0)"
        )
        assert refused(capsys, *infer("2,3", "6", "--spec", "openvino")) == (2, expected)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--allowzero", "2"), "allowzero is '2', but it takes only 0 or 1  [bad-attribute]"),
            (("--spec", "openvino", "--special-zero", "1"), "special_zero is '1', but it takes only true or false"),
            (("--spec", "onnx-13", "--allowzero", "1"), "onnx Reshape-13 has no attribute 'allowzero' (since"),
            (("--spec", "openvino", "--allowzero", "1"), "openvino Reshape-1 has no attribute 'allowzero'; what"),
            (("--spec", "onx"), "'onx' is not a specification (did you mean 'onnx'?); the names are"),
        ],
    )
    def test_flags_and_names(self, words: tuple[str, ...], message: str, capsys: Captured) -> None:
        code, found = refused(capsys, *infer("2,3", "6", *words))
        assert code == 2
        assert found.startswith(message)


@pytest.mark.usefixtures("here")
class TestRun:
    def test_without_an_output(self, here: Path, capsys: Captured) -> None:
        assert said(capsys, "run", "x.npy", "--target", "0,-1") == "x.npy: float32 [2, 3, 4] -> [2, 12]\n"
        assert [path.name for path in here.iterdir()] == ["x.npy"]

    @pytest.mark.parametrize("output", ["y.npy", "y.npz", "y.pb"])
    def test_with_an_output(self, output: str, capsys: Captured) -> None:
        out = said(capsys, "run", "x.npy", "--target", "-1,4", "--spec", "onnx-5", "-o", output)
        assert out == f"x.npy: float32 [2, 3, 4] -> [6, 4]\nwritten to {output}\n"
        said(capsys, "run", output, "--target", "0,2,2", "-o", "z.npy")
        assert np.load("z.npy").tolist() == np.arange(24.0).reshape(6, 2, 2).tolist()

    def test_json(self, capsys: Captured) -> None:
        expected = {
            "input": "x.npy",
            "array": None,
            "dtype": "float32",
            "data": [2, 3, 4],
            "output": [2, 12],
            "spec": "onnx-25",
            "written": None,
        }
        assert json.loads(said(capsys, "run", "x.npy", "--target", "0,-1", "--json")) == expected
        out = said(capsys, "run", "x.npy", "--target", "0,-1", "--json", "-o", "y.npz")
        assert json.loads(out) == expected | {"written": "y.npz"}

    @pytest.mark.parametrize("row", ONNX_TYPES, ids=lambda row: row.name)
    def test_every_type(self, row: Any, capsys: Captured) -> None:
        """From .pb to .npy to .pb, reshaped twice, with nothing lost."""
        Path("a.pb").write_bytes(numpy_helper.from_array(sample(row)).SerializeToString())
        said(capsys, "run", "a.pb", "--target", "-1,2", "-o", "b.npy")
        out = said(capsys, "run", "b.npy", "--target", "3,4", "--dtype", row.onnx, "-o", "c.pb")
        assert out == f"b.npy: {row.name} [6, 2] -> [3, 4]\nwritten to c.pb\n"
        assert Path("c.pb").read_bytes() == Path("a.pb").read_bytes()

    def test_a_pb_keeps_its_name(self, capsys: Captured) -> None:
        proto = numpy_helper.from_array(np.zeros((2, 3)), "weights")
        proto.doc_string = "of the first layer"
        Path("a.pb").write_bytes(proto.SerializeToString())
        said(capsys, "run", "a.pb", "--target", "6", "-o", "b.pb")
        again = onnx.TensorProto.FromString(Path("b.pb").read_bytes())
        assert (again.name, again.doc_string) == ("weights", "of the first layer")
        said(capsys, "run", "a.pb", "--target", "6", "-o", "b.npz")
        assert list(np.load("b.npz")) == ["weights"]

    def test_an_array_of_several(self, capsys: Captured) -> None:
        np.savez("a.npz", w=np.zeros((2, 3)), b=np.ones(4))
        message = "a.npz: holds 2 arrays, choose with --array: w, b  [unreadable]"
        assert refused(capsys, "run", "a.npz", "--target", "-1") == (2, message)
        said(capsys, "run", "a.npz", "--array", "w", "--target", "-1", "-o", "c.npz")
        assert list(np.load("c.npz")) == ["w"]

    def test_fortran_and_big_endian(self, capsys: Captured) -> None:
        array = np.asarray(np.arange(24, dtype=">i4").reshape(2, 3, 4), order="F")
        np.save("f.npy", array)
        said(capsys, "run", "f.npy", "--target", "-1", "-o", "g.npy")
        assert np.load("g.npy").tolist() == list(range(24))
        assert np.load("g.npy").dtype == ">i4"

    def test_types_are_checked(self, capsys: Captured) -> None:
        code, message = refused(capsys, "run", "x.npy", "--target", "3")
        assert (code, message.partition("\n")[0]) == (1, "data has 24 elements, but the target asks for 3")
        np.save("i.npy", np.zeros(3, np.int64))
        code, message = refused(capsys, "run", "i.npy", "--target", "3", "--spec", "onnx-1")
        assert code == 1
        assert message.startswith("data of type int64 is refused: allowed since onnx Reshape-5")
        np.save("d.npy", np.zeros(3, "M8[s]"))
        code, message = refused(capsys, "run", "d.npy", "--target", "3")
        assert code == 1
        assert message.startswith("data of type datetime64[s] is refused")


@pytest.mark.usefixtures("here")
class TestNamelessItems:
    """NumPy's files have one name, V1, for nine types."""

    @pytest.fixture(autouse=True)
    def _int4(self, here: Path) -> None:
        np.save(here / "i4.npy", np.arange(6).reshape(2, 3).astype(ml_dtypes.int4))

    def test_moved_where_every_type_is_allowed(self, capsys: Captured) -> None:
        assert said(capsys, "run", "i4.npy", "--target", "-1", "-o", "b.npy").startswith("i4.npy: V1 [2, 3] -> [6]\n")
        assert Path("b.npy").read_bytes()[-6:] == bytes(range(6))

    def test_asked_for_where_some_are(self, capsys: Captured) -> None:
        message = (
            "i4.npy: does not say which type its 1-byte items are, and onnx Reshape-21 does not take all of "
            "float8_e4m3fn, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn, int4, uint4, int2, uint2: "
            "give --dtype  [unreadable]"
        )
        assert refused(capsys, "run", "i4.npy", "--target", "-1", "--spec", "onnx-21") == (2, message)
        out = said(capsys, "run", "i4.npy", "--target", "-1", "--spec", "onnx-21", "--dtype", "i4")
        assert out == "i4.npy: int4 [2, 3] -> [6]\n"

    def test_refused_where_none_is(self, capsys: Captured) -> None:
        code, message = refused(capsys, "run", "i4.npy", "--target", "-1", "--spec", "onnx-13")
        assert code == 1
        assert message.startswith("data of type V1 is refused: it stands for one of float8_e4m3fn, ")

    def test_asked_for_by_onnx(self, here: Path, capsys: Captured) -> None:
        message = "b.pb: an ONNX tensor names its type, and items stored as V1 have none: give --dtype  [unwritable]"
        assert refused(capsys, "run", "i4.npy", "--target", "-1", "-o", "b.pb") == (2, message)
        assert sorted(path.name for path in here.iterdir()) == ["i4.npy", "x.npy"]

    def test_a_type_that_does_not_exist(self, capsys: Captured) -> None:
        code, message = refused(capsys, "run", "i4.npy", "--target", "-1", "--dtype", "itn4")
        assert code == 2
        assert message.startswith("'itn4' is not an element type (did you mean 'int4'?); they are float32, ")


@pytest.mark.usefixtures("here")
class TestNothingIsHarmed:
    @pytest.mark.parametrize("output", ["x.npy", "./x.npy", "link.npy"])
    def test_the_input_is_no_output(self, output: str, here: Path, capsys: Captured) -> None:
        (here / "link.npy").symlink_to(here / "x.npy")
        before = Path("x.npy").read_bytes()
        message = f"{output} is the input itself, which is never changed: name another OUT  [bad-usage]"
        assert refused(capsys, "run", "x.npy", "--target", "-1", "-o", output) == (2, message)
        assert Path("x.npy").read_bytes() == before

    @pytest.mark.parametrize("words", [("--target", "5"), ("--target", "-1", "--spec", "onx"), ("--target", "a")])
    def test_an_existing_output(self, words: tuple[str, ...], here: Path, capsys: Captured) -> None:
        (here / "y.npy").write_bytes(b"before")
        refused(capsys, "run", "x.npy", *words, "-o", "y.npy")
        assert (here / "y.npy").read_bytes() == b"before"
        assert sorted(path.name for path in here.iterdir()) == ["x.npy", "y.npy"]

    def test_an_output_of_no_known_kind(self, here: Path, capsys: Captured) -> None:
        message = "y.txt: is not named as a tensor file; the names end in .npy, .npz, .pb  [unwritable]"
        assert refused(capsys, "run", "x.npy", "--target", "-1", "-o", "y.txt") == (2, message)
        assert [path.name for path in here.iterdir()] == ["x.npy"]

    def test_too_little_memory(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        def exhaust(*_: Any, **__: Any) -> None:
            raise MemoryError

        monkeypatch.setattr(run, "read_tensor", exhaust)
        message = "there is not enough memory for this  [bad-usage]"
        assert refused(capsys, "run", "x.npy", "--target", "-1") == (2, message)

    def test_an_interrupt(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(run, "read_tensor", interrupt)
        assert main(["run", "x.npy", "--target", "-1"]) == 130
        assert capsys.readouterr() == ("", "")


class TestUsage:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (
                (),
                "a command is missing: one of infer, run, check, fix, certify, convert, conform "
                "(see onereshape --help)",
            ),
            (("infre",), "argument COMMAND: invalid choice: 'infre'"),
            (("infer", "--data", "2"), "the following arguments are required: --target (see onereshape infer --help)"),
            (("infer", "--data", "2", "--target"), "argument --target: expected one argument (see onereshape infer"),
            (("infer", "--dat", "2", "--target", "2"), "the following arguments are required: --data"),
            (infer("2", "2", "--fast"), "unrecognized arguments: --fast"),
            (("run", "--target", "2"), "the following arguments are required: IN"),
        ],
    )
    def test_refused(self, words: tuple[str, ...], message: str, capsys: Captured) -> None:
        code, found = refused(capsys, *words)
        assert code == 2
        assert found.startswith(message)
        assert main([*words, "--json"]) == 2
        assert json.loads(capsys.readouterr().out)["error"]["code"] == "bad-usage"

    @pytest.mark.parametrize("command", ["infer", "run"])
    def test_help_has_an_example(self, command: str, capsys: Captured) -> None:
        assert f"$ onereshape {command} " in said(capsys, command, "--help")
        assert f"  {command} " in said(capsys, "--help")

    def test_the_examples_of_infer_are_true(self, capsys: Captured) -> None:
        examples = said(capsys, "infer", "--help").split("  $ onereshape ")[1:]
        assert len(examples) == 2
        for example in examples:
            words, _, answer = example.partition("\n\n")[0].rstrip().partition("\n")
            assert said(capsys, *words.split()).rstrip() == answer.replace("\n  ", "\n").removeprefix("  ")

    def test_the_example_of_run_is_true(self, capsys: Captured, here: Path) -> None:
        assert here.exists()
        _, _, example = said(capsys, "run", "--help").partition("  $ onereshape ")
        words, _, answer = example.partition("\n")
        assert said(capsys, *words.split()) == answer.replace("\n  ", "\n").removeprefix("  ")

    def test_version(self, capsys: Captured) -> None:
        found = said(capsys, "--version")
        versions = r"onereshape 0\.1\.0\nnumpy \S+, ml_dtypes \S+, onnx \S+, Python 3\.\S+\n"
        assert re.fullmatch(
            versions + r"copies: (C\+\+, up to \d+ threads|NumPy's \(no C\+\+ kernels built\))\n", found
        )


def process(*words: str, cwd: Path | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "onereshape", *words]
    return subprocess.run(command, check=False, cwd=cwd, text=True, **{"capture_output": True, **options})  # noqa: S603


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
            (["--timeout", "0"], "--timeout is 0, but it takes seconds, up to 86400"),
            (["--timeout", "nan"], "--timeout is nan, but it takes seconds, up to 86400"),
            (["--timeout", "soon"], "argument --timeout: invalid float value: 'soon'"),
            (["--memory", "much"], "--memory much: write a whole number with a unit, such as 2GB or 512MiB"),
            (["--memory", "1MB"], "--memory is 1 MB, and an engine needs at least 256 MB"),
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


class TestMissingDims:
    """infer with dims that are names, intervals or unknown."""

    @pytest.mark.parametrize(
        ("words", "answer"),
        [
            (["--data", "N,3,?,1..8", "--target", "0,-1,3"], "[N, ?, 3]"),
            (["--data", "x:N,S,768", "--target", "0,0,12,-1"], "[N, S, 12, 64]"),
            (["--data", "[2*N, 1..]", "--target", "-1"], "[?]"),
            (["--data", "(1..2),4", "--target", "-1,2"], "[2..4, 2]"),
            (["--data", "(3,)", "--target", "[...]"], "[...]"),
            (["--data", "...", "--target", "-1,4"], "[?, 4]"),
            (["--data", "2*(past + 1),4", "--target", "-1"], "[8*(past + 1)]"),
            (["--data", "?x3", "--target", "-1..4,3"], "[?, 3]"),
            (["--data", "N", "--target", "4,-1", "--bounds", "N=4..7"], "[4, 1]"),
        ],
    )
    def test_the_first_line(self, words: list[str], answer: str, capsys: Captured) -> None:
        assert said(capsys, "infer", *words).splitlines()[0] == answer

    def test_conditions_and_reasons(self, capsys: Captured) -> None:
        assert said(capsys, "infer", "--data", "N,6", "--target", "4,-1") == (
            "[4, 3*N/2]\n  4      fixed by target[0]\n  3*N/2  inferred: 6*N / 4\n  if N is divisible by 2\n"
        )

    def test_for_machines(self, capsys: Captured) -> None:
        answer = json.loads(said(capsys, "infer", "--data", "N,1..8", "--target", "0,-1", "--json"))

        assert answer == {
            "output": ["N", [1, 8]],
            "spec": "onnx-25",
            "dims": [
                {"dim": "N", "why": "copied from data[0]"},
                {"dim": [1, 8], "why": "inferred: N*data[1] / N"},
            ],
            "conditions": ["N >= 1"],
        }

    @pytest.mark.parametrize(
        ("words", "code", "sentence"),
        [
            (
                ["--data", "N,7", "--target", "4,9"],
                1,
                "no sizes of these dims fit the target: 7*N elements cannot be 36",
            ),
            (["--data", "N,2.5", "--target", "-1"], 2, "data[1] is '2.5', not an integer"),
            (["--data", "8..1", "--target", "-1"], 2, "data[0] is (8, 1), but a dim is a pair (low, high)"),
            (["--data", "N", "--target", "-1", "--bounds", "N"], 2, "'N' does not limit a name: write --bounds N=1..8"),
            (
                ["--data", "N,S", "--target", "-1", "--bounds", "M=1..8"],
                2,
                "bounds limits 'M', which is no name in data",
            ),
            (["--data", "N", "--target", "-1", "--bounds", "N=8..1"], 2, "the bounds of N are (8, 1), not a pair"),
            (["--data", "N", "--target", "-1", "--bounds", "N=1..2", "--bounds", "N=1.."], 2, "--bounds gives N twice"),
            (["--data", "N,,3", "--target", "-1"], 2, "data[1] is '', not an integer"),
        ],
    )
    def test_refused(self, words: list[str], code: int, sentence: str, capsys: Captured) -> None:
        found, message = refused(capsys, "infer", *words)

        assert found == code
        assert message.startswith(sentence)
