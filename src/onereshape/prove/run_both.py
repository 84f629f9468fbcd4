"""certify(): the order in which a certificate is made: terms first, then the engine, and what follows from both.

What terms prove for all that is asked is run a little, to see that an engine loads and runs it and agrees.  Everything
else goes through all that may show a difference: unusual values, larger batches, other neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Final

import onnx_ir as ir

from onereshape.graphs.exports import Freed
from onereshape.ground.isolation.budget import OutOfTime
from onereshape.prove.certificate import Certificate, judged
from onereshape.prove.engines.engine import engine_name, engine_of
from onereshape.prove.evidence import Asked, AskedEngine, Carried, Differs, Failed, Kind, TimeOver, Untestable
from onereshape.prove.judge import judge
from onereshape.prove.runs.asking import consult
from onereshape.prove.runs.compare import FLOATS
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.first_tensor import first_tensor
from onereshape.prove.runs.other_exports import other_exports
from onereshape.prove.runs.sample_by_sample import sample_by_sample
from onereshape.prove.runs.term_runs import Settings, same_formula
from onereshape.prove.runs.trial import Stop, Trial, check_free, check_interface
from onereshape.prove.runs.truth import Truth
from onereshape.prove.values.draw import Undrawable
from onereshape.prove.values.naming import with_named_dims

__all__ = ["Carried", "Certificate", "Comparison", "certify"]


def certify(
    original: ir.Model,
    repaired: ir.Model,
    freed: Freed,
    comparison: Comparison,
    *,
    base_dir: str,
) -> Certificate:
    """Puts both models beside each other; a FixError where the engine refuses the original.

    `freed` names the dims as the repaired model declares them, `base_dir` is the folder of the external data.
    """
    original, repaired = with_named_dims(original), with_named_dims(repaired)
    fitted, witnesses = (tuple(map(with_named_dims, each)) for each in (comparison.fitted, comparison.witnesses))
    trial = Trial(original, repaired, freed, replace(comparison, fitted=fitted, witnesses=witnesses), base_dir)
    trial.evidence.append(Asked(trial.kind, comparison.seed, FLOATS.relative, FLOATS.absolute, trial.outputs))
    with _noted(trial):
        check_interface(original, repaired, "repaired model")
        check_free(trial)
        _put_beside(trial, _TRUTHS[trial.kind](trial))
    engines = (*dict.fromkeys(map(engine_of, (original, repaired))),)
    trial.evidence.append(AskedEngine(engines, tuple(map(engine_name, engines))))
    found = judged(trial.evidence)
    if comparison.progress is not None:
        comparison.progress(trial.steps, trial.steps, found.status)
    return found


_TRUTHS: Final[dict[Kind, Callable[[Trial], Truth]]] = {
    "batch": sample_by_sample,
    "other": other_exports,
    "same": Truth,
}


def _put_beside(trial: Trial, truth: Truth) -> None:
    """Terms, then runs; a Stop where nothing more need be run."""
    terms = trial.asked.terms
    if terms and truth.settings is not None:
        _prove(trial, truth, truth.settings)
    asked = consult(trial, truth.chooser, truth.question())
    truth.listen(asked)
    settings = [(each.setting.sizes, each.setting.values) for each in asked.references]
    if terms and truth.settings is None:
        _prove(trial, truth, settings)
    unusual = [] if trial.proven else truth.unusual(asked)
    asked.close()  # two models in an engine at once are one too many
    session = trial.opened()
    truth.compare(session, asked)
    if unusual and not trial.doubts:
        trial.step("values beyond the usual")
        truth.compare_unusual(session, unusual)
    if trial.kind == "other" or (terms and not trial.proven and judge(trial.evidence) in {"proven", "certified"}):
        truth.look_further(session, asked)
    if terms and trial.asked.real and judge(trial.evidence) in {"certified", "untested", "not proven"}:
        trial.step("formulas")
        trial.evidence.append(same_formula(trial, settings))


def _prove(trial: Trial, truth: Truth, settings: Settings) -> None:
    trial.step("terms")
    trial.evidence += truth.terms(settings)


@contextmanager
def _noted(trial: Trial) -> Iterator[None]:
    """Whatever ends the runs, as evidence."""
    try:
        yield
    except Stop as stop:
        trial.evidence.append(_parted(trial, stop.record))
    except Undrawable as why:
        trial.evidence.append(Untestable("undrawable", {"why": str(why)}))
    except OutOfTime as over:
        trial.evidence.append(TimeOver(over.after))


def _parted(trial: Trial, record: Differs | Failed | Untestable) -> Differs | Failed | Untestable:
    """A difference with the first tensor at which the models part, where both are fed the same."""
    if not isinstance(record, Differs) or (example := record.example) is None:
        return record
    if example.models != ("original", "repaired") or example.beside is not example.feeds:
        return record
    first = first_tensor(trial.original, trial.repaired, example.feeds, trial.base_dir)
    return replace(record, example=replace(example, first=first))
