"""Finding: one thing that `check` has to say of a model, and the table of what there is to say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From the worst on."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One code: how bad it is, and what it means."""

    severity: Severity
    """A finding may be milder: a declaration that holds for one size only is a warning."""
    meaning: str


CODES: dict[str, Kind] = {
    "spec-error": Kind("error", "The Reshape breaks the rules of its own specification."),
    "impossible-volume": Kind("error", "No input has as many elements as the target asks for."),
    "baked-dim": Kind("error", "A constant fixes a size that must be free to vary."),
    "absorbed-dim": Kind(
        "error", "A -1 swallows the dim that another slot should carry; it runs, and answers wrongly."
    ),
    "size-condition": Kind("error", "The Reshape runs at some of the sizes only that the file declares."),
    "cannot-free": Kind("error", "A dim that is to be free cannot be freed at this node."),
    "declared-mismatch": Kind("error", "The file declares another shape than its operators compute."),
    "foldable-target": Kind("note", "The target is computed at run time and always equals a constant."),
    "redundant-allowzero": Kind("note", "allowzero=1 changes nothing for this target."),
    "identity": Kind("note", "The Reshape changes nothing."),
    "chain": Kind("note", "A Reshape of a Reshape; one would do."),
    "gave-up": Kind("note", "Something is too large to be followed, and stays unknown from there on."),
}
"""In the order in which findings of one node are given."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, with everything that a person or a machine needs to find the place."""

    code: str
    severity: Severity
    node: str
    """The node's name, or its place where it has none."""
    place: str
    """Where the node is, by counting: `graph/If#2/then_branch/Reshape#0`."""
    op: str
    """The operator."""
    tensor: str | None
    """The tensor that is at fault: the target, or the value that is declared."""
    origin: str | None
    """Where that tensor comes from: `initializer X`, `Constant node Y`, `computed by Concat Z`."""
    message: str
    """One sentence with the numbers."""
    fixable: bool
    """Whether `fix` can repair it."""

    def to_json(self) -> dict[str, Any]:
        """The fields, for machines."""
        return {name: getattr(self, name) for name in self.__slots__}
