"""The real reading of a certificate: whether two models are one formula of real numbers, where terms do not prove it.

It is asked at the sizes at which the terms are (`term_runs.same_terms`).
"""

from __future__ import annotations

from collections.abc import Collection

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import MOST_UNFOLDED, unfolded
from onereshape.prove.runs.term_runs import Settings, allowed, each_once, further
from onereshape.prove.runs.trial import Feeds, Sizes
from onereshape.prove.values.naming import with_named_dims
from onereshape.terms.equivalence import Equivalence, prove_equivalent
from onereshape.terms.limits import Limits


def same_formula(
    original: ir.Model, other: ir.Model, settings: Settings, seed: int, never_empty: Collection[str] = ()
) -> Equivalence:
    """Both models at the sizes that the engine had, and at 0, 1 and others that the original takes."""
    original, other = with_named_dims(original), with_named_dims(other)
    bound, known = allowed(), each_once(settings)
    values: Feeds = known[0][1] if known else {}
    found: list[Equivalence] = []
    skipped: list[Equivalence] = []
    for sizes, given in known:
        found.append(_read(original, other, sizes, given, seed, bound))
        if not found[-1].holds:
            return _merged(found)
    for sizes in further(original, never_empty, lambda: not found):
        reading = _read(original, other, sizes, values, seed, bound)
        takes = reading.verdict != "unknown" or _read(original, original, sizes, values, seed, bound).holds
        (found if takes else skipped).append(reading)  # what the original does not take says nothing
        if takes and not reading.holds:
            break
    return _merged(found or skipped)


def _read(  # noqa: PLR0913, PLR0917 - what a reading depends on
    original: ir.Model, other: ir.Model, sizes: Sizes, values: Feeds, seed: int, bound: Limits
) -> Equivalence:
    """One reading; what a stranger's model makes it stumble over shows nothing."""
    if any(unfolded(model) > MOST_UNFOLDED for model in (original, other)):
        why = f"its functions unfold to more than {MOST_UNFOLDED} nodes"
    else:
        try:
            return prove_equivalent(original, other, [sizes], given=values, seed=seed, limits=bound)
        except Exception as error:  # noqa: BLE001 - a rule that met what it should have refused
            why = f"the reading as real numbers stumbled ({type(error).__name__})"
    return Equivalence("unknown", why, (), 0.0, "", seed)


def _merged(readings: list[Equivalence]) -> Equivalence:
    """Several readings as one, with the weakest of their verdicts: that of the last one, where it is the weakest."""
    worst = next((each for each in readings if not each.holds), readings[-1])
    sizes = {tuple(each.items()): each for reading in readings if reading.holds for each in reading.sizes}
    return Equivalence(worst.verdict, worst.reason, (*sizes.values(),), worst.tolerance, worst.parted, worst.seed)
