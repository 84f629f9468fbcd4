"""The table of known differences holds nothing idle: every row is met by every engine that it names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.engines.cases import Case, Difference, ask_ours
from tests.engines.differences import DIFFERENCES
from tests.engines.engines import ENGINES, Engine
from tests.engines.recorded import recorded_cases
from tests.engines.world import WORLDS, world_of


def _asked(row: Difference, engine: Engine) -> Iterator[Case]:
    """Everything that the other tests put to the engine, or have on record of it, under the flag of the row."""
    for zero_copies in engine.columns:
        if row.zero in {"either", "copied" if zero_copies else "literal"}:
            for recorded in recorded_cases():
                yield ask_ours(engine, recorded.data, recorded.target, zero_copies=zero_copies)
            for data, target in world_of(engine) if engine.name in WORLDS else ():
                if engine.is_safe(data, target, zero_copies):
                    yield ask_ours(engine, data, target, zero_copies=zero_copies)


@pytest.mark.parametrize(
    ("row", "engine"),
    [
        pytest.param(row, engine, id=f"{engine.name}: {row.name}")
        for row in DIFFERENCES
        for engine in ENGINES
        if engine.name in row.engines
    ],
)
def test_each_row_is_met(row: Difference, engine: Engine) -> None:
    """The other tests hold that what a row says is so; this one, that it says something."""
    assert any(row.when(case) and row.theirs(case) != case.ours for case in _asked(row, engine)), row.name


def test_rows_name_engines_that_exist() -> None:
    named = {name for row in DIFFERENCES for name in row.engines}

    assert named <= {engine.name for engine in ENGINES}


def test_rows_have_their_own_names() -> None:
    names = [row.name for row in DIFFERENCES]

    assert len(set(names)) == len(names)
