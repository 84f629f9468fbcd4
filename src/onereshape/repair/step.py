"""One repair of a model and its certificate: what `fix` does once or twice, whatever is freed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from onereshape.formats.model import Model, refreshed
from onereshape.formats.onnx.onnx_graphs import MOST_UNFOLDED, copyable, unfolded
from onereshape.formats.onnx.onnx_sound import blamed, check_data, fault
from onereshape.formats.refusals import cause
from onereshape.graphs.edit import Change
from onereshape.graphs.exports import Freed, other_weights
from onereshape.graphs.request import Progress
from onereshape.ground import notebook
from onereshape.ground.errors import FixError
from onereshape.ground.isolation.budget import Limits, late, limited
from onereshape.ground.text import brief
from onereshape.prove.certificate import Certificate, joined
from onereshape.prove.pairing import called
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.words import until_then
from onereshape.repair.work import Work
from onereshape.rule.condition import never_empty


@dataclass(frozen=True, slots=True)
class Fixed:
    """A repaired model, what was changed in it, and what shows that it is right.

    >>> import onereshape as orx
    >>> fixed = orx.fix("tests/data/corpus/hand_cls_token_expand.ts.onnx", batch=True)
    >>> fixed
    Fixed(1 change, proven for all N >= 1, compared at N = 1, 2, 3)
    >>> fixed.freed, fixed.conditions
    ({'x': {0: 'N'}}, ())
    """

    model: Model
    """The repaired model; the one that was given, where nothing had to be changed."""
    changes: tuple[Change, ...]
    """What was rewritten, in the order of the graph; declared dims are not among them."""
    certificate: Certificate | None
    """What onnxruntime and the term run said of both models, or of one that is right as it is; None where they were not
    asked.  Its status is `proven`,
    `certified`, `fitted` (on the exports that were given) or, where that was asked for, `unwitnessed`."""
    conditions: tuple[str, ...] = ()
    """What the freed sizes must satisfy."""
    freed: Freed = field(default_factory=dict)
    """Input -> axis -> the name of a dim that is free now."""
    notes: tuple[str, ...] = ()
    """What was decided without being asked: axes that carry the batch, and were not the likely ones."""

    def __repr__(self) -> str:
        return brief("Fixed", self._changed(), self._shown())

    def _repr_html_(self) -> str:
        """The changes as a table, for notebooks."""
        rows = [(each.node, each.op, each.before, each.after, each.message) for each in self.changes]
        shown = self._shown() if self.certificate is None else f"{self.certificate.status}: {self.certificate.reason}"
        return notebook.block(
            "Fixed",
            f"{self._changed()}, {shown}",
            notebook.table(("node", "operator", "before", "after", "why"), rows),
            notebook.lines([f"holds if {condition}" for condition in self.conditions]),
            notebook.lines(self.notes),
        )

    def _changed(self) -> str:
        count = len(self.changes)
        return f"{count or 'no'} change{'' if count == 1 else 's'}"

    def _shown(self) -> str:
        return "no certificate" if self.certificate is None else self.certificate.summary


@dataclass(frozen=True, slots=True)
class Wish:
    """The options of `fix` that hold for each of its steps, whatever it frees."""

    certify: bool
    unwitnessed: bool
    seed: int
    limit: Limits
    progress: Progress | None
    fitted: tuple[Model, ...] = ()
    """Other exports that the first step is fitted on,"""
    witnesses: tuple[Model, ...] = ()
    """and those that it does not use: where something differs, their weights may."""
    per_sample: bool = False
    """Whether a batch that cannot be freed is run sample by sample."""
    likely: bool = False
    """Whether nobody named the axes of the batch."""
    new_axis: bool = True
    """Whether an output that one sample has without a batch gets an axis for it."""
    thorough: bool = False
    """Whether unusual values and other neighbours are run although terms prove the repair."""

    def asking(self, comparison: Comparison) -> Comparison:
        """The question of a certificate, asked as is wished."""
        return replace(comparison, seed=self.seed, thorough=self.thorough, progress=self.progress)


def step(  # noqa: PLR0913 - what a step depends on
    given: Model,
    decide: Callable[[Model], Work] | None,
    wish: Wish,
    *,
    simplify: bool,
    owned: bool,
    before: tuple[str, ...] = (),
) -> Fixed:
    """One repair, and its certificate; `before` are the conditions of the step before it."""
    inline = decide is not None
    fixed = copied(given, inline=inline, needed=wish.certify or simplify or not owned)
    changes: list[Change] = []
    comparison = Comparison()
    freed: Freed = {}
    conditions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    needed = False
    if decide is not None:
        with blamed(fixed):
            work = decide(fixed)
        needed, comparison, conditions, freed = work.needed, work.comparison, work.conditions, work.freed
        notes = work.notes
        changes += work.changes
        if needed:
            with blamed(given, rewritten=fixed is given):
                work.apply()
    if simplify:
        from onereshape.repair.simpler.simplify import simplify as simplified  # noqa: PLC0415 - only who asks for it needs it

        with blamed(given):
            found = simplified(fixed.ir)
        needed = needed or bool(found)
        changes += found
        conditions = tuple(dict.fromkeys([*conditions, *(each for change in found for each in change.conditions)]))
    refusal = None if decide is None else work.unless_proven
    if refusal is not None and not (needed and wish.certify):
        raise refusal
    if not needed:
        return Fixed(given, (), None, conditions, notes=notes)
    certificate = None
    if wish.certify:
        asking = replace(wish.asking(comparison), never_empty=never_empty([*before, *conditions]))
        with limited(wish.limit):
            certificate = certificate_of(given, fixed, freed, asking)
        if not certificate.suffices and not (wish.unwitnessed and certificate.status == "unwitnessed"):
            raise refusal or _refusal(given, certificate, wish)
        if refusal is not None and not certificate.for_all:
            raise refusal
    return Fixed(refreshed(fixed), tuple(changes), certificate, conditions, freed, notes)


def _refusal(given: Model, certificate: Certificate, wish: Wish) -> FixError:
    """What is raised instead of a model that is not good enough."""
    code, why = "unwitnessed" if certificate.status == "unwitnessed" else "not-certified", certificate.reason
    if certificate.status == "out-of-time":
        over = late(wish.limit.seconds)
        over.fields["why"] = until_then(certificate.evidence)
        over.certificate = certificate
        return over
    if certificate.status in {"not proven", "differs"} and certificate.kind == "other":
        if (other := other_weights(given, wish.fitted)) is not None:
            code, why = "unlike", other
        elif (other := other_weights(given, wish.witnesses)) is not None:
            why += f" ({other})"
    error = FixError(code, why=why)
    error.certificate = certificate
    return error


def both(first: Fixed, second: Fixed) -> Fixed:
    """One `Fixed` of two steps: the changes, conditions and certificates of both."""
    conditions = tuple(dict.fromkeys([*first.conditions, *second.conditions]))
    certificate = joined(first.certificate, second.certificate)
    freed = {
        name: {**first.freed.get(name, {}), **second.freed.get(name, {})} for name in {**first.freed, **second.freed}
    }
    changes, notes = (*first.changes, *second.changes), (*first.notes, *second.notes)
    return Fixed(second.model, changes, certificate, conditions, freed, notes)


def copied(model: Model, *, inline: bool, needed: bool = True) -> Model:
    """The model to be rewritten; to free a dim, functions are put where they are called, as each call may differ.

    It is the given one where no copy is needed and one could be made: what cannot be copied is refused in any case.
    """
    if inline:
        _check_unfolded(model)
    if not needed and not model.ir.functions and copyable(model.ir.graph):
        return model
    try:
        copy = model.ir.clone()
        if inline and copy.functions:
            from onnx_ir.passes.common import InlinePass  # noqa: PLC0415 - takes long

            InlinePass()(copy)
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir raises for a graph that is none: it has no class for it
        raise FixError("unsupported-model", why=fault(model, cause(error))) from None
    return replace(model, content=copy)


def _check_unfolded(model: Model) -> None:
    if unfolded(model.ir) > MOST_UNFOLDED:
        why = f"{model.path}: its functions unfold to more than {MOST_UNFOLDED} nodes"
        raise FixError("unsupported-model", why=why)


def certificate_of(given: Model, fixed: Model, asked: Freed, comparison: Comparison) -> Certificate:
    from onereshape.prove.run_both import certify  # noqa: PLC0415 - onnxruntime takes long

    with blamed(given):
        check_data(given)
        return certify(called(given.ir, asked), fixed.ir, asked, comparison, base_dir=given.folder)
