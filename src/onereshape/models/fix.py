"""fix(): frees dims of a model, simplifies its Reshapes, and has the result compared with the original.

The batch goes by the rules of `batching`, every other dim by `freeing`.  A model that is given is not changed, unless
its owner says that a copy need not be made.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onereshape.apart.limits import SECONDS, checked, limited
from onereshape.condition import at_least, never_empty
from onereshape.errors import FixError, ReshapeError
from onereshape.formats.model import Model, cause
from onereshape.formats.model_files import load, refreshed
from onereshape.formats.onnx_graphs import MOST_UNFOLDED, copyable, unfolded
from onereshape.formats.onnx_sound import blamed
from onereshape.models.certificates.certificate import Certificate
from onereshape.models.certificates.compare import Carried
from onereshape.models.certificates.comparison import Comparison
from onereshape.models.edit import Change
from onereshape.models.batch.marks import Mark
from onereshape.models.facts.facts import Facts
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


@dataclass(frozen=True, slots=True)
class Fixed:
    """A repaired model."""

    model: Model
    """The repaired model; the one that was given, where nothing had to be changed."""
    changes: tuple[Change, ...]
    """What was rewritten, in the order of the graph; declared dims are not among them."""
    certificate: Any
    """What onnxruntime and the term run said of both models; None where they were not asked.  Its status is `proven`,
    `certified` or, where that was asked for, `unwitnessed`."""
    conditions: tuple[str, ...] = ()
    """What the freed sizes must satisfy."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be rewritten."""

    changes: tuple[Change, ...]
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Work:
    """A repair that is decided."""

    changes: tuple[Change, ...]
    apply: Callable[[], None]
    """Rewrites the model that it was decided for."""
    comparison: Comparison
    """What the certificate must know of it."""
    needed: bool
    """Whether anything changes, declared dims included."""
    conditions: tuple[str, ...] = ()


def plan(model: Model | str | os.PathLike[str], *, batch: Batch = None, free: Free = None) -> Plan:
    """What `fix` would rewrite; a FixError where the dims cannot be freed."""
    given = given_model(model)
    asked = requested(given, batch, free)
    return planned(given, asked, batch=free is None) if asked else Plan(())


def planned(given: Model, asked: Mapping[str, Mapping[int, str]], *, batch: bool, facts: Facts | None = None) -> Plan:
    """The same of what was `requested`; `facts` are those of the model, where they are known already."""
    if given.ir.functions:
        given, facts = _copy(given, inline=True), None
    work = _decide(given, asked, batch=batch, facts=facts)
    return Plan(work.changes, work.conditions)


def fix(  # noqa: PLR0913 - the options of the command
    model: Model | str | os.PathLike[str],
    *,
    batch: Batch = None,
    free: Free = None,
    simplify: bool = False,
    certify: bool = True,
    witness: str | os.PathLike[str] | None = None,
    unwitnessed: bool = False,
    seed: int = 0,
    timeout: float = SECONDS,
    memory: int | None = None,
    progress: Progress | None = None,
    copy: bool = True,
) -> Fixed:
    """The model with the asked dims free: `batch={"x": 0}` (True: axis 0 of every input that shares that size), or
    `free={"x": {1: "S"}}`; and, on demand, with its Reshapes simplified.

    onnxruntime runs both models before anything is returned, and so does the term run, on expressions instead of
    numbers; a FixError says where they differ.  The original is itself
    the truth for a batch, sample by sample; at another size of another dim only a second export is (`witness`), and
    without one nothing is returned unless `unwitnessed` asks for it.  It runs in a child process, where one answer may
    take `timeout` seconds and `memory` bytes (None: half of what is free).

    The model that is given stays as it is.  With `copy=False` nobody needs it any more: it may be rewritten itself, and
    be neither the old nor the new one after a refusal.
    """
    limit = checked(timeout, memory)
    drawn_from = read_seed(seed)
    check_progress(progress)
    given = given_model(model)
    asked = requested(given, batch, free)
    if not asked and not simplify:
        raise FixError("nothing-asked")
    if witness is not None and not free:
        raise ReshapeError("bad-usage", why="a witness is for freed dims other than the batch, and none are asked for")
    if given.format != "onnx":
        raise FixError("unsupported-model", why=f"{given.path}: only ONNX models are rewritten")
    _prepare(certify and bool(asked))
    owned = not copy or not isinstance(model, Model)
    fixed = _copy(given, inline=bool(asked), needed=certify or simplify or not owned)
    changes: list[Change] = []
    comparison = Comparison()
    conditions: tuple[str, ...] = ()
    needed = False
    if asked:
        work = _decide(fixed, asked, batch=free is None)
        needed, comparison, conditions = work.needed, work.comparison, work.conditions
        changes += work.changes
        if needed:
            with blamed(given, rewritten=fixed is given):
                work.apply()
    if simplify:
        from onereshape.models.simpler.simplify import simplify as simplified  # noqa: PLC0415 - only who asks for it needs it

        with blamed(given):
            found = simplified(fixed.ir)
        needed = needed or bool(found)
        changes += found
        conditions = tuple(dict.fromkeys([*conditions, *(each for change in found for each in change.conditions)]))
    if not needed:
        return Fixed(given, (), None, conditions)
    certificate = None
    if certify:
        other = None if witness is None else load(witness).ir
        asking = replace(
            comparison, witness=other, never_empty=never_empty(conditions), seed=drawn_from, progress=progress
        )
        with limited(limit):
            certificate = _certificate(given, fixed, asked, asking)
        if not certificate.holds and not (unwitnessed and certificate.status == "unwitnessed"):
            code = "unwitnessed" if certificate.status == "unwitnessed" else "not-certified"
            error = FixError(code, why=certificate.reason)
            error.certificate = certificate
            raise error
    return Fixed(refreshed(fixed), tuple(changes), certificate, conditions)


