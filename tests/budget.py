"""How much of a world is asked: an even part of it by `make test`, all of it by `make worlds`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")
_ROUND: Final = 1 << 16
_GOLDEN: Final = 40503
"""The odd number nearest to the golden section of a round."""
WHOLE: Final = os.environ.get("WORLDS") == "whole"


def part(world: Iterable[T], step: int) -> Iterator[T]:
    """One in `step` of a world that is too large to be asked at every change, always the same ones; or the whole of it.

    The places go round by the golden section, so that they fall evenly into every repeating pattern of a product.
    """
    return (each for place, each in enumerate(world) if WHOLE or place * _GOLDEN % _ROUND * step < _ROUND)
