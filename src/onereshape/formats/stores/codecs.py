"""Codecs of Zarr that are plainly data, and their decoding within limits: a chunk holds what its metadata announce.

A codec that runs or unpickles what it finds, or whose need of memory no one can tell beforehand, is not in the table,
whatever the installed version of Zarr makes of it.
"""

from __future__ import annotations

import asyncio
import bz2
import lzma
import re
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numcodecs import blosc, lz4, zstd
from zarr.abc.codec import BytesBytesCodec
from zarr.codecs import ShardingCodec
from zarr.codecs._v2 import V2Codec

PLAIN = frozenset(
    "adler32 astype bitround bytes crc32 crc32c delta fixedscaleoffset fletcher32 jenkins_lookup3 packbits quantize"
    " shuffle transpose".split()
)
"""Codecs whose output is about as large as their input."""
_INEXACT = frozenset("astype bitround delta fixedscaleoffset packbits quantize".split())
"""Filters of PLAIN that round, or that do for some types: differences of floats, added up again, are others."""
_LZMA_PRESET = 6
"""Beyond it the encoder alone takes hundreds of megabytes."""
_TYPE_OPTIONS = ("dtype", "astype", "encode_dtype", "decode_dtype")
_TYPE = re.compile(r"[<>=|]?[biufc]\d{1,2}|bool|u?int\d{1,2}|float\d{2,3}|complex\d{2,3}")


class CodecError(ValueError):
    """A chunk that is damaged, or larger than its metadata announce."""


def most_encoded(nbytes: int) -> int:
    """More bytes than any of the codecs makes of `nbytes`."""
    return nbytes + nbytes // 50 + 1024


def widest(name: str, options: Any) -> int | str:
    """The bytes of the widest item that a codec of the table makes; or why it is refused."""
    name = name.removeprefix("numcodecs.")
    if name not in PLAIN and name not in _DECOMPRESS:
        return f"uses the codec {name!r:.60}, which is not among those that are read"
    if not isinstance(options, dict):
        return f"gives the codec {name} options that are none"
    if name == "lzma":
        preset = options.get("preset")
        known = preset is None or (type(preset) is int and 0 <= preset <= _LZMA_PRESET)
        if options.get("filters") is not None or options.get("format", 1) != 1 or not known:
            return "uses the codec lzma with options that are not read"
    size = 1
    for option in _TYPE_OPTIONS:
        given = options.get(option)
        if given is not None:
            if not isinstance(given, str) or not _TYPE.fullmatch(given):
                return f"gives the codec {name} a type that is not read: {given!r:.60}"
            size = max(size, np.dtype(given).itemsize)
    return size


def is_exact(codec: Any) -> bool:
    """Whether a filter gives back what it is given, whatever that is: an output holds what was read, and no less."""
    config = codec.to_dict() if hasattr(codec, "to_dict") else {"name": codec.get_config()["id"]}
    return str(config["name"]).removeprefix("numcodecs.") not in _INEXACT


def bounded(codec: Any, nbytes: int) -> Any:
    """The codec of a chunk, bounded: it makes no more than `nbytes` of any content."""
    if isinstance(codec, ShardingCodec):
        return _with_codecs(codec, tuple(bounded(one, nbytes) for one in codec.codecs))
    if isinstance(codec, V2Codec):
        filters = codec.filters and tuple(_bounded_v2(one, nbytes) for one in codec.filters)
        return replace(codec, filters=filters, compressor=codec.compressor and _bounded_v2(codec.compressor, nbytes))
    name = str(codec.to_dict()["name"]).removeprefix("numcodecs.")
    return Bounded(name, nbytes) if name in _DECOMPRESS else codec


def _with_codecs(codec: ShardingCodec, codecs: tuple[Any, ...]) -> ShardingCodec:
    return ShardingCodec(
        chunk_shape=codec.chunk_shape,
        codecs=codecs,
        index_codecs=codec.index_codecs,
        index_location=codec.index_location,
    )


def _bounded_v2(codec: Any, nbytes: int) -> Any:
    name = codec.get_config()["id"]
    return BoundedV2(name, nbytes) if name in _DECOMPRESS else codec


@dataclass(frozen=True)
class BoundedV2:
    """A compressor of version 2 of Zarr, which only reads."""

    name: str
    nbytes: int

    def decode(self, data: Any) -> bytes:
        """The bytes of a chunk, decompressed."""
        return decompress(self.name, bytes(data), self.nbytes)


