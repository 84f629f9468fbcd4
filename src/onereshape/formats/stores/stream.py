"""A store reshaped into another one, a block at a time: passes run, resumed, and put in place at the end.

All is written in a folder beside the output.  Which blocks are done is written down there when they are on the disk, so
that the same command goes on where an interrupted one stopped, also after a power cut.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from onereshape.formats.stores.blocks import Job, Store
from onereshape.formats.stores.fingerprint import fingerprint
from onereshape.formats.stores.npy_files import create_npy, open_npy
from onereshape.formats.stores.partial_folder import Folder
from onereshape.formats.stores.passes import Pass
from onereshape.formats.stores.zarr_arrays import create_zarr, open_made
from onereshape.ground.atomic import mode_to_keep
from onereshape.ground.errors import FormatError
from onereshape.ground.integers import Dims

Runner = Callable[[Job, list[int], Callable[[int], None]], None]
"""Has blocks made by their numbers, and calls a function when one is done."""
_EVERY = 5.0
"""Seconds of work that a kill may cost: so often blocks are brought to the disk and written down."""


@dataclass(frozen=True, slots=True)
class StoreWork:
    """A reshape of a store: where from, where to, in which passes."""

    source: Store
    source_path: str
    output_path: str
    final: Path
    """The output itself, whatever links lead to it."""
    data: Dims
    like: Any
    """What the output's type and, for Zarr, its settings are taken from."""
    passes: tuple[Pass, ...]
    seen: str
    """The fingerprint of the source when it was opened."""


def run(work: StoreWork, folder: Folder, runner: Runner, progress: Callable[[int, int], None]) -> int:
    """Writes the output, and returns how many blocks an earlier run had already made.

    `progress` is told how many blocks are done, and of how many.
    """
    counts = [one.blocks for one in work.passes]
    finished = [_finished(folder.path, number, count) for number, count in enumerate(counts)]
    earlier = done = sum(map(sum, finished))
    source, path, data = work.source, work.source_path, work.data
    for number, one in enumerate(work.passes):
        sink = _sink(folder, number, work, is_known=any(finished[number]))
        todo = [block for block in range(counts[number]) if not finished[number][block]]
        if todo:
            with (folder.path / f"{number}.done").open("a", encoding="ascii") as file:
                record = Journal(file, folder.sync, work.output_path, progress, done, sum(counts))
                try:
                    runner(_job(source, path, sink, work, data, one), todo, record)
                except BaseException:
                    record.note()
                    raise
                if number < len(work.passes) - 1:  # the last ones are brought to the disk with all the rest
                    record.note()
            done = record.done
        if number == 0:
            check_unchanged(work)
        source, path, data = sink, work.output_path, one.dims
    _put_in_place(folder, _name(len(work.passes) - 1, work), work)
    return earlier


def check_unchanged(work: StoreWork) -> None:
    """Refuses an input that was written to meanwhile: the output would be of neither state."""
    try:
        same = fingerprint(work.source.folder) == work.seen
    except OSError:
        same = False
    if not same:
        raise FormatError("unreadable", path=work.source_path, why="was changed while it was read; nothing is written")


def _job(source: Store, path: str, sink: Store, work: StoreWork, data: Dims, one: Pass) -> Job:  # noqa: PLR0913, PLR0917
    witnesses = tuple((str(store.witness), store.witness.stat().st_size) for store in (source, sink))
    return Job(source, path, sink, work.output_path, data, one.dims, one.block, witnesses)


@dataclass(slots=True)
class Journal:
    """Writes down the blocks that are done and on the disk, from time to time, and tells of each."""

    file: TextIO
    sync: Callable[[], None]
    path: str
    progress: Callable[[int, int], None]
    done: int
    total: int
    pending: list[int] = field(default_factory=list)
    due: float = field(default_factory=lambda: time.monotonic() + _EVERY)

    def __call__(self, block: int) -> None:
        """A block is done."""
        self.pending.append(block)
        self.done += 1
        if time.monotonic() >= self.due:
            self.note()
        self.progress(self.done, self.total)

    def note(self) -> None:
        """Writes the numbers of the finished blocks into the journal, after their bytes are on the disk."""
        if not self.pending:
            return
        began = time.monotonic()
        try:
            self.sync()
            self.file.write("".join(f"{block}\n" for block in self.pending))
            self.file.flush()
        except OSError as error:
            raise FormatError("unwritable", path=self.path, why=error.strerror or str(error)) from None
        self.pending.clear()
        now = time.monotonic()
        self.due = now + max(_EVERY, 10 * (now - began))  # a slow disk is not asked all the time


def _put_in_place(folder: Folder, name: str, work: StoreWork) -> None:
    if work.final.suffix.lower() == ".zarr":
        if work.final.exists():
            why = "appeared while this ran, and is left as it is"
            raise FormatError("unwritable", path=work.output_path, why=why)
    else:
        mode = mode_to_keep(work.output_path, work.final)
        if mode is not None:
            (folder.path / name).chmod(mode)
    folder.put_in_place(name, work.final)


def _name(number: int, work: StoreWork) -> str:
    is_last = number == len(work.passes) - 1
    return f"{number}{work.final.suffix.lower() if is_last else '.zarr'}"


def _sink(folder: Folder, number: int, work: StoreWork, *, is_known: bool) -> Store:
    """The store that a pass writes: a new one, or that of an earlier run, if any block of it is known to be there."""
    one = work.passes[number]
    path = folder.path / _name(number, work)
    made = folder.path / f"{number}.made"
    if path.exists() and not is_known:  # perhaps interrupted while it was being made
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if path.exists():
        owners = folder.owners
        return open_npy(str(path), owners) if path.suffix == ".npy" else open_made(path, owners)
    if path.suffix == ".npy":
        sink: Store = create_npy(path, one.dims, work.like.dtype)
    else:
        sink = create_zarr(path, one.dims, one.chunk, work.like, work.output_path)
    made.touch()
    return sink


def _finished(folder: Path, number: int, count: int) -> bytearray:
    """Which blocks of a pass an earlier run made; a line that was cut off counts for nothing."""
    found = bytearray(count)
    path = folder / f"{number}.done"
    if path.exists():
        with path.open("rb") as lines:
            for line in lines:
                text = line[:-1]
                if line.endswith(b"\n") and text.isdigit() and len(text) < 19 and int(text) < count:
                    found[int(text)] = 1
    return found
