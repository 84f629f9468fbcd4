"""Zarr arrays of versions 2 and 3: opened, and created like the one that is reshaped.

What belongs to elements is kept: type, fill value, compressors, filters, attributes.  What belongs to axes is not,
unless the dims stay: their names, and xarray's `_ARRAY_DIMENSIONS`.  Shards are not kept: a chunk of output is a file.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import zarr
from zarr.codecs import TransposeCodec
from zarr.core.sync import sync

from onereshape.arrays.chunking import Dims
from onereshape.dtypes import type_name
from onereshape.errors import FormatError
from onereshape.formats.model import cause
from onereshape.text import listed

_OF_AXES = {"_ARRAY_DIMENSIONS"}


def open_zarr(path: str, name: str | None = None) -> zarr.Array[Any]:
    """The array of a store in a folder of this machine; `name` chooses in a group."""
    if not Path(path).is_dir():
        why = "does not exist" if not Path(path).exists() else "is not a folder, as a Zarr store is"
        raise FormatError("unreadable", path=path, why=why)
    try:
        # Absolute: workers have folders of their own to work in.  A Path: a text with :: would be taken for an address.
        found = zarr.open(Path(os.path.realpath(path)), mode="r")
    except Exception as error:  # noqa: BLE001 - metadata from strangers makes Zarr raise nearly anything
        raise FormatError("unreadable", path=path, why=_why(error)) from None
    if isinstance(found, zarr.Array):
        if name is not None:
            raise FormatError("unreadable", path=path, why="is an array and no group that holds arrays by name")
        return _checked(found, path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about members that are neither arrays nor groups, by their names
        names = [key for key, _ in found.arrays()]
    if name in names:
        chosen = found[name]
        assert isinstance(chosen, zarr.Array)  # noqa: S101 - it is among the arrays
        return _checked(chosen, path)
    why = "is a group and no array" if name is None else f"has no array {name!r}"
    raise FormatError("unreadable", path=path, why=f"{why}; --array chooses one of: {listed(sorted(names)) or 'none'}")


def _checked(found: zarr.Array[Any], path: str) -> zarr.Array[Any]:
    """The array, if its attributes are what attributes are: Zarr does not look."""
    if not isinstance(found.metadata.attributes, dict):
        raise FormatError("unreadable", path=path, why="is a Zarr array whose attributes are no object")
    return found


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "is not a Zarr store: neither zarr.json nor .zarray is in it"
    return f"is not a Zarr array that can be read ({type(error).__name__}: {cause(error)})"


def create_zarr(path: Path, dims: Dims, chunk: Dims, like: Any, shown: str) -> zarr.Array[Any]:
    """A new array for the elements of `like`, which is a Zarr array or has only a dtype; messages speak of `shown`."""
    known = like if isinstance(like, zarr.Array) else None
    options: dict[str, Any] = {"zarr_format": 3}
    if known is not None:
        same = known.shape == dims
        attributes = {name: value for name, value in known.attrs.asdict().items() if same or name not in _OF_AXES}
        options = {
            "zarr_format": known.metadata.zarr_format,
            "fill_value": known.fill_value,
            "attributes": attributes,
            "compressors": known.compressors or None,
            "filters": [one for one in known.filters if same or not isinstance(one, TransposeCodec)] or None,
        }
        if known.metadata.zarr_format == 2:
            options["order"] = known.order
        else:
            options["serializer"] = known.serializer
            options["dimension_names"] = known.metadata.dimension_names if same else None
    elif like.dtype.kind == "V":  # Zarr would keep the bytes and forget what they are
        raise FormatError("unwritable", path=shown, why=f"Zarr has no name for items of type {type_name(like.dtype)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about types that no version of Zarr specifies: the input has them already
            return zarr.create_array(path, shape=dims, dtype=like.dtype, chunks=chunk or "auto", **options)
    except (ValueError, TypeError, NotImplementedError) as error:
        raise FormatError("unwritable", path=shown, why=f"Zarr cannot hold {like.dtype} ({error})") from None


def stored_chunk(array: zarr.Array[Any]) -> Dims:
    """The size of what is decoded at a time: in a shard each of its chunks can be."""
    return tuple(array.chunks)


def settle() -> None:
    """Waits for the chunks that Zarr still reads or writes after one of them has failed: it does not itself.

    They would be written into a folder that is being removed, or complain when the process ends.
    """
    with suppress(Exception):
        sync(_others())


async def _others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
