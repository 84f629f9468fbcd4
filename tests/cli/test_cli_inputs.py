"""`--batch x`: inputs by their names alone, beside models that are typed in any place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openvino
import pytest

from onereshape.cli import main
from onereshape.cli.batch_axes import batch_axes, needs_model
from onereshape.cli.typed import asked_dims
from onereshape.formats.model import load
from onereshape.ground.errors import ReshapeError
from tests.checking import written
from tests.commands import Captured, refused
from tests.openvino_models import flattened

ONE = "g (float[1, 6] x) => (float[a, b, c] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }"
LATER = (
    "g (float[5, batch, 6] x, float[1, 6] state) => (float[a, b, c] y) <int64[3] t = {5, -1, 6}> {"
    " h = Reshape(x, t) y = Add(h, state) }"
)
"""The axis that the usual rule takes is not the first."""
NAMED = "g (float[1, 6] data) => (float[a, b, c] y) <int64[3] t = {1, 2, 3}> { y = Reshape(data, t) }"


@pytest.fixture(autouse=True, name="here")
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written(ONE, tmp_path)
    written(LATER, tmp_path, "later.onnx")
    written(NAMED, tmp_path, "named.onnx")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "models", "asked"),
    [
        (["x"], ["m.onnx"], ({"x": None}, [])),
        (["x", "y:1"], ["m.onnx"], ({"x": None, "y": 1}, [])),
        (["x", "x:0"], ["m.onnx"], ({"x": 0}, [])),
        (["x", "m.onnx"], [], ({"x": None}, ["m.onnx"])),
        (["m.onnx", "out.onnx"], [], (True, ["m.onnx", "out.onnx"])),
        (["m.onnx"], [], (True, ["m.onnx"])),
        (["-"], [], (True, ["-"])),
        (["gone"], [], (True, ["gone"])),
        ([], ["m.onnx"], (True, [])),
    ],
)
def test_what_is_a_name_and_what_a_file(words: list[str], models: list[str], asked: tuple[Any, list[str]]) -> None:
    batch, free, files = asked_dims(words, None, models=models)

    assert (batch, files) == asked
    assert free is None


def test_a_folder_is_no_model(here: Path) -> None:
    """An input named `data` is common, and so is a folder."""
    (here / "data").mkdir()

    assert asked_dims(["data"], None, models=["named.onnx"])[0] == {"data": None}
    assert main(["check", "named.onnx", "--batch", "data"]) == 1


@pytest.mark.parametrize(
    ("path", "batch", "axes"),
    [
        ("m.onnx", {"x": None}, {"x": 0}),
        ("later.onnx", {"x": None}, {"x": 1}),
        ("later.onnx", {"state": None}, {"state": 0}),
        ("later.onnx", {"x": 0}, {"x": 0}),
        ("later.onnx", {"x": None, "state": 1}, {"x": 1, "state": 1}),
        ("later.onnx", True, True),
        ("later.onnx", None, None),
    ],
)
def test_the_axis_is_the_likely_one_or_the_first(path: str, batch: Any, axes: Any) -> None:
    assert batch_axes(load(path), batch, []) == axes


def test_a_model_is_only_looked_into_where_it_must_be() -> None:
    assert not needs_model({"x": 0}, [])
    assert not needs_model(True, [])
    assert not needs_model(None, [])
    assert needs_model({"x": None}, [])
    assert needs_model(True, ["m.onnx"])


@pytest.mark.parametrize(
    "words", [["m.onnx", "--batch", "x"], ["--batch", "x", "m.onnx"], ["--batch", "x", "--strict", "m.onnx"]]
)
def test_it_is_what_the_axis_says(words: list[str], capsys: Captured) -> None:
    code = main(["check", "--json", *words])
    answer = json.loads(capsys.readouterr().out)

    assert code == main(["check", "--json", "m.onnx", "--batch", "x:0"]) == 1
    assert answer == json.loads(capsys.readouterr().out)


def test_both_a_file_and_an_input(here: Path, capsys: Captured) -> None:
    (here / "x").write_bytes((here / "m.onnx").read_bytes())
    code, message = refused(capsys, "check", "m.onnx", "--batch", "x")

    assert code == 2
    assert message == (
        "'x' is an input of the model, and a file: write --batch x:0 for the input, or ./x for the file  [bad-usage]"
    )
    assert main(["check", "m.onnx", "--batch", "x:0"]) == 1
    assert main(["check", "m.onnx", "--batch", "./x"]) == 1
    assert capsys.readouterr().out.count("N is forced to 1") == 3


def test_a_file_that_has_the_name_of_its_own_input(here: Path, capsys: Captured) -> None:
    """The only model that is typed is one, whatever its inputs are called."""
    (here / "x").write_bytes((here / "m.onnx").read_bytes())

    assert main(["check", "--batch", "x"]) == 1
    assert "x: n: baked-dim" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["fix m.onnx -o out.onnx --no-certify", "report m.onnx -o r.html --no-certify"])
def test_other_commands(command: str, here: Path, capsys: Captured) -> None:
    assert main([*command.split(), "--batch", "x"]) == 0
    assert len([*here.iterdir()]) == 4
    capsys.readouterr()
    assert refused(capsys, *command.split(), "--batch", "z")[0] == 2


def test_an_input_of_an_openvino_ir(here: Path, capsys: Captured) -> None:
    openvino.save_model(flattened(1), here / "m.xml", compress_to_fp16=False)

    assert main(["check", "m.xml", "--batch", "x"]) == 1
    assert "N is forced to 1" in capsys.readouterr().out
    assert refused(capsys, "check", "m.xml", "--batch", "z")[1].startswith("the model has no input 'z'")


def test_a_word_after_free_is_no_input() -> None:
    with pytest.raises(ReshapeError, match="'y' is neither a model file nor INPUT:AXIS=NAME, such as y:1=S"):
        asked_dims(None, ["x:1=S", "y"], models=["m.onnx"])
