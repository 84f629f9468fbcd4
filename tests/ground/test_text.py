"""The one door for text from files."""

from __future__ import annotations

import ast
import json
import re
import unicodedata
from dataclasses import replace
from typing import Any

import pytest

import onereshape
from onereshape import cli
from onereshape.backends.conformance.page import as_markdown
from onereshape.backends.conformance.questions import Answer
from onereshape.backends.conformance.record import read_record
from onereshape.backends.conformance.report import as_text
from onereshape.cli.commands import module_of
from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import exact_json, listed, page, printable, shown
from tests.laws.texts_world import CONTROLS, LETTERS, ROOT, UNSEEN, VICIOUS, Captured, each_name, ours
from tests.sources import tree


class TestTheDoor:
    @each_name
    def test_one_line_once(self, name: str) -> None:
        found = printable(name)
        assert "\n" not in ours(found)
        assert printable(found) == found
        assert json.loads(exact_json([name, {name: name}])) == [name, {name: name}]
        ours(exact_json([name]))

    def test_names_that_stay(self) -> None:
        for name in (LETTERS, "a b", "layer.3/attn/Reshape_12", "C:\\x", "x::y", "a:b", "#1", "# [x]", "", "é", "a%0A"):
            assert printable(name) == shown(name) == page(name) == name

    def test_every_sign(self) -> None:
        """Letters stay, and what is not seen becomes an escape that says which sign it was."""
        unseen = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        for start in range(0, 0x110000, 0x100):
            signs = [chr(code) for code in range(start, start + 0x100)]
            hidden = "".join(sign for sign in signs if unicodedata.category(sign) in unseen)
            letters = "".join(sign for sign in signs if sign.isalnum() and sign not in UNSEEN)
            escaped = printable(hidden)
            assert escaped.isascii()
            assert ast.literal_eval(f"'{escaped}'") == hidden
            assert printable(letters) in {letters, letters.replace("\u1160", "\\u1160")}

    def test_lone_surrogates(self) -> None:
        assert printable("a\udcff\ud800") == "a\\udcff\\ud800"
        assert json.loads(exact_json("a\udcff\ud800")) == "a\udcff\ud800"

    def test_errors_are_one_line_each(self) -> None:
        for name in VICIOUS.values():
            error = ReshapeError("indivisible", data=(name, 2), target=(name, -1), axis=1, spec=onereshape.spec("onnx"),
                                 volume=3, counted=name, divisor=name, remainder=1)  # fmt: skip
            lines = ours(str(error)).split("\n")
            assert [line[:8].strip() for line in lines[1:]] == ["data", "target", "", "rule"]
            assert lines[3].index("^") == lines[2].index("-1]")
            assert name in error.sentence == error.to_json()["message"]
            typed = ReshapeError("data-type", spec=name, type=name, allowed=name, types=name)  # type: ignore[arg-type]
            assert ours(str(typed)).count("\n") == 1

    def test_lists(self) -> None:
        assert listed([]) == ""
        assert listed(map(str, range(40))).endswith(", 31 and 8 more")

    def test_a_traceback_too(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        def answer(_: Any) -> Any:
            raise KeyError(1) from RuntimeError(VICIOUS["GitHub, on a line of its own"] + CONTROLS)

        monkeypatch.setenv("ONERESHAPE_TRACEBACK", "1")
        monkeypatch.setattr(module_of("infer"), "answer", answer)
        cli.main(["infer", "--data", "1", "--target", "1"])
        ours(capsys.readouterr().err.replace("Traceback", ""))


PRINTED = {"print", "stdout.write", "stderr.write", "stdout.buffer.write", "stderr.buffer.write", "warnings.warn"}
PRINTING = {
    "cli/__init__.py": {"print"},  # for all commands
    "cli/conform.py": {"stderr.write"},  # a line of progress
    "cli/run_stores.py": {"print"},  # words of ours alone
}


def test_nobody_else_prints() -> None:
    for path in ROOT.rglob("*.py"):
        calls = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
        names = {ast.unparse(call).removeprefix("sys.") for call in calls}
        assert names & PRINTED == PRINTING.get(path.relative_to(ROOT).as_posix(), set()), path


class TestPage:
    def test_what_engines_say_is_no_markdown(self) -> None:
        recorded = (ROOT.parent.parent / "docs" / "conformance.json").read_text(encoding="utf-8")
        result = read_record(recorded)
        lines = as_markdown(result).count("\n")
        key, verdict = next((key, one) for key, one in result.asked[0].verdicts.items() if one.agrees)
        for name in VICIOUS.values():
            result.asked[0].verdicts[key] = verdict._replace(given=Answer("crash", why=name))
            ours(text := as_markdown(result).replace("# ", ""))
            assert text.count("\n") - lines in range(20)
            (row,) = [line for line in text.split("\n") if f"`{key[0]}`" in line and "| crash (" in line]
            assert len(re.findall(r"(?<!\\)\|", row)) == 7
            assert "<script" not in text
            assert not re.search(r"(?<!\\)\]\(http", text)

    def test_why_an_engine_cannot_be_asked(self) -> None:
        result = read_record((ROOT.parent.parent / "docs" / "conformance.json").read_text(encoding="utf-8"))
        first, *others = result.columns
        for name in VICIOUS.values():
            table = as_text(replace(result, columns=(replace(first, state=f"broken: {name}"), *others)))
            plain = as_text(replace(result, columns=(replace(first, state="broken: x"), *others)))
            assert ours(table).count("\n") == plain.count("\n")
