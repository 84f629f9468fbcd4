"""Inputs drawn to suit a graph, so that a model that is run on them says something.

Samples differ from each other even in what a global average sees, indices stay inside their tables and away from the
tokens that mean padding or an end, and no mask hides everything, whichever way round it is read.  What serves as a size
is left to `size_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any, Final, Literal

import numpy as np
import onnx_ir as ir

from onereshape.ground.integers import Dims
from onereshape.ground.isolation.budget import limits, size
from onereshape.prove.engines.engine import Array
from onereshape.prove.values.input_roles import InputRole, Role, fed, roles_of
from onereshape.prove.values.size_values import Style, size_values

DEFAULT_SIZE: Final = 4
"""The size of a dim that is neither declared nor given."""
_SPECIAL: Final = 3
"""The smallest indices are often padding, start and end; they are not drawn where there is room."""
_ROOM: Final = 8
_FAR: Final = 3000
"""Integers that are far from those that masks and counts have."""
_DRAWING: Final = 64
"""Bytes that each element takes while it is drawn, in float64 and more than once, and kept for several runs."""
_MOST_DIMS: Final = 32
"""The most dims that an array may have in every NumPy."""
UNNAMED: Final = "?"
"""The name of dims that have neither a size nor a name."""
SIZES: Final = frozenset({"size", "scale"})
"""The kinds of inputs that decide on dims, and so must be equal in runs that are put beside each other."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How values are drawn."""

    scale: float = 1.0
    """The factor of all floats."""
    cautious: bool = False
    """Only what hardly any graph refuses: indices 0 and 1, floats between 0 and 1, masks that hide nothing."""
    default: int = DEFAULT_SIZE
    sign: Literal["", "negative", "equal"] = ""
    """Whether floats are all negative, or all the same."""
    integers: Literal["", "large", "negative"] = ""
    """Whether integers are far from what they usually are, and indices at an end of their table."""
    style: Style = Style()  # noqa: RUF009 - frozen


class Undrawable(Exception):  # noqa: N818 - a fact about an input
    """An input that no value can be drawn for."""


def draw(  # noqa: PLR0913 - what is drawn, and how
    model: ir.Model,
    rng: np.random.Generator,
    sizes: Mapping[str, int],
    *,
    suits: Mapping[str, InputRole] | None = None,
    manner: Manner = Manner(),
    given: Mapping[str, Array] = MappingProxyType({}),
) -> dict[str, Array]:
    """A value for every input that must be given; `sizes` binds the names of dims, `given` are values that stay."""
    suits = roles_of(model) if suits is None else suits
    drawn = {}
    for value in fed(model):
        name = value.name or ""
        _check(value)
        dims = dims_of(value, sizes, manner.default)
        if len(dims) > _MOST_DIMS:
            raise Undrawable(f"input {name!r} has {len(dims)} dims, and no more than {_MOST_DIMS} are drawn")
        if prod(dims) > limits().memory // _DRAWING:
            why = f"drawing them takes more than {size(limits().memory)} of memory"
            raise Undrawable(f"input {name!r} has {prod(dims)} elements, and {why}")
        suit = suits[name]
        if name in given:
            drawn[name] = given[name]
            continue
        if suit.kind in SIZES:
            bound = lambda dim: sizes.get(dim, manner.default)  # noqa: E731 - short
            array = size_values(rng, suit.uses, dims, bound, manner.style)
        else:
            array = (_CAUTIOUS if manner.cautious else _DRAWN)[suit.kind](rng, dims, suit)
        drawn[name] = _typed(_extreme(rng, array, suit, manner), value)
    return drawn


def _extreme(rng: np.random.Generator, array: Any, suit: InputRole, manner: Manner) -> Any:
    """What was drawn, as large, as negative or as uniform as is asked."""
    if suit.kind in {"float", "positive"}:
        if manner.sign == "equal":
            array = np.full_like(array, rng.uniform(0.5, 1.5))
        elif manner.sign == "negative" and suit.kind == "float":
            array = -np.abs(array)
        return array if manner.scale == 1 else array * manner.scale
    if manner.integers and suit.kind in {"integer", "mask"}:
        return rng.integers(_FAR, 2 * _FAR, array.shape) * (1 if manner.integers == "large" else -1)
    if manner.integers and suit.kind == "index":
        return np.where(
            rng.integers(0, 2, array.shape), array, suit.high - 1 if manner.integers == "large" else suit.low
        )
    return array


def _check(value: ir.Value) -> None:
    if not isinstance(value.type, ir.TensorType):
        raise Undrawable(f"input {value.name!r} is not a tensor, and no value can be drawn for it")
    if value.type.dtype != ir.DataType.STRING and value.type.dtype.bitwidth < 8:
        raise Undrawable(f"input {value.name!r} is {value.type.dtype.name.lower()}, which cannot be fed")
    if value.shape is None:
        raise Undrawable(f"input {value.name!r} does not declare its dims, so no value can be drawn for it")


