"""The law of dependency, asked of one operator: what changes in onnxruntime has other terms.

A case of the world of shapes is run in onnxruntime and on terms.  Dims and types agree; if one element that is fed
changes, each element of an output that changes has another word; and two cases of an operator whose answers differ on
the same inputs do not have the same words there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
from onnx.reference import ReferenceEvaluator

from onereshape.terms.feeding import feed
from onereshape.terms.hashing import Array, Hashing
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.refusal import NeedsNumbers, NotProven
from onereshape.terms.tensor import Tensor, numbers
from tests import running
from tests.laws.shape_law import Case, _names, _runs, model_of

HASHING = Hashing(20251116)

Feeds = Mapping[str, Array]


class Run(NamedTuple):
    """A case at some sizes: what is fed, what onnxruntime gives, and the terms."""

    case: Case
    session: Any
    program: Program
    feeds: Feeds
    answers: list[Array]
    fed: Mapping[str, Tensor]
    """The inputs on terms, some of which are numbers."""
    terms: list[Tensor]


class Refused(NamedTuple):
    """Terms that there are none of."""

    op: str
    why: str


def runs(case: Case, most: int = 2) -> Iterator[Run | Refused | str]:
    """Some runs of a case: those with the most elements first; a sentence where dims or types are other ones."""
    proto = model_of(case)
    try:
        session: Any = ReferenceEvaluator(proto) if case.reference else running.session(proto)
    except Exception:  # noqa: BLE001 - a version that onnxruntime lacks
        return
    program = Program(ir.from_proto(proto), HASHING, Limits())
    found = 0
    for _, feeds in _largest(case):
        try:
            answers = [_array(each) for each in session.run(None, dict(feeds))]
        except Exception:  # noqa: BLE001, S112 - sizes that the operator does not take
            continue
        yield _run(case, session, program, feeds, answers)
        found += 1
        if found == most:
            return


def _array(answer: Any) -> Array:
    """An answer; a sequence of maps is a row for each."""
    if isinstance(answer, list) and answer and isinstance(answer[0], dict):
        return np.array([[*row.values()] for row in answer], np.float32)
    return np.asarray(answer)


def _largest(case: Case) -> list[tuple[Any, dict[str, Array]]]:
    given = list(islice(_runs(case, case, None), 160))
    return sorted(given, key=lambda each: (0 in each[0].values(), -sum(a.size for a in each[1].values())))


def _run(case: Case, session: Any, program: Program, feeds: Feeds, answers: list[Array]) -> Run | Refused | str:
    valued = {f"x{place}" for place, each in enumerate(case.inputs) if each is not None and each.values}
    why = NotProven("")
    for known in (set(), valued, set(feeds)):
        fed = _fed(program, feeds, known)
        try:
            results, _ = program.run(fed)
        except NeedsNumbers as stop:
            why = stop
            continue
        except NotProven as stop:
            return Refused(case.op, stop.why)
        terms = list(results.values())
        said = _unlike(answers, terms)
        if said:
            return f"{case.text}: {said}"
        return Run(case, session, program, feeds, answers, fed, [each for each in terms if isinstance(each, Tensor)])
    return Refused(case.op, why.why)


def _fed(program: Program, feeds: Feeds, known: set[str]) -> dict[str, Tensor]:
    """Words for the elements of inputs, or numbers."""
    graph = program.model.graph
    for value in graph.inputs:
        value.shape = ir.Shape(feeds[value.name or ""].shape)
    drawn = feed(program.model, HASHING, {}, [], {}, {})
    return {name: numbers(array, drawn[name].dtype) if name in known else drawn[name] for name, array in feeds.items()}


def _unlike(answers: list[Array], terms: list[Any]) -> str:
    """What is not the same of the dims and types of an answer."""
    for place, (answer, each) in enumerate(zip(answers, terms, strict=True)):
        if each is None:
            continue
        if not isinstance(each, Tensor):
            return f"output {place} is no tensor"
        if each.shape != answer.shape:
            return f"output {place} has dims {list(answer.shape)}, and {list(each.shape)} on terms"
        if not _text(answer) and each.dtype.numpy() != answer.dtype:
            return f"output {place} is {answer.dtype}, and {each.dtype} on terms"
    return ""


def _text(array: Array) -> bool:
    return array.dtype.kind in "OUS"


def unseen(run: Run, rng: np.random.Generator, tries: int) -> Iterator[str]:
    """Changes of one element that change an answer and not its words."""
    before = [each.hashed(HASHING) for each in run.terms]
    free = [name for name, each in run.fed.items() if not each.known and each.size]
    for _ in range(tries if free else 0):
        name = free[int(rng.integers(len(free)))]
        flat = int(rng.integers(run.feeds[name].size))
        words = np.array(run.fed[name].array)
        words.ravel()[flat] ^= np.uint64(0x9E3779B97F4A7C15)
        fed = {**run.fed, name: replace(run.fed[name], words=words)}
        try:
            results, _ = run.program.run(fed)
        except NotProven as stop:
            yield f"{run.case.text}: with another word it is refused: {stop.why}"
            continue
        after = [each.hashed(HASHING) for each in results.values() if isinstance(each, Tensor)]
        for value in _others(run, name, flat):
            changed = np.array(run.feeds[name])
            changed.ravel()[flat] = value
            try:
                answers = [_array(each) for each in run.session.run(None, {**run.feeds, name: changed})]
            except Exception:  # noqa: BLE001, S112 - an index that is not there
                continue
            for place, (old, new) in enumerate(zip(run.answers, answers, strict=True)):
                if old.shape != new.shape:
                    yield f"{run.case.text}: the dims of output {place} depend on {name}"
                    continue
                missed = differ(old, new) & (before[place] == after[place])
                if np.any(missed):
                    where = np.argwhere(missed)[0].tolist()
                    yield (
                        f"{run.case.text}: {name}[{flat}] = {value} for {run.feeds[name].ravel()[flat]} changes output "
                        f"{place} at {where} from {old[tuple(where)]} to {new[tuple(where)]}, and no term"
                    )


def _others(run: Run, name: str, flat: int) -> list[Any]:
    """Other values: near, far, of the other sign; values that open gates."""
    array = run.feeds[name]
    now = array.ravel()[flat]
    if array.dtype == bool:
        return [not now]
    if array.dtype.kind == "f":
        return [now + array.dtype.type(0.5), -now, array.dtype.type(0), array.dtype.type(3e4), array.dtype.type(-3e4)]
    if array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        return [each for each in (int(now) + 1, int(now) - 1, 0, 1, -1, info.max) if info.min <= each <= info.max]
    return []


def differ(old: Array, new: Array) -> Any:
    """Where two answers differ; zeros of both signs are the same number, and so is all that is no number."""
    if _text(old):
        return old != new
    if old.dtype.kind == "f":
        return (old != new) & ~(np.isnan(old) & np.isnan(new))
    return old != new


def far(one: Array, two: Array) -> Any:
    """Where two answers differ by more than the rounding of another kernel."""
    if one.dtype.kind != "f":
        return differ(one, two)
    wide = one.astype(np.float64), two.astype(np.float64)
    return ~np.isclose(*wide, 1e-2 if one.dtype == np.float16 else 1e-4, 1e-6, equal_nan=True)


def confused(runs_of: list[Run]) -> Iterator[str]:
    """Pairs of runs on the same inputs whose answers differ where their words are the same."""
    for place, one in enumerate(runs_of):
        for two in runs_of[place + 1 :]:
            if set(one.feeds) != set(two.feeds) or any(
                one.feeds[name].dtype != two.feeds[name].dtype or not np.array_equal(one.feeds[name], two.feeds[name])
                for name in one.feeds
            ):
                continue
            for which, (mine, theirs) in enumerate(zip(one.answers, two.answers, strict=False)):
                if mine.shape != theirs.shape or mine.dtype != theirs.dtype or which >= len(one.terms):
                    continue
                if any(one.fed[name].known != two.fed[name].known for name in one.fed):
                    continue
                same = one.terms[which].hashed(HASHING) == two.terms[which].hashed(HASHING)
                if np.any(same & far(mine, theirs)):
                    yield f"{one.case.text} and {two.case.text} have the same words of output {which}"


def signature(case: Case) -> tuple[Any, ...]:
    """What is fed to a case: cases of one signature may be put beside each other."""
    inputs = tuple(
        (place, each.kind, each.dims, each.high, each.shaped, tuple(a.tobytes() for a in each.values))
        for place, each in enumerate(case.inputs)
        if each is not None and not each.constant
    )
    return (case.domain, case.op, inputs, tuple((name, tuple(case.sizes.get(name, ()))) for name in _names(case)))


_WORDS: Mapping[str, tuple[str, ...]] = {
    "approximate": ("none", "tanh"),
    "auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "coordinate_transformation_mode": ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"),
    "direction": ("forward", "reverse", "LEFT", "RIGHT"),
    "mode": ("constant", "edge", "reflect", "wrap", "nearest", "linear", "cubic", "DCR", "CRD", "avg", "max"),
    "nearest_mode": ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"),
    "padding_mode": ("zeros", "border", "reflection"),
    "reduction": ("none", "add", "mul", "max", "min", "sum", "mean"),
}


_FLAGS = (
    "align_corners ceil_mode count_include_pad detect_negative detect_positive exclusive fmod keepdims largest "
    "linear_before_reset normalize_variance reverse select_last_index transA transB upper"
).split()
_NUMBERS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(_FLAGS, (0, 1)),
    "axis": (0, 1, 2, -1),
    "p": (1, 2, 3),
    "k": (0, 1, -1),
}
"""Others are not tried: engines divide by a block_size of 0."""


def varied(case: Case) -> Iterator[Case]:
    """The case with other values of each attribute that its operator has; many of them are refused by engines."""
    try:
        known = onnx.defs.get_schema(case.op, case.opset, case.domain).attributes
    except onnx.defs.SchemaError:
        return
    kinds = onnx.defs.OpSchema.AttrType
    for name, attribute in known.items():
        options: tuple[Any, ...] = ()
        if attribute.type == kinds.FLOAT:
            options = (0.25, 0.75, 1.5)
        elif attribute.type == kinds.INT:
            options = _NUMBERS.get(name, ())
        elif attribute.type == kinds.STRING:
            options = _WORDS.get(name, ())
        elif name == "perm" and name in case.attributes:
            options = ([*case.attributes.get(name, ())][::-1],)
        for option in options:
            if option != case.attributes.get(name):
                yield case._replace(attributes={**case.attributes, name: option})
