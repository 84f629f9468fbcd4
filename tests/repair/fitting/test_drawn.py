"""Tables drawn at random go on as they are read, where the sizes that are shown differ in parity and by no chance."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.budget import part
from tests.repair.fitting.drawing import LAYOUTS, SCALES, STARTS, drawn, verdict

SHOWN = {"H": 20, "W": 34}, {"H": 57, "W": 47}
SEEDS = list(range(2000))


@pytest.mark.parametrize("first", range(4))
def test_what_is_read_in_one_way_is_right(first: int) -> None:
    became = {seed: verdict(drawn(seed), SHOWN)[0] for seed in [*part(SEEDS, 5)][first::4]}
    counts = Counter(became.values())

    assert [seed for seed, found in became.items() if found == "wrong"] == []
    assert counts["right"] > 0.2 * len(became)  # so that the law says something
    assert counts["ambiguous"] < 0.05 * len(became)


def test_all_that_may_be_drawn_is_drawn() -> None:
    tables = [drawn(seed) for seed in part(SEEDS, 5)]
    assert {table.layout for table in tables} == set(LAYOUTS)
    assert {(table.down.scale, table.down.start) for table in tables} == {(a, b) for a in SCALES for b in STARTS}


def test_even_sizes_leave_more_in_doubt() -> None:
    even = {"H": 20, "W": 34}, {"H": 58, "W": 46}
    seeds = SEEDS[:100]
    doubted = [Counter(verdict(drawn(seed), shown)[0] for seed in seeds)["ambiguous"] for shown in (even, SHOWN)]
    assert doubted[0] > 2 * doubted[1]
