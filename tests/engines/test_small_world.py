"""`resolve` against the engines installed here, over the small world: their answers are ours, or a known difference."""

from __future__ import annotations

import pytest

from tests.engines.cases import ask_ours, complaint, listed
from tests.engines.differences import rows_of
from tests.engines.engines import ENGINES, Engine, installed
from tests.engines.world import WORLDS, world_of


@pytest.mark.parametrize(
    ("engine", "zero_copies"),
    [
        pytest.param(engine, zero_copies, id=f"{engine.name}-{'copied' if zero_copies else 'literal'}")
        for engine in ENGINES
        if engine.name in WORLDS
        for zero_copies in engine.columns
    ],
)
def test_engine_answers_as_resolve_does(engine: Engine, zero_copies: bool) -> None:
    """Shapes, refusals and, where the engine executes, the elements."""
    assert engine.answer is not None
    rows = rows_of(engine, installed(engine), zero_copies=zero_copies)
    complaints = []
    for data, target in world_of(engine):
        if engine.is_safe(data, target, zero_copies):
            theirs = engine.answer(data, target, zero_copies)
            said = complaint(ask_ours(engine, data, target, zero_copies=zero_copies), rows, theirs)
            if said is not None:
                complaints.append(said)

    assert not complaints, listed(complaints, f"{engine.name} differs from resolve")