def dims_of(value: ir.Value, sizes: Mapping[str, int], default: int) -> Dims:
    """The dims of an input, with sizes for those that have only a name; a -1 is what some write for an unknown dim."""
    declared = [dim if isinstance(dim, int) else sizes.get(dim.value or UNNAMED, default) for dim in value.shape or ()]
    return tuple(default if dim < 0 else dim for dim in declared)


def _typed(array: Any, value: ir.Value) -> Array:
    dtype = value.dtype
    if dtype is None or dtype == ir.DataType.STRING:
        return np.asarray(array, object)
    with np.errstate(over="ignore", invalid="ignore"):  # who asks for large values looks whether they are finite
        return np.asarray(array).astype(dtype.numpy())


def _per_sample(dims: Dims) -> Dims:
    return dims[:1] + (1,) * (len(dims) - 1)


def _float(rng: np.random.Generator, dims: Dims, _suit: InputRole) -> Array:
    """Noise whose strength and mean differ between samples; of rank 4 and above also slopes, as in images."""
    noise: Array = np.asarray(rng.standard_normal(dims))
    noise *= rng.uniform(0.3, 1.5, _per_sample(dims))  # in place: pictures are large
    if len(dims) < 4:
        noise += 0.3 * rng.standard_normal(_per_sample(dims))
        return noise
    height, width = dims[-2:]
    each = (*dims[:-2], 1, 1)
    down = rng.standard_normal(each) * np.linspace(-1, 1, height)[:, None]
    across = rng.standard_normal(each) * np.linspace(-1, 1, width)
    noise += rng.standard_normal(each)
    noise += down
    noise += across
    return noise


def _positive(rng: np.random.Generator, dims: Dims, suit: InputRole) -> Array:
    return np.abs(_float(rng, dims, suit)) + 0.1


def _unit(rng: np.random.Generator, dims: Dims, _suit: InputRole) -> Array:
    return rng.random(dims) * rng.uniform(0.25, 1, _per_sample(dims))


def _bytes(rng: np.random.Generator, dims: Dims, suit: InputRole) -> Array:
    """Grey levels that fit a signed byte too."""
    levels: Array = np.clip(64 + 32 * _float(rng, dims, suit), 0, 127)
    return levels


def _index(rng: np.random.Generator, dims: Dims, suit: InputRole) -> Array:
    low = max(suit.low, _SPECIAL) if suit.high - suit.low > _ROOM else suit.low
    return rng.integers(low, suit.high, dims)


def _mask(rng: np.random.Generator, dims: Dims, _suit: InputRole) -> Array:
    """Right padding: at least half is kept and, since a mask may be read either way, not everything."""
    if len(dims) < 2 or dims[-1] < 2:
        return rng.integers(0, 2, dims)
    length = dims[-1]
    kept = rng.integers((length + 1) // 2, max(length, (length + 1) // 2 + 1), (*dims[:-1], 1))
    return (np.arange(length) < kept).astype(np.int64)


def _few(rng: np.random.Generator, dims: Dims, suit: InputRole) -> Array:
    return rng.integers(suit.low, min(suit.low + 2, suit.high) if suit.high else 2, dims)


def _ones(_rng: np.random.Generator, dims: Dims, _suit: InputRole) -> Array:
    return np.ones(dims, np.int64)


def _string(rng: np.random.Generator, dims: Dims, _suit: InputRole) -> Array:
    return np.array([f"s{number}" for number in rng.integers(0, 10**6, int(np.prod(dims)))], object).reshape(dims)


def _choice(rng: np.random.Generator, dims: Dims, suit: InputRole) -> Array:
    """An array of random choices from the values that a suit lists: the categories that a graph knows."""
    options = np.empty(len(suit.options), object)
    options[:] = suit.options
    return np.asarray(options[rng.integers(0, len(options), dims)], object).reshape(dims)


_DRAWN: Final[dict[Role, Callable[[np.random.Generator, Dims, InputRole], Any]]] = {
    "float": _float,
    "positive": _positive,
    "index": _index,
    "mask": _mask,
    "bytes": _bytes,
    "integer": lambda rng, dims, _: rng.integers(0, 10, dims),
    "bool": _mask,
    "string": _string,
    "choice": _choice,
}

_CAUTIOUS: Final = _DRAWN | {
    "float": _unit,
    "positive": lambda rng, dims, suit: _unit(rng, dims, suit) + 0.1,
    "index": _few,
    "mask": _ones,
    "integer": _few,
    "bool": _ones,
}
