"""Certificates in which the term run has its say beside onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from onereshape.ground.isolation.budget import Limits, limited
from onereshape.prove.run_both import certify
from onereshape.prove.runs import term_runs
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.term_sizes import other_sizes, usual_sizes
from onereshape.prove.seen import merged
from onereshape.terms import limits as term_limits
from onereshape.terms.proof import OutputTerms, Proof
from onereshape.terms.prove import prove_batch
from tests.prove.certifying import batch, both, built, flat, same


def test_a_right_repair_is_proven_for_all_n() -> None:
    found = both(flat("1", 1), flat("N", 0))

    assert (found.status, found.holds) == ("proven", True)
    assert found.reason == (
        "for all N >= 1 each output element is the same expression of its own sample's inputs; "
        "onnxruntime agrees at N = 1, 2, 3; the largest difference is 0"
    )
    assert found.proof is not None
    assert (found.proof.verdict, found.proof.always) == ("proven", True)
    machine: Any = found.to_json()
    assert machine["proof"]["outputs"][0]["name"] == "y"


def test_the_seed_of_the_terms_is_nobodys() -> None:
    seeds = {both(flat("1", 1), flat("N", 0)).proof.seed for _ in range(3)}
    kept = both(flat("1", 1), flat("N", 0), term_seed=7)

    assert len(seeds) == 3
    assert kept.proof.seed == 7


# Values that are drawn do not open it, however large: behind it all samples get what the first one has.
GATE = """(float[{n}, 3] x) => (float[{n}, 3] y) <float limit = {{1e20}}, int64[1] zero = {{0}}> {{
    f = Gather <axis = 0> (x, zero)
    c = Greater(f, limit)
    s = Neg(f)
    y = Where(c, s, x)
}}"""


def test_a_gate_that_no_drawn_input_opens() -> None:
    original, repaired = (built(GATE.format(n=n)) for n in ("1", "N"))

    assert batch(original, repaired).status == "certified"
    found = both(original, repaired)
    assert (found.status, found.holds) == ("not proven", False)
    assert found.reason.startswith("output 'y' is not made of the samples' own terms at N = ")
    assert found.reason.endswith("; drawn inputs showed no difference, but others may")


def test_a_gate_in_a_model_in_which_nothing_was_freed() -> None:
    right, wrong = (built(GATE.format(n="1").replace("Neg", op)) for op in ("Neg", "Abs"))

    assert same(right, wrong).status == "certified"
    found = certify(right, wrong, {}, Comparison(), base_dir=".")
    assert (found.status, found.holds) == ("not proven", False)
    assert found.reason.startswith("output 'y' is another expression")


CONSTANT = """(float[{n}, 3] x) => (float[{n}, 3] y)
    <float tiny = {{1e-30}}, float one = {{1}}, int64[2] k = {{{k}, 3}}> {{
    s = Mul(x, tiny)
    o = Add(s, one)
    y = Reshape(o, k)
}}"""


def test_what_drawn_inputs_cannot_test_is_proven() -> None:
    original, repaired = (built(CONSTANT.format(n=n, k=k)) for n, k in (("1", 1), ("N", 0)))

    assert batch(original, repaired).status == "untested"
    found = both(original, repaired)
    assert (found.status, found.holds) == ("proven", True)
    assert found.reason == (
        "for all N >= 1 each output element is the same expression of its own sample's inputs; onnxruntime ran it at "
        "N = 1, 2, 3, where drawn inputs could not test it: no output depends on the sample "
        "(the same for all samples: y)"
    )


def test_what_neither_can_test_stays_untested() -> None:
    body = CONSTANT.replace("o = Add(s, one)", "r = Bernoulli(s) z = Mul(r, tiny) o = Add(z, one)")
    found = both(*(built(body.format(n=n, k=k)) for n, k in (("1", 1), ("N", 0))))

    assert found.status == "untested"
    assert "; not proven: Bernoulli " in found.reason


def test_what_the_engine_never_ran_stays_untested() -> None:
    """The original draws numbers, so it is not asked further."""
    body = "(float[{n}, 3] x) => (float[{n}, 3] y) {{ y = RandomUniformLike(x) }}"
    found = both(built(body.format(n=1)), built(body.format(n="N")))

    assert (found.status, found.proof.verdict) == ("untested", "not proven")


def test_what_only_one_of_them_knows_is_certified() -> None:
    body = """(float[{n}, 3] x) => (float[{n}, 3] y) <int64[2] k = {{{k}, 3}}> {{
        s = Bernoulli(x)
        z = Sub(s, s)
        a = Add(x, z)
        y = Reshape(a, k)
    }}"""
    found = both(*(built(body.format(n=n, k=k)) for n, k in (("1", 1), ("N", 0))))

    assert found.status == "certified"
    assert found.reason.startswith("compared at N = 1, 2, 3, 5, 4, 8, 17, 130; the largest difference is 0; no sample ")
    assert "; not proven: Bernoulli " in found.reason
    assert found.proof is not None
    assert found.proof.verdict == "not proven"


def test_an_engine_that_disagrees_is_right() -> None:
    wrong = "(float[N, 3, 4] x) => (float[N, 12] y) <int64[2] k = {0, 12}> { z = Reshape(x, k) y = Neg(z) }"
    found = both(flat("1", 1), built(wrong))

    assert (found.status, found.proof.verdict) == ("differs", "other")
    assert "expression" not in found.reason


NAMED = """(float[{n}, s, 4] x) => (float[{n}, s, 2, 2] y) <int64[4] k = {{{k}, -1, 2, 2}}> {{ y = Reshape(x, k) }}"""


def test_other_named_dims_have_the_sizes_that_the_engine_had() -> None:
    original, repaired = (built(NAMED.format(n=n, k=k)) for n, k in (("1", 1), ("N", 0)))
    found = both(original, repaired)

    assert found.status == "proven"
    assert found.proof is not None
    assert {each["s"] for each in found.proof.sizes} == {each["s"] for each in found.compared}
    assert found.reason.startswith("for all N >= 1 and s = ")


def test_inputs_that_serve_as_sizes_are_held() -> None:
    body = """(float[{n}, 1] x, int64[1] k) => (float[{n}, a] y) <int64[1] one = {{1}}, int64[2] t = {{{first}, 1}}> {{
        r = Reshape(x, t)
        e = Concat <axis = 0> (one, k)
        y = Expand(r, e)
    }}"""
    found = both(*(built(body.format(n=n, first=first)) for n, first in (("1", 1), ("N", 0))))

    assert found.status == "proven"
    assert found.proof is not None
    assert found.proof.held
    assert all(each.startswith("k = [") for each in found.proof.held)
    assert "(given k = [" in found.reason


def test_the_room_is_the_same_on_every_machine() -> None:
    with limited(Limits(50.0, 640_000_000)):
        assert (term_runs.allowed().seconds, term_runs.allowed().elements) == (50.0, 3 << 26)


def test_a_rule_that_stumbles_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumbles(*_: object, **__: object) -> Proof:
        raise ZeroDivisionError

    monkeypatch.setattr(term_runs, "prove_batch", stumbles)
    found = both(flat("1", 1), flat("N", 0))

    assert found.status == "certified"
    assert found.reason.endswith("; not proven: the term run stumbled (ZeroDivisionError)")


def test_sizes_that_differ_from_every_other_dim() -> None:
    model = built(
        "(float[a, b, 2] x) => (float[a, b, 2] y) <float[3, 5] w> { y = Neg(x) }", w=np.zeros((3, 5), np.float32)
    )

    assert [*other_sizes(model, {"a"}, lambda: True)] == [{"a": 4, "b": 6}, {"a": 1, "b": 1}, {"a": 4, "b": 0}]


def test_sizes_for_models_that_take_no_small_ones() -> None:
    images = built("(float[n, 3, h, w] x) => (float[n, 3, h, w] y) { y = Neg(x) }")
    cubes = built("(float[n, a, b, c, d] x) => (float[n, a, b, c, d] y) { y = Neg(x) }")

    assert [*usual_sizes(images)] == [{"h": size, "n": 4, "w": size} for size in (16, 64, 224)]
    assert [sizes["a"] for sizes in usual_sizes(cubes)] == [16]


def test_a_model_is_the_same_at_no_samples_too() -> None:
    body = "(float[a, 4] x) => (float[a, 2, 2] y) <int64[3] k = {K, 2, 2}> { y = Reshape(x, k) }"
    copied, inferred = (built(body.replace("K", each)) for each in ("0", "-1"))
    found = certify(copied, inferred, {}, Comparison(), base_dir=".")

    assert found.status == "proven"
    assert found.proof is not None
    assert {0, 1} <= {each["a"] for each in found.proof.sizes}


def test_merged_proofs_hold_if_each_does() -> None:
    one = Proof("proven", "", ({"N": 1},), True, "", (), (OutputTerms("y", 0, 1, 5),), 3)
    two = replace(one, sizes=({"N": 2},), always=False, not_always="Slice s", outputs=(OutputTerms("y", 0, 1, 7),))
    bad = replace(two, verdict="other", reason="no")

    assert merged([one, two]) == Proof(
        "proven", "", ({"N": 1}, {"N": 2}), False, "Slice s", (), (OutputTerms("y", 0, 1, 12),), 3
    )
    assert (merged([one, bad]).verdict, merged([one, bad]).reason) == ("other", "no")


@pytest.mark.parametrize("witness", ["right", "other constants"])
def test_a_witness_that_folded_other_constants(witness: str) -> None:
    body = "(float[1, {s}] x) => (float[1, {s}] y) <float c = {{{c}}}> {{ y = Mul(x, c) }}"
    four, free = (built(body.format(s=s, c="0.1")) for s in (4, "S"))
    nine = built(body.format(s=9, c="0.1" if witness == "right" else "0.10000001"))
    found = certify(four, free, {"x": {1: "S"}}, Comparison("other", witnesses=(nine,)), base_dir=".")

    if witness == "right":
        assert found.status == "proven"
        claim = "at S = 4, 9 each output element is the same expression of the inputs; onnxruntime agrees at S = 4, 9"
        assert found.reason.startswith(claim)
    else:
        assert found.status == "certified"
        assert (
            "; proven at S = 4, but not beside the witness: output 'y' is another expression at S = 9" in found.reason
        )


def test_another_expression_at_the_exported_size_is_refused() -> None:
    body = "(float[1, {s}] x) => (float[1, {s}] y) <float c = {{{c}}}> {{ y = Mul(x, c) }}"
    four, free = built(body.format(s=4, c="0.1")), built(body.format(s="S", c="0.10000001"))
    found = certify(four, free, {"x": {1: "S"}}, Comparison("other"), base_dir=".")

    assert found.status == "not proven"


def test_what_the_terms_could_not_hold_is_not_run_on_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of large inputs is put to the terms before the engine; what stopped them there would stop them again."""
    runs = []

    def counted(*args: Any, **kwargs: Any) -> Proof:
        runs.append(kwargs["places"])
        return prove_batch(*args, **kwargs)

    monkeypatch.setattr(term_runs, "prove_batch", counted)
    monkeypatch.setattr(term_runs, "allowed", lambda: term_limits.Limits(elements=1))
    wide = "(float[{n}, 131072] x) => (float[{n}, 131072] y) {{ y = Relu(x) }}"
    found = both(built(wide.format(n=1)), built(wide.format(n="N")))

    assert (found.status, found.proof and found.proof.verdict) == ("certified", "not proven")
    assert runs == [{"y": (0, 1)}]
