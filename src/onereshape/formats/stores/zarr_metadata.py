"""The metadata of a Zarr array from a stranger: read once, by us, and every number and codec in them checked."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from onereshape.formats.stores import beneath, codecs
from onereshape.ground.errors import FormatError
from onereshape.ground.integers import Dims

_LONGEST = 1 << 23
"""Bytes of a metadata file."""
_MOST_AXES = 32
_MOST_CHUNKS = 10**9
_MOST_ALONG = 1 << 22
"""Chunks along the axes, all added: what is planned with."""
_MOST_IN_SHARD = 1 << 20
_TOO_LARGE = 1 << 62
_OBJECTS = {"|O", "O", "string", "bytes", "variable_length_bytes", "variable_length_utf8"}


@dataclass(frozen=True, slots=True)
class Described:
    """An array as its metadata announce it, checked."""

    content: dict[str, Any]
    dims: Dims
    chunk: Dims
    """The dims of what is decoded at a time: a chunk, also within a shard."""
    shard: Dims
    """The dims of what is a file: a shard, or the chunk itself where there are no shards."""
    widest: int
    """Bytes of an item at its widest: a codec may widen items."""


def read_metadata(root: str, name: str, shown: str) -> Described | list[str] | None:
    """The metadata of the array of a name in a store, or the names of the arrays in the group that it is, or None."""
    folder = f"{name}/" if name else ""
    newer = _read(root, f"{folder}zarr.json", shown)
    if newer is not None:
        if newer.get("node_type") == "group":
            return _names(root, name)
        return _described(newer, 3, shown)
    older = _read(root, f"{folder}.zarray", shown)
    if older is not None:
        return _described(older | {"attributes": _read(root, f"{folder}.zattrs", shown) or {}}, 2, shown)
    if _read(root, f"{folder}.zgroup", shown) is not None:
        return _names(root, name)
    return None


def _names(root: str, name: str) -> list[str]:
    """Of folders that look like arrays; what they hold is not looked at."""
    with os.scandir(Path(root, name)) as entries:
        folders = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    found = [one for one in folders[:1000] if any(Path(root, name, one, file).is_file() for file in _FILES)]
    return [one for one in found if _is_array(root, f"{name}/{one}" if name else one)]


_FILES = ("zarr.json", ".zarray")


def _is_array(root: str, name: str) -> bool:
    try:
        newer = _read(root, f"{name}/zarr.json", root)
    except FormatError:
        return True  # whoever reads it will say why
    return newer is None or newer.get("node_type") != "group"


def _read(root: str, key: str, shown: str) -> dict[str, Any] | None:
    try:
        text = beneath.read(root, key, 0, None, _LONGEST)
    except OSError as error:
        raise FormatError("unreadable", path=shown, why=str(error)) from None
    if text is None:
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):  # also a number of more digits than Python reads
        raise FormatError("unreadable", path=shown, why=f"{key!r:.100} in it is not JSON that can be read") from None
    if not isinstance(found, dict):
        raise FormatError("unreadable", path=shown, why=f"{key!r:.100} in it is not a JSON object")
    return found


def _described(content: dict[str, Any], version: int, shown: str) -> Described:
    try:
        found = _described_v3(content) if version == 3 else _described_v2(content)
    except (KeyError, TypeError, AttributeError):
        found = "is not a Zarr array that can be read: its metadata lack something, or have it of another kind"
    if not isinstance(content.get("attributes", {}), dict):
        found = "has attributes that are not a JSON object"
    if isinstance(found, Described):
        found = _why_not(found) or found
    if isinstance(found, str):
        raise FormatError("unreadable", path=shown, why=found)
    return found


def _described_v2(content: dict[str, Any]) -> Described | str:
    if content["dtype"] in _OBJECTS:
        return _NO_OBJECTS
    used = [*(content.get("filters") or []), *([content["compressor"]] if content.get("compressor") else [])]
    wide = _widest([(one["id"], one) for one in used])
    dims, chunk = _sizes(content["shape"]), _sizes(content["chunks"])
    return wide if isinstance(wide, str) else Described(content, dims, chunk, chunk, wide)


def _described_v3(content: dict[str, Any]) -> Described | str:
    if content["data_type"] in _OBJECTS:
        return _NO_OBJECTS
    grid = content["chunk_grid"]
    if grid["name"] != "regular":
        return f"has chunks on a grid that is not read: {grid['name']!r:.60}"
    chunk = shard = _sizes(grid["configuration"]["chunk_shape"])
    used = [_named(one) for one in content["codecs"]]
    sharding = [options for name, options in used if name == "sharding_indexed"]
    if sharding:
        if len(used) > 1:
            return "has codecs around its shards, which are not read"
        if any(_named(one)[0] not in {"bytes", "crc32c"} for one in sharding[0].get("index_codecs", [])):
            return "has codecs for the index of its shards that are not read"
        chunk = _sizes(sharding[0]["chunk_shape"])
        used = [_named(one) for one in sharding[0]["codecs"]]
    wide = _widest(used)
    return wide if isinstance(wide, str) else Described(content, _sizes(content["shape"]), chunk, shard, wide)


def _named(codec: Any) -> tuple[Any, Any]:
    return (codec, {}) if isinstance(codec, str) else (codec["name"], codec.get("configuration") or {})


def _sizes(given: Any) -> Dims:
    if not isinstance(given, list) or any(type(size) is not int for size in given):
        raise TypeError
    return tuple(given)


def _widest(used: list[tuple[Any, Any]]) -> int | str:
    found = [codecs.widest(str(name), options) for name, options in used]
    refused = next((one for one in found if isinstance(one, str)), None)
    return refused or max((one for one in found if isinstance(one, int)), default=1)


_NO_OBJECTS = "holds Python objects or strings of variable length, which are not moved a block at a time"


def _why_not(found: Described) -> str | None:
    """Why numbers cannot be: the sizes of arrays that exist are far smaller."""
    rank = len(found.dims)
    if {rank} != {len(found.chunk), len(found.shard)} or rank > _MOST_AXES:
        return f"has {rank} axes, and chunks of {len(found.chunk)}; no more than {_MOST_AXES} are read"
    if any(not 0 <= dim < _TOO_LARGE for dim in found.dims):
        return "has a dim that is negative, or larger than any file"
    if any(not 1 <= size < _TOO_LARGE for size in (*found.chunk, *found.shard)):
        return "has chunks of a size that is not positive, or larger than any file"
    counts = [-(-dim // size) for dim, size in zip(found.dims, found.chunk, strict=True)]
    if prod(counts) > _MOST_CHUNKS or sum(counts) > _MOST_ALONG:
        return f"has {prod(counts):,} chunks, too many to be planned for"
    if prod(-(-one // size) for one, size in zip(found.shard, found.chunk, strict=True)) > _MOST_IN_SHARD:
        return f"has more than {_MOST_IN_SHARD:,} chunks in a shard"
    return None
