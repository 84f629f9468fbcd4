"""Dask arrays: the graph of a reshape, for any dims and chunks; Dask runs it.

Each chunk of output is put together by one task from slices of chunks of data, each taken by one task, so that only the
slices are moved.  Which slices those are is in `chunking`, which chunks the output has in `chunk_choice`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate, product
from math import isnan, prod
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.array.core import normalize_chunks
from dask.array.rechunk import plan_rechunk
from dask.array.reshape import reshape_rechunk
from dask.array.utils import meta_from_array
from dask.base import tokenize
from dask.highlevelgraph import HighLevelGraph
from dask.utils import parse_bytes

from onereshape.arrays.blocks import Assemble, Reblock, Take
from onereshape.arrays.chunk_choice import ChunkPlan, chunks_before, divided, plan, plan_given
from onereshape.arrays.chunking import BlockMove, Chunks, count, largest
from onereshape.arrays.numpy_arrays import reshape_numpy
from onereshape.ground.errors import ReshapeError
from onereshape.ground.integers import Dims
from onereshape.ground.numpy_types import Array

DaskArray = Any
"""Dask's own annotations do not fit its functions."""
Check = Callable[[Array], None]


def read(data: Any) -> None:
    """Refuses what is no Dask array, and one whose dims are not known yet."""
    if not isinstance(data, da.Array):
        kind = f"{type(data).__module__.partition('.')[0]}'s {type(data).__name__}"
        raise ReshapeError("not-an-array", what="data", type=kind, wanted="an array")
    unknown = [axis for axis, sizes in enumerate(data.chunks) if any(isnan(size) for size in sizes)]
    if unknown:
        raise ReshapeError("unknown-chunks", axis=unknown[0])
    if not hasattr(type(data._meta), "__setitem__"):  # noqa: SLF001 - the only place where Dask says it
        kind = f"Dask array of {type(data._meta).__name__}"  # noqa: SLF001
        raise ReshapeError("not-an-array", what="data", type=kind, wanted="one of blocks that can be assigned to")


