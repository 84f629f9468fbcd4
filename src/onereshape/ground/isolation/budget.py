"""How long native code may take, an answer or all that a command asks, and how much memory: one pair for all of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import inf
from numbers import Integral, Real

from onereshape.ground.errors import FixError, ReshapeError
from onereshape.ground.memory import available

SECONDS = 120.0
"""Seconds for one answer."""
WHOLE = 300.0
"""Seconds for a whole command that repairs or certifies."""
_LONGEST = 86400
_LEAST = 256 * 10**6
"""Bytes: with less not even the engine itself can be loaded."""
_MOST = 2**62
"""Bytes: no system counts further."""
_UNKNOWN = 4 * 10**9
"""What is taken for free memory where the system does not say."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one answer, or of all until a moment."""

    seconds: float
    memory: int
    """Bytes."""
    until: float = inf
    """When all of it ends, on the monotonic clock."""

    @property
    def left(self) -> float:
        """The seconds that an answer may take now."""
        return min(self.seconds, self.until - time.monotonic())

    def check(self) -> None:
        """Raises OutOfTime where the time is over."""
        if self.left <= 0:
            raise late(self.seconds)


ENDLESS = Limits(2.0**30, _MOST)
"""No limits: of work of ours on files, which takes as long as the disk does."""


class OutOfTime(FixError):  # noqa: N818 - what happened to a command
    """A command has taken all of its time."""

    @property
    def after(self) -> str:
        """The time that the command had."""
        return str(self.fields["after"])


def late(seconds: float, why: str = "nothing was compared") -> OutOfTime:
    """The OutOfTime to be raised after so many seconds."""
    return OutOfTime("out-of-time", after=f"after {seconds:g} s", why=why)


_LIMITS: ContextVar[Limits | None] = ContextVar("limits", default=None)


def limits() -> Limits:
    """The limits in force here."""
    return _LIMITS.get() or Limits(SECONDS, _half())


def checked(seconds: float, memory: int | None) -> Limits:
    """The limits that somebody asks for; no memory: half of what is free."""
    if not isinstance(seconds, Real) or isinstance(seconds, bool):
        raise ReshapeError("bad-usage", why=f"timeout is a {type(seconds).__name__}, but it takes seconds")
    if not 0 < seconds <= _LONGEST:
        told = "too large" if isinstance(seconds, int) and abs(seconds) > _MOST else f"{seconds:g}"
        raise ReshapeError("bad-usage", why=f"timeout is {told}, but it takes seconds, up to {_LONGEST}")
    if memory is None:
        return Limits(float(seconds), _half())
    if not isinstance(memory, Integral) or isinstance(memory, bool):
        raise ReshapeError("bad-usage", why=f"memory is a {type(memory).__name__}, but it takes bytes, an integer")
    if memory < _LEAST:
        why = f"memory is {size(max(0, int(memory)))}, and an engine needs at least {size(_LEAST)}"
        raise ReshapeError("bad-usage", why=why)
    return Limits(float(seconds), min(int(memory), _MOST))


def whole(seconds: float, memory: int | None) -> Limits:
    """Limits whose time is one for all answers from now on, and ends no later than the limits in force."""
    limit = checked(seconds, memory)
    return replace(limit, until=min(time.monotonic() + limit.seconds, limits().until))


def halved(limit: Limits) -> Limits:
    """Limits with half of the time that is left."""
    return replace(limit, until=time.monotonic() + limit.left / 2)


@contextmanager
def limited(limit: Limits) -> Iterator[None]:
    """Sets the limits of everything inside."""
    token = _LIMITS.set(limit)
    try:
        yield
    finally:
        _LIMITS.reset(token)


def _half() -> int:
    """Half of the bytes that are free."""
    free = available()
    return max(_LEAST, (_UNKNOWN if free is None else free) // 2)


def size(number: int) -> str:
    """Bytes as a sentence names them.

    >>> size(2_500_000_000), size(256_000_000)
    ('2.5 GB', '256 MB')
    >>> size(2)
    '2 bytes'
    """
    if number < 10**6:
        return f"{number} byte{'' if number == 1 else 's'}"
    return f"{number / 10**9:.1f} GB" if number >= 10**9 else f"{number / 10**6:.0f} MB"
