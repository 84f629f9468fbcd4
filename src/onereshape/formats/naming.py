"""node_named(): the Reshape that a person means, by the name of its node or by its place."""

from __future__ import annotations

import difflib

from onereshape.formats.model_data import ModelData, ReshapeNode
from onereshape.ground.errors import ReshapeError

_SHOWN = 8
"""Places that a message shows."""


def node_named(model: ModelData, text: str) -> ReshapeNode:
    """The one Reshape with that place or that name; `Reshape#1` is short for `graph/Reshape#1`.

    A whole place comes before a name, and a name before what is short for a place.  None, or several, is refused.
    """
    found = _named(model, text)
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(node.place for node in found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
        why = f"{model.path}: {len(found)} Reshapes are named {text!r}; take one by its place: {places}"
        raise ReshapeError("bad-usage", why=why)
    if not model.reshapes:
        raise ReshapeError("bad-usage", why=f"{model.path} has no Reshape")
    raise ReshapeError("bad-usage", why=f"{model.path}: no Reshape is named {text!r}{_nearest(model, text)}")


def _named(model: ModelData, text: str) -> list[ReshapeNode]:
    """The Reshapes that a text means: a place, else a name, else the end of a place."""
    nodes = model.reshapes
    for meant in (
        [node for node in nodes if node.place == text],
        [node for node in nodes if node.name == text],
        [node for node in nodes if node.place == f"graph/{text}"],
        [node for node in nodes if "#" in text and node.place.endswith(f"/{text}")],
    ):
        if meant:
            return meant
    return []


def _nearest(model: ModelData, text: str) -> str:
    """What comes close to a name, or a place, that no Reshape has."""
    names = list(dict.fromkeys(node.place if "#" in text else node.name for node in model.reshapes))
    folded = {name.casefold().removeprefix("graph/"): name for name in names}
    wanted = text.casefold().removeprefix("graph/")
    near = [folded[close] for close in difflib.get_close_matches(wanted, folded, n=3)]
    if near:
        return f" (did you mean {' or '.join(map(repr, near))}?)"
    return f"; there is {names[0]!r}" + (f" and {len(names) - 1} more" if len(names) > 1 else "")
