"""Records of protobuf messages, read and replaced without the message: for what is too large to be parsed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

Pieces = list[bytes | memoryview]
"""Bytes that follow each other."""

LENGTH: Final = 2
"""The form of a record that says how long it is; the others are numbers."""
_FIXED: Final = {1: 8, 5: 4}
"""Bytes of numbers, by the form of their record; those of form 0 end with a byte below 128."""
HIGH: Final = 128
LONGEST_NUMBER: Final = 10
"""Bytes of a number of 64 bits."""


def rebuilt(  # noqa: PLR0913, PLR0917 - where, and what is to be done there
    content: bytes,
    start: int,
    end: int,
    way: Sequence[int],
    worth: Callable[[int, int], bool],
    made: Callable[[int, int], Pieces | None],
) -> Pieces | None:
    """A message in pieces, with the messages at the end of `way` replaced by what `made` gives; None: as it was."""
    pieces: Pieces = []
    seen, kept, at = memoryview(content), start, start
    while at < end:
        number, form, body, stop = record(content, at, end)
        if number == way[0] and form == LENGTH and worth(body, stop):
            inner = rebuilt(content, body, stop, way[1:], worth, made) if way[1:] else made(body, stop)
            if inner is not None:
                pieces += [seen[kept:at], as_number(number << 3 | form), as_number(sum(map(len, inner))), *inner]
                kept = stop
        at = stop
    return [*pieces, seen[kept:end]] if pieces else None


def record(content: bytes, at: int, end: int) -> tuple[int, int, int, int]:
    """The field, the form, the start and the end of a record's content; a ValueError where no record is."""
    tag, body = number_at(content, at, end)
    form = tag & 7
    if form == LENGTH:
        length, body = number_at(content, body, end)
        stop = body + length
    elif form == 0:
        _, stop = number_at(content, body, end)
    else:
        stop = body + _FIXED.get(form, end)
    if stop > end:
        raise ValueError(at)
    return tag >> 3, form, body, stop


def number_at(content: bytes, at: int, end: int) -> tuple[int, int]:
    """The number of variable length at a place in bytes, and the place behind it."""
    found = shift = 0
    while at < end and shift < 7 * LONGEST_NUMBER:
        byte = content[at]
        found |= (byte & (HIGH - 1)) << shift
        at, shift = at + 1, shift + 7
        if byte < HIGH:
            return found, at
    raise ValueError(at)


def as_number(number: int) -> bytes:
    found = bytearray()
    while number >= HIGH:
        found.append(number % HIGH | HIGH)
        number //= HIGH
    return bytes([*found, number])
