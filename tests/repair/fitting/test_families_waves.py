"""Sines and cosines of positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported
from onereshape.repair.fitting.families import fit_of, readings_of
from onereshape.repair.fitting.families.waves import waves
from onereshape.rule.sizes import cut, symbol
from tests.repair.fitting.exports import computed, drawn, exported, holds, spoilt

S, H, W = symbol("S"), symbol("H"), symbol("W")
SHORT, LONG, FAR = {"S": 12}, {"S": 23}, {"S": 200}
single = np.float32


def rotary(base: float, count: int) -> Array:
    """As rotary embeddings have them."""
    return np.asarray(1 / single(base) ** (np.arange(0, 2 * count, 2).astype(single) / single(2 * count)))


def powers(base: float, count: int) -> Array:
    """As sinusoidal embeddings have them."""
    return np.asarray(np.exp(np.arange(0, 2 * count, 2).astype(single) * single(-np.log(base) / (2 * count))))


def spaced(base: float, count: int) -> Array:
    """From 1 to one part of the base, both among them."""
    return np.asarray(np.exp(np.arange(count).astype(single) * single(-np.log(base) / (count - 1))))


def angles(places: Any, frequencies: Array) -> Array:
    return np.asarray(np.asarray(places).astype(single)[:, None] * frequencies)


def halves(found: Array) -> Array:
    return np.concatenate([np.sin(found), np.cos(found)], -1)


def turns(found: Array) -> Array:
    return np.stack([np.sin(found), np.cos(found)], -1).reshape(len(found), -1)


def twice(found: Array) -> Array:
    return np.concatenate([found, found], -1)


def uneven(count: int) -> Array:
    """Frequencies in no order, as scaled rotary embeddings have them."""
    slower = rotary(10000, count)
    slower[count // 2 :] /= single(3.7)
    slower[count // 3] *= single(0.8)
    return slower


TABLES: dict[str, tuple[tuple[Any, ...], Callable[..., Array]]] = {
    "rotary cosines": ((1, 1, S, 8), lambda s: np.cos(twice(angles(np.arange(s), rotary(10000, 4))))[None, None]),
    "rotary sines": ((1, S, 8), lambda s: np.sin(twice(angles(np.arange(s), rotary(10000, 4))))[None]),
    "rotary cosines of a large base": ((S, 64), lambda s: np.cos(twice(angles(np.arange(s), rotary(500000, 32))))),
    "rotary sines side by side": ((S, 16), lambda s: np.sin(angles(np.arange(s), rotary(10000, 8)).repeat(2, -1))),
    "scaled": ((S, 8), lambda s: np.cos(twice(angles(np.arange(s), rotary(10000, 4)))) * single(1.2079442)),
    "scaled sines": ((S, 8), lambda s: np.sin(angles(np.arange(s), rotary(10000, 8))) * single(1.5)),
    "interleaved": ((1, S, 16), lambda s: turns(angles(np.arange(s), powers(10000, 8)))[None]),
    "halves": ((S, 16), lambda s: halves(angles(np.arange(s), spaced(10000, 8)))),
    "from 2": ((S, 16), lambda s: halves(angles(np.arange(s) + 2, spaced(10000, 8)))),
    "backwards": ((S, 16), lambda s: turns(angles(s - 1 - np.arange(s), powers(10000, 8)))),
    "centred": ((2 * S - 1, 16), lambda s: turns(angles(s - 1 - np.arange(2 * s - 1), powers(10000, 8)))),
    "heads": ((S, 3, 8), lambda s: np.sin(twice(angles(np.arange(s), rotary(10000, 4))))[:, None].repeat(3, 1)),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_goes_on(name: str) -> None:
    dims, true = TABLES[name]
    case = exported(true, dims, SHORT, LONG)
    assert case.arrays[0].dtype == single
    fit = holds(fit_of(case), case, true, {"S": 5}, {"S": 60}, FAR)
    assert not fit.limits


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("which", [0, 1])
def test_no_entry_of_a_table_may_differ(name: str, which: int) -> None:
    dims, true = TABLES[name]
    case = exported(true, dims, SHORT, LONG)
    for place in [(-1,) * len(dims), (4,) + (0,) * (len(dims) - 1)]:
        if place[0] < case.arrays[which].shape[0]:
            assert waves(spoilt(case, place, which, 1e-4)) is None


def test_measured_frequencies_have_a_limit() -> None:
    def true(s: int) -> Array:
        return np.asarray(turns(angles(np.arange(s), uneven(9))))

    case = exported(true, (S, 18), SHORT, LONG)
    assert (fit := fit_of(case)) is not None
    assert [(limit.size, limit.most) for limit in fit.limits] == [(S, 184)]
    far = {"S": 184}
    assert np.abs(fit.at(far) - true(184)).max() < 2e-5
    assert np.abs(computed(fit, far, 13, np.dtype(single)) - fit.at(far)).max() < 1e-6


def test_a_grid_has_waves_along_both_axes() -> None:
    def true(h: int, w: int) -> Array:
        rows, columns = (halves(angles(np.arange(size), rotary(10000, 4))) for size in (h, w))
        dims = (h, w, 8)
        return np.concatenate(
            [np.broadcast_to(rows[:, None], dims), np.broadcast_to(columns[None], dims)], -1, dtype=single
        )

    case = exported(true, (H, W, 16), {"H": 9, "W": 9}, {"H": 14, "W": 12})
    holds(fit_of(case), case, true, {"H": 5, "W": 40}, {"H": 31, "W": 3})


def test_halves_of_float16() -> None:
    def true(s: int) -> Array:
        return np.asarray(turns(angles(np.arange(s), rotary(10000, 4))).astype(np.float16))

    case = exported(true, (S, 8), SHORT, LONG)
    holds(fit_of(case), case, true, {"S": 30})


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_no_waves(seed: int) -> None:
    assert waves(drawn((1, S, 8), SHORT, LONG, seed=seed)) is None
    assert waves(drawn((S,), SHORT, LONG, seed=seed)) is None


def test_few_positions_are_no_waves() -> None:
    case = exported(lambda s: turns(angles(np.arange(s), rotary(10000, 4))), (S, 8), {"S": 3}, {"S": 6})
    assert waves(case) is None


def test_a_part_of_a_parabola_is_no_wave() -> None:
    case = exported(lambda s: (1 - np.arange(s)[:, None] ** 2 * 1e-4).astype(single), (S, 1), SHORT, LONG)
    assert waves(case) is None


def test_tables_of_one_size_do_not_say_where_positions_start() -> None:
    table = turns(angles(np.arange(20), rotary(10000, 4)))
    assert waves(Exported((table, table), ({"S": 20}, {"S": 20}), (S, 8))) is None


RAMPS: dict[str, Callable[[Any], Array]] = {
    "from 0": lambda s: np.arange(s) / s,
    "from 1, as DETR's": lambda s: np.arange(1, s + 1) / (s + 1e-6),
    "in the middle of each": lambda s: (np.arange(s) + 0.5) / s,
    "from -1 to 1, as DINOv3's": lambda s: 2 * (np.arange(s) + 0.5) / s - 1,
    "to the last": lambda s: np.arange(s) / (s - 1),
    "from -1 to the last": lambda s: 2 * np.arange(s) / (s - 1) - 1,
}


@pytest.mark.parametrize("scale", [2 * np.pi, 14.0])
@pytest.mark.parametrize("name", RAMPS)
def test_waves_of_ramps_turn_as_far_in_all_exports(name: str, scale: float) -> None:
    case = exported(lambda s: halves(angles(RAMPS[name](s) * scale, rotary(100, 4))), (S, 8), SHORT, LONG)
    fit = fit_of(case)

    assert fit is not None
    for size in (9, 16, 60):
        wanted = halves(angles(RAMPS[name](size) * scale, rotary(100, 4)))
        assert np.allclose(fit.at({"S": size}), wanted, atol=3e-6)
        assert np.allclose(computed(fit, {"S": size}, 17, np.dtype(single)), wanted, atol=3e-6)


def test_waves_of_ramps_along_two_axes() -> None:
    """As a picture's places have them: half of the columns by the row, half by the column."""

    def table(h: int, w: int) -> Array:
        rows, columns = (halves(angles(np.arange(1, n + 1) / n * 2 * np.pi, rotary(10000, 3))) for n in (h, w))
        both = np.broadcast_to(rows[:, None], (h, w, 6)), np.broadcast_to(columns[None], (h, w, 6))
        return np.concatenate(both, -1).reshape(h * w, 12).astype(single)

    bindings = {"H": 9, "W": 11}, {"H": 14, "W": 10}
    case = Exported(tuple(table(each["H"], each["W"]) for each in bindings), bindings, (H * W, 12))
    fit = fit_of(case)

    assert fit is not None
    assert np.allclose(fit.at({"H": 12, "W": 8}), table(12, 8), atol=3e-6)


