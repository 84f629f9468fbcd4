"""Planted bugs: the fitting as it would be with one thing subtly wrong, which the world must show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

import onnx_ir as ir
import pytest

from onereshape.graphs.rewrite import Rewriter
from onereshape.repair.fitting import (
    differing,
    equations,
    formulas,
    likeness,
    matching,
    places,
    plan,
    pools,
    readings,
    unsettled,
)
from onereshape.repair.fitting.exported import Exported, Fit
from onereshape.repair.fitting.families import cuts, positions, readings_of, rests, scales
from onereshape.rule.sizes import Size, ceiling, symbol

Patch = Callable[[pytest.MonkeyPatch], None]


class Mutant(NamedTuple):
    """A planted bug, and words of the names of cases, some of which must show it."""

    name: str
    plant: Patch
    words: str


MUTANTS: list[Mutant] = []


def mutant(words: str) -> Callable[[Patch], Patch]:
    def add(plant: Patch) -> Patch:
        MUTANTS.append(Mutant(plant.__name__.replace("_", " "), plant, words))
        return plant

    return add


def _fits(patch: pytest.MonkeyPatch, change: Callable[[Exported, Fit, Rewriter], ir.Value]) -> None:
    """Changes what the nodes of every fit compute."""
    real = readings_of

    def changed(exported: Exported, _: object) -> tuple[Fit, ...]:
        return tuple(altered(exported, fit) for fit in real(exported))

    def altered(exported: Exported, fit: Fit) -> Fit:
        return fit._replace(make=lambda writer: change(exported, fit, writer))

    patch.setattr(plan, "readings_of", changed)


@mutant("positions ramp table")
def the_constant_of_the_first_export(patch: pytest.MonkeyPatch) -> None:
    _fits(patch, lambda exported, _, writer: writer.constant(exported.arrays[0]))


@mutant("positions ramp table")
def the_constant_of_the_last_export(patch: pytest.MonkeyPatch) -> None:
    _fits(patch, lambda exported, _, writer: writer.constant(exported.arrays[-1]))


@mutant("ramp strides centred")
def wrong_at_all_sizes_but_those_of_the_exports(patch: pytest.MonkeyPatch) -> None:
    def more(exported: Exported, fit: Fit, writer: Rewriter) -> ir.Value:
        unseen = writer.integers([1])
        for binding in exported.bindings:
            off = writer.front(
                "Abs", [writer.front("Sub", [writer.size(symbol("S")), writer.integers([binding["S"]])])]
            )
            unseen = writer.front("Min", [writer.front("Mul", [unseen, off]), writer.integers([1])])
        return writer.front("Add", [fit.make(writer), writer.front("Cast", [unseen], {"to": int(ir.DataType.FLOAT)})])

    _fits(patch, more)


@mutant("halves half")
def rounded_up_where_it_is_rounded_down(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(readings, "cut", ceiling)


@mutant("tell")
def the_first_reading_is_taken(patch: pytest.MonkeyPatch) -> None:

    def first(known: formulas.Known, values: tuple[int, ...]) -> Size | None:
        found = known.readings(values)
        return found[0].size if found and found[0].proves else None

    patch.setattr(formulas.Known, "sure", first)


@mutant("tell")
def two_formulas_are_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(formulas.Known, "equal", lambda _, __, ___: True)


@mutant("product")
def nothing_must_be_equal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(unsettled.Unsettled, "equate", lambda _, __, ___: None)


@mutant("half")
def an_average_is_the_largest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(pools, "POOLS", {"AveragePool": "ReduceMax", "MaxPool": "ReduceMean"})


@mutant("half")
def attributes_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    def none(_: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
        return iter(())

    for module in (likeness, differing, matching):
        if hasattr(module, "differing_numbers"):
            patch.setattr(module, "differing_numbers", none)


@mutant("length")
def constants_of_one_shape_are_equal(patch: pytest.MonkeyPatch) -> None:
    for module in (likeness, differing, matching):
        if hasattr(module, "equal"):
            patch.setattr(module, "equal", lambda one, other: one.shape == other.shape)


@mutant("end down")
def a_start_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    real = positions.Position.make
    patch.setattr(positions.Position, "make", lambda self, writer, rank: real(self._replace(start=0), writer, rank))


@mutant("ramp")
def a_scale_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    real = positions.PositionTerm.make
    patch.setattr(
        positions.PositionTerm, "make", lambda self, writer: real(self._replace(scale=positions.Scale()), writer)
    )


@mutant("table")
def every_table_is_cut_at_its_start(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(cuts, "_start", lambda _, __, ___: 0)


@mutant("number length")
def any_number_is_near(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(import_module("onereshape.repair.fitting.families.numbers"), "_close", lambda _, __: True)


@mutant("rounded")
def what_is_whole_is_not_rounded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(import_module("onereshape.repair.fitting.families.numbers"), "_rounded", lambda _, __, ___: [])


@mutant("pi one")
def rests_tell_all_of_a_number(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(import_module("onereshape.repair.fitting.families.numbers"), "_alike", lambda _, __: [])


@mutant("over")
def rests_tell_all_of_a_slope(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rests, "_scaled", lambda _, __: [])


@mutant("third")
def rests_tell_all_of_a_start(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rests, "_started", lambda _, __, ___, ____: [])
    patch.setattr(rests, "as_plain", lambda _, __: False)


@mutant("round")
def what_is_added_may_be_any_number(patch: pytest.MonkeyPatch) -> None:
    affine = import_module("onereshape.repair.fitting.families.affine")  # whose name a family has
    patch.setattr(affine, "_is_odd", lambda _: False)


@mutant("multiple")
def a_slope_is_any_multiple_of_a_size(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(scales, "_others", lambda _, __, ___, ____: [])


@mutant("expanded")
def a_node_says_nothing_of_its_inputs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(places, "hints", lambda _, __, ___: {})
    patch.setattr(equations, "hints", lambda _, __, ___: {})
