"""The inputs of a hostile graph, and the values that open its gates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.hostile.engine import Array

Said = int | str | None


@dataclass(frozen=True, slots=True)
class Given:
    """One input: what the model declares, and which values it may have."""

    name: str
    dtype: Any
    dims: tuple[int, ...]
    """As exported."""
    said: tuple[Said, ...]
    """As declared: a size, a name, or None."""
    axis: int | None = None
    """Where the samples are."""
    low: int | None = None
    """Of an index: the least value."""
    high: int | None = None
    choices: tuple[Array, ...] = ()
    """Of sizes: the values that it may have."""

    def at(self, samples: int, sizes: Mapping[str, int]) -> list[int]:
        """The dims for so many samples and these sizes of the named dims."""
        dims = [
            sizes.get(said, dim) if isinstance(said, str) else dim
            for dim, said in zip(self.dims, self.said, strict=True)
        ]
        if self.axis is not None:
            dims[self.axis] = samples
        return dims


_GATES = np.array([1e3, 1001, 1024, 4096, 1e5, 1e6, 2.5e6, 65504])


def _styles(rng: np.random.Generator, dims: Sequence[int]) -> Array:
    """Floats: exact in float32, in one of several styles."""
    style = int(rng.integers(9))
    if style <= 1:
        return np.asarray(rng.integers(-32, 33, dims) / 8)
    if style == 2:  # ties
        return rng.integers(-1, 2, dims).astype(float)
    if style == 3:  # one value everywhere
        return np.full(dims, rng.choice([0, 1, -1, 2, 1e3, -1e3, 1e6, 0.5]))
    if style == 4:
        return np.asarray(rng.integers(0, 17, dims) / 4)
    if style == 5:  # all different
        count = int(np.prod(dims, dtype=np.int64))
        return np.asarray(rng.permutation(count).reshape(dims) - count // 2, float)
    gates = rng.choice(_GATES, dims) * rng.choice([-1, 1], dims)
    if style == 6:
        return np.asarray(gates)
    if style == 7:
        return np.asarray(np.abs(gates))
    share = rng.choice([0.1, 0.3, 0.5])
    return np.asarray(np.where(rng.random(dims) < share, gates, rng.integers(-32, 33, dims) / 8))


def _sample(rng: np.random.Generator, given: Given, dims: Sequence[int]) -> Array:
    dtype = np.dtype(given.dtype)
    if given.choices:
        return given.choices[int(rng.integers(len(given.choices)))]
    if given.low is not None and given.high is not None:
        if rng.random() < 0.15:  # one value everywhere
            return np.full(dims, rng.integers(given.low, given.high + 1)).astype(dtype)
        return rng.integers(given.low, given.high + 1, dims).astype(dtype)
    if dtype.kind == "b":
        return np.asarray(rng.random(dims) < rng.choice([0, 0.2, 0.5, 0.8, 1]))
    values = _styles(rng, dims)
    if dtype.kind == "f":
        return np.asarray(np.clip(values, -6e4, 6e4) if dtype.itemsize == 2 else values).astype(dtype)
    if dtype.itemsize == 1:
        return np.asarray(np.clip(np.trunc(values), 0 if dtype.kind == "u" else -128, 127)).astype(dtype)
    return np.trunc(values).astype(dtype)


def drawn(rng: np.random.Generator, given: Given, samples: int, sizes: Mapping[str, int]) -> list[Array]:
    """The input, sample by sample, each in a style of its own; one array where it holds no samples."""
    if given.axis is None:
        return [np.asarray(_sample(rng, given, given.at(samples, sizes)))]
    dims = given.at(1, sizes)
    return [np.asarray(_sample(rng, given, dims)) for _ in range(samples)]
