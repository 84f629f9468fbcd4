"""`onereshape infer MODEL --node NAME`: what is read from a model, and what may be typed in its place."""

from __future__ import annotations

import json
from pathlib import Path

import openvino
import pytest

from onereshape.checks.show import show
from onereshape.cli import main
from tests.checking import written
from tests.commands import Captured, refused, said
from tests.openvino_models import flattened

COMPUTED = (
    "g (float[N, 6] x) => (float[a, b, c] y) <int64[1] k = {2}, int64[1] m = {-1}, int64[1] z = {0}> {"
    " s = Shape(x) n = Gather(s, z) t = Concat <axis = 0> (n, k, m) y = Reshape(x, t) }"
)
INNER = (
    "g (float[2, 6] x, bool c) => (float[p, q] y) {"
    " y = If (c) <then_branch = one () => (float[a, b] u) <int64[2] t = {3, 4}> { u = Reshape(x, t) },"
    " else_branch = two () => (float[d, e] v) <int64[2] t = {4, 3}> { v = Reshape(x, t) }> }"
)
UNNAMED = "g (float[?, 6] x) => (float[a, b] y) <int64[2] t = {0, -1}> { y = Reshape <allowzero = 0> (x, t) }"
LITERAL = "g (float[0, 6] x) => (float[a, b] y) <int64[2] t = {0, 5}> { y = Reshape <allowzero = 1> (x, t) }"
REFUSED = "g (float[2, 3] x) => (float[a] y) <int64[1] t = {7}> { y = Reshape(x, t) }"


@pytest.fixture(autouse=True, name="here")
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("computed", COMPUTED), ("inner", INNER), ("unnamed", UNNAMED), ("refused", REFUSED)):
        written(text, tmp_path, f"{name}.onnx")
    written(LITERAL, tmp_path, "literal.onnx")
    return tmp_path


def test_all_of_it_is_from_the_model(capsys: Captured) -> None:
    assert said(capsys, "infer", "computed.onnx", "--node", "n") == (
        "[N, 2, 3]\n"
        "  N  fixed by target[0]\n"
        "  2  fixed by target[1]\n"
        "  3  inferred: 6*N / (2*N)\n"
        "  if N >= 1\n"
        "  data    [N, 6]      follows from the inputs of the model\n"
        "  target  [N, 2, -1]  computed by Concat n2\n"
        "  spec    onnx-14     n in computed.onnx\n"
    )


def test_what_is_typed_takes_its_place(capsys: Captured) -> None:
    out = said(capsys, "infer", "computed.onnx", "--data", "4,6", "--target", "0,-1", "--spec", "onnx-13")

    assert out.splitlines()[0] == "[4, 6]"
    assert out.splitlines()[-3:] == [
        "  data    [4, 6]   typed",
        "  target  [0, -1]  typed",
        "  spec    onnx-13  typed",
    ]


def test_the_flag_is_the_models_and_may_be_typed(capsys: Captured) -> None:
    assert "  spec    onnx-14 allowzero=1  n in literal.onnx" in said(capsys, "infer", "literal.onnx")
    code, message = refused(capsys, "infer", "literal.onnx", "--allowzero", "0", "--target", "0,-1")
    assert code == 1
    assert "every size would fit" in message


@pytest.mark.parametrize(
    ("node", "output"),
    [
        ("graph/If#0/then_branch/Reshape#0", "[3, 4]"),
        ("If#0/else_branch/Reshape#0", "[4, 3]"),
        ("else_branch/Reshape#0", "[4, 3]"),
    ],
)
def test_a_place_names_it(node: str, output: str, capsys: Captured) -> None:
    assert said(capsys, "infer", "inner.onnx", "--node", node).splitlines()[0] == output
    assert said(capsys, "convert", "inner.onnx", "--node", node, "--to", "openvino", "-o", "o.xml")


def test_a_place_that_is_short_for_two(capsys: Captured) -> None:
    code, message = refused(capsys, "infer", "inner.onnx", "--node", "Reshape#0")

    assert code == 2
    assert "graph/If#0/then_branch/Reshape#0, graph/If#0/else_branch/Reshape#0" in message


def test_a_size_without_a_name_is_called_by_its_place(capsys: Captured) -> None:
    out = said(capsys, "infer", "unnamed.onnx").splitlines()

    assert out[0] == "[x[0], 6]"
    assert out[-3].startswith("  data    [x[0], 6]")


def test_what_no_input_satisfies_is_refused_as_ever(capsys: Captured) -> None:
    code, message = refused(capsys, "infer", "refused.onnx")

    assert code == 1
    assert message.startswith("data has 6 elements, but the target asks for 7\n  data    [2, 3]  (6 elements)")


def test_for_machines(capsys: Captured) -> None:
    answer = json.loads(said(capsys, "infer", "computed.onnx", "--node", "Reshape#0", "--json"))

    assert {key: answer[key] for key in ("model", "node", "place", "data", "target", "attributes", "output")} == {
        "model": "computed.onnx",
        "node": "n",
        "place": "graph/Reshape#0",
        "data": ["N", 6],
        "target": ["N", 2, -1],
        "attributes": {},
        "output": ["N", 2, 3],
    }
    assert answer["from"] == {
        "data": "follows from the inputs of the model",
        "target": "computed by Concat n2",
        "spec": "n in computed.onnx",
    }


def test_an_openvino_ir(here: Path, capsys: Captured) -> None:
    openvino.save_model(flattened(2), here / "m.xml", compress_to_fp16=False)
    out = said(capsys, "infer", "m.xml")

    assert out.splitlines()[0] == "[2, 32]"
    assert [line.split()[0] for line in out.splitlines()[-3:]] == ["data", "target", "spec"]
    assert "[2, 8, 2, 2] " in out
    assert "openvino special_zero=false  " in out


@pytest.mark.parametrize(
    "path", sorted(Path("tests/data/corpus").resolve().glob("hand_*.onnx"))[:12], ids=lambda p: p.stem
)
def test_it_says_what_show_says(path: Path, capsys: Captured) -> None:
    """The same output for every Reshape whose dims can be typed."""
    for row in show(path):
        code = main(["infer", str(path), "--node", row.place, "--json"])
        answer = json.loads(capsys.readouterr().out)

        assert code == int(row.refused is not None)
        if code == 0 and None not in (row.output or [None]):
            assert answer["place"] == row.place
            assert answer["output"] == row.to_json()["output"]
