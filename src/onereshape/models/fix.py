"""fix(): frees dims of a model, simplifies its Reshapes, and has the result compared with the original.

The batch goes by the rules of `batching`, every other dim by `freeing`, or by what other exports of the model say;
a batch beside other dims is a second step, on what the first one gave.  A model that is given is not changed, unless
its owner says that a copy need not be made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from onereshape.apart.limits import SECONDS, Limits, checked, limited
from onereshape.condition import at_least, never_empty
from onereshape.errors import FixError, ReshapeError
from onereshape.formats.model import Model, cause
from onereshape.formats.model_files import refreshed
from onereshape.formats.onnx_graphs import MOST_UNFOLDED, copyable, unfolded
from onereshape.formats.onnx_sound import blamed
from onereshape.models.certificates.certificate import Certificate
from onereshape.models.certificates.comparison import Comparison
from onereshape.models.certificates.steps import joined
from onereshape.models.edit import Change
from onereshape.models.exports import Exports, Freed, check_witnesses, given_exports, other_weights
from onereshape.models.facts.facts import Facts
from onereshape.models.work import Work
from onereshape.models.unrepaired import (
    WAY_OUT,
    believed,
    declared_outputs,
    has_other_names,
    has_way_out,
    may_work,
    with_batch,
)
from onereshape.models.likely import other_axes, said, unlikely
from onereshape.models.pairing import called, carried
from onereshape.models.request import (
    Batch,
    Free,
    Progress,
    batch_size,
    check_progress,
    given_model,
    inputs_of,
    read_seed,
    requested,
    shapes_of,
)


_MOST_PLACES = 4
"""Of the batch that are tried by running a model that no rule frees."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """A repaired model."""

    model: Model
    """The repaired model; the one that was given, where nothing had to be changed."""
    changes: tuple[Change, ...]
    """What was rewritten, in the order of the graph; declared dims are not among them."""
    certificate: Any
    """What onnxruntime and the term run said of both models; None where they were not asked.  Its status is `proven`,
    `certified`, `fitted` (on the exports that were given) or, where that was asked for, `unwitnessed`."""
    conditions: tuple[str, ...] = ()
    """What the freed sizes must satisfy."""
    freed: Freed = field(default_factory=dict)
    """Input -> axis -> the name of a dim that is free now."""
    notes: tuple[str, ...] = ()
    """What was decided without being asked: axes that carry the batch, and were not the likely ones."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be rewritten."""

    changes: tuple[Change, ...]
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Wish:
    """How a step is done, whatever it frees."""

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


def plan(model: Model | str | os.PathLike[str], *, batch: Batch = None, free: Free = None) -> Plan:
    """What `fix` would rewrite; a FixError where the dims cannot be freed."""
    given = given_model(model)
    asked = requested(given, batch, free)
    return planned(given, asked, batch=free is None, likely=batch is True) if asked else Plan(())


def planned(
    given: Model, asked: Mapping[str, Mapping[int, str]], *, batch: bool, likely: bool, facts: Facts | None = None
) -> Plan:
    """The same of what was `requested`; `facts` are those of the model, where they are known already.

    `likely`: nobody named the axes of the batch.
    """
    if given.ir.functions:
        given, facts = _copy(given, inline=True), None
    with blamed(given):
        if batch:
            axes = {name: axis for name, dims in asked.items() for axis in dims}
            work = _planned_batch(given, axes, facts, likely=likely)
        else:
            work = _free(given, asked, (), given)
    return Plan(work.changes, work.conditions)


def _planned_batch(given: Model, axes: dict[str, int], facts: Facts | None, *, likely: bool) -> Work:
    """The same for a batch, on a copy where nodes would be cut off."""
    from onereshape.models.batch.dropping import may_cut  # noqa: PLC0415 - only who asks for it needs it
    from onereshape.models.batch_work import batch_work  # noqa: PLC0415

    try:
        return batch_work(given, axes, facts, likely=likely)
    except FixError as refusal:
        if not may_cut(given.ir, str(refusal.fields.get("node"))):
            raise
        return batch_work(_copy(given, inline=False), axes, None, likely=likely, new_axis=True)


