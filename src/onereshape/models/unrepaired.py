"""A model that no rule frees, and that needs no repair: as it is, or with its batch declared, it answers like itself.

Rules know operators; that a model with an operator which nobody wrote a rule for takes any batch already is shown by
running it, sample by sample and at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import islice

import onnx_ir as ir

from onereshape.apart.limits import OutOfTime, late, limited, limits
from onereshape.errors import FixError, ReshapeError
from onereshape.formats.model import Model
from onereshape.formats.model_files import refreshed
from onereshape.formats.onnx_graphs import copyable
from onereshape.formats.onnx_sound import blamed
from onereshape.models.certificates.certificate import Certificate
from onereshape.models.certificates.compare import Carried
from onereshape.models.certificates.comparison import Comparison
from onereshape.models.certificates.naming import apart
from onereshape.models.certificates.settings import Chooser
from onereshape.models.certificates.suits import suits_of
from onereshape.models.certificates.term_sizes import some_sizes, usual_sizes
from onereshape.models.certificates.trial import batch_of
from onereshape.models.edit import declare
from onereshape.models.exports import Freed
from onereshape.models.lacking import is_one, lacking
from onereshape.models.likely import other_axes, said
from onereshape.models.longest import tell_longest
from onereshape.models.pairing import batch_proof, called, carried, lost_axes, places_of
from onereshape.models.request import batch_size, inputs_of, requested, shapes_of
from onereshape.models.step import Fixed, Wish, certificate_of, step
from onereshape.terms.batches import PARTED
from onereshape.terms.proof import Proof

Asked = Mapping[str, Mapping[int, str]]

_MOST_PLACES = 4
"""Of the batch that are tried by running a model that no rule frees."""
_NO_RULE = frozenset({"cannot-free", "no-batching-rule", "mixes-samples"})
"""The refusals of a rule, which may know too little."""
WAY_OUT = "with --per-sample (per_sample=True) the model would run once for each sample instead, which is slower"


def may_work(refusal: FixError) -> bool:
    """Whether a refusal leaves open that the model works all the same."""
    return refusal.code in _NO_RULE


def has_way_out(model: ir.Model, axes: Mapping[str, int], refusal: FixError) -> bool:
    """Whether a model that mixes its samples, or may, can be run sample by sample."""
    apart = refusal.alone or refusal.code in {"mixes-samples", "no-batching-rule"}
    return apart and batch_size(model, axes) == 1


def no_batch(model: ir.Model, axes: Mapping[str, int], refusal: FixError) -> FixError | None:
    """Why there is no batch at these likely axes, if that is why a rule refused them."""
    found = lacking(model, axes, refusal) if may_work(refusal) else None
    if found is not None and is_one(model, axes) and has_way_out(model, axes, refusal):
        found.add_note(WAY_OUT)
    return found


def needs_proof(refusal: FixError, *, declared: bool) -> bool:
    """Whether a rule is believed unless the terms prove it wrong.

    One is that saw samples mixed; so is any, of a model that was exported for one batch and would be written with
    another one.
    """
    return declared or refusal.code == "mixes-samples"


def believed(refusal: FixError, certificate: Certificate, *, declared: bool) -> bool:
    """Whether what runs and terms say outweighs the refusal of a rule.

    What needs a proof needs one for every batch: at a hundred samples they may be mixed.
    """
    return certificate.for_all if needs_proof(refusal, declared=declared) else certificate.holds


def first_proof(original: ir.Model, copy: ir.Model, asked: Asked, size: int, *, for_all: bool = True) -> Proof | None:
    """What the terms say, where that is the same before anything was run; nothing where runs decide on the sizes.

    `for_all`: only a proof for every batch is of use.
    """
    axes, symbol = batch_of(asked)
    if Chooser(original, suits_of(original), {symbol: size}, axes.keys()).varies:
        return None
    return batch_proof(original, copy, asked, size, {}, for_all=for_all)


def with_batch(model: ir.Model, asked: Asked) -> tuple[ir.Model, bool]:
    """The model with the batch declared under its name, and whether that had been a number."""
    copy, fixed = model.clone(), _is_fixed(model, asked)
    for value in copy.graph.inputs:
        declare(value, asked.get(value.name or "", {}))
    if fixed:  # what else is declared may be for the old batch only
        for node in copy.graph.all_nodes():
            for value in node.outputs:
                value.shape = None
    return copy, fixed


def _is_fixed(model: ir.Model, asked: Asked) -> bool:
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


def has_other_names(model: ir.Model, asked: Asked) -> bool:
    """Whether an input has a dim, other than the batch, that is no number."""
    return any(
        not isinstance(dim, int) and axis not in asked.get(value.name or "", {})
        for value in model.graph.inputs
        for axis, dim in enumerate(value.shape or ())
    )


def otherwise(found: Fixed, asked: Freed, wish: Wish, refusal: FixError, *, simplify: bool) -> Fixed:
    """The batch of a model that no rule frees: there already, or sample by sample where that is wished."""
    asked = requested(found.model, refusal.axes) if refusal.axes else asked
    axes = {name: axis for name, dims in asked.items() for axis in dims}
    try:
        works = _as_it_is(found.model, asked, wish, refusal) or _elsewhere(found.model, axes, wish, refusal)
    except OutOfTime as over:
        refusal.add_note(f"whether it works all the same was not found out: the time was over {over.after}")
        raise refusal from None
    if works is not None:
        return works
    other = no_batch(found.model.ir, axes, refusal) if wish.likely else None
    if other is not None and not (wish.per_sample and is_one(found.model.ir, axes)):
        raise other
    if wish.per_sample and not refusal.usage:
        return _one_by_one(found, axes, wish, simplify=simplify)
    if not wish.per_sample and has_way_out(found.model.ir, axes, refusal):
        refusal.add_note(WAY_OUT)
    tell_longest(refusal, found.model.ir, asked)
    raise refusal


def _as_it_is(given: Model, asked: Freed, wish: Wish, refusal: FixError) -> Fixed | None:
    """The model without any repair, where a rule refuses it, and runs and terms say that it works all the same."""
    if not wish.certify or not may_work(refusal):
        return None
    found = _certified(given, asked, wish, doubted=needs_proof(refusal, declared=False))
    if found is None or found.certificate is None:
        return None
    if not believed(refusal, found.certificate, declared=found.model is not given):
        return None
    return found


def by_terms(given: Model, asked: Freed, refusal: FixError) -> bool | None:
    """Whether `_as_it_is` will find a refused model to work, where the terms tell; None: that takes runs."""
    if not may_work(refusal) or not copyable(given.ir.graph):
        return False
    copy, fixed = with_batch(given.ir, asked)
    size = batch_size(given.ir, {name: axis for name, dims in asked.items() for axis in dims})
    if fixed and (size != 1 or has_other_names(given.ir, asked)):
        return False
    doubted = needs_proof(refusal, declared=fixed)
    proof = first_proof(called(given.ir, asked), copy, asked, size, for_all=doubted)
    if proof is None or not proof.holds:
        return False if doubted and proof is not None else None
    if not fixed:
        return True
    name = next(name for dims in asked.values() for name in dims.values())
    return declared_outputs(given.ir, copy, places_of(proof), name)


def untouched(given: Model, repaired: Fixed, wish: Wish) -> Fixed | None:
    """The model itself in place of one with changes, where it names its batch and the terms prove it right for any."""
    if not wish.certify or not repaired.changes or _is_fixed(given.ir, repaired.freed):
        return None
    found = _certified(given, repaired.freed, wish, doubted=True)
    if found is None or found.certificate is None or not found.certificate.for_all:
        return None
    places = {each.name: each.axis for each in found.certificate.outputs}
    for value in given.ir.graph.outputs:  # what is declared falsely is mended
        axis = places.get(value.name or "")
        if axis is not None and value.shape is not None and isinstance(value.shape[axis], int):
            return None
    return replace(found, notes=("its batch is right at any size already",))


def _certified(given: Model, asked: Freed, wish: Wish, *, doubted: bool) -> Fixed | None:
    """The model as it is, or with its batch declared, beside itself at one sample; None where that cannot be asked.

    `doubted`: only a proof for every batch is believed.
    """
    copy, fixed = with_batch(given.ir, asked)
    try:
        with limited(wish.limit), blamed(given):
            asking = _asking(given, copy, asked, wish, fixed=fixed, doubtful=fixed or doubted)
            if asking is None:
                return None
            certificate = certificate_of(given, replace(given, content=copy), asked, asking)
            if certificate.status in {"not proven", "differs"} and not fixed and not _lost(asking.outputs):
                lost = lost_axes(copy, asked, asking.size, given.folder)
                if lost:
                    asking = replace(asking, outputs={**asking.outputs, **lost}, proof=None)
                    certificate = certificate_of(given, replace(given, content=copy), asked, asking)
    except OutOfTime:
        raise
    except ReshapeError:
        return None
    if certificate.status == "out-of-time":
        raise late(wish.limit.seconds)
    notes = tuple(f"output {name} has no axis for the batch where that is 1" for name in _lost(asking.outputs))
    return Fixed(refreshed(replace(given, content=copy)) if fixed else given, (), certificate, (), asked, notes)


def _lost(outputs: Mapping[str, Carried | None]) -> list[str]:
    """The outputs that lose their axis at one sample."""
    return [name for name, place in outputs.items() if place is not None and place.lost]


def _asking(  # noqa: PLR0913 - what it depends on
    given: Model, copy: ir.Model, asked: Freed, wish: Wish, *, fixed: bool, doubtful: bool
) -> Comparison | None:
    """What is asked of a model and of itself with its batch declared; nothing where no answer would be believed."""
    size = batch_size(given.ir, {name: axis for name, dims in asked.items() for axis in dims})
    if fixed and (size != 1 or has_other_names(given.ir, asked)):  # a proof at some sizes of theirs is none at others
        return None
    proof = first_proof(called(given.ir, asked), copy, asked, size) if doubtful else None
    if proof is not None and not (proof.holds and proof.always):
        return None
    if doubtful and proof is None and not _may_be_proven(given.ir, copy, asked, size):
        return None
    outputs = carried(given.ir, copy, asked, size, base_dir=given.folder, proof=proof)
    name = next(name for dims in asked.values() for name in dims.values())
    if fixed and not declared_outputs(given.ir, copy, outputs, name):
        return None
    return Comparison("batch", size, outputs, seed=wish.seed, proof=proof, progress=wish.progress)


def _may_be_proven(model: ir.Model, copy: ir.Model, asked: Freed, size: int) -> bool:
    """Whether the terms prove it for every batch at some size of the other dims: else no run is of use.

    What an input says of sizes is no term: there runs look for what the model takes.
    """
    original, other = (apart(each) for each in (called(model, asked), copy))
    axes, symbol = batch_of(asked)
    chooser = Chooser(original, suits_of(original), {symbol: size}, axes.keys())
    sized, first = chooser.sized, next(some_sizes(original))
    alike = dict.fromkeys(chooser.names, max(first.values(), default=1))
    others = ({**first, **each} for each in (alike, *chooser.told.likely, *chooser.ones()))
    for sizes in (*some_sizes(original), *others, *usual_sizes(original)):
        limits().check()
        proof = batch_proof(original, other, asked, size, sizes, for_all=True)
        if proof.holds and proof.always:
            return True
        if proof.reason.endswith(PARTED):
            return False
        if sized:
            break
    return bool(sized)


def _elsewhere(given: Model, axes: Mapping[str, int], wish: Wish, refusal: FixError) -> Fixed | None:
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


def _one_by_one(found: Fixed, axes: Mapping[str, int], wish: Wish, *, simplify: bool) -> Fixed:
    """The model run sample by sample; one whose outputs may have other dims for each is believed by its terms alone."""
    doubts: list[str] = []
    from onereshape.models.batch_work import per_sample_work  # noqa: PLC0415 - only who asks for it needs it

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
