"""The forms of findings: text, JSON, GitHub's annotations and SARIF; and the command that prints them."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import onereshape as orx
from onereshape.checks.findings.finding import CODES, Finding
from onereshape.checks.findings.formats import Report, as_github, as_json, as_sarif, as_text
from onereshape.cli import main
from onereshape.ground.errors import FormatError
from tests.checking import MODELS, written

Captured = pytest.CaptureFixture[str]

FREED = "next: onereshape fix m.onnx -o m-dynamic.onnx --batch"
SIMPLER = "next: onereshape fix m.onnx -o m-simpler.onnx --simplify"
SHOWN = "next: onereshape show m.onnx --node n"
LINES = {
    "baked-dim": f"s77 is forced to 1 by n: shape[0] = 1 (initializer t; fix can repair it; {FREED})",
    "absorbed-dim": "N is swallowed by n: target[1] = -1 becomes 512*N, while target[0] = 1 stands where N should be "
    f"(initializer t; fix can repair it; {FREED})",
    "impossible-volume": "data [2, 3] and target [4, -1]: target[1] cannot be inferred: 6 elements do not divide by 4 "
    f"(remainder 2) (initializer t; {SHOWN})",
    "spec-error": "data [2, 3] and target [-1, -1]: target[1] is a second -1, after target[0] "
    f"(initializer t; {SHOWN})",
    "size-condition": "n runs only where batch*h*w is divisible by 50176: not at batch = 1, h = 1, w = 1; at "
    "batch = 1, h = 224, w = 448 it runs and turns [1, 3, 224, 448] into [2, 3, 50176], which mixes what "
    f"data keeps apart (initializer t; {SHOWN})",
    "declared-mismatch": "the output y is declared [7], but Reshape gives [6]: dim 0 is 6, not 7 "
    f"(declared as a graph output; {SHOWN})",
    "fixed-batch": f"the batch is fixed to 1 at x:0, z:0 (fix may repair it; {FREED})",
    "cannot-free": f"n (Softmax) mixes the samples: its sum runs along axis 0, which is N ({FREED} --per-sample)",
    "own-scale": "n0 takes one scale from all samples; each of N gets its own, as alone, in 17 nodes "
    f"(computed by DynamicQuantizeLinear n0; fix can repair it; {FREED})",
    "foldable-target": "the target is computed at run time as [N, 2, -1], which always means the same as the constant "
    f"[0, 2, -1] (computed by Concat n2; fix can repair it; {SIMPLER})",
    "redundant-allowzero": "allowzero=1 says nothing here, since the target [-1, 3] has no 0, and keeps engines from "
    f"fusing it (initializer t; fix can repair it; {SIMPLER})",
    "identity": f"the output always has the dims of data, [N, 6] (initializer t; fix can repair it; {SIMPLER})",
    "chain": "its data come from another Reshape, n0; one with [-1, 3] does both "
    f"(initializer u; fix can repair it; {SIMPLER})",
    "gave-up": "it would hold more than the 4096 elements that are followed; it is taken as unknown, and nothing is "
    "said of what depends on it (next: onereshape show m.onnx)",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(code: str) -> Report:
    """Of a model in the folder to work in."""
    path = written(MODELS[code], Path())
    return Report("m.onnx", tuple(orx.check(path, batch=True if code in {"cannot-free", "own-scale"} else None)))


def finding(**changed: Any) -> Finding:
    given: dict[str, Any] = {
        "code": "baked-dim",
        "severity": "error",
        "node": "n",
        "place": "graph/Reshape#0",
        "op": "Reshape",
    }
    more: dict[str, Any] = {"tensor": "t", "origin": "initializer t", "message": "N is 1", "fixable": False}
    return Finding(**(given | more | changed))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("code", MODELS)
def test_each_finding_is_one_line(code: str) -> None:
    node = {"identity": "n0", "gave-up": "n0", "own-scale": "n0", "fixed-batch": "x"}.get(code, "n")
    total = f"1 {CODES[code].severity} in m.onnx"

    assert as_text([report(code)]) == f"m.onnx: {node}: {code}: {LINES[code]}\n{total}"


def test_the_last_line_counts() -> None:
    found = (finding(), finding(severity="note"), finding(severity="note"))
    broken = Report("c.onnx", error=FormatError("unreadable", path="c.onnx", why="is empty"))

    assert as_text([Report("a.onnx")]) == "no findings in a.onnx"
    assert as_text([Report("a.onnx", found)]).splitlines()[-1] == "1 error, 2 notes in a.onnx"
    assert as_text([Report("a.onnx", found), Report("b.onnx", found)]).endswith("2 errors, 4 notes in 2 models")
    assert as_text([Report("b.onnx"), broken]).splitlines() == [
        "c.onnx: cannot be checked: is empty",
        "no findings in b.onnx; 1 model could not be checked",
    ]


def test_what_several_findings_share_is_said_once() -> None:
    free, simplify = "onereshape fix a.onnx -o b.onnx --batch", "onereshape fix a.onnx -o c.onnx --simplify"
    found = [finding(severity="note", next=simplify) for _ in range(3)]
    found[1:1] = [finding(next=free), finding(next="onereshape show a.onnx"), finding(severity="warning", next=free)]

    assert as_text([Report("a.onnx", tuple(found))]).splitlines() == [
        "a.onnx: n: baked-dim: N is 1 (initializer t)",
        "a.onnx: n: baked-dim: N is 1 (initializer t)",
        "a.onnx: n: baked-dim: N is 1 (initializer t; next: onereshape show a.onnx)",
        *["a.onnx: n: baked-dim: N is 1 (initializer t)"] * 3,
        f"a.onnx: next, for 1 error, 1 warning: {free}",
        f"a.onnx: next, for 3 notes: {simplify}",
        "2 errors, 1 warning, 3 notes in a.onnx",
    ]


def test_many_findings_of_one_cause_are_one_line() -> None:
    def of(node: str, dims: str, **changed: Any) -> Finding:
        return finding(node=node, message=f"N is 1 by {node}: shape[0] = 1 of {dims}", fixable=True, **changed)

    found = [of(f"n{place}", f"[1, {place}]") for place in range(5)]
    found.insert(1, finding(node="n9", message="N is 1 by n9: shape[1] = 1 of [1, 2]", fixable=True))
    found.insert(3, of("n8", "[1, 8]", severity="warning"))
    lines = as_text([Report("a.onnx", tuple(found))]).splitlines()

    assert lines == [
        "a.onnx: n0, n1, n2 and 2 more: baked-dim: N is 1 by n0: shape[0] = 1 of [1, 0] "
        "(5 of this kind, each shown by --all; fix can repair them)",
        "a.onnx: n9: baked-dim: N is 1 by n9: shape[1] = 1 of [1, 2] (initializer t; fix can repair it)",
        "a.onnx: n8: baked-dim: N is 1 by n8: shape[0] = 1 of [1, 8] (initializer t; fix can repair it)",
        "6 errors, 1 warning in a.onnx",
    ]
    assert len(as_text([Report("a.onnx", tuple(found))], every=True).splitlines()) == 8
    assert len(as_text([Report("a.onnx", tuple(found[:1] + found[2:5]))]).splitlines()) == 5


def test_github_says_what_is_next() -> None:
    (line,) = as_github([Report("m.onnx", (finding(fixable=True, next="onereshape fix m.onnx"),))]).splitlines()

    assert line.endswith("::N is 1 (initializer t; fix can repair it; next: onereshape fix m.onnx)")


def test_a_name_with_a_line_break_stays_on_its_line() -> None:
    text = as_text([Report("a\n.onnx", (finding(node="n\x1b[2J\r", message="x\u2028y"),))])

    assert text.splitlines() == [r"a\n.onnx: n\x1b[2J\r: baked-dim: x\u2028y (initializer t)", r"1 error in a\n.onnx"]


@pytest.mark.usefixtures("here")
def test_json() -> None:
    broken = Report("c.onnx", error=FormatError("unreadable", path="c.onnx", why="is empty"))
    found = report("baked-dim")
    machine = json.loads(json.dumps(as_json([found, broken])))

    assert machine["counts"] == {"error": 1, "warning": 0, "note": 0}
    assert [each["path"] for each in machine["models"]] == ["m.onnx", "c.onnx"]
    assert machine["models"][0] == {"path": "m.onnx", "error": None, "findings": [found.findings[0].to_json()]}
    assert machine["models"][1]["error"]["code"] == "unreadable"


def test_github() -> None:
    odd = finding(node="a:b,c", message="100%\nof\r2", origin=None, severity="note", code="identity")
    broken = Report("c.onnx", error=FormatError("unreadable", path="c.onnx", why="is empty"))
    text = as_github([Report("dir,1/m:2%.onnx", (finding(severity="warning"), odd)), broken])

    assert text.splitlines() == [
        "::warning file=dir%2C1/m%3A2%25.onnx,title=baked-dim%3A n::N is 1 (initializer t)",
        "::notice file=dir%2C1/m%3A2%25.onnx,title=identity%3A a%3Ab%2Cc::100%25\\nof\\r2",
        "::error file=c.onnx,title=unreadable::is empty",
    ]


def check_sarif(log: dict[str, Any]) -> dict[str, Any]:
    """What the schema of SARIF 2.1.0 requires of the objects that we write; returns the run."""
    assert set(log) == {"$schema", "version", "runs"}
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    assert set(run) <= {"tool", "invocations", "results"}
    driver = run["tool"]["driver"]
    assert set(run["tool"]) == {"driver"}
    assert set(driver) <= {"name", "version", "rules"}
    assert driver["name"] == "onereshape"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(set(ids)) == len(ids)
    for rule in driver["rules"]:
        assert set(rule) == {"id", "shortDescription", "help", "defaultConfiguration"}
        assert isinstance(rule["help"]["text"], str)
        assert isinstance(rule["shortDescription"]["text"], str)
        assert rule["defaultConfiguration"]["level"] in {"error", "warning", "note"}
    for invocation in run["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
        for notification in invocation["toolExecutionNotifications"]:
            assert isinstance(notification["message"]["text"], str)
            assert notification["level"] == "error"
    for result in run["results"]:
        assert set(result) <= {"ruleId", "ruleIndex", "level", "message", "locations", "properties"}
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning", "note"}
        assert isinstance(result["message"]["text"], str)
        for location in result["locations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9._~/%:@!$&'()*+,;=-]+", uri), "a URI reference"
            (logical,) = location["logicalLocations"]
            assert set(logical) <= {"fullyQualifiedName", "decoratedName", "name", "kind", "index", "parentIndex"}
    return run  # type: ignore[no-any-return]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("code", MODELS)
def test_sarif_of_each_finding(code: str) -> None:
    found = report(code)
    run = check_sarif(json.loads(as_sarif([found], orx.__version__)))
    (result,) = run["results"]
    (expected,) = found.findings

    assert run["tool"]["driver"]["version"] == orx.__version__
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == list(CODES)
    assert result == {
        "ruleId": code,
        "ruleIndex": list(CODES).index(code),
        "level": CODES[code].severity,
        "message": {"text": f"{expected.message}. Next: {expected.next}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": "m.onnx"}},
                "logicalLocations": [{"fullyQualifiedName": expected.node, "decoratedName": expected.place}],
            }
        ],
        "properties": {
            "operator": expected.op,
            "tensor": expected.tensor,
            "origin": expected.origin,
            "fixable": expected.fixable,
            "next": expected.next,
        },
    }


def test_sarif_of_a_file_that_cannot_be_read() -> None:
    broken = Report("c.onnx", error=FormatError("unreadable", path="c.onnx", why="is empty"))
    (invocation,) = check_sarif(json.loads(as_sarif([broken], "1")))["invocations"]

    assert invocation["executionSuccessful"] is False
    assert [each["message"]["text"] for each in invocation["toolExecutionNotifications"]] == ["is empty"]


def test_sarif_paths(here: Path) -> None:
    paths = ["a b/ü#1.onnx", str(here / "in" / "m.onnx"), "/elsewhere/m 1.onnx", "c:d.onnx"]
    run = check_sarif(json.loads(as_sarif([Report(path, (finding(),)) for path in paths], "1")))
    uris = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]]

    assert uris == ["a%20b/%C3%BC%231.onnx", "in/m.onnx", "file:///elsewhere/m%201.onnx", "c%3Ad.onnx"]


def test_a_code_without_a_rule_is_written_too() -> None:
    (result,) = json.loads(as_sarif([Report("m.onnx", (finding(code="other"),))], "1"))["runs"][0]["results"]

    assert result["ruleId"] == "other"
    assert "ruleIndex" not in result


class TestCommand:
    def run(self, capsys: Captured, *words: str) -> tuple[int, str, str]:
        code = main(["check", *words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    def test_exit_codes(self, here: Path, capsys: Captured) -> None:
        written(MODELS["identity"], here, "note.onnx")
        written(MODELS["baked-dim"], here, "error.onnx")
        written("g (float[N] x) => (float[1] y) { y = Relu(x) }", here, "warning.onnx")

        assert self.run(capsys, "note.onnx")[0] == 0
        assert self.run(capsys, "note.onnx", "--strict")[0] == 0
        assert self.run(capsys, "warning.onnx")[0] == 0
        assert self.run(capsys, "warning.onnx", "--strict")[0] == 1
        assert self.run(capsys, "warning.onnx", "error.onnx")[0] == 1
        assert self.run(capsys, "error.onnx", "no.onnx", "note.onnx")[0] == 2

    def test_what_can_be_checked_is(self, here: Path, capsys: Captured) -> None:
        written(MODELS["baked-dim"], here, "m.onnx")
        code, out, err = self.run(capsys, "no.onnx", "m.onnx")

        assert (code, err) == (2, "")
        assert out.splitlines() == [
            "no.onnx: cannot be checked: No such file or directory",
            f"m.onnx: n: baked-dim: {LINES['baked-dim']}",
            "1 error in m.onnx; 1 model could not be checked",
        ]

    @pytest.mark.usefixtures("here")
    def test_one_file_that_cannot_be_read(self, capsys: Captured) -> None:
        assert self.run(capsys, "no.onnx") == (2, "", "onereshape: no.onnx: No such file or directory  [unreadable]\n")

        code, out, err = self.run(capsys, "no.onnx", "--format", "json")
        assert (code, err, json.loads(out)["error"]["code"]) == (2, "", "unreadable")

    @pytest.mark.usefixtures("here")
    def test_formats(self, capsys: Captured) -> None:
        path = written(MODELS["baked-dim"], Path())
        reports = [Report("m.onnx", tuple(orx.check(path)))]

        assert self.run(capsys, "m.onnx")[1] == as_text(reports) + "\n"
        assert self.run(capsys, "m.onnx", "--format", "github")[1] == as_github(reports) + "\n"
        assert self.run(capsys, "m.onnx", "--format=sarif")[1] == as_sarif(reports, orx.__version__) + "\n"
        assert json.loads(self.run(capsys, "m.onnx", "--format", "json")[1]) == {"json_version": 1, **as_json(reports)}
        assert json.loads(self.run(capsys, "--json", "m.onnx")[1]) == {"json_version": 1, **as_json(reports)}

    @pytest.mark.parametrize(
        "words",
        [
            ["m.onnx", "--batch"],
            ["--batch", "m.onnx"],
            ["m.onnx", "--batch", "x:0"],
            ["--batch", "x:-2", "m.onnx"],
            ["--batch", "--json", "m.onnx"],
        ],
    )
    def test_a_batch(self, words: list[str], here: Path, capsys: Captured) -> None:
        written("g (float[1, 6] x) => (float[?, ?] y) <int64[3] t = {1, 3, 2}> { y = Reshape(x, t) }", here)
        code, out, _ = self.run(capsys, *words)

        assert code == 1
        assert "N is forced to 1 by n" in out

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            ([], "a model is missing: onereshape check MODEL (see onereshape check --help)"),
            (["--batch"], "a model is missing: onereshape check MODEL (see onereshape check --help)"),
            (["m.onnx", "--batch", "x:0=N"], "'x:0=N' gives the batch a name: write --batch x:0, or --free x:0=N"),
            (["m.onnx", "--batch", "x:0", "x:1"], "--batch gives x two axes, 0 and 1"),
            (["m.onnx", "--batch", "x:first"], "the model has no input 'x:first'; its inputs are x"),
            (["m.onnx", "--free", "x:0"], "'x:0' gives the dim no name: write --free x:0=NAME"),
            (["m.onnx", "--free", "x:0="], "'x:0=' gives the dim no name: write --free x:0=NAME"),
            (["--free", "m.onnx"], "--free is followed by no INPUT:AXIS=NAME"),
            (["m.onnx", "--free", "x:0=N", "x:0=M"], "--free gives x:0 two names, N and M"),
            (["m.onnx", "--batch", "xs:0"], "the model has no input 'xs' (did you mean 'x'?); its inputs are x"),
            (["m.onnx", "--batch", "x:4"], "the input x has 4 dims, so it has no axis 4"),
        ],
    )
    def test_what_cannot_be_asked(self, words: list[str], message: str, here: Path, capsys: Captured) -> None:
        written(MODELS["baked-dim"], here)
        code, out, err = self.run(capsys, *words)

        assert (code, out) == (2, "")
        assert err.startswith(f"onereshape: {message}")

    @pytest.mark.parametrize(
        ("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
    )
    def test_colours_on_a_terminal(self, setting: dict[str, str], coloured: bool, here: Path) -> None:
        written(MODELS["baked-dim"], here)
        kept = {
            name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "FORCE_COLOR", "COLORTERM"}
        }
        master, slave = pty.openpty()
        command = [sys.executable, "-m", "onereshape", "check", "m.onnx"]
        subprocess.run(command, stdout=slave, check=False, env=kept | {"TERM": "xterm"} | setting)  # noqa: S603
        os.close(slave)
        printed = os.read(master, 10_000).decode()
        os.close(master)

        assert ("\x1b[" in printed) is coloured
        assert re.sub(r"\x1b\[[\d;]*m", "", printed).startswith("m.onnx: n: baked-dim: s77 is forced to 1")

    def test_no_colours_in_a_pipe(self, here: Path) -> None:
        written(MODELS["baked-dim"], here)
        command = [sys.executable, "-m", "onereshape", "check", "m.onnx"]
        run = subprocess.run(command, capture_output=True, check=False, text=True)  # noqa: S603

        assert (run.returncode, run.stderr) == (1, "")
        assert "\x1b" not in run.stdout
