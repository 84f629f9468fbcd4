"""What `check`, `fix` and `certify` are asked: read, and checked against the inputs of the model."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from numbers import Integral
from operator import index
from typing import Any

import onnx_ir as ir

from onereshape.formats.given import Given
from onereshape.formats.model import Model, load
from onereshape.formats.model_formats import format_of
from onereshape.formats.onnx.onnx_graphs import every
from onereshape.graphs.likely_batch import Declared, likely_axes
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.rule.dims import symbols_of

Progress = Callable[[int, int, str], None]
Batch = bool | Mapping[str, int] | None
Free = Mapping[str, Mapping[int, str]] | None

_SHOWN = 8
"""Names that a message shows."""


def requested(model: Model, batch: Batch = None, free: Free = None) -> dict[str, dict[int, str]]:
    """Input -> axis -> the name that the dim is to have; refuses what the model has no place for.

    `batch` is True for the axes that are likely to carry it, or gives the axis of each input; `free` gives the names
    too.  Nothing is asked for if both are None.
    """
    if batch is None or batch is False:
        if free is None:
            return {}
    elif free is not None:
        raise ReshapeError("bad-usage", why="a batch and other dims are freed one after the other, not at once")
    if model.format != "onnx":
        why = f"dims are freed in ONNX models only, and {model.path} is {format_of(model.format).words}"
        raise ReshapeError("unsupported-model", why=why)
    inputs = inputs_of(model.ir)
    if free is not None:
        return _freed(inputs, _read(free))
    axes = likely_axes(shapes_of(inputs)) if batch is True else _read_batch(inputs, batch)
    return _batched(model.ir, inputs, axes)


def batch_size(model: ir.Model, axes: Mapping[str, int]) -> int:
    """The batch of a model; one that has only a name was exported with 1."""
    shapes = {value.name: value.shape for value in model.graph.inputs}
    dims = [shape[axis] for name, axis in axes.items() if (shape := shapes.get(name)) is not None]
    return next((dim for dim in dims if isinstance(dim, int) and dim >= 0), 1)


def given_model(model: Given) -> Model:
    """A model: itself, or that of whatever it is given as."""
    return load(model)


def check_progress(progress: Any) -> None:
    """Refuses what cannot be told of progress."""
    if progress is not None and not callable(progress):
        raise ReshapeError("bad-usage", why=f"progress is a {type(progress).__name__}, which cannot be called")


def read_seed(seed: Any) -> int:
    """A seed as an int: `np.int64(3) -> 3`; floats, texts and numbers below 0 are refused."""
    try:
        found = index(seed)
    except TypeError:
        raise ReshapeError("bad-usage", why=f"seed is a {type(seed).__name__}, and it takes an integer") from None
    if found < 0:
        raise ReshapeError("bad-usage", why="a seed is 0 or more, and this one is less")
    return found


def _read(free: Any) -> dict[str, dict[int, str]]:
    """The argument `free`, input -> axis -> name, such as `{"ids": {1: "S"}}`, as dicts; refuses any other argument."""
    if not isinstance(free, Mapping) or not all(isinstance(axes, Mapping) for axes in free.values()):
        raise ReshapeError("bad-usage", why=f'free is {free!r}, not a mapping such as {{"input_ids": {{1: "S"}}}}')
    return {str(name): dict(axes) for name, axes in free.items()}


def _read_batch(inputs: Mapping[str, ir.Value], batch: Any) -> dict[str, int]:
    if not isinstance(batch, Mapping) or not batch:
        raise ReshapeError("bad-usage", why=f'batch is {batch!r}, not True or a mapping such as {{"input": 0}}')
    return {name: _axis(_input(inputs, name), axis) for name, axis in batch.items()}


def shapes_of(inputs: Mapping[str, ir.Value]) -> dict[str, tuple[Declared, ...]]:
    """The declared dims of inputs; none of an input of unknown rank."""
    shapes = {name: () if value.shape is None else value.shape for name, value in inputs.items()}
    return {name: tuple(_dim(shape, axis) for axis in range(len(shape))) for name, shape in shapes.items()}


def inputs_of(model: ir.Model) -> dict[str, ir.Value]:
    """The inputs that must be given, by name."""
    return {value.name or "": value for value in model.graph.inputs if not value.is_initializer()}


def _batched(model: ir.Model, inputs: Mapping[str, ir.Value], axes: Mapping[str, int]) -> dict[str, dict[int, str]]:
    """The axes of the batch under one name, `{"ids": {0: "N"}, "mask": {0: "N"}}`: the model's own, else a new one."""
    dims = {name: _dim(inputs[name].shape, axis) for name, axis in axes.items()}
    sizes = {f"{name}[{axes[name]}] = {dim}": dim for name, dim in dims.items() if isinstance(dim, int)}
    first = next(iter(sizes.items()), None)
    for place, dim in sizes.items():
        if first is not None and dim != first[1]:
            raise FixError("batch-sizes", first=first[0], second=place)
    named = next((dim for dim in dims.values() if isinstance(dim, str)), None)
    fresh = named or _fresh(set(_names(model)))
    return {name: {axis: fresh} for name, axis in axes.items()}


