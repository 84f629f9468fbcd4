"""What a child keeps between questions, by number, until its parent lets go of it."""

from __future__ import annotations

from itertools import count
from typing import Any

KEPT: dict[int, Any] = {}
_NUMBERS = count()


def keep(thing: Any) -> int:
    """The number under which a thing is found again."""
    number = next(_NUMBERS)
    KEPT[number] = thing
    return number
