"""Certificates of models that drawn values hardly test: gates, indices behind casts, roundings, silent outputs."""

from __future__ import annotations

import numpy as np
import pytest

from onereshape.prove.evidence import Carried, Evidence, Rounding
from onereshape.prove.run_both import certify
from onereshape.prove.runs import sample_by_sample
from onereshape.prove.runs.compare import FLOATS, Distance, Meter, Scale
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.trial import Answers, Stop, Trial
from onereshape.prove.runs.wanted import Wanted, settle
from onereshape.prove.values.input_roles import roles_of
from onereshape.prove.words import sentence
from tests.prove.certifying import batch, built, other

FREED = {"x": {0: "N"}}


def settled(difference: float) -> list[Evidence]:
    """What is noted of an output of scale 0.5 that is so far from what is wanted."""
    model = built("(float[1, 4] x) => (float[1, 4] y) { y = Exp(x) }")
    trial = Trial(model, model, FREED, Comparison("batch", 1, {"y": Carried(0)}), ".")
    meter = Meter("y", Carried(0), Scale((4,), 0.5), FLOATS, FLOATS)
    wanted = Wanted({"N": 2}, {}, {"y": np.zeros((1, 4))}, {"y": meter}, [])
    settle(trial, wanted, {}, {"y": Distance(difference, 50.0, 5.0)}, [])
    return trial.evidence


def test_a_little_is_a_doubt_and_more_is_a_difference() -> None:
    (doubt,) = settled(0.01)

    assert isinstance(doubt, Rounding)
    assert sentence(doubt) == "output 'y' differs by 0.01 at N = 2, where its scale is 0.5"
    with pytest.raises(Stop) as stop:
        settled(0.1)
    assert sentence(stop.value.record).startswith("output 'y' differs by 0.1 at N = 2")


@pytest.mark.parametrize(("body", "status"), [("y = Exp(x)", "proven"), ("y = Abs(x)", "differs")])
def test_the_terms_decide_a_doubt(body: str, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that differs a little: of the same terms it is rounding, of others a difference."""
    original = built("(float[1, 4] x) => (float[1, 4] y) { y = Exp(x) }")
    other = built(f"(float[N, 4] x) => (float[N, 4] y) {{ {body} }}")

    def doubted(trial: Trial, _wanted: Wanted, _got: Answers) -> dict[str, Distance]:
        fields = {"output": "y", "difference": 0.01, "at": {"N": 2}, "scale": 0.5}
        trial.evidence.append(Rounding("value", fields, None, "y"))
        return {}

    monkeypatch.setattr(sample_by_sample, "compare", doubted)
    found = certify(original, other, FREED, Comparison("batch", 1, {"y": Carried(0)}), base_dir=".")

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
    asked = Comparison("batch", 1, outputs, terms=False)
    found = certify(built(body.format(n="1")), built(body.format(n="N")), FREED, asked, base_dir=".")

    assert found.status == "untested"
    assert found.reason.startswith("only 1 of 3 outputs depend on the sample")


def test_no_message_shows_a_class_of_ours() -> None:
    body = "(float[{n}, 4] x) => (float[{n}, 4] y) {{ y = Exp(x) }}"
    for carried in (Carried(0, 4, 3), Carried(1, 3, None), Carried(2)):
        reason = batch(built(body.format(n="1")), built(body.format(n="N")), outputs={"y": carried}).reason
        assert "(axis=" not in reason
        assert "Carried" not in reason
        assert "finds no batch there: axis" in reason


def test_what_was_off_by_a_little_may_not_be_off_by_more() -> None:
    """A percent at two samples may be rounding; what is three times as large at five samples is not."""
    body = """(float[{n}, 4] x) => (float[{n}, 4] y)
        <int64 two = {{2}}, int64 four = {{4}}, float one = {{1}}, float more = {{1.01}}, float most = {{3}},
        int64[1] first = {{0}}> {{
        d = Shape(x) n = Gather(d, first)
        c = Equal(n, two) f = Where(c, more, one)
        e = Greater(n, four) g = Where(e, most, f)
        y = Mul(x, g)
    }}"""
    found = batch(built(body.format(n=1)), built(body.format(n="N")))

    assert found.status == "differs"
    assert " at N = 5, " in found.reason
    assert ("may be rounding", "output 'y' differs by 0.032 at N = 2, where its scale is 3.2") in found.account
