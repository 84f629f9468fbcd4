"""The law of batching, asked of one model: the batched model gives what the original gives on the pieces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
from onnxruntime.capi import onnxruntime_pybind11_state as capi

from onereshape.graphs.backtracking import has_graphs
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.ground.errors import FixError
from onereshape.repair import batch_work
from onereshape.repair.batch import apply, search
from onereshape.rule.sizes import Size
from tests.laws.batching_sketch import Sketch
from tests.running import session

Array = np.ndarray[Any, Any]
TIMES = (1, 2, 3, 5)
"""How many times the original's batch the batched model is asked."""


_REFUSALS = tuple(
    getattr(capi, name) for name in ("Fail", "InvalidArgument", "RuntimeException", "InvalidGraph", "NotImplemented")
)


class Verdict(NamedTuple):
    """The verdict of the law on a case: freed, refused, wrong, broken or crash, with a sentence."""

    kind: str
    """freed, refused, wrong (another answer), broken (a model that does not run), crash (no refusal of ours)."""
    text: str = ""

    @property
    def lawful(self) -> bool:
        return self.kind in {"freed", "refused"}


class Misfit(Exception):  # noqa: N818 - not an error of the test
    """A mark that the original's answer contradicts."""


class Unfit(Exception):  # noqa: N818 - another case is tried
    """A case that the original itself does not run, for some of its inputs."""


Run = Callable[[Mapping[str, Array]], list[Array]]
"""An engine on one model."""


class Engine:
    """onnxruntime, and the reference implementation for what it lacks."""

    def __init__(self, proto: Any, *, reference: bool = False) -> None:
        if reference:
            from onnx.reference import ReferenceEvaluator

            self._run = ReferenceEvaluator(proto).run
        else:
            self._run = session(proto).run

    def __call__(self, feeds: Mapping[str, Array]) -> list[Array]:
        return [np.asarray(each) for each in self._run(None, dict(feeds))]


def judge(case: Sketch) -> Verdict:
    """The law on one case."""
    proto = case.proto()
    model, freed = ir.from_proto(proto), case.freed()
    try:
        plan = planned(case, model)
    except FixError as refusal:
        return Verdict("refused", refusal.sentence)
    except Exception as error:  # noqa: BLE001 - whatever is no refusal breaks the law
        return Verdict("crash", repr(error))
    original = Engine(proto, reference=case.reference)
    feeds = case.draw(max(TIMES))
    pieces = [case.piece(feeds, number) for number in range(max(TIMES))]
    try:
        answers = [original(piece) for piece in pieces]
    except _REFUSALS as error:
        raise Unfit(str(error)) from None
    marks = [plan.marks.get(value) for value in model.graph.outputs]
    case.declare(model, answers[0])
    try:
        apply.apply_batch(model, plan, freed)
        batched = ir.to_proto(model)
    except Exception as error:  # noqa: BLE001
        return Verdict("crash", repr(error))
    try:
        ours = Engine(batched, reference=case.reference)
    except Exception as error:  # noqa: BLE001
        return Verdict("broken", f"does not load: {error}")
    try:
        asked = [case.piece(feeds, 0, times) for times in TIMES]
        found = fault(case, ours, asked, answers, marks) or fault_of_rows(case, original, ours, pieces, marks)
    except Misfit as misfit:
        return Verdict("wrong", str(misfit))
    found = found or _fault_of_outputs(batched.graph, asked[-1], ours(asked[-1])) or _fault_of_order(batched.graph)
    if found is None and case.annotated:
        found = _fault_of_dims(batched)
    return found or Verdict("freed", str(marks))


def planned(case: Sketch, model: ir.Model) -> search.BatchPlan:
    """How a case becomes one of many samples; a FixError says that it cannot."""
    freed = case.freed()
    if case.size == 1 and not case.named and any(map(has_graphs, model.graph)):
        batch_work.lifted(model, freed, "N")
    return search.batch_plan(model, freed, "N", case.size)


def _fault_of_order(graph: Any) -> Verdict | None:
    """A value that is used before it is made: onnxruntime puts up with it, the specification does not."""
    made = {"", *(value.name for value in (*graph.input, *graph.initializer))}
    for node in graph.node:
        if late := [name for name in node.input if name not in made]:
            return Verdict("broken", f"{late[0]} is used before it is made")
        made.update(node.output)
    return None


def fault(
    case: Sketch, ours: Run, asked: list[dict[str, Array]], answers: list[list[Array]], marks: list[Mark | None]
) -> Verdict | None:
    """At multiples of the original's batch."""
    for times, feeds in zip(TIMES, asked, strict=True):
        try:
            found = ours(feeds)
        except Exception as error:  # noqa: BLE001
            return Verdict("broken", f"at {times} times: {error}")
        for place, (mark, output) in enumerate(zip(marks, found, strict=True)):
            expected = joined([answer[place] for answer in answers[:times]], mark, case)
            if (why := difference(output, expected, case.random)) is not None:
                return Verdict("wrong", f"output {place} ({mark}) at {times} times: {why}")
    return None


