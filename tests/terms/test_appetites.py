"""Small models that ask for much: the term run ends soon, in words, and does not take the memory there is."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Generator

import onnx_ir as ir
import pytest

from onereshape.terms.call import Notes
from onereshape.terms.limits import Limits
from onereshape.terms.program import Outcome, side_by_side
from onereshape.terms.prove import prove_batch, prove_same
from tests.models import model

TURNS = "(int64 i, bool c, float[3] s) => (bool d, float[3] t)"
INNER = "(int64 i_, bool c_, float[3] s_) => (bool d_, float[3] t_)"
MODELS = {
    "Expand": ("e = Expand(x, n) y = ReduceSum(e)", "int64[2] n = {40000000, 3}", "more than a term run holds"),
    "Range": ("r = Range(a, n, b) f = Cast<to = 1>(r) y = ReduceSum(f)",
              "int64 n = {120000000}, int64 a = {0}, int64 b = {1}", "more than a term run holds"),
    "HannWindow": ("w = HannWindow(n) y = ReduceSum(w)", "int64 n = {100000000}",
                   "counts beyond the integers that FLOAT holds"),
    "a sum of sums": ("".join(f"x{i + 1} = Concat<axis = 0>(x{i}, x{i}) " for i in range(40)).replace("x0", "x")
                      + "y = Identity(x40)", "int64 n = {0}", "more than a term run may hold"),
    "dims": ("".join(f"x{i + 1} = Unsqueeze(x{i}, n) " for i in range(70)).replace("(x0,", "(x,") + "y = Neg(x70)",
             "int64[1] n = {0}", "33 dims are more"),
    "parts": ("e = Expand(x, n) s = SplitToSequence(e, b) y = ConcatFromSequence<axis = 0>(s)",
              "int64[2] n = {1000000, 3}, int64 b = {1}", "makes 1000000 parts"),
    "updates": ("i = ConstantOfShape<value = int64[1] {0}>(n) u = Expand(w, n) "
                'y = ScatterElements<reduction = "add">(x, i, u)',
                "int64[1] n = {200000}, float[1] w = {1}", "writes 200000 times"),
    "steps": ("e = Expand(x, n) y = RNN<hidden_size = 1>(e, w, r)",
              "int64[3] n = {200000, 1, 3}, float[1, 1, 3] w = {1, 2, 3}, float[1, 1, 1] r = {1}", "200000 steps"),
    "a loop in a loop": (f"y = Loop(n, , x) <body = a {TURNS} {{ d = Identity(c) t = Loop(n, , s) <body = b {INNER} "
                         "{ d_ = Identity(c_) t_ = Neg(s_) }> }>", "int64 n = {4000}", "the term run has taken"),
}  # fmt: skip


@pytest.mark.parametrize("what", MODELS)
def test_it_ends_soon(what: str) -> None:
    nodes, constants, why = MODELS[what]
    one, two = (
        ir.from_proto(model(f"agraph (float[3] x) => (float[n] y) <{constants}> {{ {nodes} }}")) for _ in range(2)
    )
    begun = time.process_time()

    proof = prove_same(one, two, [{}], seed=3, limits=Limits(2.0) if "loop" in what else None)

    assert proof.verdict == "not proven"
    assert why in proof.reason
    assert time.process_time() - begun < 10


def test_a_model_gets_what_its_size_needs() -> None:
    small = ir.from_proto(model("agraph (float[3] x) => (float[3] y) { y = Neg(x) }"))
    large = ir.from_proto(model("agraph (float[1000, 1000, 60] x) => (float[n] y) { y = ReduceSum(x) }"))

    assert Limits().fitting(small).elements < 1 << 25
    assert Limits().fitting(small).seconds < 10
    assert Limits().fitting(large).elements == Limits().elements
    assert Limits().fitting(large).seconds == Limits().seconds
    assert Limits(1.0, 5).fitting(large).elements == 5
    assert Limits(1.0, 5).fitting(large).seconds == 1


def test_runs_that_hold_much_together_go_one_after_another() -> None:
    order: list[str] = []

    def run(name: str, *shares: float) -> Generator[float, None, Outcome]:
        for share in shares:
            order.append(name)
            yield share
        return {}, Notes([name])

    found = side_by_side(run("a", 0.05, 0.1, 0.1, 0.05), run("b", 0.05, 0.1, 0.1), run("c", 0.1, 0.9))

    assert "".join(order) == "abcabcaab"
    assert found == [({}, Notes(["a"])), ({}, Notes(["b"])), ({}, Notes(["c"]))]


def test_a_batch_and_its_samples_take_no_more_memory_than_one_run_may() -> None:
    """The batch is 3 here, and two samples that are run beside it would hold two thirds as much again."""
    width, operators = 20_000, ("Neg", "Abs", "Exp", "Tanh", "Sin", "Cos", "Erf", "Ceil")
    nodes = " ".join(f"v{place} = {each}(x)" for place, each in enumerate(operators))
    names = ", ".join(f"v{place}" for place in range(len(operators)))
    text = f"agraph (float[{{n}}, 2, {width}] x) => (float[{{n}}, 2, {width}] y) {{{{ {nodes} y = Max({names}) }}}}"
    fixed, free = (ir.from_proto(model(text.format(n=n))) for n in ("1", "N"))
    most = 3 * 2 * width * (2 + len(operators))
    tracemalloc.start()

    proof = prove_batch(fixed, free, {"x": 0}, seed=5, limits=Limits(elements=most))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert proof.always
    assert {"N": 3} in proof.sizes
    assert peak < most * 8 * 1.3, peak / most / 8
