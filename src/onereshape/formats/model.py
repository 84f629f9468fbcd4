"""Models, whatever their format and whatever they are given as: the suffix of a file chooses who reads and who writes.

What the modules of formats read is a `ModelData`; it becomes a `Model`, which users have, where it is loaded.
The formats are rows of `model_formats`; their modules are imported when they are needed.
"""

from __future__ import annotations

import dataclasses
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onereshape.formats.foreign import foreign
from onereshape.formats.given import Given
from onereshape.formats.held import held
from onereshape.formats.model_data import ModelData
from onereshape.formats.model_formats import FORMATS, START, SUFFIXES, Format, format_of, sniffed, suffix
from onereshape.formats.overwriting import is_same
from onereshape.formats.refusals import unreadable, unwritable
from onereshape.formats.typed import path_word
from onereshape.ground.errors import FormatError, ReshapeError
from onereshape.ground.text import brief, shown

if TYPE_CHECKING:
    import onnx
    import openvino

_LONGEST_PATH = 64
"""Signs of a path that a repr shows."""


@dataclass(frozen=True, slots=True, repr=False)
class Model(ModelData):
    """A model that was read: what `load` and `fix` give.

    It goes on to other libraries: `ir` to onnx_ir and torch, `proto()` to onnx and onnxruntime, `openvino()` to
    OpenVINO, and `save()` to a file.

    >>> import onereshape as orx
    >>> model = orx.load("tests/data/corpus/hand_yolo_head.ts.onnx")
    >>> model.format, model.reshapes[0].name, model.reshapes[0].target
    ('onnx', '/Reshape', (1, 3, 7, 16, 16))
    >>> model.ir.graph.inputs[0].name, model.proto().ir_version
    ('x', 8)
    """

    def __repr__(self) -> str:
        """One line with the format, the path and the count of Reshapes: `Model(onnx, net.onnx, 6 Reshapes)`."""
        count = f"{len(self.reshapes)} Reshape{'' if len(self.reshapes) == 1 else 's'}"
        return brief("Model", self.format, shown(self.path, _LONGEST_PATH), count)

    def proto(self) -> onnx.ModelProto:
        """An ONNX model as one message of its own, with all weights in it: for `onnx`, or for onnxruntime by
        `SerializeToString()`.  Beyond 2 GiB, which no message can hold, it is refused; `save` writes such a model.
        """
        if self.format != "onnx":
            raise ReshapeError("bad-usage", why=f"{self.path} is no ONNX model, and has no ModelProto")
        from onereshape.formats.onnx.onnx_held import proto_of  # noqa: PLC0415 - only an ONNX model needs it

        return proto_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model in its own format: all of it, or nothing."""
        save(self, path)

    def openvino(self) -> openvino.Model:
        """An OpenVINO IR as an `openvino.Model`, to be compiled or changed further."""
        from onereshape.formats.openvino.openvino_models import opened  # noqa: PLC0415 - only an IR needs it

        return opened(self)


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
    return model_of(_loaded(_name(model, "a model")) if found is None else found)


def model_of(data: ModelData) -> Model:
    """The `Model` of a `ModelData`, with its methods: fields are shared, and a `Model` is given back itself."""
    if isinstance(data, Model):
        return data
    return Model(**{each.name: getattr(data, each.name) for each in dataclasses.fields(data)})


def _loaded(name: str) -> ModelData:
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


def data_files(model: ModelData) -> list[str]:
    """The files beside a model's own that hold its weights."""
    return format_of(model.format).files.data_files(model)


def _sniffed(path: str) -> Format:
    with Path(path).open("rb") as file:
        start = file.read(START)
    found = sniffed(start)
    if found is None:
        raise unreadable(
            path, foreign(start) or f"is not a model file that is known here; their names end in {', '.join(SUFFIXES)}"
        )
    return found


def _read(found: Format, path: str) -> ModelData:
    """The model of a file; the refusal of a file of another kind names the kind, where `foreign` knows it."""
    try:
        return found.files.load(path)
    except FormatError:
        with Path(path).open("rb") as file:
            what = foreign(file.read(START))
        if what is None:
            raise
    raise unreadable(path, what)
