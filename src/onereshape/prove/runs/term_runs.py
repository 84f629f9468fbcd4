"""The term runs of a certificate: both models on expressions, at the sizes at which the original runs.

Where nothing was freed and they are other expressions, they are read once more as formulas of real numbers.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple, TypeVar

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import MOST_UNFOLDED, unfolded
from onereshape.ground.isolation.budget import limits
from onereshape.prove.evidence import Carried, Formula, Sizes, Terms
from onereshape.prove.runs.term_sizes import names_of, other_sizes, usual_sizes
from onereshape.prove.runs.trial import Feeds, Trial, batch_of
from onereshape.prove.values.naming import with_named_dims
from onereshape.terms.batches import LOST_AXIS, NEW_AXIS, BatchAxis
from onereshape.terms.equivalence import Equivalence, prove_equivalent
from onereshape.terms.limits import Limits
from onereshape.terms.proof import Proof
from onereshape.terms.prove import prove_batch, prove_same

Settings = Iterable[tuple[Sizes, Feeds]]


class OtherExport(NamedTuple):
    """Another export, beside which the repaired model is put."""

    model: ir.Model
    sizes: Sizes
    """The sizes of all named dims, freed or not."""
    values: Feeds
    """The values of inputs that serve as sizes."""


def fresh_seed() -> int:
    """A seed that nobody could know when the models were made."""
    return secrets.randbits(64)


def seed_of(trial: Trial) -> int:
    """The seed of the terms: a fresh one, if none was asked for."""
    return fresh_seed() if trial.asked.term_seed is None else trial.asked.term_seed


def allowed() -> Limits:
    """What all term runs of a certificate may take together: half of a command's time that is left, as runs follow."""
    limit = limits()
    return Limits(limit.seconds if limit.until == inf else max(limit.left, 0) / 2, deadline=limit.until)


# Each truth's terms


def batch_terms(trial: Trial, settings: Settings) -> list[Terms]:
    """The repaired model at N samples beside the original on each, in every setting, as long as they are alike.

    A proof that was made before is taken, where it found the samples where they should be.
    """
    axes, symbol = batch_of(trial.freed)
    places = {name: None if each is None else _place(each) for name, each in trial.outputs.items()}
    known = trial.asked.proof
    if known is not None and places == {
        each.name: None if each.axis is None else (each.axis, each.outer) for each in known.outputs
    }:
        return [Terms(known)]
    bound, seed, found = allowed(), seed_of(trial), []
    for sizes, values in each_once(settings):
        prove = partial(prove_batch, trial.original, trial.repaired, axes, symbol=symbol, size=trial.size)
        run = partial(prove, places=places, sizes=sizes, given=values, seed=seed, limits=bound)
        found.append(Terms(guarded(run, seed, trial.original, trial.repaired)))
        if not found[-1].proof.holds:
            break
    return found


def _place(carried: Carried) -> BatchAxis:
    """The batch axis of the terms for an output that carries N: `Carried(1, 2) -> (1, 2)`, a new axis -> NEW_AXIS."""
    if carried.new is None:
        return carried.axis, carried.outer
    return LOST_AXIS if carried.lost else NEW_AXIS


def export_terms(
    trial: Trial, own: Sizes, settings: Settings, fitted: Sequence[OtherExport], witnesses: Sequence[OtherExport]
) -> list[Terms]:
    """The repaired model beside the original and what else it was fitted on, and beside the witnesses."""
    bound, seed = allowed(), seed_of(trial)
    originals = [OtherExport(trial.original, {**own, **sizes}, values) for sizes, values in each_once(settings)]
    here = _until(trial, [*originals, *fitted], seed, bound)
    there = _until(trial, witnesses, seed, bound)
    return [*map(Terms, here), *(Terms(each, "witness") for each in there)]


def _until(trial: Trial, others: Iterable[OtherExport], seed: int, bound: Limits) -> list[Proof]:
    """The repaired model beside each of several exports, as long as they are alike."""
    found: list[Proof] = []
    for each in others:
        found.append(_same((each.model, trial.repaired), each.sizes, each.values, seed, bound))
        if not found[-1].holds:
            break
    return found


def same_terms(trial: Trial, settings: Settings) -> list[Terms]:
    """Both models at these settings, and at 0, 1 and others that the original takes."""
    models = trial.original, trial.repaired
    return [Terms(each) for each in same_proofs(*models, settings, seed_of(trial), trial.asked.never_empty)]


