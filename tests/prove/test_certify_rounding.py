"""Certificates of models that drawn values hardly test: gates, indices behind casts, roundings, silent outputs."""

from __future__ import annotations

from typing import Any

import pytest

from onereshape.prove import run_both as certifying
from onereshape.prove.runs.compare import Carried, Distance
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.drawn_runs import Drawn, run_drawn
from onereshape.prove.runs.reference import settle
from onereshape.prove.runs.trial import Stop, Trial
from onereshape.prove.values.input_roles import roles_of
from tests.prove.certifying import batch, built, other

FREED = {"x": {0: "N"}}


def trial(difference: float) -> Trial:
    model = built("(float[1, 4] x) => (float[1, 4] y) { y = Exp(x) }")
    found = Trial(model, model, "batch", 1, {"y": Carried(0)}, ".", 0, None)
    found.distances["y"], found.scales["y"] = Distance(difference, 50.0, 5.0), 0.5
    return found


def test_a_little_is_a_doubt_and_more_is_a_difference() -> None:
    little, much = trial(0.01), trial(0.1)
    settle(little, [], {"N": 2})

    assert little.doubts == {"y": "output 'y' differs by 0.01 at N = 2, where its scale is 0.5"}
    with pytest.raises(Stop, match=r"output 'y' differs by 0.1 at N = 2"):
        settle(much, [], {"N": 2})


@pytest.mark.parametrize(("body", "status"), [("y = Exp(x)", "proven"), ("y = Abs(x)", "differs")])
def test_the_terms_decide_a_doubt(body: str, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original, repaired = (built(f"(float[{n}, 4] x) => (float[{n}, 4] y) {{ y = Exp(x) }}") for n in (1, "N"))
    other = built(f"(float[N, 4] x) => (float[N, 4] y) {{ {body} }}")

    def doubting(*given: Any, **named: Any) -> Drawn:
        found = run_drawn(original, repaired, *given[2:], **named)
        found.trial.doubts["y"] = "output 'y' differs by 0.01 at N = 2, where its scale is 0.5"
        found.trial.repaired = other
        object.__setattr__(found.certificate, "status", "differs")
        object.__setattr__(found.certificate, "reason", found.trial.doubts["y"])
        return found

    monkeypatch.setattr(certifying, "run_drawn", doubting)
    comparison = Comparison("batch", 1, {"y": Carried(0)})
    found = certifying.certify(original, other, FREED, comparison, base_dir=".")

    assert found.status == status
    assert "output 'y' differs by 0.01 at N = 2" in found.reason
    assert ("so it is rounding" in found.reason) == (status == "proven")


def test_a_gate_that_only_large_values_open() -> None:
    body = """(float[{n}, 4] x) => (float[{n}, 4] y) <float[1] far = {{20}}, float[1] zero = {{0}}> {{
        g = Greater(x, far) y = Where(g, x, zero) }}"""
    found = batch(built(body.format(n="1")), built(body.format(n="N")))

    assert found.holds
    assert not found.outputs[0].blind


CROSSED = """(float[1, 4, 28, {w}] x) => (float[1, 4, 28, {w}] y) <int64[1] wide = {{3}}, int64[1] high = {{2}}> {{
    {means} c = Sub(b, a) s = Sigmoid(c) y = Mul(x, s) }}"""
POOLED = "a = AveragePool <kernel_shape = [1, {w}]> (x) b = AveragePool <kernel_shape = [28, 1]> (x)"


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_of_thousands_of_elements_a_few_happen_to_stay(seed: int) -> None:
    """The tail of a Sigmoid goes in steps; means that are calculated otherwise take another one here and there."""
    one, two = (built(CROSSED.format(w=wide, means=POOLED.format(w=wide))) for wide in (44, 72))
    free = built(CROSSED.format(w="W", means="a = ReduceMean(x, wide) b = ReduceMean(x, high)"))

    assert other(one, free, freed={"x": {3: "W"}}, fitted=(two,), seed=seed).status == "fitted"


def test_floats_that_are_cast_to_indices_stay_in_their_table() -> None:
    body = """(float[{n}, 4] x) => (float[{n}, 4] y) <float[6] w = {{1, 2, 9, 4, 5, 6}}> {{
        i = Cast <to = 7> (x) y = Gather(w, i) }}"""
    suit = roles_of(built(body.format(n="1")))["x"]

    assert (suit.kind, suit.low, suit.high) == ("index", 0, 6)
    assert batch(built(body.format(n="1")), built(body.format(n="N"))).holds


def test_most_outputs_must_tell_the_samples_apart() -> None:
    body = """(float[{n}, 4] x) => (float[{n}, 4] y, float[{n}, 4] z, float[{n}, 4] v) <float[1] zero = {{0}}> {{
        y = Exp(x) z = Mul(x, zero) v = Mul(x, zero) }}"""
    outputs = {name: Carried(0) for name in "yzv"}
    found = run_drawn(
        built(body.format(n="1")), built(body.format(n="N")), FREED, Comparison("batch", 1, outputs), base_dir="."
    ).certificate

    assert found.status == "untested"
    assert found.reason.startswith("only 1 of 3 outputs depend on the sample")


def test_no_message_shows_a_class_of_ours() -> None:
    body = "(float[{n}, 4] x) => (float[{n}, 4] y) {{ y = Exp(x) }}"
    for carried in (Carried(0, 4, 3), Carried(1, 3, None), Carried(2)):
        reason = batch(built(body.format(n="1")), built(body.format(n="N")), outputs={"y": carried}).reason
        assert "(axis=" not in reason
        assert "Carried" not in reason
        assert "finds no batch there: axis" in reason
