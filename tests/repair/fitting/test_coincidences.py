"""What exports show by chance: a number that one formula gives, and that another one, as likely, gives as well."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.multiples import _PaddedAxis, _read
from onereshape.rule.sizes import Size, ceiling, cut, symbol
from tests.repair.fitting.exporting import EXPORTERS, Build, Case, Export, Sizes
from tests.repair.fitting.law import Verdict, verdict
from tests.repair.fitting.world_numbers import ints

Shown = tuple[Sizes, ...]


def up(size: int, many: int) -> int:
    """The next multiple."""
    return -(-size // many) * many


def pictures(*sizes: tuple[int, int]) -> Shown:
    return tuple({"H": high, "W": wide} for high, wide in sizes)


def sequences(*sizes: tuple[int, int]) -> Shown:
    return tuple({"S": one, "T": other} for one, other in sizes)


def refused(found: Verdict, *words: str) -> bool:
    return found.status == "refused" and all(word in found.why for word in words)


# Pads to multiples


def to_multiples(g: Export, many: int) -> str:
    """A picture, padded to multiples of a number, and what is to be added to all of it."""
    h, w = g.sizes["H"], g.sizes["W"]
    high, wide = up(h, many), up(w, many)
    whole = g.node("Pad", g.x(1, 2, "H", "W"), ints(g, 0, 0, 0, 0, 0, 0, high - h, wide - w))
    return g.node("Add", whole, g.constant(np.ones((high, wide), np.float32)))


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize(
    ("many", "shown", "words"),
    [
        (8, pictures((12, 20), (13, 27)), ("is padded", "16", "8*floor((H + 7)/8)")),  # to 16 in both
        (8, pictures((12, 20), (16, 27)), ("is padded",)),  # to 24 and 32: twice the height
        (5, pictures((3, 4), (7, 9)), ("W + 1", "5*floor")),  # to 5 and 10: by 1 in the other axis
    ],
)
def test_a_pad_to_what_may_be_a_multiple_is_refused(
    many: int, shown: Shown, words: tuple[str, ...], exporter: str
) -> None:
    found = verdict(Case(f"multiples {many}", partial(to_multiples, many=many), shown, ()), exporter)

    assert refused(found, "[ambiguous]", *words), found


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize(
    ("many", "shown", "unseen", "condition"),
    [
        (8, pictures((20, 33), (30, 17)), pictures((13, 25), (16, 41)), "W leaves 1 when divided by 8"),
        (5, pictures((20, 33), (30, 17)), pictures((15, 25), (40, 12)), "H is divisible by 5"),
    ],
)
def test_an_axis_that_is_padded_by_a_number_beside_one_to_multiples_keeps_its_rest(
    many: int, shown: Shown, unseen: Shown, condition: str, exporter: str
) -> None:
    build = partial(to_multiples, many=many)

    assert verdict(Case(f"beside {many}", build, shown, unseen), exporter) == ("right", "", (condition,))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_pad_to_multiples_that_the_exports_show_is_right(exporter: str) -> None:
    shown, unseen = pictures((13, 22), (20, 33), (30, 17)), pictures((16, 24), (17, 25), (32, 9))

    assert verdict(Case("shown", partial(to_multiples, many=8), shown, unseen), exporter) == ("right", "", ())


def beside_the_input(g: Export) -> str:
    """Half of a picture, made twice as large and padded to what it was: one more where that was odd."""
    h, w = g.sizes["H"], g.sizes["W"]
    data = g.x(1, 2, "H", "W")
    small = g.node("MaxPool", data, kernel_shape=[2, 2], strides=[2, 2])
    scales = g.constant(np.array([1, 1, 2, 2], np.float32))
    large = g.node("Resize", small, "", scales, mode="nearest")
    whole = g.node("Pad", large, ints(g, 0, 0, 0, 0, 0, 0, h % 2, w % 2))
    return g.node("Concat", data, whole, axis=1)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_pad_to_the_size_of_other_data_is_right_though_it_may_be_a_multiple(exporter: str) -> None:
    """12 and 21 are multiples of 3; but the input has these sizes."""
    shown, unseen = pictures((12, 14), (21, 35)), pictures((13, 14), (16, 25))

    assert verdict(Case("skipped", beside_the_input, shown, unseen), exporter) == ("right", "", ())


def beside_a_resized(g: Export) -> str:
    """A picture, padded to multiples of 8, and the same made as large."""
    h, w = g.sizes["H"], g.sizes["W"]
    high, wide = up(h, 8), up(w, 8)
    data = g.x(1, 2, "H", "W")
    large = g.node("Resize", data, "", "", ints(g, 1, 2, high, wide), mode="nearest")
    whole = g.node("Pad", data, ints(g, 0, 0, 0, 0, 0, 0, high - h, wide - w))
    return g.node("Add", whole, large)


def beside_a_mask(g: Export) -> str:
    """A picture, padded to multiples of 8, and a mask that is calculated from two constants before it."""
    h, w = g.sizes["H"], g.sizes["W"]
    high, wide = up(h, 8), up(w, 8)
    mask = g.node("Add", g.constant(np.ones((high, 1))), g.constant(np.ones((1, wide))))
    whole = g.node("Pad", g.x(1, 2, "H", "W"), ints(g, 0, 0, 0, 0, 0, 0, high - h, wide - w))
    return g.node("Add", whole, mask)


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize(("build", "done"), [(beside_a_resized, "resized"), (beside_a_mask, "padded")])
def test_a_size_that_was_read_does_not_tell_what_others_are_padded_to(build: Build, done: str, exporter: str) -> None:
    """To 24 and 32: twice the height, or multiples of 8."""
    found = verdict(Case(build.__name__, build, pictures((12, 20), (16, 27)), ()), exporter)

    assert refused(found, "[ambiguous]", f"is {done}"), found


def to_a_number(g: Export) -> str:
    size = g.sizes["S"]
    whole = g.node("Pad", g.x(1, "S", 2), ints(g, 0, 0, 0, 0, 24 - size, 0))
    return g.node("Add", whole, g.constant(np.arange(24.0).reshape(24, 1)))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_pad_to_a_number_is_no_pad_to_its_multiples_as_far_as_it_goes(exporter: str) -> None:
    shown, unseen = ({"S": 12}, {"S": 23}), ({"S": 5}, {"S": 24})
    conditions = ("S <= 24, since a pad that is negative removes entries",)

    assert verdict(Case("number", to_a_number, shown, unseen), exporter) == ("right", "", conditions)


def test_a_pad_is_to_multiples_where_it_is_everywhere_and_follows_its_data() -> None:
    known, size = Known([{"S": 8}, {"S": 21}]), symbol("S")

    def read(padded: Size, *multiples: int) -> list[int]:
        return _read(_PaddedAxis(size, padded, varies=True, multiples=multiples), known)

    assert read(ceiling(size, 3) * 3, 3, 7) == [3]
    assert read(cut(size, 8) * 8 + 8, 2, 4, 8) == [8]  # beyond what are multiples already
    assert read(cut(size, 2) * 2 + 1, 3) == []  # no multiple
    assert read(ceiling(size, 2) * 4, 4) == []  # much more than the next
    assert read(cut(size, 3) * 3, 3) == []  # less than there are


def in_multiples(g: Export) -> str:
    """A table of as many entries as multiples of 5 have."""
    size = g.sizes["S"]
    table = g.constant(np.ones(up(size, 5), np.float32))
    return g.node("Add", g.node("ReduceSum", g.x("S"), keepdims=1), table)


def in_whole_multiples(g: Export) -> str:
    return g.node("Slice", g.x("S"), ints(g, 0), ints(g, g.sizes["S"] // 5 * 5))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_of_several_numbers_of_which_sizes_are_multiples_none_is_likelier(exporter: str) -> None:
    """20 and 10, of 20 and 9, are multiples of 2, of 5 and of 10."""
    two = verdict(Case("two", in_multiples, ({"S": 20}, {"S": 9}), ()), exporter)
    assert refused(two, "[ambiguous]", "2*floor((S + 1)/2)", "5*floor((S + 4)/5)"), two
    below = verdict(Case("below", in_whole_multiples, ({"S": 21}, {"S": 10}), ()), exporter)
    assert refused(below, "[ambiguous]", "2*floor(S/2)", "5*floor(S/5)"), below
    three = Case("three", in_multiples, ({"S": 20}, {"S": 9}, {"S": 13}), ({"S": 31}, {"S": 25}))
    assert verdict(three, exporter) == ("right", "", ())


def last_windows(g: Export, *, windows: bool) -> str:
    """What a sequence in windows of 3 has before the last one."""
    whole = up(g.sizes["S"], 3)
    table = g.constant(np.ones(whole - 3, np.float32))
    found = g.node("Add", g.node("ReduceSum", g.x("S"), keepdims=1), table)
    return g.node("Concat", found, g.constant(np.zeros(whole, np.float32)), axis=0) if windows else found


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_where_the_last_window_begins_is_told_by_a_size_that_is_whole_windows(exporter: str) -> None:
    none = ({"S": 17}, {"S": 34}, {"S": 26})
    found = verdict(Case("none", partial(last_windows, windows=True), none, ()), exporter)
    assert refused(found, "[ambiguous]", "3*floor(S/3)", "3*floor((S + 2)/3) - 3"), found
    one = ({"S": 17}, {"S": 33}, {"S": 26})
    found = verdict(Case("one", partial(last_windows, windows=True), one, ({"S": 24}, {"S": 40})), exporter)
    assert found == ("right", "", ())


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_whole_windows_are_read_where_nothing_has_one_more(exporter: str) -> None:
    def whole(g: Export) -> str:
        return g.node("Slice", g.x("S"), ints(g, 0), ints(g, g.sizes["S"] // 3 * 3))

    shown, unseen = ({"S": 17}, {"S": 34}, {"S": 26}), ({"S": 24}, {"S": 40})
    assert verdict(Case("whole", whole, shown, unseen), exporter) == ("right", "", ())


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_less_than_a_size_is_no_last_window_where_all_sizes_are_whole_windows(exporter: str) -> None:
    shown, unseen = ({"S": 18}, {"S": 27}), ({"S": 24}, {"S": 40})

    def less(g: Export) -> str:
        row = g.node("Add", g.x("S"), g.constant(np.ones(g.sizes["S"], np.float32)))
        return g.node("Concat", row, g.constant(np.zeros(g.sizes["S"] - 3, np.float32)), axis=0)

    assert verdict(Case("less", less, shown, unseen), exporter) == ("right", "", ())


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_an_export_is_named_that_would_tell_whatever_the_rests(exporter: str) -> None:
    """Sizes that both go on by 1 and by 3 leave the rest of the second as it is."""

    def wide(g: Export) -> str:
        whole = up(g.sizes["W"], 3)
        tables = [g.constant(np.full(size, 0.5, np.float32)) for size in (whole - 3, whole)]
        both = g.node("Concat", *tables, axis=0)
        return g.node("Add", g.node("ReduceSum", g.x("H", "W"), keepdims=0), both)

    found = verdict(Case("rests", wide, pictures((12, 17), (25, 35), (33, 26)), ()), exporter)
    assert refused(found, "[ambiguous]", "one more export would, at H = "), found


# Numbers that tell each other


def in_two_parts(g: Export) -> str:
    """Two fifths of one number, and the rest of another one."""
    h = g.sizes["H"]
    ones, twos = (g.constant(np.full((many, 1), number)) for many, number in ((2 * h // 5, 1.0), (h - 2 * h // 5, 2.0)))
    return g.node("Add", g.x("H", "W"), g.node("Concat", ones, twos, axis=0))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_parts_that_happen_to_add_up_do_not_tell_each_other(exporter: str) -> None:
    found = verdict(Case("parts", in_two_parts, pictures((12, 20), (16, 27)), ()), exporter)

    assert refused(found), found


def half_of_the_other(g: Export) -> str:
    """A sequence and half of another one behind it, and what is added to all of it."""
    s, t = g.sizes["S"], g.sizes["T"]
    half = g.node("Slice", g.x("T", 4, name="t"), ints(g, 0), ints(g, t // 2), ints(g, 0))
    table = np.concatenate([np.zeros((s, 1)), np.ones((t // 2, 1))]).astype(np.float32)
    return g.node("Add", g.node("Concat", g.x("S", 4, name="s"), half, axis=0), g.constant(table))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_length_of_a_table_does_not_tell_what_it_is_added_to(exporter: str) -> None:
    """`S + floor(S/2)` is among what that length may be, and `S + floor(T/2)`, which it is, is not."""
    found = verdict(Case("halves", half_of_the_other, sequences((8, 8), (17, 17)), ()), exporter)
    assert refused(found, "[ambiguous]", "floor(S/2)", "floor(T/2)"), found

    shown, unseen = sequences((8, 9), (17, 24)), sequences((16, 24), (12, 7))
    assert verdict(Case("apart", half_of_the_other, shown, unseen), exporter).status == "right"


def last_two(g: Export) -> str:
    """The last two of one sequence, by their places; and another one."""
    s = g.sizes["S"]
    places = g.constant(np.array([[s - 2], [s - 1]], np.int64))
    return g.node("Concat", g.node("GatherND", g.x("S", name="s"), places), g.x("T", name="t"), axis=0)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_places_in_a_row_are_not_read_as_if_they_were_far_apart(exporter: str) -> None:
    """10 and 14 are half of 20 and 27, rounded up; but 11 and 15 come next to them."""
    found = verdict(Case("row", last_two, sequences((12, 20), (16, 27)), ()), exporter)
    assert refused(found, "[ambiguous]", "S - 2"), found

    def beside_a_half(g: Export) -> tuple[str, str]:
        return last_two(g), g.node("MaxPool", g.x(1, 1, "T", name="u"), kernel_shape=[2], strides=[2], ceil_mode=1)

    found = verdict(Case("row beside a half", beside_a_half, sequences((12, 20), (16, 27)), ()), exporter)
    assert refused(found, "[ambiguous]", "S - 2"), found

    shown, unseen = sequences((12, 20), (23, 9)), sequences((16, 27), (9, 12))
    assert verdict(Case("apart", last_two, shown, unseen), exporter) == ("right", "", ())


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_places_that_are_data_of_what_is_told_sizes_are_in_a_row_too(exporter: str) -> None:
    def spread(g: Export) -> str:
        s = g.sizes["S"]
        places = g.node("Expand", g.constant(np.array([[s - 2], [s - 1]], np.int64)), ints(g, 3, 2, 1))
        found = g.node("Reshape", g.node("GatherND", g.x("S", name="s"), places), ints(g, -1))
        return g.node("Concat", found, g.x("T", name="t"), axis=0)

    found = verdict(Case("spread", spread, sequences((12, 20), (16, 27)), ()), exporter)
    assert refused(found, "[ambiguous]", "S - 2"), found


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_sizes_in_a_row_are_sizes(exporter: str) -> None:
    """All exports have one more of the one than of the other, as two sizes of a target."""

    def both(g: Export) -> tuple[str, ...]:
        target = ints(g, g.sizes["S"], g.sizes["T"])
        return g.x("S", name="s"), g.x("T", name="t"), g.node("Expand", g.constant(np.array(2.0)), target)

    shown, unseen = sequences((12, 13), (20, 21)), sequences((16, 9), (7, 24))
    assert verdict(Case("both", both, shown, unseen), exporter).status == "right"


def beside_a_third(g: Export) -> tuple[str, str]:
    """Zeros, a third of a picture high, and a picture that is a third as high, of another rest."""
    data = g.x(1, 1, "H", "W")
    some = g.node("ConstantOfShape", ints(g, g.sizes["H"] // 3))
    small = g.node("MaxPool", data, kernel_shape=[2, 1], strides=[3, 1])
    return some, small


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_size_that_comes_later_is_not_believed_where_another_is_proven(exporter: str) -> None:
    """`floor((H + 1)/3)` is a size of the model, and `floor(H/3)` is what is meant."""
    shown = pictures((30, 17), (19, 40))

    assert refused(verdict(Case("later", beside_a_third, shown, ()), exporter), "[ambiguous]")
