"""A store reshaped into another one, a block at a time: passes run by Dask, resumed, and put in place at the end.

All is written in a folder beside the output, which is renamed when it is complete.  Which blocks are done is written
down there, so that the same command goes on where an interrupted one stopped.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import zarr

from onereshape.arrays.blocks import at
from onereshape.arrays.chunk_choice import Plan, plan_given
from onereshape.arrays.chunking import Dims
from onereshape.errors import FormatError
from onereshape.formats.atomic import mode_to_keep
from onereshape.formats.model import cause
from onereshape.stores.npy_files import create_npy, open_npy
from onereshape.stores.passes import Pass, grid
from onereshape.stores.zarr_arrays import create_zarr, settle

Store = Any
"""A Zarr array or a .npy file: sliced to be read, assigned to to be written."""
Runner = Callable[[Callable[[int], None], list[int], Callable[[int], None]], None]
"""Calls a function of each number, and another one when that is done."""
AT_ONCE = 2
"""Chunks that Zarr decodes or encodes at a time for one slice."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one task needs to make any block of one pass; it crosses processes."""

    source: Store
    source_path: str
    sink: Store
    sink_path: str
    data: Dims
    chosen: Plan
    witnesses: tuple[tuple[str, int], ...]
    """Files with their sizes, which whoever makes a block must see."""

    def __call__(self, number: int) -> None:
        """Makes block `number`, in C order."""
        self._look()
        counts = tuple(len(sizes) for sizes in self.chosen.output)
        index = tuple(int(place) for place in np.unravel_index(number, counts)) if counts else ()
        dims = tuple(sizes[place] for sizes, place in zip(self.chosen.output, index, strict=True))
        region = tuple(
            slice(place * sizes[0], place * sizes[0] + dim)
            for sizes, place, dim in zip(self.chosen.output, index, dims, strict=True)
        )
        block = self._block(index, dims)
        try:
            with zarr.config.set({"async.concurrency": AT_ONCE}):
                self.sink[region] = block
        except OSError as error:
            settle()
            raise FormatError("unwritable", path=self.sink_path, why=error.strerror or str(error)) from None

    def _look(self) -> None:
        """Refuses to work where the files are not: Zarr would take each missing chunk for an empty one."""
        for path, size in self.witnesses:
            try:
                seen = Path(path).stat().st_size
            except OSError:
                seen = -1
            if seen != size:
                why = f"is not what it was, as seen from {platform.node()}: every worker must see the same files"
                raise FormatError("unreadable", path=path, why=why)

    def _block(self, index: Dims, dims: Dims) -> Any:
        planned = self.chosen.planned
        found = [part.moves.moves(tuple(index[axis] for axis in part.part.output_axes)) for part in planned]
        moves = [next(iter(part.values())) for part in found]  # all of data counts as one chunk
        seen = [prod(dims[axis] for axis in part.part.output_axes) for part in planned]
        result = None
        for chosen in product(*moves):
            slices = [slice(0, 1)] * len(self.data)
            for part, move in zip(planned, chosen, strict=True):
                for axis, one in zip(part.part.data_axes, move.source.within, strict=True):
                    slices[axis] = slice(*one)
            piece = self._read(tuple(slices))
            if piece.size == prod(dims):
                return piece.reshape(dims)
            if result is None:
                result = np.empty(dims, piece.dtype)
            place = at(result.reshape(seen), tuple(move.destination for move in chosen))
            place[...] = piece.reshape(place.shape)
        return result

    def _read(self, slices: tuple[slice, ...]) -> Any:
        try:
            with zarr.config.set({"async.concurrency": AT_ONCE}):
                return np.asarray(self.source[slices])
        except Exception as error:  # noqa: BLE001 - a damaged chunk makes its codec raise nearly anything
            settle()
            why = f"cannot be read at {[f'{one.start}:{one.stop}' for one in slices]} ({cause(error)})"
            raise FormatError("unreadable", path=self.source_path, why=why) from None


@dataclass(frozen=True, slots=True)
class Work:
    """A reshape of a store: where from, where to, in which passes."""

    source: Store
    source_path: str
    output_path: str
    data: Dims
    like: Any
    """What the output's type and, for Zarr, its settings are taken from."""
    passes: tuple[Pass, ...]


