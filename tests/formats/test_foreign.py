"""Files of other kinds that are given as models: each is named, and what to do about it, whatever its name ends in."""

from __future__ import annotations

import gzip
import io
import lzma
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

import onereshape as orx
from onereshape.ground.errors import FormatError

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 1234\n"


def _zipped() -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("model.onnx", LFS)
    return held.getvalue()


def _tarred() -> bytes:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("model.onnx"))
    return held.getvalue()


def _checkpoint() -> bytes:
    held = io.BytesIO()
    torch.save({"weight": torch.zeros(2)}, held)
    return held.getvalue()


def _array() -> bytes:
    held = io.BytesIO()
    np.save(held, np.zeros(3))
    return held.getvalue()


KINDS = {
    "Git LFS": (LFS, "is a Git LFS pointer, not the file itself: `git lfs pull` fetches it"),
    "ort": (b"\x20\0\0\0ORTM" + bytes(64), "is in onnxruntime's own format (.ort), which nothing else reads: repair"),
    "tflite": (b"\x1c\0\0\0TFL3" + bytes(64), "is a TensorFlow Lite model: tf2onnx"),
    "a page": (b"\n<!DOCTYPE HTML>\n<html>", "is a page of HTML, which a server gave instead of the file"),
    "a plain page": (b"<HTML><body>404</body>", "is a page of HTML, which a server gave instead of the file"),
    "a checkpoint": (_checkpoint(), "is a checkpoint of torch: export the model to ONNX instead"),
    "a pickle": (pickle.dumps({"a": 1}), "is a Python pickle, which could run any code and is never loaded"),
    "zip": (_zipped(), "is a zip archive: unpack it"),
    "tar": (_tarred(), "is an archive: unpack it"),
    "tar.gz": (gzip.compress(_tarred()), "is an archive: unpack it"),
    "xz": (lzma.compress(LFS), "is an archive: unpack it"),
    "keras": (b"\x89HDF\r\n\x1a\n" + bytes(64), "is an HDF5 file, as Keras writes it"),
    "gguf": (b"GGUF" + bytes(64), "is a GGUF file, which holds weights and no graph"),
    "safetensors": (b"\x10\0\0\0\0\0\0\0" + b'{"a": {}}', "is a safetensors file, which holds weights and no graph"),
    "npy": (_array(), "is an array of NumPy, and no model"),
    "tensorrt": (b"ftrt" + bytes(64), "is an engine of TensorRT, built for one device"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", [".onnx", ".xml", ".json", ".bin", ""])
def test_a_file_is_told_by_what_it_is(kind: str, ending: str, tmp_path: Path) -> None:
    content, said = KINDS[kind]
    path = tmp_path / f"model{ending}"
    path.write_bytes(content)

    with pytest.raises(FormatError) as refusal:
        orx.load(path)
    if kind != "tar.gz" or ending not in {".onnx", ".xml", ".json"}:
        assert refusal.value.sentence.startswith(f"{path}: {said}")


@pytest.mark.parametrize("kind", KINDS)
def test_so_are_bytes_and_open_files(kind: str) -> None:
    content, said = KINDS[kind]

    for given in (content, io.BytesIO(content)):
        with pytest.raises(FormatError, match=r"\A(bytes|file object): ") as refusal:
            orx.load(given)
        assert said in refusal.value.sentence


def test_a_damaged_model_keeps_its_own_words(tmp_path: Path) -> None:
    for name, content in (("a.onnx", b"\x08"), ("b.xml", b"<net"), ("c.json", b'{"graph":{"a": 1')):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FormatError, match=r"is no(t sound)? (ONNX|XML|JSON|oneDNN)"):
            orx.load(tmp_path / name)


def test_weights_that_are_a_pointer(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (float[1, 64] x) => (float[1, 64] y) <float[64] w = ["location": "w.bin", "offset": "0", "length": "256"]> {
        y = Add(x, w)
    }"""
    (tmp_path / "w.bin").write_bytes(LFS)
    (tmp_path / "m.onnxtxt").write_text(text, encoding="utf-8")

    with pytest.raises(
        FormatError, match=r"which has \d+ bytes \(a Git LFS pointer: `git lfs pull` fetches the file\)"
    ):
        orx.load(tmp_path / "m.onnxtxt")
