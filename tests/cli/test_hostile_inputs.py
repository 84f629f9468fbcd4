"""Inputs and outputs that are no sound files: one line that says why, exit code 2, and nothing left behind."""

from __future__ import annotations

import json
import os
import socket
import struct
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest

from onereshape.cli import main
from onereshape.formats.tensors import npy as npy_files, npz
from tests.models import external, small

Captured = pytest.CaptureFixture[str]
LONG = "9" * 5000
"""More digits than Python reads, or writes, as a number."""
HEX = "0x" + "f" * 5000
"""A number of as many digits that Python does read."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: Captured, *words: str) -> str:
    """The one line that a command says which cannot be run; it leaves nothing behind."""
    before = sorted(Path().iterdir())
    code = main(list(words))
    said = capsys.readouterr().err
    assert (code, said.count("\n"), "unforeseen" in said) == (2, 1, False), said
    assert len(said) < 1000
    assert sorted(Path().iterdir()) == before
    return said


def npy(descr: str = "'<f4'", order: str = "False", dims: str = "(1,)") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {dims}}}\n".encode("latin-1")
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header


@pytest.mark.parametrize(
    "content",
    [
        npy(dims=f"({LONG},)"),
        npy(dims=f"({HEX},)"),
        npy(dims=f"(-{HEX},)"),
        npy(dims=f"(0, {HEX})"),
        npy(dims="(" + "4000000000," * 800 + ")"),
        npy(order=HEX),
        npy(descr=HEX),
        npy(descr=f"('<f4', ({HEX},))"),
        npy(descr=f"'<f{LONG}'"),
        npy(descr="'\\ud800'"),
        npy(descr="[" * 3000 + "]" * 3000),
    ],
)
def test_npy_headers(content: bytes, capsys: Captured) -> None:
    Path("x.npy").write_bytes(content)
    refused(capsys, "run", "x.npy", "--target", "-1")
    refused(capsys, "run", "x.npy", "--target", "-1", "-o", "y.npy")
    with zipfile.ZipFile("x.npz", "w") as archive:
        archive.writestr("a.npy", content)
    refused(capsys, "run", "x.npz", "--target", "-1")


@pytest.mark.parametrize("said", [{"length": ""}, {"offset": ""}, {"length": LONG}, {"offset": "-1"}, {"offset": LONG}])
def test_places_of_external_data(said: dict[str, str], capsys: Captured) -> None:
    Path("w").write_bytes(bytes(24))
    tensor = external("x", [6], "w")
    for key, value in said.items():
        tensor.external_data.add(key=key, value=value)
    Path("x.pb").write_bytes(tensor.SerializeToString())

    assert "which are no numbers" in refused(capsys, "run", "x.pb", "--target", "-1")


@pytest.mark.parametrize("kind", [onnx.TensorProto.FLOAT, onnx.TensorProto.STRING])
@pytest.mark.parametrize("dims", [[2**62] * 2000, [1] * 100, [0, 2**62, 2**62]])
def test_dims_beyond_numpy(kind: int, dims: list[int], capsys: Captured) -> None:
    Path("x.pb").write_bytes(onnx.TensorProto(dims=dims, data_type=kind).SerializeToString())
    refused(capsys, "run", "x.pb", "--target", "-1")


def test_a_name_too_long_for_an_archive(capsys: Captured) -> None:
    tensor = onnx.numpy_helper.from_array(np.zeros(6), "n" * 70_000)
    Path("x.pb").write_bytes(tensor.SerializeToString())
    assert "an archive cannot hold the name" in refused(capsys, "run", "x.pb", "--target", "-1", "-o", "y.npz")


def test_names_in_half_a_character(capsys: Captured) -> None:
    tensors = [{"id": number, "dtype": "f32", "shape": dims} for number, dims in ((1, [2, 3]), (2, [6]))]
    attributes = {"special_zero": {"type": "bool", "value": 1}, "shape": {"type": "s64[]", "value": [6]}}
    operator = {"kind": "StaticReshape", "name": "\ud800", "attrs": attributes}
    graph = {"graph": [operator | {"inputs": tensors[:1], "outputs": tensors[1:]}]}
    Path("g.json").write_text(json.dumps(graph), encoding="ascii")
    assert "ONNX names are UTF-8" in refused(capsys, "convert", "g.json", "--to", "onnx-13", "-o", "o.onnx")
    assert "XML has no words" in refused(capsys, "convert", "g.json", "--to", "openvino", "-o", "o.xml")
    for ports in (7, [[1]], {"a": 1}, "12"):
        Path("g.json").write_text(json.dumps(graph | {"output_ports": ports}), encoding="ascii")
        assert "output_ports" in refused(capsys, "convert", "g.json", "--to", "onnx-13", "-o", "o.onnx")


def strange(suffix: str) -> list[str]:
    """A name each of a pipe, a socket, a folder, devices, a loop, files of the system, and what is no name."""
    os.mkfifo(f"pipe{suffix}")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"socket{suffix}")
    Path(f"folder{suffix}").mkdir()
    for name, target in {
        "loop": f"loop{suffix}",
        "zero": "/dev/zero",
        "null": "/dev/null",
        "mem": "/proc/self/mem",
    }.items():
        Path(f"{name}{suffix}").symlink_to(target)
    names = ["pipe", "socket", "folder", "loop", "zero", "null", "mem", "n" * 300, "a\0b", "x.npy/y"]
    return [f"{name}{suffix}" for name in names]


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb"])
def test_strange_places_of_tensors(suffix: str, capsys: Captured) -> None:
    np.save("x.npy", np.arange(6.0))
    for path in strange(suffix):
        refused(capsys, "run", path, "--target", "-1")
        refused(capsys, "run", path, "--target", "-1", "-o", f"y{suffix}")
        if path != f"mem{suffix}":  # a regular file, as the system has it
            refused(capsys, "run", "x.npy", "--target", "-1", "-o", path)


@pytest.mark.parametrize(
    ("suffix", "to"), [(".onnx", "onnx-21"), (".xml", "openvino"), (".json", "onednn-static"), (".onnxtxt", "onnx-21")]
)
def test_strange_places_of_models(suffix: str, to: str, capsys: Captured) -> None:
    Path("m.onnx").write_bytes(small().SerializeToString())
    Path("x.npy").write_bytes(b"")
    for path in strange(suffix):
        refused(capsys, "check", path)
        refused(capsys, "fix", path, "-o", f"o{suffix}", "--batch")
        refused(capsys, "convert", path, "--to", to, "-o", f"o{suffix}")
        if path != f"mem{suffix}":
            refused(capsys, "convert", "m.onnx", "--node", "r", "--to", to, "-o", path)


def test_bytes_that_are_no_text_as_a_name(capsys: Captured) -> None:
    name = os.fsdecode(b"\xff\xfe.md")
    assert main(["conform", "--engine", "numpy", "--markdown", name]) in {0, 1}
    capsys.readouterr()
    page = Path(name).read_bytes()

    assert b"[\xff\xfe.json](\xff\xfe.json)" in page


def test_an_archive_that_does_not_fit_into_memory(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """4 TB of zeros, honestly declared, in a few bytes: refused before anything is unpacked."""
    content = npy(dims="(1000000000000,)")
    with zipfile.ZipFile("x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", content)
    _declare(len(content) + 4 * 10**12)
    said = refused(capsys, "run", "x.npz", "--target", "-1")
    assert "to 4000000000000 bytes, and this machine has" in said
    np.savez_compressed("x.npz", np.zeros(10**6))
    assert main(["run", "x.npz", "--target", "-1"]) == 0, "zeros shrink to a thousandth, and are fine"
    monkeypatch.setattr(npz, "available", lambda: 10**6)
    assert "bytes of memory free" in refused(capsys, "run", "x.npz", "--target", "-1")


def _declare(size: int) -> None:
    """Has the directory of x.npz say that its member has so many bytes."""
    with zipfile.ZipFile("x.npz", "a") as archive:
        archive.infolist()[0].file_size = size
        archive._didModify = True  # type: ignore[attr-defined]


@pytest.mark.parametrize("output", ["y.npy", "y.npz", "y.pb"])
def test_an_array_that_does_not_fit_into_memory(output: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not mapped instead: a mapped file that somebody cuts off ends the process."""
    np.save("x.npy", np.zeros(1000))
    monkeypatch.setattr(npy_files, "available", lambda: 7999)
    said = refused(capsys, "run", "x.npy", "--target", "-1", "-o", output)
    assert "its 8000 bytes do not fit into memory, of which 7999 are free; with --memory" in said
    assert main(["run", "x.npy", "--target", "-1", "-o", "y.npy", "--memory", "2GB"]) == 0