def reshape(  # noqa: PLR0913 - the options of Dask arrays are keywords
    data: DaskArray,
    output: Dims,
    copy: bool | None,
    check: Check | None,
    *,
    chunks: Any = None,
    limit: Any = None,
    regular: bool = False,
) -> DaskArray:
    """`data` in its new dims, lazily: chunks of output, and all blocks on the way, of at most `limit` bytes.

    `limit` is Dask's `array.chunk-size` unless it is given; `chunks` asks for chunks of output as `rechunk` does, and
    is the limit where those are larger.
    """
    if copy is False:
        allowed = "None or True on a Dask array, whose blocks are not there yet to be looked at"
        raise ReshapeError("bad-attribute", attribute="copy", value="False", allowed=allowed)
    size = _read_limit(limit, data.dtype.itemsize)
    wanted = None if chunks is None else _read_chunks(chunks, output, data, size)
    if wanted is not None:
        size = max(size, largest(wanted) * data.dtype.itemsize)
    reshape_numpy(np.broadcast_to(np.zeros((), data.dtype), (prod(output) and 1,)), _smallest(output), None)
    if check is not None and data.dtype.hasobject:
        data = data.map_blocks(_checked, check=check, dtype=data.dtype, meta=data._meta)  # noqa: SLF001
    if prod(output) == 0:
        return _empty(data, output, wanted)
    moved = _planned(data, output, max(1, size // data.dtype.itemsize), wanted, regular=regular)
    if wanted is not None and moved.chunks != wanted:
        moved = moved.rechunk(wanted, block_size_limit=size, method="tasks")
    return moved.map_blocks(np.copy, dtype=moved.dtype, meta=moved._meta) if copy else moved  # noqa: SLF001


def _planned(data: DaskArray, output: Dims, limit: int, wanted: Chunks | None, *, regular: bool) -> DaskArray:
    """The reshape by the cheapest plan: Dask's own where it is as good, else ours, after new chunks if it must be."""
    if wanted is not None:
        direct = plan_given(data.shape, data.chunks, output, wanted)
        if direct is not None and not direct.is_heavy:
            return _graph(data, output, direct)
    ours = plan(data.shape, data.chunks, output, limit, regular=regular)
    if not regular and wanted is None and (own := _own(data, output, limit, ours)) is not None:
        return own
    if ours.is_heavy:
        size = limit * data.dtype.itemsize
        small = divided(data.chunks, limit)
        before = chunks_before(small, ours, limit)
        data = data.rechunk(small, block_size_limit=size, method="tasks")
        data = data.rechunk(before, block_size_limit=size, method="tasks")
        ours = plan(data.shape, data.chunks, output, limit, regular=regular)
    return _graph(data, output, ours)


def _own(data: DaskArray, output: Dims, limit: int, ours: ChunkPlan) -> DaskArray | None:
    """Dask's own reshape, where it works within the limit and with no more pieces."""
    try:
        before, after = reshape_rechunk(data.shape, output, data.chunks)[:2]
    except (NotImplementedError, ValueError, ZeroDivisionError, IndexError):
        return None
    cuts = [{*accumulate(old)} | {*accumulate(new)} for old, new in zip(data.chunks, before, strict=True)]
    pieces = prod(len(found - {0}) for found in cuts)
    if largest(before) > limit or largest(after) > limit or any(0 in sizes for sizes in data.chunks):
        return None
    if pieces + count(after) > ours.pieces + count(ours.output):
        return None
    size = limit * data.dtype.itemsize
    if len(plan_rechunk(data.chunks, before, data.dtype.itemsize, block_size_limit=size)) > 1:
        return None  # each step would move all elements
    return data.rechunk(before, block_size_limit=size, method="tasks").reshape(output)


def _graph(data: DaskArray, output: Dims, chosen: ChunkPlan) -> DaskArray:
    """The array whose blocks are made as the plan says."""
    name = f"reshape-{tokenize(data, output, chosen.output)}"
    layer: dict[Any, Any] = {}
    meta = meta_from_array(data, len(output))
    for index, dims in _blocks(chosen.output):
        task, taken = _block(data, index, dims, chosen)
        keys = []
        for number, (take, key) in enumerate(taken):
            keys.append(key if take is None else (f"{name}-take", *index, number))
            if take is not None:
                layer[keys[-1]] = (take, key)
        layer[name, *index] = (task, keys[0]) if isinstance(task, Reblock) else (task, meta, keys)
    graph = HighLevelGraph.from_collections(name, layer, dependencies=[data])
    return da.Array(graph, name, chosen.output, meta=meta)


def _blocks(chunks: Chunks) -> Iterator[tuple[Dims, Dims]]:
    """The place of each block among the blocks, and its dims: `((2, 2), (3,))` has `((0, 0), (2, 3))` first."""
    for index in product(*(range(len(sizes)) for sizes in chunks)):
        yield index, tuple(sizes[number] for sizes, number in zip(chunks, index, strict=True))


def _block(
    data: DaskArray, index: Dims, dims: Dims, chosen: ChunkPlan
) -> tuple[Reblock | Assemble, list[tuple[Take | None, Any]]]:
    """How one block of output is made, and what is taken for it from which blocks, None where it is all of a block."""
    taken: list[tuple[Take | None, Any]] = []
    destinations, whole = [], []
    for key, size, moves in _pieces(data, index, chosen) if prod(dims) else ():
        take = Take(size, tuple(tuple(move.source for move in part) for part in moves))
        volume = prod(sum(move.volume for move in part) for part in moves)
        is_whole = volume == prod(size)
        if is_whole and volume == prod(dims):
            return Reblock(dims), [(None, key)]
        taken.append((None if is_whole else take, key))
        whole.append(take if is_whole else None)
        destinations.append(tuple(tuple(move.destination for move in part) for part in moves))
    return Assemble(dims, _seen(index, chosen), tuple(destinations), tuple(whole)), taken


def _pieces(data: DaskArray, index: Dims, chosen: ChunkPlan) -> Iterator[tuple[Any, Dims, tuple[list[BlockMove], ...]]]:
    """The key of each block of data that a block of output needs, its dims without ones, and the moves of each part."""
    ones = [next(number for number, size in enumerate(sizes) if size) for sizes in data.chunks]
    found = [part.moves.moves(tuple(index[axis] for axis in part.part.output_axes)) for part in chosen.planned]
    for numbers in product(*found):
        place = list(ones)
        for part, where in zip(chosen.planned, numbers, strict=True):
            for axis, number in zip(part.part.data_axes, where, strict=True):
                place[axis] = number
        size = tuple(data.chunks[axis][place[axis]] for part in chosen.planned for axis in part.part.data_axes)
        moves = tuple(part[where] for part, where in zip(found, numbers, strict=True))
        yield (data.name, *place), size, moves


def _seen(index: Dims, chosen: ChunkPlan) -> Dims:
    found: list[int] = []
    for part in chosen.planned:
        sizes = [part.output[n][index[axis]] for n, axis in enumerate(part.part.output_axes)]
        found.extend([prod(sizes)] if part.moves.flat else sizes)
    return tuple(found)


def _empty(data: DaskArray, output: Dims, wanted: Chunks | None) -> DaskArray:
    """An array without elements, which needs none of data."""
    chunks = tuple((dim,) for dim in output) if wanted is None else wanted
    name = f"reshape-empty-{tokenize(data, output, chunks)}"
    meta = meta_from_array(data, len(output))
    layer: dict[Any, Any] = {}
    for index, dims in _blocks(chunks):
        layer[name, *index] = (Assemble(dims, dims, (), ()), meta, [])
    return da.Array(HighLevelGraph.from_collections(name, layer), name, chunks, meta=meta)


def _smallest(output: Dims) -> Dims:
    """The smallest dims that NumPy refuses wherever it refuses `output`: as many dims, all 1 unless one is 0."""
    return output if prod(output) == 0 else (1,) * len(output)


def _read_limit(limit: Any, itemsize: int) -> int:
    """The limit in bytes."""
    given = dask.config.get("array.chunk-size") if limit is None else limit
    try:
        size = parse_bytes(given)
    except (ValueError, TypeError, AttributeError):
        size = 0
    if isinstance(given, bool) or size < itemsize:
        allowed = f"a number of bytes, such as '128MiB', that holds an element of {itemsize}"
        raise ReshapeError("bad-attribute", attribute="limit", value=repr(given), allowed=allowed)
    return size


def _read_chunks(chunks: Any, output: Dims, data: DaskArray, limit: int) -> Chunks:
    """The chunks of output that are asked for, in any of the forms that Dask takes."""
    if isinstance(chunks, dict):
        chunks = tuple(chunks.get(axis, -1) for axis in range(len(output)))
    try:
        found = normalize_chunks(chunks, shape=output, limit=limit, dtype=data.dtype)
        fits = tuple(sum(sizes) for sizes in found) == output and all(size >= 0 for sizes in found for size in sizes)
    except (ValueError, TypeError, AttributeError, ZeroDivisionError, NotImplementedError):
        fits = False
    if not fits:
        allowed = f"what Dask takes as chunks of {list(output)}"
        raise ReshapeError("bad-attribute", attribute="chunks", value=repr(chunks), allowed=allowed)
    return tuple(tuple(int(size) for size in sizes) for sizes in found)


def _checked(block: Array, check: Check) -> Array:
    check(block)
    return block
