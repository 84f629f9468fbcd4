"""Steps of a table that may be a size by the number of entries, as detectors have them: a condition says so."""

from __future__ import annotations

import numpy as np
import pytest

from tests.like.exporting import EXPORTERS, Array, Case, Export, Sizes
from tests.like.law import verdict

EXPORTS: tuple[Sizes, ...] = ({"H": 32, "W": 64}, {"H": 64, "W": 96})
WHOLE: Sizes = {"H": 96, "W": 32}
ODD: Sizes = {"H": 40, "W": 72}


def detector(g: Export, *, levels: tuple[int, ...] = (8, 16), kind: type = np.float32, divided: bool = True) -> str:
    """The places of all levels one after the other, added to what each level's Conv gives."""
    rows: list[str] = []
    places: list[Array] = []
    image = g.x(1, 2, "H", "W")
    for level in levels:
        data = g.node(
            "Conv", image, g.weight(2, 2, 3, 3), strides=[level, level], kernel_shape=[3, 3], pads=[1, 1, 1, 1]
        )
        high, wide = (-(-g.sizes[name] // level) for name in "HW")
        steps = (g.sizes["H"] // high, g.sizes["W"] // wide) if divided else (level, level)
        y, x = np.meshgrid(
            *(np.arange(size) * step for size, step in zip((high, wide), steps, strict=True)), indexing="ij"
        )
        places.append(np.stack([x.ravel(), y.ravel()], 1).astype(kind))
        flat = g.node("Reshape", data, g.constant(np.array([1, 2, high * wide])))
        rows.append(g.node("Transpose", flat, perm=[0, 2, 1]))
    table = g.constant(np.concatenate(places))
    if kind is not np.float32:
        table = g.node("Cast", table, to=1)
    return g.node("Add", g.node("Concat", *rows, axis=1), table)


def case(*unseen: Sizes, exports: tuple[Sizes, ...] = EXPORTS, **how: object) -> Case:
    return Case(f"detector {how}", lambda g: detector(g, **how), exports, unseen)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.float32, np.int64])
@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_step_that_may_be_a_quotient_asks_for_whole_ones(exporter: str, kind: type) -> None:
    found = verdict(case(WHOLE, kind=kind), exporter)

    assert (found.status, found.why) == ("right", "")
    assert set(found.conditions) == {"H is divisible by 16", "W is divisible by 16"}


def test_so_does_one_that_is_a_number() -> None:
    """The exports do not tell it from a quotient; the model is the right one at other sizes, too."""
    found = verdict(case(WHOLE, ODD, divided=False), "graph")

    assert (found.status, found.why) == ("right", "")
    assert set(found.conditions) == {"H is divisible by 16", "W is divisible by 16"}


def test_sizes_that_do_not_divide_tell_that_it_is_a_number() -> None:
    found = verdict(case(WHOLE, ODD, exports=({"H": 33, "W": 65}, {"H": 64, "W": 96}), divided=False), "graph")

    assert (found.status, found.why, found.conditions) == ("right", "", ())


def test_every_other_place_is_a_count() -> None:
    found = verdict(case(WHOLE, levels=(2,), divided=False), "graph")

    assert (found.status, found.why, found.conditions) == ("right", "", ())


def test_of_squares_the_axes_are_in_doubt_and_not_the_steps() -> None:
    found = verdict(case(WHOLE, exports=({"H": 32, "W": 32}, {"H": 64, "W": 64})), "graph")

    assert found.why.startswith("[ambiguous]")
    assert "with axis 0 as floor((H + 7)/8) times floor((W + 7)/8)" in found.why
    assert "with axis 0 as floor((W + 7)/8) times floor((H + 7)/8)" in found.why
    assert "floor(H/" not in found.why
