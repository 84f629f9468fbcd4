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
from typing import BinaryIO
from xml.etree import ElementTree as ET

from onereshape.formats.atomic import replacing, replacing_in_turn
from onereshape.formats.model import integer, unwritable
from onereshape.formats.openvino_xml import encoded, parsed

_CHUNK = 1 << 20
_ALIGNED = 64
"""Bytes; no element of a constant is wider."""


def write_pair(path: str, xml: bytes, weights: BinaryIO) -> None:
    """Writes the .xml, and the .bin of the same name beside it."""
    try:
        _write(path, Path(path).with_suffix(".bin"), xml, weights)
    except OSError as error:  # of what was there before
        raise unwritable(path, error.strerror or str(error)) from None


def _write(path: str, beside: Path, xml: bytes, weights: BinaryIO) -> None:
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


def _replace(path: str, beside: str, xml: bytes, weights: BinaryIO, old: BinaryIO) -> None:
    far = -(-max(_size(old), _size(weights)) // _ALIGNED) * _ALIGNED
    with replacing_in_turn([beside, path, beside, path, beside]) as files:
        _fill(files[0], (old, 0), (weights, far))
        files[1].write(_moved(xml, far, path))
        _fill(files[2], (weights, 0), (weights, far))
        files[3].write(xml)
        _fill(files[4], (weights, 0))


def _moved(xml: bytes, by: int, path: str) -> bytes:
    """The same model, with its constants so many bytes further on."""
    net: ET.Element = copy.deepcopy(parsed(xml, path))
    for layer in net.iter("layer"):
        data = layer.find("data")
        if layer.get("type") == "Const" and data is not None:
            data.set("offset", str((integer(data.get("offset")) or 0) + by))
    return encoded(net, path)


def _fill(file: BinaryIO, *parts: tuple[BinaryIO, int]) -> None:
    for content, offset in parts:
        content.seek(0)
        file.seek(offset)
        shutil.copyfileobj(content, file, _CHUNK)


def _same(one: BinaryIO, other: BinaryIO) -> bool:
    if _size(one) != _size(other):
        return False
    one.seek(0)
    other.seek(0)
    while chunk := one.read(_CHUNK):
        if chunk != other.read(_CHUNK):
            return False
    return True


def _size(file: BinaryIO) -> int:
    return file.seek(0, io.SEEK_END)
