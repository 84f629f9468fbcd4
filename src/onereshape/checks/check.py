"""check(): what is wrong with the Reshapes of a model, without running it.

The rules of Reshape are those of `infer`, and the shapes of everything else are `facts`.  What stands in the way
of a dim that is to be free is found by planning its repair, and what could be simpler by planning that.  A batch that
no rule frees is judged by the terms, as `fix` does, and what only runs could tell is a warning.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import onnx_ir as ir

from onereshape.checks.findings.declared import given_up, mismatches
from onereshape.checks.findings.finding import CODES, Finding, Findings
from onereshape.checks.findings.next_step import NextStep
from onereshape.checks.findings.places import Places
from onereshape.checks.findings.reshapes import finding_of, of_view, refused
from onereshape.checks.repairs import Repairs, asked_step, fixed_batch
from onereshape.formats.given import Given
from onereshape.formats.model import Model
from onereshape.formats.model_data import ModelData
from onereshape.formats.onnx.onnx_sound import blamed
from onereshape.graphs.edit import Change
from onereshape.graphs.exports import Freed
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.irs import imaged, told_of_layers
from onereshape.graphs.request import Batch, Free, given_model, requested
from onereshape.graphs.shapes import facts_of
from onereshape.graphs.size_limits.forced import FixedDims, absorbed, forced
from onereshape.graphs.size_limits.free_names import places_as_names, symbol_places
from onereshape.graphs.size_limits.limited import in_words, limited
from onereshape.graphs.size_limits.severity import Severity
from onereshape.ground.errors import FixError
from onereshape.ground.text import listed

if TYPE_CHECKING:
    from onereshape.repair.fix import RepairPlan

RUNS = "`fix` runs the model, and leaves it as it is if that shows nothing wrong"
"""Of a model that no rule frees, or that one would rewrite, and whose batch may be right already."""
_MAY_BE_MEANT = frozenset({"absorbed-dim"})
"""What runs at every size: `fix` leaves it, if the terms show that all samples come out apart all the same."""
_MOST_INPUTS = 4
"""Inputs that a message names."""
_SIMPLER = NextStep("fix", options=("simplify",))


class _Advised(NamedTuple):
    """A finding, and what to do about it; None: look at the node."""

    finding: Finding
    step: NextStep | None = None


def check(
    model: Given,
    *,
    batch: Batch = None,
    free: Free = None,
) -> Findings:
    """What is wrong with the Reshapes of a model, in the order of its graph, without running it.

    >>> import onereshape as orx
    >>> for found in orx.check("tests/data/corpus/hand_yolo_head.ts.onnx", batch=True)[:2]:
    ...     print(found.code, found.node, found.message)
    baked-dim /Reshape N is forced to 1 by /Reshape: shape[0] = 1
    absorbed-dim /Reshape_2 the -1 at shape[1] swallows N, which belongs in shape[0] = 1: a wrong answer, no error

    Args:
        model: What to look at.
        batch: Also say what keeps the batch from varying.  True, or the axis of each input that carries it: `{"x": 0}`.
        free: Also say what keeps other dims from varying, under these names: `{"x": {1: "S"}}`.

    """
    owned = not isinstance(model, ModelData)
    found = given_model(model)
    given = imaged(found)
    with blamed(given, rewritten=owned):
        told = _findings(given, batch, free, owned=owned or given is not found)
        findings = [each.finding for each in told]
        if given is not found:
            findings = told_of_layers(findings, given.ir)
        return Findings(_with_steps(findings, [each.step for each in told], found))


def _with_steps(findings: Iterable[Finding], steps: Iterable[NextStep | None], model: Model) -> list[Finding]:
    """The findings with what to type next; where there is nothing to repair, the node is shown."""
    names = Counter(node.name for node in model.reshapes)
    places = {node.place for node in model.reshapes}
    said: dict[NextStep, str | None] = {}
    found: list[Finding] = []
    for finding, given in zip(findings, steps, strict=True):
        step = given
        if step is None:
            clear = names[finding.node] == 1 and (finding.node not in places or finding.node == finding.place)
            node = finding.node if clear else finding.place if finding.place in places else None
            step = NextStep("show", node=node)
        if step not in said:
            said[step] = step.of(model)
        found.append(replace(finding, next=said[step]))
    return found


def _findings(found: Model, batch: Batch, free: Free, *, owned: bool) -> list[_Advised]:
    both = ((requested(found, batch), True), (requested(found, free=free), False))
    wishes = [(asked, batched) for asked, batched in both if asked]
    if found.format != "onnx":
        return [_Advised(each) for each in of_view(found)]
    places = Places(found.ir)
    facts = facts_of(found.ir, places_as_names(symbol_places(found.ir)))
    told = [*_of_onnx(found, facts, places, planning=not wishes)]
    if wishes:
        from onereshape.repair.fix import planned  # noqa: PLC0415 - takes long, and is rarely needed

        plans = [
            (
                partial(planned, found, asked, batch=batched, likely=batch is True, facts=facts),
                partial(_works, found, asked, likely=batch is True) if batched else lambda error: (error, False, False),
                partial(_right, found) if batched else lambda _: False,
            )
            for asked, batched in wishes
        ]
        told = _with_plans(found.ir, told, places, plans, asked_step(batch, free) or _SIMPLER)
    elif not any(each.finding.severity == "error" for each in told):
        told += _fixed_batch(found)
    order = places.order  # as long as the model is what it was
    told += _simpler(found, facts, places, owned=owned)
    codes = {code: index for index, code in enumerate(CODES)}
    first, last = -1, len(codes)
    return sorted(
        dict.fromkeys(told),
        key=lambda each: (order.get(each.finding.place, first), codes.get(each.finding.code, last)),
    )


def _of_onnx(model: Model, facts: Facts, places: Places, *, planning: bool) -> Iterator[_Advised]:
    yield from map(_Advised, refused(model, facts))
    yield from map(_Advised, mismatches(model.ir, facts, places))
    yield from _limiting(model, facts, places, planning=planning)
    yield from map(_Advised, given_up(facts, places))


def _limiting(model: Model, facts: Facts, places: Places, *, planning: bool) -> Iterator[_Advised]:
    """Dims that the file says are dynamic, and that a Reshape fixes, swallows, or takes at some sizes only."""
    symbols = symbol_places(model.ir)
    if not symbols:
        return
    said: list[tuple[FixedDims, Finding]] = []
    for node in model.reshapes:
        baked, swallowed = forced(node, facts, symbols), absorbed(node, facts, symbols)
        for code, found in (("baked-dim", baked), ("absorbed-dim", swallowed)):
            said += [(each, finding_of(code, node, in_words(each.message))) for each in found]
    for limit in limited(model, facts, symbols):
        finding = replace(finding_of("size-condition", limit.node, in_words(limit.message)), severity=limit.severity)
        said.append((FixedDims(limit.names, plain=False, message=limit.message), finding))
    if said:
        repairs = Repairs(model, symbols, places.called, planning=planning)
        plain = all(held.plain for held, _ in said) and len({name for held, _ in said for name in held.names}) == 1
        for held, finding in said:
            yield from _mended(finding, held, repairs, plain=plain, anywhere=bool(model.ir.functions))


def _mended(finding: Finding, held: FixedDims, repairs: Repairs, *, plain: bool, anywhere: bool) -> Iterator[_Advised]:
    """A finding with the repair that rewrites its node, as far as there is one.

    `fix` compares before it writes, at sizes at which the original runs: it can find them where one dim alone is in the
    way, and that is 1.
    """
    names = held.names if finding.severity == "error" else ()
    for name in names if finding.code != "size-condition" else filter(repairs.may_be_batch, names):
        repair = repairs.of(name)
        mends = False if repair is None else repair.mends(finding.place, anywhere=anywhere)
        if repair is not None and mends is not False:
            right = repairs.right(repair) if finding.code in _MAY_BE_MEANT else False
            found = _as_far_as(right, [replace(finding, fixable=mends)], sure=plain)
            yield from (_Advised(each, repair.step) for each in found)
            return
    yield _Advised(finding)


def _fixed_batch(model: Model) -> Iterator[_Advised]:
    """The note `fixed-batch` for a model that was exported for one sample; its next step is `fix --batch`."""
    axes = fixed_batch(model.ir)
    if axes:
        yield _Advised(_fixed(axes, 1, fixable=None), NextStep("fix", batch=True))


def _fixed(axes: Mapping[str, int], size: int, *, fixable: bool | None) -> Finding:
    where = listed([f"{name}:{axis}" for name, axis in axes.items()], _MOST_INPUTS)
    name, message = next(iter(axes)), f"the batch is fixed to {size} at {where}"
    return Finding("fixed-batch", "note", name, "graph", "input", name, None, message, fixable)


Works = Callable[[FixError], tuple[FixError, bool | None, bool]]
"""What is to be said of a model that a rule refuses, whether it works all the same (None: that takes runs), and whether
it can run sample by sample."""


def _right(model: Model, planned: RepairPlan) -> bool | None:
    """Whether a model is right at any batch as it is, whatever a rule would change; None: only runs tell."""
    from onereshape.repair.last_word import last_word  # noqa: PLC0415 - as above

    return last_word(model, planned.freed, None, outputs=planned.outputs).works if planned.changes else False


def _works(model: Model, asked: Freed, refusal: FixError, *, likely: bool) -> tuple[FixError, bool | None, bool]:
    from onereshape.repair.last_word import by_terms, final, has_way_out  # noqa: PLC0415 - as above
    from onereshape.repair.longest import tell_longest  # noqa: PLC0415 - as above

    asked = requested(model, refusal.axes) if refusal.axes else asked
    axes = {name: axis for name, dims in asked.items() for axis in dims}
    works = by_terms(model, asked, refusal, likely=likely)
    last = refusal if works else final(model.ir, axes, refusal, likely=likely, per_sample=False)
    if last is not refusal:
        if works is False:
            raise last
        last.fields |= {key: value for key, value in refusal.fields.items() if key not in last.fields}
    way_out = has_way_out(model.ir, axes, refusal)
    if last is refusal and not works:
        tell_longest(refusal, model.ir, asked)
    return last, works, way_out


def _with_plans(
    model: ir.Model,
    told: list[_Advised],
    places: Places,
    plans: Iterable[tuple[Callable[[], RepairPlan], Works, Callable[[RepairPlan], bool | None]]],
    step: NextStep,
) -> list[_Advised]:
    """The findings, with what the repairs of the asked dims would change, or why there is none."""
    changed: list[Finding] = []
    refusals: list[_Advised] = []
    false: set[str | None] = set()
    known: set[tuple[str, str]] = set()
    for plan, works, right in plans:
        try:
            planned = plan()
            found = [_of_change(change, places.called) for change in planned.changes]
            known |= {(each.code, each.place) for each in found}
            false |= planned.declared
            changed += _as_far_as(right(planned), [*found, *_declared(model, planned)], sure=planned.sure)
        except FixError as error:
            if error.usage:
                raise
            said, working, by_sample = works(error)
            refusals += _cannot(places, said, step, working, by_sample)
    if refusals:  # one command frees all that is asked, or nothing
        able = all(each.finding.fixable is not False for each in refusals)
        changed = [replace(each, fixable=None if able else False) for each in changed]
    kept = [each for each in told if (each.finding.code, each.finding.place) not in known]
    if not refusals:
        kept = [_declaring(each, step) if each.finding.tensor in false else each for each in kept]
    return [*(_Advised(each, step) for each in changed), *kept, *refusals]


def _as_far_as(right: bool | None, found: Iterable[Finding], *, sure: bool) -> Iterator[Finding]:
    """The findings of a plan: none of a model that is right already, and no errors where only runs tell."""
    for each in found if not right else ():
        if right is None:
            severity: Severity = "warning" if each.severity == "error" else each.severity
            yield replace(each, severity=severity, message=f"{each.message}; {RUNS}", fixable=None)
        else:
            yield each if sure else replace(each, fixable=None)


def _declared(model: ir.Model, planned: RepairPlan) -> Iterator[Finding]:
    """What keeps a batch from varying where nothing else does: inputs that are declared with a number."""
    inputs = {value.name or "": value.shape for value in model.graph.inputs}
    axes = {name: axis for name, dims in planned.freed.items() for axis in dims}
    sizes = {(shape[axis] if (shape := inputs[name]) is not None else None) for name, axis in axes.items()}
    numbers = [size for size in sizes if isinstance(size, int)]
    if numbers and not planned.changes:
        yield _fixed(axes, numbers[0], fixable=True)


def _declaring(told: _Advised, step: NextStep) -> _Advised:
    """The finding of a declaration that a repair mends."""
    if told.finding.code != "declared-mismatch":
        return told
    return _Advised(replace(told.finding, fixable=True), step)


def _cannot(places: Places, error: FixError, step: NextStep, works: bool | None, by_sample: bool) -> Iterator[_Advised]:
    """A refusal, unless the model works all the same."""
    if works:
        return
    node, op = str(error.fields.get("node", "")), str(error.fields.get("op", ""))
    place, tensor = places.called.get(node, node), _name(error.fields.get("tensor"))
    more = [RUNS] if works is None else []
    message = "; ".join([error.sentence, *getattr(error, "__notes__", ()), *more])
    severity: Severity = "warning" if works is None else "error"
    fixable = None if works is None else False
    finding = Finding("cannot-free", severity, node, place, op, tensor, None, message, fixable)
    next_step = step if works is None else step.with_option("per_sample") if by_sample else None
    yield _Advised(finding, next_step)


def _name(field: object) -> str | None:
    return field if isinstance(field, str) else None


def _simpler(model: Model, facts: Facts, places: Places, *, owned: bool) -> list[_Advised]:
    """What `fix --simplify` would make of the model; the last thing that is asked of one that is owned."""
    from onereshape.repair.simpler.simplify import simplifications  # noqa: PLC0415 - as above

    called = places.called  # as long as the model is what it was
    return [_Advised(_of_change(each, called), _SIMPLER) for each in simplifications(model, facts, owned=owned)]


def _of_change(change: Change, called: Mapping[str, str]) -> Finding:
    severity: Severity = CODES[change.code].severity if change.code in CODES else "error"
    told = (change.op, change.tensor, change.origin, change.message)
    return Finding(change.code, severity, change.node, called.get(change.node, change.node), *told, fixable=True)
