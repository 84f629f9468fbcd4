"""The inputs of a model that nobody described: where its samples may be, and values for them.

Read from the declared dims and names alone; nothing here knows the repair.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, NamedTuple

import numpy as np
import onnx

Array = np.ndarray[Any, Any]
Dim = int | str | None
Axes = dict[str, int]
"""The axis of each input that carries the samples; an input without one is shared by all."""

STYLES = ((1.0, 2), (1.0, 10), (1.0, 100), (1.0, 1000), (255.0, 2), (0.05, 5), (8.0, 20), (40.0, 50))
"""How far floats reach, and below what integers stay."""
MOST_PLACES = 24
BATCH = re.compile(r"batch|^bs$|^bsz$", re.IGNORECASE)
OTHER = re.compile(r"seq|len|height|width|^h$|^w$|time|frame|node|edge|sample|token|text|chan|feat|past", re.IGNORECASE)


class Input(NamedTuple):
    """A graph input that is not also an initializer."""

    name: str
    dtype: np.dtype[Any]
    dims: list[Dim]


class Way(NamedTuple):
    """How a model is run: the size of its free dims, the style of its values, where its samples are."""

    size: int
    style: int
    axes: Axes


class NotJudged(Exception):  # noqa: N818 - no error of this program
    """Why a model cannot be judged."""


def inputs_of(model: onnx.ModelProto) -> list[Input]:
    held = {each.name for each in model.graph.initializer}
    listed = []
    for value in model.graph.input:
        if value.name in held:
            continue
        tensor = value.type.tensor_type
        if not value.type.HasField("tensor_type") or not tensor.HasField("shape"):
            raise NotJudged(f"input {value.name} is no tensor of a known rank")
        dims = [_dim(dim) for dim in tensor.shape.dim]
        listed.append(Input(value.name, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type), dims))
    return listed


def _dim(dim: Any) -> Dim:
    if dim.HasField("dim_value"):
        return int(dim.dim_value) if dim.dim_value > 0 else None
    return str(dim.dim_param) or None


def first_place(inputs: list[Input]) -> tuple[str, int]:
    """The input and axis that a reader of the declared dims takes for the batch."""
    for each in inputs:
        for axis, dim in enumerate(each.dims):
            if isinstance(dim, str) and BATCH.search(dim):
                return each.name, axis
    for each in inputs:
        if each.dims:
            head = each.dims[0]
            image = len(each.dims) == 4 and each.dims[1] in {1, 3, 4}
            if head is None or head == 1 or image or (isinstance(head, str) and not OTHER.search(head)):
                return each.name, 0
    raise NotJudged("no input has a batch axis that is free or 1")


def places(inputs: list[Input]) -> list[Axes]:
    """The ways to say where the samples are, the likeliest first."""
    name, axis = first_place(inputs)
    base = next(each for each in inputs if each.name == name).dims[axis]
    options = [[axis] if each.name == name else _options(each, base) for each in inputs]
    ranked = sorted(
        itertools.islice(itertools.product(*(range(len(each)) for each in options)), 4096), key=lambda r: (sum(r), r)
    )
    chosen = ([options[place][rank] for place, rank in enumerate(ranks)] for ranks in ranked[:MOST_PLACES])
    return [{each.name: axis for each, axis in zip(inputs, one, strict=True) if axis is not None} for one in chosen]


def _options(each: Input, base: Dim) -> list[int | None]:
    same = [axis for axis, dim in enumerate(each.dims) if isinstance(base, str) and dim == base]
    if same:
        return [same[0]]
    free = [axis for axis, dim in enumerate(each.dims) if not isinstance(dim, int)]
    alike = [axis for axis, dim in enumerate(each.dims) if dim == (base if isinstance(base, int) else 1)]
    likely: list[int | None] = [*alike, *free] if isinstance(base, int) else [*free, *alike]
    likely.sort(key=lambda axis: axis != 0)
    return [*dict.fromkeys(likely), None]


def sample_dims(each: Input, way: Way, name: Dim) -> list[int]:
    """The dims of one sample: 1 where the batch is, the tried size where a dim is free."""
    dims = []
    for axis, dim in enumerate(each.dims):
        if way.axes.get(each.name) == axis or (isinstance(dim, str) and dim == name):
            dims.append(1)
        elif isinstance(dim, int):
            dims.append(dim)
        elif len(each.dims) == 3 and isinstance(dim, str) and "chan" in dim.lower():
            dims.append(1)
        elif len(each.dims) == 4 and axis == 1 and not isinstance(each.dims[3], int):
            dims.append(3)
        elif len(each.dims) == 4 and axis == 3 and not isinstance(each.dims[1], int):
            dims.append(3 if isinstance(each.dims[2], int) else way.size)
        else:
            dims.append(way.size * (dim.count("+") + 1) if isinstance(dim, str) and "+ 1" not in dim else way.size)
    return dims


def is_length(each: Input) -> bool:
    """Whether an input says how much of each sample counts."""
    return each.dtype.kind in "iu" and bool(re.search(r"len", each.name, re.IGNORECASE))


def drawn(rng: np.random.Generator, each: Input, dims: list[int], way: Way) -> Array:  # noqa: PLR0911 - a table of kinds
    """The values of one input of one sample."""
    reach, high = STYLES[way.style]
    kind = each.dtype.kind
    if kind == "O":
        words = np.array(["yes", "the cat sat", "no", "alpha 12", "Zürich"], object)
        return np.asarray(words[rng.integers(0, len(words), dims)], object)
    if kind == "b":
        return np.asarray(rng.random(dims) < 0.8)
    if kind in "iu":
        if re.search(r"^sr$|rate", each.name):
            return np.full(dims, 16000, each.dtype)
        if is_length(each):
            return np.full(dims, way.size, each.dtype)
        if re.search(r"mask", each.name, re.IGNORECASE):
            return np.ones(dims, each.dtype)
        top = 256 if each.dtype == np.uint8 else high
        return rng.integers(0, top, dims).astype(each.dtype)
    if len(dims) < 2:
        return np.asarray(rng.uniform(0.5, 1, dims)).astype(each.dtype)
    values = rng.standard_normal(dims) * rng.uniform(0.3, 1.5) + rng.uniform(-0.5, 0.5)
    if len(dims) == 4:
        values = values * 0.3 + rng.standard_normal([*dims[:2], 1, 1]) * np.linspace(-1, 1, dims[2])[:, None]
        values = np.abs(values + rng.standard_normal([*dims[:2], 1, 1]) * np.linspace(-1, 1, dims[3]))
    return np.asarray(values * reach).astype(each.dtype)
