"""Model: what a model file holds, whatever its format, and the one view of its Reshapes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from onereshape.dims import Dim
from onereshape.errors import FormatError
from onereshape.specs import Dialect, Spec

LONGEST_TARGET = 65_536
"""More entries than any tensor has dims; a target that claims more is not read."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class ReshapeNode:
    """One Reshape of a model, as its file describes it; nothing is inferred or judged."""

    name: str
    """The file's own name of the node, or `place` where it has none."""
    place: str
    """Where the node is, by counting: `graph/If#2/then_branch/Reshape#0` is the first Reshape in that branch of the
    third If.  No two nodes of a model share it."""
    spec: Spec
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


@dataclass(frozen=True, slots=True)
class Model:
    """A model file that was read.

    `ir` may be changed in place; `refreshed` of model_files then gives the view of what it has become.
    """

    format: Dialect
    path: str
    reshapes: tuple[ReshapeNode, ...]
    ir: Any = field(repr=False, compare=False)
    """The model itself: an `onnx_ir.Model`, the root element of an OpenVINO IR, the dict of a oneDNN graph."""
    original: Any = field(repr=False, compare=False)
    """What the file was, for its format's `save`: an unchanged model is written as the bytes that were read."""

    def openvino(self) -> Any:
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
