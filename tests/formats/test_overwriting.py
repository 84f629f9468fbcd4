"""No output takes the place of a file that an input is, or refers to, by whatever name or link."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from onereshape.cli import main
from onereshape.formats.model import load, save
from onereshape.ground.errors import FormatError
from tests.models import external, model

LINKS: dict[str, Callable[[Path, Path], None]] = {
    "itself": lambda _here, _there: None,
    "link": lambda here, there: there.symlink_to(here),
    "hard link": os.link,
}
CASES = {
    "run": ("run", "x.pb", "--target", "2,3", "-o"),
    "convert": ("convert", "m.onnx", "--to", "onnx-20", "-o"),
    "convert another dialect": ("convert", "m.onnx", "--node", "r", "--to", "onednn-static", "-o"),
    "fix": ("fix", "m.onnx", "--batch", "-o"),
    "fix with a witness": ("fix", "b.onnx", "--free", "x:0=N", "--witness", "m.onnx", "-o"),
}
SUFFIXES = {"run": ".npy", "convert another dialect": ".json"}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", LINKS)
def test_the_data_of_an_input(name: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = Path("w" + SUFFIXES.get(name, ".onnx"))
    data.write_bytes(np.arange(36, dtype=np.float32).tobytes())
    inputs(data.name)
    out = data if how == "itself" else Path("out" + data.suffix)
    LINKS[how](data, out)
    before = {path.name: path.read_bytes() for path in Path().iterdir()}

    assert main([*CASES[name], str(out)]) == 2
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("out", ["w", "./sub/../w", "link"])
def test_data_that_are_not_there_yet(name: str, out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    suffix = SUFFIXES.get(name, ".onnx")
    inputs("w" + suffix)
    if out == "link":
        Path(out + suffix).symlink_to("w" + suffix)

    assert main([*CASES[name], out + suffix]) == 2
    assert not Path("w" + suffix).exists()


def test_a_model_is_not_saved_where_its_data_are_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inputs("w.onnx")
    with pytest.raises(FormatError, match="holds the weights of this very model"):
        save(load("m.onnx"), "w.onnx")
    assert not Path("w.onnx").exists()


def inputs(data: str) -> None:
    """A tensor and a model whose elements are in `data`, and a model that stands alone."""
    Path("x.pb").write_bytes(external("x", [6], data, offset=0, length=24).SerializeToString())
    body = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { h = MatMul(x, w) y = Reshape(h, t) }"
    for path, weights in (
        ("m.onnx", external("w", [6, 6], data, offset=0, length=144)),
        ("b.onnx", onnx.numpy_helper.from_array(np.ones((6, 6), np.float32), "w")),
    ):
        proto = model(body)
        proto.graph.node[1].name = "r"
        proto.graph.initializer.append(weights)
        Path(path).write_bytes(proto.SerializeToString())


def test_a_witness_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("w.bin").write_bytes(np.arange(36, dtype=np.float32).tobytes())
    inputs("w.bin")
    before = Path("m.onnx").read_bytes()

    assert main(["fix", "b.onnx", "--free", "x:0=N", "--witness", "m.onnx", "-o", "m.onnx"]) == 2
    assert Path("m.onnx").read_bytes() == before


def test_the_bin_of_an_ir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """An output that is a link to it, of a name that a model may have."""
    monkeypatch.chdir(tmp_path)
    inputs("w.bin")
    Path("w.bin").write_bytes(bytes(144))
    assert main(["convert", "b.onnx", "--node", "r", "--to", "openvino", "-o", "o.xml"]) == 0
    before = Path("o.bin").read_bytes()
    Path("link.json").symlink_to("o.bin")
    capsys.readouterr()

    assert main(["convert", "o.xml", "--to", "onednn-static", "-o", "link.json"]) == 2
    assert "link.json holds the weights of o.xml, which are never changed" in capsys.readouterr().err
    assert Path("o.bin").read_bytes() == before
