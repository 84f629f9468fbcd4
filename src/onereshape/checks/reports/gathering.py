"""Everything that a page tells of a model: what `check` finds, what `fix` makes of it, and both as they are drawn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from onereshape.checks.check import RUNS, check
from onereshape.checks.findings.finding import Finding
from onereshape.checks.reports.sides import Side
from onereshape.checks.show import ReshapeRow, rows_of
from onereshape.checks.summary import summary
from onereshape.formats.model import Model
from onereshape.formats.onnx.onnx_sound import blamed
from onereshape.graphs.edit import Change
from onereshape.graphs.exports import Exports, Freed
from onereshape.graphs.irs import imaged
from onereshape.graphs.request import Batch, Free, Progress, requested
from onereshape.graphs.size_limits.free_names import symbol_places
from onereshape.ground.errors import FixError
from onereshape.ground.isolation.budget import WHOLE
from onereshape.repair.fix import fix
from onereshape.repair.step import Fixed, copied


@dataclass(frozen=True, slots=True)
class Asking:
    """What is asked of `fix`, and how it is run."""

    batch: Batch = None
    free: Free = None
    like: Exports = None
    witness: Exports = None
    per_sample: bool = False
    unwitnessed: bool = False
    certify: bool = True
    seed: int = 0
    timeout: float = WHOLE
    memory: int | None = None
    progress: Progress | None = None

    @property
    def repair(self) -> bool:
        """Whether anything is to be freed."""
        return self.batch not in (None, False) or self.free is not None or self.like is not None


@dataclass(frozen=True, slots=True)
class Case:
    """One finding, one change, or both, where a change repairs what was found."""

    finding: Finding | None
    change: Change | None


@dataclass(frozen=True, slots=True)
class Story:
    """The content of a page: the model, its findings and changes, the repair, and the models to draw."""

    model: Model
    asking: Asking
    fixed: Fixed | None
    """The repaired model; None where nothing is asked, or it is refused."""
    refusal: FixError | None
    changes: tuple[Case, ...]
    findings: tuple[Case, ...]
    """What was found and is not repaired."""
    rows: tuple[ReshapeRow, ...]
    """The Reshapes of the repaired model, or else of the original."""
    before: dict[str, Any]
    after: dict[str, Any] | None
    original: Side | None
    """The model as it is drawn; None of a file of which only the Reshapes are read."""
    inlined: Side | None
    """The original with its functions unfolded where they are called, as a repair has them."""
    repaired: Side | None
    names: frozenset[str]
    """The sizes whose ways are told."""

    @property
    def is_changed(self) -> bool:
        """Whether a repaired model differs from the original."""
        return self.fixed is not None and self.fixed.model is not self.model


def gathered(model: Model, asking: Asking) -> Story:
    """What there is to tell of a model, which is not changed."""
    fixed, refusal = _fixed(model, asking)
    findings = _settled(_found(model, asking), fixed, refusal)
    changes, left = _paired(findings, () if fixed is None else fixed.changes)
    changed = fixed is not None and fixed.model is not model
    try:
        given: Model | None = imaged(model)
    except FixError:  # an IR that keeps a state
        given = None
    freed = _freed(given, asking, fixed)
    with blamed(model):
        original, inlined = _sides(given, freed, inline=changed)
        repaired = None
        if fixed is not None and changed:
            made = imaged(fixed.model)
            repaired = Side(made.ir, freed)
        known = (
            repaired.facts
            if repaired is not None and fixed is not None and repaired.model is fixed.model.content
            else None
        )
        rows = rows_of(fixed.model if fixed is not None else model, known)
    names = frozenset(name for axes in freed.values() for name in axes.values())
    if not names and original is not None:
        names = frozenset(symbol_places(original.model))
    after = summary(fixed.model) if fixed is not None and changed else None
    return Story(
        model=model,
        asking=asking,
        fixed=fixed,
        refusal=refusal,
        changes=tuple(changes),
        findings=tuple(left),
        rows=tuple(rows),
        before=summary(model),
        after=after,
        original=original,
        inlined=inlined,
        repaired=repaired,
        names=names,
    )


def _fixed(model: Model, asking: Asking) -> tuple[Fixed | None, FixError | None]:
    """The model repaired by `fix`, or its refusal; neither where no dim is to be freed."""
    if not asking.repair:
        return None, None
    try:
        found = fix(
            model,
            batch=asking.batch,
            free=asking.free,
            like=asking.like,
            witness=asking.witness,
            per_sample=asking.per_sample,
            unwitnessed=asking.unwitnessed,
            certify=asking.certify,
            seed=asking.seed,
            timeout=asking.timeout,
            memory=asking.memory,
            progress=asking.progress,
        )
    except FixError as error:
        if error.usage:
            raise
        return None, error
    return found, None


def _found(model: Model, asking: Asking) -> list[Finding]:
    """The findings; what other exports tell of dims is not asked of `check`, which does not know them."""
    asked = {} if asking.like is not None else {"batch": asking.batch, "free": asking.free}
    return [*check(model, **asked)]  # type: ignore[arg-type]


def _settled(findings: list[Finding], fixed: Fixed | None, refusal: FixError | None) -> list[Finding]:
    """The findings after what `fix` said: what only runs could tell, it told."""
    if fixed is not None:
        open_ = [each for each in findings if each.message.endswith(RUNS)] if not fixed.changes else []
        return [each for each in findings if each.code != "cannot-free" and not _is_mended(each) and each not in open_]
    if refusal is None:
        return findings
    return [
        replace(each, severity="error", message=each.message.removesuffix(f"; {RUNS}"), fixable=False)
        if each.message.endswith(RUNS)
        else each
        for each in findings
    ]


def _is_mended(finding: Finding) -> bool:
    """Whether it is about a declaration that every repair mends."""
    return finding.fixable is True and finding.code in {"declared-mismatch", "fixed-batch"}


def _paired(findings: list[Finding], changes: tuple[Change, ...]) -> tuple[Iterator[Case], Iterator[Case]]:
    """Changes with the findings that they repair, and the findings that are left."""
    by_node: dict[tuple[str, str], deque[Finding]] = {}
    for finding in findings:
        by_node.setdefault((finding.code, finding.node), deque()).append(finding)
    done = []
    for change in changes:  # nodes that share a name come in the same order
        waiting = by_node.get((change.code, change.node))
        done.append(Case(waiting.popleft() if waiting else None, change))
    told = {(change.code, change.node) for change in changes}
    left = [Case(finding, None) for finding in findings if (finding.code, finding.node) not in told]
    return iter(done), iter(left)


def _freed(given: Model | None, asking: Asking, fixed: Fixed | None) -> Freed:
    """The dims that are to be free, with their names."""
    if fixed is not None and fixed.freed:
        return fixed.freed
    if given is None or not asking.repair:
        return {}
    named, batched = requested(given, None, asking.free), requested(given, asking.batch, None)
    return {name: {**named.get(name, {}), **batched.get(name, {})} for name in {**named, **batched}}


def _sides(given: Model | None, freed: Freed, *, inline: bool) -> tuple[Side | None, Side | None]:
    if given is None or given.format != "onnx":
        return None, None
    original = Side(given.ir, freed)
    if not (inline and given.ir.functions):
        return original, original
    return original, Side(copied(given, inline=True).ir, freed)
