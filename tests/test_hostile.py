"""Hostile graphs, some hundreds of them: nothing that is repaired, simplified, converted or said of them is untrue.

`make test` asks a third of these, `make worlds` all, and `make hostile` any number of them.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from tests.budget import part
from tests.hostile.covering import MOST, NEWER, SEEDS as COVERING, wanted
from tests.hostile.generator import Case, case, text
from tests.hostile.givens import Given
from tests.hostile.judge import judged, judged_case
from tests.hostile.makers import MAKERS
from tests.hostile.shrink import shrunk
from tests.hostile.verdict import Verdict
from tests.laws.batching_mutants import MUTANTS, Mutant

BLOCKS, SEEDS = 24, 25
COUNTED = 2
"""Blocks of which the kinds of answers are counted too: no graph is judged twice."""
PLANTED = (
    "homes_unchecked homes_that_forget_what_stands_outside numbers_moved_without_modulo nothing_spread nothing_pinned "
    "slice_with_its_end_left reshape_left_as_it_is rows_of_several_samples_unchecked resize_with_its_sizes_left"
)
"""Bugs that must be found in few graphs; a hunt finds the others too."""
KNOWN, ENOUGH = (2, 8, 20, 152, 193, 281, 384), 600
"""Graphs that are known to find them, and how many are asked beside these."""
BY_A_BIT = """
    <ir_version: 8, opset_import: ["" : 12]>
    g (float[B, 3, 6] x) => (float[a, b, c] z, float[d, b, c] y)
        <float zero = {0}, float lo = {-1e6}, float hi = {1e6}, float[0] none = {}, int64[3] sizes = {1, 4, 9},
         float base = {-1.75}> {
        n = IsNaN(x) w = Where(n, zero, x) k = Clip(w, lo, hi)
        z = Resize <coordinate_transformation_mode = "align_corners", mode = "linear"> (k, none, none, sizes)
        y = Pow(base, z)
    }
"""
"""onnxruntime rounds a linear Resize of three axes by the size of the first: to the power of 302560.0 a negative number
is something, and to that of 302560.03 it is NaN."""


def lawful(seed: int) -> list[Verdict]:
    """The verdicts on a graph, none of which breaks the law."""
    found = judged(seed)
    said = "\n".join(map(str, found.unlawful))

    assert not found.unlawful, f"seed {seed}: {said}\n{text(found.case.proto)}"
    return found.verdicts


@pytest.mark.parametrize("block", [*part(range(COUNTED, BLOCKS), 4)])
def test_no_hostile_graph_is_answered_wrongly(block: int) -> None:
    for seed in range(block * SEEDS, (block + 1) * SEEDS):
        lawful(seed)


def test_the_first_graphs_are_neither_answered_wrongly_nor_trivial_nor_all_refused() -> None:
    some = COUNTED * SEEDS
    verdicts = [each for seed in range(some) for each in lawful(seed)]
    counts = Counter((each.room, each.kind) for each in verdicts)
    converted = sum(each.room == "convert" for each in verdicts)

    assert counts["batch", "edited"] + counts["batch", "right"] > some * 0.45
    assert counts["batch", "edited"] > some * 0.15
    assert counts["simplify", "edited"] > some * 0.15
    assert converted > some * 0.2
    assert counts["convert", "edited"] > converted * 0.35


def test_a_power_that_is_nan_by_a_bit_is_no_difference_of_meaning() -> None:
    proto = onnx.parser.parse_model(BY_A_BIT)
    given = Given("x", np.dtype(np.float32), (1, 3, 6), ("B", 3, 6), 0)
    found = judged_case(Case(900414, proto, {"x": given}, 1, {}, "B", random=False), frozenset({"batch", "terms"}))

    assert [(each.room, each.kind) for each in found.verdicts] == [("batch", "edited"), ("terms", "always")]


@pytest.mark.parametrize(
    "mutant", [each for each in MUTANTS if each.name in PLANTED.split()], ids=lambda each: each.name
)
def test_a_planted_bug_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.plant(monkeypatch)

    assert any(judged(seed, frozenset({"batch"})).unlawful for seed in (*KNOWN, *range(ENOUGH)))


def test_every_planted_bug_is_one() -> None:
    assert {each.name for each in MUTANTS} >= set(PLANTED.split())


def test_every_operator_that_has_a_rule_is_in_some_graph() -> None:
    """Those that are known to have them are asked first."""
    missing = wanted()
    for seed in (*COVERING, *range(MOST)):
        missing -= set(case(seed).ops)
        if not missing:
            break

    assert set(NEWER) == set("BitCast CausalConvWithState CumProd LinearAttention SwiGLU".split())
    assert not missing


def test_the_document_counts_the_operators() -> None:
    document = (Path(__file__).parent.parent / "docs" / "repair.md").read_text(encoding="utf-8")

    assert f"random graphs of 2 to 12 operators, of {len(MAKERS)} kinds" in document


def test_a_failure_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the operator that is to blame, and what it needs."""
    next(each for each in MUTANTS if each.name == "reshape_left_as_it_is").plant(monkeypatch)
    room = frozenset({"batch"})
    failing = next(found for seed in KNOWN if (found := judged(seed, room)).unlawful)
    small = shrunk(failing.case, "batch", failing.unlawful[0].kind)

    assert "Reshape" in small.ops
    assert len(small.ops) <= min(6, len(failing.case.ops))
    assert judged_case(small, room).unlawful
