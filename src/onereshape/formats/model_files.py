"""Model files, whatever their format: the suffix chooses who reads and who writes.

The modules of the formats are imported when they are needed: `import onereshape` loads none of them.
"""

from __future__ import annotations

import dataclasses
import os
import stat
from importlib import import_module
from pathlib import Path
from typing import Any

from onereshape.errors import ReshapeError
from onereshape.formats.model import Model, unreadable, unwritable
from onereshape.formats.overwriting import is_same

_FORMATS = {
    ".onnx": "onnx",
    ".onnx.gz": "onnx",
    ".onnxtxt": "onnx",
    ".xml": "openvino",
    ".json": "onednn",
}
SUFFIXES = tuple(_FORMATS)
_MODULES = {"onnx": "onnx_model", "openvino": "openvino_ir", "onednn": "onednn_graph"}
_NAMES = {"onnx": "an ONNX model", "openvino": "an OpenVINO IR", "onednn": "a oneDNN graph"}
_FIRST_BYTES = {b"\x08": "onnx", b"<": "openvino", b"{": "onednn"}
"""How a file begins that is named otherwise: an ONNX model with the field of its IR version."""


def load(path: str | os.PathLike[str]) -> Model:
    """The model of an `.onnx`, OpenVINO `.xml` or oneDNN graph `.json` file; its weights stay where they are.

    A file of another name is read by what its first byte says.  Whatever is wrong with a file is a `FormatError`.
    """
    name = _name(path)
    if "\0" in name:
        raise unreadable(name, "is not a path")
    try:
        if not stat.S_ISREG(mode := Path(name).stat().st_mode):
            raise unreadable(name, f"is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}")
        found = _FORMATS.get(suffix(name)) or _sniffed(name)
        model: Model = _module(found).load(name)
    except OSError as error:
        raise unreadable(name, error.strerror or str(error)) from None
    except MemoryError:
        raise unreadable(name, "is too large for the memory of this machine") from None
    return model


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Writes a model in its own format: all of it, or nothing; `save(load(f), f)` changes no byte."""
    name = _name(path)
    if not isinstance(model, Model):
        why = f"what is saved is a {type(model).__name__}, not a model that load() or fix() gave"
        raise ReshapeError("bad-usage", why=why)
    ours = [ending for ending, format_ in _FORMATS.items() if format_ == model.format]
    if suffix(name) not in ours:
        raise unwritable(name, f"{_NAMES[model.format]} is saved under a name that ends in {' or '.join(ours)}")
    if any(is_same(file, name) for file in data_files(model)):
        raise unwritable(name, "holds the weights of this very model")
    try:
        _module(model.format).save(model, name)
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
    return dataclasses.replace(model, reshapes=_module(model.format).reshapes(model))


def data_files(model: Model) -> list[str]:
    """The files beside a model's own that hold its weights."""
    found: list[str] = _module(model.format).data_files(model)
    return found


def suffix(path: str) -> str:
    """The suffix in small letters, `.onnx.gz` being one."""
    name = Path(path).name.lower()
    return ".onnx.gz" if name.endswith(".onnx.gz") else Path(name).suffix


def _sniffed(path: str) -> str:
    with Path(path).open("rb") as file:
        start = file.read(64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if start[:1] not in _FIRST_BYTES:
        raise unreadable(path, f"is not a model file that is known here; their names end in {', '.join(SUFFIXES)}")
    return _FIRST_BYTES[start[:1]]


def _module(format_: str) -> Any:
    return import_module(f"onereshape.formats.{_MODULES[format_]}")