def run(work: Work, runner: Runner, progress: Callable[[int, int], None]) -> int:
    """Writes the output, and returns how many blocks an earlier run had already made.

    `progress` is told how many blocks are done, and of how many.
    """
    final = Path(os.path.realpath(work.output_path))
    counts = [one.blocks for one in work.passes]
    with _beside(final, work) as folder:
        finished = _finished(folder, counts)
        done = sum(map(len, finished))
        source, path, data = work.source, work.source_path, work.data
        for number, one in enumerate(work.passes):
            sink = _sink(folder, number, work)
            if counts[number]:
                todo = [block for block in range(counts[number]) if block not in finished[number]]
                with (folder / f"{number}.done").open("a", encoding="ascii") as record:
                    told = _Record(record, progress, done, sum(counts))
                    job = _job(source, path, sink, work, data, one)
                    runner(job, todo, told)
                    done = told.done
            source, path, data = sink, work.output_path, one.dims
        _put_in_place(folder / _name(len(work.passes) - 1, work), final)
    return sum(map(len, finished))


def _job(source: Store, path: str, sink: Store, work: Work, data: Dims, one: Pass) -> Job:  # noqa: PLR0913, PLR0917
    chosen = plan_given(data, tuple((dim,) for dim in data), one.dims, grid(one.dims, one.block))
    assert chosen is not None  # noqa: S101 - passes are chosen so
    witnesses = tuple((str(file), file.stat().st_size) for file in (_witness(source), _witness(sink)))
    return Job(source, path, sink, work.output_path, data, chosen, witnesses)


def _witness(store: Store) -> Path:
    """A file that is there if the store is."""
    if not isinstance(store, zarr.Array):
        return Path(store.path)
    local: Any = store.store
    root = Path(local.root) / store.path
    return root / ("zarr.json" if store.metadata.zarr_format == 3 else ".zarray")


@dataclass(slots=True)
class _Record:
    """Writes down each block that is done, and tells of it."""

    file: TextIO
    progress: Callable[[int, int], None]
    done: int
    total: int

    def __call__(self, block: int) -> None:
        self.file.write(f"{block}\n")
        self.file.flush()
        self.done += 1
        self.progress(self.done, self.total)


def _put_in_place(made: Path, final: Path) -> None:
    if final.suffix == ".zarr" and final.exists():
        raise FormatError("unwritable", path=str(final), why="appeared while this ran, and is left as it is")
    mode = None if final.suffix == ".zarr" else mode_to_keep(str(final), final)
    if mode is not None:
        made.chmod(mode)
    made.replace(final)


def _name(number: int, work: Work) -> str:
    is_last = number == len(work.passes) - 1
    return f"{number}{Path(work.output_path).suffix.lower() if is_last else '.zarr'}"


def _sink(folder: Path, number: int, work: Work) -> Store:
    """The store that a pass writes: a new one, or that of an earlier run."""
    one = work.passes[number]
    path = folder / _name(number, work)
    made = folder / f"{number}.made"
    if path.exists() and not made.exists():  # interrupted while it was being made
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if path.suffix == ".npy":
        if path.exists():
            return open_npy(str(path))
        sink: Store = create_npy(path, one.dims, work.like.dtype)
    elif path.exists():
        return zarr.open_array(path, mode="r+")
    else:
        sink = create_zarr(path, one.dims, one.chunk, work.like, work.output_path)
    made.touch()
    return sink


def _finished(folder: Path, counts: list[int]) -> list[set[int]]:
    """The blocks of each pass that an earlier run made; a line that was cut off counts for nothing."""
    found: list[set[int]] = []
    for number, count in enumerate(counts):
        path = folder / f"{number}.done"
        lines = path.read_text(encoding="ascii").split("\n")[:-1] if path.exists() else []
        found.append({int(line) for line in lines if line.isdigit() and int(line) < count})
    return found


@contextmanager
def _beside(final: Path, work: Work) -> Iterator[Path]:
    """The folder to write in; it goes when the work ends or fails, and stays when it is interrupted."""
    shapes = [[one.dims, one.chunk, one.block] for one in work.passes]
    name = getattr(work.source, "path", "")  # of an array within a group
    identity = json.dumps([final.name, fingerprint(work.source_path), name, shapes])
    folder = final.with_name(f".onereshape-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.partial")
    try:
        folder.mkdir(exist_ok=True)
        with (folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FormatError("unwritable", path=work.output_path, why="another run is writing it") from None
            try:
                yield folder
            except Exception:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        why = "its folder does not exist" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        raise FormatError("unwritable", path=work.output_path, why=why) from None


def fingerprint(path: str) -> list[Any]:
    """What changes when a file or a store is written to: names are not enough to go on with an earlier run."""
    root = Path(os.path.realpath(path))
    number = size = newest = 0
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(OSError):
                status = (Path(folder) / name).stat()
                number, size, newest = number + 1, size + status.st_size, max(newest, status.st_mtime_ns)
    if root.is_file():
        status = root.stat()
        number, size, newest = 1, status.st_size, status.st_mtime_ns
    return [str(root), number, size, newest]
