"""A store reshaped into another one: opened, its passes and blocks chosen for the memory there is, and run."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from onereshape.arrays.chunking import Dims
from onereshape.dtypes import DType
from onereshape.errors import FormatError, ReshapeError
from onereshape.formats.atomic import mode_to_keep
from onereshape.stores.npy_files import open_npy
from onereshape.stores.passes import Pass, default_chunk, passes
from onereshape.stores.runners import Crew, crew
from onereshape.stores.stream import AT_ONCE, Work, run
from onereshape.stores.zarr_arrays import open_zarr, stored_chunk

_COPIES = 3
"""Of a block, in memory at a time: what is read, what is put together, what is encoded."""
_FORMS = 2
"""Of a chunk: encoded and decoded."""
_CHUNK = 1 << 24
"""Bytes of a chunk where the input has no chunks of its own."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A store to read: what it holds, and the size of its chunks."""

    store: Any
    path: str
    dims: Dims
    dtype: DType
    chunk: Dims


@dataclass(frozen=True, slots=True)
class Told:
    """What was done: the chunks of the output, passes and blocks, and how many of these an earlier run had made."""

    chunk: Dims | None
    passes: int
    blocks: int
    resumed: int


def open_store(path: str, name: str | None = None) -> Opened:
    """A Zarr array, or that of a name in a group, or a .npy file, by the end of its path."""
    if Path(path.rstrip("/")).suffix.lower() == ".zarr":
        array = open_zarr(path, name)
        if array.dtype.hasobject:
            raise FormatError(
                "unreadable", path=path, why="holds Python objects, which are not moved a block at a time"
            )
        return Opened(array, path, tuple(array.shape), array.dtype, stored_chunk(array))
    if name is not None:
        raise FormatError("unreadable", path=path, why="holds a single array, and none by name")
    try:
        file = open_npy(path)
    except OSError as error:
        raise FormatError("unreadable", path=path, why=error.strerror or str(error)) from None
    return Opened(file, path, file.dims, file.dtype, file.chunk)


def reshape_store(  # noqa: PLR0913, PLR0917
    opened: Opened,
    written: str,
    output: Dims,
    chunk: Dims | None,
    memory: int,
    scheduler: str | None,
    progress: Callable[[int, int], None],
) -> Told:
    """Writes `opened` in its new dims, and says how; `chunk` is the size of the chunks of a Zarr output."""
    is_zarr = Path(written.rstrip("/")).suffix.lower() == ".zarr"
    _check_free(written, is_zarr=is_zarr)
    who = crew(scheduler or "threads")
    try:
        found = _passes(opened, output, chunk, memory, who)
        like = opened.store if is_zarr and hasattr(opened.store, "attrs") else opened
        work = Work(opened.store, opened.path, written, opened.dims, like, tuple(found))
        resumed = run(work, who.run, progress)
    finally:
        who.close()
    return Told(found[-1].chunk if is_zarr else None, len(found), sum(one.blocks for one in found), resumed)


def _passes(opened: Opened, output: Dims, chunk: Dims | None, memory: int, who: Crew) -> list[Pass]:
    """The passes, in blocks that fit the memory."""
    itemsize = max(1, opened.dtype.itemsize)
    if who.memory is None:
        share = (memory - _resident()) // who.size - (_resident() if who.is_apart else 0)
    else:
        share = who.memory // 2
    chunks = _FORMS * AT_ONCE * prod(opened.chunk) * itemsize
    budget = (share - chunks) // _COPIES // itemsize
    if chunk is None:
        limit = prod(opened.chunk) if hasattr(opened.store, "attrs") else _CHUNK // itemsize
        chunk = default_chunk(opened.dims, opened.chunk, output, max(1, min(budget, limit)))
    if budget < max(1, prod(chunk)):
        base = _resident() * (1 + who.size if who.is_apart else 1)
        needed = base + who.size * (chunks + _COPIES * prod(chunk) * itemsize)
        why = f"{memory:,} bytes of memory are too few for chunks of {list(opened.chunk)} and {list(chunk)}"
        raise ReshapeError("bad-usage", why=f"{why}: with {who.size} at a time it takes {needed:,}")
    return passes(opened.dims, opened.chunk, output, chunk, budget)


def _check_free(written: str, *, is_zarr: bool) -> None:
    """Refuses an output that is there already: a folder is not replaced as a file can be."""
    path = Path(written.rstrip("/"))
    if is_zarr and (path.exists() or path.is_symlink()):
        raise FormatError("unwritable", path=written, why="exists already, and a store is never written over")
    if not is_zarr:
        mode_to_keep(written, path)


def _resident() -> int:
    """The bytes that this process takes already."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # not Linux: the most that it ever took
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return pages * os.sysconf("SC_PAGE_SIZE")
