"""fix(): frees dims of a model, simplifies its Reshapes, and has the result compared with the original.

The batch goes through `batch`, every other dim through `dims`, or through `fitting`, by what other exports of the model
say; a batch beside other dims is a second step, on what the first one gave.  A model that is given is not changed,
unless its owner says that a copy need not be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from onereshape.formats.given import Given
from onereshape.formats.model import Model
from onereshape.formats.model_data import ModelData
from onereshape.formats.onnx.onnx_sound import blamed
from onereshape.graphs.edit import Change
from onereshape.graphs.exports import Exports, Freed, given_exports
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.irs import imaged, in_layers
from onereshape.graphs.likely_batch import Axes
from onereshape.graphs.request import Batch, Free, Progress, check_progress, given_model, read_seed, requested
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.ground.isolation.budget import WHOLE, limited, whole
from onereshape.prove.engines.engine import engine_of, prepare
from onereshape.repair.dims_work import free_work, like_work
from onereshape.repair.last_word import has_other_names
from onereshape.repair.layered import layered
from onereshape.repair.starts import from_starts, has_others
from onereshape.repair.step import Fixed, Wish, both, copied, step
from onereshape.repair.unrepaired import AsItIs, otherwise
from onereshape.repair.work import Work


@dataclass(frozen=True, slots=True)
class RepairPlan:
    """The repair that `fix` would make: its changes, its conditions, and the dims that would be free."""

    changes: tuple[Change, ...]
    conditions: tuple[str, ...] = ()
    sure: bool = True
    """Whether the repair is right whatever the terms say."""
    freed: Freed = field(default_factory=dict)
    """Input -> axis -> the name of a dim that is free then."""
    outputs: Mapping[str, int | None] = field(default_factory=dict)
    """The axes at which outputs carry a batch."""
    declared: frozenset[str] = frozenset()
    """The values that are declared with a fixed size where they carry the batch, and are declared anew."""


def plan(model: Given, *, batch: Batch = None, free: Free = None) -> RepairPlan:
    """What `fix` would rewrite; a FixError where the dims cannot be freed."""
    given = imaged(given_model(model))
    asked = requested(given, batch, free)
    with in_layers(given):
        return planned(given, asked, batch=free is None, likely=batch is True) if asked else RepairPlan(())


def planned(
    given: Model, asked: Mapping[str, Mapping[int, str]], *, batch: bool, likely: bool, facts: Facts | None = None
) -> RepairPlan:
    """The plan for what was `requested`; `facts` are those of the model, where they are known already.

    `likely`: nobody named the axes of the batch.
    """
    if given.ir.functions:
        given, facts = copied(given, inline=True), None
    with blamed(given):
        if batch:
            axes = {name: axis for name, dims in asked.items() for axis in dims}
            attempt = partial(_planned_batch, given, facts=facts, likely=likely)
            work = from_starts(given.ir, axes, attempt, likely=likely)
        else:
            work = free_work(given, asked, (), given)
    outputs = {name: None if place is None else place.axis for name, place in work.comparison.outputs.items()}
    return RepairPlan(work.changes, work.conditions, work.unless_proven is None, work.freed, outputs, work.declared)


def _planned_batch(given: Model, axes: Axes, *, facts: Facts | None, likely: bool) -> Work:
    """A batch that is decided, on a copy where nodes would be cut off, or an output gets a new axis."""
    from onereshape.graphs.batch_rules.own_scales import has_scales  # noqa: PLC0415
    from onereshape.repair.batch.dropping import may_cut  # noqa: PLC0415 - only who asks for it needs it
    from onereshape.repair.batch.lifting import may_lift  # noqa: PLC0415
    from onereshape.repair.batch_work import batch_work  # noqa: PLC0415

    try:
        return batch_work(given, axes, facts, likely=likely)
    except FixError as refusal:
        label, at_end = str(refusal.fields.get("node")), refusal.fields.get("op") == "output"
        if not (at_end or may_cut(given.ir, label) or may_lift(given.ir, label) or has_scales(given.ir)):
            raise
        try:
            copy = copied(given, inline=False)
        except FixError:
            raise refusal from None
        return batch_work(copy, axes, None, likely=likely, new_axis=True, lifts=True)


def fix(  # noqa: PLR0913 - the options of the command
    model: Given,
    *,
    batch: Batch = None,
    free: Free = None,
    like: Exports = None,
    per_sample: bool = False,
    simplify: bool = False,
    certify: bool = True,
    witness: Exports = None,
    unwitnessed: bool = False,
    new_axis: bool = True,
    thorough: bool = False,
    seed: int = 0,
    timeout: float = WHOLE,
    memory: int | None = None,
    progress: Progress | None = None,
    copy: bool = True,
) -> Fixed:
    """Frees dims of a model, compares the result with the original, and returns both as a `Fixed`.

    The original is never changed, and nothing is written; `Fixed.model.save(path)` writes the repaired model.  Before
    anything is returned, onnxruntime runs both models and the term run follows their expressions.  If they differ, a
    `FixError` says where.  A batch beside other dims is freed after them.

    >>> import onereshape as orx
    >>> fixed = orx.fix("tests/data/corpus/hand_yolo_head.ts.onnx", batch=True)
    >>> fixed
    Fixed(4 changes, proven for all N >= 1, compared at N = 1, 2, 3)
    >>> fixed.changes[1].before, fixed.changes[1].after
    ('[1, -1, 7]', '[0, -1, 7]')

    Args:
        model: What to repair.
        batch: True, or the axis of each input that carries the batch: `{"x": 0}`.  With True the axes are found;
            `Fixed.notes` says so where they are not the first ones.
        free: Other dims to free, with their names: `{"x": {1: "S"}}`.
        like: Other exports of the same model at other sizes.  All dims that differ are freed; `free` may name them.
        per_sample: If the batch cannot be freed by rules, run the model once for each sample, in a Scan around the
            whole graph.  N samples then take as long as N calls.
        simplify: Also simplify Reshapes.
        certify: False runs nothing and compares nothing; a repaired IR is loaded by openvino, if that is installed.
        witness: Exports at other sizes that the repair does not use; it is compared with them.
        unwitnessed: Return the model although no other export could confirm sizes other than the exported one.
        new_axis: An output of one sample without a batch, such as `[8]` after a squeeze, gets a new first axis:
            `[N, 8]`.  With False it keeps its rank: `[8*N]`.
        thorough: Also run unusual values, larger batches and other neighbours where terms prove the repair; what they
            do not prove is always run so.
        seed: The seed of the random inputs.
        timeout: Seconds that all of it may take (300); what is not shown by then is not claimed.
        memory: Bytes that this process may use; None is half of what is free.
        progress: Called with how many steps are done, how many there are, and what is being done.
        copy: With False the model that is given may be changed, which saves a copy.

    """
    limit = whole(timeout, memory)
    drawn_from = read_seed(seed)
    check_progress(progress)
    read = given_model(model)
    given = imaged(read)
    named, batched = requested(given, None, free), requested(given, batch, None)
    if not named and not batched and like is None and not simplify and not per_sample:
        raise FixError("nothing-asked")
    _check_usage(witness, per_sample, freeing=bool(named) or like is not None, batched=bool(batched))
    if given.format != "onnx":
        raise FixError("unsupported-model", why=f"{given.path}: only ONNX models and OpenVINO IRs are rewritten")
    if given is not read and per_sample:
        raise FixError("unsupported-model", why=f"{given.path}: only an ONNX model is run sample by sample")
    fitted, witnesses = given_exports(like, "like"), given_exports(witness, "witness")
    if like is not None and not fitted:
        raise ReshapeError("bad-usage", why="like names no other export")
    for other in (*fitted, *witnesses):
        if engine_of(other.ir) != engine_of(given.ir):
            raise FixError("unlike", why=f"{other.path} and {given.path} are not in one format")
    freeing = bool(named or fitted)
    _prepare(given, certify and (freeing or bool(batched)))
    wish = Wish(
        *(certify, unwitnessed, drawn_from, limit, progress, fitted, witnesses, per_sample, batch is True, new_axis),
        thorough=thorough,
    )
    owned = not copy or not isinstance(model, ModelData)
    with in_layers(given), limited(limit):
        return layered(_freed(given, named, batched, wish, simplify=simplify, owned=owned), read, given, limit)


def _freed(  # noqa: PLR0913 - what is asked
    given: Model, named: Freed, batched: Freed, wish: Wish, *, simplify: bool, owned: bool
) -> Fixed:
    """The dims freed, the batch after the others."""
    found = Fixed(given, (), None)
    freeing = bool(named or wish.fitted)
    if freeing:
        exports = (wish.fitted, wish.witnesses) if wish.fitted else (wish.witnesses,)
        work = partial(like_work if wish.fitted else free_work, given, named, *exports)
        found = step(given, work, wish, simplify=simplify and not batched, owned=owned)
    if batched:
        owned = owned or found.model is not given
        return both(found, _with_sizes(_batch_freed(found, batched, wish, simplify=simplify, owned=owned), batched))
    return found if freeing else step(given, None, wish, simplify=True, owned=owned)


def _batch_freed(found: Fixed, batched: Freed, wish: Wish, *, simplify: bool, owned: bool) -> Fixed:
    """The batch freed: proven to be free already, or else planned by rules, or free though no rule says so."""
    given, as_it_is = found.model, AsItIs(found.model, wish)
    right = None if simplify else as_it_is.proven(batched)
    if right is not None:
        return right
    axes = {name: axis for name, dims in batched.items() for axis in dims}
    owned = owned and not (wish.per_sample or has_others(given.ir, axes))
    from onereshape.repair.batch_work import batch_work  # noqa: PLC0415 - only who asks for it needs it

    def freed(axes: Axes) -> Fixed:
        work = partial(batch_work, axes=axes, likely=wish.likely, new_axis=wish.new_axis, lifts=True)
        return step(given, work, wish, simplify=simplify, owned=owned, before=found.conditions)

    try:
        planned = from_starts(given.ir, axes, freed, likely=wish.likely)
    except FixError as refusal:
        return otherwise(found, batched, wish, refusal, as_it_is, simplify=simplify)
    return planned if simplify else as_it_is.in_place_of(planned) or planned


def _with_sizes(fixed: Fixed, batched: Freed) -> Fixed:
    """A repair with notes on sizes beside the batch that the model does not take, which no batch mends."""
    if not has_other_names(fixed.model.ir, fixed.freed or batched):
        return fixed
    from onereshape.graphs.size_limits.limited import untaken  # noqa: PLC0415 - rarely needed

    with blamed(fixed.model):
        return replace(fixed, notes=(*fixed.notes, *untaken(fixed.model)))


def _check_usage(witness: Exports, per_sample: bool, *, freeing: bool, batched: bool) -> None:
    """Refuses options for what is not asked."""
    if per_sample and not batched:
        raise ReshapeError(
            "bad-usage", why="--per-sample (per_sample=True) says how a batch is freed: give --batch (batch=True) too"
        )
    if witness is not None and not freeing:
        raise ReshapeError("bad-usage", why="a witness is for freed dims other than the batch, and none are asked for")


def _prepare(given: Model, needed: bool) -> None:
    """Has the engine loaded in its process, while this one decides what to ask it."""
    if needed:
        prepare(engine_of(given.ir))
