"""Certificates of models that were fitted on several exports: what was compared with what."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import pytest

from onereshape.prove.judge import Status
from onereshape.prove.run_both import certify
from onereshape.prove.runs.comparison import Comparison
from onereshape.rule.condition import Clause
from tests.prove.certifying import built, other, same
from tests.repair.like_files import body

four, six, nine, free = built(body(4)), built(body(6)), built(body(9)), built(body("S", "1, -1, 8"))


def test_what_was_fitted_is_compared_with_all_that_it_was_fitted_on() -> None:
    found = other(four, free, fitted=(six,))

    assert (found.status, found.holds, found.suffices) == ("fitted", False, True)
    assert (found.fitted, found.witnesses) == (({"S": 4}, {"S": 6}), ())
    assert found.compared == ({"S": 4}, {"S": 6})
    assert found.reason == (
        "fitted on S = 4, 6, and agrees there; the largest difference is 0; compared with no other size; "
        "only ran at S = 8, 2, 5, 12"
    )


def test_a_witness_certifies_what_was_fitted() -> None:
    found = other(four, free, fitted=(six,), witnesses=(nine,))

    assert (found.status, found.fitted, found.witnesses) == ("certified", ({"S": 4}, {"S": 6}), ({"S": 9},))
    assert found.reason == (
        "compared at S = 9; fitted on S = 4, 6, and agrees there too; the largest difference is 0; "
        "only ran at S = 8, 2, 5, 12"
    )


def test_a_witness_of_other_sizes_in_one_dim_only() -> None:
    sized = "(float[1, {h}, {w}] x) => (float[1, {w}, {h}] y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}"
    at = [built(sized.format(h=h, w=w)) for h, w in ((4, 6), (8, 9), (5, 9), (8, 6), ("H", "W"))]
    freed = {"x": {1: "H", 2: "W"}}
    half = other(at[0], at[4], freed=freed, fitted=(at[1],), witnesses=(at[2],))
    none = other(at[0], at[4], freed=freed, fitted=(at[1],), witnesses=(at[3],))

    assert (half.status, none.status) == ("certified", "certified")
    assert half.reason.startswith(
        "compared at (H, W) = (5, 9); fitted on (H, W) = (4, 6), (8, 9), and agrees there too; "
        "no other W than there was compared; "
    )
    assert "no other H, W than there was compared" in none.reason


def test_the_terms_beside_a_witness_of_other_sizes_in_one_dim_only() -> None:
    sized = "(float[1, {h}, {w}] x) => (float[1, {w}, {h}] y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}"
    at = [built(sized.format(h=h, w=w)) for h, w in ((4, 6), (8, 9), (5, 9), ("H", "W"))]
    asked = Comparison("other", fitted=(at[1],), witnesses=(at[2],))
    found = certify(at[0], at[3], {"x": {1: "H", 2: "W"}}, asked, base_dir=".")

    assert found.status == "proven"
    assert found.reason.startswith("at (H, W) = (4, 6), (8, 9), (5, 9) each output element is the same expression")


def test_an_export_that_contradicts_is_a_refusal() -> None:
    found = other(four, free, fitted=(built(body(6, b=9)),))

    assert found.status == "differs"
    assert "at S = 6" in found.reason


GATED = """(float[1, {s}, 8] x) => (float[1, {s}, 8] y) <float gate = {{{gate}}}, float more = {{{more}}}> {{
    open = Greater(x, gate)
    beside = Mul(x, more)
    y = Where(open, beside, x)
}}"""


@pytest.mark.parametrize("gate", [50.0, 500.0])
@pytest.mark.parametrize("others", ["fitted", "witnesses"])
def test_what_hides_behind_a_gate_is_compared_with_other_exports_too(others: str, gate: float) -> None:
    """No usual value is above the gate."""
    original, repaired, same, another = (
        built(GATED.format(s=s, gate=gate, more=more)) for s, more in ((4, 2), ("S", 2), (9, 2), (9, 3))
    )
    given: dict[str, Any] = {"fitted": (), others: (another,)}
    found = other(original, repaired, **given)

    assert found.status == "differs"
    assert "at S = 9, on inputs that are" in found.reason
    given[others] = (same,)
    assert other(original, repaired, **given).status == ("fitted" if others == "fitted" else "certified")


def test_an_export_that_has_nothing_to_say() -> None:
    cut = """(float[1, {s}] x) => (float[1, {t}] y) <int64[1] a = {{2}}, int64[1] e = {{9}}, int64[1] w = {{1}}> {{
        y = Slice(x, a, e, w)
    }}"""
    models = [built(cut.format(s=s, t=t)) for s, t in ((4, 2), ("S", "T"), (2, 0))]

    assert other(*models[:2], fitted=(models[2],)).status == "untested"


# What must hold of the sizes

EVEN = Clause("S is even", frozenset({"S"}), lambda at: at["S"] % 2 == 0)
FEW = Clause("S <= 6", frozenset({"S"}), lambda at: at["S"] <= 6)


def test_what_only_ran_fulfils_what_is_stated() -> None:
    """At 5 the model runs as well; there it is not said to be right."""
    plain, even, few = (other(four, free, fitted=(six,), clauses=found) for found in ((), (EVEN,), (EVEN, FEW)))

    assert [found.ran for found in (plain, even, few)] == [
        ({"S": 8}, {"S": 2}, {"S": 5}, {"S": 12}),
        ({"S": 8}, {"S": 2}, {"S": 12}),
        ({"S": 2},),
    ]


def test_beyond_what_is_stated_a_model_may_stop_but_not_make_other_dims() -> None:
    """Data that are cut to the 6 rows that a table has: nobody would see that rows are missing."""
    cut = built("""(float[1, S, 8] x) => (float[1, T, 8] y)
        <int64[1] s = {0}, int64[1] e = {6}, int64[1] i = {1}, float[8] b = {1, 2, 3, 4, 5, 6, 7, 8}> {
        r = Slice(x, s, e, i) y = Add(r, b) }""")
    found = other(four, cut, fitted=(six,), clauses=(FEW,), promised=lambda at: {"y": (1, at["S"], 8)})

    assert found.status == "differs"
    assert found.reason == "output 'y' has dims [1, 6, 8] at S = 8, and [1, 8, 8] were inferred"


def test_sizes_that_are_tied_have_no_others_than_the_exports() -> None:
    """Nothing runs that is not compared, and nothing is missing: what is stated leaves no other sizes."""
    sized = "(float[1, {h}, {w}] x) => (float[1, {w}, {h}] y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}"
    at = [built(sized.format(h=h, w=w)) for h, w in ((4, 6), (7, 3), ("H", "W"))]
    sums = Clause("H + W = 10", frozenset({"H", "W"}), lambda at: at["H"] + at["W"] == 10)
    found = other(at[0], at[2], freed={"x": {1: "H", 2: "W"}}, fitted=(at[1],), clauses=(sums,))

    assert (found.status, found.ran) == ("fitted", ())


@pytest.mark.parametrize("sizes", [(4, 6), (4, 6, 10)])
def test_sizes_that_nothing_excludes_and_at_which_it_stops_are_told(sizes: tuple[int, ...]) -> None:
    pairs = "(float[1, {s}] x) => (float[{h}, 2] y) <int64[2] k = {{{k}, 2}}> {{ y = Reshape(x, k) }}"
    first, second, *witnesses = (built(pairs.format(s=size, h=size // 2, k=size // 2)) for size in sizes)
    free = built(pairs.format(s="S", h="H", k=-1))
    found = other(first, free, fitted=(second,), witnesses=tuple(witnesses))
    stated = other(first, free, fitted=(second,), witnesses=tuple(witnesses), clauses=(EVEN,))

    assert found.status == stated.status == ("certified" if witnesses else "fitted")
    assert [each.sizes for each in found.refused] == [{"S": 5}]
    assert "; only ran at S = 8, 2, 12; did not run at S = 5" in found.reason
    assert "did not run" not in stated.reason


def test_where_the_original_stops_itself_that_is_not_said() -> None:
    pairs = built("(float[1, S] x) => (float[H, 2] y) <int64[2] k = {-1, 2}> { r = Neg(x) y = Reshape(r, k) }")
    found = same(pairs, pairs)

    assert found.status == "certified"
    assert [each.sizes for each in found.refused] != []
    assert "did not run" not in found.reason


def test_a_witness_beyond_what_is_stated_is_told_so() -> None:
    """It is asked all the same: where it agrees, the result is right there too."""
    stays = built(body("S", "1, 9, 8"))
    right = other(four, free, fitted=(six,), witnesses=(nine,), clauses=(EVEN,))
    wrong = other(four, free, fitted=(six,), witnesses=(built(body(9, b=9)),), clauses=(EVEN,))
    fitted = other(four, stays, fitted=(six,), clauses=(EVEN,))

    assert right.status == "certified"
    assert (wrong.status, wrong.reason.endswith("; it only holds if S is even")) == ("differs", True)
    assert "only holds" not in fitted.reason


@pytest.mark.parametrize(("witnesses", "status"), [((), "fitted"), ((nine,), "proven")])
def test_the_terms_beside_all_exports(witnesses: tuple[ir.Model, ...], status: Status) -> None:
    asked = Comparison("other", fitted=(six,), witnesses=witnesses)
    found = certify(four, free, {"x": {1: "S"}}, asked, base_dir=".")

    assert found.status == status
    at = "S = 4, 6, 9" if witnesses else "S = 4, 6"
    assert (f"at {at} each output element" in found.reason) == bool(witnesses)
    assert found.reason.endswith(f"proven at {at} only") == (not witnesses)


SOFTMAX = "(float[1, {s}] x) => (float[1, {s}] y) {{ y = Softmax <axis = 1> (x) }}"


def test_an_output_that_depends_on_nothing_is_told_without_samples() -> None:
    """Of one entry a softmax makes 1."""
    one, free = (built(SOFTMAX.format(s=size)) for size in (1, "S"))
    found = other(one, free)

    assert found.status == "untested"
    assert found.reason.startswith("no output depends on what is fed (the same whatever is fed: y)")


@pytest.mark.parametrize(("size", "status"), [(1, "fitted"), (0, "untested")])
def test_what_one_export_does_not_show_another_may(size: int, status: str) -> None:
    first, six, free = (built(SOFTMAX.format(s=each)) for each in (size, 6, "S"))
    found = other(first, free, fitted=(six,))

    assert found.status == status
    assert "depends" not in found.reason
    assert ("it had nothing to compare at S = 0" in found.reason) == (size == 0)
