"""What is read out of files, whatever their format: bytes up to a limit, integers, and graphs that may have circles."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from onereshape.formats.refusals import unreadable

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def integer(text: Any) -> int | None:
    """The int64-sized integer that a text is, or None; unlike `int` it takes no underscores and no foreign digits."""
    return int(text) if isinstance(text, str) and _INTEGER.fullmatch(text) else None


def cycle(graph: Mapping[Hashable, Iterable[Hashable]]) -> list[Any] | None:
    """Nodes that wait for one another in a circle, None without circles; `graph` has the needs of each node.

    >>> cycle({"a": ["b"], "b": []}) is None
    True
    >>> cycle({"a": ["b"], "b": ["a"]})
    ['a', 'b', 'a']
    """
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[Any] = error.args[1]
        return found
    return None


def content_of(path: str, largest: int, why: str) -> bytes:
    """The bytes of a file, of which no more than `largest` are read; `why` says why no such file has more."""
    with Path(path).open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise unreadable(path, f"has more than {largest} bytes, {why}")
    return content
