"""The word of the terms on a model as it is, its batch named or declared: whether it is right without any repair.

It is the last one where a rule refuses the model, or would rewrite it, and in `fix` the first one where the model names
its batch.  `fix` and `check` ask the same: what is final, what the terms overrule, and what only runs can tell, which
`check` does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

import onnx_ir as ir

from onereshape.formats.model import Model
from onereshape.formats.onnx.onnx_graphs import copyable
from onereshape.graphs.edit import declare
from onereshape.graphs.exports import Freed
from onereshape.graphs.likely_batch import other_axes
from onereshape.graphs.request import batch_size, inputs_of, requested, shapes_of
from onereshape.graphs.shapes import facts_of
from onereshape.graphs.unneeded import live_nodes
from onereshape.ground.errors import FixError
from onereshape.ground.isolation.budget import limits
from onereshape.prove.evidence import Carried
from onereshape.prove.pairing import batch_proof, called, places_of
from onereshape.prove.runs.settings import Chooser
from onereshape.prove.runs.term_sizes import some_sizes, usual_sizes
from onereshape.prove.runs.trial import batch_of
from onereshape.prove.values.input_roles import roles_of
from onereshape.prove.values.naming import with_named_dims
from onereshape.repair.lacking import is_one, lacking
from onereshape.repair.leftovers import leaves_work
from onereshape.terms.proof import Proof

AskedAxes = Mapping[str, Mapping[int, str]]
Told = dict[tuple[tuple[str, int], ...], Proof | None]
"""The axes of a batch -> the proof for every batch of the model as it is, None where runs choose the other sizes."""

_MOST_PLACES = 4
"""Of the batch that are asked about in a model that no rule frees, beside the likely one."""
_NO_RULE = frozenset({"cannot-free", "no-batching-rule", "mixes-samples"})
"""The refusals of a rule, which may know too little."""
WAY_OUT = "with --per-sample (per_sample=True) the model would run once for each sample instead, which is slower"


class LastWord(NamedTuple):
    """What is known, before anything is run, of a model as it is, or with its batch declared."""

    works: bool | None
    """Whether the model is right as it is; None: only runs tell."""
    asked: Freed
    """Where its batch is taken to be."""
    copy: ir.Model
    """The model with its batch declared, itself where that is so."""
    fixed: bool = False
    """Whether the batch had been a number."""
    doubted: bool = False
    """Whether only a proof for every batch is believed, whatever runs say."""
    proof: Proof | None = None
    """The proof by terms, where no run has to choose sizes for it."""


def may_work(refusal: FixError) -> bool:
    """Whether a refusal leaves open that the model works all the same."""
    return refusal.code in _NO_RULE


def has_way_out(model: ir.Model, axes: Mapping[str, int], refusal: FixError) -> bool:
    """Whether a model that mixes its samples, or may, can be run sample by sample."""
    with_named_dims = refusal.alone or refusal.code in {"mixes-samples", "no-batching-rule"}
    return with_named_dims and batch_size(model, axes) == 1


def no_batch(model: ir.Model, axes: Mapping[str, int], refusal: FixError) -> FixError | None:
    """Why there is no batch at these likely axes, if that is why a rule refused them."""
    found = lacking(model, axes, refusal) if may_work(refusal) else None
    if found is not None and is_one(model, axes) and has_way_out(model, axes, refusal):
        found.add_note(WAY_OUT)
    return found


def places(given: Model, asked: Freed, *, likely: bool) -> Iterator[Freed]:
    """Where the batch of a model that no rule frees may be: as it was asked for, and elsewhere, if nobody named axes.

    A state may have it at its second axis.
    """
    yield asked
    axes = {name: axis for name, dims in asked.items() for axis in dims}
    shapes = shapes_of(inputs_of(given.ir))
    if not likely or any(isinstance(shapes[name][axis], int) for name, axis in axes.items()):
        return
    for other in islice((each for level in other_axes(shapes, axes) for each in level), _MOST_PLACES):
        yield requested(given, other)


def by_terms(given: Model, asked: Freed, refusal: FixError, *, likely: bool) -> bool | None:
    """Whether a refused model is right as it is, wherever its batch is; None: only runs tell."""
    works: bool | None = False
    for place in places(given, asked, likely=likely):
        word = last_word(given, place, refusal)
        if word.works:
            return True
        works = None if word.works is None else works
    return works


def last_word(  # noqa: PLR0913 - what is known
    given: Model,
    asked: Freed,
    refusal: FixError | None,
    *,
    outputs: Mapping[str, int | None] | None = None,
    running: bool = False,
    told: Told | None = None,
) -> LastWord:
    """Whether a model is right as it is; `refusal`: what a rule says, None where none refuses it.

    A rule is believed unless the terms prove it wrong, for every batch, as at a hundred samples they may be mixed: one
    that saw samples mixed, one that would rewrite a model which names its batch, and any of a model that was exported
    for one batch and would be written with another one.  Where runs may overrule it, they are asked first, if any are.
    `outputs`: the axes at which a rewritten model has its samples; None without a refusal too: no rule was asked yet,
    and the terms prove it right for every batch by themselves, or say nothing.  `told`: what they said of it before.
    """
    fixed = _is_fixed(given.ir, asked)
    size = batch_size(given.ir, {name: axis for name, dims in asked.items() for axis in dims})
    doubted = fixed or refusal is None or refusal.code == "mixes-samples"
    if _is_final(given.ir, asked, refusal, size, fixed=fixed) or (not running and _fails(given.ir, asked, size)):
        return LastWord(False, asked, given.ir)
    copy, _ = with_batch(given.ir, asked)
    word = LastWord(None, asked, copy, fixed, doubted)
    if running and not doubted:
        return word
    told, place = {} if told is None else told, (*sorted(batch_of(asked)[0].items()),)
    if place not in told:
        told[place] = first_proof(called(given.ir, asked), copy, asked, size, for_all=doubted)
    proof, first = told[place], refusal is None and outputs is None
    if proof is None and not doubted:
        return word
    shown = proof or _proof_somewhere(given.ir, copy, asked, size)
    if shown is None or not shown.holds or (doubted and not shown.always):
        open_ = (
            not doubted if shown else not first
        )  # what an input says of sizes is no term: runs look for what it takes
        return word._replace(works=None if open_ else False)
    found = places_of(shown)
    works = not fixed or declared_outputs(given.ir, copy, found, batch_of(asked)[1])
    if refusal is None:
        works = is_as_repaired(given.ir, found, outputs or {})
    works = works and not (first and leaves_work(given.ir, asked, found))
    return word._replace(works=None if works and proof is None else works, proof=proof)  # runs choose the sizes


def _is_final(model: ir.Model, asked: Freed, refusal: FixError | None, size: int, *, fixed: bool) -> bool:
    """Whether nothing overrules a refusal: a proof for a fixed batch at some sizes of other dims is none at others."""
    if (fixed if refusal is None else not may_work(refusal)) or not copyable(model.graph):
        return True
    return fixed and (size != 1 or has_other_names(model, asked))


def _fails(model: ir.Model, asked: Freed, size: int) -> bool:
    """Whether one batch of the original cannot run, so that there is nothing to compare with."""
    found = facts_of(model, {name: dict.fromkeys(axes, size) for name, axes in asked.items()})
    return not live_nodes(model.graph).isdisjoint(found.errors)


def is_as_repaired(model: ir.Model, found: Mapping[str, Carried | None], repaired: Mapping[str, int | None]) -> bool:
    """Whether a model has its samples where a repaired one has them, and declares no number there.

    `[1, 6400*N, 1]` holds all samples, and is no batch that anybody expects: that is repaired all the same.
    """
    axes = {name: None if place is None else place.axis for name, place in found.items()}
    if any(axis != repaired.get(name, axis) for name, axis in axes.items()):
        return False
    declared = ((value.shape or (), axes.get(value.name or "")) for value in model.graph.outputs)
    return not any(axis is not None and axis < len(dims) and isinstance(dims[axis], int) for dims, axis in declared)


def final(model: ir.Model, axes: Mapping[str, int], refusal: FixError, *, likely: bool, per_sample: bool) -> FixError:
    """The refusal to raise where nothing overrules one; `likely`: nobody named the axes, perhaps no batch at all."""
    lacks = no_batch(model, axes, refusal) if likely else None
    return refusal if lacks is None or (per_sample and is_one(model, axes)) else lacks


def first_proof(
    original: ir.Model, copy: ir.Model, asked: AskedAxes, size: int, *, for_all: bool = True
) -> Proof | None:
    """The proof by terms that can be made before anything is run; None where runs decide on the sizes.

    `for_all`: only a proof for every batch is of use.
    """
    if _chooser(original, asked, size).varies:
        return None
    return batch_proof(original, copy, asked, size, {}, for_all=for_all)


def _proof_somewhere(model: ir.Model, copy: ir.Model, asked: Freed, size: int) -> Proof | None:
    """What terms say at some sizes of the other dims: a proof for every batch, if there is one at any of them.

    None: an input says sizes, and so runs have to say more.
    """
    original, other = (with_named_dims(each) for each in (called(model, asked), copy))
    chooser = _chooser(original, asked, size)
    first = next(some_sizes(original))
    alike = dict.fromkeys(chooser.names, max(first.values(), default=1))
    others = ({**first, **each} for each in (alike, *chooser.told.likely, *chooser.ones()))
    for sizes in (*some_sizes(original), *others, *usual_sizes(original)):
        limits().check()
        proof = batch_proof(original, other, asked, size, sizes, for_all=True)
        if (proof.holds and proof.always) or proof.mixed:
            return proof
        if chooser.sized:
            return None
    return proof


def _chooser(model: ir.Model, asked: Freed, size: int) -> Chooser:
    axes, symbol = batch_of(asked)
    return Chooser(model, roles_of(model), {symbol: size}, axes.keys())


def with_batch(model: ir.Model, asked: AskedAxes) -> tuple[ir.Model, bool]:
    """The model with the batch declared under its name, and whether that had been a number."""
    if not _is_fixed(model, asked):
        return called(model, asked), False
    copy = model.clone()
    for value in copy.graph.inputs:
        declare(value, asked.get(value.name or "", {}))
    for node in copy.graph.all_nodes():  # what else is declared may be for the old batch only
        for value in node.outputs:
            value.shape = None
    return copy, True


def _is_fixed(model: ir.Model, asked: AskedAxes) -> bool:
    """Whether the batch is a number in an input that carries it."""
    inputs = {value.name or "": value for value in model.graph.inputs}
    places = [(name, axis) for name, axes in asked.items() for axis in axes]
    return any(isinstance((inputs[name].shape or ())[axis], int) for name, axis in places)


def declared_outputs(original: ir.Model, copy: ir.Model, outputs: Mapping[str, Carried | None], name: str) -> bool:
    """Declares where outputs have their samples; False where one has them beside something else, as rows of rows.

    `[1, 6400, 1]` that becomes `[1, 6400*N, 1]` holds all samples, and is no batch that anybody expects.
    """
    after = {value.name: value for value in copy.graph.outputs}
    for value in original.graph.outputs:
        place, shape = outputs.get(value.name or ""), value.shape
        if any(each is not None and part.startswith(f"{value.name}[") for part, each in outputs.items()):
            return False  # what a sequence held for one sample nobody says
        if place is not None:
            alone = place.inner == 1 if shape is None else place.axis < len(shape) and shape[place.axis] == 1
            if place.outer != 1 or not alone:
                return False
        after[value.name].shape = shape
        declare(after[value.name], {} if place is None else {place.axis: name})
    return True


def has_other_names(model: ir.Model, asked: AskedAxes) -> bool:
    """Whether an input has a dim, other than the batch, that is no number."""
    return any(
        not isinstance(dim, int) and axis not in asked.get(value.name or "", {})
        for value in model.graph.inputs
        for axis, dim in enumerate(value.shape or ())
    )
