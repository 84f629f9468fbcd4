"""What random models are made with: the tensors that there are, and the dice."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from tests.laws.batching_sketch import Sketch

MOST = 400
"""Elements of a tensor."""


class Tensor(NamedTuple):
    name: str
    dims: tuple[int, ...]


class World:
    """The tensors made so far, and the dice."""

    def __init__(self, rng: Random, size: int, opset: int) -> None:
        self.rng, self.size = rng, size
        self.sketch = Sketch("composition", opset, size)
        dims = [rng.choice((1, 2, 3, 4)) for _ in range(rng.randint(1, 4))]
        axis = rng.choice((0, 0, rng.randrange(len(dims))))
        dims[axis] = size
        self.tensors = [Tensor(self.sketch.x(self._named(dims, axis), axis), tuple(dims))]

    def _named(self, dims: list[int], axis: int) -> list[int | str]:
        """Sometimes one of the other dims has a name in place of its size."""
        place = self.rng.randrange(len(dims))
        if place == axis or self.rng.random() < 0.6:
            return list(dims)
        self.sketch.named["S"] = dims[place]
        return [*dims[:place], "S", *dims[place + 1 :]]

    def pick(self, least_rank: int = 0) -> Tensor:
        """One of the tensors, the latest most often."""
        fit = [each for each in self.tensors if len(each.dims) >= least_rank] or [
            self.unsqueezed(self.tensors[-1], least_rank)
        ]
        return fit[-1] if self.rng.random() < 0.7 else self.rng.choice(fit)

    def unsqueezed(self, tensor: Tensor, rank: int) -> Tensor:
        dims = (*([1] * (rank - len(tensor.dims))), *tensor.dims)
        return Tensor(self.sketch.op("Reshape", tensor.name, self.sketch.ints(*dims)), dims)

    def op(self, kind: str, dims: tuple[int, ...], *inputs: str, **attributes: Any) -> Tensor:
        return Tensor(self.sketch.op(kind, *inputs, **attributes), dims)

    def axis(self, tensor: Tensor) -> int:
        return self.rng.randrange(len(tensor.dims))

    def some(self, dims: tuple[int, ...]) -> str:
        """A tensor that all samples share: a constant, or an input of the model."""
        if self.rng.random() < 0.15:
            return self.sketch.x(dims, None)
        return self.sketch.floats(*dims, low=self.rng.choice((-1, 0.5)))


def changed(dims: tuple[int, ...], axis: int, *new: int) -> tuple[int, ...]:
    return (*dims[:axis], *new, *dims[axis + 1 :])
