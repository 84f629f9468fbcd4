"""What a model does at sizes that no export shows, though its nodes tell that it may do something else there."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from onereshape.rule.sizes import Formula, Size
from tests.repair.fitting.exporting import EXPORTERS, Build, Case, Export, Sizes
from tests.repair.fitting.law import fitted, verdict
from tests.repair.fitting.world_numbers import ints


def lengths(*sizes: int) -> tuple[Sizes, ...]:
    return tuple({"S": size} for size in sizes)


def conditions(build: Build, *sizes: int, unseen: tuple[int, ...] = (), exporter: str = "graph") -> tuple[str, ...]:
    """What is asked of the sizes, of a model that is right at all of those that are given."""
    case = Case(str(build), build, lengths(*sizes), lengths(*unseen))
    found = verdict(case, exporter)

    assert (found.status, found.why) == ("right", "")
    return fitted(case, exporter)[1]


# Pads


def behind_a_branch(g: Export, *, before: bool = False) -> str:
    """As a tracer writes `if S % 4: x = pad(x, 4 - S % 4)`; means of 4."""
    data, size = g.x(1, 2, "S"), g.sizes["S"]
    if size % 4:
        rest = g.node("Mod", g.constant(np.array([size])), ints(g, 4))
        more, zeros = g.node("Sub", ints(g, 4), rest), [ints(g, 0) for _ in range(5)]
        zeros.insert(2 if before else 5, more)
        data = g.node("Pad", data, g.node("Concat", *zeros, axis=0))
    return g.node("AveragePool", data, kernel_shape=[4], strides=[4])


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("before", [False, True])
def test_a_pad_that_is_never_nothing_may_be_none_where_nothing_is_missing(exporter: str, *, before: bool) -> None:
    found = conditions(partial(behind_a_branch, before=before), 13, 22, unseen=(7, 15, 33), exporter=exporter)

    assert found == ("S is not divisible by 4, since no export shows what depends on it",)


def test_one_that_is_the_same_in_all_exports_may_be_none_too() -> None:
    """By 3 at 13 and 29."""
    found = conditions(behind_a_branch, 13, 29, unseen=(7, 15, 33))

    assert found == ("S is not divisible by 4, since no export shows what depends on it",)


def always(g: Export) -> str:
    """The same pad at all sizes, by 4 where nothing is missing, as one of the exports shows."""
    data, rest = g.x(1, 2, "S"), g.node("Mod", g.constant(np.array([g.sizes["S"]])), ints(g, 4))
    pads = g.node("Concat", ints(g, 0, 0, 0, 0, 0), g.node("Sub", ints(g, 4), rest), axis=0)
    return g.node("AveragePool", g.node("Neg", g.node("Pad", data, pads)), kernel_shape=[4], strides=[4])


def test_one_that_an_export_shows_there_is_as_it_is() -> None:
    assert conditions(always, 12, 27, unseen=(8, 13, 30)) == ()


def in_pairs(g: Export) -> str:
    """Frames of 3 in pairs, as many as there are, and as many frames again: padded where their number is odd."""
    frames = g.sizes["S"] // 3
    data = g.node("Conv", g.x(1, 2, "S"), g.weight(2, 2, 3), strides=[3])
    data = g.node("Transpose", g.node("AveragePool", data, kernel_shape=[2], strides=[2]), perm=[0, 2, 1])
    data = g.node("Reshape", g.node("Concat", data, data, axis=-1), ints(g, 1, frames // 2 * 2, 2))
    return g.node("Pad", data, ints(g, 0, 0, 0, 0, 1, 0)) if frames % 2 else data


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_size_that_a_pad_restores_is_asked_for_where_no_steps_tell_it(exporter: str) -> None:
    """From 9 to 16 nothing goes in steps."""
    restored, windows = conditions(in_pairs, 9, 16, unseen=(11, 27, 34), exporter=exporter)

    assert restored == "2*floor(S/6) + 1 = floor(S/3), since no export shows what depends on it"
    assert windows == "S >= 6, since no window is longer than what it goes over"


def by_nothing(g: Export, many: int) -> str:
    """A Pad that is written though it adds nothing, as `pad(x, (0, more))` is."""
    size = g.sizes["S"]
    return g.node("Relu", g.node("Pad", g.x(1, 2, "S"), ints(g, 0, 0, 0, 0, 0, -size % many)))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_what_a_pad_leaves_as_it_is_may_be_a_multiple(exporter: str) -> None:
    assert conditions(partial(by_nothing, many=8), 32, 56, unseen=(40, 8), exporter=exporter) == (
        "S is divisible by 8",
    )


def test_what_has_no_common_divisor_is_no_multiple() -> None:
    assert conditions(partial(by_nothing, many=1), 12, 23, unseen=(40, 7)) == ()


def test_parts_that_are_taken_behind_do_not_tell_the_number() -> None:
    """Multiples of 8, in blocks of 4."""

    def blocks(g: Export) -> str:
        return g.node("Reshape", by_nothing(g, 8), ints(g, 1, 2, -(-g.sizes["S"] // 8) * 2, 4))

    assert conditions(blocks, 32, 56, unseen=(40, 8)) == ("S is divisible by 8",)


def test_what_a_pad_leaves_as_it_is_may_be_as_large_as_what_it_was() -> None:
    """Half of it twice, and what is missing, which is nothing at even sizes."""

    def halves(g: Export) -> str:
        size, data = g.sizes["S"], g.x(1, 2, "S")
        half = g.node("AveragePool", data, kernel_shape=[2], strides=[2])
        again = g.node("ConvTranspose", half, g.weight(2, 2, 2), kernel_shape=[2], strides=[2])
        return g.node("Add", g.node("Pad", again, ints(g, 0, 0, 0, 0, 0, size % 2)), data)

    assert conditions(halves, 16, 40, unseen=(18, 6, 30)) == ("S is divisible by 2",)


def test_an_axis_beside_one_that_is_padded_by_a_number() -> None:
    """Pairs of rows and columns again: one row is missing in both exports, and no column is."""

    def halves(g: Export) -> str:
        high, wide = (g.sizes[name] for name in "HW")
        data = g.x(1, 2, "H", "W")
        half = g.node("AveragePool", data, kernel_shape=[2, 2], strides=[2, 2])
        again = g.node("ConvTranspose", half, g.weight(2, 2, 2, 2), kernel_shape=[2, 2], strides=[2, 2])
        return g.node("Relu", g.node("Pad", again, ints(g, 0, 0, 0, 0, 0, 0, high % 2, wide % 2)))

    exports: tuple[Sizes, ...] = ({"H": 13, "W": 16}, {"H": 25, "W": 40})
    found = verdict(Case("beside", halves, exports, ({"H": 9, "W": 18}, {"H": 31, "W": 6})), "graph")

    assert (found.status, found.why) == ("right", "")
    assert {"H leaves 1 when divided by 2", "W is divisible by 2"} <= set(found.conditions)


def test_a_pad_that_moves_entries_adds_some() -> None:
    def moved(g: Export) -> str:
        return g.node("Reshape", g.node("Pad", g.x(1, 2, "S"), ints(g, 0, 0, 1, 0, 0, -1)), ints(g, 2, g.sizes["S"]))

    assert conditions(moved, 32, 64, unseen=(33, 7)) == ()


# Same padding


def in_attributes(g: Export, *, same: bool = True) -> str:
    """Windows of 3 and of 5 in steps of 2, padded as `same` says; by attributes."""
    data, size = g.x(1, 2, "S"), g.sizes["S"]
    for window in (3, 5):
        more = max((-(-size // 2) - 1) * 2 + window - size, 0) if same else window - 1
        pads = [more // 2, more - more // 2]
        data = g.node("Conv", data, g.weight(2, 2, window), strides=[2], kernel_shape=[window], pads=pads)
        size = (size + more - window) // 2 + 1
    return data


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_attributes_that_pad_one_end_more_are_those_of_the_rests_of_all_exports(exporter: str) -> None:
    found = conditions(in_attributes, 32, 56, unseen=(36, 8, 40), exporter=exporter)

    assert found == ("S is divisible by 4",)


def test_attributes_that_pad_both_ends_are_as_they_are() -> None:
    assert conditions(partial(in_attributes, same=False), 32, 56, unseen=(36, 33, 7)) == ()


# Halves


def padded_back(g: Export, *, larger_first: bool = False) -> str:
    """What windows left out, added on both sides."""
    size, data = g.sizes["S"], g.node("Conv", g.x(1, 2, "S"), g.weight(2, 2, 5), kernel_shape=[5], strides=[3])
    more = size - ((size - 5) // 3 + 1)
    pads = [more // 2, more - more // 2]
    first, last = reversed(pads) if larger_first else pads
    return g.node("Relu", g.node("Pad", data, ints(g, 0, 0, first, 0, 0, last)))


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize(("sizes", "larger_first"), [((29, 50), False), ((30, 50), False), ((30, 50), True)])
def test_what_is_added_on_both_sides_is_halved(sizes: tuple[int, ...], exporter: str, *, larger_first: bool) -> None:
    """10 and 10, 17 and 17 may be a formula; but 29 and 50 entries are what there was."""
    build = partial(padded_back, larger_first=larger_first)

    assert conditions(build, *sizes, unseen=(11, 12, 13, 40), exporter=exporter) == (
        "S >= 5, since no window is longer than what it goes over",
    )


def centred_to(g: Export) -> str:
    """To multiples of 16 on both sides, in rows of 16."""
    more = -g.sizes["S"] % 16
    data = g.node("Pad", g.x(1, "S"), ints(g, 0, more // 2, 0, more - more // 2))
    return g.node("Reshape", data, ints(g, 1, -(-g.sizes["S"] // 16), 16))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_halves_of_what_makes_a_multiple(exporter: str) -> None:
    assert conditions(centred_to, 37, 20, unseen=(16, 33, 43, 48, 7), exporter=exporter) == ()


def test_one_entry_at_the_end_may_be_half_of_one() -> None:
    """No export shows where two would be added."""

    def filled(g: Export) -> str:
        size, data = g.sizes["S"], g.x(1, 2, "S")
        more = size % 3
        short = g.node("Slice", data, ints(g, 0), ints(g, size - more), ints(g, 2))
        return g.node("Relu", g.node("Pad", short, ints(g, 0, 0, more // 2, 0, 0, more - more // 2)))

    found = conditions(filled, 16, 25, 51, unseen=(7, 30))
    assert found == (
        "-Min(3*floor(S/3), S) + floor((Min(3*floor(S/3), S) + S)/2) = 0, since no export shows what depends on it",
    )


def from_the_middle(g: Export) -> str:
    """As many as every other entry is, from the middle."""
    size, data = g.sizes["S"], g.x(1, 2, "S")
    first, many = (size - size // 2) // 2, size // 2
    some = g.node("Slice", data, ints(g, 1), ints(g, size), ints(g, 2), ints(g, 2))
    return g.node("Add", some, g.node("Slice", data, ints(g, first), ints(g, first + many), ints(g, 2)))


def test_a_crop_from_a_formula_may_be_half_of_what_is_left_out() -> None:
    """The 7th of 29, the 12th of 50; at 31 it is the 8th, and a quarter of it is 7."""
    (found,) = conditions(from_the_middle, 29, 50, unseen=(28, 30, 33))

    assert found == ("floor((S + floor(S/2))/2) - floor(S/2) = floor(S/4), since no export shows what depends on it")


# Parts, and steps


def in_three(g: Export) -> str:
    """The last one of three chunks, which is what the others leave."""
    size = g.sizes["S"]
    many = -(-size // 3)
    parts = g.node("Split", g.x(1, 2, "S"), ints(g, many, many, size - 2 * many), axis=2, outputs=3)
    return g.node("Relu", f"{parts}.2")


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_the_last_part_is_what_the_others_leave(exporter: str) -> None:
    assert conditions(in_three, 24, 40, unseen=(17, 18, 31), exporter=exporter) == ()


def every_third(g: Export) -> str:
    data = g.node("Slice", g.x(1, 2, "S"), ints(g, 1), ints(g, g.sizes["S"]), ints(g, 2), ints(g, 3))
    many = len(range(1, g.sizes["S"], 3))
    return g.node("Mul", data, g.constant(np.float32(1 / np.sqrt(many))))


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_how_many_a_slice_takes_in_steps(exporter: str) -> None:
    assert conditions(every_third, 29, 50, unseen=(8, 30, 31), exporter=exporter) == ()


def to_eighths(g: Export) -> str:
    high, wide = (-(-g.sizes[name] // 8) * 8 for name in "HW")
    return g.node("Resize", g.x(1, 2, "H", "W"), "", "", ints(g, 1, 2, high, wide), mode="nearest")


def test_multiples_are_those_of_an_axis_of_its_own() -> None:
    """24 and 32 are multiples of 8 of both axes, and of 4 of one of them."""
    exports: tuple[Sizes, ...] = ({"H": 18, "W": 23}, {"H": 31, "W": 29})
    found = verdict(Case("eighths", to_eighths, exports, ({"H": 12, "W": 20}, {"H": 17, "W": 31})), "graph")

    assert (found.status, found.why, found.conditions) == ("right", "", ())


# Sizes that are as they were


def down_and_up(g: Export, more: int = 0, window: int = 3) -> str:
    """Half the size, and twice that again, or one less, as a ConvTranspose does that is told the size to give."""
    data = g.node("Conv", g.x(1, 2, "S"), g.weight(2, 2, 3), strides=[2], pads=[1, 1], kernel_shape=[3])
    said: dict[str, Any] = {"output_padding": [more]} if more else {}
    weights = g.weight(2, 2, window)
    return g.node("ConvTranspose", data, weights, strides=[2], pads=[1, 1], kernel_shape=[window], **said)


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize(
    ("more", "window", "sizes", "found"),
    [
        (0, 3, (13, 23), ("S leaves 1 when divided by 2",)),
        (1, 3, (12, 24), ("S is divisible by 2",)),
        (0, 4, (12, 24), ()),
        (0, 3, (13, 24), ()),
        (1, 3, (13, 24), ()),
    ],
)
def test_a_size_that_a_transposed_convolution_restores_may_be_restored_at_others(
    more: int, window: int, sizes: tuple[int, ...], found: tuple[str, ...], exporter: str
) -> None:
    """Not where it is whole multiples of its data, and nothing is added."""
    build = partial(down_and_up, more=more, window=window)
    assert conditions(build, *sizes, unseen=(15, 16, 31, 34), exporter=exporter) == found


def patched(g: Export) -> str:
    """Patches of 4 of what is padded to whole ones."""
    data = g.node("Pad", g.x(1, 2, "S"), ints(g, 0, 0, 0, 0, 0, -g.sizes["S"] % 4))
    return g.node("Conv", data, g.weight(2, 2, 4), strides=[4], kernel_shape=[4])


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_number_that_makes_patches_whole_is_that_of_all_exports(exporter: str) -> None:
    assert conditions(patched, 13, 29, unseen=(9, 33), exporter=exporter) == ("S leaves 1 when divided by 4",)


def test_what_a_pad_makes_of_an_axis_is_not_the_size_of_another() -> None:
    """8 and 12 are 10 and 14 with two more, as the heights are."""

    def wider(g: Export) -> str:
        return g.node("Relu", g.node("Pad", g.x(1, 2, "H", "W"), ints(g, 0, 0, 0, 1, 0, 0, 0, 1)))

    exports: tuple[Sizes, ...] = ({"H": 10, "W": 8}, {"H": 14, "W": 12})
    found = verdict(Case("wider", wider, exports, ({"H": 9, "W": 30},)), "graph")

    assert (found.status, found.why, found.conditions) == ("right", "", ())


def test_half_of_an_axis_is_not_half_of_another() -> None:
    """Both are 8 and 20; the rows are known by then."""

    def halved(g: Export) -> str:
        data = g.node("AveragePool", g.x(1, 2, "H", "W"), kernel_shape=[2, 1], strides=[2, 1])
        high, wide = (g.sizes[name] // 2 for name in "HW")
        return g.node("Resize", data, "", "", ints(g, 1, 2, high, wide), mode="nearest")

    exports: tuple[Sizes, ...] = ({"H": 16, "W": 17}, {"H": 40, "W": 41})
    found = verdict(Case("halved", halved, exports, ({"H": 9, "W": 30}, {"H": 22, "W": 12})), "graph")

    assert (found.status, found.why) == ("right", "")


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_sizes_that_depend_on_values_are_no_trouble(exporter: str) -> None:
    """As many entries as are above 0: padded, halved, doubled, and by as many entries is another one padded and cut."""

    def counted(g: Export) -> str:
        size, data = g.sizes["S"], g.x(1, 1, "S")
        above = g.node("Cast", g.node("Greater", data, g.constant(np.float32(0))), to=7)
        many = g.node("ReduceSum", above, ints(g, 0, 1, 2), keepdims=0)
        entries = g.node("Cast", g.node("Range", g.constant(0), many, g.constant(1)), to=1)
        entries = g.node("Reshape", entries, ints(g, 1, 1, -1))
        entries = g.node("Pad", entries, ints(g, 0, 0, 1, 0, 0, 1))
        entries = g.node("Conv", entries, g.weight(1, 1, 3), kernel_shape=[3], strides=[2])
        for _ in range(2):
            entries = g.node("ConvTranspose", entries, g.weight(1, 1, 3), kernel_shape=[3], strides=[2])
        pads = g.node("Concat", ints(g, 0, 0, 0, 0, 0), g.node("Reshape", many, ints(g, 1)), axis=0)
        longer = g.node("Pad", g.node("Reshape", data, ints(g, 1, 1, size)), pads)
        down = g.node("Conv", data, g.weight(1, 1, 3), strides=[2], pads=[1, 1], kernel_shape=[3])
        again = g.node("ConvTranspose", down, g.weight(1, 1, 3), strides=[2], kernel_shape=[3])
        cut = g.node("Slice", again, ints(g, 0), ints(g, size), ints(g, 2))
        sums = [g.node("ReduceSum", each, ints(g, 2)) for each in (entries, longer)]
        return g.node("Add", g.node("Add", *sums), cut)

    assert conditions(counted, 12, 24, unseen=(10, 30), exporter=exporter) == ("S is divisible by 2",)


# Crops


def centred(g: Export, *, at_end: bool = False) -> str:
    """What went down and up again is longer than it was, by 1 or by 2, and cut on both sides."""
    data, size = g.x(1, 2, "S"), g.sizes["S"]
    down = g.node("Conv", data, g.weight(2, 2, 3), strides=[2], pads=[1, 1])
    again = g.node("ConvTranspose", down, g.weight(2, 2, 3), strides=[2], kernel_shape=[3])
    first = 0 if at_end else (2 * -(-size // 2) + 1 - size) // 2
    cut = g.node("Slice", again, ints(g, first), ints(g, first + size), ints(g, 2))
    return g.node("Add", cut, data)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_what_is_cut_by_one_at_the_end_may_be_cut_in_the_middle(exporter: str) -> None:
    assert conditions(centred, 32, 64, unseen=(40, 18), exporter=exporter) == ("S is divisible by 2",)


def test_exports_that_cut_more_at_the_end_tell_it() -> None:
    assert conditions(partial(centred, at_end=True), 12, 23, unseen=(40, 19)) == ()


def padded_and_cut(g: Export) -> str:
    """To multiples of 4 and back again; by 1 in both exports."""
    data, size = g.x(1, 2, "S"), g.sizes["S"]
    data = g.node("Pad", data, ints(g, 0, 0, 0, 0, 0, -size % 4))
    data = g.node("Relu", g.node("Reshape", data, ints(g, 1, 2, -(-size // 4), 4)))
    data = g.node("Reshape", data, ints(g, 1, 2, -(-size // 4) * 4))
    return g.node("Slice", data, ints(g, 0), ints(g, size), ints(g, 2))


def test_what_a_pad_added_is_cut_where_it_was_added() -> None:
    found = verdict(Case("padded", padded_and_cut, lengths(7, 15, 12), lengths(13, 6)), "graph")

    assert (found.status, found.why, found.conditions) == ("right", "", ())


# Sizes of patches


def dense(g: Export, *, whole: bool) -> str:
    """Patches of 4, and a picture of their size again, or of the size that there was."""
    data = g.node("Conv", g.x(1, 2, "S"), g.weight(2, 2, 4), strides=[4], kernel_shape=[4])
    size = g.sizes["S"] // 4 * 4 if whole else g.sizes["S"]
    return g.node("Resize", data, "", "", ints(g, 1, 2, size), mode="nearest")


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_size_may_be_that_of_all_patches(exporter: str, *, whole: bool) -> None:
    found = conditions(partial(dense, whole=whole), 16, 28, unseen=(8, 40), exporter=exporter)

    assert found == ("S is divisible by 4",)


@pytest.mark.parametrize("whole", [False, True])
def test_an_export_without_whole_patches_tells_it(*, whole: bool) -> None:
    found = conditions(partial(dense, whole=whole), 18, 31, unseen=(9, 40))

    assert found == ("S >= 4, since no window is longer than what it goes over",)


# The smallest sizes


def largest(g: Export, many: int) -> str:
    return g.node("TopK", g.x(1, "S"), ints(g, many), outputs=2)


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_no_more_are_taken_than_there_are(exporter: str) -> None:
    found = conditions(partial(largest, many=5), 12, 23, unseen=(5, 6), exporter=exporter)

    assert found == ("S >= 5, since no more are taken than there are",)


def both(g: Export) -> str:
    flat = g.node("Reshape", g.x(1, "H", "W"), ints(g, 1, g.sizes["H"] * g.sizes["W"]))
    return g.node("TopK", flat, ints(g, 9), outputs=2)


def test_nor_of_what_depends_on_two_sizes() -> None:
    exports: tuple[Sizes, ...] = ({"H": 6, "W": 8}, {"H": 9, "W": 4})
    found = verdict(Case("both", both, exports, ({"H": 3, "W": 3},)), "graph")

    assert (found.status, found.why) == ("right", "")
    assert found.conditions == ("H*W >= 9, since no more are taken than there are",)


def shortened(g: Export) -> str:
    """Windows of 5 twice, the second one of what is left of every other entry."""
    data = g.node("Conv", g.x(1, 2, "S"), g.weight(2, 2, 5), kernel_shape=[5], strides=[2])
    return g.node("MaxPool", data, kernel_shape=[5])


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_no_window_is_longer_than_what_it_goes_over(exporter: str) -> None:
    found = conditions(shortened, 20, 33, unseen=(13, 14), exporter=exporter)

    assert found == ("S >= 13, since no window is longer than what it goes over",)


def test_large_sizes_are_not_tried_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of sound are ten thousands of entries."""
    asked: list[Size] = []

    def counted(size: Formula, sizes: Mapping[str, int]) -> Any:
        asked.append(size)
        return at(size, sizes)

    at, counts = Formula.at, []
    monkeypatch.setattr(Formula, "at", counted)
    for times in (1, 1000):
        asked.clear()
        exports = tuple({"S": size * times} for size in (160, 243))
        _, found = fitted(Case("sound", shortened, exports, ()), "graph")
        assert found == ("S >= 13, since no window is longer than what it goes over",)
        counts.append(len(asked))

    assert counts[1] < 3 * counts[0]
