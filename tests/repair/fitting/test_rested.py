"""Ramps that the rests of all exports do not tell apart: the plainest is taken, under a condition."""

from __future__ import annotations

import numpy as np
import pytest

from tests.repair.fitting.exporting import EXPORTERS, Array, Build, Case, Export, Sizes
from tests.repair.fitting.law import verdict


def case(build: Build, exports: tuple[Sizes, ...], *unseen: Sizes) -> Case:
    return Case(build.__qualname__, build, exports, unseen)


def patches(g: Export, row: Array) -> str:
    """A picture in patches of 8 x 8, with something added to each row of them."""
    found = g.node("Conv", g.x(1, 3, "H", "W"), g.weight(4, 3, 8, 8), strides=[8, 8])
    return g.node("Add", found, g.constant(row[None, None, :, None]))


def rows(g: Export) -> Array:
    return np.arange(g.sizes["H"] // 8)


def by_patches(g: Export) -> str:
    return patches(g, (rows(g) + 0.5) / len(rows(g)))


def by_pixels(g: Export) -> str:
    return patches(g, (rows(g) + 0.5) * 8 / g.sizes["H"])


def to_the_last(g: Export) -> str:
    return patches(g, rows(g) / (len(rows(g)) - 1))


WHOLE: tuple[Sizes, ...] = ({"H": 64, "W": 40}, {"H": 96, "W": 72})
TOLD: tuple[Sizes, ...] = ({"H": 64, "W": 40}, {"H": 101, "W": 72})
ELSEWHERE: tuple[Sizes, ...] = ({"H": 40, "W": 24}, {"H": 144, "W": 96})


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize("build", [by_patches, by_pixels, to_the_last])
def test_whole_patches_are_right_wherever_patches_are_whole(build: Build, exporter: str) -> None:
    """`i/n` and `8*i/H` are one and the same there, and the condition says that nothing else was shown."""
    found = verdict(case(build, WHOLE, *ELSEWHERE), exporter)

    assert (found.status, found.why) == ("right", "")
    assert found.conditions == (() if build is to_the_last else ("H is divisible by 8",))


@pytest.mark.parametrize("build", [by_patches, by_pixels])
def test_an_export_with_a_rest_tells_which_it_is(build: Build) -> None:
    found = verdict(case(build, TOLD, {"H": 59, "W": 24}, *ELSEWHERE), "graph")

    assert (found.status, found.conditions) == ("right", ())


def test_what_no_axis_tells_stays_ambiguous() -> None:
    """The height itself, and half of it, are as plain."""

    def build(g: Export) -> str:
        row = np.arange(g.sizes["H"]) * np.pi / (g.sizes["H"] // 2)
        return g.node("Add", g.x(1, 3, "H", "W"), g.constant(row[None, None, :, None]))

    assert verdict(case(build, WHOLE), "graph").why.startswith("[ambiguous]")
