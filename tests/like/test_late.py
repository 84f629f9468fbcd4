"""The order in which nodes are read, and which readings of several numbers fit together."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import onnx_ir as ir
import pytest

from onereshape.models.facts.order import late
from onereshape.models.like import narrowing
from onereshape.models.like.formulas import Known
from onereshape.models.like.narrowing import Narrowed, by_equal, by_whole
from onereshape.sizes import Size, ceiling, cut, largest, over, smallest, symbol

S = symbol("S")
ONE, OTHER = symbol("?0.0"), symbol("?1.0")


@pytest.mark.parametrize("seed", range(200))
def test_what_needs_constants_alone_waits_until_it_is_needed(seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a seed that fails must fail again
    given = [ir.Value(name="x")]
    constant = ir.Value(name="c", const_value=ir.tensor([1]))
    values: list[ir.Value] = [*given, constant]
    nodes: list[ir.Node] = []
    for _ in range(random.randint(1, 25)):
        read = random.sample(values, random.randint(0, min(3, len(values))))
        nodes.append(ir.node("Op", read, num_outputs=random.randint(1, 2)))
        values += nodes[-1].outputs

    found = late(nodes)

    place = {node: number for number, node in enumerate(found)}
    assert len(place) == len(found) == len(nodes)
    makers = {node: {maker for value in node.inputs if value and (maker := value.producer())} for node in nodes}
    assert all(place[maker] < place[node] for node in nodes for maker in makers[node])
    fed: set[ir.Node] = set()
    for node in nodes:
        if given[0] in node.inputs or makers[node] & fed:
            fed.add(node)
    assert [node for node in found if node in fed] == [node for node in nodes if node in fed]
    for node in set(nodes) - fed:
        users = [place[user] for value in node.outputs for user, _ in value.uses()]
        between = found[place[node] + 1 : min(users, default=len(found))]
        assert fed.isdisjoint(between) or not (needed_by(node) & fed)


def needed_by(node: ir.Node) -> set[ir.Node]:
    """The nodes that need a node, near or far."""
    found: set[ir.Node] = set()
    pending = [node]
    while pending:
        users = {user for value in pending.pop().outputs for user, _ in value.uses()} - found
        found |= users
        pending += users
    return found


READINGS: list[Size] = [S, cut(S, 2), ceiling(S, 2), cut(S, 3), S - 2, 2 * S, smallest(S, 40), over(S * S, S - 12)]
ASKED: list[tuple[Size, Size]] = [
    (ONE, OTHER),
    (2 * ONE, OTHER + S),
    (smallest(ONE + 2, OTHER), cut(S, 2)),
    (smallest(ONE, 64), OTHER),
    (smallest(ONE - OTHER, S), S),
    (smallest(ONE - OTHER + 48, S), S),
    (largest(0, smallest(ONE + 2, OTHER) - 1), cut(S, 2) - 1),
    (over(S, ONE), over(S, OTHER)),
    (ONE * (S - 12), S * OTHER),
]


@pytest.mark.parametrize(("one", "other"), ASKED)
@pytest.mark.parametrize("sizes", [(12, 24), (13, 30), (8, 16, 44)])
def test_what_fits_at_samples_fits_in_formulas(
    one: Size, other: Size, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether something holds of readings is told by their numbers; formulas of them say the same."""

    def answers() -> list[Any]:
        found = []
        for first, second in product([READINGS[:4], READINGS[4:], READINGS], repeat=2):
            for whole in (False, True):
                known = Known([{"S": size, "?0.0": size, "?1.0": size} for size in sizes])
                left = {"?0.0": [*first], "?1.0": [*second]}
                told = by_whole(known, left, over(one, 2), {}) if whole else by_equal(known, left, one, other, {})
                found.append((told, left, known.ends))
        return found

    quick = answers()
    monkeypatch.setattr(Known, "at_samples", lambda *_: None)

    assert quick == answers()


def test_the_same_is_asked_once_until_more_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    fits = narrowing._fits

    def counted(*given: Any) -> Any:
        asked.append(given)
        return fits(*given)

    monkeypatch.setattr(narrowing, "_fits", counted)
    known, seen = Known([{"S": 12, "?0.0": 6}, {"S": 24, "?0.0": 12}]), Narrowed()
    readings: list[Size] = [cut(S, 2), ceiling(S, 2), cut(S, 2) + 1]

    def told() -> list[Size]:
        left = {"?0.0": [*readings]}
        assert by_equal(known, left, 2 * ONE, 2 * ceiling(S, 2), seen) == {"?0.0"}
        return left["?0.0"]

    assert (told(), told()) == ([ceiling(S, 2)], [ceiling(S, 2)])
    assert len(asked) == 1
    known.whole(over(S, 2))

    assert told() == readings[:2]
    assert len(asked) == 2


def test_what_ends_somewhere_is_asked_again() -> None:
    """A walk that begins anew does not know of an end that another one has noted."""
    seen = Narrowed()
    for _ in range(2):
        known = Known([{"S": 12, "?0.0": 12}, {"S": 24, "?0.0": 24}])

        by_equal(known, {"?0.0": [S, 2 * S]}, smallest(ONE, 64), S, seen)

        assert known.ends == {(S, 64): None}
