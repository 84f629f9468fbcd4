"""`onereshape conform`: the case table, real engines that differ in known ways, and planted ones that do worse."""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import onereshape as orx
from onereshape.backends.conformance import openvino_engines
from onereshape.backends.conformance.case_table import CASES, Case, question, says
from onereshape.backends.conformance.engines import ENGINES, Engine
from onereshape.backends.conformance.page import as_markdown
from onereshape.backends.conformance.questions import Answer, EngineQuestion
from onereshape.backends.conformance.reasons import REASONS, reason
from onereshape.backends.conformance.record import read_record, shipped, to_ship, write_record
from onereshape.backends.conformance.report import COUNTS, as_text
from onereshape.backends.conformance.result import Column, Result, rows_of, run
from onereshape.cli import conform

ROOT = Path(__file__).parent.parent.parent
RECORD = (ROOT / "docs" / "conformance.json").read_text(encoding="utf-8")
RECORDED_CASES = json.loads((ROOT / "tests" / "data" / "engine_answers.json").read_text(encoding="utf-8"))

PLANTED = """\
import os, sys, time
import numpy as np
import onereshape

def honest(data, target, allowzero=0):
    print("this is no answer")
    return onereshape.reshape(data, target, "onnx", allowzero=allowzero)

def crashes(data, target, allowzero=0):
    if data.shape == (2, 3):
        os.abort()
    return honest(data, target, allowzero)

def leaves(data, target, allowzero=0):
    if data.shape == (2, 3):
        sys.exit(0)
    return honest(data, target, allowzero)

def hangs(data, target, allowzero=0):
    if data.shape == (2, 3) and allowzero:
        time.sleep(600)
    return honest(data, target, allowzero)

def lies(data, target, allowzero=0):
    return honest(data, target, allowzero)[..., ::-1]

def reads_on(data, target, allowzero=0):
    return np.zeros([abs(dim) for dim in target.tolist()], data.dtype)

def accepts(data, target, allowzero=0):
    return data.reshape(-1)

def openvino(data, target, special_zero):
    return onereshape.reshape(data, target, "openvino", special_zero=special_zero)
"""


def answer(*words: str) -> tuple[str, dict[str, Any], int]:
    parser = argparse.ArgumentParser()
    conform.add_options(parser)
    parser.set_defaults(quiet=False)
    lines, machine, code = conform.answer(parser.parse_args(words))
    return "\n".join(lines), machine, code


def asked(engines: Sequence[str], cases: Sequence[str], *more: str) -> tuple[str, dict[str, Any], int]:
    names = [word for name in engines for word in ("--engine", name)]
    return answer(*names, *(word for name in cases for word in ("--case", name)), *more)


