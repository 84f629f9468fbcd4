"""Other exports of a model: read, and checked for what can be said of them before anything is fitted or run."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

import numpy as np
import onnx_ir as ir

from onereshape.formats.given import Given
from onereshape.formats.held import is_model, refused
from onereshape.formats.model import Model
from onereshape.formats.model_formats import format_of
from onereshape.formats.onnx.onnx_sound import check_data
from onereshape.graphs.facts.order import values_of
from onereshape.graphs.irs import imaged
from onereshape.graphs.request import given_model
from onereshape.ground.errors import FixError

Exports: TypeAlias = "Given | Sequence[Given] | None"
"""Other exports of a model: one, several, or none."""
Freed = Mapping[str, Mapping[int, str]]

_LARGE = 64
"""Entries of weights; a constant that follows a size, and is as large in all exports, has fewer."""
_TORCH = "add|cat|div|expand|matmul|mul|pad|permute|reshape|select|slice|squeeze|sub|transpose|unsqueeze|view"
_MADE = re.compile(rf"\d+|onnx::\w+|({_TORCH})(_\d+)?")
"""The names that torch gives to what nobody named: by number, or by the operation."""


def given_exports(given: Exports, what: str) -> tuple[Model, ...]:
    """The models that were given, one or several, or what their files hold."""
    if given is None:
        return ()
    each: Any = [given] if is_model(given) else given
    if isinstance(each, Mapping) or not isinstance(each, Iterable):
        raise refused(given, f"{what}, or each of a list for it,")
    found = tuple(imaged(given_model(one)) for one in each)
    for model in found:
        if model.format != "onnx":
            raise FixError(
                "unlike",
                why=f"{model.path} is {format_of(model.format).words}, neither an ONNX model nor an OpenVINO IR",
            )
        check_data(model)
    return found


def numbered_alike(model: Model, other: Model) -> Model:
    """Another export with the names of this model's outputs, where an exporter only numbered them.

    With one node more the numbers are others, and where an axis has one entry, so may be the last node.  Outputs that
    somebody named otherwise, or in another order, are others.
    """
    names, theirs = ([value.name or "" for value in each.ir.graph.outputs] for each in (model, other))
    if len(names) != len(theirs) or names == theirs:
        return other
    if not all(one == its or _is_numbered(one, its, names) for one, its in zip(names, theirs, strict=True)):
        return other
    copy = other.ir.clone()
    outputs = list(copy.graph.outputs)
    values = list(values_of(copy.graph))
    used = {value.name for value in values}
    for value in (*outputs, *(each for each in values if each.name in names)):
        if value.is_graph_input() or value.is_initializer():
            return other
        value.name = next(name for number in count() if (name := f"{value.name}/{number}") not in used)
        used.add(value.name)
    for value, name in zip(outputs, names, strict=True):
        value.name = name
    return replace(other, content=copy)


def _is_numbered(name: str, its: str, names: Sequence[str]) -> bool:
    """Whether two names of an output are an exporter's: `1271`, `onnx::Add_5`, `permute_15`, `view`."""
    return its not in names and all(_MADE.fullmatch(each) for each in (name, its))


def check_witnesses(model: Model, fitted: Sequence[Model], witnesses: Sequence[Model], freed: Freed) -> None:
    """Refuses a witness that shows nothing: with sizes that were fitted on, or with others where nothing is freed."""
    seen = {tuple(_freed_dims(each.ir, freed)): each.path for each in (model, *fitted)}
    for witness in witnesses:
        _check_tied(witness, freed)
        sizes = tuple(_freed_dims(witness.ir, freed))
        if sizes in seen:
            at = ", ".join(f"{name} = {size}" for name, size in sizes)
            why = f"the witness {witness.path} has the sizes of {seen[sizes]} ({at}), and so shows nothing"
            raise FixError("unlike", why=why)
        theirs = _inputs(witness.ir)
        for name, value in _inputs(model.ir).items():
            other = theirs.get(name)
            if other is None or other.shape is None or value.shape is None:
                continue  # who compares them says what is missing
            for axis, (mine, its) in enumerate(zip(value.shape, other.shape, strict=False)):
                if isinstance(mine, int) and isinstance(its, int) and mine != its and axis not in freed.get(name, {}):
                    why = (
                        f"{name}[{axis}] is {mine}, and {its} in the witness {witness.path}: it is not among the freed"
                    )
                    raise FixError("unlike", why=why)


