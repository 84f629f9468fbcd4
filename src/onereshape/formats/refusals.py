"""Refusals of files, and the words of others that they quote."""

from __future__ import annotations

from onereshape.ground.errors import FormatError


def unreadable(path: str, why: str) -> FormatError:
    """The refusal of a file that was to be read."""
    return FormatError("unreadable", path=path, why=why)


def unwritable(path: str, why: str) -> FormatError:
    """The refusal of a file that was to be written."""
    return FormatError("unwritable", path=path, why=why)


def cause(error: BaseException) -> str:
    """The first line of what lies behind an error, short enough for a message."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0] if len(lines[0]) <= 200 else lines[0][:197] + "..."
