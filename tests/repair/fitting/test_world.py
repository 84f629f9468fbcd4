"""The law of the world: what is fitted on two exports is right at other sizes too, and near misses are refused."""

from __future__ import annotations

import pytest

from onereshape.graphs.operators import RECORDS
from onereshape.repair.fitting import families
from onereshape.repair.fitting.exported import Exported, Family, Fit
from tests.budget import WHOLE
from tests.repair.fitting.exporting import EXPORTERS, Case
from tests.repair.fitting.law import beyond, verdict
from tests.repair.fitting.world import CONSTANTS, NEAR_MISSES, NEEDLESS, WORLD
from tests.repair.fitting.world_operators import OPERATORS

ASKED = [
    (case, exporter)
    for place, case in enumerate(WORLD)
    for exporter in (EXPORTERS if WHOLE else EXPORTERS[place % 2 :][:1])
]
"""All cases of all exporters, or of one of them in turn."""


@pytest.mark.parametrize(("case", "exporter"), ASKED, ids=str)
def test_what_is_fitted_on_two_sizes_is_right_at_others(case: Case, exporter: str) -> None:
    found = verdict(case, exporter)

    assert (found.status, found.why) == ("right", "")


@pytest.mark.parametrize("case", CONSTANTS, ids=str)
def test_beyond_its_conditions_a_model_stops_or_is_right(case: Case) -> None:
    assert beyond(case, "graph") == []


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("case", NEAR_MISSES, ids=str)
def test_a_near_miss_is_refused(case: Case, exporter: str) -> None:
    found = verdict(case, exporter)

    assert found.status == "refused", found.why
    assert any(found.why.startswith(f"[{code}]") for code in case.refused.split()), found.why


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("case", NEEDLESS, ids=str)
def test_what_is_refused_needlessly_is_refused(case: Case, exporter: str) -> None:
    assert verdict(case, exporter).status == "refused"


def test_every_operator_with_a_rule_is_in_the_world() -> None:
    assert {op for op, record in RECORDS.items() if record.free is not None} == set(OPERATORS)


def test_every_family_is_in_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is the first that knows some constant of the world."""
    taken: set[int] = set()

    def noted(place: int, family: Family) -> Family:
        def told(exported: Exported) -> Fit | None:
            fit = family(exported)
            if fit is not None:
                taken.add(place)
            return fit

        return told

    known = families.FAMILIES
    monkeypatch.setattr(families, "FAMILIES", tuple(noted(place, family) for place, family in enumerate(known)))

    for case in CONSTANTS:
        verdict(case, "graph")

    assert [family for place, family in enumerate(known) if place not in taken] == []
