"""Values for inputs that serve as sizes, axes or counts: such as suit the operator that takes them, and differ.

Ones would suit nearly always and show nearly nothing: a Split by [1, 1] is an even one, an Expand to [1, 1] does
nothing.  Whether the model as a whole takes a value only a run can say; so there are styles, from free to plain, and
the first that runs is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

import numpy as np

from onereshape.graphs.takes import Take
from onereshape.prove.values.input_roles import SizeUse


@dataclass(frozen=True, slots=True)
class Style:
    """How freely sizes are drawn."""

    kept: frozenset[int] = frozenset()
    """Entries, or axes, that change nothing, as the batch may lie there."""
    ones: bool = False
    """Nothing but ones, whatever they mean."""


_ALL: Final = frozenset(range(64))
STYLES: Final = (
    *(Style() for _ in range(4)),
    *(Style(frozenset({0})) for _ in range(3)),
    Style(frozenset({0, 1})),
    Style(frozenset({1})),
    Style(_ALL),
    Style(ones=True),
)
"""The styles in the order of trials; the free ones several times, as each draws other values."""


@dataclass(frozen=True, slots=True)
class _SizeVector:
    """One vector of sizes: for how many entries, of data with which dims (None: not known)."""

    rng: np.random.Generator
    use: SizeUse
    count: int
    dims: tuple[int | None, ...]
    kept: frozenset[int]

    def dim(self, axis: int) -> int | None:
        """The size of the data's dim at an axis; None where it is not known, or there is no such axis."""
        return self.dims[axis] if -len(self.dims) <= axis < len(self.dims) else None

    def between(self, low: int, high: int) -> int:
        """Any integer of [low, high]."""
        return int(self.rng.integers(low, max(high, low) + 1))

    def some(self, axes: Sequence[int]) -> list[int]:
        """`count` axes drawn from `axes`, not the kept ones if there are others; the last is repeated if too few."""
        free = [axis for axis in axes if axis not in self.kept] or list(axes) or [0]
        chosen = [int(axis) for axis in self.rng.permutation(free)[: self.count]]
        return chosen + [chosen[-1]] * (self.count - len(chosen))


def size_values(
    rng: np.random.Generator, uses: Sequence[SizeUse], dims: tuple[int, ...], sizes: Callable[[str], int], style: Style
) -> Any:
    """Values for an input of these dims; `sizes` binds the names in the dims of data."""
    use = min(uses, key=lambda each: (not each.whole, each.dims is None))
    if style.ones:
        return np.ones(dims)
    data = tuple(sizes(dim) if isinstance(dim, str) else dim for dim in use.dims or ())
    asked = _SizeVector(rng, use, prod(dims), data, style.kept)
    make = _VALUES.get(use.take) if use.whole else None
    found = [1] * asked.count if style.kept == _ALL and make is None else (make or _few)(asked)
    return np.reshape(np.array(found, np.float64 if make is _scales else np.int64), dims)


def _few(asked: _SizeVector) -> list[int]:
    """Small sizes, of which no two neighbours are equal."""
    turn = asked.between(0, 2)
    return [(2, 3, 1)[(turn + place) % 3] for place in range(asked.count)]