def answers_of(machine: dict[str, Any], engine: str) -> dict[tuple[str, str], str]:
    """What an engine answered, as it is shown."""
    return {
        (row["case"], row["zero"]): str(Answer.from_json(row["answers"][engine]))
        for row in machine["cases"]
        if engine in row["answers"]
    }


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working folder with engines of the user's own."""
    (tmp_path / "planted.py").write_text(PLANTED, encoding="utf-8")
    (tmp_path / "numpy.py").write_text("raise RuntimeError('not what is installed')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


class TestCases:
    def test_names_are_unique(self) -> None:
        assert len({case.name for case in CASES}) == len(CASES)

    def test_the_recorded_cases_are_among_them(self) -> None:
        table = {case.name: (list(case.data), list(case.target)) for case in CASES}
        for recorded in RECORDED_CASES:
            assert table[recorded["id"]] == (recorded["data"], recorded["target"])

    @pytest.mark.parametrize(
        ("case", "zero", "spec", "expected"),
        [
            (Case("", (2, 3, 4), (0, -1)), "copied", "onnx-13", "[2,12]"),
            (Case("", (2, 3, 4), (0, -1)), "literal", "onnx-24", "refused zero-with-inferred"),
            (Case("", (0, 3), (0, -1)), "copied", "openvino", "[0,3]"),
            (Case("", (0, 3), (0, -1)), "copied", "onednn-static", "refused empty-copy-with-inferred"),
            (Case("", (2, 3), (3, 2), shape_type="int32"), "copied", "onednn-dynamic", "[3,2]"),
            (Case("", (2, 3), (3, 2), shape_type="int32"), "copied", "onnx-24", "refused shape-type"),
            (Case("", (2, 3), (6,), shape_rank=0), "literal", "openvino", "refused shape-rank"),
            (Case("", (2, 3), (3, 2), data_type="int32"), "copied", "onnx-1", "refused data-type"),
            (Case("", (2, 3), (3, 2), data_type="string"), "copied", "onnx-24", "[3,2]"),
            (Case("", (2, 3), (3, 2), flag={"allowzero": 2}), "allowzero=2", "onnx-24", "refused bad-attribute"),
            (Case("", (2, 3), (3, 2), flag={}), "no flag", "openvino", "refused missing-attribute"),
        ],
    )
    def test_what_a_specification_says(self, case: Case, zero: str, spec: str, expected: str) -> None:
        put = question(case, zero, spec)
        assert put is not None
        said = says(put)

        assert f"{said} {said.why}".strip() == expected

    @pytest.mark.parametrize(
        ("case", "zero", "spec"),
        [
            (Case("", (2,), (2,)), "literal", "onnx-13"),
            (Case("", (2,), (2,), shape_type="int32"), "copied", "onnx-1"),
            (Case("", (2,), (2,), specs=("onnx-24",)), "copied", "openvino"),
        ],
    )
    def test_what_a_specification_has_no_words_for(self, case: Case, zero: str, spec: str) -> None:
        assert question(case, zero, spec) is None

    def test_questions_survive_json(self) -> None:
        for case in CASES:
            for engine in ENGINES:
                for zero in case.zeros:
                    put = engine.question(case, zero)
                    assert put is None or EngineQuestion.from_json(json.loads(json.dumps(put.to_json()))) == put

    def test_data_that_nobody_can_hold_is_only_inferred(self) -> None:
        names = {engine.name for engine in ENGINES if engine.question(Case("", (2**53 + 1,), (3, -1)), "literal")}
        assert names == {"onnx-inference-24", "openvino-inference", "onednn-compile"}


class TestEngines:
    """Real ones, on the cases in which each is known to differ."""

    CASES = ("neg1", "zero_and_neg1", "neg2", "vol_mismatch_with_0", "empty_0_neg1")
    DIFFERENCES = {
        "onnx-reference-24": "neg2 copied [2,3]; neg2 literal [2,3]",
        "onnxruntime-24": "empty_0_neg1 literal [0,3]",
        "openvino-inference": "vol_mismatch_with_0 copied [2,5]; empty_0_neg1 literal [0,1]",
        "openvino-evaluate": "vol_mismatch_with_0 copied [2,5] with wrong elements; empty_0_neg1 literal [0,1]",
        "numpy": "neg2 literal [2,3]",
    }

    def test_known_differences_are_reported(self) -> None:
        text, machine, code = asked(list(self.DIFFERENCES), self.CASES)

        assert code == 1
        for engine, expected in self.DIFFERENCES.items():
            answers = [(row["case"], row["zero"], row["answers"].get(engine)) for row in machine["cases"]]
            found = [f"{case} {zero} {Answer.from_json(it)}" for case, zero, it in answers if it and not it["agrees"]]
            assert "; ".join(found) == expected, engine
        assert re.search(
            r"^\.\.x!- +vol_mismatch_with_0 +\[2,3\] +\[0,5\] +copied +refused \(volume\)$", text, re.MULTILINE
        )
        assert "    [2,5] with wrong elements: openvino-evaluate\n" in text

    @pytest.mark.parametrize("engine", ["cpu", "cpu_constant", "cpu_static"])
    def test_what_is_moved_is_not_rounded(self, engine: str) -> None:
        """On Arm the plugin of OpenVINO calculates in f16 if nobody objects; that has no 2049."""
        put = EngineQuestion((4100,), (2, -1), "openvino", {"special_zero": True})
        found = getattr(openvino_engines, engine)(put)

        assert found.dims == (2, 2050)
        assert found.elements.tolist() == [*range(4100)]

    def test_an_array_library_sets_no_exit_code(self) -> None:
        text, machine, code = asked(["numpy"], ["neg2"])

        assert code == 0
        assert machine["differs"] is False
        assert machine["engines"][0]["counts"]["differ"] == 1
        assert "x  neg2" in text

    def test_json(self) -> None:
        _, machine, code = asked(["onnxruntime-24"], ["empty_0_neg1"])

        assert code == 1
        json.dumps(machine)
        (engine,) = machine["engines"]
        known = [engine[key] for key in ("name", "package", "state", "spec", "kind")]
        assert known == ["onnxruntime-24", "onnxruntime", "asked", "onnx-24", "engine"]
        assert engine["version"][0].isdigit()
        assert [*engine["counts"]] == list(COUNTS)
        assert [*engine["counts"].values()] == [2, 1, 1, 0, 0, 0, 0]
        copied, literal = machine["cases"]
        assert (copied["data"], copied["target"], copied["zero"]) == ([0, 3], [0, -1], "copied")
        assert copied["specifications"]["openvino"] == {"kind": "dims", "dims": [0, 3]}
        assert copied["specifications"]["onnx-13"] == {"kind": "refused", "why": "empty-copy-with-inferred"}
        assert copied["answers"]["onnxruntime-24"]["agrees"] is True
        assert literal["answers"]["onnxruntime-24"] == {
            "kind": "dims",
            "dims": [0, 3],
            "agrees": False,
            "reason": next(row.words for row in REASONS if row.engines == ("onnxruntime-24",)),
        }

    def test_an_engine_that_is_not_installed(self) -> None:
        engine = Engine("absent", "onnx-24", "a_package_that_is_absent", "a_package_that_is_absent:ask", "absent")
        result = run([engine], CASES[:1])

        assert [column.state for column in result.columns] == ["not installed"]
        assert not result.differs
        assert re.search(r"absent +not installed", as_text(result))
        assert "| absent | absent | onnx-24 | not installed |" in as_markdown(result)

    def test_an_engine_that_is_installed_and_cannot_be_asked(self) -> None:
        engine = Engine("absent", "onnx-24", "json", "json:absent", "absent")
        result = run([engine], CASES[:1])

        assert result.columns[0].state.startswith("broken: ReshapeError: there is no engine 'absent'")
        assert result.differs


@pytest.mark.usefixtures("planted")
class TestPlantedEngines:
    """What an engine may do to the process that it runs in."""

    CASES = ("basic", "same_dims", "neg1", "vol_mismatch")  # the second and the last on data of [2, 3]

    def shown(self, function: str) -> dict[str, str]:
        name = f"planted:{function}"
        text, machine, code = asked([name], self.CASES)
        answers = answers_of(machine, name)

        assert code == 1
        assert "!  " in text or "x  " in text
        assert all(answers[case, "copied"] == answers[case, "literal"] for case in self.CASES)
        return {case: answers[case, "copied"] for case in self.CASES}

    def test_a_crash_is_an_answer_and_the_rest_is_asked(self) -> None:
        crash = "crash (SIGABRT)" if sys.platform != "win32" else "crash (exit code 3)"
        assert self.shown("crashes") == {"basic": "[4,6]", "same_dims": crash, "neg1": "[2,12]", "vol_mismatch": crash}

    def test_leaving_is_a_crash(self) -> None:
        left = "crash (exit code 0)"
        assert self.shown("leaves") == {"basic": "[4,6]", "same_dims": left, "neg1": "[2,12]", "vol_mismatch": left}

    def test_a_hang_is_an_answer_and_the_rest_is_asked(self) -> None:
        _, machine, code = asked(["planted:hangs"], ["basic", "same_dims", "neg1"], "--timeout", "2")
        answers = answers_of(machine, "planted:hangs")

        assert code == 1
        assert [answers[case, "literal"] for case in ("basic", "neg1")] == ["[4,6]", "[2,12]"]
        assert answers["same_dims", "literal"] == "hang (no answer in 2 s)"

    def test_elements_in_another_order(self) -> None:
        assert self.shown("lies") == {
            "basic": "[4,6] with wrong elements",
            "same_dims": "[2,3] with wrong elements",
            "neg1": "[2,12] with wrong elements",
            "vol_mismatch": "refused",
        }

    def test_elements_that_data_does_not_have(self) -> None:
        assert self.shown("reads_on")["vol_mismatch"] == "[7] with wrong elements"

    def test_another_answer(self) -> None:
        assert self.shown("accepts")["vol_mismatch"] == "[6]"

    def test_counts(self) -> None:
        _, machine, _ = asked(["planted:crashes"], self.CASES)
        assert [*machine["engines"][0]["counts"].values()] == [8, 4, 4, 0, 4, 0, 0]

    @pytest.mark.parametrize("name", ["honest", "openvino"])
    def test_onereshape_differs_only_where_numpy_has_no_array(self, name: str) -> None:
        spec = "openvino" if name == "openvino" else "onnx-24"
        _, machine, code = asked([f"planted:{name}"], [], "--spec", spec)
        differing = {
            row["case"] for row in machine["cases"] for given in row["answers"].values() if not given["agrees"]
        }

        assert code == 1
        assert differing == {"ovf_with_zero", "ovf_neg1_empty", "rank_65"}
        assert machine["engines"][0]["counts"]["asked"] >= 150

    def test_exit_code_0(self) -> None:
        text, _, code = asked(["planted:honest"], self.CASES)

        assert code == 0
        assert ".  basic" in text


class TestUsage:
    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (["--engine", "onnxrutnime"], "there is no engine 'onnxrutnime': did you mean onnxruntime"),
            (["--engine", "xyz"], "there is no engine 'xyz': the names are jax, numpy, onednn, onednn-compile, "),
            (["--case", "neg1_nodiv"], "there is no case 'neg1_nodiv': did you mean neg1_nondiv"),
            (["--engine", "numpy", "--spec", "openvino"], "--spec says what a MODULE:FUNCTION is held against"),
            (["--engine", "a:b", "--spec", "openvin"], "'openvin' is not a specification (did you mean 'openvino'?)"),
            (["--engine", "numpy", "--timeout", "0"], "timeout is 0, but it takes seconds, up to 86400"),
            (["--engine", "numpy", "--timeout", "inf"], "timeout is inf, but it takes seconds"),
            (["--markdown", "no/such/page.md"], "no/such/page.md: its folder does not exist"),
            (["--engine", "numpy", "--markdown", "page.txt"], "page.txt does not end in .md"),
            (["--case", "neg1", "--markdown", "page.md"], "--markdown writes the whole table"),
            (
                ["--engine", "no_such_module:ask"],
                "no_such_module:ask cannot be asked: broken: Module",
            ),
            (["--engine", "json:absent"], "json:absent cannot be asked: broken: AttributeError"),
        ],
    )
    def test_refused(self, words: list[str], sentence: str) -> None:
        with pytest.raises(orx.ReshapeError) as refused:
            answer(*words)

        assert refused.value.usage
        assert str(refused.value).startswith(sentence)

    def test_an_engine_that_is_asked_for_and_not_installed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("onereshape.backends.conformance.engines.util.find_spec", lambda _name: None)
        with pytest.raises(orx.ReshapeError, match="torch cannot be asked: not installed here"):
            answer("--engine", "torch")

    def test_a_package_stands_for_its_engines(self) -> None:
        _, machine, _ = asked(["onnxruntime"], ["basic"])
        names = [engine["name"] for engine in machine["engines"]]
        assert names == ["onnxruntime-24", "onnxruntime-24-constant", "onnxruntime-13", "onnxruntime-1"]

    def test_nothing_is_imported_here(self) -> None:
        home = "onereshape.backends.conformance"
        code = f"import sys, {home}.page, {home}.record; print(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
        assert not {"onnx", "onnxruntime", "openvino", "torch", "jax"} & set(done.stdout.split())

    def test_the_help_names_the_engines(self) -> None:
        named = re.split(r",\s+", conform.NOTES.partition("engines: ")[2].strip())
        assert named == [engine.name for engine in ENGINES]