def _fault_of_outputs(graph: Any, feeds: Mapping[str, Array], found: list[Array]) -> Verdict | None:
    """Where the batched model promises other dims than its outputs have, or one name has two sizes."""
    named: dict[str, int] = {}
    answers = [*(feeds[value.name] for value in graph.input), *found]
    for value, answer in zip((*graph.input, *graph.output), answers, strict=True):
        declared = (
            value.type.tensor_type.shape.dim
            if value.type.HasField("tensor_type")
            else [onnx.TensorShapeProto.Dimension()]
        )
        for dim, real in zip(declared, answer.shape, strict=True):
            promised = dim.dim_value or named.setdefault(dim.dim_param or "?", real)
            if promised != real and (dim.dim_value or dim.dim_param):
                return Verdict("wrong", f"{value.name} has a dim of {real}, and is said to have {promised}")
    return None


def _fault_of_dims(batched: Any) -> Verdict | None:
    """Whether what the batched model says of its tensors contradicts what follows from its inputs."""
    try:
        onnx.shape_inference.infer_shapes(batched, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        return Verdict("wrong", f"declared dims: {error}")
    return None


def fault_of_rows(
    case: Sketch, original: Run, ours: Run, pieces: Sequence[Mapping[str, Array]], marks: list[Mark | None]
) -> Verdict | None:
    """Where the original treats each of its several samples by itself: single samples too."""
    if case.size == 1:
        return None
    first, second = original(pieces[0]), original(pieces[1])
    mixed = original(case.first_row_of_another(pieces[0], pieces[1]))
    for place, mark in enumerate(marks):
        rows = [
            row_of(second[place], mark, 0, case),
            *(row_of(first[place], mark, row, case) for row in range(1, case.size)),
        ]
        if difference(mixed[place], joined(rows, mark, case, 1), case.random) is not None:
            return None
    try:
        found = ours(case.row(pieces[0], 1))
    except Exception as error:  # noqa: BLE001
        return Verdict("broken", f"at 1 sample: {error}")
    for place, mark in enumerate(marks):
        why = difference(found[place], row_of(first[place], mark, 1, case), case.random)
        if why is not None:
            return Verdict("wrong", f"output {place} ({mark}) at 1 sample: {why}")
    return None


def joined(parts: Sequence[Array], mark: Mark | None, case: Sketch, size: int | None = None) -> Array:
    """The answers for the pieces, as one answer that carries N where the mark says."""
    if mark is None:
        return parts[0]
    size = case.size if size is None else size
    apart = [_apart(part, mark, case, size) for part in parts]
    return _together(np.concatenate(apart, axis=mark.axis + 1), mark)


def row_of(answer: Array, mark: Mark | None, row: int, case: Sketch) -> Array:
    """One sample of an answer."""
    if mark is None:
        return answer
    apart = _apart(answer, mark, case, case.size)
    return _together(np.take(apart, [row], axis=mark.axis + 1), mark)


def _together(apart: Array, mark: Mark) -> Array:
    axis = mark.axis
    dims = apart.shape
    return apart.reshape(*dims[:axis], dims[axis] * dims[axis + 1] * dims[axis + 2], *dims[axis + 3 :])


def _apart(answer: Array, mark: Mark, case: Sketch, size: int) -> Array:
    whole = answer.shape[mark.axis] if mark.axis < answer.ndim else 0
    outer, inner = number(mark.outer, case.named), number(mark.inner, case.named)
    if inner is None and outer is not None:
        inner = whole // (outer * size)
    elif outer is None and inner is not None:
        outer = whole // (size * inner)
    if outer is None or inner is None or outer * size * inner != whole:
        raise Misfit(f"{mark} does not fit {answer.shape}")
    return answer.reshape(*answer.shape[: mark.axis], outer, size, inner, *answer.shape[mark.axis + 1 :])


def number(size: Size, named: Mapping[str, int]) -> int | None:
    """A size, with the names in it; None where one is not the name of a dim of an input."""
    found = size if isinstance(size, int) else size.bind(named)
    return found if isinstance(found, int) else None


def difference(found: Array, expected: Array, random: bool) -> str | None:
    """Why two answers are not the same."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    if random or not found.size:
        return None
    if found.dtype.kind == "f":
        same = np.isclose(found, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    else:
        same = found == expected
    return None if same.all() else f"{int((~same).sum())} of {same.size} elements differ"