def test_a_wave_of_another_size_is_another_reading() -> None:
    """Of heights that patches divide, `i/n` turns as `16*i/H` does; of even sizes, `2*pi*i/S` as `pi*i/floor(S/2)`."""
    tall = {"H": 160}, {"H": 256}
    patches = Exported(
        tuple(np.sin(2 * np.pi * np.arange(n) / n).astype(single) for n in (10, 16)), tall, (cut(H, 16),)
    )
    even = exported(lambda s: np.sin(2 * np.pi * np.arange(s) / s).astype(single), (S,), {"S": 12}, {"S": 22})
    told = exported(lambda s: np.sin(2 * np.pi * np.arange(s) / s).astype(single), (S,), SHORT, LONG)

    assert [fit.odd for fit in readings_of(patches)] == [0, 1]
    assert [fit.odd for fit in readings_of(even)][:2] == [1, 1]
    assert len(readings_of(told)) == 1


def test_a_wave_whose_frequency_depends_otherwise_on_the_size_is_not_known() -> None:
    case = exported(lambda s: np.sin(2 * np.pi * np.arange(s) / s**1.5).astype(single), (S,), SHORT, LONG)
    assert waves(case) is None


def eighths(places: Any) -> Array:
    """A wave that comes round after eight entries."""
    return np.cos(np.asarray(places) * (np.pi / 4)).astype(single)


