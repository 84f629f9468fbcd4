"""The batch through If, Loop and Scan: what is proven of the repaired models, and the words of the refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import parser, save

import onereshape as orx
from onereshape.graphs.backtracking import Patience
from onereshape.ground.errors import FixError
from onereshape.repair.batch import search
from onereshape.repair.batch.search import batch_plan
from tests.running import session
from tests.shaped_models import HEAD, read

FLAT = "t = Constant<value_ints = [6]>() f = Reshape(x, t) u = Constant<value_ints = [1, 6]>() p = Reshape(f, u)"
FREED = {
    "a flag": (
        "g (float[1, 6] x, bool[1] flag) => (float[1, 6] y) { y = If(flag) <"
        f"then_branch = a () => (float[1, 6] p) {{ {FLAT} }}, else_branch = b () => (float[1, 6] q) {{ q = Neg(x) }}> }}"
    ),
    "a condition for each": (
        "g (float[1, 6] x, bool[1] own) => (float[1, 6] y) { y = If(own) <"
        f"then_branch = a () => (float[1, 6] p) {{ {FLAT} }}, else_branch = b () => (float[1, 6] p) {{ p = Neg(x) }}> }}"
    ),
    "a condition without an axis": (
        "g (float[1, 6] x) => (float[1, 6] y) <float zero = {0}, int64 two = {2}, int64[1] first = {0}> {"
        " r = Squeeze(x, first) e = Gather(r, two) g = Greater(e, zero) c = Not(g) y = If(c) <"
        f"then_branch = a () => (float[1, 6] p) {{ {FLAT} }}, else_branch = b () => (float[1, 6] p) {{ p = Neg(x) }}> }}"
    ),
    "a size": (
        "g (float[1, 6] x) => (float[1, 6] y) <int64[1] six = {6}> { s = Shape<start = 1>(x) c = Equal(s, six) y = If(c) <"
        f"then_branch = a () => (float[1, 6] p) {{ {FLAT} }}, else_branch = b () => (float q) {{ q = ReduceMax(x) }}> }}"
    ),
    "constants of a branch": (
        "g (float[1, 6] x, bool[1] own) => (float[1, 8] y) { y = If(own) <then_branch = a () => (float[1, 8] p)"
        " <float[1, 2] k = {1.5, 2.5}> { p = Concat<axis = 1>(x, k) }, else_branch = b () => (float[1, 8] q)"
        " <float[1, 2] k = {3.5, 4.5}> { q = Concat<axis = 1>(k, x) }> }"
    ),
    "turns": (
        "g (float[1, 6] x) => (float[1, 6] y, float[3, 1, 6] z) <int64 n = {3}, float[1, 6] zero = {0, 0, 0, 0, 0, 0}> {"
        " y, z = Loop(n, , zero) <body = b (int64 i, bool c, float[1, 6] v) => (bool d, float[1, 6] w, float[1, 6] e) {"
        f" d = Identity(c) {FLAT} w = Add(v, p) e = Relu(w) }}> }}"
    ),
    "steps": (
        "g (float[1, 4, 3] x, float[1, 3] h) => (float[1, 3] y, float[1, 3, 4] z) { y, z = Scan<num_scan_inputs = 1,"
        " scan_input_axes = [1], scan_output_axes = [-1], body = b (float[1, 3] v, float[1, 3] e) => (float[1, 3] w,"
        " float[1, 3] o) { t = Constant<value_ints = [3]>() f = Reshape(v, t) u = Constant<value_ints = [1, 3]>()"
        " p = Reshape(f, u) w = Add(p, e) o = Neg(w) }>(h, x) }"
    ),
}
SHARED = {"a flag": ["flag"]}
"""Inputs that all samples share."""


def written(text: str, folder: Path) -> str:
    path = folder / "m.onnx"
    save(parser.parse_model(HEAD + text), path)
    return str(path)


@pytest.mark.parametrize("name", FREED)
def test_what_is_baked_inside_is_repaired_and_proven(name: str, tmp_path: Path) -> None:
    path = written(FREED[name], tmp_path)
    inputs = [value.name for value in orx.load(path).ir.graph.inputs]
    fixed = orx.fix(path, batch={str(each): 0 for each in inputs if each not in SHARED.get(name, ())})

    assert fixed.changes
    assert fixed.certificate.status == "proven"


def test_a_choice_for_each_sample_is_a_where(tmp_path: Path) -> None:
    fixed = orx.fix(written(FREED["a condition for each"], tmp_path), batch=True)
    ops = [node.op_type for node in fixed.model.ir.graph]

    assert "If" not in ops
    assert ops.count("Where") == 1
    assert fixed.changes[-1].message == "If of y chooses a branch by own, which differs from sample to sample"


REFUSED = {
    "an operator without a rule, after a choice": (
        "g (float[1, 4, 3] x) => (float[1, 12] y) <int64[2] t = {1, 12}>"
        " { r = Reshape(x, t) q = SequenceConstruct(r) s = SequenceMap <body = b (float[1, 12] v) => (float[1, 12] w)"
        " { w = Neg(v) }> (q) y = ConcatFromSequence <axis = 1> (s) }",
        "SequenceMap of s: SequenceMap has no batching rule, and its input q carries the batch",
    ),
    "an operator that lists its findings, after a choice": (
        "g (float[1, 4, 3] x) => (int64[2, k] y) <int64[2] t = {1, 12}> { r = Reshape(x, t) y = NonZero(r) }",
        "NonZero of y (NonZero): it lists the places of all samples that are not 0 one after the other,"
        " and how many each has depends on it",
    ),
    "as many turns as a sample says": (
        "g (float[1, 3] x, int64[1] n) => (float[1, 3] y) { y = Loop(n, , x) <body = b (int64 i, bool c, float[1, 3] v)"
        " => (bool d, float[1, 3] w) { d = Identity(c) w = Neg(v) }> }",
        "Loop of y (Loop): how often it turns depends on the sample: n carries the batch",
    ),
    "turns until a sample is done": (
        "g (float[1] x) => (float[1] y) <float top = {9}> { y = Loop(, , x) <body = b (int64 i, bool c, float[1] v)"
        " => (bool d, float[1] w) { w = Add(v, x) d = Less(w, top) }> }",
        "Loop of y (Loop): how often it turns depends on the sample: d carries the batch",
    ),
    "steps along the batch": (
        "g (float[1, 3] x) => (float[3] y) <float[3] zero = {0, 0, 0}> { y = Scan<num_scan_inputs = 1,"
        " body = b (float[3] v, float[3] e) => (float[3] w) { w = Add(v, e) }>(zero, x) }",
        "Scan of y (Scan) mixes the samples: it steps along axis 0 of x, which is N, with a state",
    ),
    "a branch that may fail": (
        "g (float[1, 3] x, int64[1] at, bool[1] c) => (float[1, 1] y) { y = If(c) <"
        "then_branch = a () => (float[1, 1] p) { p = Gather<axis = 1>(x, at) },"
        " else_branch = b () => (float[1, 1] q) { k = Constant<value_ints = [1]>() q = ReduceMax(x, k) }> }",
        "If of y (If): its condition differs from sample to sample, and Gather (Gather) in its then_branch cannot be run for "
        "samples that take the other one",
    ),
    "branches of other dims": (
        "g (float[1, 3] x, bool[1] c) => (float[1, k] y) { y = If(c) <"
        "then_branch = a () => (float[1, 6] p) { p = Concat<axis = 1>(x, x) },"
        " else_branch = b () => (float[1, 3] q) { q = Neg(x) }> }",
        "If of y (If): its condition differs from sample to sample, and its branches give [1, 6] and [1, 3], which cannot "
        "stand side by side",
    ),
    "turns for each sample": (
        "g (float[N, 3] x) => (float[k, 3] y) { s = Shape<end = 1>(x) y = Loop(s, ) <body = b (int64 i, bool c)"
        " => (bool d, float[3] w) { d = Identity(c) w = Gather<axis = 0>(x, i) }> }",
        "Loop of y (Loop): what it does depends on how many samples there are: s grows with N",
    ),
    "branches that mix the samples": (
        "g (float[1, 3] x) => (float[1, 3] y) <bool c = {1}> { y = If(c) <"
        "then_branch = a () => (float[1, 3] p) { p = Softmax<axis = 0>(x) },"
        " else_branch = b () => (float[1, 3] q) { q = Neg(x) }> }",
        "Softmax of p (Softmax) mixes the samples: its sum runs along axis 0, which is N",
    ),
    "a branch by the number of samples": (
        "g (float[N, 3] x) => (float[N, 3] y) <int64[1] one = {1}> { s = Shape<end = 1>(x) c = Equal(s, one) y = If(c) <"
        "then_branch = a () => (float[N, 3] p) { p = Relu(x) }, else_branch = b () => (float[N, 3] q) { q = Neg(x) }> }",
        "Equal of c (Equal) mixes the samples: it takes s, which grows with N: what each sample gives depends on how many "
        "there are",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_followed_says_why(name: str) -> None:
    text, sentence = REFUSED[name]
    model = read(text)
    with pytest.raises(FixError) as refusal:
        batch_plan(model, {str(value.name): 0 for value in model.graph.inputs}, "N", 1)

    assert refusal.value.sentence == sentence


def test_branches_of_other_ranks_say_so() -> None:
    model = read(
        "g (float[1, S, 3] x) => (float[] y) <int64[1] one = {1}> { s = Shape<start = 1, end = 2>(x) c = Equal(s, one)"
        " y = If(c) <then_branch = a () => (float[] p) { p = Squeeze(x, one) },"
        " else_branch = b () => (float[] q) { q = Neg(x) }> }"
    )
    with pytest.raises(FixError) as refusal:
        batch_plan(model, {"x": 0}, "N", 1)

    assert refusal.value.sentence == (
        "If of y (If): its branches give y with 2 and 3 dims, and which one is taken is not known"
    )


def test_how_much_is_followed_inside_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop may be followed several times, and so may each loop in it."""
    monkeypatch.setattr(search, "Patience", lambda steps: Patience(steps, 8))
    with pytest.raises(FixError) as refusal:
        batch_plan(read(FREED["turns"]), {"x": 0}, "N", 1)

    assert refusal.value.sentence == "Loop of y (Loop): the graphs inside it would take too long to follow"


