"""Is a repaired model the batched form of its original?  Decided without any code of ours.

onnxruntime runs the repaired model on 1, 2, 3 and 5 samples; its outputs must equal the original's outputs on each
sample alone.  `manifest.json` beside a folder of models says how to draw the samples and where outputs carry them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

from tests.running import session

Array = np.ndarray[Any, Any]
COUNTS = (1, 2, 3, 5)
RELATIVE, ABSOLUTE = 1e-3, 1e-4


class Entry(NamedTuple):
    """What a manifest says of one model."""

    path: Path
    inputs: dict[str, dict[str, Any]]
    outputs: dict[str, int | None]

    @property
    def batch(self) -> dict[str, int]:
        """The axis that carries the batch, of each input that has one."""
        return {name: each["axis"] for name, each in self.inputs.items() if each["axis"] is not None}


def entries(folder: Path) -> list[Entry]:
    """The models of a folder, by its manifest."""
    found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    listed = []
    for key, each in found.items():
        inputs = {name: {"axis": one["axis"], **one.get("gen", one)} for name, one in each["inputs"].items()}
        listed.append(Entry(folder / each.get("file", key), inputs, each["outputs"]))
    return listed


def verdict(entry: Entry, repaired: bytes) -> tuple[str, str]:
    """`pass`, `blind` (the outputs do not depend on the sample), `refused by the engine` or `wrong`; and why."""
    rng = np.random.default_rng(1)
    original = session(entry.path, optimized=True)
    shared = {
        name: drawn(rng, _declared(entry, name), how) for name, how in entry.inputs.items() if how["axis"] is None
    }
    rows: list[list[Array]] = []
    samples: list[dict[str, Array]] = []
    for _ in range(sum(COUNTS)):
        one = {name: drawn(rng, _declared(entry, name), entry.inputs[name]) for name in entry.batch}
        samples.append(one)
        rows.append(original.run(None, {**shared, **one}))
    names = [output.name for output in original.get_outputs()]
    try:
        candidate = session(repaired, optimized=True)
    except Exception as error:  # noqa: BLE001 - whatever the engine raises
        return "refused by the engine", str(error).splitlines()[0]
    start = 0
    for count in COUNTS:
        several, alone = samples[start : start + count], rows[start : start + count]
        start += count
        feed = {name: np.concatenate([each[name] for each in several], axis) for name, axis in entry.batch.items()}
        try:
            answers = candidate.run(names, {**shared, **feed})
        except Exception as error:  # noqa: BLE001
            return "refused by the engine", f"{count} samples: {str(error).splitlines()[0]}"
        for place, name in enumerate(names):
            axis = entry.outputs.get(name, 0)
            parts = [row[place] for row in alone]
            wanted = parts[0] if axis is None or parts[0].ndim == 0 else np.concatenate(parts, axis)
            if not equal(answers[place], wanted):
                return "wrong", f"{name} at {count} samples"
    varying = [place for place, name in enumerate(names) if entry.outputs.get(name, 0) is not None]
    blind = all(equal(row[place], rows[0][place], 10) for place in varying for row in rows[1:])
    return ("blind", "no output depends on the sample") if blind else ("pass", "")


def equal(one: Array, other: Array, slack: float = 1) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind == "f":
        absolute = slack * ABSOLUTE * np.maximum(1, _scale(other))
        with np.errstate(invalid="ignore"):
            near = np.abs(one - other) <= absolute + slack * RELATIVE * np.abs(other)
        return bool(np.all(near | (one == other) | (np.isnan(one) & np.isnan(other))))
    return bool(np.array_equal(one, other))


def _scale(array: Array) -> Array:
    """The largest magnitude of each channel: coordinates up to 640 that cancel to nearly 0 are not good to 1e-4."""
    axes = tuple(axis for axis in range(array.ndim) if axis != 1 or array.ndim < 3)
    return np.asarray(np.max(np.abs(np.nan_to_num(array)), axes, keepdims=True, initial=0))


def _declared(entry: Entry, name: str) -> tuple[list[int], Any]:
    found = next(value for value in _graph(entry.path).input if value.name == name).type.tensor_type
    return [dim.dim_value for dim in found.shape.dim], onnx.helper.tensor_dtype_to_np_dtype(found.elem_type)


_graphs: dict[Path, Any] = {}


def _graph(path: Path) -> Any:
    if path not in _graphs:
        _graphs.clear()
        _graphs[path] = onnx.load(path, load_external_data=False).graph
    return _graphs[path]


def drawn(rng: np.random.Generator, declared: tuple[list[int], Any], how: dict[str, Any]) -> Array:
    """One sample; images differ in contrast and slope, or a network that ends in a mean would not tell them apart."""
    dims, dtype = declared
    kind = how.get("kind") or ("normal" if np.issubdtype(dtype, np.floating) else "int")
    if kind == "mask":
        length = rng.integers((dims[-1] + 1) // 2, dims[-1] + 1, [*dims[:-1], 1])
        return np.asarray(np.arange(dims[-1]) < length).astype(dtype)
    if kind == "ones":
        return np.ones(dims, dtype)
    if kind == "int":
        repeats = how.get("repeat_last", 1)
        few = rng.integers(how.get("low", 0), how.get("high", 2), [*dims[:-1], dims[-1] // repeats] if dims else dims)
        return np.asarray(np.concatenate([few] * repeats, -1) if dims else few).astype(dtype)
    if kind == "uniform":
        return np.asarray(rng.random(dims) * rng.uniform(*how.get("scale", (1, 1)))).astype(dtype)
    values = rng.standard_normal(dims) * rng.uniform(0.3, 1.5)
    if kind == "image":
        lead = [*dims[:-2], 1, 1]
        slopes = [rng.standard_normal(lead) for _ in range(3)]
        values = values + slopes[0] + slopes[1] * np.linspace(-1, 1, dims[-2])[:, None]
        values = values + slopes[2] * np.linspace(-1, 1, dims[-1])
    return np.asarray(values).astype(dtype)
