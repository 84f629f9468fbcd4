"""Formulas that give the numbers of several exports, and whether these prove them."""

from __future__ import annotations

import pytest

from onereshape.repair.fitting.clauses import known_clauses
from onereshape.repair.fitting.formulas import Known
from onereshape.rule.sizes import Formula, cut, symbol


@pytest.mark.parametrize(("sizes", "values"), [((21, 9, 16), (4, 3, 4)), ((40, 27, 39), (6, 5, 6))])
def test_two_numbers_prove_no_quotient_with_a_start(sizes: tuple[int, ...], values: tuple[int, ...]) -> None:
    """The roots of sizes: the third export says nothing that the first did not."""
    known = Known([{"S": size} for size in sizes])

    assert not any(reading.proves for reading in known.readings(values))


def test_three_numbers_prove_one() -> None:
    known = Known([{"S": 12}, {"S": 23}, {"S": 34}])

    assert [str(each.size) for each in known.readings((4, 8, 12)) if each.proves] == ["floor((S + 2)/3)"]
    assert [str(each.size) for each in known.readings((5, 8, 12)) if each.proves] == ["floor(S/3) + 1"]


def test_small_numbers_prove_no_quotient_with_a_start() -> None:
    """5, 6 and 8 of three random sizes are what some quotient gives, and some number more."""
    known = Known([{"S": 12}, {"S": 23}, {"S": 34}])

    assert not any(reading.proves for reading in known.readings((3, 4, 6)))


@pytest.mark.parametrize(("most", "proves"), [(16, True), (17, False), (15, False)])
def test_two_exports_prove_an_end_at_a_round_number_only(most: int, *, proves: bool) -> None:
    known = Known([{"S": 12}, {"S": 23}])

    assert [str(each.size) for each in known.readings((12, most)) if each.proves] == [f"Min({most}, S)"] * proves
    known = Known([{"S": 12}, {"S": 23}, {"S": 9}])
    assert [str(each.size) for each in known.readings((12, most, 9)) if each.proves] == [f"Min({most}, S)"]


def test_the_smaller_one_of_two_sizes_ends_at_no_number() -> None:
    """12 and 9 of 12 x 20 and 18 x 9: neither says that it is never more than 12."""
    shown = [str(each.size) for each in Known([{"S": 12, "T": 20}, {"S": 18, "T": 9}]).readings((12, 9))]
    alone = [str(each.size) for each in Known([{"T": 20}, {"T": 9}]).readings((12, 9))]

    assert "Min(12, T)" in alone
    assert "Min(12, T)" not in shown


def test_what_must_be_equal_is_said_once_whatever_it_is_multiplied_by() -> None:
    height, width = symbol("H"), symbol("W")
    known = Known([{"H": 8, "W": 8}, {"H": 12, "W": 12}])
    for one, other in ((3 * height, 3 * width), (width, height), (6 * height, 6 * width)):
        known.equate(one, other)

    assert [each.text for each in known_clauses(known)] == ["H = W, since both are one dim of a tensor"]


@pytest.mark.parametrize(
    ("sizes", "numbers", "shown"),
    [
        ((12, 23), (12, 20), ["4*floor(S/4)", "Min(20, S)"]),
        ((10, 17), (10, 16), ["2*floor(S/2)", "Min(16, S)"]),
        ((16, 24), (14, 21), ["7*floor(S/7)", "floor(7*S/8)"]),
        ((10, 20), (9, 18), ["3*floor(S/3)", "floor(9*S/10)"]),
        ((12, 23), (12, 21), ["3*floor(S/3)"]),  # nothing commonly ends at 21
        ((16, 26), (14, 21), ["7*floor(S/7)"]),
    ],
)
def test_a_multiple_may_be_an_end_or_a_part_just_as_well(
    sizes: tuple[int, int], numbers: tuple[int, int], shown: list[str]
) -> None:
    found = Known([{"S": size} for size in sizes]).readings(numbers)

    told = [str(each.size) for each in found if each.proves or isinstance(each.size, Formula)]
    assert sorted(told) == shown


def test_a_free_size_goes_before_a_sum_that_has_its_values_by_chance() -> None:
    """T is 7 and 11, and so is what windows of some tensor leave; `S - 6` is as plain as T."""
    size = symbol("S")
    known = Known([{"S": 13, "T": 7}, {"S": 22, "T": 11}])
    known.add(2 * size - 2 * cut(3 * size, 4) - 1)
    side = Known([{"S": 13, "T": 7}, {"S": 17, "T": 11}])
    side.add(size - 6)

    assert [str(each.size) for each in known.readings((7, 11))] == ["T"]
    assert sorted(str(each.size) for each in side.readings((7, 11))) == ["S - 6", "T"]
