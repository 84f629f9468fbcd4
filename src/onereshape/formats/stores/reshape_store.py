"""A store reshaped into another one: opened, its passes and blocks chosen for the memory there is, and run."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

from onereshape.formats.stores import partial_folder
from onereshape.formats.stores.blocks import Store
from onereshape.formats.stores.fingerprint import fingerprint
from onereshape.formats.stores.npy_files import open_npy
from onereshape.formats.stores.partial_folder import InterruptedRunError
from onereshape.formats.stores.passes import Pass, default_chunk, passes
from onereshape.formats.stores.runners import Crew, crew
from onereshape.formats.stores.stream import StoreWork, run
from onereshape.formats.stores.zarr_arrays import AT_ONCE, ZarrArray, open_zarr
from onereshape.ground.atomic import followed, mode_to_keep
from onereshape.ground.dtypes import DType
from onereshape.ground.errors import FormatError, ReshapeError
from onereshape.ground.integers import Dims

_COPIES = 3
"""Of a block, in memory at a time: what is read, what is put together, what is encoded."""
_FORMS = 2
"""Of a chunk: encoded and decoded."""
_CHUNK = 1 << 24
"""Bytes of a chunk where the input has no chunks of its own."""
_HANDLING = 1 << 12
"""Bytes that Zarr takes for each chunk of a slice, whatever is in it."""
_MOST_BLOCKS = 10**7
_VERSION = 1
"""Of what is written into the folder of a run: another one is not understood."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A store to read: what it holds, and the size of its chunks."""

    store: Store
    path: str
    dims: Dims
    dtype: DType
    chunk: Dims
    width: int
    """Bytes of an item, also within its codecs."""
    seen: str
    """The fingerprint of the store's files."""


@dataclass(frozen=True, slots=True)
class StoreSummary:
    """A reshape that is done: the chunks of the output, the passes, the blocks, how many blocks an earlier run made."""

    chunk: Dims | None
    passes: int
    blocks: int
    resumed: int
    note: str | None
    """A sentence on an earlier run, where there is more to say."""


def open_store(path: str, name: str | None = None) -> Opened:
    """A Zarr array, or that of a name in a group, or a .npy file, by the end of its path."""
    try:
        store = _open(path, name)
        seen = fingerprint(store.folder)
        if _open(path, name) != store:
            raise FormatError("unreadable", path=path, why="is being changed")
    except OSError as error:
        raise FormatError("unreadable", path=path, why=error.strerror or str(error)) from None
    return Opened(store, path, store.dims, store.dtype, store.chunk, store.width, seen)


def _open(path: str, name: str | None) -> Store:
    if Path(path.rstrip("/")).suffix.lower() == ".zarr":
        return open_zarr(path, name)
    if name is not None:
        raise FormatError("unreadable", path=path, why="holds a single array, and none by name")
    return open_npy(path)


def reshape_store(  # noqa: PLR0913, PLR0917
    opened: Opened,
    written: str,
    output: Dims,
    chunk: Dims | None,
    memory: int,
    scheduler: str | None,
    progress: Callable[[int, int], None],
) -> StoreSummary:
    """Writes `opened` in its new dims, and says how; `chunk` is the size of the chunks of a Zarr output."""
    final = followed(written)
    is_zarr = final.suffix.lower() == ".zarr"
    _check_free(written, final, is_zarr=is_zarr)
    identity = [_VERSION, final.name, str(opened.store.folder), opened.seen, opened.dims, output, chunk]
    who = crew(scheduler or "threads")
    try:
        with partial_folder.beside(final, identity, written) as folder:
            earlier = _planned(folder.plan)
            at_once = _at_once(opened, earlier, memory, who) if earlier else 0
            found = earlier if at_once else _passes(opened, output, chunk, memory, who)
            lost = bool(earlier) and found != earlier
            folder.begin(identity, [[list(sizes) for sizes in (one.dims, one.chunk, one.block)] for one in found])
            like = opened.store if is_zarr and isinstance(opened.store, ZarrArray) else opened
            work = StoreWork(opened.store, opened.path, written, final, opened.dims, like, tuple(found), opened.seen)
            size = at_once or who.size
            resumed = run(work, folder, partial(who.run, size, folder.lock), progress)
    except InterruptedRunError as error:
        raise ReshapeError("bad-usage", why=f"{error}; the same command goes on where this one stopped") from None
    finally:
        who.close()
    note = "an earlier run, planned for more memory, was not gone on with" if lost else None
    return StoreSummary(
        found[-1].chunk if is_zarr else None, len(found), sum(one.blocks for one in found), resumed, note
    )


