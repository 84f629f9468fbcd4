"""A model that no rule frees, and that needs no repair: as it is, or with its batch declared, it answers like itself.

Rules know operators; that a model with an operator which nobody wrote a rule for takes any batch already is shown by
running it, sample by sample and at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import onnx_ir as ir

from onereshape.formats.model import Model, refreshed
from onereshape.formats.onnx.onnx_sound import blamed
from onereshape.graphs.exports import Freed
from onereshape.graphs.likely_batch import said
from onereshape.graphs.request import batch_size, requested
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.ground.isolation.budget import OutOfTime, late, limited
from onereshape.prove.pairing import carried, lost_axes
from onereshape.prove.runs.compare import Carried
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.trial import batch_of
from onereshape.repair.last_word import (
    WAY_OUT,
    LastWord,
    declared_outputs,
    final,
    has_way_out,
    is_as_repaired,
    last_word,
    places,
)
from onereshape.repair.longest import tell_longest
from onereshape.repair.step import Fixed, Wish, certificate_of, step


def otherwise(found: Fixed, asked: Freed, wish: Wish, refusal: FixError, *, simplify: bool) -> Fixed:
    """The batch of a model that no rule frees: there already, or sample by sample where that is wished."""
    asked = requested(found.model, refusal.axes) if refusal.axes else asked
    axes = {name: axis for name, dims in asked.items() for axis in dims}
    try:
        works = _as_it_is(found.model, asked, wish, refusal) if wish.certify else None
    except OutOfTime as over:
        refusal.add_note(f"whether it works all the same was not found out: the time was over {over.after}")
        raise refusal from None
    if works is not None:
        return works
    last = final(found.model.ir, axes, refusal, likely=wish.likely, per_sample=wish.per_sample)
    if last is not refusal:
        raise last
    if wish.per_sample and not refusal.usage:
        return _one_by_one(found, axes, wish, simplify=simplify)
    if not wish.per_sample and has_way_out(found.model.ir, axes, refusal):
        refusal.add_note(WAY_OUT)
    tell_longest(refusal, found.model.ir, asked)
    raise refusal


def _as_it_is(given: Model, asked: Freed, wish: Wish, refusal: FixError) -> Fixed | None:
    """The model without any repair, where a rule refuses it, and runs and terms say that it works all the same."""
    first, _ = batch_of(asked)
    for place in places(given, asked, likely=wish.likely):
        found = _certified(given, place, wish, refusal)
        if found is not None:
            moved = {name: axis for name, axis in batch_of(place)[0].items() if first.get(name) != axis}
            note = f"took {said(moved)}: runs show that the batch is there too"
            return replace(found, notes=(note,)) if moved else found
    return None


def untouched(given: Model, repaired: Fixed, wish: Wish) -> Fixed | None:
    """The model itself in place of one with changes, where it names its batch and the terms prove it right for any."""
    if not wish.certify or not repaired.changes:
        return None
    shown = () if repaired.certificate is None else repaired.certificate.outputs
    places = {each.name: each.axis for each in shown}
    found = _certified(given, repaired.freed, wish, None, places)
    return None if found is None else replace(found, notes=("its batch is right at any size already",))


def _certified(
    given: Model,
    asked: Freed,
    wish: Wish,
    refusal: FixError | None,
    repaired: Mapping[str, int | None] | None = None,
) -> Fixed | None:
    """The model as it is, or with its batch declared, beside itself at one sample; None where that is not believed.

    `repaired`: the axes at which a model that rules have rewritten has its samples.
    """
    try:
        with limited(wish.limit), blamed(given):
            word = last_word(given, asked, refusal, outputs=repaired, running=True)
            if word.works is False or word.copy is None:
                return None
            asking = _asking(given, word, word.copy, wish)
            if asking is None:
                return None
            fixed = replace(given, content=word.copy)
            certificate = certificate_of(given, fixed, asked, asking)
            doubted = certificate.status in {"not proven", "differs", "untested"}
            if doubted and not word.fixed and not _lost(asking.outputs):
                lost = lost_axes(word.copy, asked, asking.size, given.folder)
                if lost:
                    asking = replace(asking, outputs={**asking.outputs, **lost}, proof=None)
                    certificate = certificate_of(given, fixed, asked, asking)
    except OutOfTime:
        raise
    except ReshapeError:
        return None
    if certificate.status == "out-of-time":
        raise late(wish.limit.seconds)
    if not (certificate.for_all if word.doubted else certificate.holds):
        return None
    if repaired is not None and not is_as_repaired(given.ir, asking.outputs, repaired):
        return None
    notes = tuple(f"output {name} has no axis for the batch where that is 1" for name in _lost(asking.outputs))
    return Fixed(refreshed(fixed) if word.fixed else given, (), certificate, (), asked, notes)


def _asking(given: Model, word: LastWord, copy: ir.Model, wish: Wish) -> Comparison | None:
    """What is asked of a model and of itself with its batch declared; None where no answer would be believed."""
    size = batch_size(given.ir, batch_of(word.asked)[0])
    outputs = carried(given.ir, copy, word.asked, size, base_dir=given.folder, proof=word.proof)
    if word.fixed and not declared_outputs(given.ir, copy, outputs, batch_of(word.asked)[1]):
        return None
    return Comparison("batch", size, outputs, seed=wish.seed, proof=word.proof, progress=wish.progress)


def _lost(outputs: Mapping[str, Carried | None]) -> list[str]:
    """The outputs that lose their axis at one sample."""
    return [name for name, place in outputs.items() if place is not None and place.lost]


def _one_by_one(found: Fixed, axes: Mapping[str, int], wish: Wish, *, simplify: bool) -> Fixed:
    """The model run sample by sample; one whose outputs may have other dims for each is believed by its terms alone."""
    doubts: list[str] = []
    from onereshape.repair.batch_work import per_sample_work  # noqa: PLC0415 - only who asks for it needs it

    work = partial(per_sample_work, axes=axes, doubts=doubts, new_axis=wish.new_axis)
    fixed = None
    try:
        fixed = step(found.model, work, wish, simplify=simplify, owned=False, before=found.conditions)
    except FixError as refusal:
        if not doubts or refusal.certificate is None:
            raise
    if fixed is None or (doubts and (fixed.certificate is None or fixed.certificate.status != "proven")):
        why = "its dims may be others for each sample, so that those of several cannot be put side by side"
        raise FixError("cannot-free", node=doubts[0], op="output", why=why)
    return fixed
