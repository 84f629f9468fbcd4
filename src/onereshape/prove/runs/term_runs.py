"""The term runs of a certificate: both models on expressions, at the sizes at which onnxruntime ran them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from math import inf
from typing import Any

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import MOST_UNFOLDED, unfolded
from onereshape.graphs.exports import Freed
from onereshape.ground.isolation.budget import limits
from onereshape.prove.combining import merged
from onereshape.prove.runs.settings import Chooser
from onereshape.prove.runs.term_sizes import names_of, other_sizes, usual_sizes
from onereshape.prove.runs.trial import Beside, Feeds, Sizes, Trial, batch_of
from onereshape.prove.values.input_roles import roles_of
from onereshape.prove.values.naming import with_named_dims
from onereshape.terms.limits import Limits
from onereshape.terms.proof import Proof
from onereshape.terms.prove import prove_batch, prove_same

Settings = Iterable[tuple[Sizes, Feeds]]


def fresh_seed() -> int:
    """A seed that nobody could know when the models were made."""
    return secrets.randbits(64)


def allowed() -> Limits:
    """What all term runs of a certificate may take together: half of a command's time that is left, as runs follow."""
    limit = limits()
    return Limits(limit.seconds if limit.until == inf else max(limit.left, 0) / 2, deadline=limit.until)


def batch_terms(trial: Trial, freed: Freed, places: Mapping[str, Any] | None, seed: int) -> Proof:
    """The repaired model at N samples beside the original on each, in every setting that the engine had."""
    axes, symbol = batch_of(freed)
    bound, found = allowed(), []
    for sizes, values in each_once(trial.settings):
        prove = partial(prove_batch, trial.original, trial.repaired, axes, symbol=symbol, size=trial.size)
        run = partial(prove, places=places, sizes=sizes, given=values, seed=seed, limits=bound)
        found.append(guarded(run, seed, trial.original, trial.repaired))
        if not found[-1].holds:
            break
    return merged(found)


def first_terms(  # noqa: PLR0913, PLR0917 - what a proof depends on
    original: ir.Model, repaired: ir.Model, freed: Freed, size: int, places: Mapping[str, Any], seed: int
) -> Proof | None:
    """The proof of a freed batch before anything was run, for a model with a single setting; None for any other."""
    axes, symbol = batch_of(freed)
    if Chooser(original, roles_of(original), {symbol: size}, axes.keys()).varies:
        return None
    prove = partial(prove_batch, original, repaired, axes, symbol=symbol, size=size, places=places)
    return guarded(partial(prove, seed=seed, limits=allowed()), seed, original, repaired)


def freed_terms(trial: Trial, seed: int) -> tuple[Proof, Proof | None]:
    """The repaired model beside the original and what else it was fitted on, and beside the witnesses."""
    bound, found = allowed(), []
    for sizes, values in each_once(trial.settings):
        found.append(_same((trial.original, trial.repaired), {**trial.own, **sizes}, values, seed, bound))
        if not found[-1].holds:
            break
    if found[-1].holds:
        found += _until(trial, trial.fitted, seed, bound)
    there = _until(trial, trial.witnesses, seed, bound)
    return merged(found), merged(there) if there else None


def _until(trial: Trial, others: Iterable[Beside], seed: int, bound: Limits) -> list[Proof]:
    """The repaired model beside each of several exports, as long as they are alike."""
    found: list[Proof] = []
    for each in others:
        found.append(_same((each.model, trial.repaired), each.sizes, each.values, seed, bound))
        if not found[-1].holds:
            break
    return found


def same_terms(
    original: ir.Model, other: ir.Model, settings: Settings, seed: int, never_empty: Collection[str] = ()
) -> Proof:
    """Both models at the sizes that the engine had, and at 0, 1 and others that the original takes."""
    original, other = with_named_dims(original), with_named_dims(other)
    bound, models = allowed(), (original, other)
    known = each_once(settings)
    values: Feeds = known[0][1] if known else {}
    found: list[Proof] = []
    skipped: list[Proof] = []
    for sizes, given in known:
        found.append(_same(models, sizes, given, seed, bound))
    for sizes in further(original, never_empty, lambda: not found):
        if found and not found[-1].holds:
            break
        proof = _same(models, sizes, values, seed, bound)
        takes = proof.verdict != "not proven" or _same((original, original), sizes, values, seed, bound).holds
        (found if takes else skipped).append(proof)  # what the original does not take says nothing
    return merged(found or skipped)


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
    why = ""
    if any(unfolded(model) > MOST_UNFOLDED for model in models):
        why = f"its functions unfold to more than {MOST_UNFOLDED} nodes"
    else:
        try:
            return prove()
        except Exception as error:  # noqa: BLE001 - a rule that met what it should have refused
            why = f"the term run stumbled ({type(error).__name__})"
    return Proof("not proven", why, (), always=False, not_always="", held=(), outputs=(), seed=seed)
