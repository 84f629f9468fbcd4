"""Finding: one thing that `check` has to say of a model, and the table of what there is to say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from onereshape.graphs.size_limits.severity import SEVERITIES, Severity
from onereshape.ground import notebook
from onereshape.ground.text import JSON, as_json, brief, shown

_MOST_SHOWN = 50
"""Findings that a prompt shows."""
_NEXT_LINE = ",\n "


@dataclass(frozen=True, slots=True)
class FindingKind:
    """The row of a finding's code: its severity, its meaning in a sentence, and the command that helps."""

    severity: Severity
    """A finding may be milder: a declaration that holds for one size only is a warning."""
    meaning: str
    help: str = "`onereshape show MODEL --node NODE` shows data, target and output of the Reshape."


_FREE = "`onereshape fix MODEL -o OUT --batch` (or --free) writes the model with the dim free."
_SIMPLIFY = "`onereshape fix MODEL -o OUT --simplify` writes a simpler model."

CODES: dict[str, FindingKind] = {
    "spec-error": FindingKind("error", "The Reshape breaks the rules of its own specification."),
    "impossible-volume": FindingKind("error", "No input has as many elements as the target asks for."),
    "baked-dim": FindingKind("error", "A constant fixes a size that must be free to vary.", _FREE),
    "absorbed-dim": FindingKind(
        "error", "A -1 swallows the dim that another slot should carry; it runs, and answers wrongly.", _FREE
    ),
    "own-scale": FindingKind("error", "A scale is taken from all samples, where each must have its own.", _FREE),
    "size-condition": FindingKind("error", "The Reshape runs at some of the sizes only that the file declares."),
    "cannot-free": FindingKind(
        "error",
        "A dim that is to be free cannot be freed at this node.",
        "`onereshape fix MODEL -o OUT --batch --per-sample` runs a model that mixes its samples once for each of them.",
    ),
    "declared-mismatch": FindingKind(
        "error",
        "The file declares another shape than its operators compute.",
        "`onereshape show MODEL` shows what the Reshapes of the model compute.",
    ),
    "fixed-batch": FindingKind("note", "The model was exported for one sample.", _FREE),
    "foldable-target": FindingKind(
        "note", "The target is computed at run time and always equals a constant.", _SIMPLIFY
    ),
    "redundant-allowzero": FindingKind("note", "allowzero=1 changes nothing for this target.", _SIMPLIFY),
    "identity": FindingKind("note", "The Reshape changes nothing.", _SIMPLIFY),
    "chain": FindingKind("note", "A Reshape of a Reshape; one would do.", _SIMPLIFY),
    "gave-up": FindingKind(
        "note",
        "Something is too large to be followed, and stays unknown from there on.",
        "`onereshape show MODEL` shows what is known of each Reshape.",
    ),
}
"""Code -> its row, in the order in which findings of one node are given."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, with everything that a person or a machine needs to find the place.

    >>> import onereshape as orx
    >>> found = orx.check("tests/data/corpus/hand_yolo_head.ts.onnx", batch=True)[0]
    >>> found
    Finding(baked-dim, /Reshape: N is forced to 1 by /Reshape: shape[0] = 1)
    >>> found.severity, found.tensor, found.origin, found.fixable
    ('error', '/Constant_output_0', 'Constant node /Constant', True)
    """

    code: str
    """What it is, as docs/findings.md calls it: `baked-dim`, `absorbed-dim`, `spec-error` ..."""
    severity: Severity
    """How bad it is: `error`, `warning` or `note`."""
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
    fixable: bool | None
    """Whether `fix` can repair it; None: nobody knows before `fix` has tried."""
    next: str | None = None
    """What to do next: a command that can be pasted into a shell, or a call of Python where the model is no file."""

    def __repr__(self) -> str:
        return brief("Finding", self.code, f"{shown(self.node, 40)}: {self.message}")

    def to_json(self) -> dict[str, JSON]:
        """The fields, for machines."""
        return {name: as_json(getattr(self, name)) for name in self.__slots__}


class Findings(list[Finding]):
    """What `check` found: a list, which a prompt shows a line each and a notebook as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        lines = [repr(finding) for finding in self[:_MOST_SHOWN]]
        if len(self) > _MOST_SHOWN:
            lines.append(f"... and {len(self) - _MOST_SHOWN} more")
        return f"[{_NEXT_LINE.join(lines)}]"

    def _repr_html_(self) -> str:
        """The findings as a table, for notebooks."""
        counts = Counter(finding.severity for finding in self)
        said = [f"{counts[each]} {each}{'' if counts[each] == 1 else 's'}" for each in SEVERITIES if counts[each]]
        rows = [(each.severity, each.code, each.node, _told(each), each.next or "") for each in self]
        head = ("severity", "code", "node", "what is wrong", "what to do next")
        return notebook.block("Findings", ", ".join(said) or "none", notebook.table(head, rows))


def _told(finding: Finding) -> str:
    return f"{finding.message} ({finding.origin})" if finding.origin else finding.message
