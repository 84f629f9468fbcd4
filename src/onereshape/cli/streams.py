"""`-`: what is read from standard input, and bytes that are written to standard output."""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from io import BufferedReader, BytesIO
from pathlib import Path
from shutil import copyfileobj
from typing import TYPE_CHECKING, BinaryIO

from onereshape.formats.given import STREAM
from onereshape.ground.errors import FormatError, ReshapeError

if TYPE_CHECKING:
    from onereshape.formats.model import Model
    from onereshape.formats.tensors.tensor import Tensor

_IN, _OUT = "standard input", "standard output"


def loaded(path: str) -> Model:
    """The model that was typed: a path, or `-` for standard input."""
    from onereshape.formats.model import load  # noqa: PLC0415 - `run` needs none

    return replace(load(_input()), typed=STREAM) if path == STREAM else load(path)


def shown_source(path: str) -> str:
    """The name of an input in messages: `-` -> `standard input`, a path -> the path."""
    return _IN if path == STREAM else path


def shown_output(path: str) -> str:
    """The name of an output in messages: `-` -> `standard output`, a path -> the path."""
    return _OUT if path == STREAM else path


def check_output(path: str | None, args: argparse.Namespace) -> None:
    """Refuses bytes on standard output where somebody would see them, or where an answer is printed too."""
    args.piped = path == STREAM
    if not args.piped:
        return
    if args.json:
        why = "with -o - the bytes of the file go to standard output, and so would --json: leave one of them out"
        raise ReshapeError("bad-usage", why=why)
    if sys.stdout is None or sys.stdout.isatty():
        why = "-o - writes bytes, which a terminal cannot show: name a file, or pipe them on (... -o - | other)"
        raise ReshapeError("bad-usage", why=why)


def write_model(model: Model) -> None:
    """Writes a model to standard output, as `save` would write it to a file."""
    from onereshape.formats.model import data_files, save  # noqa: PLC0415 - `run` needs none

    if model.format != "onnx":
        raise FormatError("unwritable", path=_OUT, why="takes one file, and an OpenVINO IR is two: name them with -o")
    if data_files(model):
        why = "takes one file, and this model has its weights in others: name a file with -o"
        raise FormatError("unwritable", path=_OUT, why=why)
    with tempfile.TemporaryDirectory(prefix="onereshape-") as folder:
        written = Path(folder, "model.onnx")
        save(model, written)
        with written.open("rb") as file:
            copyfileobj(file, sys.stdout.buffer)
    sys.stdout.buffer.flush()


def read_npy() -> Tensor:
    """The array of a .npy on standard input."""
    import numpy as np  # noqa: PLC0415 - only `run` needs it

    from onereshape.formats.tensors import npy  # noqa: PLC0415
    from onereshape.formats.tensors.tensor import Tensor  # noqa: PLC0415

    content = _input().read()
    header = npy.read_header(BytesIO(content), _IN)
    npy.check_length(header, len(content), _IN)
    return Tensor(npy.as_array(np.frombuffer(content, np.uint8, offset=header.length), header, _IN))


def write_npy(tensor: Tensor) -> None:
    """Writes an array to standard output as a .npy."""
    from onereshape.formats.tensors import npy  # noqa: PLC0415

    npy.write(sys.stdout.buffer, tensor, _OUT)
    sys.stdout.buffer.flush()


def _input() -> BinaryIO:
    if sys.stdin is None:
        raise FormatError("unreadable", path=_IN, why="is closed")
    if sys.stdin.isatty():
        why = (
            "- reads the file from standard input, and nothing is piped into it: name a file, or pipe one (... < FILE)"
        )
        raise ReshapeError("bad-usage", why=why)
    if isinstance(sys.stdin.buffer, BufferedReader) and not sys.stdin.buffer.peek(1):
        raise FormatError("unreadable", path=_IN, why="is empty")
    return sys.stdin.buffer
