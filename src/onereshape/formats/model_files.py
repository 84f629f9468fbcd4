"""Model files, whatever their format: the suffix chooses who reads and who writes.

The formats are rows of `model_formats`; their modules are imported when they are needed.
"""

from __future__ import annotations

import dataclasses
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onereshape.errors import ReshapeError
from onereshape.formats.model import Model, unreadable, unwritable
from onereshape.formats.model_formats import FORMATS, SUFFIXES, Format, format_of
from onereshape.formats.overwriting import is_same


if TYPE_CHECKING:
    from openvino import Model as HeldModel


def load(path: str | os.PathLike[str] | HeldModel) -> Model:
    """The model of an `.onnx`, OpenVINO `.xml` or oneDNN graph `.json` file; its weights stay where they are.

    An `openvino.Model` is read as the IR that it is.  A file of another name is read by what its first byte says.
    Whatever is wrong with a file is a `FormatError`.
    """
    if "openvino" in sys.modules:
        from onereshape.formats.openvino_models import held, is_held  # noqa: PLC0415 - only who has one needs it

        if is_held(path):
            return held(path)
    name = _name(path)
    if "\0" in name:
        raise unreadable(name, "is not a path")
    try:
        if not stat.S_ISREG(mode := Path(name).stat().st_mode):
            raise unreadable(name, f"is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}")
        ending = suffix(name)
        found = next((row for row in FORMATS if ending in row.suffixes), None) or _sniffed(name)
        return found.files.load(name)
    except OSError as error:
        raise unreadable(name, error.strerror or str(error)) from None
    except MemoryError:
        raise unreadable(name, "is too large for the memory of this machine") from None


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Writes a model in its own format: all of it, or nothing; `save(load(f), f)` changes no byte."""
    name = _name(path)
    if not isinstance(model, Model):
        why = f"what is saved is a {type(model).__name__}, not a model that load() or fix() gave"
        raise ReshapeError("bad-usage", why=why)
    row = format_of(model.format)
    if suffix(name) not in row.suffixes:
        raise unwritable(name, f"{row.words} is saved under a name that ends in {' or '.join(row.suffixes)}")
    if any(is_same(file, name) for file in data_files(model)):
        raise unwritable(name, "holds the weights of this very model")
    try:
        row.files.save(model, name)
    except OSError as error:
        raise unwritable(name, error.strerror or str(error)) from None
    except MemoryError:
        raise unwritable(name, "is too large for the memory of this machine") from None


def _name(path: Any) -> str:
    name = path.__fspath__() if isinstance(path, os.PathLike) else path
    if not isinstance(name, str):
        why = f"the path of a model is a str or a pathlib.Path, not a {type(name).__name__}"
        raise ReshapeError("bad-usage", why=why)
    return name


def refreshed(model: Model) -> Model:
    """The model with the view of what its `ir` is now."""
    return dataclasses.replace(model, reshapes=format_of(model.format).files.reshapes(model))


def data_files(model: Model) -> list[str]:
    """The files beside a model's own that hold its weights."""
    return format_of(model.format).files.data_files(model)


def suffix(path: str) -> str:
    """The suffix in small letters, `.onnx.gz` being one."""
    name = Path(path).name.lower()
    return next((each for each in SUFFIXES if each.count(".") > 1 and name.endswith(each)), Path(name).suffix)


def _sniffed(path: str) -> Format:
    with Path(path).open("rb") as file:
        start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    for row in FORMATS:
        if start.startswith(row.first):
            return row
    raise unreadable(path, f"is not a model file that is known here; their names end in {', '.join(SUFFIXES)}")
