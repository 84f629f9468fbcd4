"""Model: what a model file holds, whatever its format, and the one view of its Reshapes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from onereshape.dims import Dim, show
from onereshape.errors import FormatError, ReshapeError
from onereshape.specs import Dialect, Spec
from onereshape.text import brief, shown

if TYPE_CHECKING:
    import os
    from xml.etree.ElementTree import Element

    import onnx
    import onnx_ir
    import openvino

LONGEST_TARGET = 65_536
"""More entries than any tensor has dims; a target that claims more is not read."""

_MOST_DIMS = 32
"""Dims of a list that a repr begins with."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_LONGEST_PATH = 64
"""Signs of a path that a repr shows."""


@dataclass(frozen=True, slots=True)
class ReshapeNode:
    """One Reshape of a model, as its file describes it; nothing is inferred or judged."""

    name: str
    """The file's own name of the node, or `place` where it has none."""
    place: str
    """Where the node is, by counting: `graph/If#2/then_branch/Reshape#0` is the first Reshape in that branch of the
    third If.  No two nodes of a model share it."""
    spec: Spec
    """The specification that is in force."""
    data: tuple[Dim, ...] | None
    """The dims of data, in the notation of `infer`; None: the rank is not said."""
    target: tuple[Dim, ...] | None
    """The integers of the target, None for each that is not known; None: not even how many there are."""
    attributes: Mapping[str, Any]
    """The attributes that the file gives, by the specification's names; none is added.  A value that only the caller
    of an ONNX function knows is None."""
    element_type: str | None
    """The type of data in the dialect's own name, None where the file does not say it."""
    output: tuple[Dim, ...] | None
    """The dims that the file declares for the output; None: it declares none."""
    target_from: str
    """Where the target comes from: `initializer X`, `Constant node Y`, `attribute`, `input X`, `computed by Z` ..."""
    target_type: str | None = None
    """The type of the shape tensor in the dialect's own name, None where it is an attribute or not said."""
    node: Any = field(default=None, repr=False, compare=False)
    """The node itself: an `onnx_ir.Node`, the `layer` element of an IR, the dict of a oneDNN operator."""

    def __repr__(self) -> str:
        data, target = (
            "[...]" if dims is None else f"[{', '.join(str(show(dim)) for dim in dims[:_MOST_DIMS])}]"
            for dims in (self.data, self.target)
        )
        return brief("ReshapeNode", f"{shown(self.name, 40)}: {data} by {target}")


@dataclass(frozen=True, slots=True, repr=False)
class Model:
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

    format: Dialect
    """Whose format it is."""
    path: str
    """Its file; what it is called in messages, where it was not read from a file."""
    reshapes: tuple[ReshapeNode, ...]
    """Its Reshapes, in the order of the graph."""
    content: onnx_ir.Model | Element | dict[str, Any] | None = field(compare=False)
    """The model itself: an `onnx_ir.Model`, the root element of an OpenVINO IR, the dict of a oneDNN graph.

    It may be changed in place; `refreshed` of model_files then gives the view of what it has become."""
    original: object = field(compare=False)
    """What was read, for its format's `save`: an unchanged model is written as the bytes that were read."""
    weights_in: str | None = field(default=None, compare=False)
    """The folder of the files with its weights, where it was not read from a file itself."""
    typed: str | None = field(default=None, compare=False)
    """The word that a command names it by: the file that it was read from, or `-`; None: changed since, or no file."""

    def __repr__(self) -> str:
        """One line, however many Reshapes there are."""
        count = f"{len(self.reshapes)} Reshape{'' if len(self.reshapes) == 1 else 's'}"
        return brief("Model", self.format, shown(self.path, _LONGEST_PATH), count)

    @property
    def ir(self) -> onnx_ir.Model:
        """The `onnx_ir.Model` of an ONNX model, not a copy of it."""
        if self.format != "onnx":
            raise ReshapeError("bad-usage", why=f"{self.path} is no ONNX model, and has no onnx_ir.Model")
        return cast("onnx_ir.Model", self.content)

    @property
    def folder(self) -> str:
        """Where its weights are, if they are in other files."""
        return str(Path(self.path).parent) if self.weights_in is None else self.weights_in

    def proto(self) -> onnx.ModelProto:
        """An ONNX model as one message of its own, with all weights in it: for `onnx`, or for onnxruntime by
        `SerializeToString()`.  Beyond 2 GiB, which no message can hold, it is refused; `save` writes such a model.
        """
        if self.format != "onnx":
            raise ReshapeError("bad-usage", why=f"{self.path} is no ONNX model, and has no ModelProto")
        from onereshape.formats.onnx_held import proto_of  # noqa: PLC0415 - only an ONNX model needs it

        return proto_of(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model in its own format: all of it, or nothing."""
        from onereshape.formats.model_files import save  # noqa: PLC0415 - it imports this module

        save(self, path)

    def openvino(self) -> openvino.Model:
        """An OpenVINO IR as an `openvino.Model`, to be compiled or changed further."""
        from onereshape.formats.openvino_models import opened  # noqa: PLC0415 - only an IR needs it

        return opened(self)


def unreadable(path: str, why: str) -> FormatError:
    """The refusal of a file that was to be read."""
    return FormatError("unreadable", path=path, why=why)


def unwritable(path: str, why: str) -> FormatError:
    """The refusal of a file that was to be written."""
    return FormatError("unwritable", path=path, why=why)


def cause(error: BaseException) -> str:
    """The first line of what lies behind an error, short enough for a message."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0] if len(lines[0]) <= 200 else lines[0][:197] + "..."


def integer(text: Any) -> int | None:
    """The int64-sized integer that a text is, or None; unlike `int` it takes no underscores and no foreign digits."""
    return int(text) if isinstance(text, str) and _INTEGER.fullmatch(text) else None


def cycle(graph: Mapping[Hashable, Iterable[Hashable]]) -> list[Any] | None:
    """Nodes that wait for one another, where there are such; `graph` gives what each node needs.

    >>> cycle({"a": ["b"], "b": []}) is None
    True
    >>> cycle({"a": ["b"], "b": ["a"]})
    ['a', 'b', 'a']
    """
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[Any] = error.args[1]
        return found
    return None


def content_of(path: str, largest: int, why: str) -> bytes:
    """The bytes of a file, of which no more than `largest` are read; `why` says why no such file has more."""
    with Path(path).open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise unreadable(path, f"has more than {largest} bytes, {why}")
    return content