class TestOneDNN:
    """A library that is looked for in the child process; where there is none, what was recorded of it stands for it."""

    ENGINES = ("onednn-compile", "onednn-graph")
    ABORTING = ("rank_13",)  # of all that end its process, one: each costs a new one, which imports torch

    def test_it_answers_as_recorded(self) -> None:
        """The table is put to the library that is here; a release that answers otherwise is to be recorded anew."""
        recorded = shipped()
        left = {name for (name, _), it in recorded["onednn-compile"].verdicts.items() if it.given.kind == "crash"}
        assert left > {*self.ABORTING}
        left |= {"data_float16"}  # which is supported on some CPUs only
        text, machine, code = asked(["onednn"], [case.name for case in CASES if case.name not in left])
        more = asked(["onednn-graph"], self.ABORTING)[1]

        assert code == 1
        assert "(recorded)" not in text
        assert [engine["state"] for engine in machine["engines"]] == ["asked", "asked"]
        assert [bool(re.match(r"3\.\d+\.\d+ \(", engine["version"])) for engine in machine["engines"]] == [True, True]
        for name in self.ENGINES:
            expected = {key: str(it.given) for key, it in recorded[name].verdicts.items() if key[0] not in left}
            assert answers_of(machine, name) == expected, name
            assert len(expected) > 120
        expected = {k: str(it.given) for k, it in recorded["onednn-graph"].verdicts.items() if k[0] in self.ABORTING}
        assert answers_of(more, "onednn-graph") == expected
        assert {*expected.values()} == {"crash (SIGABRT)"}

    def test_where_there_is_none_the_recorded_answers_are_shown(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "torch").mkdir()
        (tmp_path / "torch" / "__init__.py").write_text("", encoding="utf-8")  # a torch without a library
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        text, machine, code = asked(["onednn", "numpy"], ["basic", "rank_13", "neg2"])
        there = shipped()["onednn-graph"]

        assert code == 0  # what was answered elsewhere is no difference here
        assert machine["differs"] is False
        *engines, numpy = machine["engines"]
        assert [engine["state"] for engine in engines] == ["recorded"] * 2
        assert numpy["state"] == "asked"
        assert engines[1]["version"] == there.version
        assert engines[1]["recorded_on"] == there.machine
        assert engines[1]["why"].startswith("no oneDNN is found: libdnnl.so.3: ")
        assert engines[1]["counts"]["crash"] == 2
        assert answers_of(machine, "onednn-graph")["rank_13", "copied"] == "crash (SIGABRT)"
        assert re.search(r"^b  onednn-graph +6 +4 +2 .* onednn-static  \(recorded\)$", text, re.MULTILINE)
        assert f"\nrecorded with onednn {there.version} on {there.machine}: no oneDNN is found: " in text
        assert re.search(r"^!!\.  rank_13 ", text, re.MULTILINE)

    def test_a_page_marks_what_was_recorded(self) -> None:
        columns = [*shipped().values()]
        result = Result(rows_of(CASES), tuple(columns), "another machine")
        page = as_markdown(read_record(write_record(result)))
        words = f"recorded with onednn {columns[0].version} on {columns[0].machine}"

        assert write_record(read_record(write_record(result))) == write_record(result)
        assert f"| the graph API, a StaticReshape compiled and executed (*{words}*) | onednn-static | 142 |" in page
        assert f"### onednn-graph\n\n{words}: the graph API" in page
        assert "Asked here: another machine." in page

    def test_a_library_that_nothing_was_recorded_of(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "torch.py").write_text("", encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        (engine,) = (engine for engine in ENGINES if engine.name == "onednn-graph")
        (column,) = run([engine], CASES[:1]).columns

        assert column.state.startswith("not installed: no oneDNN is found: libdnnl.so.3: ")
        assert not column.differs

    def test_what_is_shipped_is_of_the_page(self) -> None:
        from docs.write_recorded import recorded

        page = read_record(RECORD)
        assert recorded() == to_ship(page)
        assert {name: column.verdicts for name, column in shipped().items()} == {
            column.engine.name: column.verdicts for column in page.asked if column.engine.shipped
        }
        assert [*shipped()] == [*self.ENGINES]


class TestPage:
    """docs/conformance.md is what the code writes from the answers beside it, whatever is installed here."""

    def test_the_record_is_of_this_table(self) -> None:
        recorded = [(row["case"], row["zero"]) for row in json.loads(RECORD)["rows"]]
        assert recorded == [row.key for row in rows_of(CASES)]

    def test_the_page_is_written_from_the_record(self) -> None:
        assert (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8") == as_markdown(read_record(RECORD))

    def test_the_record_survives(self) -> None:
        assert write_record(read_record(RECORD)) == RECORD

    def test_every_engine_was_asked(self) -> None:
        assert [column.engine for column in read_record(RECORD).asked] == list(ENGINES)

    def test_every_difference_has_a_reason_and_every_reason_a_difference(self) -> None:
        result = read_record(RECORD)
        cases = {case.name: case for case in CASES}
        used = set()
        for column in result.asked:
            for (name, zero), verdict in column.verdicts.items():
                if not verdict.agrees:
                    words = reason(column.engine, cases[name], verdict.expected)
                    assert words, (column.engine.name, name, zero)
                    used.add(words)

        assert used == {row.words for row in REASONS}

    def test_it_is_written_beside_its_answers(self, tmp_path: Path) -> None:
        page = tmp_path / "page.md"
        text, _, _ = answer("--engine", "numpy", "--markdown", str(page))

        assert text.endswith(f"written to {page} and {tmp_path / 'page.json'}")
        assert page.read_text(encoding="utf-8") == as_markdown(_only("numpy", page), "page.json")


def _only(name: str, page: Path) -> Result:
    """What was recorded of one engine, without those that were not asked for."""
    result = read_record(page.with_suffix(".json").read_text(encoding="utf-8"))
    columns: list[Column] = [column for column in result.columns if column.engine.name == name]
    return Result(result.rows, tuple(columns), result.machine)
