"""Is a model right at every batch?  Decided by runs of onnxruntime alone, with no code of the repair.

    python bench/released_judge.py MODEL              what the model itself does, as JSON
    python bench/released_judge.py MODEL REPAIRED     whether REPAIRED is the batched form of MODEL, as JSON

A model that nobody described is tried: sizes for its free dims and values for its inputs are drawn until it runs and
its outputs tell two samples apart.  A batch of 1, 2, 3 and 5 samples must then give, in every output, the samples' own
outputs side by side along one axis, the same at every count.  The naive edit, which only declares the batch free and
forgets the recorded shapes, is judged alike.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.released_inputs import (  # noqa: E402
    STYLES,
    Array,
    Axes,
    Dim,
    NotJudged,
    Way,
    drawn,
    first_place,
    inputs_of,
    is_length,
    places,
    sample_dims,
)

Output = Array | list[Any]
"""A tensor, or the sequence of maps that a classifier answers with."""

COUNTS = (1, 2, 3, 5)
GAINS = (1.0, 1e-4, 30.0)
"""Of three more samples, for what only the loudest of all decides."""
LENGTHS = (0.75, 0.5, 1.0)
"""What part of each of three samples counts, in a model that is told it."""
SIZES = (16, 64, 224, 320, 640, 32, 48, 128, 8, 512, 100, 4, 1024, 1, 2, 1536, 16000)
"""What the free dims may be, in the order tried."""
APART = 3
"""How many times the tolerance two samples must differ by, to be told apart."""
ROUNDED = 20
"""How many times the tolerance a sample in a batch may differ from itself alone, where its neighbours do not matter."""
TRIAL = 60
"""Seconds of the processor for finding out how a model is run."""
TOLERANCE = {"float16": 2e-2, "float32": 2e-3, "float64": 2e-3}
"""Beside the largest magnitude of the output."""


class Subject:
    """A model with its session, and what one way of running it gives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model = onnx.load(path, load_external_data=False)
        self.inputs = inputs_of(self.model)
        self.session = session(path)
        first, axis = first_place(self.inputs)
        self.base: Dim = next(each for each in self.inputs if each.name == first).dims[axis]

    def samples(self, way: Way, count: int) -> list[dict[str, Array]]:
        """Samples that differ in what carries the batch and agree in what is shared."""
        shared_rng = np.random.default_rng(7)
        dims = {each.name: sample_dims(each, way, self.base) for each in self.inputs}
        shared = {each.name: drawn(shared_rng, each, dims[each.name], way) for each in self.inputs}
        listed = []
        for seed in range(count):
            rng = np.random.default_rng(100 + seed)
            own = {e.name: drawn(rng, e, dims[e.name], way) for e in self.inputs if e.name in way.axes}
            listed.append({**shared, **own})
        return listed

    def fed(self, way: Way, samples: list[dict[str, Array]]) -> dict[str, Array]:
        """Several samples at once."""
        together = {name: np.concatenate([each[name] for each in samples], axis) for name, axis in way.axes.items()}
        return {**samples[0], **together}

    def alone(self, way: Way, count: int = COUNTS[-1]) -> list[list[Output]]:
        """Each sample's own answer; where the file is made for several, that of several alike."""
        several = self.base if isinstance(self.base, int) else 1
        return [self.session.run(None, self.fed(way, [each] * several)) for each in self.samples(way, count)]


def session(model: Path | bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model if isinstance(model, bytes) else str(model), options, providers=["CPUExecutionProvider"]
    )


def ways(subject: Subject) -> Iterator[Way]:
    """How a model may be run, the likeliest first; one size is enough where no dim is free."""
    free = any(
        not isinstance(dim, int) and (dim is None or dim != subject.base)
        for each in subject.inputs
        for dim in each.dims
    )
    numbers = [each.dtype.kind for each in subject.inputs]
    for style in range(len(STYLES)):
        if style in {1, 2, 3} and not any(kind in "iu" for kind in numbers):
            continue
        for size in SIZES if free else SIZES[:1]:
            for axes in places(subject.inputs)[:3]:
                yield Way(size, style, axes)


