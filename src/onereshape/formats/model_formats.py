"""The table of model formats: a row for each dialect that has files, and nothing of theirs imported.

Who asks for a format takes its row; nobody else asks which one it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from onereshape.rule.specs import Dialect

if TYPE_CHECKING:
    from onereshape.formats.model_data import ModelData, ReshapeNode
    from onereshape.formats.reshape_plan import ReshapePlan, Wiring


class Files(Protocol):
    """What the module of a format has: its files as models, and back."""

    def load(self, path: str) -> ModelData: ...
    def read(self, content: bytes, name: str) -> ModelData: ...
    def save(self, model: ModelData, path: str) -> None: ...
    def reshapes(self, model: ModelData) -> tuple[ReshapeNode, ...]: ...
    def data_files(self, model: ModelData) -> list[str]: ...


class Plans(Protocol):
    """What the module of its Reshapes alone has: a plan written as a file, and the wiring of a file read."""

    def write(self, plan: ReshapePlan, path: str) -> None: ...
    def wiring(self, model: ModelData) -> Wiring: ...


@dataclass(frozen=True, slots=True)
class Format:
    """One format of model files."""

    dialect: Dialect
    words: str
    """What such a file is called in a message."""
    typed: str
    """The words of help and messages for a file that is read: `an ONNX .onnx`."""
    written: str
    """The words of help and messages for a file that is written: `.onnx or .onnxtxt`."""
    suffixes: tuple[str, ...]
    beside: tuple[str, ...]
    """The suffixes of what is written beside a file of Reshapes."""
    first: bytes
    """The first bytes of such a file, for files whose suffix says nothing."""
    module: str
    """A module of `formats` with the functions of `Files`; beside it DIALECT_plans has those of `Plans`."""

    @property
    def files(self) -> Files:
        """The module, imported when it is asked for."""
        return cast("Files", import_module(f"onereshape.formats.{self.module}"))

    @property
    def plans(self) -> Plans:
        """The module, imported when it is asked for."""
        return cast("Plans", import_module(f"onereshape.formats.{self.module.rpartition('.')[0]}.{self.dialect}_plans"))


FORMATS: tuple[Format, ...] = (
    Format(
        dialect="onnx",
        words="an ONNX model",
        typed="an ONNX .onnx",
        written=".onnx or .onnxtxt",
        suffixes=(".onnx", ".onnx.gz", ".onnxtxt"),
        beside=(),
        first=b"\x08",  # the field of its IR version
        module="onnx.onnx_model",
    ),
    Format(
        dialect="openvino",
        words="an OpenVINO IR",
        typed="an OpenVINO .xml",
        written=".xml (with its .bin)",
        suffixes=(".xml",),
        beside=(".bin",),
        first=b"<",
        module="openvino.openvino_ir",
    ),
    Format(
        dialect="onednn",
        words="a oneDNN graph",
        typed="a oneDNN graph .json",
        written=".json",
        suffixes=(".json",),
        beside=(),
        first=b"{",
        module="onednn.onednn_graph",
    ),
)

SUFFIXES = tuple(suffix for row in FORMATS for suffix in row.suffixes)
_BY_DIALECT = {row.dialect: row for row in FORMATS}
PACKED = b"\x1f\x8b"
"""How a gzip file begins: the one that is read is a packed ONNX model."""
TEXTUAL = re.compile(
    rb"(?:#[^\n]*\n\s*)*<\s*(?:ir_version|opset_import|producer_name|producer_version|domain|model_version|doc_string"
    rb"|metadata_props)\s*:"
)
"""How a textual ONNX model begins, which no XML does."""
START = 4096
"""Bytes by which a format is told."""


def beginning(content: bytes) -> bytes:
    """The first bytes of a file, without what editors put there."""
    return content[:START].lstrip(b"\xef\xbb\xbf \t\r\n")


def sniffed(content: bytes) -> Format | None:
    """The format of a file, by its beginning."""
    start = beginning(content)
    if start.startswith(PACKED) or TEXTUAL.match(start):
        return format_of("onnx")
    return next((row for row in FORMATS if start.startswith(row.first)), None)


def format_of(dialect: Dialect) -> Format:
    """The format of a dialect's files."""
    return _BY_DIALECT[dialect]


def suffix(path: str) -> str:
    """The suffix in small letters, `.onnx.gz` being one."""
    name = Path(path).name.lower()
    return next((each for each in SUFFIXES if each.count(".") > 1 and name.endswith(each)), Path(name).suffix)


def typed_formats() -> str:
    """What may be typed where a model is read, in one line."""
    *others, last = (row.typed for row in FORMATS)
    return f"{', '.join(others)} or {last}"
