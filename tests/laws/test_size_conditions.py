"""Law: where `check` says nothing of a Reshape, every declared size runs; what it tells of sizes is what happens."""

from __future__ import annotations

from collections import Counter

import pytest

from onereshape.graphs.size_limits import limited, trials
from tests.budget import part
from tests.laws.conditions_law import breaches, found_in
from tests.laws.conditions_world import case

KNOWN = (5, 34, 314, 547, 691, 1225)
"""Models that are known to find the planted bugs."""
SEEDS = [*dict.fromkeys((*KNOWN, *part(range(1500), 24)))]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_said_of_sizes(seed: int) -> None:
    assert [*breaches(case(seed))] == []


def test_the_world_has_every_answer() -> None:
    """Models of which nothing is said, and conditions of each severity."""
    found = [[each for each in found_in(case(seed)) if each.code == "size-condition"] for seed in (*range(150), 294)]
    severities = Counter(each.severity for several in found for each in several)

    assert sum(not several for several in found) >= 50
    assert severities["note"] >= 2
    assert min(severities["error"], severities["warning"]) >= 20
    assert sum("mixes" in each.message for several in found for each in several) >= 10


PLANTED: dict[str, list[tuple[object, str, object]]] = {
    "divisible is no condition": [(limited, "_KINDS", limited._KINDS - {"divisible"})],
    "equal is no condition": [(limited, "_KINDS", limited._KINDS - {"equal"})],
    "only multiples are tried": [
        (trials, "_BASES", (24,)),
        (trials, "_LARGER", ()),
        (trials, "_steps", lambda start, _: [start]),
    ],
    "what is split is mixed": [(trials, "_is_nested", lambda dims, _: dims[0] > 1)],
    "what runs fails": [
        (limited._Walks, "fails", lambda *_: True),
        (trials, "run", lambda *_, **__: None),
    ],
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for where, name, planted in PLANTED[bug]:
        monkeypatch.setattr(where, name, planted)
    trials.tried.cache_clear()

    assert any(next(breaches(case(seed)), None) is not None for seed in SEEDS)
    trials.tried.cache_clear()
