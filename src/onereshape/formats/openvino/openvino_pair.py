"""An .xml and its .bin replaced as a pair: at every moment the two on the disk are the old model or the new one.

Nothing in an .xml says which .bin it belongs to: OpenVINO takes the one of the same name, and no system renames two
files at once.  But an .xml reads its .bin at offsets, so that a .bin can hold the constants of two models.  That makes
every state between two renames a whole model:

    .bin   old               old, new far on    old, new far on    new, new far on    new, new far on    new
    .xml   old               old                new, read far on   new, read far on   new                new

A reader that opens the .xml before the first of these renames and the .bin after the last still has a mixture; ours
looks at the .xml again when it has read both.
"""

from __future__ import annotations

import copy
import io
import shutil
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree import ElementTree as ET

from onereshape.formats.openvino.openvino_xml import encoded, parsed
from onereshape.formats.reading import integer
from onereshape.formats.refusals import unwritable
from onereshape.ground.atomic import replacing, replacing_in_turn

Weights = BinaryIO | io.RawIOBase
_CHUNK = 1 << 20
_ALIGNED = 64
"""Bytes; no element of a constant is wider."""


class Longer(io.RawIOBase):
    """The bytes of a file with others behind them, from a place on; what is between is 0."""

    def __init__(self, file: BinaryIO, start: int, added: bytes) -> None:
        super().__init__()
        self._file = file
        self._tail = b"\0" * (start - _size(file)) + added
        self._size = start + len(added)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        wanted = self._size - self._at if size is None or size < 0 else size
        self._file.seek(self._at)
        found = self._file.read(wanted)
        behind = self._at + len(found) - (self._size - len(self._tail))
        if len(found) < wanted and behind >= 0:
            found += self._tail[behind : behind + wanted - len(found)]
        self._at += len(found)
        return found


def write_pair(path: str, xml: bytes, weights: Weights) -> None:
    """Writes the .xml, and the .bin of the same name beside it."""
    try:
        _write(path, Path(path).with_suffix(".bin"), xml, weights)
    except OSError as error:  # of what was there before
        raise unwritable(path, error.strerror or str(error)) from None


def _write(path: str, beside: Path, xml: bytes, weights: Any) -> None:
    if not (beside.is_file() and Path(path).exists()):  # no model is there that a new .bin could spoil
        with replacing_in_turn([str(beside), path]) as (binary, text):
            shutil.copyfileobj(weights, binary, _CHUNK)
            text.write(xml)
        return
    with beside.open("rb") as old:
        if _same(old, weights):
            with replacing(path) as text:
                text.write(xml)
        else:
            _replace(path, str(beside), xml, weights, old)


def _replace(path: str, beside: str, xml: bytes, weights: Any, old: Any) -> None:
    far = -(-max(_size(old), _size(weights)) // _ALIGNED) * _ALIGNED
    with replacing_in_turn([beside, path, beside, path, beside]) as files:
        _fill(files[0], (old, 0), (weights, far))
        files[1].write(_moved(xml, far, path))
        _fill(files[2], (weights, 0), (weights, far))
        files[3].write(xml)
        _fill(files[4], (weights, 0))


def _moved(xml: bytes, by: int, path: str) -> bytes:
    """The .xml with the offset of each constant in the .bin larger by so many bytes."""
    net: ET.Element = copy.deepcopy(parsed(xml, path))
    for layer in net.iter("layer"):
        data = layer.find("data")
        if layer.get("type") == "Const" and data is not None:
            data.set("offset", str((integer(data.get("offset")) or 0) + by))
    return encoded(net, path)


def _fill(file: BinaryIO, *parts: tuple[Any, int]) -> None:
    for content, offset in parts:
        content.seek(0)
        file.seek(offset)
        shutil.copyfileobj(content, file, _CHUNK)


def _same(one: Any, other: Any) -> bool:
    if _size(one) != _size(other):
        return False
    one.seek(0)
    other.seek(0)
    while chunk := one.read(_CHUNK):
        if chunk != other.read(_CHUNK):
            return False
    return True


def _size(file: Any) -> int:
    return int(file.seek(0, io.SEEK_END))
