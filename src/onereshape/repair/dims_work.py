"""Dims other than the batch freed: by the rules, or by what other exports of the model say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack

from onereshape.formats.model import Model
from onereshape.formats.onnx.onnx_sound import blamed
from onereshape.graphs.edit import Change
from onereshape.graphs.exports import Freed, check_weights, check_witnesses, numbered_alike, other_weights
from onereshape.ground.errors import FixError
from onereshape.prove.runs.comparison import Comparison
from onereshape.repair.step import copied
from onereshape.repair.work import Work
from onereshape.rule.condition import at_least


def free_work(given: Model, asked: Freed, witnesses: Sequence[Model], model: Model) -> Work:
    from onereshape.repair.dims.freeing import apply_free, free_plan  # noqa: PLC0415 - only who asks for it needs it

    witnesses = [numbered_alike(given, each) for each in witnesses]
    check_witnesses(given, (), witnesses, asked)
    found = free_plan(model.ir, asked)
    return Work(
        found.changes,
        lambda: apply_free(model.ir, found, asked),
        Comparison("other", promised=found.promised, witnesses=tuple(each.ir for each in witnesses)),
        bool(found.edits) or bool(found.dims),
        asked,
        tuple(dict.fromkeys([*found.conditions, *_not_empty(model, found.changes)])),
    )


def like_work(given: Model, names: Freed, others: Sequence[Model], witnesses: Sequence[Model], model: Model) -> Work:
    from onereshape.repair.fitting.contradicted import contradicted  # noqa: PLC0415 - only who asks for it needs it
    from onereshape.repair.fitting.plan import apply_like, like_plan  # noqa: PLC0415

    others, witnesses = ([numbered_alike(given, each) for each in models] for models in (others, witnesses))
    try:
        with ExitStack() as stack:
            for other in others:
                stack.enter_context(blamed(other))
            inlined = [copied(other, inline=True, needed=False).ir for other in others]
            found = like_plan(model.ir, inlined, names)
    except FixError as error:
        other_values = other_weights(given, others)
        if other_values is None or error.usage or error.code == "ambiguous":
            raise
        raise FixError("unlike", why=other_values) from error
    check_witnesses(given, others, witnesses, found.freed)
    check_weights(given, others, witnesses)
    for witness in witnesses:
        with blamed(witness):
            its = copied(witness, inline=True, needed=False).ir
        name = contradicted(copied(given, inline=True).ir, inlined, its)
        if name is not None:
            why = f"the constant {name} is another in the witness {witness.path}, and the same in all other exports"
            raise FixError("unlike", why=why)
    exports, unused = (tuple(each.ir for each in models) for models in (others, witnesses))
    return Work(
        found.changes,
        lambda: apply_like(model.ir, found),
        Comparison("other", promised=found.promised, fitted=exports, witnesses=unused, clauses=found.clauses),
        needed=True,
        freed=found.freed,
        conditions=tuple(dict.fromkeys([*found.conditions, *_not_empty(model, found.changes)])),
        notes=tuple(_tied(found.freed, names)),
    )


def _tied(freed: Freed, names: Freed) -> Iterator[str]:
    """Dims of several inputs that are one size, since no export shows them apart, and nobody said so."""
    places: dict[str, list[tuple[str, int]]] = {}
    for name, axes in freed.items():
        for axis, called in axes.items():
            places.setdefault(called, []).append((name, axis))
    for called, found in places.items():
        if len(found) > 1 and not all(axis in names.get(name, {}) for name, axis in found):
            listed = ", ".join(f"{name}[{axis}]" for name, axis in found)
            yield f"one size in all exports, and taken for one, {called}: {listed}"


def _not_empty(model: Model, changes: Iterable[Change]) -> list[str]:
    """The names that a model had, if a Reshape is rewritten: it may have taken 0 of them, and now may not."""
    if not any(change.op == "Reshape" for change in changes):
        return []
    shapes = [value.shape for value in model.ir.graph.inputs if value.shape is not None and not value.is_initializer()]
    names = [dim.value for shape in shapes for dim in shape if not isinstance(dim, int) and dim.value]
    return [at_least(name, 1) for name in dict.fromkeys(names)]