def fix(  # noqa: PLR0913 - the options of the command
    model: Model | str | os.PathLike[str],
    *,
    batch: Batch = None,
    free: Free = None,
    like: Exports = None,
    per_sample: bool = False,
    simplify: bool = False,
    certify: bool = True,
    witness: Exports = None,
    unwitnessed: bool = False,
    new_axis: bool = True,
    seed: int = 0,
    timeout: float = SECONDS,
    memory: int | None = None,
    progress: Progress | None = None,
    copy: bool = True,
) -> Fixed:
    """The model with the asked dims free: `batch={"x": 0}` (True: the dim that the inputs share, see `notes`),
    `free={"x": {1: "S"}}`, or all dims in which it and other exports of it differ (`like`, which `free` may name); and,
    on demand, with its Reshapes simplified.  A batch beside other dims is freed after them.

    With `per_sample` a batch that cannot be freed otherwise, since the model mixes its samples or nobody knows whether
    it does, is run sample by sample, in a Scan around the whole graph: that takes as long as so many calls.

    onnxruntime runs both models before anything is returned, and so does the term run, on expressions instead of
    numbers; a FixError says where they differ.  The original is itself the truth for a batch, sample by sample; at
    another size of another dim only another export is.  One that the repair was fitted on (`like`) must agree, and one
    that it did not use (`witness`) certifies it; without any nothing is returned unless `unwitnessed` asks for it.
    onnxruntime runs in a child process, where one answer may take `timeout` seconds and `memory` bytes (None: half of
    what is free).

    An output that an export of one sample has without a batch (`[8]`, after a squeeze) gets a new first axis for it
    (`[N, 8]`); with `new_axis=False` it keeps its rank (`[8*N]`).

    The model that is given stays as it is.  With `copy=False` nobody needs it any more: it may be rewritten itself, and
    be neither the old nor the new one after a refusal.
    """
    limit = checked(timeout, memory)
    drawn_from = read_seed(seed)
    check_progress(progress)
    given = given_model(model)
    named, batched = requested(given, None, free), requested(given, batch, None)
    if not named and not batched and like is None and not simplify:
        raise FixError("nothing-asked")
    _check_usage(witness, per_sample, freeing=bool(named) or like is not None, batched=bool(batched))
    if given.format != "onnx":
        raise FixError("unsupported-model", why=f"{given.path}: only ONNX models are rewritten")
    fitted, witnesses = given_exports(like, "like"), given_exports(witness, "witness")
    if like is not None and not fitted:
        raise ReshapeError("bad-usage", why="like names no other export")
    freeing = bool(named or fitted)
    _prepare(certify and (freeing or bool(batched)))
    wish = _Wish(certify, unwitnessed, drawn_from, limit, progress, fitted, witnesses, per_sample, batch is True)
    owned = not copy or not isinstance(model, Model)
    found = Fixed(given, (), None)
    if freeing:
        work = partial(_like, given, named, fitted, witnesses) if fitted else partial(_free, given, named, witnesses)
        found = _step(given, work, wish, simplify=simplify and not batched, owned=owned)
    if batched:
        axes = {name: axis for name, dims in batched.items() for axis in dims}
        owned = (owned or found.model is not given) and not per_sample
        from onereshape.models.batch_work import batch_work  # noqa: PLC0415 - only who asks for it needs it

        work = partial(batch_work, axes=axes, likely=batch is True, new_axis=new_axis)
        try:
            step = _step(found.model, work, wish, simplify=simplify, owned=owned, before=found.conditions)
        except FixError as refusal:
            step = _otherwise(found, batched, wish, refusal, simplify=simplify)
        return _joined(found, step)
    return found if freeing else _step(given, None, wish, simplify=True, owned=owned)


def _check_usage(witness: Exports, per_sample: bool, *, freeing: bool, batched: bool) -> None:
    """Refuses options for what is not asked."""
    if per_sample and not batched:
        raise ReshapeError("bad-usage", why="per_sample is for a batch, and none is asked for")
    if witness is not None and not freeing:
        raise ReshapeError("bad-usage", why="a witness is for freed dims other than the batch, and none are asked for")


