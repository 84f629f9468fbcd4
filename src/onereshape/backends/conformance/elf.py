"""Where a shared library has its functions, those too that it keeps to itself: its tables of symbols, read as bytes.

A loader hands out only what a library exports.  What it keeps to itself is still in the table `.symtab`, unless
that was stripped, and lies as far from where the library was loaded as the table says.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"\x7fELF\x02\x01"
"""64 bits, little-endian: what x86-64 and aarch64 have."""
_SYMTAB, _DYNSYM = 2, 11
_FUNCTION, _GLOBAL = 2, 1
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)


class NotReadable(Exception):  # noqa: N818 - what a file is
    """The file is no ELF library of this kind, or lacks what is looked for."""


class Functions(NamedTuple):
    """Functions by their distance from where the library is loaded."""

    found: dict[str, int]
    anchor: str
    """A function that the library exports: its address, asked of the loader, tells where the library was loaded."""
    anchor_at: int


class _Section(NamedTuple):
    kind: int
    offset: int
    size: int
    link: int


def functions(path: str, names: Iterable[str]) -> Functions:
    """The places in the library at `path` of all functions of these names, and of an exported function: the anchor."""
    try:
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _functions(content, tuple(names))
    except (OSError, ValueError, OverflowError, struct.error, IndexError) as error:
        raise NotReadable(f"{path}: {error}") from None


def _functions(content: mmap.mmap, names: tuple[str, ...]) -> Functions:
    sections = _sections(content)
    found: dict[str, int] = {}
    anchor: tuple[str, int] | None = None
    for section in sections:
        if section.kind not in {_SYMTAB, _DYNSYM}:
            continue
        texts = sections[section.link]
        symbols = _symbols(content, section)
        if section.kind == _DYNSYM and len(public := symbols[symbols["info"] >> 4 == _GLOBAL]):
            anchor = _text(content, texts, int(public[0]["name"])), int(public[0]["value"])
        for name, values in _values(content, texts, symbols, names).items():
            if found.setdefault(name, values[0]) != values[-1]:
                raise ValueError(f"it has several functions {name}")
    if missing := [name for name in names if name not in found]:
        raise ValueError(f"it has no {missing[0]}")
    if anchor is None:
        raise ValueError("it exports no function")
    return Functions(found, *anchor)


def _sections(content: mmap.mmap) -> list[_Section]:
    if content[: len(_MAGIC)] != _MAGIC:
        raise ValueError("is no ELF file of 64 bits, little-endian")
    (table,) = struct.unpack_from("<Q", content, 0x28)
    size, count = struct.unpack_from("<HH", content, 0x3A)
    heads = (struct.unpack_from("<IIQQQQI", content, table + index * size) for index in range(count))
    return [_Section(kind, offset, length, link) for _, kind, _, _, offset, length, link in heads]


def _symbols(content: mmap.mmap, section: _Section) -> NDArray[Any]:
    """The functions of a table that are defined in the library."""
    table: NDArray[Any] = np.frombuffer(content[section.offset : section.offset + section.size], _SYMBOL)
    found: NDArray[Any] = table[(table["info"] & 15 == _FUNCTION) & (table["section"] != 0)]
    return found


def _values(content: mmap.mmap, texts: _Section, symbols: NDArray[Any], names: tuple[str, ...]) -> dict[str, list[int]]:
    """Name -> the places of the functions of this name, in order; a name that the table lacks is left out.

    A name may be the end of a longer one, which shares its text; one pass over all texts, of which there are many.
    """
    wanted = re.compile(b"(?:" + b"|".join(re.escape(name.encode()) for name in names) + b")(?=\0)")
    places: dict[int, str] = {
        each.start() - texts.offset: each.group().decode()
        for each in wanted.finditer(content, texts.offset, texts.offset + texts.size)
    }
    found: dict[str, set[int]] = {}
    for symbol in symbols[np.isin(symbols["name"], list(places))]:
        found.setdefault(places[int(symbol["name"])], set()).add(int(symbol["value"]))
    return {name: sorted(values) for name, values in found.items()}


def _text(content: mmap.mmap, texts: _Section, place: int) -> str:
    start = texts.offset + place
    return content[start : content.find(b"\0", start)].decode()
