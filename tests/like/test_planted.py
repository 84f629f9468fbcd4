"""The world shows every planted bug, and tables say where they end."""

from __future__ import annotations

import pytest

from onereshape.models.like import plan
from tests.like.exporting import EXPORTERS, TABLES, Case
from tests.like.law import beyond, verdict
from tests.like.mutants import MUTANTS, Mutant
from tests.like.world import CONSTANTS, NEAR_MISSES


def shown(case: Case) -> bool:
    """Whether a case is not what it should be, by either exporter."""
    for exporter in EXPORTERS:
        try:
            found = verdict(case, exporter)
        except Exception:  # noqa: BLE001 - a bug may raise whatever it likes
            return True
        if found.status != ("refused" if case.refused else "right"):
            return True
    return False


@pytest.mark.parametrize("planted", MUTANTS, ids=lambda each: each.name)
def test_a_planted_bug_is_shown(planted: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    words = planted.words.split()
    cases = [case for case in (*NEAR_MISSES, *CONSTANTS) if any(word in case.name.split() for word in words)]
    assert cases

    planted.plant(monkeypatch)

    assert any(map(shown, cases))


def test_a_limit_that_nobody_keeps_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that wraps around, one row for all of them, a ramp without a step."""
    monkeypatch.setattr(plan, "within", lambda _, value, *__: value)

    cases = [case for case in CONSTANTS if case.name in {"squares of two colours", "the end of a table"}]
    assert [bool(beyond(case, "graph")) for case in cases] == [True, True]


@pytest.mark.parametrize("case", [case for case in CONSTANTS if (case.exports, case.unseen) == TABLES], ids=str)
def test_a_table_says_where_it_ends(case: Case) -> None:
    assert [condition for condition in verdict(case, "graph").conditions if "<= 23" in condition]