@dataclass(frozen=True)
class Bounded(BytesBytesCodec):
    """A compressor of version 3 of Zarr, which only reads."""

    name: str
    nbytes: int
    is_fixed_size = False

    async def _decode_single(self, chunk_data: Any, chunk_spec: Any) -> Any:
        found = await asyncio.to_thread(decompress, self.name, chunk_data.to_bytes(), self.nbytes)
        return chunk_spec.prototype.buffer.from_bytes(found)

    def compute_encoded_size(self, input_byte_length: int, chunk_spec: Any) -> int:
        """Refused: nobody can tell the size of compressed bytes."""
        raise NotImplementedError


def decompress(name: str, data: bytes, nbytes: int) -> bytes:
    """What a compressor was given, about `nbytes`; more, and anything damaged, is a CodecError."""
    most = most_encoded(nbytes)
    try:
        found = _DECOMPRESS[name](data, nbytes, most)
    except CodecError:
        raise
    except Exception as error:  # noqa: BLE001 - libraries raise nearly anything
        raise CodecError(f"it is no {name} ({type(error).__name__})") from None
    if len(found) > most:
        raise _too_much()
    return found


def _too_much() -> CodecError:
    return CodecError("it is larger than its metadata announce")


def _in_steps(start: Callable[[], Any]) -> Callable[[bytes, int, int], bytes]:
    """With one of Python's decompressors: streams one after the other, no more than `most` in all."""

    def decode(data: bytes, _: int, most: int) -> bytes:
        found: list[bytes] = []
        room = most + 1
        while data and room:
            stream = start()
            while not stream.eof:
                made = stream.decompress(data, room)
                room -= len(made)
                found.append(made)
                data = getattr(stream, "unconsumed_tail", b"")
                if not room:
                    raise _too_much()
                if not made and not stream.eof and not data:
                    raise CodecError("it is cut off")
            data = stream.unused_data.lstrip(b"\0")  # gzip pads with them
        return b"".join(found)

    return decode


def _zstd(data: bytes, nbytes: int, most: int) -> bytes:
    """The content of a Zstandard frame: as many bytes as its head announces, else `nbytes`; `most` is the limit."""
    flags = data[4]
    size, kind = flags >> 6, (0, 1, 2, 4)[flags & 3]
    single = flags & 0x20
    start = 5 + (0 if single else 1) + kind
    width = {0: 1 if single else 0, 1: 2, 2: 4, 3: 8}[size]
    announced = nbytes
    if width:
        announced = int.from_bytes(data[start : start + width], "little") + (256 if width == 2 else 0)
    if announced > most:
        raise _too_much()
    room = bytearray(announced)
    zstd.decompress(data, room)
    return bytes(room)


def _lz4(data: bytes, _: int, most: int) -> bytes:
    (announced,) = struct.unpack_from("<i", data)
    if announced > most:
        raise _too_much()
    return bytes(lz4.decompress(data))


def _blosc(data: bytes, _: int, most: int) -> bytes:
    """Its library trusts the header, and reads wherever it points: it is checked first."""
    version, _format, flags, typesize, announced, block, length = struct.unpack_from("<BBBBIII", data)
    if announced > most:
        raise _too_much()
    if version != 2 or not typesize or length != len(data) or flags >> 5 > 4:
        raise CodecError("its header is damaged")
    if not announced:
        return b""
    if not 0 < block <= announced:
        raise CodecError("its header is damaged")
    head, blocks = 16, -(-announced // block)
    if flags & 2:
        if length != announced + head:
            raise CodecError("its header is damaged")
    else:
        starts = np.frombuffer(data, "<i4", blocks, head)
        if ((starts < head + 4 * blocks) | (starts > length - 4)).any():
            raise CodecError("its header is damaged")
    return bytes(blosc.decompress(data))


_zlib = _in_steps(lambda: zlib.decompressobj(47))
_DECOMPRESS: dict[str, Callable[[bytes, int, int], bytes]] = {
    "blosc": _blosc,
    "bz2": _in_steps(bz2.BZ2Decompressor),
    "gzip": _zlib,
    "lz4": _lz4,
    "lzma": _in_steps(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=1 << 27)),
    "zlib": _zlib,
    "zstd": _zstd,
}
"""Compressors: the only codecs that make much of little."""
