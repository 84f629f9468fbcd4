"""Damaged files of every format: no command breaks down on any, or writes what it must not.

`make test` asks five hundred of them, `make worlds` two thousand, and `make fuzz` any number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.budget import part
from tests.fuzz.case import case
from tests.fuzz.formats import KINDS
from tests.fuzz.planted import PLANTED
from tests.fuzz.runner import found_of, workers
from tests.fuzz.worker import Room
from tests.hunting import Worker

BLOCKS, SEEDS, COUNTED = 17, 100, 200


@pytest.fixture(scope="module", name="crew")
def one_worker() -> Iterator[list[Worker]]:
    """A process for all the blocks that are run here: starting one takes seconds."""
    crew = workers(1, Room())
    yield crew
    crew[0].link.send(None)
    crew[0].process.join()


@pytest.mark.parametrize("block", [*part(range(BLOCKS), 6)])
def test_no_file_breaks_a_command(block: int, crew: list[Worker]) -> None:
    seeds = list(range(block * SEEDS, (block + 1) * SEEDS))
    found = dict(found_of(crew, [seeds], keep=True))

    assert {seed: each.offences for seed, each in found.items() if each.offences} == {}
    assert sorted(found) == seeds


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name: str) -> None:
    room = Room(frozenset({"npy"}), name, **({"patience": 0.5} if name == "hangs" else {}))
    tasks = [list(range({"writes a half": 60, "grows": 1, "hangs": 1}.get(name, 3)))]
    offences = {kind for _, found in found_of(workers(1, room), tasks) for kind, _ in found.offences}

    assert offences & PLANTED[name][1]


def test_every_case_is_the_same_again() -> None:
    assert [case(seed) for seed in range(60)] == [case(seed) for seed in range(60)]


def test_cases_are_of_every_kind_and_not_all_refused(crew: list[Worker]) -> None:
    first = BLOCKS * SEEDS
    found = [each for _, each in found_of(crew, [list(range(first, first + COUNTED))], keep=True)]
    codes = Counter(each.code for each in found)

    assert [each.offences for each in found if each.offences] == []
    assert {each.kind for each in found} == set(KINDS)
    assert codes[0] > COUNTED * 0.1
    assert codes[0] + codes[1] > COUNTED * 0.25