def _planned(plan: Any) -> list[Pass]:
    """The passes that an earlier run has written down."""
    return [Pass(*(tuple(map(int, sizes)) for sizes in one)) for one in plan or []]


def _budget(opened: Opened, memory: int, who: Crew, at_once: int) -> int:
    """How many elements a block may have, where so many are made at a time."""
    if who.memory is None:
        share = (memory - _resident()) // at_once - (_resident() if who.is_apart else 0)
    else:
        share = who.memory // 2
    return (share - _for_chunks(opened)) // _for_element(opened)


def _for_chunks(opened: Opened) -> int:
    return _FORMS * AT_ONCE * prod(opened.chunk) * max(1, opened.width)


def _for_element(opened: Opened) -> int:
    return _COPIES * max(1, opened.width) + _HANDLING // max(1, prod(opened.chunk))


def _at_once(opened: Opened, found: list[Pass], memory: int, who: Crew) -> int:
    """How many blocks of an earlier plan fit the memory of now; 0 if none does."""
    largest = max(prod(one.block) for one in found)
    sizes = range(who.size, 0, -1) if who.memory is None else [who.size]
    return next((size for size in sizes if largest <= max(1, _budget(opened, memory, who, size))), 0)


def _passes(opened: Opened, output: Dims, chunk: Dims | None, memory: int, who: Crew) -> list[Pass]:
    """The passes, in blocks that fit the memory, with some to spare: a run that goes on may find a little less."""
    budget = _budget(opened, memory, who, who.size)
    spared = budget - budget // 8
    least = 1 + prod(output) // _MOST_BLOCKS
    if chunk is None and budget >= least:
        limit = prod(opened.chunk) if isinstance(opened.store, ZarrArray) else _CHUNK // max(1, opened.dtype.itemsize)
        chunk = default_chunk(opened.dims, opened.chunk, output, max(least, min(spared, limit)))
    if chunk is None or budget < max(1, prod(chunk)):
        chunk = chunk or (least,)
        base = _resident() * (1 + who.size if who.is_apart else 1)
        needed = base + who.size * (_for_chunks(opened) + _for_element(opened) * max(1, prod(chunk)))
        why = f"{memory:,} bytes of memory are too few for chunks of {list(opened.chunk)} and {list(chunk)}"
        raise ReshapeError("bad-usage", why=f"{why}: with {who.size} at a time it takes {needed:,}")
    counts = [-(-dim // size) for dim, size in zip(output, chunk, strict=True)]
    if sum(counts) > _MOST_BLOCKS:
        raise ReshapeError("bad-usage", why=f"chunks of {list(chunk)} are too many for an output of {list(output)}")
    found = passes(opened.dims, opened.chunk, output, chunk, max(spared, prod(chunk)))
    if sum(one.blocks for one in found) > _MOST_BLOCKS:
        why = f"it takes more than {_MOST_BLOCKS:,} blocks: more memory makes them larger, and fewer"
        raise ReshapeError("bad-usage", why=why)
    return found


def _check_free(written: str, final: Path, *, is_zarr: bool) -> None:
    """Refuses an output that is there already: a folder is not replaced as a file can be."""
    path = Path(written.rstrip("/"))
    if is_zarr and (path.exists() or path.is_symlink()):
        partial_folder.sweep(final)
        raise FormatError("unwritable", path=written, why="exists already, and a store is never written over")
    if not is_zarr:
        mode_to_keep(written, path)


def _resident() -> int:
    """The bytes of memory that the process has now."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:  # not Linux: the most that it ever took
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return pages * os.sysconf("SC_PAGE_SIZE")
