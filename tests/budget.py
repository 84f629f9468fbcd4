"""How much of a world is asked: an even part of it by `make test`, all of it by `make worlds`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

T = TypeVar("T")
WHOLE: Final = os.environ.get("WORLDS") == "whole"


def part(world: Iterable[T], step: int) -> Iterator[T]:
    """Each `step`-th of a world that is too large to be asked at every change; or the whole of it."""
    return islice(world, 0, None, 1 if WHOLE else step)
