"""certify(): whether one model answers as another does, with a dim freed or without, whoever repaired it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import onnx_ir as ir

from onereshape.formats.given import Given
from onereshape.formats.model import Model
from onereshape.formats.onnx.onnx_sound import blamed, check_data
from onereshape.graphs.exports import Exports, check_witnesses, differing_dims, given_exports, numbered_alike
from onereshape.graphs.irs import imaged
from onereshape.graphs.request import (
    Batch,
    Free,
    Progress,
    batch_size,
    check_progress,
    given_model,
    read_seed,
    requested,
)
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.ground.isolation.budget import WHOLE, Limits, limited, whole
from onereshape.prove.certificate import Certificate
from onereshape.prove.engines.engine import engine_of
from onereshape.prove.evidence import Carried
from onereshape.prove.runs.comparison import Comparison
from onereshape.rule.condition import never_empty

AskedAxes = dict[str, dict[int, str]]


def certify(  # noqa: PLR0913 - the options of the command
    original: Given,
    repaired: Given,
    *,
    batch: Batch = None,
    free: Free = None,
    like: Exports = None,
    witness: Exports = None,
    conditions: Iterable[str] = (),
    thorough: bool = False,
    seed: int = 0,
    term_seed: int | None = None,
    timeout: float = WHOLE,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Compares a repaired model with its original, whoever repaired it.  Nothing is written, and neither is changed.

    onnxruntime runs both models on random inputs, and the term run compares their expressions.  With `batch`, N samples
    must get what each of them gets alone.  With `free`, the models must agree at the exported size, and with other
    exports at the sizes of these.  With neither, they must agree on the same inputs, at several sizes of their named
    dims, 0 among them.

    >>> import onereshape as orx
    >>> original = "tests/data/corpus/hand_yolo_head.ts.onnx"
    >>> repaired = orx.fix(original, batch=True, certify=False).model
    >>> orx.certify(original, repaired, batch=True).status
    'proven'
    >>> orx.certify(original, original, batch={"x": 0}).holds
    False

    Args:
        original: The model as it was.
        repaired: The model as it is now.
        batch: True, or the axis of each input that carries the batch: `{"x": 0}`.  With True these are the axes that
            the repaired model has freed.
        free: Other dims that were freed, with their names: `{"x": {1: "S"}}`.
        like: Exports that the repair was made from; they must agree too.
        witness: Exports at other sizes that the repair did not use.
        conditions: What sizes must satisfy, such as `"N >= 1"`: then no size is 0.
        thorough: Also run unusual values, larger batches and other neighbours where terms prove it; what they do not
            prove is always run so.
        seed: The seed of the random inputs.
        term_seed: The seed of the term run; None draws a new one.
        timeout: Seconds that all of it may take (300); what is not shown by then is not claimed.
        memory: Bytes that this process may use; None is half of what is free.
        progress: Called with how many steps are done, how many there are, and what is being done.

    """
    return certified(
        ModelPair(_onnx(original), _onnx(repaired), given_exports(witness, "witness"), given_exports(like, "like")),
        CertifyQuestion(batch, free, tuple(conditions), real=True, thorough=thorough),
        seed=read_seed(seed),
        term_seed=None if term_seed is None else read_seed(term_seed),
        limit=whole(timeout, memory),
        progress=progress,
    )


@dataclass(frozen=True, slots=True)
class ModelPair:
    """Two models under question, and exports at other sizes: witnesses, and those that the repair was fitted on."""

    original: Model
    repaired: Model
    witnesses: tuple[Model, ...] = ()
    fitted: tuple[Model, ...] = ()


@dataclass(frozen=True, slots=True)
class CertifyQuestion:
    """The question of a certificate: which dims were freed, under which conditions."""

    batch: Batch = None
    free: Free = None
    conditions: tuple[str, ...] = ()
    outputs: Mapping[str, Carried | None] | None = None
    """The place at which each output carries the batch, as the repair said; None: to be found out."""
    comparison: Comparison | None = None
    """The comparison of freed dims, where a repair that was decided again tells it."""
    real: bool = False
    """Whether models in which nothing is freed may be equivalent: two that were both given, and no repair."""
    thorough: bool = False
    """Whether all is run that may show a difference, though terms prove that there is none."""


def certified(  # noqa: PLR0913 - see certify
    pair: ModelPair,
    question: CertifyQuestion,
    *,
    seed: int,
    term_seed: int | None,
    limit: Limits,
    progress: Progress | None,
) -> Certificate:
    """The certificate of two models that are loaded."""
    check_progress(progress)
    first, second = imaged(pair.original), imaged(pair.repaired)
    witnesses, fitted = (
        tuple(numbered_alike(first, imaged(each)) for each in others) for others in (pair.witnesses, pair.fitted)
    )
    pair = ModelPair(first, second, witnesses, fitted)
    for model in (first, second):
        check_data(model)
    for other in (*pair.witnesses, *pair.fitted):
        if engine_of(other.ir) != engine_of(first.ir):
            raise FixError("unlike", why=f"{other.path} and {first.path} are not in one format")
    if pair.fitted and question.free is None and question.batch is None:
        question = replace(question, free=differing_dims(first, pair.fitted))
    asked = requested(first, _batch(first, second, question.batch), question.free)
    if (pair.witnesses or pair.fitted) and not question.free:
        what = "a witness" if pair.witnesses else "another export"
        raise ReshapeError("bad-usage", why=f"{what} is for freed dims other than the batch, and none are asked for")
    check_witnesses(first, pair.fitted, pair.witnesses, asked)
    from onereshape.prove.pairing import aligned, called, named_as  # noqa: PLC0415
    from onereshape.prove.run_both import certify as run_both  # noqa: PLC0415 - onnxruntime takes long

    with limited(limit), blamed(second), blamed(first):
        mine = first.ir if engine_of(first.ir) == engine_of(second.ir) else named_as(second.ir, first.ir)
        twin = aligned(mine, second.ir, asked)
        return run_both(
            called(mine, asked),
            twin,
            asked,
            replace(
                _comparison(first, twin, asked, question),
                fitted=tuple(each.ir for each in pair.fitted),
                witnesses=tuple(each.ir for each in pair.witnesses),
                never_empty=never_empty(question.conditions),
                seed=seed,
                term_seed=term_seed,
                thorough=question.thorough,
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
    from onereshape.prove.pairing import freed_axes  # noqa: PLC0415 - onnx takes long

    return freed_axes(original.ir, repaired.ir) or batch if batch is True else batch


def _comparison(original: Model, repaired: ir.Model, asked: AskedAxes, question: CertifyQuestion) -> Comparison:
    """The comparison that suits the freed dims: a batch, with its size and its places in outputs, other dims, none."""
    from onereshape.prove.pairing import carried  # noqa: PLC0415 - onnx takes long

    if not asked:
        return Comparison(real=question.real)
    if question.free is not None:
        return question.comparison or Comparison("other")
    size = batch_size(original.ir, {name: axis for name, dims in asked.items() for axis in dims})
    places = question.outputs
    if places is None:
        places = carried(original.ir, repaired, asked, size, base_dir=original.folder)
    return Comparison("batch", size, places)
