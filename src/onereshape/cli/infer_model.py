"""What `onereshape infer MODEL --node NAME` reads from a model: the data, the target and the flag of one Reshape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onereshape.cli.pasted import pasted
from onereshape.cli.streams import loaded, shown_source
from onereshape.formats.model import Model
from onereshape.formats.model_data import ReshapeNode
from onereshape.formats.naming import node_named
from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import listed, shown
from onereshape.rule.dims import Dim, MaybeDims, read_dim

_MOST_NAMED = 4
"""Reshapes that a message names."""


@dataclass(frozen=True, slots=True)
class FoundReshape:
    """One Reshape of a model, and where each part of it comes from."""

    name: str
    place: str
    path: str
    spec: str
    attributes: Mapping[str, Any]
    data: MaybeDims
    data_from: str
    target: MaybeDims
    target_from: str


def read_node(path: str, name: str | None) -> FoundReshape:
    """The Reshape of that name, or at that place; without a name the only one."""
    from onereshape.checks.show import rows_of  # noqa: PLC0415 - onnx takes long

    _check_path(path)
    model = loaded(path)
    node = _only(model) if name is None else node_named(model, name)
    row = next(row for row in rows_of(model) if row.place == node.place)
    if None in row.attributes.values():
        why = f"{shown_source(path)}: the flag of {row.name} is given by who calls its function: type it"
        raise ReshapeError("bad-usage", why=why)
    known = "follows from the inputs of the model" if row.inferred else "as the file declares it"
    return FoundReshape(
        row.name,
        row.place,
        shown_source(path),
        row.spec,
        dict(row.attributes),
        _typed(row.data, "data"),
        "not known" if row.data is None else known,
        _typed(row.target, "target"),
        row.target_from,
    )


def _check_path(path: str) -> None:
    """Refuses a shape in the place of a model."""
    begins = path[:1].isdigit() or path[:1] in {"[", "(", "{"}
    if begins and (words := pasted(path)) is not None and len(words) > 1:
        why = f"{path} is no model: a shape is typed after --data, and what is asked for after --target"
        error = ReshapeError("bad-usage", why=why)
        error.add_note("for example: onereshape infer --data 2,3,4 --target 0,-1")
        raise error


def _only(model: Model) -> ReshapeNode:
    nodes = model.reshapes
    if len(nodes) == 1:
        return nodes[0]
    if not nodes:
        raise ReshapeError("bad-usage", why=f"{model.path} has no Reshape")
    names = listed([shown(node.place) for node in nodes], _MOST_NAMED)
    why = f"{model.path} has {len(nodes)} Reshapes: name one with --node, by its name or by its place ({names})"
    raise ReshapeError("bad-usage", why=why)


def _typed(dims: MaybeDims, what: str) -> MaybeDims:
    """The dims as `infer` takes them: what has no name that could be typed is unknown."""
    if dims is None:
        return None
    return tuple(dim if _is_dim(dim, what, axis) else None for axis, dim in enumerate(dims))


def _is_dim(dim: Dim, what: str, axis: int) -> bool:
    try:
        read_dim(dim, what, axis, -1)
    except ReshapeError:
        return False
    return True