ROUND: dict[str, tuple[tuple[int, int], Callable[[int], Array]]] = {
    "but for its last entry": ((12, 23), lambda s: eighths(np.arange(s) + s // 2)),
    "but for two entries": ((16, 21), lambda s: np.append(np.sin((np.arange(s) + s) * np.pi / 5), 7).astype(single)),
    "from its end": ((17, 22), lambda s: eighths(np.arange(s) + s // 2)),
    "as a sine": ((15, 31), lambda s: np.sin((np.arange(s) + s // 2) * (np.pi / 6)).astype(single)),
    "in halves": ((11, 22), lambda s: np.sin((np.arange(s) + s // 2) * (np.pi / 6)).astype(single)),
}
"""Waves that a start fits by chance, since they soon come round again: where that is so."""


@pytest.mark.parametrize("name", ROUND)
def test_a_wave_that_comes_round_fits_many_starts(name: str) -> None:
    sizes, true = ROUND[name]
    dims = (S + len(true(12)) - 12,)
    assert len(readings_of(exported(true, dims, *({"S": size} for size in sizes)))) != 1


@pytest.mark.parametrize(
    ("more", "true"),
    [
        (0, lambda s: eighths(np.arange(s))),
        (0, lambda s: eighths(s - 1 - np.arange(s))),
        (1, lambda s: np.append(single(7), eighths(np.arange(s)))),
        (1, lambda s: np.append(eighths(s - 1 - np.arange(s)), single(7))),
    ],
)
def test_a_wave_that_no_other_start_fits_goes_on(more: int, true: Callable[[int], Array]) -> None:
    fit = fit_of(exported(true, (S + more,), SHORT, LONG))
    assert fit is not None
    for size in (16, 30):
        np.testing.assert_allclose(fit.at({"S": size}), true(size), atol=1e-4)
