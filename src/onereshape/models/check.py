"""check(): what is wrong with the Reshapes of a model, without running it.

The rules of Reshape are those of `infer`, and the shapes of everything else are `facts`.  What stands in the way
of a dim that is to be free is found by planning its repair, and what could be simpler by planning that.  A batch that
no rule frees is judged by the terms, as `fix` does, and what only runs could tell is a warning.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from onereshape.dims import Dim, show, shown
from onereshape.errors import FixError, ReshapeError
from onereshape.formats.model import Model, ReshapeNode
from onereshape.formats.model_files import load
from onereshape.formats.onnx_graphs import every, nodes as walk, roots
from onereshape.formats.onnx_sound import blamed
from onereshape.models.edit import Change, origin_of
from onereshape.models.exports import Freed
from onereshape.models.findings.finding import CODES, SEVERITIES, Finding, Severity
from onereshape.models.findings.forced import absorbed, forced
from onereshape.models.findings.limited import limited
from onereshape.models.request import Batch, Free, requested
from onereshape.models.facts.facts import Facts
from onereshape.models.images import findings_of, imaged
from onereshape.models.shapes import facts_of
from onereshape.models.findings.verdicts import contradiction, judged

if TYPE_CHECKING:
    from onereshape.models.fix import Plan

_VOLUME = frozenset({"volume", "indivisible", "impossible-volume", "empty-copy-with-inferred"})
"""The refusals that no input can escape although the words are right."""
_PLACE = re.compile(r"\(([^()\s]+\[\d+\])\)")
"""A dim that is called by its place needs no brackets, whatever it is multiplied by."""
_RUNS = "`fix` runs the model, and leaves it as it is if that shows nothing wrong"
"""Of a model that no rule frees, and whose batch may be right already."""
_MOST_TOLD = 16
"""Places at which `check` gave up that are told one by one."""
_MOST_PLANNED, _FEWEST_PLANS = 5_000, 4
"""Whether a name can be freed is found by planning it: for so many nodes, all names together, and a few in any case."""


def check(
    model: Model | str | os.PathLike[str],
    *,
    batch: Batch = None,
    free: Free = None,
) -> list[Finding]:
    """The findings of a model, the worst first; with `batch`, `free` or both, also what keeps those dims from varying.

    `batch` is True for the axes that are likely to carry it (see `fix`), or gives the axis of each input; `free` gives
    axes with the names that their dims are to have.
    """
    owned = not isinstance(model, Model)
    found = model if isinstance(model, Model) else load(model)
    given = imaged(found)
    with blamed(given, rewritten=owned):
        findings = _findings(given, batch, free, owned=owned or given is not found)
        return findings if given is found else findings_of(findings, given.ir)


def _findings(found: Model, batch: Batch, free: Free, *, owned: bool) -> list[Finding]:
    both = ((requested(found, batch), True), (requested(found, free=free), False))
    wishes = [(asked, batched) for asked, batched in both if asked]
    places = _Places(found.ir)
    if found.format != "onnx":
        findings = list(_of_view(found))
    else:
        facts = facts_of(found.ir, _places_as_names(found.ir))
        findings = list(_of_onnx(found, facts, places, repairs=batch is None and free is None))
        if wishes:
            from onereshape.models.fix import planned  # noqa: PLC0415 - takes long, and is rarely needed

            plans = [
                (
                    partial(planned, found, asked, batch=batched, likely=batch is True, facts=facts),
                    partial(_works, found, asked) if batched else lambda _: False,
                )
                for asked, batched in wishes
            ]
            findings = _with_plans(findings, places, plans)
        findings += _simpler(found, facts, places, owned=owned)
    order = {code: index for index, code in enumerate(CODES)}
    unique = list(dict.fromkeys(findings))
    return sorted(unique, key=lambda each: (SEVERITIES.index(each.severity), order.get(each.code, len(order))))


def _of_view(model: Model) -> Iterator[Finding]:
    """A model of which only the Reshapes are read."""
    for node in model.reshapes:
        error, dims = judged(node, node.data)
        if error is not None:
            yield _refusal(node, error)
        elif (said := contradiction(node.output, dims)) is not None:
            where, _ = said
            message = f"the output is declared {_listed(node.output)}, but it is {_listed(dims)}: {where}"
            yield replace(_finding("declared-mismatch", node, message), tensor="output", origin="declared in the file")


def _of_onnx(model: Model, facts: Facts, places: _Places, *, repairs: bool) -> Iterator[Finding]:
    graph: ir.Model = model.ir
    for node in model.reshapes:
        known: tuple[Dim, ...] | None = facts.dims.get(node.node.inputs[0]) if node.node.inputs else None
        error, _ = judged(node, known)
        error = facts.errors.get(node.node, error)
        if error is not None:
            yield _refusal(node, error)
        elif known is None and (error := judged(node, node.data)[0]) is not None:
            # What the file declares of values inside may be wrong, and engines do not look at it.
            yield replace(_refusal(node, error), severity="warning", origin="declared in the file")
    yield from _declared(graph, facts, places)
    yield from _baked(model, facts, repairs=repairs)
    for found in limited(model, facts, symbol_places(graph)):
        message = _PLACE.sub(r"\1", found.message)
        yield replace(_finding("size-condition", found.node, message), severity=found.severity)
    yield from _given_up(facts, places)


class _Places:
    """Where the nodes of a model are, found when somebody asks."""

    def __init__(self, model: ir.Model) -> None:
        self._model = model

    def _all(self) -> Iterator[tuple[ir.Node, str]]:
        return chain.from_iterable(walk(root, start) for root, start in roots(self._model))

    @cached_property
    def of(self) -> dict[ir.Node, str]:
        """The place of each node."""
        return dict(self._all())

    @cached_property
    def called(self) -> dict[str, str]:
        """The place of each node by what it is called: one without a name by its place, or by its first output."""
        found: dict[str, str] = {}
        for node, place in self._all():
            name = node.name
            found.setdefault(name or place, place)
            if not name and node.outputs:
                found.setdefault(f"{node.op_type} of {node.outputs[0].name}", place)
        return found


def _given_up(facts: Facts, places: _Places) -> Iterator[Finding]:
    """What was too large to follow: nothing is said of what comes after it."""
    for at, why in facts.given_up[:_MOST_TOLD]:
        node, place, op = (at.name or "", "graph", "input") if isinstance(at, ir.Value) else _called(at, places.of[at])
        message = f"{why}; it is taken as unknown, and nothing is said of what depends on it"
        yield Finding("gave-up", "note", node, place, op, None, None, message, fixable=False)
    if len(facts.given_up) > _MOST_TOLD:
        message = f"{len(facts.given_up) - _MOST_TOLD} more places are too large to follow"
        yield Finding("gave-up", "note", "graph", "graph", "graph", None, None, message, fixable=False)


def _called(node: ir.Node, place: str) -> tuple[str, str, str]:
    return node.name or place, place, node.op_type


def _declared(model: ir.Model, facts: Facts, places: _Places) -> Iterator[Finding]:
    """Declarations of outputs, and of what is between, that contradict what the operators compute."""
    symbols = set(input_symbols(model))
    ends = set(model.graph.outputs)
    for node in every(model.graph):
        for value in node.outputs:
            if value.shape is None or value not in facts.sizes:
                continue
            declared = tuple(_declared_dim(dim) for dim in value.shape)
            said = contradiction(declared, facts.dims[value], symbols)
            if said is None:
                continue
            where, severity = said
            what = "output" if value in ends else "value"
            message = (
                f"the {what} {value.name} is declared {_listed(declared)}, "
                f"but {node.op_type} gives {_listed(facts.dims[value])}: {where}"
            )
            place = places.of[node]
            name, code = node.name or place, "declared-mismatch"
            origin = f"declared as {'a graph output' if what == 'output' else 'value_info'}"
            yield Finding(code, severity, name, place, node.op_type, value.name, origin, message, fixable=False)


def _declared_dim(dim: Any) -> Dim:
    if isinstance(dim, int):
        return dim if dim >= 0 else None
    return dim.value or None


def symbol_places(model: ir.Model) -> dict[str, tuple[tuple[str, int], ...]]:
    """The names of the dims of inputs, each with all places that have it; a dim without one is called `x[0]`."""
    found: dict[str, tuple[tuple[str, int], ...]] = {}
    for value in model.graph.inputs:
        for axis, dim in enumerate(value.shape or ()):
            if isinstance(dim, ir.SymbolicDim) and not value.is_initializer():
                called = dim.value or f"{value.name}[{axis}]"
                found[called] = (*found.get(called, ()), (value.name or "", axis))
    return found


def input_symbols(model: ir.Model) -> dict[str, tuple[str, int]]:
    """The names of the dims of inputs, each with the first place that has it; a dim without one is called `x[0]`."""
    found: dict[str, tuple[str, int]] = {}
    for value in model.graph.inputs:
        for axis, dim in enumerate(value.shape or ()):
            if isinstance(dim, ir.SymbolicDim) and not value.is_initializer():
                found.setdefault(dim.value or f"{value.name}[{axis}]", (value.name or "", axis))
    return found


def _places_as_names(model: ir.Model) -> dict[str, dict[int, str]]:
    """Input -> axis -> the place as a name, for each dim of an input that is free and has none."""
    found: dict[str, dict[int, str]] = {}
    for name, (value, axis) in input_symbols(model).items():
        if name == f"{value}[{axis}]":
            found.setdefault(value, {})[axis] = name
    return found


def _baked(model: Model, facts: Facts, *, repairs: bool) -> Iterator[Finding]:
    """Dims of inputs that the file says are dynamic, and that a Reshape fixes or swallows."""
    symbols = input_symbols(model.ir)
    if not symbols:
        return
    can_repair: dict[str, bool] = {}
    most = max(_FEWEST_PLANS, _MOST_PLANNED // max(1, len(model.ir.graph)))
    for node in model.reshapes:
        said = [("baked-dim", *each) for each in forced(node, facts, symbols)]
        said += [("absorbed-dim", *each) for each in absorbed(node, facts, symbols)]
        for code, symbol, message in said:
            if symbol not in can_repair:
                can_repair[symbol] = repairs and len(can_repair) < most and _repairable(model, symbol, symbols)
            yield _finding(code, node, _PLACE.sub(r"\1", message), fixable=can_repair[symbol])


def _repairable(model: Model, symbol: str, symbols: Mapping[str, tuple[str, int]]) -> bool:
    """Whether `fix` could free a dim that has a name already."""
    from onereshape.models.fix import plan  # noqa: PLC0415 - as above

    name, axis = symbols[symbol]
    free = symbol if symbol != f"{name}[{axis}]" else _fresh(symbols)
    for asked in ({"batch": {name: axis}}, {"free": {name: {axis: free}}}):
        try:
            plan(model, **asked)
        except FixError:
            continue
        return True
    return False


def _fresh(taken: Container[str]) -> str:
    """A name that no dim has."""
    return next(name for count in itertools.count() if (name := f"N{count}") not in taken)


Works = Callable[[FixError], bool | None]
"""Whether a model works as it is though a rule refuses it; None: that takes runs."""


def _works(model: Model, asked: Freed, refusal: FixError) -> bool | None:
    from onereshape.models.unrepaired import by_terms  # noqa: PLC0415 - as above

    return by_terms(model, asked, refusal)


def _with_plans(
    findings: list[Finding], places: _Places, plans: Iterable[tuple[Callable[[], Plan], Works]]
) -> list[Finding]:
    """The findings, with what the repairs of the asked dims would change, or why there is none."""
    planned: list[Finding] = []
    refused: list[Finding] = []
    for plan, works in plans:
        try:
            planned += [_of_change(change, places.called) for change in plan().changes]
        except FixError as error:
            if error.usage:
                raise
            refused += _cannot(places, error, works=works(error))
    told = {(each.code, each.place) for each in planned}
    return [*planned, *(each for each in findings if (each.code, each.place) not in told), *refused]


def _cannot(places: _Places, error: FixError, *, works: bool | None) -> Iterator[Finding]:
    """A refusal, unless the model works all the same."""
    if works:
        return
    node, op = str(error.fields.get("node", "")), str(error.fields.get("op", ""))
    place, tensor = places.called.get(node, node), error.fields.get("tensor")
    more = [_RUNS] if works is None else []
    message = "; ".join([error.sentence, *getattr(error, "__notes__", ()), *more])
    severity: Severity = "warning" if works is None else "error"
    yield Finding("cannot-free", severity, node, place, op, tensor, None, message, fixable=False)


def _simpler(model: Model, facts: Facts, places: _Places, *, owned: bool) -> list[Finding]:
    """What `fix --simplify` would make of the model; the last thing that is asked of one that is owned."""
    from onereshape.models.simpler.simplify import simplifications  # noqa: PLC0415 - as above

    called = places.called  # as long as the model is what it was
    return [_of_change(change, called) for change in simplifications(model, facts, owned=owned)]


def _of_change(change: Change, called: Mapping[str, str]) -> Finding:
    severity: Severity = CODES[change.code].severity if change.code in CODES else "error"
    told = (change.op, change.tensor, change.origin, change.message)
    return Finding(change.code, severity, change.node, called.get(change.node, change.node), *told, fixable=True)


def _refusal(node: ReshapeNode, error: ReshapeError) -> Finding:
    """A Reshape that is refused, with the dims that it was refused for."""
    code = "impossible-volume" if error.code in _VOLUME else "spec-error"
    seen = [
        f"{what} {_listed(dims)}" for what, dims in (("data", error.data), ("target", error.target)) if dims is not None
    ]
    message = f"{' and '.join(seen)}: {error.sentence}" if seen else error.sentence
    return _finding(code, node, message)


def _finding(code: str, node: ReshapeNode, message: str, *, fixable: bool = False) -> Finding:
    """A finding of a Reshape, with its target."""
    target = node.node.inputs[1] if isinstance(node.node, ir.Node) and len(node.node.inputs) > 1 else None
    tensor, origin = (None, node.target_from) if target is None else (target.name, origin_of(target))
    severity, op = CODES[code].severity, node.spec.operator
    return Finding(code, severity, node.name, node.place, op, tensor, origin, message, fixable)


def _listed(dims: tuple[Dim, ...] | None) -> str:
    return "of any rank" if dims is None else f"[{', '.join(str(show(dim)) for dim in shown(dims))}]"
