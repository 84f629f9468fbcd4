"""NumPy's .npz files: a zip archive with a .npy file for each array."""

from __future__ import annotations

import errno
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

import numpy as np

from onereshape.formats.tensors import npy
from onereshape.formats.tensors.tensor import Tensor
from onereshape.ground.errors import FormatError
from onereshape.ground.memory import available
from onereshape.ground.text import listed

_SUFFIX = ".npy"
_UNNAMED = "arr_0"
"""What `np.savez` calls an array that is given no name."""
_LONGEST_NAME = 65535
"""Bytes; zip counts them in two."""
_CHUNK = 1 << 24


def read(path: str, array: str | None) -> Tensor:
    """The array named `array` in an archive, or the only one there."""
    with _opened(path) as (archive, members):
        name = _choose(list(members), array, path)
        return _read_member(archive, archive.getinfo(members[name]), name, path)


def read_all(path: str) -> dict[str, Tensor]:
    """All arrays of an archive, by name."""
    with _opened(path) as (archive, members):
        return {name: _read_member(archive, archive.getinfo(member), name, path) for name, member in members.items()}


@contextmanager
def _opened(path: str) -> Iterator[tuple[zipfile.ZipFile, dict[str, str]]]:
    """An archive and its members by the names of their arrays; a FormatError for whatever a damaged one raises."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield (
                archive,
                {name.removesuffix(_SUFFIX): name for name in archive.namelist() if name.endswith(_SUFFIX)},
            )
    except FormatError:
        raise
    except OSError as error:
        if error.errno != errno.EINVAL:  # what seeking to a place before the start gives
            raise
        raise FormatError("unreadable", path=path, why="is not a sound zip archive (Bad offset)") from None
    except zipfile.BadZipFile as error:
        raise FormatError("unreadable", path=path, why=f"is not a sound zip archive ({error})") from None
    except MemoryError:
        raise FormatError("unreadable", path=path, why="its array does not fit into memory") from None
    except Exception as error:  # noqa: BLE001 - a damaged archive makes zipfile and its decompressors raise nearly anything
        why = f"cannot be unpacked ({str(error) or type(error).__name__})"
        raise FormatError("unreadable", path=path, why=why) from None


def write(file: IO[bytes], tensor: Tensor, path: str) -> None:
    """An archive of one array, stored without compression as `np.savez` does."""
    write_all(file, [tensor], path)


def write_all(file: IO[bytes], tensors: Iterable[Tensor], path: str) -> None:
    """An archive of several arrays, each by its name."""
    with zipfile.ZipFile(file, "w") as archive:
        for tensor in tensors:
            with archive.open(_member(tensor, path), "w", force_zip64=True) as stream:
                npy.write(stream, tensor, path)


def _member(tensor: Tensor, path: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo((tensor.name or _UNNAMED) + _SUFFIX)
    cut = member.filename.removesuffix(_SUFFIX) not in {tensor.name, _UNNAMED}  # zip cuts names off at a NUL
    if cut or len(member.filename.encode(errors="surrogatepass")) > _LONGEST_NAME:
        raise FormatError("unwritable", path=path, why=f"an archive cannot hold the name {tensor.name[:80]!a}")
    return member


def _choose(names: list[str], array: str | None, path: str) -> str:
    if not names:
        raise FormatError("unreadable", path=path, why="holds no array")
    if array is None and len(names) > 1:
        raise FormatError(
            "unreadable", path=path, why=f"holds {len(names)} arrays, choose with --array: {listed(names)}"
        )
    if array is not None and array not in names:
        raise FormatError("unreadable", path=path, why=f"holds no array {array!r}, only {listed(names)}")
    return names[0] if array is None else array


def _check_memory(needed: int, packed: int, label: str) -> None:
    """Refuses an array that this machine cannot hold, before anything is unpacked.

    Zeros honestly shrink to a thousandth, so that no ratio tells a bomb from an array; what is free does.
    """
    free = available()
    if free is not None and needed > free:
        why = f"unpacks from {packed} to {needed} bytes, and this machine has {free} bytes of memory free"
        raise FormatError("unreadable", path=label, why=why)


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, path: str) -> Tensor:
    label = f"{path}: array {name!r}"
    with archive.open(member) as stream:
        header = npy.read_header(stream, label)
        npy.check_length(header, member.file_size, label)
        _check_memory(header.nbytes, member.compress_size, label)
        data = np.empty(header.nbytes, np.uint8)
        start = 0
        while start < data.size:
            chunk = stream.read(min(_CHUNK, data.size - start))
            if not chunk:
                raise FormatError("unreadable", path=label, why=f"is cut off after {start} of {data.size} bytes")
            data[start : start + len(chunk)] = np.frombuffer(chunk, np.uint8)
            start += len(chunk)
        stream.read(1)  # the end of the member, where its checksum is compared
    return Tensor(npy.as_array(data, header, label), name)