def _freed(inputs: Mapping[str, ir.Value], free: Mapping[str, Mapping[int, str]]) -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {}
    sizes: dict[str, tuple[int, str]] = {}
    for name, axes in free.items():
        value = _input(inputs, name)
        for given, called in axes.items():
            if not isinstance(called, str) or not called.isidentifier():
                raise FixError("bad-name", name=called)
            axis = _axis(value, given)
            dim = _dim(value.shape, axis)
            before = found.setdefault(name, {}).setdefault(axis, called)
            if before != called:
                raise FixError("asked-twice", input=name, asked=axis, first=before, second=called)
            if isinstance(dim, str) and dim != called:
                raise FixError("already-dynamic", input=name, asked=axis, dim=dim, name=called)
            if isinstance(dim, int):
                size, place = sizes.setdefault(called, (dim, f"{name}[{axis}] = {dim}"))
                if size != dim:
                    raise FixError("name-taken", name=called, first=place, second=f"{name}[{axis}] = {dim}")
    return {name: axes for name, axes in found.items() if axes}


def _input(inputs: Mapping[str, ir.Value], name: Any) -> ir.Value:
    if name in inputs:
        return inputs[name]
    folded = {other.casefold(): other for other in inputs}
    near = [folded[close] for close in difflib.get_close_matches(str(name).casefold(), folded, n=3)]
    nearest = f" (did you mean {' or '.join(map(repr, near))}?)" if near else ""
    shown = ", ".join([*list(inputs)[:_SHOWN], *(["..."] if len(inputs) > _SHOWN else [])])
    there = f"its inputs are {shown}" if inputs else "it has none"
    raise FixError("unknown-input", name=str(name), nearest=nearest, there=there)


def _axis(value: ir.Value, axis: Any) -> int:
    """The axis counted from the front."""
    if isinstance(axis, bool) or not isinstance(axis, Integral):  # NumPy's integers are among them
        raise ReshapeError("bad-usage", why=f"an axis of {value.name} is {axis!r}, not an integer")
    if value.shape is None:
        raise FixError("unknown-rank", input=value.name)
    rank = len(value.shape)
    place = int(axis)
    if not -rank <= place < rank:
        raise FixError("axis-range", input=value.name, rank=rank, asked=str(axis))
    return place % rank


def _dim(shape: Any, axis: int) -> Declared:
    """A declared dim; a negative size, which some exporters write for an unknown one, is unknown."""
    dim = shape[axis]
    if isinstance(dim, int):
        return dim if dim >= 0 else None
    return dim.value or None


def _names(model: ir.Model) -> Iterator[str]:
    """The names that dims have anywhere in the graph."""
    graph = model.graph
    made = (value for node in every(graph) for value in node.outputs)
    for value in (*graph.inputs, *graph.outputs, *made):
        if value.shape is None:
            continue
        for dim in value.shape:
            if isinstance(dim, ir.SymbolicDim) and dim.value:
                yield from symbols_of(dim.value)


def _fresh(taken: set[str]) -> str:
    name, count = "N", 0
    while name in taken:
        count += 1
        name = f"N_{count}"
    return name
