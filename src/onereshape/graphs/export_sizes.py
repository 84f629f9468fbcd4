"""Which dims of the inputs differ between exports of one model, what they are called, and their size in each export."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import onnx_ir as ir

from onereshape.ground.errors import FixError

Names = Mapping[str, Mapping[int, str]]
"""Input -> axis -> what its dim is called."""
InputAxis = tuple[str, int]
"""An input and an axis."""

_MOST = 64
"""Sizes of their own that the dims of a model may have."""
_SHOWN = 8
"""Names that a message shows."""


class Symbols(NamedTuple):
    """The free dims of several exports."""

    freed: dict[str, dict[int, str]]
    """Input -> axis -> the symbol of its size."""
    bindings: tuple[dict[str, int], ...]
    """The sizes of the symbols in each export."""


def symbols_of(models: Sequence[ir.Model], names: Names) -> Symbols:
    """The dims that differ; those that nobody named are called after their input and axis.

    Dims of two inputs that have one size in all exports are one symbol: a mask is as long as what it masks.  Two dims
    of one input are never, since the exports of square images do not tell the height from the width.
    """
    places = _differing(models)
    if not places:
        raise FixError(
            "unlike", why="the exports have the same sizes, and only sizes that differ show what follows them"
        )
    for name, axes in names.items():
        for axis, called in axes.items():
            if (name, axis) not in places:
                why = f"{name}[{axis}] has the same size in all exports, so they do not show what follows {called}"
                raise FixError("unlike", why=why)
    freed: dict[str, dict[int, str]] = {}
    sizes: dict[str, tuple[int, ...]] = {}
    homes: dict[str, InputAxis] = {}
    taken = {called for axes in names.values() for called in axes.values()} | named(models[0])
    for (name, axis), found in sorted(places.items(), key=lambda each: each[0][0] not in names):
        here = freed.get(name, {})
        given = names.get(name, {}).get(axis)
        called = given or _shared(sizes, found, here.values()) or _called(name, axis, {*taken, *sizes})
        if sizes.setdefault(called, found) != found:
            first, second = _shown(homes[called], sizes[called]), _shown((name, axis), found)
            raise FixError("name-taken", name=called, first=first, second=second)
        if len(sizes) > _MOST:
            raise FixError("unlike", why=f"more than {_MOST} sizes differ between the exports")
        homes.setdefault(called, (name, axis))
        freed.setdefault(name, {})[axis] = called
    ordered = {name: dict(sorted(freed[name].items())) for name in _fed(models[0]) if name in freed}
    bindings = tuple({called: found[place] for called, found in sizes.items()} for place in range(len(models)))
    for place, binding in enumerate(bindings):
        if binding in bindings[:place]:
            why = f"two of the exports have the same sizes, {sizes_text(binding)}"
            raise FixError("unlike", why=why)
    return Symbols(ordered, bindings)


def sizes_text(binding: Mapping[str, int]) -> str:
    """Sizes in a message: `S = 12, T = 7`."""
    return ", ".join(f"{name} = {size}" for name, size in binding.items())


def named(model: ir.Model) -> set[str]:
    """The names that dims of inputs have already."""
    shapes = [value.shape for value in _fed(model).values() if value.shape is not None]
    return {dim.value for shape in shapes for dim in shape if not isinstance(dim, int) and dim.value}


def _fed(model: ir.Model) -> dict[str, ir.Value]:
    return {value.name or "": value for value in model.graph.inputs if not value.is_initializer()}


def _differing(models: Sequence[ir.Model]) -> dict[InputAxis, tuple[int, ...]]:
    """The dims of inputs that are numbers in all exports, and not the same one."""
    first, *others = map(_fed, models)
    for other in others:
        if list(other) != list(first):
            raise FixError("unlike", why=f"their inputs are {listed([*first])} and {listed([*other])}")
    found: dict[InputAxis, tuple[int, ...]] = {}
    for name, value in first.items():
        all_values = [value, *(other[name] for other in others)]
        kinds = [each.dtype for each in all_values]
        if len({*kinds}) > 1:
            one, two = (
                "?" if kind is None else kind.name for kind in (kinds[0], next(k for k in kinds if k != kinds[0]))
            )
            raise FixError("unlike", why=f"input {name} is {one} in one export and {two} in another")
        for axis, dims in enumerate(zip(*_shapes(name, all_values), strict=True)):
            numbers = [dim for dim in dims if isinstance(dim, int)]
            if len(numbers) == len(dims) and len({*numbers}) > 1:
                found[name, axis] = tuple(numbers)
            elif len(numbers) < len(dims) and len({str(dim) for dim in dims}) > 1:
                raise FixError("unlike", why=f"{name}[{axis}] is {' and '.join(map(str, dims))}")
    return found


def _shapes(name: str, values: Sequence[ir.Value]) -> list[ir.Shape]:
    """The shapes of one input, which have as many dims; none where no export has them."""
    known = [value.shape for value in values if value.shape is not None]
    if known and len(known) < len(values):
        raise FixError("unlike", why=f"input {name} has no dims in one of them")
    if len({len(shape) for shape in known}) > 1:
        ranks = " and ".join(dict.fromkeys(str(len(shape)) for shape in known))
        raise FixError("unlike", why=f"input {name} has {ranks} dims")
    return known


def _shared(sizes: Mapping[str, tuple[int, ...]], found: tuple[int, ...], here: Collection[str]) -> str | None:
    """A symbol of these sizes that this input does not have yet."""
    return next((called for called, own in sizes.items() if own == found and called not in here), None)


def _called(name: str, axis: int, taken: set[str]) -> str:
    stem = re.sub(r"\W", "_", name)
    called = f"{stem if stem[:1].isidentifier() else f'_{stem}'}_{axis}"
    while called in taken:
        called += "_"
    return called


def _shown(place: InputAxis, sizes: Sequence[int]) -> str:
    return f"{place[0]}[{place[1]}] = {' and '.join(map(str, sizes))}"


def listed(names: Sequence[str | None]) -> str:
    """Names in a message."""
    shown = [str(name) for name in names[:_SHOWN]]
    return ", ".join([*shown, *(["..."] if len(names) > _SHOWN else [])]) or "none"
