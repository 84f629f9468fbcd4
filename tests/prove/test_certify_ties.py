"""Certificates of models in which rounding decides: of two equal scores either may be the first.

The scores are the same sums in two orders.  onnxruntime sums one sample in another way than several, so that TopK and
its like pick the other one of a pair in a batch; which of them is no difference, and everything else is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.prove.engines.engine import Refusal
from onereshape.prove.evidence import Carried
from onereshape.prove.runs import rounding_decides as waverer
from onereshape.prove.runs.compare import Distance, Meter, scale_of, tolerances
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.reference import Reference
from onereshape.prove.runs.rounding_decides import RoundingCheck
from onereshape.prove.runs.settings import Setting
from onereshape.prove.runs.trial import Feeds, Stop, Trial
from onereshape.prove.runs.wanted import Wanted, settle
from onereshape.prove.words import sentence
from tests.prove.certifying import batch, both, built

ROWS, COLUMNS = 300, 16
WEIGHTS = {
    "p": np.random.default_rng(3).permutation(ROWS),
    "start": np.array([0]),
    "half": np.array([COLUMNS]),
    "end": np.array([2 * COLUMNS]),
    "minus": np.array([-1]),
    "far": np.array([-1000]),
}


def scored(n: str, last: str, output: str, first: str = "a = Identity(x)") -> ir.Model:
    """A model that sums each sample twice, in another order."""
    body = f"""(float[{n}, {ROWS}, {COLUMNS}] x) => ({output.format(n=n)} y)
        <int64[1] k = {{8}}, int64[1] one = {{1}}> {{
        {first}
        s1 = ReduceSum <keepdims = 0> (a, one)
        b = Gather <axis = 1> (a, p)
        s2 = ReduceSum <keepdims = 0> (b, one)
        s = Concat <axis = 1> (s1, s2)
        {last}
    }}"""
    return built(body, **WEIGHTS)


TIES = {
    "places of the largest": ("v, y = TopK(s, k)", "int64[{n}, 8]"),
    "places of the smallest": ("v, y = TopK <largest = 0> (s, k)", "int64[{n}, 8]"),
    "places in any order": ("v, y = TopK <sorted = 0> (s, k)", "int64[{n}, 8]"),
    "the first": ("y = ArgMax <axis = 1> (s)", "int64[{n}, 1]"),
    "the last": ("y = ArgMin <axis = 1, select_last_index = 1> (s)", "int64[{n}, 1]"),
    "one of them": ("y = Hardmax <axis = 1> (s)", "float[{n}, 32]"),
    "what is picked by them": (
        "v, i = TopK(s, k) f = Flatten(a) y = GatherElements <axis = 1> (f, i)",
        "float[{n}, 8]",
    ),
    "after Relu": ("r = Relu(s) v, y = TopK(r, k)", "int64[{n}, 8]"),
    "which is larger": (
        "c = Slice(s, start, half, one) d = Slice(s, half, end, one) e = Less(c, d) y = Cast <to = 7> (e)",
        "int64[{n}, 16]",
    ),
}


@pytest.mark.parametrize("name", TIES)
def test_a_tie_is_no_difference_where_the_terms_are_the_same(name: str) -> None:
    original, repaired = (scored(n, *TIES[name]) for n in ("1", "N"))
    found = both(original, repaired)

    assert found.status == "proven", found.reason
    assert ("the same terms, so it is rounding" in found.reason) == (found.difference > 0.001)


WRONG = {
    "samples in another order": ("v, y = TopK(s, k)", "a = Slice(x, minus, far, start, minus)"),
    "the mean of all": ("v, y = TopK(s, k)", "h = ReduceMean <axes = [0]> (x) a = Add(h, x)"),
    "another end": ("v, y = TopK <largest = 0> (s, k)", "a = Identity(x)"),
    "one place further": ("v, i = TopK(s, k) y = Add(i, one)", "a = Identity(x)"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_not_hidden_by_a_tie(name: str) -> None:
    last, first = WRONG[name]
    original = scored("1", *TIES["places of the largest"])
    repaired = scored("N", last, "int64[{n}, 8]", first.replace("<axes = [0]> (x)", "(x, start)"))

    assert both(original, repaired).status == "differs"


def test_a_tie_that_no_terms_tell_is_refused() -> None:
    """An engine that disagrees is right, unless it is shown that both compute the same."""
    original, repaired = (scored(n, *TIES["places of the largest"]) for n in ("1", "N"))
    found = batch(original, repaired)

    if found.difference:  # where this engine rounds alike there is no tie
        assert found.status == "differs"
        assert found.reason.endswith("output 'y' is another one too if the inputs are moved by 1e-06 of themselves")
    else:
        assert found.status == "certified"


STEADY = "(float[1, 4] x) => (int64[1, 1] y) { y = ArgMax <axis = 1> (x) }"
Answers = dict[str, np.ndarray]


def waverer_of(wanted: float, got: float, again: float | None) -> tuple[Trial, RoundingCheck]:
    """A model that wants something; the repaired one gave something, and something else when it was asked again."""
    model = built(STEADY)
    trial = Trial(model, model, {"x": {0: "N"}}, Comparison("batch", 1, {"y": Carried(0)}), ".")
    wants, gives = (np.array([[each]], np.float32 if np.isnan(each) else np.int64) for each in (wanted, got))
    meter = Meter("y", Carried(0), scale_of([wants]), *tolerances(wants.dtype, 0.0))
    feeds = {"x": np.array([[1, 2, 3, 4]], np.float32)}
    reference = Reference(Setting({}, {}), [feeds], [{"y": wants}], {"y": meter})

    def asked_again(_pieces: Sequence[Feeds]) -> Answers:
        if again is None:
            raise Refusal("no")
        return {"y": np.array([[again]], gives.dtype)}

    return trial, RoundingCheck(trial, reference, ["x"], {"y": gives}, asked_again)


@pytest.mark.parametrize(("again", "wavers"), [(2, False), (3, True), (None, False)])
def test_one_of_both_must_be_unsure(again: float | None, wavers: bool) -> None:
    """The original picks the last of 1, 2, 3, 4 whatever is moved; the repaired one may pick another one."""
    trial, found = waverer_of(3, 2, again)
    wanted = Wanted({"N": 2}, {}, found.reference.answers[0], found.reference.meters, [])
    apart = {"y": Distance(1.0, 2.0, 2.0)}

    assert found.wavers("y") == wavers
    if wavers:
        settle(trial, wanted, {}, apart, [found.reference], found.wavers)
        assert [each.far for each in trial.doubts.values()] == [True]
        settle(trial, wanted, {}, apart, [found.reference], lambda _: False)  # the terms decide once
        assert len(trial.evidence) == 1
    else:
        with pytest.raises(Stop) as stop:
            settle(trial, wanted, {}, apart, [found.reference], found.wavers)
        assert sentence(stop.value.record).startswith("output 'y' differs by 1 at N = 2")


def test_a_model_that_does_not_run_again_is_not_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waverer, "steady", lambda *_: None)

    assert not waverer_of(3, 2, None)[1].wavers("y")


def test_what_is_no_number_is_not_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waverer, "steady", lambda *_: {"y": np.zeros((1, 1), bool)})

    assert not waverer_of(np.nan, 2, 2)[1].wavers("y")
    assert waverer_of(3, 2, 2)[1].wavers("y")
