"""Blocks: slices taken from blocks of data, and put together to blocks of output.  Which slices is in `chunking`.

Blocks are NumPy arrays, or others with its functions; all of this can cross processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from onereshape.arrays.chunking import BlockPlace
from onereshape.ground.integers import Dims


@dataclass(frozen=True, slots=True)
class Take:
    """Takes slices of a block of data: for each part of the reshape its places, and every combination of those."""

    dims: Dims
    """Of the block, without axes of size 1."""
    sources: tuple[tuple[BlockPlace, ...], ...]

    def __call__(self, block: Any) -> list[Any]:
        seen = block.reshape(self.dims)
        taken = [at(seen, places) for places in product(*self.sources)]
        # A view would keep the whole block in memory.
        return [piece if 2 * piece.size > block.size else piece.copy() for piece in taken]


@dataclass(frozen=True, slots=True)
class Assemble:
    """Puts a block of output together from what was taken for it."""

    dims: Dims
    seen: Dims
    """The block as the plan sees it: an axis for each flat part."""
    destinations: tuple[tuple[tuple[BlockPlace, ...], ...], ...]
    """For each piece of data."""
    whole: tuple[Take | None, ...]
    """How to take what comes as a whole block; None where it was taken already."""

    def __call__(self, like: Any, taken: list[Any]) -> Any:
        masked = isinstance(like, np.ma.MaskedArray)
        result = np.empty_like(np.ma.getdata(like) if masked else like, shape=self.dims)
        mask = np.empty(self.dims, np.bool_) if masked else None
        for piece, places, take in zip(taken, self.destinations, self.whole, strict=True):
            found = piece if take is None else take(piece)
            for place, elements in zip(product(*places), found, strict=True):
                at(result.reshape(self.seen), place)[...] = np.ma.getdata(elements) if masked else elements
                if mask is not None:
                    at(mask.reshape(self.seen), place)[...] = np.ma.getmaskarray(elements)
        return result if mask is None else np.ma.array(result, mask=mask, fill_value=like.fill_value, copy=False)


@dataclass(frozen=True, slots=True)
class Reblock:
    """A function that gives a block other dims and leaves its elements in order: `Reblock((6,))`: (2, 3) -> (6,)."""

    dims: Dims

    def __call__(self, block: Any) -> Any:
        return block.reshape(self.dims)


def at(block: Any, places: tuple[BlockPlace, ...]) -> Any:
    """The elements at a place of each part, as a view: intervals of axes can always be split."""
    intervals = [slice(*one) for place in places for one in place.intervals]
    dims = tuple(dim for place in places for dim in place.dims)
    within = [slice(*one) for place in places for one in place.within]
    return block[*intervals, ...].reshape(dims)[*within, ...]  # the ... keeps an array where there are no axes
