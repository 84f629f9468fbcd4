"""Constants that are the same along the axes that grow, or that lie on a plane over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, Fit
from onereshape.repair.fitting.families import fit_of
from onereshape.repair.fitting.families.affine import affine
from onereshape.repair.fitting.families.same import blocks, same
from onereshape.rule.sizes import cut, symbol
from tests.repair.fitting.exports import drawn, exported, holds, spoilt
from tests.repair.fitting.making import run

S, T, H, W = (symbol(name) for name in "STHW")
SHORT, LONG, OTHER = {"S": 12}, {"S": 23}, {"S": 40}
SMALL, LARGE, WIDE = {"H": 4, "W": 4}, {"H": 9, "W": 6}, {"H": 5, "W": 11}
PLAIN = np.random.default_rng(3).normal(size=8).astype(np.float32)
WAVES = (1.0 / 10000 ** (np.arange(0, 8, 2) / 8)).astype(np.float32)


def along(numbers: Any, kind: Any = np.float32) -> Array:
    return np.asarray(numbers).astype(kind)


def angles(positions: Array) -> Array:
    return along(positions)[:, None] * WAVES


def grid(h: int, w: int) -> Array:
    rows, columns = np.meshgrid(np.arange(h), np.arange(w), indexing="ij")
    return along(np.stack([columns, rows], -1))[None, None].repeat(3, axis=1)


SEQUENCES: dict[str, tuple[tuple[Any, ...], Callable[..., Array]]] = {
    "count": ((1, S), lambda s: np.arange(s)[None]),
    "count of int32 from 2": ((S,), lambda s: (np.arange(s) + 2).astype(np.int32)),
    "count of float16": ((S, 1), lambda s: along(np.arange(s), np.float16)[:, None]),
    "columns": ((S, 2), lambda s: np.stack([np.zeros(s, np.int64), np.arange(s)], -1)),
    "every third": ((S,), lambda s: 5 - 3 * np.arange(s)),
    "angles": ((1, S, 4), lambda s: angles(np.arange(s))[None]),
    "angles backwards": ((S, 4), lambda s: angles(s - 1 - np.arange(s))),
    "angles centred": ((2 * S - 1, 4), lambda s: angles(np.arange(2 * s - 1) - (s - 1))),
    "centred integers": ((2 * S - 1,), lambda s: np.arange(2 * s - 1) - (s - 1)),
    "centred halves": ((S, 4), lambda s: angles(np.arange(s) - (s - 1) / 2)),
    "slopes of heads": (
        (4, 1, S),
        lambda s: along(np.arange(1 - s, 1))[None, None] * along([0.25, 0.0625, 2**-6, 2**-8])[:, None, None],
    ),
    "centres": ((S, 1), lambda s: along((np.arange(s) + 0.5) * 8, np.float64)[:, None]),
    "ramp": ((1, S, 1), lambda s: (along(np.arange(s)) / np.float32(s - 1))[None, :, None]),
    "ramp of parts": ((S,), lambda s: (along(np.arange(s)) + np.float32(0.5)) / np.float32(s)),
    "from -1 to 1": ((S, 1), lambda s: np.linspace(-1, 1, s, dtype=np.float32)[:, None]),
    "centres from -1 to 1": ((S,), lambda s: along(2 * (np.arange(s) + 0.5) / s - 1)),
    "round": ((S,), lambda s: along((np.arange(s) + 1) / s * 2 * np.pi)),
    "differences": ((S, S), lambda s: np.arange(s)[None] - np.arange(s)[:, None]),
    "sums": ((S, S), lambda s: along(np.arange(s)[None] * 0.5 + np.arange(s)[:, None])),
}

IMAGES: dict[str, tuple[tuple[Any, ...], Callable[..., Array]]] = {
    "grid": ((1, 3, H, W, 2), grid),
    "places": ((H, W), lambda h, w: np.arange(h * w).reshape(h, w)),
    "rows of places": ((H, 1), lambda h, w: np.arange(h)[:, None] * w),
    "after": ((H,), lambda h, w: np.arange(h) + w),
    "differences that end together": (
        (H, W),
        lambda h, w: np.arange(w)[None] - np.arange(h)[:, None] + h - w,
    ),
    "ramps": (
        (H, W, 2),
        lambda h, w: np.stack(
            np.broadcast_arrays(along(np.arange(w) / (w - 1))[None], along(np.arange(h) / (h - 1))[:, None]), -1
        ),
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_sequence_goes_on(name: str) -> None:
    dims, true = SEQUENCES[name]
    case = exported(true, dims, SHORT, LONG)
    holds(fit_of(case), case, true, OTHER, {"S": 3}, {"S": 5})


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_goes_on(name: str) -> None:
    dims, true = IMAGES[name]
    case = exported(true, dims, SMALL, LARGE)
    holds(fit_of(case), case, true, WIDE, {"H": 3, "W": 2})


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("which", [0, 1])
def test_no_entry_of_a_sequence_may_differ(name: str, which: int) -> None:
    dims, true = SEQUENCES[name]
    case = exported(true, dims, SHORT, LONG)
    more = 1 if case.arrays[0].dtype.kind == "i" else np.abs(case.arrays[which]).max() * 1e-2
    for place in [(0,) * len(dims), (-1,) * len(dims)]:
        assert affine(spoilt(case, place, which, more)) is None


def test_a_slow_column_is_compared_by_its_own_size() -> None:
    case = exported(lambda s: angles(np.arange(s)), (S, 4), SHORT, LONG)
    assert affine(spoilt(case, (4, 3), 1, 1e-6)) is None


@pytest.mark.parametrize("dims", [(S,), (1, S, 8), (S, S), (2, S)])
def test_weights_do_not_go_on(dims: tuple[Any, ...]) -> None:
    case = drawn(dims, SHORT, LONG)
    assert affine(case) is None
    assert same(case) is None
    assert blocks(case) is None


def test_two_entries_are_too_few() -> None:
    assert affine(exported(lambda s: np.arange(s) * 3, (S,), {"S": 1}, {"S": 2})) is None


def test_a_start_that_nothing_explains_is_refused() -> None:
    starts = {12: 5, 23: 9}
    assert affine(exported(lambda s: np.arange(s) + starts[s], (S,), SHORT, LONG)) is None


def doubted(fit: Fit | None) -> bool:
    """Whether there is another reading."""
    return fit is not None and bool(fit.others)


def test_two_sizes_that_grew_alike_are_told_apart_by_none() -> None:
    case = exported(lambda h, w: np.arange(3 * h) + w, (3 * H,), {"H": 4, "W": 4}, {"H": 8, "W": 8})
    assert doubted(affine(case))  # from H, or from W


def test_the_simplest_reading_is_taken() -> None:
    case = exported(lambda h, _: np.arange(h) + 4, (H,), {"H": 3, "W": 4}, {"H": 8, "W": 4})
    assert (fit := affine(case)) is not None
    assert fit.at({"H": 3, "W": 9}).tolist() == [4, 5, 6]


@pytest.mark.parametrize(
    "piece",
    [np.zeros((1, 1), np.float32), np.ones((1, 1), bool), np.full((1, 1), np.iinfo(np.int64).max), PLAIN[None]],
)
def test_the_same_goes_on(piece: Array) -> None:
    def true(s: int) -> Array:
        return piece.repeat(s, axis=0)

    case = exported(true, (S, piece.shape[1]), SHORT, LONG)
    holds(same(case), case, true, OTHER, {"S": 1})
    changed = [array.copy() for array in case.arrays]
    changed[1][-1, 0] = not changed[1][-1, 0]
    assert same(case._replace(arrays=tuple(changed))) is None


def test_a_mask_of_pairs_is_known_as_far_as_it_was_seen() -> None:
    def true(s: int) -> Array:
        return np.ones((1, s, s), bool)

    case = exported(true, (1, S, S), SHORT, LONG)
    fit = holds(same(case), case, true, {"S": 7})
    assert [(limit.size, limit.most) for limit in fit.limits] == [(S, 23)]


def test_what_differs_between_exports_is_not_the_same() -> None:
    assert same(exported(lambda s: np.full(s, s), (S,), SHORT, LONG)) is None


def test_blocks_go_on() -> None:
    def true(s: int) -> Array:
        return np.tile(PLAIN[:3], s)[None]

    case = exported(true, (1, 3 * S), SHORT, LONG)
    holds(blocks(case), case, true, OTHER, {"S": 1})
    assert blocks(spoilt(case, (0, -1), 0)) is None
    # Nothing says that an axis of that size has whole blocks.
    assert blocks(exported(lambda s: np.tile(PLAIN[:3], s // 3)[None], (1, S), {"S": 12}, {"S": 24})) is None


def test_a_ramp_whose_size_did_not_grow_has_two_readings() -> None:
    ramp = (np.arange(5) / np.float32(4)).astype(np.float32)
    case = Exported((ramp, ramp), ({"S": 10}, {"S": 11}), (cut(S, 2),))
    assert affine(case) is None


def test_a_start_that_two_readings_explain_is_refused() -> None:
    def true(h: int, w: int) -> Array:
        return np.arange(w)[None] - np.arange(h)[:, None] + h - w

    # H - W is 0 and 2; so is W - 4.
    assert doubted(affine(exported(true, (H, W), {"H": 4, "W": 4}, {"H": 8, "W": 6})))


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_third_export_must_agree(name: str) -> None:
    dims, true = SEQUENCES[name]
    case = exported(true, dims, SHORT, LONG, {"S": 17})
    holds(fit_of(case), case, true, OTHER)
    arrays = (*case.arrays[:2], case.arrays[2] + case.arrays[2].dtype.type(1))
    assert affine(case._replace(arrays=arrays)) is None


def test_the_middle_of_sizes_that_are_all_even_has_two_readings() -> None:
    def true(s: int) -> Array:
        return np.arange(s) - s // 2

    assert doubted(affine(exported(true, (S,), {"S": 12}, {"S": 24})))
    case = exported(true, (S,), SHORT, LONG)
    holds(affine(case), case, true, OTHER, {"S": 7})


@pytest.mark.parametrize("added", [1, -3, 0.25])
def test_the_middle_with_something_added_has_two_readings(added: float) -> None:
    def true(s: int) -> Array:
        return ((np.arange(s) - s // 2) * 8 + added).astype(np.float32)

    for sizes in ((12, 24), (13, 25)):
        assert doubted(affine(exported(true, (S,), *({"S": size} for size in sizes))))
    case = exported(true, (S,), SHORT, LONG)
    holds(affine(case), case, true, OTHER, {"S": 7})


def test_even_sizes_do_not_tell_halves_beside_large_numbers() -> None:
    def true(s: int) -> Array:
        return (np.arange(s)[:, None] / ((s + 1) // 2) + np.arange(1, 9)).astype(np.float32)

    assert doubted(affine(exported(true, (S, 8), {"S": 16}, {"S": 46})))


def test_a_width_that_grew_by_half_the_height_has_two_readings() -> None:
    def true(h: int, w: int) -> Array:  # noqa: ARG001 - it does not depend on it
        return ((np.arange(h) - h // 2) * 8 + 1).astype(np.float32)

    assert doubted(affine(exported(true, (H,), {"H": 64, "W": 64}, {"H": 129, "W": 96})))
    case = exported(true, (H,), {"H": 64, "W": 64}, {"H": 129, "W": 80})
    holds(affine(case), case, true, {"H": 33, "W": 50}, {"H": 40, "W": 20})


def test_a_start_that_hardly_grew_has_two_readings() -> None:
    case = exported(lambda s: np.arange(s) - s // 2, (S,), {"S": 34}, {"S": 35})
    assert doubted(affine(case))  # from -17, or from the middle


def test_parts_of_an_even_size_have_two_readings() -> None:
    def true(s: int) -> Array:
        return np.fft.rfftfreq(s).astype(np.float32)

    assert doubted(affine(exported(true, (cut(S, 2) + 1,), {"S": 12}, {"S": 24})))
    case = exported(true, (cut(S, 2) + 1,), SHORT, LONG)
    holds(affine(case), case, true, OTHER, {"S": 9})


def test_a_few_entries_of_a_curve_are_no_line() -> None:
    def true(s: int) -> Array:
        return np.asarray(np.sin(np.arange(26, 26 + s)[:, None] * np.array([1e-3, 2e-4])).astype(np.float32))

    assert affine(exported(true, (S, 2), {"S": 2}, {"S": 3})) is None


def test_a_few_round_entries_are_a_line() -> None:
    def true(s: int) -> Array:
        return ((np.arange(s) + 0.5) * 16).astype(np.float32)

    case = exported(true, (S,), {"S": 2}, {"S": 4})
    holds(affine(case), case, true, OTHER)


def test_the_nodes_have_the_dims_of_the_constant() -> None:
    case = exported(lambda s: np.arange(s)[None, :, None] + np.zeros((2, 1, 4), np.int64), (2, S, 4), SHORT, LONG)
    assert (fit := affine(case)) is not None
    assert run(fit, OTHER).shape == (2, OTHER["S"], 4)


def test_half_of_an_odd_size_is_another_reading_of_a_ramp() -> None:
    case = exported(lambda s: (np.arange(s) / (s // 2)).astype(np.float32), (S,), {"S": 13}, {"S": 23})
    assert doubted(affine(case))
    told = exported(lambda s: np.linspace(0, 2, s).astype(np.float32), (S,), {"S": 12}, {"S": 23})
    assert not doubted(affine(told))


def test_a_ramp_between_two_ends_says_nothing_of_one_entry() -> None:
    def make(size: int) -> Array:
        return np.linspace(-1, 1, size).astype(np.float32)

    def rising(size: int) -> Array:
        return np.linspace(0, 1, size).astype(np.float32)

    found = affine(exported(make, (S,), {"S": 12}, {"S": 23}))
    assert found is not None
    assert [str(limit.size) for limit in found.limits] == ["-S + 1"]
    assert [limit.most for limit in found.limits] == [-1]
    found = affine(exported(rising, (S,), {"S": 12}, {"S": 23}))
    assert found is not None
    assert not found.limits


RESTS: dict[str, tuple[tuple[int, ...], Callable[[int], Array]]] = {
    "pi over half": ((8, 40), lambda s: np.pi * np.arange(s) / (s // 2)),
    "centred over half": ((38, 20), lambda s: np.pi * (np.arange(s) - (s - 1) / 2) / -(-s // 2)),
    "from the middle": ((46, 30), lambda s: (np.arange(s) - s // 2) / (s // 2)),
    "from the middle of odd sizes": ((45, 27), lambda s: 8 * (np.arange(s) - s // 2) / s),
    "from the middle, times": ((33, 35), lambda s: (np.arange(s) - s // 2) * s / 2),
    "over one more": ((14, 46, 20), lambda s: 2 * (np.arange(s) - s // 2) / (s + 1)),
}
"""Ramps that are others, too, where the sizes leave the same rest."""


@pytest.mark.parametrize("name", RESTS)
def test_equal_rests_do_not_tell_what_is_rounded(name: str) -> None:
    sizes, make = RESTS[name]
    found = affine(exported(lambda s: make(s).astype(np.float32), (S,), *({"S": size} for size in sizes)))

    assert found is not None
    assert len({each.words for each in (found, *found.others)}) > 1


TOLD: dict[str, Callable[[int], Array]] = {
    "from -1 to 1": lambda s: np.linspace(-1, 1, s).astype(np.float32),
    "round": lambda s: along(2 * np.pi * np.arange(s) / s),
    "centres from -1 to 1": lambda s: along((2 * np.arange(s) + 1) / s - 1),
    "parts from -1": lambda s: along(2 * np.arange(s) / s - 1),
}


@pytest.mark.parametrize("name", TOLD)
def test_other_rests_tell_that_nothing_is_rounded(name: str) -> None:
    assert not doubted(affine(exported(TOLD[name], (S,), {"S": 12}, {"S": 23})))
    even = exported(TOLD[name], (S,), {"S": 12}, {"S": 20})
    assert not doubted(affine(even._replace(steps={"S": 2})))


RIVALLED: dict[str, tuple[tuple[int, ...], Callable[[int], Array]]] = {
    "half, rounded up": ((12, 23), lambda s: np.arange(s) / -(-s // 2)),
    "half of even sizes": ((12, 24), lambda s: np.arange(s) / (s // 2)),
    "backwards over half": ((6, 13), lambda s: 10 * (s - 1 - np.arange(s)) / (s // 2)),
    "three quarters": ((35, 18), lambda s: 10 * np.arange(s) / (3 * s // 4) - 1),
    "steps that are whole": ((10, 20), lambda s: np.arange(s) * (1000 // s)),
    "times half": ((12, 24), lambda s: np.arange(s) * (s // 2)),
    "parts of eights": ((27, 20), lambda s: 100 * np.arange(s) / (-(-s // 8) * 8)),
}
"""Ramps whose slopes are a multiple of those of a size by chance."""


@pytest.mark.parametrize("name", RIVALLED)
def test_a_slope_that_fits_a_size_by_chance_is_not_believed(name: str) -> None:
    sizes, make = RIVALLED[name]

    def true(s: int) -> Array:
        return make(s).astype(np.float32)

    found = affine(exported(true, (S,), *({"S": size} for size in sizes)))
    assert found is None or found.others


def test_a_size_of_a_tensor_is_another_reading_of_a_slope() -> None:
    def true(s: int) -> Array:
        return (0.3 * np.arange(s) / ((s + 1) // 2)).astype(np.float32)

    case = exported(true, (S,), {"S": 10}, {"S": 44})
    assert doubted(affine(case._replace(known=(S, cut(S + 1, 2)))))


@pytest.mark.parametrize("last", [0.5, 1, 2, 10, 255, 1 / 3, 2 * np.pi, 0.7])
@pytest.mark.parametrize("sizes", [(12, 23), (16, 37)])
def test_a_ramp_to_any_number_goes_on(last: float, sizes: tuple[int, ...]) -> None:
    def true(s: int) -> Array:
        return np.linspace(0, last, s).astype(np.float32)

    case = exported(true, (S,), *({"S": size} for size in sizes))
    holds(affine(case), case, true, OTHER, {"S": 7})
