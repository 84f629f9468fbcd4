"""Zarr arrays of versions 2 and 3: opened, and created like the one that is reshaped.

What belongs to elements is kept: type, fill value, compressors, filters that lose nothing, attributes.  What belongs to
axes is not, unless the dims stay: their names, and xarray's `_ARRAY_DIMENSIONS`.  Shards are not kept: a chunk of
output is a file.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.codecs import TransposeCodec
from zarr.core.array import AsyncArray
from zarr.core.codec_pipeline import BatchedCodecPipeline
from zarr.core.sync import sync
from zarr.storage import StorePath

from onereshape.formats.refusals import cause
from onereshape.formats.stores.codecs import bounded, is_exact, most_encoded
from onereshape.formats.stores.folder_store import FolderStore
from onereshape.formats.stores.zarr_metadata import Described, read_metadata
from onereshape.ground.dtypes import DType, type_name
from onereshape.ground.errors import FormatError
from onereshape.ground.integers import Dims
from onereshape.ground.numpy_types import Array
from onereshape.ground.text import listed

AT_ONCE = 2
"""Chunks that Zarr decodes or encodes at a time for one slice."""
_OF_AXES = {"_ARRAY_DIMENSIONS"}
_KINDS = "biufcmMSUV"
_UNLIMITED = 1 << 62
_SETTLING = threading.Lock()


@dataclass(frozen=True, slots=True)
class ZarrArray:
    """An array in a folder, made of its metadata anew in each process."""

    root: str
    name: str
    metadata: str
    """As JSON: what was checked is what is used, whatever the file has become since."""
    dims: Dims
    chunk: Dims
    """The dims of a chunk, which is decoded as a whole."""
    shard: Dims
    """The dims of a shard, which is a file; without shards, those of a chunk."""
    width: int
    """Bytes of an item, also within its codecs."""
    owners: tuple[int, ...] | None
    """Of the folder, where it is written to."""

    def __getitem__(self, slices: tuple[slice, ...]) -> Array:
        with zarr.config.set({"async.concurrency": AT_ONCE}):
            return np.asarray(_made(self)[slices])

    def __setitem__(self, slices: tuple[slice, ...], block: Array) -> None:
        with zarr.config.set({"async.concurrency": AT_ONCE}):
            _made(self)[slices] = block

    @property
    def array(self) -> zarr.Array[Any]:
        """The array as an object of Zarr."""
        return _made(self)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return _made(self).dtype

    @property
    def folder(self) -> Path:
        """The folder with the array's metadata and chunks."""
        return Path(self.root, self.name)

    @property
    def witness(self) -> Path:
        """A file that is there if the array is."""
        return self.folder / ("zarr.json" if json.loads(self.metadata)["zarr_format"] == 3 else ".zarray")


