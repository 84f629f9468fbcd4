"""What a walk takes over from another one is what it would have found."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.graphs.facts.elements import array_of
from onereshape.graphs.facts.scope import Scope
from onereshape.graphs.facts.walk import Walk
from onereshape.ground.errors import FixError
from onereshape.repair.fitting import fitted as fitting
from onereshape.repair.fitting.exported import Exported
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.plan import like_plan
from onereshape.repair.fitting.regrouping import Must, Target
from onereshape.repair.fitting.replaying import Replay
from onereshape.repair.fitting.wholes import parts_of
from onereshape.rule.sizes import Size, ceiling, cut, largest, over, smallest, symbol
from tests.repair.fitting.exporting import EXPORTERS, Build, Case, Export
from tests.repair.fitting.law import verdict
from tests.repair.fitting.test_open import (
    cut_to_the_input,
    cut_to_the_other,
    in_windows,
    last_places,
    long_behind,
    padded_to_eights,
    padded_windows,
    patches,
)
from tests.repair.fitting.world import NEAR_MISSES, NEEDLESS, WORLD
from tests.repair.fitting.world_numbers import ints

S, T = symbol("S"), symbol("T")
LINES = ({"S": 12}, {"S": 23}), ({"S": 16}, {"S": 24}), ({"S": 8}, {"S": 16}), ({"S": 7}, {"S": 12}, {"S": 30})
PICTURES = ({"H": 36, "W": 44}, {"H": 52, "W": 68}), ({"H": 33, "W": 70}, {"H": 65, "W": 47})
LONG: list[Build] = [
    cut_to_the_other,
    *(partial(cut_to_the_input, added=added) for added in (False, True)),
    *(partial(padded_to_eights, cut=cut) for cut in (False, True)),
    *(partial(in_windows, layers=3, lettered=lettered) for lettered in (False, True)),
    partial(long_behind, layers=40),
]
OPEN = [
    *(Case(f"open {place} at {exports}", build, exports, ()) for place, build in enumerate(LONG) for exports in LINES),
    *(Case(f"pictures at {each}", build, each, ()) for build in (padded_windows, patches) for each in PICTURES),
    Case("last", last_places, ({"S": 6, "T": 16}, {"S": 10, "T": 24}), ()),
]
"""Graphs of which some number is open, so that they are walked more than once."""
ALL = [*OPEN, *WORLD, *NEAR_MISSES, *NEEDLESS]


def answer(case: Case, exporter: str) -> object:
    """All that is said of a case."""
    (first, names), *others = (case.at(sizes, exporter) for sizes in case.exports)
    try:
        plan = like_plan(ir.from_proto(first), [ir.from_proto(proto) for proto, _ in others], names)
    except FixError as refusal:
        return str(refusal)
    dims = {value.name: tuple(map(str, sizes)) for value, sizes in plan.dims.items()}
    return plan.changes, plan.conditions, dims


def forget(patch: pytest.MonkeyPatch) -> None:
    """Has every walk find all by itself."""
    patch.setattr(Replay, "again", lambda *_: None)
    patch.setattr(fitting, "keep_constants", lambda *_: None)
    patch.setattr(Replay, "target", lambda _self, _asked, _steps, find: find())
    patch.setattr(Known, "_once", lambda _self, _question, values, find: find(values))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_what_is_taken_over_is_what_would_be_found(exporter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = Counter[str]()
    again = Replay.again

    def counted(*given: Any) -> Any:
        found = again(*given)
        counts["taken over" if found is not None else "read"] += 1
        return found

    monkeypatch.setattr(Replay, "again", counted)
    quick = [answer(case, exporter) for case in ALL]
    forget(monkeypatch)

    assert counts["taken over"] > 200  # so that the law says something
    found = {case.name: answer(case, exporter) for case in ALL}

    assert found == {case.name: before for case, before in zip(ALL, quick, strict=True)}


def even_beside_open(g: Export) -> str:
    """A number that is told behind it; then a sequence that must be even is added to twice its half."""
    row = g.node("Expand", g.constant(np.ones((1, 1), np.float32)), ints(g, 1, -(-g.sizes["T"] // 2)))
    found = []
    for name in ("T", "S"):
        data = g.x(1, name, name=name.lower())
        pooled = g.node("MaxPool", g.node("Unsqueeze", data, ints(g, 1)), kernel_shape=[2], strides=[2], ceil_mode=1)
        half = g.node("Squeeze", pooled, ints(g, 1))
        both = g.node("Add", half, row) if name == "T" else g.node("Add", data, g.node("Concat", half, half, axis=1))
        found.append(g.node("ReduceMean", both, ints(g, 1), keepdims=1))
        found.append(g.node("Slice", half, ints(g, 1), ints(g, 2), ints(g, 1)))
    return g.node("Sum", *found)


EVEN = Case(
    "even beside open",
    even_beside_open,
    ({"S": 12, "T": 18}, {"S": 24, "T": 32}),
    ({"S": 8, "T": 5}, {"S": 10, "T": 40}),
)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_what_must_hold_is_taken_over_too(exporter: str) -> None:
    """What must be even is told by a node that reads in the second walk what it read in the first."""
    assert verdict(EVEN, exporter) == ("right", "", ("S is divisible by 2",))


# One node


def reading(*known: tuple[tuple[Size, ...], list[Any] | None]) -> tuple[ir.Node, Scope]:
    """A node that reads what other nodes give, of which dims and elements are known."""
    node = ir.Node("", "Sum", [ir.Node("", "Relu", [ir.Value(name="x")]).outputs[0] for _ in known])
    return node, told(node, *known)


def told(node: ir.Node, *known: tuple[tuple[Size, ...], list[Any] | None]) -> Scope:
    """What a walk knows of the inputs of a node."""
    graph = ir.Graph([], [], nodes=[], opset_imports={"": 18})
    scope = Scope(Walk(ir.Model(graph, ir_version=10), "_d"), graph.opset_imports)
    for value, (dims, elements) in zip(node.inputs, known, strict=True):
        assert value is not None
        scope.dims[value] = dims
        if elements is not None:
            scope.elements[value] = array_of(elements, (len(elements),))
    return scope


def replayed(
    before: tuple[tuple[Size, ...], list[Any] | None],
    now: tuple[tuple[Size, ...], list[Any] | None],
    *,
    unknown: bool = False,
) -> tuple[list[Any], Any] | None:
    """What is taken over by a walk that knows something of an input, and the dims of the result then."""
    node, scope = reading(before)
    replay = Replay()
    inputs = replay.facts(node, scope)
    assert inputs is not None
    scope.dims[node.outputs[0]] = (scope.new(),) if unknown else (2 * S,)
    replay.note(node, inputs, {}, [(S, T)], scope)
    later = told(node, now)
    again = replay.again(node, replay.facts(node, later) or (), {}, later)
    return None if again is None else ([*again], later.dims[node.outputs[0]])


ALIKE: tuple[list[Must], tuple[Size, ...]] = ([(S, T)], (2 * S,))


def test_a_node_that_reads_the_same_says_the_same() -> None:
    assert replayed(((S, 3), None), ((S, 3), None)) == ALIKE
    assert replayed(((2,), [S, 3]), ((2,), [S, 3])) == ALIKE


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (((S, 3), None), ((T, 3), None)),
        (((S,), None), ((S, 1), None)),
        (((2,), [S, 3]), ((2,), [S, 4])),
        (((2,), [S, 3]), ((2,), [T, 3])),
        (((2,), [S, 3]), ((2,), None)),
        (((2,), None), ((2,), [S, 3])),
        (((2,), [S, 1]), ((2,), [S, True])),
        (((1,), [np.float32(0)]), ((1,), [np.float32(-0.0)])),
        (((1,), [np.float32(1)]), ((1,), [np.float64(1)])),
        (((65,), [*range(65)]), ((65,), [*range(65)])),  # too many to be compared
    ],
)
def test_a_node_that_reads_something_else_is_read(before: Any, now: Any) -> None:
    assert replayed(before, now) is None


def test_an_unknown_size_is_another_one_in_the_next_walk() -> None:
    assert replayed(((S,), None), ((S,), None), unknown=True) is None


def test_other_steps_may_tell_more() -> None:
    node, scope = reading(((S,), None))
    replay = Replay()
    inputs = replay.facts(node, scope)
    assert inputs is not None
    replay.note(node, inputs, {"S": 2}, [], scope)

    assert replay.again(node, inputs, {"S": 2}, scope) is not None
    assert replay.again(node, inputs, {"S": 4}, scope) is None


def test_a_target_is_read_until_all_is_told_and_anew_for_other_steps() -> None:
    replay, open_still, told = Replay(), Target(None, []), Target((S, 2), [(S, T)])
    never = partial(pytest.fail, "it was found before")

    assert replay.target("asked", {}, lambda: open_still) is open_still
    assert replay.target("asked", {}, lambda: told) is told
    assert replay.target("asked", {}, never) is told
    assert replay.target("asked", {"S": 2}, lambda: open_still) is open_still


def test_of_the_steps_what_a_slice_takes_depends(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, set[bool]] = {}
    note = Replay.note

    def noted(self: Replay, node: ir.Node, *others: Any) -> None:
        steps, scope = others[1], others[3]
        given.setdefault(node.op_type, set()).add(steps is scope.walk.known.steps)
        note(self, node, *others)

    monkeypatch.setattr(Replay, "note", noted)
    answer(EVEN, "graph")

    assert given.pop("Slice") == {True}
    assert set().union(*given.values()) == {False}


def test_a_node_with_a_body_is_read() -> None:
    body = ir.Graph([], [], nodes=[])
    node = ir.Node("", "If", [ir.Value(name="c")], [ir.AttrGraph("then_branch", body)])

    assert Replay().facts(node, told(node, ((1,), None))) is None


# What numbers stand for


def test_an_end_is_noted_by_everyone_who_asks() -> None:
    """A copy takes over what was found before it was made and after, but for what it must note itself."""
    known = Known([{"S": 12}, {"S": 24}])
    known.add(smallest(S, 64) + 6)
    copies = [known.copied(), known.copied()]
    for each in copies:
        each.add(S + 6)

    assert [each.ends for each in copies] == [{(S, 64): None}] * 2
    assert known.ends == {}


def test_an_end_of_what_a_number_may_stand_for_is_noted_by_everyone_who_asks() -> None:
    known = Known([{"S": 12}, {"S": 24}])
    known.add(smallest(cut(S, 2), 64))
    known.add(cut(S, 2) + 5)
    one, other, third = (known.copied() for _ in range(3))
    for each, values in ((one, (8, 14)), (one, (-8, -14)), (other, (-8, -14)), (third, (8, 14))):
        each.readings(values)

        assert each.ends == {(cut(S, 2), 64): None}


def test_what_others_know_is_not_taken_for_ones_own() -> None:
    known = Known([{"S": 12}, {"S": 24}])
    one, other = known.copied(), known.copied()
    one.add(cut(S + 5, 3))
    other.add(cut(S + 1, 5))

    assert [each.size for each in one.readings((5, 9))] == [cut(S + 5, 3)]
    assert [each.size for each in other.readings((5, 9))] != [cut(S + 5, 3)]


def test_steps_tell_more_of_what_a_number_stands_for() -> None:
    known = Known([{"S": 12}, {"S": 24}])
    assert {each.size for each in known.readings((6, 12))} == {cut(S, 2), ceiling(S, 2)}

    known.whole(over(S, 2))

    assert len(known.readings((6, 12))) == 1


def test_what_leaves_no_rest_at_the_steps_is_divisible() -> None:
    arrays = (np.array(6, np.float32), np.array(12, np.float32))
    exported = Exported(arrays, ({"S": 12}, {"S": 24}), ())

    assert [*parts_of(exported, S)] == [2, 3, 4, 6, 12]
    assert [*parts_of(exported._replace(steps={"S": 4}), S)] == [3, 6, 12]


def test_those_who_know_the_same_find_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Known([{"S": 12}, {"S": 24}])
    one, other = known.copied(), known.copied()
    for each in (one, other):
        each.add(cut(S + 5, 3))
    found = one.readings((9, 13))
    monkeypatch.setattr(Known, "_list", lambda *_: pytest.fail("it was found before"))

    assert other.readings((9, 13)) is found
    other.add(largest(S, 20) + 1)
    with pytest.raises(pytest.fail.Exception):
        other.readings((9, 13))
