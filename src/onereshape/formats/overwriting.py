"""Refusals to write over a file that a command reads, or over a file of its weights."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from onereshape.ground.errors import ReshapeError


def refuse_overwriting(written: Iterable[str], read: str, data: Iterable[str] = ()) -> None:
    """Refuses outputs that are the input `read`, or one of the files that hold its `data`; links are followed."""
    for output in written:
        if is_same(read, output):
            why = f"{output} is the input itself, which is never changed: name another OUT"
            raise ReshapeError("bad-usage", why=why)
        if any(is_same(file, output) for file in data):
            why = f"{output} holds the weights of {read}, which are never changed: name another OUT"
            raise ReshapeError("bad-usage", why=why)


def is_same(one: str, other: str) -> bool:
    """Whether two names are of one file, whatever links there are; it need not be there yet."""
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):  # one of them is not there, and may be before the other is read
        return _absolute(one) == _absolute(other)


def _absolute(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path
