"""One Reshape of a model as a model of its own."""

from __future__ import annotations

import difflib

from onereshape.convert.steps import planned
from onereshape.errors import ReshapeError
from onereshape.formats.model import Model, ReshapeNode
from onereshape.formats.plan import Plan
from onereshape.specs import opset_of, spec as find_spec

_SHOWN = 8
"""Places that a message shows."""


def extract(model: Model, name: str, spec: str) -> Plan:
    """The Reshape of that name, or at that place, with its dims and the names data, shape and output."""
    row = find_spec(spec)
    step = planned(_told(model, find(model, name)), row, None, ("data", "shape", "output"))
    inputs = (step.data,) if step.target is None else (step.data, step.target)
    return Plan(row, opset_of(spec), inputs, (step,), (step.output,))


def _told(model: Model, node: ReshapeNode) -> ReshapeNode:
    """A Reshape with what its file leaves out, where the values between inputs and outputs need not be declared."""
    if opset_of(node.spec.name) is None or None not in (node.element_type, node.data, node.output, node.target):
        return node
    from onereshape.convert.inferred import completed  # noqa: PLC0415 - onnx takes long

    return completed(model, node)


def find(model: Model, name: str) -> ReshapeNode:
    """The one Reshape of that name; a place names one where several share a name."""
    found = [node for node in model.reshapes if node.place == name] or [
        node for node in model.reshapes if node.name == name
    ]
    if len(found) == 1:
        return found[0]
    if found:
        places = ", ".join(node.place for node in found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
        why = f"{model.path}: {len(found)} Reshapes are named {name!r}; take one by its place: {places}"
        raise ReshapeError("bad-usage", why=why)
    if not model.reshapes:
        raise ReshapeError("bad-usage", why=f"{model.path} has no Reshape")
    names = list(dict.fromkeys(node.name for node in model.reshapes))
    folded = {other.casefold(): other for other in names}
    near = [folded[close] for close in difflib.get_close_matches(name.casefold(), folded, n=3)]
    nearest = f" (did you mean {' or '.join(map(repr, near))}?)" if near else f"; there is {names[0]!r}"
    more = f" and {len(names) - 1} more" if not near and len(names) > 1 else ""
    raise ReshapeError("bad-usage", why=f"{model.path}: no Reshape is named {name!r}{nearest}{more}")