def _prepare(needed: bool) -> None:
    """Has onnxruntime loaded in its process, while this one decides what to ask it."""
    if not needed:
        return
    from onereshape.models.certificates.engine import prepare  # noqa: PLC0415 - only who certifies needs it

    prepare()


def _check_unfolded(model: Model) -> None:
    if unfolded(model.ir) > MOST_UNFOLDED:
        why = f"{model.path}: its functions unfold to more than {MOST_UNFOLDED} nodes"
        raise FixError("unsupported-model", why=why)


def _copy(model: Model, *, inline: bool, needed: bool = True) -> Model:
    """The model to be rewritten; to free a dim, functions are put where they are called, as each call may differ.

    It is the given one where no copy is needed and one could be made: what cannot be copied is refused in any case.
    """
    if inline:
        _check_unfolded(model)
    if not needed and not model.ir.functions and copyable(model.ir.graph):
        return model
    try:
        copy = model.ir.clone()
        if inline and copy.functions:
            from onnx_ir.passes.common import InlinePass  # noqa: PLC0415 - takes long

            InlinePass()(copy)
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir raises for a graph that is none: it has no class for it
        raise FixError("unsupported-model", why=f"{model.path}: is not a sound ONNX model: {cause(error)}") from None
    return replace(model, ir=copy)


def _decide(model: Model, asked: Mapping[str, Mapping[int, str]], *, batch: bool, facts: Facts | None = None) -> _Work:
    with blamed(model):
        return _batch(model, asked, facts) if batch else _free(model, asked)


def _batch(model: Model, asked: Mapping[str, Mapping[int, str]], facts: Facts | None) -> _Work:
    from onereshape.models.batch.apply import apply_batch, static_declarations  # noqa: PLC0415 - only who asks for it needs it
    from onereshape.models.batch.search import batch_plan  # noqa: PLC0415

    axes = {name: axis for name, dims in asked.items() for axis in dims}
    symbol = next(iter(next(iter(asked.values())).values()))
    declared = {value.name: value.shape for value in model.ir.graph.inputs}
    sizes = [declared[name][axis] for name, axis in axes.items()]
    size = batch_size(model.ir, axes)
    found = batch_plan(model.ir, axes, symbol, size, facts)
    marks = {value.name: found.marks.get(value) for value in model.ir.graph.outputs}
    outputs = {name: None if mark is None else _carried(name, mark) for name, mark in marks.items()}
    return _Work(
        found.changes,
        lambda: apply_batch(model.ir, found, axes),
        Comparison("batch", size, outputs),
        bool(found.edits) or any(static_declarations(found)),
        # A model that named its batch may have taken no samples; what is rewritten need not.
        (at_least(symbol, 1),) if found.edits and not all(isinstance(dim, int) for dim in sizes) else (),
    )


def _carried(output: str, mark: Mark) -> Carried:
    """Where an output carries N, for the certificate."""
    if not isinstance(mark.outer, int):
        raise FixError("cannot-free", node=output, op="output", why=f"it would carry the batch inside {mark.outer}")
    return Carried(mark.axis, mark.outer, mark.inner if isinstance(mark.inner, int) else None)


def _free(model: Model, asked: Mapping[str, Mapping[int, str]]) -> _Work:
    from onereshape.models.free.freeing import apply_free, free_plan  # noqa: PLC0415 - only who asks for it needs it

    found = free_plan(model.ir, asked)
    return _Work(
        found.changes,
        lambda: apply_free(model.ir, found, asked),
        Comparison("other", promised=found.promised),
        needed=bool(found.edits) or bool(found.dims),
        conditions=tuple(dict.fromkeys([*found.conditions, *_not_empty(model, found.changes)])),
    )


def _not_empty(model: Model, changes: Iterable[Change]) -> list[str]:
    """The names that a model had, if a Reshape is rewritten: it may have taken 0 of them, and now may not."""
    if not any(change.op == "Reshape" for change in changes):
        return []
    shapes = [value.shape for value in model.ir.graph.inputs if value.shape is not None and not value.is_initializer()]
    names = [dim.value for shape in shapes for dim in shape if not isinstance(dim, int) and dim.value]
    return [at_least(name, 1) for name in dict.fromkeys(names)]


def _certificate(
    given: Model, fixed: Model, asked: Mapping[str, Mapping[int, str]], comparison: Comparison
) -> Certificate:
    from onereshape.models.certificates.certify import certify  # noqa: PLC0415 - onnxruntime takes long

    with blamed(given):
        return certify(given.ir, fixed.ir, asked, comparison, base_dir=str(Path(given.path).parent))
