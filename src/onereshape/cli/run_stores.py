"""`onereshape run` on stores that may outgrow memory: Zarr, and .npy files as memory maps."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from onereshape.arrays.operator import Reshape
from onereshape.cli.limit_options import read_memory
from onereshape.cli.spec_options import read_element_type
from onereshape.cli.typed import read_shape
from onereshape.formats.tensors.npy import read_header
from onereshape.formats.tensors.tensor import Tensor
from onereshape.formats.tensors.tensor_files import typed
from onereshape.ground.dtypes import DType, type_name
from onereshape.ground.errors import FormatError, ReshapeError
from onereshape.ground.numpy_types import Array
from onereshape.ground.temporary import HOLDS as _HAS_LOCKS
from onereshape.rule.specs import Spec

_SUFFIXES = {".npy", ".zarr"}
_OPTIONS = {"chunks": "--chunks", "memory": "--memory", "scheduler": "--scheduler"}
_DEFAULT_MEMORY = 2 * 10**9
_LARGE = 1 << 28
"""Bytes of a file in Fortran order from which on it is not read as a whole."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that only stores have."""
    parser.add_argument(
        "--chunks", metavar="SIZES", help="of a .zarr: the chunks of OUT, such as 100,-1 (-1: the axis)"
    )
    parser.add_argument(
        "--memory", metavar="SIZE", help="of .zarr and .npy: the most to use, such as 2GB (the default)"
    )
    parser.add_argument(
        "--scheduler",
        metavar="WHO",
        help="of .zarr and .npy: threads (the default), processes, or the address of a Dask scheduler, tcp://HOST:PORT",
    )


def is_streamed(args: argparse.Namespace) -> bool:
    """Whether a command is about stores, or asks for what only they have."""
    paths = [args.input, *([args.output] if args.output is not None else [])]
    suffixes = {_suffix(path) for path in paths}
    asked = _asked(args)
    if ".zarr" not in suffixes and not asked:
        return suffixes == {".npy"} and _is_large_fortran(args.input)
    if suffixes <= _SUFFIXES:
        return True
    what = asked[0] if asked else "a .zarr"
    other = next(path for path in paths if _suffix(path) not in _SUFFIXES)
    raise ReshapeError(
        "bad-usage", why=f"{what}: only .zarr and .npy are reshaped a block at a time, and {other} is neither"
    )


def refuse_options(args: argparse.Namespace, why: str) -> None:
    """Refuses the options that only stores have."""
    for option in _asked(args):
        raise ReshapeError("bad-usage", why=f"{option}: {why}")


def _asked(args: argparse.Namespace) -> list[str]:
    return [option for name, option in _OPTIONS.items() if getattr(args, name) is not None]


def answer(
    args: argparse.Namespace, row: Spec, operator: Reshape, known: Callable[[Array, Spec, str], Array]
) -> tuple[list[str], dict[str, Any]]:
    """The answer for people and the answer for machines; writes the output where one is asked for."""
    stores = _stores()
    opened = stores.open_store(args.input, args.array)
    items = typed(Tensor(np.empty(0, opened.dtype)), read_element_type(args.dtype), args.input).array
    output = operator.output_dims(_Described(opened.dims, known(items, row, args.input).dtype))
    chunks = _read_chunks(args.chunks, output, args.output)
    memory = read_memory(args.memory)
    memory = _DEFAULT_MEMORY if memory is None else memory
    name = type_name(items.dtype)
    lines = [f"{args.input}: {name} {list(opened.dims)} -> {list(output)}"]
    machine: dict[str, Any] = {
        "input": args.input,
        "array": args.array,
        "dtype": name,
        "data": list(opened.dims),
        "output": list(output),
        "spec": row.name,
        "written": args.output,
    }
    if args.output is None:
        return lines, machine
    with _progress(seen=not args.quiet) as progress:
        try:
            told = stores.reshape_store(opened, args.output, output, chunks, memory, args.scheduler, progress)
        except KeyboardInterrupt:
            if sys.stderr is not None:
                print("onereshape: interrupted; the same command goes on where this one stopped", file=sys.stderr)
            raise
    machine |= {"chunks": told.chunk and list(told.chunk), "passes": told.passes, "resumed": told.resumed}
    written = f"written to {args.output}"
    if told.chunk is not None:
        written += f" in chunks of {list(told.chunk)}"
    if told.note is not None:
        written += f"; {told.note}"
    if told.resumed:
        written += f"; {told.resumed} of {told.blocks} blocks were there from an earlier run"
    return [*lines, written], machine


@dataclass(frozen=True, slots=True)
class _Described:
    """What an operator asks of data whose elements it does not move."""

    shape: tuple[int, ...]
    dtype: DType


def _stores() -> Any:
    if not _HAS_LOCKS:
        raise ReshapeError("bad-usage", why="arrays beyond memory need Linux or macOS: they rest on locks of files")
    try:
        return import_module("onereshape.formats.stores.reshape_store")
    except ImportError as error:
        why = f"arrays beyond memory need {error.name}, which is not installed: pip install 'onereshape[dask]'"
        raise ReshapeError("bad-usage", why=why) from None


def _suffix(path: str) -> str:
    return Path(path.rstrip("/")).suffix.lower()


def _is_large_fortran(path: str) -> bool:
    """Whether reading a .npy file in C order would take a copy of it, and that copy much memory."""
    try:
        if not Path(path).is_file():  # a pipe would be waited for
            return False
        with Path(path).open("rb") as file:
            header = read_header(file, path)
    except (OSError, ValueError, FormatError):
        return False  # whoever reads it will say why
    return header.fortran_order and header.nbytes >= _LARGE


def _read_chunks(text: str | None, output: tuple[int, ...], path: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    if path is not None and _suffix(path) != ".zarr":
        raise ReshapeError("bad-usage", why=f"--chunks: {path} has none; only a .zarr has")
    sizes = read_shape(text, "chunks")
    if len(sizes) != len(output) or any(size < 1 and size != -1 for size in sizes):
        why = f"--chunks {text}: it takes a positive size, or -1 for all, for each axis of {list(output)}"
        raise ReshapeError("bad-usage", why=why)
    return tuple(max(1, dim) if size == -1 else min(size, max(1, dim)) for size, dim in zip(sizes, output, strict=True))


@contextmanager
def _progress(*, seen: bool) -> Iterator[Callable[[int, int], None]]:
    """Where to tell how many blocks are done: a bar on a terminal, and nowhere else."""
    if not seen or sys.stderr is None or not sys.stderr.isatty() or find_spec("rich") is None:
        yield lambda _done, _total: None
        return
    progress = import_module("rich.progress")
    console = import_module("rich.console").Console(stderr=True)
    columns = [progress.BarColumn(), progress.MofNCompleteColumn(), progress.TextColumn("blocks")]
    with progress.Progress(*columns, progress.TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
