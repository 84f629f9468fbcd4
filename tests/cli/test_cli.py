"""The command line: what it answers, what it refuses and how, and its exit codes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from onereshape.cli import main
from tests.commands import Captured, infer, refused, said


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
            "json_version": 1,
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


class TestUsage:
    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ((), "a command is missing (see onereshape --help)"),
            (("infre",), "'infre' is not a command (did you mean infer?) (see onereshape --help)"),
            (("infer", "--data", "2"), "--target is missing (see onereshape infer --help)"),
            (("infer", "--data", "2", "--target"), "--target: its value is missing (see onereshape infer --help)"),
            (("infer", "--dat", "2", "--target", "2"), "infer has no option --dat (did you mean --data?)"),
            (infer("2", "2", "--fast"), "infer has no option --fast"),
            (("run", "--target", "2"), "IN is missing (see onereshape run --help)"),
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
        assert len(examples) == 3
        for example in examples[:-1]:
            words, _, answer = example.partition("\n\n")[0].rstrip().partition("\n")
            assert said(capsys, *words.split()).rstrip() == answer.replace("\n  ", "\n").removeprefix("  ")

    def test_the_example_of_run_is_true(self, capsys: Captured, here: Path) -> None:
        assert here.exists()
        _, _, example = said(capsys, "run", "--help").partition("  $ onereshape ")
        words, _, answer = example.partition("\n\n")[0].partition("\n")
        assert said(capsys, *words.split()) == answer.replace("\n  ", "\n").removeprefix("  ") + "\n"

    def test_version(self, capsys: Captured) -> None:
        found = said(capsys, "--version")
        versions = r"onereshape 0\.1\.0\nnumpy \S+, ml_dtypes \S+, onnx \S+, onnx-ir \S+, Python 3\.\S+\n"
        copies = r"copies: (C\+\+, up to \d+ threads|NumPy's \(no C\+\+ kernels built\))\n"
        engines = r"certificates: onnxruntime\S* \d\S+, openvino \d\S+\n"
        assert re.fullmatch(versions + copies + engines, found)


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
            "json_version": 1,
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