def _step(  # noqa: PLR0913 - what a step depends on
    given: Model,
    decide: Callable[[Model], Work] | None,
    wish: _Wish,
    *,
    simplify: bool,
    owned: bool,
    before: tuple[str, ...] = (),
) -> Fixed:
    """One repair, and its certificate; `before` are the conditions of the step before it."""
    inline = decide is not None
    fixed = _copy(given, inline=inline, needed=wish.certify or simplify or not owned)
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
        from onereshape.models.simpler.simplify import simplify as simplified  # noqa: PLC0415 - only who asks for it needs it

        with blamed(given):
            found = simplified(fixed.ir)
        needed = needed or bool(found)
        changes += found
        conditions = tuple(dict.fromkeys([*conditions, *(each for change in found for each in change.conditions)]))
    if not needed:
        return Fixed(given, (), None, conditions, notes=notes)
    certificate = None
    if wish.certify:
        empty = never_empty([*before, *conditions])
        asking = replace(comparison, never_empty=empty, seed=wish.seed, progress=wish.progress)
        with limited(wish.limit):
            certificate = _certificate(given, fixed, freed, asking)
        if not certificate.suffices and not (wish.unwitnessed and certificate.status == "unwitnessed"):
            raise _refusal(given, certificate, wish)
    return Fixed(refreshed(fixed), tuple(changes), certificate, conditions, freed, notes)


def _otherwise(found: Fixed, asked: Freed, wish: _Wish, refusal: FixError, *, simplify: bool) -> Fixed:
    """The batch of a model that no rule frees: there already, or sample by sample where that is wished."""
    axes = {name: axis for name, dims in asked.items() for axis in dims}
    works = _as_it_is(found.model, asked, wish, refusal) or _elsewhere(found.model, axes, wish, refusal)
    if works is not None:
        return works
    if wish.per_sample and not refusal.usage:
        return _one_by_one(found, axes, wish, simplify=simplify)
    if not wish.per_sample and has_way_out(found.model.ir, axes, refusal):
        refusal.add_note(WAY_OUT)
    other = unlikely(shapes_of(inputs_of(found.model.ir)), axes) if wish.likely and may_work(refusal) else None
    raise other or refusal


def _as_it_is(given: Model, asked: Freed, wish: _Wish, refusal: FixError) -> Fixed | None:
    """The model without any repair, where a rule refuses it, and runs and terms say that it works all the same."""
    if not wish.certify or not may_work(refusal):
        return None
    copy, fixed = with_batch(given.ir, asked)
    size = batch_size(given.ir, {name: axis for name, dims in asked.items() for axis in dims})
    names = {name for dims in asked.values() for name in dims.values()}
    if fixed and (size != 1 or has_other_names(given.ir, asked)):  # a proof at some sizes of theirs is none at others
        return None
    try:
        with limited(wish.limit):
            outputs = carried(given.ir, copy, asked, size, base_dir=str(Path(given.path).parent))
            if fixed and not declared_outputs(given.ir, copy, outputs, next(iter(names))):
                return None
            asking = Comparison("batch", size, outputs, seed=wish.seed, progress=wish.progress)
            certificate = _certificate(given, replace(given, ir=copy), asked, asking)
    except ReshapeError:
        return None
    if not believed(refusal, certificate.status, declared=fixed):
        return None
    return Fixed(refreshed(replace(given, ir=copy)) if fixed else given, (), certificate, (), asked)


def _elsewhere(given: Model, axes: Mapping[str, int], wish: _Wish, refusal: FixError) -> Fixed | None:
    """The same with the batch at other axes than the likely ones, where nobody named them: a state at its second."""
    shapes = shapes_of(inputs_of(given.ir))
    if not wish.likely or any(isinstance(shapes[name][axis], int) for name, axis in axes.items()):
        return None
    for other in islice((each for level in other_axes(shapes, axes) for each in level), _MOST_PLACES):
        works = _as_it_is(given, requested(given, other), wish, refusal)
        if works is not None:
            moved = {name: axis for name, axis in other.items() if axes.get(name) != axis}
            return replace(works, notes=(f"took {said(moved)}: runs show that the batch is there too",))
    return None


def _one_by_one(found: Fixed, axes: Mapping[str, int], wish: _Wish, *, simplify: bool) -> Fixed:
    """The model run sample by sample; one whose outputs may have other dims for each is believed by its terms alone."""
    doubts: list[str] = []
    from onereshape.models.batch_work import per_sample_work  # noqa: PLC0415 - only who asks for it needs it

    work = partial(per_sample_work, axes=axes, doubts=doubts)
    step = _step(found.model, work, wish, simplify=simplify, owned=False, before=found.conditions)
    if doubts and (step.certificate is None or step.certificate.status != "proven"):
        why = "its dims may be others for each sample, so that those of several cannot be put side by side"
        raise FixError("cannot-free", node=doubts[0], op="output", why=why)
    return step


