"""The world: every family of constants, every way to write a size, every operator that sizes go through."""

from __future__ import annotations

from tests.repair.fitting.world_numbers import NUMBERS
from tests.repair.fitting.world_operators import OPERATORS
from tests.repair.fitting.world_pictures import PICTURES
from tests.repair.fitting.world_rows import ROWS

GAPS = frozenset({"numbers of pixels in windows"})
"""What is refused although the exports tell enough: never wrong, but it might be right."""
_ALL = [*ROWS, *NUMBERS, *PICTURES]
CONSTANTS = [case for case in _ALL if not case.refused and case.name not in GAPS]
NEAR_MISSES = [case for case in _ALL if case.refused]
WORLD = [*CONSTANTS, *(case for case in OPERATORS.values() if case.name not in GAPS)]
NEEDLESS = [case for case in (*_ALL, *OPERATORS.values()) if case.name in GAPS]
