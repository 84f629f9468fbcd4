"""Loops that no run ends are refused before the engine is asked, and others are run."""

from __future__ import annotations

from pathlib import Path

import pytest

import onereshape as orx
from onereshape.ground.errors import FixError
from onereshape.prove.engines.turning import endless
from tests.repair.test_control_flow import written
from tests.shaped_models import read

_LOOP = (
    "g (float[1, 3] x, float s) => (float[1, 3] y) <int64 n = {COUNT}, bool yes = {1}, bool no = {0}, float top = {9}>"
    " { y = Loop(n, FIRST, x) <body = b (int64 i, bool c, float[1, 3] v)"
    " => (bool d, float[1, 3] w) { GO w = Neg(v) }> }"
)
_DEEP = (
    "g (float[1, 3] x) => (float[1, 3] y) <int64 n = {COUNT}> { y = Loop(n, , x) <body = b (int64 i, bool c,"
    " float[1, 3] v) => (bool d, float[1, 3] w) { d = Identity(c) w = Loop(n, , v) <body = e (int64 j, bool g,"
    " float[1, 3] p) => (bool h, float[1, 3] q) { h = Identity(g) q = Neg(p) }> }> }"
)
_BRANCH = (
    "g (float[1, 3] x, bool f) => (float[1, 3] y) <int64 n = {COUNT}> { y = If(f) <then_branch = a () =>"
    " (float[1, 3] p) { p = Loop(n, , x) <body = b (int64 i, bool c, float[1, 3] v) => (bool d, float[1, 3] w)"
    " { d = Identity(c) w = Neg(v) }> }, else_branch = o () => (float[1, 3] q) { q = Neg(x) }> }"
)
_MANY = 2**62


def _loop(count: int = _MANY, first: str = "", go: str = "d = Identity(c)") -> str:
    return _LOOP.replace("COUNT", str(count)).replace("FIRST", first).replace("GO", go)


CASES = {
    "a number": (_loop(), "Loop of y turns 4611686018427387904 times, and more than 100000 take too long"),
    "just too many": (_loop(100_001), "Loop of y turns 100001 times, and more than 100000 take too long"),
    "as many as there may be": (_loop(100_000), None),
    "a condition that says yes": (_loop(go="d = Identity(yes)"), "Loop of y turns 4611686018427387904 times"),
    "a condition that may end it": (_loop(go="d = Less(s, top)"), None),
    "one that ends it at once": (_loop(go="d = Identity(no)"), None),
    "begun by what is always so": (_loop(first="yes"), "Loop of y turns 4611686018427387904 times"),
    "never begun": (_loop(first="no"), None),
    "no number": (_loop().replace("Loop(n,", "Loop(,"), "Loop of y turns without end"),
    "turns of turns": (
        _DEEP.replace("COUNT", "1000"),
        "Loop of w turns 1000 times in each of 1000 turns, and more than 100000 take too long",
    ),
    "a branch that may not be taken": (_BRANCH.replace("COUNT", str(_MANY)), None),
}


@pytest.mark.parametrize("name", CASES)
def test_turns_that_are_there_in_every_run(name: str) -> None:
    text, why = CASES[name]
    found = endless(read(text), 1.0)

    assert (found or "")[: len(why or "")] == (why or "")
    assert (found is None) == (why is None)


def test_a_model_that_never_answers_is_refused_at_once(tmp_path: Path) -> None:
    text = _loop(go="d = Identity(c) u = Constant<value_ints = [1, 3]>() r = Reshape(x, u)").replace(", float s", "")
    with pytest.raises(FixError) as refused:
        orx.fix(written(text, tmp_path), batch={"x": 0}, timeout=100)

    assert refused.value.sentence == (
        "onnxruntime cannot run the original model: Loop of y turns 4611686018427387904 times, "
        "and more than 10000000 take too long"
    )
