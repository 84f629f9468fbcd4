"""Is a repaired IR the batched form of its original?  Decided by runs of OpenVINO, without any code of ours.

The CPU plugin runs the original on each sample alone, and a candidate on 1, 2, 3 and 5 samples at once; the candidate's
outputs must be the samples' own, side by side.  A candidate is what makes a model for a count of samples: a repaired
file, or what `Model.reshape` and `set_batch` make of the original.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openvino

from tests.arbiter import COUNTS, Array, Entry, drawn, equal

CONFIG = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1}
"""Not bf16, which the plugin takes by itself where the processor has it; not one thread, which hides refusals."""
FAINT, LOUD = 0.05, 8.0
"""What every fourth sample of floats is multiplied by, beside those that are drawn as the manifest says."""
Make = Callable[[int], openvino.Model]
"""The model for so many samples."""


class Alone(NamedTuple):
    """Samples, and the answers of the original to each of them alone."""

    shared: dict[str, Array]
    samples: list[dict[str, Array]]
    rows: list[list[Array]]
    names: list[str]


class Verdict(NamedTuple):
    """`pass`, `blind` (no output depends on the sample), `refused` (an error) or `wrong`; and why."""

    found: str
    why: str
    note: str = ""
    """What the engine alone does wrong: the same model, compiled for one count, is right."""


@cache
def core() -> openvino.Core:
    return openvino.Core()


def read(path: Path) -> openvino.Model:
    return core().read_model(path)


def alone(entry: Entry, original: Path) -> Alone:
    """The samples of a model, drawn and run."""
    rng = np.random.default_rng(1)
    model = read(original)
    declared = {_called(each, entry.inputs): _declared(each) for each in model.inputs}
    shared = {name: drawn(rng, declared[name], entry.inputs[name]) for name in declared if name not in entry.batch}
    samples = [
        {name: sample(rng, declared[name], entry.inputs[name], place) for name in declared if name in entry.batch}
        for place in range(sum(COUNTS))
    ]
    compiled = core().compile_model(model, "CPU", CONFIG)
    rows = [answers(compiled, {**shared, **each}) for each in samples]
    return Alone(shared, samples, rows, [_called(each, entry.outputs) for each in model.outputs])


def sample(rng: np.random.Generator, declared: tuple[list[int], Any], how: dict[str, Any], place: int) -> Array:
    """As the manifest says; one of four is faint and one is loud, or has the least and the greatest integer only."""
    values = drawn(rng, declared, how)
    kind = how.get("kind") or ("normal" if values.dtype.kind == "f" else "int")
    if kind in {"normal", "image"} and place % 4 > 1:
        return np.asarray(values * values.dtype.type(FAINT if place % 4 == 2 else LOUD))
    if kind == "int" and values.dtype.kind in "iu" and place % 4 > 1:
        return np.full_like(values, how.get("low", 0) if place % 4 == 2 else how.get("high", 2) - 1)
    return values


def answers(compiled: openvino.CompiledModel, feed: dict[str, Array]) -> list[Array]:
    """What a model puts out, by a request of its own."""
    request = compiled.create_infer_request()
    found = request.infer({_index(compiled, name): value for name, value in feed.items()}, share_inputs=False)
    return [np.array(found[each]) for each in compiled.outputs]


def verdict(entry: Entry, known: Alone, make: Make, *, dynamic: bool) -> Verdict:
    """What a candidate is worth; one that is dynamic is compiled once, as it is used."""
    notes: list[str] = []
    compiled = None
    start = 0
    for count in COUNTS:
        feed, wanted = _together(entry, known, start, count)
        start += count
        try:
            if compiled is None or not dynamic:
                compiled = core().compile_model(make(count), "CPU", CONFIG)
            found, why = _compared(known, answers(compiled, feed), wanted)
        except RuntimeError as error:
            found, why = "refused", message(error)
        if found and dynamic and not _once(known, make, count, feed, wanted):
            notes.append(f"{count} samples: {why}")
        elif found:
            return Verdict(found, f"{count} samples: {why}")
    varying = [place for place, name in enumerate(known.names) if entry.outputs[name] is not None]
    if all(equal(row[place], known.rows[0][place], 10) for place in varying for row in known.rows[1:]):
        return Verdict("blind", "no output depends on the sample")
    return Verdict("pass", "", "; ".join(notes))


def written(path: Path) -> Make:
    """A file, whatever the count."""
    return lambda _: read(path)


def reshaped(entry: Entry, path: Path) -> Make:
    """`Model.reshape` with a dim of -1 for the batch."""

    def make(_: int) -> openvino.Model:
        model = read(path)
        _resize(entry, model, -1)
        return model

    return make


def batched(entry: Entry, path: Path) -> Make:
    """`set_batch`, told by the layouts which axis is the batch."""

    def make(count: int) -> openvino.Model:
        model = read(path)
        for each in model.inputs:
            axis = entry.batch.get(_called(each, entry.inputs))
            if axis is not None:
                each.get_node().set_layout(openvino.Layout("?" * axis + "N..."))
        openvino.set_batch(model, count)
        return model

    return make


def message(error: RuntimeError) -> str:
    """OpenVINO's messages begin with places in its source and end with what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or ["an error without words"])[-1][:300]


