"""`check` promises no repair that `fix` denies: what it prints is typed, and does what was said."""

from __future__ import annotations

import random
import shlex
import shutil
from pathlib import Path
from typing import Any

import onnx_ir as ir
import pytest

from onereshape.checks.check import check
from onereshape.checks.findings.finding import Finding
from onereshape.cli import main
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.repair.fix import fix
from tests.budget import part
from tests.checking import MODELS, written
from tests.laws import conditions_world
from tests.shaped_models import read

DATA = Path(__file__).parent.parent / "data"
SHIPPED = sorted(path for folder in ("idioms", "corpus", "sizes") for path in (DATA / folder).glob("*.onnx"))
SOME = random.Random(0).sample(SHIPPED, 12)  # noqa: S311 - models, not secrets

Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def kept(findings: list[Finding]) -> None:
    """Types what is printed where a repair is promised, and sees that nothing of it is left."""
    for command in dict.fromkeys(each.next for each in findings if each.fixable):
        words = shlex.split(command or "")
        assert words[:2] == ["onereshape", "fix"]
        assert main(words[1:]) == 0, command
        mended = {(each.code, each.node, each.message) for each in findings if each.next == command and each.fixable}
        left = {(each.code, each.node, each.message) for each in check(words[words.index("-o") + 1])}
        assert not mended & left


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name)
def test_promises_of_exports_are_kept(path: Path) -> None:
    shutil.copy(path, path.name)
    kept(check(path.name))
    kept(check(path.name, batch=True))


@pytest.mark.parametrize("code", MODELS)
def test_promises_of_each_finding_are_kept(code: str) -> None:
    kept(check(written(MODELS[code], Path())))


NAMED = [
    "g (float[N, 15, 4] x) => (float[] y) <int64[3] t = {1, 60, 1}> { y = Reshape(x, t) }",
    "g (float[N, 15, 4] x, float[N, 2] z) => (float[] y, float[] w) <int64[3] t = {1, 60, 1}, int64[2] u = {1, -1}> {"
    " y = Reshape(x, t) w = Reshape(z, u) }",
    "g (float[2, S, 4] x) => (float[] y) <int64[2] t = {2, 4}> { y = Reshape(x, t) }",
    "g (float[?, 15, 4] x) => (float[] y) <int64[2] t = {1, 60}> { y = Reshape(x, t) }",
]


@pytest.mark.parametrize("text", NAMED)
def test_promises_of_named_dims_are_kept(text: str) -> None:
    found = check(written(text, Path()))
    kept(found)

    assert any(each.fixable for each in found)


def test_promises_of_random_models_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(conditions_world.EXPORTED, "N", 1)
    promised = 0
    for seed in part(range(250), 2):
        Path("m.onnx").write_bytes(conditions_world.case(seed).proto.SerializeToString())
        found = [each for each in check("m.onnx") if "--simplify" not in (each.next or "")]
        promised += sum(each.fixable is True for each in found)
        kept(found)

    assert promised >= 4


REFUSED = [DATA / "corpus" / "neg_minibatch_std.ts.onnx", DATA / "idioms" / "reversed_samples.dynamo.1.onnx"]


@pytest.mark.parametrize("path", REFUSED, ids=lambda path: path.name)
def test_what_cannot_be_freed_is_refused_with_the_same_reason(path: Path) -> None:
    (found,) = (each for each in check(path, batch=True) if each.code == "cannot-free")
    with pytest.raises(FixError) as caught:
        fix(path, batch=True)

    assert found.fixable is False
    assert caught.value.sentence == found.message


def test_a_model_that_mixes_its_samples_is_run_by_samples(capsys: Captured) -> None:
    shutil.copy(REFUSED[0], "m.onnx")
    (found,) = (each for each in check("m.onnx", batch=True) if each.code == "cannot-free")

    assert found.next == "onereshape fix m.onnx -o m-dynamic.onnx --batch --per-sample"
    assert main(shlex.split(found.next)[1:]) == 0
    assert "m-dynamic.onnx" in capsys.readouterr().out


def test_dims_that_are_asked_for_together() -> None:
    """One command frees all, or nothing: a dim that cannot be freed takes the promise back for the others."""
    text = """g (float[1, 6] x, float[2, 5, 4] z) => (float[] y, float[] w) <int64[2] t = {10, 4}> {
        w = Reshape(z, t) y = Softmax <axis = 0> (x) }"""
    path = written(text, Path())
    asked: dict[str, Any] = {"batch": {"x": 0}, "free": {"z": {1: "S"}}}
    found = check(path, **asked)

    assert [(each.code, each.fixable) for each in found] == [("baked-dim", False), ("cannot-free", False)]
    with pytest.raises(ReshapeError):
        fix(path, **asked, unwitnessed=True)
    assert [each.fixable for each in check(path, free=asked["free"])] == [True]


FIXED = {
    "float[1, 3, 8, 8] x": "the batch is fixed to 1 at x:0",
    "float[1, 8] x, int64[1, 8] mask": "the batch is fixed to 1 at x:0, mask:0",
    "float[1, 8] x, float[2, 1, 4] state": "the batch is fixed to 1 at x:0",
    "float[1, 8] x, float[1, 8] x1, float[1, 8] x2, float[1, 8] x3, float[1] x4, float[1, 8] x5": (
        "the batch is fixed to 1 at x:0, x1:0, x2:0, x3:0 and 2 more"
    ),
    "float[224, 224, 3] x": None,
    "float[16, 8] x": None,
    "float[1] x": None,
    "float x": None,
    "float[1, S] x": None,
    "float[N, 8] x": None,
    "float[1, 8] x, float[1, S] z": None,
}


@pytest.mark.parametrize("inputs", FIXED)
def test_a_batch_that_is_fixed_is_said_once(inputs: str) -> None:
    found = check(written(f"g ({inputs}) => (float[] y) {{ s = Relu(x) y = Relu(s) }}", Path()))
    said = [each for each in found if each.code == "fixed-batch"]

    assert [each.message for each in said] == ([] if FIXED[inputs] is None else [FIXED[inputs]])
    assert {each.severity for each in said} <= {"note"}


def test_a_batch_that_is_fixed_changes_no_exit_code(capsys: Captured) -> None:
    path = written(MODELS["fixed-batch"], Path())

    assert main(["check", path, "--strict"]) == 0
    assert "next: onereshape fix m.onnx -o m-dynamic.onnx --batch" in capsys.readouterr().out
    (said,) = check(path, batch=True)
    assert (said.code, said.severity, said.fixable) == ("fixed-batch", "note", True)


def test_a_model_with_errors_has_other_worries() -> None:
    """A Reshape that nothing satisfies comes first."""
    text = "g (float[1, 6] x) => (float[] y) <int64[1] t = {5}> { y = Reshape(x, t) }"

    assert "fixed-batch" not in [each.code for each in check(written(text, Path()))]


@pytest.mark.parametrize("length", ["z_dynamic_axes_1", "S", "5"])
def test_an_output_that_gets_an_axis_for_the_batch_stops_nothing(length: str, tmp_path: Path) -> None:
    """N would be inside of the length: `fix` puts it in front, in an axis of its own."""
    nodes = "u = Transpose<perm = [1, 0]>(x) y = Reshape(u, s)"
    ir.save(read(f"g (float[1, {length}] x) => (float[n] y) <int64[1] s = {{-1}}> {{ {nodes} }}"), tmp_path / "m.onnx")

    assert [each.code for each in check(tmp_path / "m.onnx", batch=True)] == ["fixed-batch"]
    assert [*fix(tmp_path / "m.onnx", batch=True).freed] == ["x"]
