"""The options of all commands that run native code: how long an answer may take, and in how much memory."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import TypeVar

from onereshape.ground.errors import ReshapeError
from onereshape.ground.isolation.budget import SECONDS, WHOLE, checked, limited, whole

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


_T = TypeVar("_T")


def add_limits(parser: argparse.ArgumentParser, *, all_of_it: bool = False) -> None:
    """Adds --timeout and --memory; with `all_of_it` the time is that of the whole command, else of one answer."""
    each = "how long one answer of an engine may take: a load, or a run"
    every = "how long the whole command may take; what is shown by then is said"
    seconds, words = (WHOLE, every) if all_of_it else (SECONDS, each)
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=read_seconds,
        default=seconds,
        help=f"{words} (default: {seconds:g})",
    )
    parser.add_argument(
        "--memory",
        metavar="SIZE",
        help="the most that an engine may use, such as 2GB (default: half of what is free on this machine)",
    )


def limited_by(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Sets the limits for whatever runs inside."""
    return limited(checked(args.timeout, read_memory(args.memory)))


def in_time(answer: Callable[[argparse.Namespace], _T]) -> Callable[[argparse.Namespace], _T]:
    """A command whose time begins when it begins, and not when it has read its files."""

    @wraps(answer)
    def timed(args: argparse.Namespace) -> _T:
        with limited(whole(args.timeout, read_memory(args.memory))):
            return answer(args)

    return timed


def certifying(args: argparse.Namespace) -> str:
    """The title of its progress."""
    return f"certifying (at most {args.timeout:g} s)"


def read_seconds(text: str) -> float:
    """The number of seconds that was typed."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None


def read_seed(text: str) -> int:
    """The integer that was typed."""
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer") from None


def read_memory(text: str | None) -> int | None:
    """The bytes of `2GB`, `512 MiB` or `1000`; None where nothing is said.

    >>> read_memory("2GB"), read_memory("512MiB"), read_memory("1000")
    (2000000000, 536870912, 1000)
    """
    if text is None:
        return None
    found = re.fullmatch(r"\s*([0-9]{1,18})\s*([kmgt]?i?)b?\s*", text.lower())
    if found is None or found[2] not in _UNITS:
        raise ReshapeError("bad-usage", why=f"--memory {text}: write a whole number with a unit, such as 2GB or 512MiB")
    return int(found[1]) * _UNITS[found[2]]
