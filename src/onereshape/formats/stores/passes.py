"""In which passes a store is reshaped, and in which blocks: integers only, nothing is read.

One task makes one block of output: it reads what it needs of the input, and shares no chunk that it writes.  A chunk of
the input is decoded as often as blocks need it.  Where that is too often, the input is first copied to a store whose
chunks lie between those that are read and those that are needed; where the chunks that are asked for are not
contiguous, the output is first made in chunks that are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from onereshape.arrays.chunk_choice import contiguous, even, plan, plan_given
from onereshape.arrays.chunking import Chunks, is_contiguous, parts, strides
from onereshape.ground.integers import Dims

_OFTEN = 4
"""How often a chunk may be decoded on average: a pass of its own would read and write all of them once more."""
_MOST_PASSES = 4


@dataclass(frozen=True, slots=True)
class Pass:
    """A store to be written: its dims, the size of its chunks, and the size of the blocks that tasks make."""

    dims: Dims
    chunk: Dims
    block: Dims

    @property
    def blocks(self) -> int:
        """The number of blocks to make."""
        return prod(-(-dim // size) for dim, size in zip(self.dims, self.block, strict=True))


def default_chunk(data: Dims, stored: Dims, output: Dims, limit: int) -> Dims:
    """The size of the chunks of output where none is asked for: as large as those of data, and contiguous.

    >>> default_chunk((1000, 1000), (100, 1000), (500, 2000), 10**6)
    (50, 2000)
    """
    if prod(output) == 0:
        return tuple(max(1, dim) for dim in output)
    most = min(limit, prod(stored))
    found = plan(data, grid(data, stored), output, max(1, most), regular=True)
    return tuple(sizes[0] for sizes in found.output)


def passes(data: Dims, stored: Dims, output: Dims, chunk: Dims, budget: int) -> list[Pass]:
    """The passes from a store of `data` in chunks of `stored` to one of `output` in chunks of `chunk`.

    No block has more than `budget` elements, unless a chunk itself has.
    """
    if prod(output) == 0:
        return [Pass(output, chunk, chunk)]
    return _passes(data, stored, output, chunk, budget, _MOST_PASSES)


def _passes(data: Dims, stored: Dims, output: Dims, chunk: Dims, budget: int, most: int) -> list[Pass]:  # noqa: PLR0913, PLR0917
    block = coarser(output, chunk, budget)
    chunks = grid(output, block)
    if not _is_readable(data, output, chunks):
        between = default_chunk(data, stored, output, min(budget, prod(chunk)))
        return [
            *_passes(data, stored, output, between, budget, most - 1),
            *_passes(output, between, output, chunk, budget, most - 1),
        ]
    last = Pass(output, chunk, block)
    often = decodings(data, stored, output, block)
    if most <= 1 or often <= _OFTEN * prod(len(sizes) for sizes in grid(data, stored)):
        return [last]
    read, between = _between(data, stored, _wanted(data, output, budget), budget)
    return [Pass(data, between, read), *_passes(data, between, output, chunk, budget, 1)]


def decodings(data: Dims, stored: Dims, output: Dims, block: Dims) -> int:
    """How many chunks of data are decoded, when each block of output reads what it needs."""
    found = plan_given(data, grid(data, stored), output, grid(output, block))
    assert found is not None  # noqa: S101 - the caller has looked
    return found.pieces


def grid(dims: Dims, size: Dims) -> Chunks:
    """The chunks of an array that is cut by one size; the last along an axis may be smaller.

    >>> grid((5, 4), (2, 4))
    ((2, 2, 1), (4,))
    """
    return tuple(
        (step,) * (dim // step) + ((dim % step,) if dim % step or not dim else ())
        for dim, step in zip(dims, size, strict=True)
    )


def coarser(dims: Dims, size: Dims, budget: int) -> Dims:
    """The largest block of whole chunks within the budget, the last axes made whole first.

    >>> coarser((100, 100), (10, 10), 2000), coarser((100, 100), (10, 10), 500)
    ((20, 100), (10, 50))
    """
    found = [min(dim, step) for dim, step in zip(dims, size, strict=True)]
    for axis in reversed(range(len(dims))):
        times = max(1, budget // max(1, prod(found)))
        found[axis] = min(dims[axis], found[axis] * times)
    return tuple(found)


def _is_readable(data: Dims, output: Dims, chunks: Chunks) -> bool:
    """Whether every block of output is a few boxes of data: it is contiguous within each part."""
    return all(
        is_contiguous(part.output, tuple(chunks[axis] for axis in part.output_axes)) for part in parts(data, output)
    )


def _wanted(data: Dims, output: Dims, budget: int) -> Dims:
    """The size of chunks of data that a contiguous block of output is made of: the last axes whole."""
    found = list(data)
    left = budget
    for part in reversed(parts(data, output)):
        sizes = contiguous(part.data, max(1, min(left, prod(part.data))), strides(part.output))
        for axis, chunk in zip(part.data_axes, sizes, strict=True):
            found[axis] = chunk[0]
        left //= max(1, prod(chunk[0] for chunk in sizes))
    return tuple(found)


def _between(data: Dims, stored: Dims, wanted: Dims, budget: int) -> tuple[Dims, Dims]:
    """Blocks to read first, of whole chunks, and the chunks to write them in: no larger than what is wanted then."""
    read = coarser(data, stored, budget)
    chunk: list[int] = []
    for dim, block, asked in zip(data, read, wanted, strict=True):
        size = min(block, asked)
        if block < dim:  # a block must hold whole chunks
            size = next(part for part in range(size, 0, -1) if block % part == 0)
        chunk.append(even(block, size)[0])
    return read, tuple(chunk)