def _once(known: Alone, make: Make, count: int, feed: dict[str, Array], wanted: list[Array]) -> str:
    """What differs where the model is compiled anew, and for this count alone.

    Not by `Model.reshape`, which also mends some of the Reshapes that it meets.
    """
    try:
        model = make(count)
        for name, value in feed.items():
            port = model.input(_index(model, name))
            if not port.get_partial_shape().compatible(openvino.PartialShape(list(value.shape))):
                return f"{name} is not free"
            port.get_node().set_partial_shape(openvino.PartialShape(list(value.shape)))
        model.validate_nodes_and_infer_types()
        return _compared(known, answers(core().compile_model(model, "CPU", CONFIG), feed), wanted)[0]
    except RuntimeError as error:
        return message(error)


def _together(entry: Entry, known: Alone, start: int, count: int) -> tuple[dict[str, Array], list[Array]]:
    """So many samples at once, and what must come out."""
    several, rows = known.samples[start : start + count], known.rows[start : start + count]
    feed = {name: np.concatenate([each[name] for each in several], entry.batch[name]) for name in several[0]}
    wanted = []
    for place, name in enumerate(known.names):
        axis, parts = entry.outputs[name], [row[place] for row in rows]
        wanted.append(parts[0] if axis is None or parts[0].ndim == 0 else np.concatenate(parts, axis))
    return {**known.shared, **feed}, wanted


def _compared(known: Alone, found: list[Array], wanted: list[Array]) -> tuple[str, str]:
    """Nothing, or `wrong` and what is."""
    if len(found) != len(wanted):
        return "wrong", f"{len(found)} outputs, expected {len(wanted)}"
    for name, one, other in zip(known.names, found, wanted, strict=True):
        if one.shape != other.shape or one.dtype != other.dtype:
            return "wrong", f"{name} is {one.dtype}{list(one.shape)}, expected {other.dtype}{list(other.shape)}"
        if not equal(one, other):
            return "wrong", f"{name} has other values"
    return "", ""


def _resize(entry: Entry, model: openvino.Model, size: int) -> None:
    asked = {}
    for index, each in enumerate(model.inputs):
        axis = entry.batch.get(_called(each, entry.inputs))
        dims = list(each.get_partial_shape())
        if axis is not None:
            dims[axis] = openvino.Dimension(size)
        asked[index] = openvino.PartialShape(dims)
    model.reshape(asked)


def _declared(port: openvino.Output) -> tuple[list[int], Any]:
    return [int(dim) for dim in port.get_shape()], np.dtype(port.get_element_type().to_dtype())


def _called(port: openvino.Output, names: dict[str, Any]) -> str:
    """The name of a port that the manifest knows."""
    return next(name for name in names if name in port.get_names())


def _index(model: openvino.Model | openvino.CompiledModel, name: str) -> int:
    return next(index for index, each in enumerate(model.inputs) if name in each.get_names())
