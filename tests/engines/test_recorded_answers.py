"""`resolve` against the recorded answers, and the engines installed here against what was recorded of them."""

from __future__ import annotations

from math import prod

import pytest

from tests.engines.cases import ask_ours, complaint, listed, row_for, shown
from tests.engines.differences import rows_of
from tests.engines.engines import ENGINES, Engine, installed
from tests.engines.recorded import RECORDED_VERSIONS, recorded_cases

COLUMNS = [
    pytest.param(engine, zero_copies, id=column) for engine in ENGINES for zero_copies, column in engine.columns.items()
]
LIVE_COLUMNS = [
    pytest.param(engine, zero_copies, id=column)
    for engine in ENGINES
    if engine.answer is not None
    for zero_copies, column in engine.columns.items()
]


@pytest.mark.parametrize(("engine", "zero_copies"), COLUMNS)
def test_recorded_answers_are_ours_or_a_known_difference(engine: Engine, zero_copies: bool) -> None:
    rows = rows_of(engine, RECORDED_VERSIONS[engine.package], zero_copies=zero_copies)
    complaints = []
    for recorded in recorded_cases():
        case = ask_ours(engine, recorded.data, recorded.target, zero_copies=zero_copies)
        said = complaint(case, rows, recorded.answers[engine.columns[zero_copies]])
        if said is not None:
            complaints.append(f"{recorded.name}: {said}")

    assert not complaints, listed(complaints, f"{engine.name} differs from resolve on record")


@pytest.mark.parametrize(("engine", "zero_copies"), LIVE_COLUMNS)
def test_engine_still_answers_as_recorded(engine: Engine, zero_copies: bool) -> None:
    """Unless a row of the differences says that the release installed here did otherwise."""
    assert engine.answer is not None
    column, here, then = engine.columns[zero_copies], installed(engine), RECORDED_VERSIONS[engine.package]
    known_then = rows_of(engine, then, zero_copies=zero_copies)
    only_here = tuple(row for row in rows_of(engine, here, zero_copies=zero_copies) if row not in known_then)
    changes = []
    for recorded in recorded_cases():
        if engine.is_safe(recorded.data, recorded.target, zero_copies):
            case = ask_ours(engine, recorded.data, recorded.target, zero_copies=zero_copies)
            row = row_for(case, only_here)
            expected = recorded.answers[column] if row is None else row.theirs(case)
            now = engine.answer(recorded.data, recorded.target, zero_copies)
            if now != expected:
                changes.append(f"{recorded.name}: {shown(expected)} expected, now {shown(now)}")

    release = "the release that was recorded" if here == then else f"recorded with {then}"
    assert not changes, listed(changes, f"{column} has changed in {engine.package} {here}, {release}")


def test_every_recorded_column_is_tested() -> None:
    tested = {column for engine in ENGINES for column in engine.columns.values()}

    for recorded in recorded_cases():
        assert tested == set(recorded.answers), recorded.name


def test_there_are_54_cases() -> None:
    assert len({recorded.name for recorded in recorded_cases()}) == len(recorded_cases()) == 54


def test_wrong_elements_come_only_with_a_volume_that_differs() -> None:
    """Which is why `resolve` refuses what OpenVINO lets through."""
    for recorded in recorded_cases():
        for column in recorded.wrong_elements:
            dims = recorded.answers[column]

            assert isinstance(dims, tuple)
            assert prod(dim for dim in dims if isinstance(dim, int)) != prod(recorded.data), (recorded.name, column)
