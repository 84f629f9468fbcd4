"""How far two answers are apart, and how far they may be."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onereshape.prove.evidence import Carried
from onereshape.prove.runs.compare import Distance, Meter, samples, scale_of, tolerances


def meter(answers: np.ndarray[Any, Any], coarsest: float = 0.0) -> Meter:
    return Meter("y", Carried(0), scale_of([answers]), *tolerances(answers.dtype, coarsest))


def test_what_is_allowed_follows_the_scale() -> None:
    for scale in (1e-8, 1e-3, 1.0):
        want = np.full((1, 20), scale, np.float32)
        measure = meter(want)
        assert measure.distance(want * np.float32(1.001), want).units <= 1
        assert measure.distance(want * np.float32(1.0012), want).units > 1
    want = np.full((1, 20), 1000.0, np.float32)
    want[0, 0] = 0
    near = want.copy()
    near[0, 0] = 2e-4
    assert meter(want).distance(near, want).units == pytest.approx(2)  # never more than 1e-4, however large the rest


def test_each_channel_has_its_own_scale() -> None:
    want = np.ones((3, 2, 40), np.float32)
    want[:, 1] = 1e-5

    assert scale_of([want]).whole[:, 0].tolist() == [1.0, pytest.approx(1e-5)]
    assert scale_of([want[:, :, 0]]).whole.tolist() == [1.0, 1.0]  # too few to tell a channel from a small number


def test_half_precision_is_held_to_its_own_rounding() -> None:
    for dtype, rounding in ((np.float16, 2.0**-10), (ml_dtypes.bfloat16, 2.0**-7)):
        want = np.ones((1, 20), dtype)
        assert meter(want).distance((want * (1 + 4 * rounding)).astype(dtype), want).units <= 1
        assert meter(want).distance((want * (1 + 12 * rounding)).astype(dtype), want).units > 1


def test_nan_equals_nan_and_nothing_else() -> None:
    want = np.array([[np.nan, np.inf, -np.inf, 1.0]], np.float32)
    measure = meter(want)

    assert measure.distance(want, want) == Distance(0.0, 0.0, 0.0)
    for place, value in ((0, 1.0), (1, -np.inf), (1, 3e38), (2, np.nan), (3, np.nan), (3, np.inf)):
        other_one = want.copy()
        other_one[0, place] = value
        assert measure.distance(other_one, want).units == np.inf


def test_the_samples_of_an_interleaved_axis() -> None:
    array = np.arange(24).reshape(2, 12)  # the axis is 2 * N * 2 with N = 3
    found = samples(array, Carried(1, 2, 2), 3)

    assert found is not None
    assert found.shape == (3, 2, 2, 2)
    assert found[1].tolist() == [[[2, 3], [8, 9]], [[14, 15], [20, 21]]]
    assert samples(array, Carried(1, 5, 1), 3) is None


@pytest.mark.parametrize("noise", [1e-7, 1e-3, 1.0])
@pytest.mark.parametrize("odd", [None, 3e38, np.inf, np.nan])
def test_what_is_passed_over_is_not_the_farthest(noise: float, odd: float | None) -> None:
    rng = np.random.default_rng(5)
    want = rng.standard_normal((3, 70, 1200), np.float32) * rng.choice([1e-4, 1, 300], (70, 1)).astype(np.float32)
    got = want * (1 + np.float32(noise) * rng.standard_normal(want.shape, np.float32))
    if odd is not None:
        want[1, 3, 5], got[2, 50, 7] = odd, odd
    measure, a, b = meter(want), got.astype(np.float64), want.astype(np.float64)
    apart = np.where(np.isfinite(a - b), np.abs(a - b), np.inf)
    with np.errstate(invalid="ignore"):
        units = [apart / tolerance.allowed(b, measure.scale.whole) for tolerance in (measure.usual, measure.most)]
    wanted = [np.where(np.isnan(each), np.inf, each).max() for each in (apart, *units)]

    assert measure.distance(got, want) == Distance(*wanted)
    first, others = (np.where(np.isfinite(b), b, 0)[part] for part in (slice(0, 1), slice(1, None)))
    both = np.isfinite(b[:1]) & np.isfinite(b[1:])
    far = np.where(both, np.abs(first - others), 0) / measure.usual.allowed(others, measure.scale.whole)
    assert measure.contrast(want) == far.max()