def _refusal(given: Model, certificate: Certificate, wish: _Wish) -> FixError:
    """What is raised instead of a model that is not good enough."""
    code, why = "unwitnessed" if certificate.status == "unwitnessed" else "not-certified", certificate.reason
    if certificate.status == "differs" and certificate.kind == "other":
        if (other := other_weights(given, wish.fitted)) is not None:
            code, why = "unlike", other
        elif (other := other_weights(given, wish.witnesses)) is not None:
            why += f" ({other})"
    error = FixError(code, why=why)
    error.certificate = certificate
    return error


def _joined(first: Fixed, second: Fixed) -> Fixed:
    """Two steps as one."""
    conditions = tuple(dict.fromkeys([*first.conditions, *second.conditions]))
    certificate = joined(first.certificate, second.certificate)
    freed = {
        name: {**first.freed.get(name, {}), **second.freed.get(name, {})} for name in {**first.freed, **second.freed}
    }
    changes, notes = (*first.changes, *second.changes), (*first.notes, *second.notes)
    return Fixed(second.model, changes, certificate, conditions, freed, notes)


def _prepare(needed: bool) -> None:
    """Has onnxruntime loaded in its process, while this one decides what to ask it."""
    if not needed:
        return
    from onereshape.models.certificates.engine import prepare  # noqa: PLC0415 - only who certifies needs it

    prepare()


def _check_unfolded(model: Model) -> None:
    if unfolded(model.ir) > MOST_UNFOLDED:
        why = f"{model.path}: its functions unfold to more than {MOST_UNFOLDED} nodes"
        raise FixError("unsupported-model", why=why)


def _copy(model: Model, *, inline: bool, needed: bool = True) -> Model:
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
        raise FixError("unsupported-model", why=f"{model.path}: is not a sound ONNX model: {cause(error)}") from None
    return replace(model, ir=copy)


def _free(given: Model, asked: Freed, witnesses: Sequence[Model], model: Model) -> Work:
    from onereshape.models.free.freeing import apply_free, free_plan  # noqa: PLC0415 - only who asks for it needs it

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


def _like(given: Model, names: Freed, others: Sequence[Model], witnesses: Sequence[Model], model: Model) -> Work:
    from onereshape.models.like.plan import apply_like, like_plan  # noqa: PLC0415 - only who asks for it needs it

    try:
        with ExitStack() as stack:
            for other in others:
                stack.enter_context(blamed(other))
            found = like_plan(model.ir, [_copy(other, inline=True, needed=False).ir for other in others], names)
    except FixError as error:
        other_values = other_weights(given, others)
        if other_values is None or error.usage or error.code == "ambiguous":
            raise
        raise FixError("unlike", why=other_values) from error
    check_witnesses(given, others, witnesses, found.freed)
    exports, unused = (tuple(each.ir for each in models) for models in (others, witnesses))
    return Work(
        found.changes,
        lambda: apply_like(model.ir, found),
        Comparison("other", promised=found.promised, fitted=exports, witnesses=unused),
        needed=True,
        freed=found.freed,
        conditions=tuple(dict.fromkeys([*found.conditions, *_not_empty(model, found.changes)])),
    )


def _not_empty(model: Model, changes: Iterable[Change]) -> list[str]:
    """The names that a model had, if a Reshape is rewritten: it may have taken 0 of them, and now may not."""
    if not any(change.op == "Reshape" for change in changes):
        return []
    shapes = [value.shape for value in model.ir.graph.inputs if value.shape is not None and not value.is_initializer()]
    names = [dim.value for shape in shapes for dim in shape if not isinstance(dim, int) and dim.value]
    return [at_least(name, 1) for name in dict.fromkeys(names)]


def _certificate(given: Model, fixed: Model, asked: Freed, comparison: Comparison) -> Certificate:
    from onereshape.models.certificates.certify import certify  # noqa: PLC0415 - onnxruntime takes long

    with blamed(given):
        return certify(called(given.ir, asked), fixed.ir, asked, comparison, base_dir=str(Path(given.path).parent))
