"""Wrong repairs behind gates that no usual value opens, and healthy models that large values do not harm."""

from __future__ import annotations

import numpy as np
import pytest

from tests.prove.certifying import batch, both, built, other, same

# Gates that no value of the usual size opens: what lies behind them is wrong in the repair.
OPENED = {
    "large": "c = Greater(x, limit)",
    "large and negative": "m = Neg(x) c = Greater(m, limit)",
    "huge": "l = Mul(limit, limit) k = Mul(l, small) c = Greater(x, k)",
    "all equal": "a = ReduceMax <keepdims = 1> (x, last) b = ReduceMin <keepdims = 1> (x, last) c = Equal(a, b)",
    "all negative": "a = ReduceMax <keepdims = 1> (x, last) c = Less(a, edge)",
    "an integer": "c = Greater(i, far)",
    "shared": "c = Greater(w, limit)",
}
GATE = """(float[{n}, 6] x, int64[{n}, 6] i, float[6] w) => (float[{n}, 6] y)
    <float limit = {{1000}}, float small = {{0.5}}, float edge = {{-5}}, int64 far = {{1000}}, int64[1] last = {{1}},
    int64[1] first = {{0}}> {{
    {gate}
    p = Mul(x, w)
    j = Cast <to = 1> (i)
    q = Add(p, j)
    s = {behind}
    y = Where(c, s, q)
}}"""
FREED = {"x": {0: "N"}, "i": {0: "N"}}


@pytest.mark.parametrize("gate", OPENED)
def test_what_lies_behind_a_gate_is_compared_too(gate: str) -> None:
    original, right, wrong = (
        built(GATE.format(n=n, gate=OPENED[gate], behind=behind))
        for n, behind in ((1, "Neg(q)"), ("N", "Neg(q)"), ("N", "ReduceMin <keepdims = 1> (q, first)"))
    )
    mixing = built(GATE.format(n=1, gate=OPENED[gate], behind="ReduceMin <keepdims = 1> (q, first)"))

    assert batch(original, right, freed=FREED).holds
    found = batch(mixing, wrong, freed=FREED)
    assert found.status == "differs", found.reason


def test_a_gate_of_a_freed_dim_and_of_a_simplified_model() -> None:
    body = """(float[1, {s}, 2] x) => (float[1, {s}, 2] y) <float limit = {{1000}}> {{
        c = Greater(x, limit)
        n = {behind}(x)
        y = Where(c, n, x)
    }}"""
    four, right, wrong = (built(body.format(s=s, behind=op)) for s, op in ((4, "Neg"), ("S", "Neg"), ("S", "Identity")))
    assert other(four, right).status == "unwitnessed"
    assert other(four, wrong).status == "differs"
    assert same(right, right).holds
    assert same(right, wrong).status == "differs"


def test_a_gate_behind_which_the_original_mixes_its_samples() -> None:
    """A batch of two: only where one sample is large and the other is not can it be seen."""
    body = """(float[{n}, 6] x) => (float[{n}, 6] y) <float limit = {{1000}}, int64[1] first = {{0}}> {{
        c = Greater(x, limit)
        m = ReduceMean <keepdims = 1> (x, first)
        y = Where(c, m, x)
    }}"""
    found = batch(built(body.format(n=2)), built(body.format(n="N")), size=2)

    assert found.status == "differs"


HEALTHY = {
    "overflows": "a = Exp(x) y = Identity(a)",
    "overflows on one side": "a = Exp(x) b = Add(a, one) y = Log(b)",
    "has no root below 0": "y = Sqrt(x)",
    "rounds": "a = Mul(x, far) b = Sin(a) y = Add(b, x)",
    "cancels": "a = ReduceMean <keepdims = 1> (x, last) d = Sub(x, a) e = Mul(d, d) "
    "v = ReduceMean <keepdims = 1> (e, last) w = Sqrt(v) y = Div(d, w)",
    "chooses": "i = ArgMax <axis = 1, keepdims = 1> (x) y = Cast <to = 1> (i)",
    "saturates": "y = Softmax <axis = 1> (x)",
}


