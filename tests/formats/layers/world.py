"""All cases, by the type of layer."""

from __future__ import annotations

from collections import defaultdict

from tests.formats.layers import (
    world_indexing,
    world_layout,
    world_pointwise,
    world_recurrent,
    world_rest,
    world_sums,
    world_windows,
)
from tests.formats.layers.making import Case

CASES: dict[str, list[Case]] = defaultdict(list)
for family in (world_pointwise, world_layout, world_indexing, world_sums, world_windows, world_recurrent, world_rest):
    for each in family.CASES:
        CASES[each.kind].append(each)
