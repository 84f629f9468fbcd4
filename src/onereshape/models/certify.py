"""certify(): whether one model answers as another does, with a dim freed or without, whoever repaired it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import onnx_ir as ir

from onereshape.apart.limits import SECONDS, Limits, checked, limited
from onereshape.condition import never_empty
from onereshape.errors import FixError, ReshapeError
from onereshape.formats.given import Given
from onereshape.formats.model import Model
from onereshape.formats.onnx_sound import blamed
from onereshape.models.certificates.certificate import Certificate
from onereshape.models.certificates.compare import Carried
from onereshape.models.certificates.engine import engine_of
from onereshape.models.certificates.comparison import Comparison
from onereshape.models.exports import Exports, check_witnesses, given_exports
from onereshape.models.images import imaged
from onereshape.models.request import (
    Batch,
    Free,
    Progress,
    batch_size,
    check_progress,
    given_model,
    read_seed,
    requested,
)

Asked = dict[str, dict[int, str]]


def certify(  # noqa: PLR0913 - the options of the command
    original: Given,
    repaired: Given,
    *,
    batch: Batch = None,
    free: Free = None,
    like: Exports = None,
    witness: Exports = None,
    conditions: Iterable[str] = (),
    seed: int = 0,
    term_seed: int | None = None,
    timeout: float = SECONDS,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """A certificate that says whether `repaired` may be used in place of `original`: its `status` and `reason`.

    With `batch={"x": 0}` (True: the axes that the repaired model has freed) N samples must get what each gets alone,
    with `free={"x": {1: "S"}}` the models must agree at the exported size, and with other exports at their own: those
    that the repair was fitted on (`like`), and those that it did not use (`witness`); with neither
    they must agree on the same inputs, at all sizes of their named dims that are tried, 0 among them unless one of the
    `conditions` is `N >= 1`.
    onnxruntime runs both models on values drawn from `seed`, and the term run proves what it can, from a seed that
    nobody knows beforehand unless `term_seed` gives it.  Nothing is written and neither model is changed.

    >>> model = "tests/data/corpus/hand_squeeze_all.ts.onnx"
    >>> found = certify(model, model)
    >>> found, found.holds
    (Certificate(proven at the sizes of the original, compared at the sizes of the original), True)
    """
    return certified(
        Pair(_onnx(original), _onnx(repaired), given_exports(witness, "witness"), given_exports(like, "like")),
        Question(batch, free, tuple(conditions)),
        seed=read_seed(seed),
        term_seed=None if term_seed is None else read_seed(term_seed),
        limit=checked(timeout, memory),
        progress=progress,
    )


@dataclass(frozen=True, slots=True)
class Pair:
    """The models."""

    original: Model
    repaired: Model
    witnesses: tuple[Model, ...] = ()
    fitted: tuple[Model, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """What is to be shown of them."""

    batch: Batch = None
    free: Free = None
    conditions: tuple[str, ...] = ()
    outputs: Mapping[str, Carried | None] | None = None
    """Where each output is said to carry the batch; None: that is found out."""


def certified(  # noqa: PLR0913 - see certify
    pair: Pair,
    question: Question,
    *,
    seed: int,
    term_seed: int | None,
    limit: Limits,
    progress: Progress | None,
) -> Certificate:
    """The certificate of two models that are loaded."""
    check_progress(progress)
    pair = Pair(
        imaged(pair.original),
        imaged(pair.repaired),
        tuple(map(imaged, pair.witnesses)),
        tuple(map(imaged, pair.fitted)),
    )
    first, second = pair.original, pair.repaired
    for other in (second, *pair.witnesses, *pair.fitted):
        if engine_of(other.ir) != engine_of(first.ir):
            raise FixError("unlike", why=f"{other.path} and {first.path} are not in one format")
    asked = requested(first, _batch(first, second, question.batch), question.free)
    if (pair.witnesses or pair.fitted) and not question.free:
        what = "a witness" if pair.witnesses else "another export"
        raise ReshapeError("bad-usage", why=f"{what} is for freed dims other than the batch, and none are asked for")
    check_witnesses(first, pair.fitted, pair.witnesses, asked)
    from onereshape.models.certificates.certify import certify as run_both  # noqa: PLC0415 - onnxruntime takes long
    from onereshape.models.pairing import aligned  # noqa: PLC0415

    with limited(limit), blamed(second), blamed(first):
        twin = aligned(first.ir, second.ir, asked)
        return run_both(
            first.ir,
            twin,
            asked,
            replace(
                _comparison(first, twin, asked, question),
                fitted=tuple(each.ir for each in pair.fitted),
                witnesses=tuple(each.ir for each in pair.witnesses),
                never_empty=never_empty(question.conditions),
                seed=seed,
                term_seed=term_seed,
                progress=progress,
            ),
            base_dir=first.folder,
        )


def _onnx(given: Given) -> Model:
    model = imaged(given_model(given))
    if model.format != "onnx":
        raise FixError("unsupported-model", why=f"{model.path}: only ONNX models and OpenVINO IRs are run")
    return model


def _batch(original: Model, repaired: Model, batch: Batch) -> Batch:
    """The axes of the batch; if nobody names them, those that the repaired model has freed."""
    from onereshape.models.pairing import freed_axes  # noqa: PLC0415 - onnx takes long

    return freed_axes(original.ir, repaired.ir) or batch if batch is True else batch


def _comparison(original: Model, repaired: ir.Model, asked: Asked, question: Question) -> Comparison:
    """What kind of repair it is, and what must be known of it."""
    from onereshape.models.pairing import carried  # noqa: PLC0415 - onnx takes long

    if not asked:
        return Comparison()
    if question.free is not None:
        return Comparison("other")
    size = batch_size(original.ir, {name: axis for name, dims in asked.items() for axis in dims})
    places = question.outputs
    if places is None:
        places = carried(original.ir, repaired, asked, size, base_dir=original.folder)
    return Comparison("batch", size, places)