@lru_cache(maxsize=8)
def _made(found: ZarrArray) -> zarr.Array[Any]:
    nbytes = prod(found.chunk) * found.width
    part = whole = _UNLIMITED
    if found.owners is None:
        count = prod(-(-one // size) for one, size in zip(found.shard, found.chunk, strict=True))
        index = 16 * count + 64
        part = max(most_encoded(nbytes), index)
        whole = most_encoded(nbytes) * count + index
    with _quietly():
        store = FolderStore(found.root, whole, part, found.owners)
        made: Any = AsyncArray.from_dict(StorePath(store, found.name), json.loads(found.metadata))
        if found.owners is None:
            pipeline = BatchedCodecPipeline.from_codecs([bounded(codec, nbytes) for codec in made.codec_pipeline])
            object.__setattr__(made, "codec_pipeline", pipeline)
        return zarr.Array(made)


def open_zarr(path: str, name: str | None = None) -> ZarrArray:
    """The array of a store in a folder of this machine; `name` chooses in a group."""
    if not Path(path).is_dir():
        why = "does not exist" if not Path(path).exists() else "is not a folder, as a Zarr store is"
        raise FormatError("unreadable", path=path, why=why)
    root = os.path.realpath(path)  # workers have folders of their own to work in
    if name is not None and ("\0" in name or any(part in {"", ".", ".."} for part in name.split("/"))):
        raise FormatError("unreadable", path=path, why=f"--array {name!r:.100} is not the name of an array within it")
    found = read_metadata(root, "", path)
    if found is None:
        why = "is not a Zarr store: neither zarr.json nor .zarray is in it"
        raise FormatError("unreadable", path=path, why=why)
    if isinstance(found, Described):
        if name is not None:
            raise FormatError("unreadable", path=path, why="is an array and no group that holds arrays by name")
        return _opened(found, root, "", path)
    why, names = "is a group and no array", found
    if name is not None:
        inner = read_metadata(root, name, path)
        if isinstance(inner, Described):
            return _opened(inner, root, name, path)
        why = f"has no array {name!r:.100}" if inner is None else f"has a group and no array {name!r:.100}"
        names = found if inner is None else [f"{name}/{one}" for one in inner]
    raise FormatError("unreadable", path=path, why=f"{why}; --array chooses one of: {listed(names) or 'none'}")


def _opened(found: Described, root: str, name: str, shown: str) -> ZarrArray:
    text = json.dumps(found.content)
    try:
        dtype = _made(ZarrArray(root, name, text, found.dims, found.chunk, found.shard, 1, owners=None)).dtype
    except Exception as error:  # noqa: BLE001 - metadata from strangers make Zarr raise nearly anything
        why = f"is not a Zarr array that can be read ({type(error).__name__}: {cause(error)})"
        raise FormatError("unreadable", path=shown, why=why) from None
    if dtype.hasobject or dtype.kind not in _KINDS:
        why = "holds Python objects or strings of variable length, which are not moved a block at a time"
        raise FormatError("unreadable", path=shown, why=why)
    width = max(found.widest, dtype.itemsize)
    return ZarrArray(root, name, text, found.dims, found.chunk, found.shard, width, owners=None)


def create_zarr(path: Path, dims: Dims, chunk: Dims, like: Any, shown: str) -> ZarrArray:
    """A new array for the elements of `like`, which is a Zarr array or has only a dtype; messages speak of `shown`."""
    known = like.array if isinstance(like, ZarrArray) else None
    options: dict[str, Any] = {"zarr_format": 3}
    if known is not None:
        same = known.shape == dims
        attributes = {name: value for name, value in known.attrs.asdict().items() if same or name not in _OF_AXES}
        options = {
            "zarr_format": known.metadata.zarr_format,
            "fill_value": known.fill_value,
            "attributes": attributes,
            "compressors": known.compressors or None,
            "filters": [one for one in known.filters if is_exact(one) and (same or not isinstance(one, TransposeCodec))]
            or None,
        }
        if known.metadata.zarr_format == 2:
            options["order"] = known.order
        else:
            options["serializer"] = known.serializer
            options["dimension_names"] = known.metadata.dimension_names if same else None
    elif like.dtype.kind == "V":  # Zarr would keep the bytes and forget what they are
        raise FormatError("unwritable", path=shown, why=f"Zarr has no name for items of type {type_name(like.dtype)}")
    path.mkdir()
    owners = os.geteuid(), path.stat().st_uid
    store = FolderStore(str(path), _UNLIMITED, _UNLIMITED, owners)
    try:
        with _quietly():  # about types that no version of Zarr specifies: the input has them already
            zarr.create_array(store, shape=dims, dtype=like.dtype, chunks=chunk or "auto", **options)
    except (ValueError, TypeError, NotImplementedError, OverflowError) as error:
        raise FormatError("unwritable", path=shown, why=f"Zarr cannot hold {like.dtype} ({cause(error)})") from None
    return open_made(path, owners)


def open_made(path: Path, owners: tuple[int, ...]) -> ZarrArray:
    """An array that we made, to be written and read."""
    found = read_metadata(str(path), "", str(path))
    assert isinstance(found, Described)  # noqa: S101 - we made it
    return ZarrArray(str(path), "", json.dumps(found.content), found.dims, found.chunk, found.shard, 1, owners)


@contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def settle() -> None:
    """Waits for the chunks that Zarr still reads or writes after one of them has failed: it does not itself.

    They would be written into a folder that is being removed, or complain when the process ends.  One thread at a time:
    two would wait for each other.
    """
    with _SETTLING, suppress(Exception):
        sync(_others())


async def _others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*others, return_exceptions=True)