def test_a_scan_of_a_named_batch_is_left_alone() -> None:
    model = read(
        "g (float[N, 4, 3] x, float[N, 3] h) => (float[N, 3] y) { y, z = Scan<num_scan_inputs = 1, scan_input_axes = [1],"
        " body = b (float[N, 3] v, float[N, 3] e) => (float[N, 3] w, float[N, 3] o) { w = Add(v, e) o = Neg(w) }>(h, x) }"
    )

    assert batch_plan(model, {"x": 0, "h": 0}, "N", 1).edits == ()


@pytest.mark.parametrize("turns", [0, 2])
@pytest.mark.parametrize("condition", ["", "go"])
def test_what_may_not_turn_at_all_has_its_dims_after_optimisation_too(
    condition: str, turns: int, tmp_path: Path
) -> None:
    """Sizes that are joined become a -1 there, which says nothing of what has no elements."""
    text = (
        "g (float[1, 3] x, int64 n, bool go) => (float[1, 3] y, float[k, 1, 3] z)"
        f" {{ y, z = Loop(n, {condition}, x) <body = b (int64 i, bool c, float[1, 3] v)"
        " => (bool d, float[1, 3] w, float[1, 3] e) { d = Identity(c) w = Add(v, x) e = Relu(w) }> }"
    )
    fixed = orx.fix(written(text, tmp_path), batch={"x": 0})
    feeds = {"x": np.ones((2, 3), np.float32), "n": np.array(turns), "go": np.array(bool(turns))}

    assert fixed.certificate.holds
    assert [each.shape for each in session(fixed.model.ir, optimized=True).run(None, feeds)] == [(2, 3), (turns, 2, 3)]
