"""The files of a plan: which names a specification's files have, and what they are written over."""

from __future__ import annotations

from pathlib import Path

from onereshape.formats.model import Model, data_files
from onereshape.formats.model_formats import format_of, suffix
from onereshape.formats.overwriting import refuse_overwriting
from onereshape.formats.reshape_plan import ReshapePlan
from onereshape.ground.errors import ReshapeError
from onereshape.rule.specs import Spec


def write(plan: ReshapePlan, path: str) -> None:
    """Writes the model of a plan, all of its files or none."""
    format_of(plan.spec.dialect).plans.write(plan, path)


def check_output(read: str, written: str, spec: Spec) -> None:
    """Refuses an output that cannot be one, before anything is read."""
    endings = format_of(spec.dialect).suffixes
    if suffix(written) not in endings:
        why = f"{written}: a model of {spec} is written to a name that ends in {' or '.join(endings)}"
        raise ReshapeError("bad-usage", why=why)
    refuse_overwriting(_written(written, spec), read)


def check_weights(model: Model, written: str, spec: Spec) -> None:
    """Refuses an output that would take the place of the weights of the model that is read."""
    refuse_overwriting(_written(written, spec), model.path, data_files(model))


def _written(path: str, spec: Spec) -> list[str]:
    return [path, *(str(Path(path).with_suffix(each)) for each in format_of(spec.dialect).beside)]
