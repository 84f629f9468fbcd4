"""The dice: every choice of a graph, from one seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Dice:
    """Choices that a seed repeats."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def number(self, low: int, high: int) -> int:
        """One of low to high, both included."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, things: Sequence[T]) -> T:
        return things[int(self.rng.integers(len(things)))]

    def weighed(self, things: Mapping[T, float]) -> T:
        """One of the keys, each as likely as its value says."""
        at = self.rng.random() * sum(things.values())
        for thing, weight in things.items():
            at -= weight
            if at < 0:
                return thing
        return thing

    def some(self, things: Sequence[T], least: int = 0) -> list[T]:
        """Some of the things, in their order."""
        count = self.number(min(least, len(things)), len(things))
        return [things[place] for place in sorted(self.rng.permutation(len(things))[:count])]

    def shuffled(self, things: Sequence[T]) -> list[T]:
        return [things[place] for place in self.rng.permutation(len(things))]

    def constant(self, dims: Sequence[int], dtype: Any = np.float32) -> Any:
        """A constant of a model: halves and quarters, so that sums are exact in any order."""
        if np.dtype(dtype).kind == "f":
            return (self.rng.integers(-8, 9, dims) / 4).astype(dtype)
        if np.dtype(dtype).kind == "b":
            return self.rng.integers(0, 2, dims).astype(bool)
        return self.rng.integers(0 if np.dtype(dtype).kind == "u" else -4, 5, dims).astype(dtype)
