"""Dims of inputs that have neither a size nor a name: each is called by its place, so that each may have its own size.

Which of them are one size nobody says; so they are drawn apart, and alike only where a model does not run so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import onnx_ir as ir

from onereshape.prove.values.input_roles import fed

_PLACE: Final = re.compile(r"\[(\d+)\]$")

Groups = list[list[str]]
"""Lists of names: the dims of a list get the same size."""


def with_named_dims(model: ir.Model) -> ir.Model:
    """The model with a name for every dim of its inputs, `x[1]` where it has none; itself where all have one."""
    if not any(_is_open(dim) for value in fed(model) for dim in value.shape or ()):
        return model
    copy = model.clone()
    for value in fed(copy):
        if value.shape is not None:
            dims = enumerate(value.shape)
            value.shape = ir.Shape([f"{value.name}[{axis}]" if _is_open(dim) else dim for axis, dim in dims])
    return copy


def groupings(names: Sequence[str], *, together: bool = False) -> Iterator[Groups]:
    """Ways to give dims one size: none alike, unnamed ones alike per axis, all unnamed ones; `together`: all dims.

    `[S, x[1], y[1], y[2]] -> S | x[1] | y[1] | y[2]`, then `S | x[1] y[1] | y[2]`, then `S | x[1] y[1] y[2]`.
    """
    seen: list[Groups] = []
    for key in (_itself, _axis, _any_place, *([_any] if together else [])):
        found = grouped(names, key)
        if found not in seen:
            seen.append(found)
            yield found


def grouped(names: Iterable[str], key: Callable[[str], object]) -> Groups:
    """Names with one key together, in their order."""
    found: dict[object, list[str]] = {}
    for name in names:
        found.setdefault(key(name), []).append(name)
    return [*found.values()]


def _is_open(dim: int | ir.SymbolicDim) -> bool:
    return dim < 0 if isinstance(dim, int) else not dim.value


def _itself(name: str) -> object:
    return name


def _axis(name: str) -> object:
    place = _PLACE.search(name)
    return name if place is None else int(place[1])


def _any_place(name: str) -> object:
    return name if _PLACE.search(name) is None else 0


def _any(_name: str) -> object:
    return 0