def same_proofs(
    original: ir.Model, other: ir.Model, settings: Settings, seed: int, never_empty: Collection[str] = ()
) -> list[Proof]:
    """The proofs at these settings, and at 0, 1 and others that the original takes."""
    models, bound = (with_named_dims(original), with_named_dims(other)), allowed()

    def read(one: ir.Model, two: ir.Model, sizes: Sizes, values: Feeds) -> Proof:
        return _same((one, two), sizes, values, seed, bound)

    return _everywhere(*models, settings, never_empty, read, lambda proof: proof.verdict != "not proven")


def same_formula(trial: Trial, settings: Settings) -> Formula:
    """Both models as formulas of real numbers, at the sizes at which their terms are put beside each other."""
    seed, bound = seed_of(trial), allowed()

    def read(one: ir.Model, two: ir.Model, sizes: Sizes, values: Feeds) -> Equivalence:
        def unread(why: str) -> Equivalence:
            return Equivalence("unknown", why, (), 0.0, "", seed)

        return _guarded(
            partial(prove_equivalent, one, two, [sizes], given=values, seed=seed, limits=bound),
            unread,
            "the reading as real numbers",
            one,
            two,
        )

    models = with_named_dims(trial.original), with_named_dims(trial.repaired)
    return Formula(
        _weakest(_everywhere(*models, settings, trial.asked.never_empty, read, lambda each: each.verdict != "unknown"))
    )


Reading = TypeVar("Reading", Proof, Equivalence)


def _everywhere(  # noqa: PLR0913, PLR0917 - what is read, and where
    original: ir.Model,
    other: ir.Model,
    settings: Settings,
    never_empty: Collection[str],
    read: Callable[[ir.Model, ir.Model, Sizes, Feeds], Reading],
    says: Callable[[Reading], bool],
) -> list[Reading]:
    """Readings at the settings, then at 0, 1 and other sizes, up to the first that does not hold.

    A reading that says nothing counts only where the original beside itself says something: sizes that it does not take
    say nothing of another model.
    """
    known = each_once(settings)
    values: Feeds = known[0][1] if known else {}
    found: list[Reading] = []
    skipped: list[Reading] = []
    for sizes, given in known:
        found.append(read(original, other, sizes, given))
        if not found[-1].holds:
            return found
    for sizes in further(original, never_empty, lambda: not found):
        reading = read(original, other, sizes, values)
        takes = says(reading) or read(original, original, sizes, values).holds
        (found if takes else skipped).append(reading)
        if takes and not reading.holds:
            break
    return found or skipped


def _weakest(readings: list[Equivalence]) -> Equivalence:
    """Several readings as one, with the weakest of their verdicts: that of the last one, where it is the weakest."""
    worst = next((each for each in readings if not each.holds), readings[-1])
    sizes = {tuple(each.items()): each for reading in readings if reading.holds for each in reading.sizes}
    return Equivalence(worst.verdict, worst.reason, (*sizes.values(),), worst.tolerance, worst.parted, worst.seed)


def further(model: ir.Model, never_empty: Collection[str], missing: Callable[[], bool]) -> Iterator[Sizes]:
    """Sizes beside those of the engine; a model without named dims has the one setting."""
    if not names_of(model):
        if missing():
            yield {}
        return
    yield from other_sizes(model, never_empty, lambda: not missing())
    for sizes in usual_sizes(model):
        if missing():
            yield sizes


def each_once(settings: Settings) -> list[tuple[Sizes, Feeds]]:
    """The settings without repetitions: equal sizes and equal values count once."""
    found: dict[tuple[Any, ...], tuple[Sizes, Feeds]] = {}
    for sizes, values in settings:
        key = (*sizes.items(), *((name, value.shape, value.tobytes()) for name, value in values.items()))
        found.setdefault(key, (sizes, values))
    return [*found.values()]


def _same(models: tuple[ir.Model, ir.Model], sizes: Sizes, values: Feeds, seed: int, bound: Limits) -> Proof:
    return guarded(lambda: prove_same(*models, [sizes], given=values, seed=seed, limits=bound), seed, *models)


def guarded(prove: Callable[[], Proof], seed: int, *models: ir.Model) -> Proof:
    """A proof; what a stranger's model makes the term run stumble over, or run for ever, proves nothing."""

    def unread(why: str) -> Proof:
        return Proof("not proven", why, (), always=False, not_always="", held=(), outputs=(), seed=seed)

    return _guarded(prove, unread, "the term run", *models)


def _guarded(read: Callable[[], Reading], unread: Callable[[str], Reading], what: str, *models: ir.Model) -> Reading:
    if any(unfolded(model) > MOST_UNFOLDED for model in models):
        return unread(f"its functions unfold to more than {MOST_UNFOLDED} nodes")
    try:
        return read()
    except Exception as error:  # noqa: BLE001 - a rule that met what it should have refused
        return unread(f"{what} stumbled ({type(error).__name__})")
