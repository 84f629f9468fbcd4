"""Integers as users write them: Python's, and whatever else is exactly an index; and dims that are integers."""

from __future__ import annotations

from operator import index
from typing import Any

Dims = tuple[int, ...]
"""The dims of a tensor, where every size is known."""


def is_bool(value: Any) -> bool:
    """Whether this is Python's bool or NumPy's, by either of its names."""
    return type(value).__name__ in {"bool", "bool_"}


def exact(value: Any) -> int | None:
    """The integer that this is; None for what has to be rounded or parsed, and for a bool.

    A bool is an index to Python, and to NumPy before 2.3; where a size is asked it is a mistake.
    """
    if is_bool(value):
        return None
    try:
        return index(value)
    except TypeError:
        return None