def _split(asked: _SizeVector) -> list[int]:
    """Parts of an axis, uneven where there is a way."""
    whole, count = asked.dim(asked.use.axis), asked.count
    if whole is None or whole < count:
        return _few(asked)
    cuts = sorted(int(cut) + 1 for cut in asked.rng.permutation(whole - 1)[: count - 1])
    parts = [end - start for start, end in zip([0, *cuts], [*cuts, whole], strict=True)]
    if count > 1 and len(set(parts)) == 1 and parts[0] > 1:
        parts[0], parts[-1] = parts[0] - 1, parts[-1] + 1
    return [whole // count] * (count - 1) + [whole - whole // count * (count - 1)] if asked.kept == _ALL else parts


def _target(asked: _SizeVector) -> list[int]:
    """A target of Reshape: copies where it is kept, and the factors of the rest anywhere; -1 for what is not known."""
    kept = [place in asked.kept and asked.dim(place) is not None for place in range(asked.count)]
    rest = [dim for place, dim in enumerate(asked.dims) if not (place < asked.count and kept[place])]
    free = [place for place in range(asked.count) if not kept[place]]
    target = [0 if copied else 1 for copied in kept]
    if not free:
        return target
    if any(dim is None for dim in rest) or not asked.dims:
        target[free[-1]] = -1
        return target
    for factor in _factors(prod(dim for dim in rest if dim is not None)):
        target[free[asked.between(0, len(free) - 1)]] *= factor
    return target


def _factors(number: int) -> list[int]:
    """The primes of a number; 0 and what is too large for a search are left whole."""
    found, divisor = [], 2
    while number > 1 and divisor * divisor <= number and divisor < 1 << 12:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return [*found, number]


def _expanded(asked: _SizeVector) -> list[int]:
    """Dims to broadcast to, counted from the right: other sizes where data has 1."""
    missing = asked.count - len(asked.dims)
    turn, found = asked.between(0, 2), []
    for place in range(asked.count):
        dim = asked.dim(place - missing) if place >= missing else 1
        found.append(
            (2, 3, 4)[(turn + place) % 3] if dim == 1 and place not in asked.kept else 1 if dim is None else dim
        )
    return found


def _repeats(asked: _SizeVector) -> list[int]:
    return [1 if place in asked.kept else few for place, few in enumerate(_few(asked))]


def _pads(asked: _SizeVector) -> list[int]:
    """Drawn pads of 0 to 2 before all axes, then behind all axes, 0 for axes that are kept: `[0, 1, 0, 2]`."""
    half = max(asked.count // 2, 1)
    return [0 if place % half in asked.kept else asked.between(0, 2) for place in range(asked.count)]


def _resized(asked: _SizeVector) -> list[int]:
    known = [asked.dim(place) for place in range(asked.count)]
    return [dim or 1 if place in asked.kept else (dim or 2) + asked.between(1, 3) for place, dim in enumerate(known)]


def _scales(asked: _SizeVector) -> list[float]:
    return [1.0 if place in asked.kept else (0.5, 2.0, 1.5, 3.0)[asked.between(0, 3)] for place in range(asked.count)]


def _starts(asked: _SizeVector) -> list[int]:
    return [0 if place in asked.kept else asked.between(0, 1) for place in range(asked.count)]


def _ends(asked: _SizeVector) -> list[int]:
    known = [dim for dim in asked.dims if dim]
    return [1 << 30 if place in asked.kept else asked.between(2, min(known, default=4)) for place in range(asked.count)]


def _axes(asked: _SizeVector) -> list[int]:
    return asked.some(range(len(asked.dims)))


def _of_size_one(asked: _SizeVector) -> list[int]:
    return asked.some([axis for axis, dim in enumerate(asked.dims) if dim == 1])


def _new_axes(asked: _SizeVector) -> list[int]:
    return asked.some(range(len(asked.dims) + asked.count))


def _chosen(asked: _SizeVector) -> list[int]:
    """How many entries are chosen along an axis."""
    return [asked.between(1, min(asked.dim(asked.use.axis) or 1, 4))] * asked.count


def _lengths(asked: _SizeVector) -> list[int]:
    """How much of a sequence counts, for each sample; time comes first unless an attribute says otherwise."""
    return [asked.between(1, min(dim for dim in (*asked.dims[:2], 9) if dim)) for _ in range(asked.count)]


def _any(low: int, high: int) -> Callable[[_SizeVector], list[int]]:
    return lambda asked: [asked.between(low, high) for _ in range(asked.count)]


_VALUES: Final[dict[Take, Callable[[_SizeVector], Any]]] = {
    "parts": _split,
    "target": _target,
    "wider dims": _expanded,
    "new dims": _resized,
    "scales": _scales,
    "repeats": _repeats,
    "pads": _pads,
    "starts": _starts,
    "ends": _ends,
    "steps": _any(1, 2),
    "axes": _axes,
    "axes of one": _of_size_one,
    "new axes": _new_axes,
    "lengths": _lengths,
    "how many": _chosen,
    "first": _any(0, 2),
    "limit": _any(4, 9),
    "diagonal": _any(-1, 2),
    "turns": _any(1, 4),
}
"""What else is taken as sizes may be any that are small."""
