"""A model that needs no repair: as it is, or with its batch declared, it answers for N samples as for each of them.

Where it names its batch, the terms are asked before any rule: what they prove is not planned.  Rules know operators;
that a model with an operator which nobody wrote a rule for takes any batch already is shown by running it, sample by
sample and at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from onereshape.formats.model import Model, refreshed
from onereshape.formats.onnx.onnx_sound import blamed
from onereshape.graphs.exports import Freed
from onereshape.graphs.likely_batch import said
from onereshape.graphs.request import batch_size, requested
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.ground.isolation.budget import Limits, OutOfTime, halved, late, limited
from onereshape.prove.certificate import Certificate
from onereshape.prove.evidence import Carried
from onereshape.prove.pairing import carried, lost_axes
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.trial import batch_of
from onereshape.repair.last_word import (
    WAY_OUT,
    LastWord,
    Told,
    declared_outputs,
    final,
    has_way_out,
    is_as_repaired,
    last_word,
    places,
)
from onereshape.repair.longest import tell_longest
from onereshape.repair.step import Fixed, Wish, certificate_of, step

Outputs = Mapping[str, Carried | None]
"""Where outputs carry the batch."""


class AsItIs:
    """A model under the question whether it needs a repair; its terms are asked once for each place of its batch."""

    def __init__(self, given: Model, wish: Wish) -> None:
        self._given, self._wish = given, wish
        self._told: Told = {}

    def proven(self, asked: Freed) -> Fixed | None:
        """The model itself, where it names its batch and the terms prove it right for any, before a rule is asked."""
        try:
            return self._certified(asked, None, limit=halved(self._wish.limit))
        except OutOfTime:
            return None  # the other half is for the rules

    def in_place_of(self, repaired: Fixed) -> Fixed | None:
        """The model itself in place of one that rules have rewritten, where runs choose sizes for the terms."""
        if not repaired.changes:
            return None
        shown = () if repaired.certificate is None else repaired.certificate.outputs
        found = self._certified(repaired.freed, None, {each.name: each.axis for each in shown})
        return None if found is None else replace(found, notes=("its batch is right at any size already",))

    def refused(self, asked: Freed, refusal: FixError) -> Fixed | None:
        """The model where a rule refuses it, and runs and terms say that it works all the same."""
        first, _ = batch_of(asked)
        for place in places(self._given, asked, likely=self._wish.likely):
            found = self._certified(place, refusal)
            if found is not None:
                moved = {name: axis for name, axis in batch_of(place)[0].items() if first.get(name) != axis}
                note = f"took {said(moved)}: runs show that the batch is there too"
                return replace(found, notes=(note,)) if moved else found
        return None

    def _certified(
        self,
        asked: Freed,
        refusal: FixError | None,
        repaired: Mapping[str, int | None] | None = None,
        *,
        limit: Limits | None = None,
    ) -> Fixed | None:
        """The model, or it with its batch declared, beside itself at one sample; None where that is not believed.

        `repaired`: the axes at which a model that rules have rewritten has its samples.
        """
        given, wish = self._given, self._wish
        if not wish.certify:
            return None
        try:
            with limited(limit or wish.limit), blamed(given):
                word = last_word(given, asked, refusal, outputs=repaired, running=True, told=self._told)
                compared = None if word.works is False else _compared(given, word, wish)
        except OutOfTime:
            raise
        except ReshapeError:
            return None
        if compared is None:
            return None
        fixed, outputs, certificate = compared
        if certificate.status == "out-of-time":
            raise late(wish.limit.seconds)
        believed = certificate.for_all if word.doubted else certificate.holds
        if not believed or (repaired is not None and not is_as_repaired(given.ir, outputs, repaired)):
            return None
        notes = tuple(f"output {name} has no axis for the batch where that is 1" for name in _lost(outputs))
        return Fixed(refreshed(fixed) if word.fixed else given, (), certificate, (), asked, notes)


def otherwise(  # noqa: PLR0913 - what is known of it
    found: Fixed, asked: Freed, wish: Wish, refusal: FixError, as_it_is: AsItIs, *, simplify: bool
) -> Fixed:
    """The batch of a model that no rule frees: there already, or sample by sample where that is wished."""
    asked = requested(found.model, refusal.axes) if refusal.axes else asked
    axes = {name: axis for name, dims in asked.items() for axis in dims}
    try:
        works = as_it_is.refused(asked, refusal)
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


def _compared(given: Model, word: LastWord, wish: Wish) -> tuple[Model, Outputs, Certificate] | None:
    """A model with its batch declared, where its outputs carry it, and its certificate; None where none is believed."""
    size = batch_size(given.ir, batch_of(word.asked)[0])
    outputs: Outputs = carried(given.ir, word.copy, word.asked, size, base_dir=given.folder, proof=word.proof)
    if word.fixed and not declared_outputs(given.ir, word.copy, outputs, batch_of(word.asked)[1]):
        return None
    fixed = replace(given, content=word.copy)
    asking = wish.asking(Comparison("batch", size, outputs, proof=word.proof))
    certificate = certificate_of(given, fixed, word.asked, asking)
    doubted = certificate.status in {"not proven", "differs", "untested"}
    if doubted and word.proof is None and not word.fixed and not _lost(outputs):
        lost = lost_axes(word.copy, word.asked, size, given.folder)
        if lost:
            outputs = {**outputs, **lost}
            certificate = certificate_of(given, fixed, word.asked, replace(asking, outputs=outputs))
    return fixed, outputs, certificate


def _lost(outputs: Outputs) -> list[str]:
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