def runnable(subject: Subject) -> Way:
    """The first way to run a model that tells two samples apart."""
    end = time.process_time() + TRIAL
    why, ran = "", ""
    for way in ways(subject):
        if time.process_time() > end:
            break
        try:
            one, other = subject.alone(way, 2)
            again = subject.alone(way, 1)[0]
        except Exception as error:  # noqa: BLE001 - whatever the engine raises
            why = why or str(error).splitlines()[0]
            continue
        if not all(near(first, second) for first, second in zip(one, again, strict=True)):
            ran = "its answers are random"
            continue
        if any(not near(first, second, APART) for first, second in zip(one, other, strict=True)):
            return way
        ran = ran or "no output depends on the sample that was drawn"
    raise NotJudged(ran or f"does not run: {why}")


def near(one: Output, other: Output, slack: float = 1) -> bool:
    """Two outputs are the same up to rounding."""
    if isinstance(one, list) or isinstance(other, list):
        return _near_maps(one, other, slack)
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind != "f":
        equal = np.asarray(one == other)
        return bool(np.mean(equal) >= 0.99) if equal.size >= 200 and slack == 1 else bool(np.all(equal))
    finite = np.where(np.isfinite(other), other, 0).astype(np.float64)
    room = slack * (TOLERANCE.get(other.dtype.name, 2e-2) * np.max(np.abs(finite), initial=0) + 1e-6)
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.all((np.abs(one - other) <= room) | (one == other) | (np.isnan(one) & np.isnan(other))))


def _near_maps(one: Output, other: Output, slack: float) -> bool:
    if not isinstance(one, list) or not isinstance(other, list) or len(one) != len(other):
        return False
    pairs = zip(one, other, strict=True)
    if all(isinstance(each, dict) for each in one + other):
        return all(
            a.keys() == b.keys() and near(np.array([*a.values()]), np.array([*b.values()]), slack) for a, b in pairs
        )
    return all(near(np.asarray(a), np.asarray(b), slack) for a, b in pairs)


def homes(batched: Output, parts: list[Output]) -> set[tuple[str, int]]:
    """Where an output has its samples: side by side along an axis, along a new one, or the same for all.

    Where one sample's output begins with an axis of 1, others come along an axis of 1: rows of 12 that become one row
    of 24 are no batch.
    """
    kinds: set[tuple[str, int]] = set()
    if all(near(batched, part) for part in parts):
        kinds.add(("shared", 0))
    if isinstance(batched, list):
        if near(batched, [each for part in parts for each in part]):
            kinds.add(("listed", 0))
        return kinds
    tensors = [np.asarray(part) for part in parts]
    headed = all(part.shape[:1] == (1,) for part in tensors)
    for axis in range(batched.ndim):
        if headed and tensors[0].ndim == batched.ndim and tensors[0].shape[axis] != 1:
            continue
        if all(part.ndim == batched.ndim for part in tensors) and _joins(tensors, axis):
            if near(batched, np.concatenate(tensors, axis)):
                kinds.add(("along", axis))
        elif _stacks(tensors, batched.ndim) and near(batched, np.stack(tensors, axis)):
            kinds.add(("new", axis))
    return kinds


def _joins(parts: list[Array], axis: int) -> bool:
    return len({part.shape[:axis] + part.shape[axis + 1 :] for part in parts}) == 1


def _stacks(parts: list[Array], rank: int) -> bool:
    return all(part.shape == parts[0].shape and part.ndim == rank - 1 for part in parts)


def batched(subject: Subject, candidate: onnxruntime.InferenceSession, way: Way) -> str:
    """Empty where the candidate gives the samples' own answers at every count; else what differs."""
    samples = subject.samples(way, COUNTS[-1])
    names = [output.name for output in subject.session.get_outputs()]
    if isinstance(subject.base, int) and subject.base > 1:
        made_for = _as_made(subject, candidate, way)
        if made_for:
            return made_for
        alone = [candidate.run(names, each) for each in samples]
    else:
        alone = subject.alone(way)
    kinds: dict[str, set[tuple[str, int]]] = {}
    for count in COUNTS:
        try:
            answers = candidate.run(names, subject.fed(way, samples[:count]))
        except Exception as error:  # noqa: BLE001
            return f"fails at {count}: {str(error).splitlines()[0]}"
        for place, name in enumerate(names):
            parts = [row[place] for row in alone[:count]]
            here = homes(answers[place], parts) or _rounded(subject, candidate, way, (count, place), answers[place])
            if count == 1:
                agree = bool(here) or near_enough(answers[place], parts)
            else:
                kinds[name] = kinds.get(name, here) & here
                agree = bool(kinds[name])
            if not agree:
                shapes = [getattr(each, "shape", len(each)) for each in (answers[place], parts[0])]
                return f"wrong at {count}: {name} is {shapes[0]}, one sample's is {shapes[1]}"
    if all(("shared", 0) in each for each in kinds.values()):
        return "no output depends on the sample"
    if isinstance(subject.base, int) and subject.base > 1:
        return ""
    return _uneven(subject, candidate, way, kinds) or _unequal(subject, candidate, way, kinds)


