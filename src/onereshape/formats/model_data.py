"""ModelData: what a model file holds, whatever its format, and the one view of its Reshapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import brief, shown
from onereshape.rule.dims import Dim, show
from onereshape.rule.specs import Dialect, Spec

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    import onnx_ir

LONGEST_TARGET = 65_536
"""More entries than any tensor has dims; a target that claims more is not read."""

_MOST_DIMS = 32
"""Dims of a list that a repr begins with."""


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
class ModelData:
    """A model that was read, whatever its format, without methods; `model.Model` has them."""

    format: Dialect
    """The dialect whose format the file has."""
    path: str
    """The path of the file; of a model from elsewhere its name in messages."""
    reshapes: tuple[ReshapeNode, ...]
    """Its Reshapes, in the order of the graph."""
    content: onnx_ir.Model | Element | dict[str, Any] | None = field(compare=False)
    """The model itself: an `onnx_ir.Model`, the root element of an OpenVINO IR, the dict of a oneDNN graph.

    It may be changed in place; `refreshed` of `model` then gives the view of what it has become."""
    original: object = field(compare=False)
    """What was read, for its format's `save`: an unchanged model is written as the bytes that were read."""
    weights_in: str | None = field(default=None, compare=False)
    """The folder of the files with its weights, where it was not read from a file itself."""
    typed: str | None = field(default=None, compare=False)
    """The word that a command names it by: the file that it was read from, or `-`; None: changed since, or no file."""

    @property
    def ir(self) -> onnx_ir.Model:
        """The `onnx_ir.Model` of an ONNX model, not a copy of it."""
        if self.format != "onnx":
            raise ReshapeError("bad-usage", why=f"{self.path} is no ONNX model, and has no onnx_ir.Model")
        return cast("onnx_ir.Model", self.content)

    @property
    def folder(self) -> str:
        """The folder of the files with weights, if there are any."""
        return str(Path(self.path).parent) if self.weights_in is None else self.weights_in
