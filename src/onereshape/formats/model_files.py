"""Models, whatever their format and whatever they are given as: the suffix of a file chooses who reads and who writes.

The formats are rows of `model_formats`; their modules are imported when they are needed.
"""

from __future__ import annotations

import dataclasses
import os
import stat
from pathlib import Path

from onereshape.errors import FormatError, ReshapeError
from onereshape.formats.foreign import foreign
from onereshape.formats.given import STREAM, Given
from onereshape.formats.held import held
from onereshape.formats.model import Model, unreadable, unwritable
from onereshape.formats.model_formats import FORMATS, START, SUFFIXES, Format, format_of, sniffed
from onereshape.formats.overwriting import is_same
from onereshape.text import shown


def load(model: Given) -> Model:
    """The model of an `.onnx`, OpenVINO `.xml` or oneDNN graph `.json` file; its weights stay where they are.

    Its bytes or a file that is open are read as well, by what they begin with, as is a file of another name; and an
    `onnx.ModelProto`, an `onnx_ir.Model`, torch's `ONNXProgram` or an `openvino.Model`, none of which is ever changed.
    Whatever is wrong with a model is a `FormatError`.

    >>> load("tests/data/corpus/hand_yolo_head.ts.onnx")
    Model(onnx, tests/data/corpus/hand_yolo_head.ts.onnx, 6 Reshapes)
    """
    try:
        found = held(model)
    except MemoryError:
        raise unreadable(f"a {type(model).__name__}", "is too large for the memory of this machine") from None
    return found if found is not None else _loaded(_name(model, "a model"))


def _loaded(name: str) -> Model:
    """The model of a file."""
    if not name:
        raise ReshapeError("bad-usage", why="a model is named by its path, and this one is empty")
    if "\0" in name:
        raise unreadable(name, "is not a path")
    try:
        if not stat.S_ISREG(mode := Path(name).stat().st_mode):
            raise unreadable(name, f"is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}")
        ending = suffix(name)
        found = next((row for row in FORMATS if ending in row.suffixes), None) or _sniffed(name)
        return dataclasses.replace(_read(found, name), typed=path_word(name))
    except OSError as error:
        raise unreadable(name, error.strerror or str(error)) from None
    except MemoryError:
        raise unreadable(name, "is too large for the memory of this machine") from None


def save(model: Given, path: str | os.PathLike[str]) -> None:
    """Writes a model in its own format: all of it, or nothing; `save(load(f), f)` changes no byte.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save("tests/data/corpus/hand_yolo_head.ts.onnx", f"{folder}/copy.onnx")
    ...     len(load(f"{folder}/copy.onnx").reshapes)
    6
    """
    name = _name(path, "the path of a file")
    found = load(model)
    row = format_of(found.format)
    if suffix(name) not in row.suffixes:
        raise unwritable(name, f"{row.words} is saved under a name that ends in {' or '.join(row.suffixes)}")
    if any(is_same(file, name) for file in data_files(found)):
        raise unwritable(name, "holds the weights of this very model")
    try:
        row.files.save(found, name)
    except OSError as error:
        raise unwritable(name, error.strerror or str(error)) from None
    except MemoryError:
        raise unwritable(name, "is too large for the memory of this machine") from None


def _name(path: object, what: str) -> str:
    name = path.__fspath__() if isinstance(path, os.PathLike) else path
    if isinstance(name, str):
        return name
    if name is not path:
        raise ReshapeError("bad-usage", why=f"{what} is given as a {type(path).__name__} of bytes; make it one of str")
    raise ReshapeError("bad-usage", why=f"{what} is a str or a pathlib.Path, not a {shown(type(path).__name__, 80)}")


def refreshed(model: Model) -> Model:
    """The model with the view of what its `ir` is now; its file is another model."""
    return dataclasses.replace(model, reshapes=format_of(model.format).files.reshapes(model), typed=None)


def path_word(path: str) -> str:
    """A path as it is typed: no option, and not `-`."""
    return f"./{path}" if path.startswith("-") else path


def command_word(model: Model) -> str | None:
    """The word by which a command means this model; None where there is no such file, or no longer."""
    return model.typed if model.typed == STREAM or (model.typed and Path(model.typed).is_file()) else None


def data_files(model: Model) -> list[str]:
    """The files beside a model's own that hold its weights."""
    return format_of(model.format).files.data_files(model)


def suffix(path: str) -> str:
    """The suffix in small letters, `.onnx.gz` being one."""
    name = Path(path).name.lower()
    return next((each for each in SUFFIXES if each.count(".") > 1 and name.endswith(each)), Path(name).suffix)


def _sniffed(path: str) -> Format:
    with Path(path).open("rb") as file:
        start = file.read(START)
    found = sniffed(start)
    if found is None:
        raise unreadable(
            path, foreign(start) or f"is not a model file that is known here; their names end in {', '.join(SUFFIXES)}"
        )
    return found


def _read(found: Format, path: str) -> Model:
    """The model of a file; of one that is none it is said what it is, where that is known."""
    try:
        return found.files.load(path)
    except FormatError:
        with Path(path).open("rb") as file:
            what = foreign(file.read(START))
        if what is None:
            raise
    raise unreadable(path, what)
