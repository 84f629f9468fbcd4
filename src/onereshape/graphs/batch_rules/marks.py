"""Mark: where a tensor carries the batch, and where a Reshape can put it.

A tensor without a mark is the same for all samples.  A marked one has, on one axis, `outer` times N times `inner`
elements: sixteen heads merged into the batch give `Mark(0, 1, 16)`.  The elements of one sample keep their order, so
only the place of N in row-major order decides what a tensor means; which axis holds it is a matter of words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from onereshape.rule.sizes import Size, depends, exact, product


class Mark(NamedTuple):
    """The axis that carries N, and the sizes around it on that axis."""

    axis: int
    outer: Size = 1
    inner: Size = 1

    @property
    def bare(self) -> bool:
        """Whether the axis is N and nothing else."""
        return self.outer == 1 and self.inner == 1

    def at(self, axis: int) -> Mark:
        """The mark on another axis: `Mark(0, 1, 16).at(2) -> Mark(2, 1, 16)`."""
        return self if axis == self.axis else Mark(axis, self.outer, self.inner)

    def size(self, batch: Size) -> Size:
        """The size of the axis when N is `batch`."""
        return batch if self.bare else times(self.outer, batch, self.inner)


def times(*sizes: Size) -> Size:
    """The product."""
    return product(sizes)


over = exact
"""The quotient, None where it is not exact whatever the sizes are."""


def marked(dims: Sequence[Size], mark: Mark, batch: Size) -> tuple[Size, ...]:
    """The dims with N at its place."""
    plain = tuple(dims)
    return (*plain[: mark.axis], mark.size(batch), *plain[mark.axis + 1 :])


def homes(data: Sequence[Size], mark: Mark, output: Sequence[Size], batch: int) -> Iterator[Mark]:
    """The axes of `output` that can carry N when data of these dims is reshaped, the most natural first.

    A slot that holds N and nothing else comes first, then N as the outermost factor of an axis, then any other.

    >>> list(homes((1, 12, 16), Mark(0), (1, 192), 1))
    [Mark(axis=0, outer=1, inner=1), Mark(axis=1, outer=1, inner=192)]
    >>> next(homes((197, 1, 768), Mark(1), (197, 12, 64), 1))
    Mark(axis=1, outer=1, inner=12)
    """
    yield from _homes(tuple(data), mark, tuple(output), batch)


@lru_cache(maxsize=4096)
def _homes(data: tuple[Size, ...], mark: Mark, output: tuple[Size, ...], batch: int) -> tuple[Mark, ...]:
    """Remembered, because the layers of a model ask the same again and again."""
    before = times(*data[: mark.axis], mark.outer)
    whole = (*data, *output, mark.outer, mark.inner)
    found = []
    prefix: Size = 1
    for axis, dim in enumerate(output):
        outer = over(before, prefix, whole)
        inner = None if outer is None else over(dim, times(outer, batch), whole)
        if outer is not None and inner is not None:
            found.append(Mark(axis, outer, inner))
        prefix = times(prefix, dim)
    return tuple(sorted(found, key=lambda home: (not home.bare, home.outer != 1)))


def mentions(size: Size | None, symbol: str) -> bool:
    """Whether a size depends on a symbol."""
    return depends(size, (symbol,))
