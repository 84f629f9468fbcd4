"""The world shows every planted bug, and tables say where they end."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from onereshape.repair.fitting.families import cuts, differences
from tests.repair.fitting.exporting import EXPORTERS, TABLES, Case
from tests.repair.fitting.law import beyond, verdict
from tests.repair.fitting.mutants import MUTANTS, Mutant
from tests.repair.fitting.world import CONSTANTS, NEAR_MISSES


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


@pytest.fixture
def forgetting() -> Iterator[None]:
    """Leaves nothing that was found with a bug to the next test."""
    yield
    for name, module in [*sys.modules.items()]:
        if name.startswith("onereshape.repair.fitting"):
            for each in vars(module).values():
                if hasattr(each, "cache_clear"):
                    each.cache_clear()


@pytest.mark.usefixtures("forgetting")
@pytest.mark.parametrize("planted", MUTANTS, ids=lambda each: each.name)
def test_a_planted_bug_is_shown(planted: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    words = planted.words.split()
    cases = [case for case in (*NEAR_MISSES, *CONSTANTS) if any(word in case.name.split() for word in words)]
    assert cases

    planted.plant(monkeypatch)

    assert any(map(shown, cases))


@pytest.mark.parametrize(
    ("module", "name", "case"),
    [(differences, "stopping", "squares of two colours"), (cuts, "bounded", "the end of a table")],
)
def test_a_place_below_the_first_that_counts_from_the_end_is_shown(
    module: ModuleType, name: str, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, lambda _, places, *__: places)

    assert beyond(next(each for each in CONSTANTS if each.name == case), "graph")


@pytest.mark.parametrize("case", [case for case in CONSTANTS if (case.exports, case.unseen) == TABLES], ids=str)
def test_a_table_says_where_it_ends(case: Case) -> None:
    assert [condition for condition in verdict(case, "graph").conditions if "<= 23" in condition]