@pytest.mark.parametrize("name", HEALTHY)
@pytest.mark.parametrize("kind", ["float", "float16"])
def test_healthy_models_stay_certified(name: str, kind: str) -> None:
    if kind == "float16" and name in {"chooses", "rounds"}:
        return
    body = f"""({kind}[{{n}}, 6] x) => ({kind}[{{n}}, a] y)
        <{kind} one = {{{{1}}}}, {kind} far = {{{{300}}}}, int64[1] last = {{{{1}}}}> {{{{ {HEALTHY[name]} }}}}"""
    found = batch(built(body.format(n=1)), built(body.format(n="N")))

    assert found.holds, found.reason


def test_what_rounding_decides_is_no_difference() -> None:
    """x by a matrix and back, less x, is nothing but the rounding of x: far above 1 where x is huge."""
    body = """(float[{n}, 64] x) => (float[{n}, 64] y) {{ a = MatMul(x, w) b = MatMul(a, v) c = Sub(b, x)
        s = Softmax <axis = 1> (x) y = {y} }}"""
    weights = np.linalg.qr(np.random.default_rng(0).standard_normal((64, 64)))[0].astype(np.float32)
    original, repaired = (
        built(body.format(n=n, y=y), w=weights, v=weights.T.copy()) for n, y in ((1, "Add(c, s)"), ("N", "Identity(s)"))
    )
    found = batch(original, repaired)

    assert found.holds, found.reason
    assert "huge" in found.extremes


def test_values_are_as_large_as_the_original_takes() -> None:
    """e^(x/100) is infinite where x is huge, and a gate at 100 is opened all the same."""
    body = """(float[{n}, 6] x) => (float[{n}, 6] y) <float part = {{0.01}}, float limit = {{100}}> {{
        a = Mul(x, part)
        e = Exp(a)
        b = Add(e, x)
        c = Greater(x, limit)
        m = {behind}(b)
        y = Where(c, m, b)
    }}"""
    original, right, wrong = (
        built(body.format(n=n, behind=op)) for n, op in ((1, "Neg"), ("N", "Neg"), ("N", "Identity"))
    )
    found = batch(original, right)

    assert found.holds, found.reason
    assert "huge" not in found.extremes
    assert batch(original, wrong).status == "differs"


def test_a_gate_that_one_sample_opens_beside_another() -> None:
    """A batch of two, of which one is large and one is not; samples that are alike never open it."""
    body = """(float[2, 6] x) => (float[2, 6] y)
        <float limit = {1000}, float few = {10}, float[1] zero = {0}, int64[1] first = {0}> {
        a = Abs(x)
        p = ReduceMax <keepdims = 1> (a, first)
        q = ReduceMin <keepdims = 1> (a, first)
        g = Greater(p, limit)
        l = Less(q, few)
        c = And(g, l)
        y = Where(c, zero, x)
    }"""
    found = batch(built(body), built("(float[N, 6] x) => (float[N, 6] y) { y = Identity(x) }"), size=2)

    assert found.status == "differs", found.reason


def test_a_large_model_that_is_proven_for_every_batch_has_no_gates_to_try() -> None:
    body = """(float[{n}, 512, 300] x) => (float[{n}, 512, 300] y) <float limit = {{1000}}, int64[1] first = {{0}}> {{
        c = Greater(x, limit)
        b = {behind}
        y = Where(c, b, x)
    }}"""
    one, many, mixing, mixed = (
        built(body.format(n=n, behind=behind))
        for behind in ("Neg(x)", "ReduceMin <keepdims = 1> (x, first)")
        for n in (1, "N")
    )
    found = both(one, many)

    assert (found.status, found.extremes, found.compared) == ("proven", (), ({"N": 1}, {"N": 2}, {"N": 3}))
    assert both(mixing, mixed).status == "differs"  # nothing proves it, and a large value opens the gate
