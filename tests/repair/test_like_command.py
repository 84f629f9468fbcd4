"""Fitting from the command line and from Python, and two steps in one command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onereshape as orx
from tests.commands import Captured, ran
from tests.models import model
from tests.repair.like_files import export, exported
from tests.running import session


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return exported(tmp_path)


def test_a_model_is_fitted_and_written(here: Path, capsys: Captured) -> None:
    code, said, _ = ran(capsys, "fix", "a.onnx", "-o", "o.onnx", "--like", "c.onnx", "--free", "x:1=S")
    machine = json.loads(ran(capsys, "fix", "a.onnx", "-o", "o.onnx", "--like", "c.onnx", "--json")[1])

    assert code == 0
    assert said.splitlines()[-2].startswith("fitted: fitted on S = 4, 6, and agrees there; ")
    assert machine["certificate"]["status"] == "fitted"
    assert machine["certificate"]["fitted"] == [{"x_1": 4}, {"x_1": 6}]
    assert (here / "o.onnx").exists()


def test_several_exports_and_several_witnesses(here: Path, capsys: Captured) -> None:
    export(here, "e.onnx", 11)
    words = ("--like", "c.onnx", "--like", "d.onnx", "--witness", "e.onnx", "--witness", export(here, "f.onnx", 13))
    code, said, _ = ran(capsys, "fix", "a.onnx", "-o", "o.onnx", "--free", "x:1=S", *words)

    assert code == 0
    assert said.splitlines()[-2].startswith("proven: at S = 4, 6, 9, 11, 13 each output element is the same expression")
    assert "onnxruntime agrees at S = 11, 13; fitted on S = 4, 6, 9, and agrees there too" in said


@pytest.mark.usefixtures("here")
def test_the_same_in_python() -> None:
    fitted = orx.fix("a.onnx", like=orx.load("c.onnx"), free={"x": {1: "S"}})
    proven = orx.fix("a.onnx", like=["c.onnx"], witness=["d.onnx"])

    assert (fitted.certificate.status, fitted.freed) == ("fitted", {"x": {1: "S"}})
    assert (proven.certificate.status, proven.freed) == ("proven", {"x": {1: "x_1"}})
    assert orx.certify("a.onnx", fitted.model, free={"x": {1: "S"}}, like="c.onnx").status == "fitted"


def test_a_fitted_certificate_is_kept_and_made_again(here: Path, capsys: Captured) -> None:
    words = ("--like", "c.onnx", "--free", "x:1=S", "--certificate", "p.json")
    assert ran(capsys, "fix", "a.onnx", "-o", "o.onnx", *words)[0] == 0
    kept = json.loads((here / "p.json").read_text())

    assert [each["path"] for each in kept["like"]] == ["c.onnx"]
    code, said, _ = ran(capsys, "certify", "--proof", "p.json")
    assert (code, said.splitlines()[-1]) == (0, "p.json says the same")
    export(here, "c.onnx", 6, b=9)
    assert ran(capsys, "certify", "--proof", "p.json")[0] == 1


@pytest.mark.usefixtures("here")
def test_certify_finds_the_dims_that_differ(capsys: Captured) -> None:
    ran(capsys, "fix", "a.onnx", "--like", "c.onnx", "-o", "o.onnx")
    code, said, _ = ran(capsys, "certify", "a.onnx", "o.onnx", "--like", "c.onnx")

    assert (code, said.startswith("fitted: fitted on x_1 = 4, 6")) == (0, True)


@pytest.mark.usefixtures("here")
def test_what_was_fitted_runs_at_any_size() -> None:
    orx.save(orx.fix("a.onnx", batch=True, like="c.onnx").model, "o.onnx")
    x = np.random.default_rng(0).normal(size=(3, 7, 8)).astype(np.float32)

    assert np.allclose(session("o.onnx", optimized=True).run(None, {"x": x})[0], x + np.arange(1, 9, dtype=np.float32))


def test_a_refused_witness_names_the_condition(tmp_path: Path, capsys: Captured) -> None:
    """A picture in blocks of 2 x 2, by numbers: cut, as torch does, at an odd size."""
    sized = """(float[1, {h}, 4] x) => (float[{t}, 2, 4] y) <int64[3] k = {{{t}, 2, 4}}, int64[1] a = {{0}},
        int64[1] e = {{{e}}}, int64[1] i = {{1}}> {{ c = Slice(x, a, e, i) y = Reshape(c, k) }}"""
    paths = []
    for height in (4, 8, 7):
        pairs = height // 2
        path = tmp_path / f"{height}.onnx"
        path.write_bytes(model(f"agraph {sized.format(h=height, e=2 * pairs, t=pairs)}").SerializeToString())
        paths.append(str(path))
    out = tmp_path / "o.onnx"
    code, _, err = ran(capsys, "fix", paths[0], "--like", paths[1], "--witness", paths[2], "-o", str(out))

    assert (code, out.exists()) == (1, False)
    assert "; it only holds if x_1 is divisible by 2" in err


def test_certify_takes_outputs_that_an_exporter_numbered_otherwise(tmp_path: Path, capsys: Captured) -> None:
    body = "agraph (float[1, {s}] x) => (float[1, {s}] {y}) <int64[2] k = {{1, {s}}}> {{ {y} = Reshape(x, k) }}"
    paths = [str(tmp_path / f"{size}.onnx") for size in (4, 6, 9)]
    for path, size, name in zip(paths, (4, 6, 9), ("view_1", "view_2", "view_4"), strict=True):
        Path(path).write_bytes(model(body.format(s=size, y=name)).SerializeToString())
    out = str(tmp_path / "out.onnx")

    assert ran(capsys, "fix", paths[0], "--like", paths[1], "-o", out)[0] == 0
    code, said, _ = ran(capsys, "certify", paths[0], out, "--like", paths[1], "--witness", paths[2])
    assert (code, said.partition(":")[0]) == (0, "proven")


# Two steps


@pytest.mark.usefixtures("here")
def test_other_dims_and_then_the_batch(capsys: Captured) -> None:
    words = ("fix", "a.onnx", "-o", "o.onnx", "--batch", "--like", "c.onnx", "--free", "x:1=S")
    code, said, _ = ran(capsys, *words)
    found = json.loads(ran(capsys, *words, "--json")[1])["certificate"]

    assert code == 0
    assert said.splitlines()[-2].startswith("fitted: other dims, fitted: fitted on S = 4, 6, and agrees there; ")
    assert "; then the batch, beside that model sample by sample, proven: for all N >= 1 and S = " in said
    assert (found["status"], found["kind"], found["basis"]["status"], found["basis"]["kind"]) == (
        "fitted",
        "batch",
        "fitted",
        "other",
    )
    assert len({each["S"] for each in found["compared"]}) > 2
    session_dims = [[*map(str, each.shape or ())] for each in orx.load("o.onnx").ir.graph.inputs]
    assert session_dims == [["N", "S", "8"]]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"free": {"x": {1: "S"}}, "unwitnessed": True}, "unwitnessed"),
        ({"free": {"x": {1: "S"}}, "witness": "c.onnx"}, "proven"),
        ({"like": "c.onnx"}, "fitted"),
        ({"like": "c.onnx", "witness": "d.onnx"}, "proven"),
    ],
)
def test_the_whole_is_as_good_as_the_weaker_step(asked: Mapping[str, Any], status: str, here: Path) -> None:
    found = orx.fix("a.onnx", batch={"x": 0}, **asked)
    changed = orx.load(here / "a.onnx")

    assert found.certificate.status == found.certificate.basis.status == status
    assert found.freed["x"][0] == "N"
    assert [dim for value in changed.ir.graph.inputs for dim in value.shape or ()] == [1, 4, 8]


def test_what_nobody_witnessed_stops_before_the_batch(here: Path, capsys: Captured) -> None:
    code, _, error = ran(capsys, "fix", "a.onnx", "-o", "o.onnx", "--batch", "--free", "x:1=S")

    assert (code, "(--like OTHER.onnx), or have the file all the same (--unwitnessed)" in error) == (1, True)
    assert not (here / "o.onnx").exists()


@pytest.mark.usefixtures("here")
def test_no_certificate_of_two_steps_is_kept(capsys: Captured) -> None:
    words = ("fix", "a.onnx", "-o", "o.onnx", "--batch", "--like", "c.onnx", "--certificate", "p.json")

    code, _, error = ran(capsys, *words)
    assert (code, "a certificate is kept of one step" in error) == (2, True)