def _rounded(
    subject: Subject,
    candidate: onnxruntime.InferenceSession,
    way: Way,
    asked: tuple[int, int],
    answer: Output,
) -> set[tuple[str, int]]:
    """The home of an output whose samples differ from themselves alone by a little, and not by what is beside them.

    Which kernel runs depends on the batch, and a sensitive model shows its rounding: each sample is held against a
    batch of nothing but itself, and that one against the sample alone with more room.
    """
    count, place = asked
    names = [output.name for output in subject.session.get_outputs()]
    parts: list[Output] = []
    for number, sample in enumerate(subject.samples(way, count)):
        copies = candidate.run(names, subject.fed(way, [sample] * count))[place]
        alone = subject.session.run(names, sample)[place]
        if isinstance(copies, list) or len(copies) != count or not near(copies[number : number + 1], alone, ROUNDED):
            return set()
        parts.append(copies[number : number + 1])
    return homes(answer, parts) & {("along", 0)}


def _uneven(
    subject: Subject, candidate: onnxruntime.InferenceSession, way: Way, kinds: dict[str, set[tuple[str, int]]]
) -> str:
    """What differs where one sample is faint and another loud; nothing where the original does not run so."""
    if not any(each.dtype.kind == "f" and each.name in way.axes for each in subject.inputs):
        return ""
    samples = [
        {
            name: (v * gain).astype(v.dtype) if v.dtype.kind == "f" and name in way.axes else v
            for name, v in each.items()
        }
        for gain, each in zip(GAINS, subject.samples(way, len(GAINS)), strict=True)
    ]
    try:
        alone = [subject.session.run(None, each) for each in samples]
        answers = candidate.run([*kinds], subject.fed(way, samples))
    except Exception:  # noqa: BLE001 - values out of range, which no one promised
        return ""
    for place, (name, kind) in enumerate(kinds.items()):
        if not homes(answers[place], [row[place] for row in alone]) & kind:
            return f"wrong at {len(GAINS)} uneven samples: {name}"
    return ""


def _unequal(
    subject: Subject, candidate: onnxruntime.InferenceSession, way: Way, kinds: dict[str, set[tuple[str, int]]]
) -> str:
    """What differs where samples are of other lengths; nothing where there are none, or only one is taken."""
    names = [each.name for each in subject.inputs if is_length(each) and each.name in way.axes]
    samples = subject.samples(way, len(LENGTHS))
    for share, sample in zip(LENGTHS, samples, strict=True):
        sample |= {name: np.maximum(sample[name] * share, 1).astype(sample[name].dtype) for name in names}
    try:
        alone = [subject.session.run([*kinds], each) for each in samples] if names else []
        answers = candidate.run([*kinds], subject.fed(way, samples)) if names else []
    except Exception:  # noqa: BLE001 - lengths that no one promised to take
        return ""
    for place, (name, kind) in enumerate(kinds.items() if names else ()):
        if not any(_holds(answers[place], [row[place] for row in alone], each) for each in kind):
            return f"wrong at {len(LENGTHS)} samples of other lengths: {name}"
    return ""


def _holds(answer: Output, parts: list[Output], kind: tuple[str, int]) -> bool:
    """Whether samples stand where they should; one alone may be shorter, as nothing longer is beside it."""
    how, axis = kind
    if isinstance(answer, list) or how not in {"along", "new"}:
        return kind in homes(answer, parts)
    rows = [np.asarray(part) if how == "along" else np.expand_dims(np.asarray(part), axis) for part in parts]
    start = 0
    for row in rows:
        if row.ndim != answer.ndim:
            return False
        mine = answer.take(range(start, min(start + row.shape[axis], answer.shape[axis])), axis)
        start += row.shape[axis]
        if not near(mine[tuple(slice(dim) for dim in row.shape)], row):
            return False
    return bool(start == answer.shape[axis])


