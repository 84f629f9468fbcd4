"""The world: every family of constants, every way to write a size, every operator that sizes go through."""

from __future__ import annotations

from tests.like.world_numbers import NUMBERS
from tests.like.world_operators import OPERATORS
from tests.like.world_pictures import PICTURES
from tests.like.world_rows import ROWS

CONSTANTS = [case for cases in (ROWS, NUMBERS, PICTURES) for case in cases if not case.refused]
NEAR_MISSES = [case for cases in (ROWS, NUMBERS, PICTURES) for case in cases if case.refused]
WORLD = [*CONSTANTS, *OPERATORS.values()]
