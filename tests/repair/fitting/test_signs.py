"""Numbers that keep the sign that they have in all exports."""

from __future__ import annotations

import onnx_ir as ir
import pytest

from onereshape.repair.fitting import plan as planning
from onereshape.repair.fitting.clauses import clause_of, clauses_of
from onereshape.repair.fitting.exported import Limit
from onereshape.repair.fitting.plan import LikePlan, like_plan
from onereshape.rule.sizes import ceiling, cut, symbol
from tests.repair.fitting.exporting import Build, Case, Export, Sizes
from tests.repair.fitting.law import verdict
from tests.repair.fitting.world_numbers import ints

TALL = ({"H": 20, "W": 12}, {"H": 23, "W": 9})
WIDE = {"H": 8, "W": 14}


def padded(g: Export) -> str:
    """A picture in a square, with nothing beside it."""
    h, w = g.sizes["H"], g.sizes["W"]
    side = max(h, w)
    return g.node("Pad", g.x(1, 2, "H", "W"), ints(g, 0, 0, 0, 0, 0, 0, side - h, side - w))


def turned(g: Export) -> str:
    """The same pads as torch's older exporter writes them: put together, the last axis first, and turned around."""
    h, w = g.sizes["H"], g.sizes["W"]
    side = max(h, w)
    pads = g.node("Concat", ints(g, 0, side - w, 0, side - h), ints(g, 0, 0, 0, 0), axis=0)
    rows = g.node("Reshape", pads, ints(g, -1, 2))
    back = g.node("Slice", rows, ints(g, -1), ints(g, -9), ints(g, 0), ints(g, -1))
    both = g.node("Transpose", back, perm=[1, 0])
    return g.node("Pad", g.x(1, 2, "H", "W"), g.node("Reshape", both, ints(g, -1)))


def one_of_two(g: Export) -> str:
    """A bound that stands beside a number which nobody takes."""
    size = g.sizes["S"]
    end = g.node("Gather", ints(g, size - 12, size - 1), ints(g, 1), axis=0)
    return g.node("Slice", g.x(1, "S", 4), ints(g, 0), end, ints(g, 1))


def to_fives(g: Export) -> str:
    """A sequence in fives, without their rest: nothing is removed where there is none."""
    size = g.sizes["S"]
    whole = g.node("Pad", g.x(1, "S", 4), ints(g, 0, 0, 0, 0, -(size % 5), 0))
    return g.node("Reshape", whole, ints(g, 1, size // 5, 5, 4))


def last(g: Export) -> str:
    """The last entries but for the first 12."""
    return g.node("Slice", g.x(1, "S", 4), ints(g, g.sizes["S"] - 12), ints(g, g.sizes["S"]), ints(g, 1))


def but_one(g: Export) -> str:
    return g.node("Slice", g.x(1, "S", 4), ints(g, 0), ints(g, g.sizes["S"] - 1), ints(g, 1))


def from_the_end(g: Export) -> str:
    """As many of the last entries of one input as another one is shorter."""
    x, z = g.x(64, "S"), g.x(4, "T", name="z")
    taken = g.node("Slice", x, ints(g, g.sizes["T"] - g.sizes["S"]), ints(g, 64), ints(g, 0))
    return g.node("Concat", g.node("Flatten", taken, axis=0), g.node("Flatten", z, axis=0), axis=1)


def by_half(g: Export) -> str:
    return g.node("Pad", g.x(1, "S", 4), ints(g, 0, 0, 0, 0, g.sizes["S"] // 2, 0))


def all_but_quarters(g: Export) -> str:
    size = g.sizes["S"]
    return g.node("Slice", g.x(1, "S", 4), ints(g, size // 4), ints(g, size - 12), ints(g, 1))


def planned(case: Case) -> LikePlan:
    (first, names), *others = (case.at(sizes, "graph") for sizes in case.exports)
    return like_plan(ir.from_proto(first), [ir.from_proto(proto) for proto, _ in others], names)


@pytest.mark.parametrize("build", [padded, turned])
def test_a_picture_is_padded_as_far_as_it_is_tall(build: Build) -> None:
    case = Case("padded", build, TALL, ({"H": 30, "W": 7}, {"H": 9, "W": 9}))

    assert verdict(case, "graph").status == "right"
    assert planned(case).conditions == ("W <= H, since a pad that is negative removes entries",)
    assert verdict(case._replace(unseen=(WIDE,)), "graph").status == "wrong"  # as the condition says


def test_a_planted_bug_says_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "signs", lambda *_: iter(()))

    assert not planned(Case("padded", padded, TALL, ())).conditions


ROWS = ({"S": 20}, {"S": 33})


@pytest.mark.parametrize(
    ("build", "exports", "conditions"),
    [
        (last, ROWS, ("S >= 12, since a start that is negative counts from the end",)),
        (but_one, ROWS, ()),
        (one_of_two, ROWS, ()),
        (to_fives, ({"S": 12}, {"S": 23}), ()),
        (all_but_quarters, ({"S": 20}, {"S": 35}), ("S >= 12, since an end that is negative counts from the end",)),
        (by_half, ({"S": 12}, {"S": 23}), ()),
        (
            from_the_end,
            ({"S": 12, "T": 7}, {"S": 23, "T": 14}),
            ("T <= S - 1, since only a start that is negative counts from the end",),
        ),
    ],
)
def test_a_bound_keeps_its_sign(build: Build, exports: tuple[Sizes, ...], conditions: tuple[str, ...]) -> None:
    assert planned(Case("bound", build, exports, ())).conditions == conditions


def test_a_limit_of_one_symbol_that_rises_and_falls_is_said_by_its_end() -> None:
    size = symbol("S")
    limit = Limit(0 - (size - 2 * cut(size, 4) - 3), 0, "that is so")

    assert clause_of(limit, [{"S": 20}, {"S": 33}]).text == "S >= 5, since that is so"


def test_a_limit_that_comes_and_goes_is_said_by_its_formula() -> None:
    """A pad to multiples of 16, less 6, is negative again and again."""
    size = ceiling(symbol("S"), 16) * 16 - symbol("S") - 6
    clause = clause_of(Limit(0 - size, 0, "that is so"), [{"S": 37}, {"S": 20}])

    assert clause.text == "S + 6 <= 16*floor((S + 15)/16), since that is so"
    assert [each for each in range(33, 50) if clause.excludes({"S": each})] == [43, 44, 45, 46, 47, 48]


def test_where_sizes_go_in_steps_others_do_not_count() -> None:
    size = 8 - (symbol("S") - cut(symbol("S"), 16) * 16)
    limit, exports = Limit(0 - size, 0, "that is so"), [{"S": 40}, {"S": 24}]

    assert clause_of(limit, exports).excludes({"S": 13})
    assert not any(clause_of(limit, exports, {"S": 16}).excludes({"S": size}) for size in range(8, 200, 16))


def test_nobody_is_told_that_a_size_is_at_least_one() -> None:
    one, two = (Limit(number - symbol("S"), 0, "that is so") for number in (1, 2))

    assert [each.text for each in clauses_of([one, two], [{"S": 20}], {})] == ["S >= 2, since that is so"]