def _as_made(subject: Subject, candidate: onnxruntime.InferenceSession, way: Way) -> str:
    """Whether a candidate answers as the original does at the batch above 1 that it was made for."""
    count = subject.base if isinstance(subject.base, int) else 1
    feed = subject.fed(way, subject.samples(way, count))
    names = [output.name for output in subject.session.get_outputs()]
    try:
        pairs = zip(subject.session.run(names, feed), candidate.run(names, feed), strict=True)
    except Exception as error:  # noqa: BLE001
        return f"fails at {count}: {str(error).splitlines()[0]}"
    return "" if all(near(second, first) for first, second in pairs) else f"wrong at {count}, which it was made for"


def near_enough(answer: Output, parts: list[Output]) -> bool:
    """At a count of 1 an axis of 1 may have come or gone."""
    if isinstance(answer, list):
        return near(answer, parts[0])
    part = np.asarray(parts[0])
    return answer.size == part.size and near(answer.reshape(part.shape), part)


def judged(subject: Subject, candidate: onnxruntime.InferenceSession, way: Way, told: list[Axes]) -> tuple[str, Axes]:
    """The best answer over the places that the samples may have: empty, or the first that differs."""
    worst = ""
    for axes in told:
        try:
            answer = batched(subject, candidate, way._replace(axes=axes))
        except Exception as error:  # noqa: BLE001 - the original cannot be run so
            answer = f"fails alone: {str(error).splitlines()[0]}"
        if not answer:
            return "", axes
        worst = worst if worst and not worst.startswith("fails alone") else answer
    return worst, {}


def naive(path: Path, axes: Axes) -> bytes:
    """The batch declared free, the recorded shapes forgotten, and nothing else."""
    model = onnx.load(path)
    del model.graph.value_info[:]
    for value in model.graph.input:
        if value.name in axes:
            value.type.tensor_type.shape.dim[axes[value.name]].dim_param = "N"
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    content: bytes = model.SerializeToString()
    return content


def judge_original(path: Path) -> dict[str, Any]:
    """What a model does by itself: how it runs, whether its batch is free and right, what the naive edit gives."""
    model = onnx.load(path, load_external_data=False)
    opset = next((each.version for each in model.opset_import if each.domain in {"", "ai.onnx"}), 0)
    about = {"producer": model.producer_name, "opset": opset, "nodes": len(model.graph.node)}
    try:
        subject = Subject(path)
        about["dynamic"] = not isinstance(subject.base, int)
        way = runnable(subject)
    except NotJudged as reason:
        return {**about, "not judged": str(reason)}
    except Exception as error:  # noqa: BLE001 - the engine refuses to load it
        return {**about, "not judged": f"does not load: {str(error).splitlines()[0]}"}
    about["way"] = way
    told = places(subject.inputs)
    if about["dynamic"]:
        answer, axes = judged(subject, subject.session, way, told)
        return {**about, "works": not answer, "axes": axes, "naive": answer or "right"}
    answer = "fails"
    for axes in told:
        try:
            candidate = session(naive(path, axes))
        except Exception as error:  # noqa: BLE001
            answer = f"fails to load: {str(error).splitlines()[0]}"
            continue
        answer, right = judged(subject, candidate, way, [axes])
        if not answer:
            return {**about, "works": False, "axes": right, "naive": "right"}
    return {**about, "works": False, "naive": answer}


def judge_repaired(path: Path, repaired: Path, way: Way) -> dict[str, Any]:
    """Whether a repaired model is the batched form of the original, at the axes that it declares."""
    subject = Subject(path)
    first, axis = first_place(subject.inputs)
    after = inputs_of(onnx.load(repaired, load_external_data=False))
    name = next(each for each in after if each.name == first).dims[axis]
    told = places(subject.inputs)
    if isinstance(name, str):
        told = [{each.name: each.dims.index(name) for each in after if name in each.dims}]
    elif isinstance(name, int):
        return {"right": False, "why": f"{first} has still {name} at {axis}"}
    answer, axes = judged(subject, session(repaired), way, told)
    return {"right": not answer, "why": answer, "axes": axes}


def main() -> None:
    path = Path(sys.argv[1])
    if len(sys.argv) < 3:
        print(json.dumps(judge_original(path)))
    else:
        print(json.dumps(judge_repaired(path, Path(sys.argv[2]), Way(*json.loads(sys.argv[3])))))


if __name__ == "__main__":
    main()