def other_weights(model: Model, others: Sequence[Model]) -> str | None:
    """The first initializer that another export has with other values, in words; None where the weights are equal.

    One that another export has anywhere, under any name, is no other; nor is one with other dims, which may follow a
    size.  So may a few small ones beside weights that are equal: what differs there is told by its place.
    """
    for other in others:
        alike, found = _compared(model, other)
        if 2 * len(found) >= max(alike, 1) or any(tensor.size >= _LARGE for tensor in found.values()):
            return f"the initializer {next(iter(found))} has other values in {other.path}"
    return None


def check_weights(model: Model, fitted: Sequence[Model], witnesses: Sequence[Model]) -> None:
    """Refuses a witness with other weights: with other values where all exports that were fitted on have the same."""
    kept = None
    for witness in witnesses:
        _, found = _compared(model, witness)
        if found and kept is None:
            kept = {name for other in fitted for name in _compared(model, other)[1]}
        for name in found:
            if name not in (kept or ()):
                raise FixError("unlike", why=f"the initializer {name} has other values in the witness {witness.path}")


def _compared(model: Model, other: Model) -> tuple[int, dict[str, Any]]:
    """The number of weights that both models have, and those of `model` whose values `other` has nowhere."""
    theirs = dict(_weights(other.ir))
    pairs = [(name, tensor, theirs[name]) for name, tensor in _weights(model.ir) if name in theirs]
    alike = [each for each in pairs if each[1].dtype == each[2].dtype and list(each[1].shape) == list(each[2].shape)]
    found = {name: tensor for name, tensor, its in alike if _bytes(tensor) != _bytes(its)}
    held = {_digest(tensor) for tensor in theirs.values()} if found else set()
    return len(alike), {name: tensor for name, tensor in found.items() if _digest(tensor) not in held}


def _check_tied(witness: Model, freed: Freed) -> None:
    """Refuses a witness in which dims that are one size have two."""
    inputs, seen = _inputs(witness.ir), dict[str, tuple[str, int]]()
    for name, axes in freed.items():
        shape = None if name not in inputs else inputs[name].shape
        for axis, called in axes.items():
            dim = None if shape is None or axis >= len(shape) else shape[axis]
            place, known = seen.setdefault(called, (f"{name}[{axis}]", dim)) if isinstance(dim, int) else ("", dim)
            if known != dim:
                why = f"{called} is {known} as {place} and {dim} as {name}[{axis}] in the witness {witness.path}"
                raise FixError("unlike", why=why)


def differing_dims(model: Model, others: Sequence[Model]) -> dict[str, dict[int, str]]:
    """The dims of inputs that differ between exports, called as `fix` calls them where nobody names them."""
    from onereshape.graphs.export_sizes import symbols_of  # noqa: PLC0415 - only who compares exports needs it

    return symbols_of([model.ir, *(other.ir for other in others)], {}).freed


def _freed_dims(model: ir.Model, freed: Freed) -> Iterator[tuple[str, object]]:
    """The freed dims of a model, as they are declared; each symbol once."""
    inputs, seen = _inputs(model), set()
    for name, axes in freed.items():
        shape = None if name not in inputs else inputs[name].shape
        for axis, called in axes.items():
            if called not in seen and shape is not None and axis < len(shape):
                seen.add(called)
                dim = shape[axis]
                yield called, dim if isinstance(dim, int) else None


def _inputs(model: ir.Model) -> dict[str, ir.Value]:
    return {value.name or "": value for value in model.graph.inputs if not value.is_initializer()}


def _weights(model: ir.Model) -> Iterator[tuple[str, Any]]:
    """The initializers that hold several floats."""
    for name, value in model.graph.initializers.items():
        tensor = value.const_value
        if tensor is not None and tensor.size > 1 and tensor.dtype.is_floating_point():
            yield name, tensor


def _digest(tensor: Any) -> bytes:
    return hashlib.sha256(_bytes(tensor)).digest()


def _bytes(tensor: Any) -> bytes:
    return bytes(np.ascontiguousarray(tensor.numpy()).tobytes())
