"""Exports of one small model at several sizes, as files."""

from __future__ import annotations

from pathlib import Path

from tests.models import model

BODY = """(float[1, {s}, 8] x) => (float[1, {s}, 8] y)
    <int64[3] k = {{{k}}}, float[8] b = {{1, 2, 3, 4, 5, 6, 7, {b}}}> {{
    r = Reshape(x, k)
    y = Add(r, b)
}}"""


def body(size: int | str, k: str | None = None, b: float = 8) -> str:
    return BODY.format(s=size, k=k or f"1, {size}, 8", b=b)


def export(folder: Path, name: str, size: int, b: float = 8) -> str:
    path = folder / name
    path.write_bytes(model(f"agraph {body(size, b=b)}").SerializeToString())
    return str(path)


def exported(folder: Path) -> Path:
    """A folder with exports at 4, 6 and 9."""
    for name, size in (("a.onnx", 4), ("c.onnx", 6), ("d.onnx", 9)):
        export(folder, name, size)
    return folder
