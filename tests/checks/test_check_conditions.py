"""Conditions of sizes as findings: which, how bad they are, what is said, and what healthy models have none of."""

from __future__ import annotations

from pathlib import Path

import pytest

from onereshape.checks.check import check
from onereshape.checks.findings.finding import Finding
from tests.checking import written

TURNED = "it runs and turns"
MIXES = "which mixes what data keeps apart"


def conditions(text: str, folder: Path) -> list[Finding]:
    return [each for each in check(written(text, folder)) if each.code == "size-condition"]


def pooled(dims: str, target: str, kernel: str = "2, 2") -> str:
    length = target.count(",") + 1
    return (
        f"g (float[{dims}] x) => (float[] y) <int64[{length}] t = {{{target}}}> {{"
        f" h = MaxPool <kernel_shape = [{kernel}], strides = [{kernel}]> (x) y = Reshape(h, t) }}"
    )


def plain(dims: str, target: str) -> str:
    return (
        f"g (float[{dims}] x) => (float[] y) <int64[{target.count(',') + 1}] t = {{{target}}}> {{ y = Reshape(x, t) }}"
    )


def computed(dims: str, body: str, more: str = "") -> str:
    return f"g (float[{dims}] x{more}) => (float[] y) <int64[1] two = {{2}}, int64[1] rest = {{-1}}> {{ {body} }}"


HALVED = "s = Shape <start = 1> (x) h = {} (s, two) z = Constant <value_ints = [0]> ()"
HALVED += " t = Concat <axis = 0> (z, h, two) y = Reshape(x, t)"

FOUND: dict[str, tuple[str, str, str]] = {
    # model, severity, message
    "a picture of one size": (
        plain("batch, 3, h, w", "-1, 3, 50176"),
        "error",
        "n runs only where batch*h*w is divisible by 50176: not at batch = 1, h = 1, w = 1; at batch = 1, h = 224, "
        f"w = 448 {TURNED} [1, 3, 224, 448] into [2, 3, 50176], {MIXES}",
    ),
    "a flattened picture": (
        pooled("N, 8, H, W", "-1, 392"),
        "error",
        "n runs only where N*floor(H/2)*floor(W/2) is divisible by 49: not at N = 1, H = 2, W = 2; at N = 1, H = 7, "
        f"W = 98 {TURNED} [1, 8, 3, 49] into [3, 392], {MIXES}",
    ),
    "windows across samples": (
        plain("N, S, 8", "-1, 4, 8"),
        "error",
        f"n runs only where N*S is divisible by 4: not at N = 1, S = 1; at N = 2, S = 2 {TURNED} [2, 2, 8] into "
        f"[1, 4, 8], {MIXES}",
    ),
    "dims without names": (
        plain("?, ?, 8", "-1, 5, 8"),
        "error",
        "n runs only where x[0]*x[1] is divisible by 5: not at x[0] = 1, x[1] = 1; at x[0] = 5, x[1] = 1 "
        f"{TURNED} [5, 1, 8] into [1, 5, 8], {MIXES}",
    ),
    "a batch that was 16": (
        plain("N, S, 8", "16, -1"),
        "error",
        f"n runs only where N*S is divisible by 2: not at N = 1, S = 1; at N = 1, S = 6 {TURNED} [1, 6, 8] into "
        f"[16, 3], {MIXES}",
    ),
    "a size that is fixed behind a pool": (
        pooled("N, 3, H", "0, 3, 7", "2"),
        "error",
        "n runs only where floor(H/2) = 7: not at H = 2",
    ),
    "a difference of sizes": (
        computed(
            "N, H", "s = Shape <start = 1> (x) h = Sub(s, two) t = Concat <axis = 0> (rest, h, two) y = Reshape(x, t)"
        ),
        "error",
        f"n runs only where N*H is divisible by 2*(H - 2): not at N = 1, H = 3; at N = 2, H = 3 {TURNED} [2, 3] into "
        f"[3, 1, 2], {MIXES}",
    ),
    "a size that is an equation": (
        computed("N, H", HALVED.format("Sub")),
        "error",
        "n runs only where H = 2*(H - 2): not at H = 3",
    ),
    "a size that is halved": (
        computed("N, H", HALVED.format("Div")),
        "warning",
        "n runs only where H = 2*floor(H/2): not at H = 3",
    ),
    "windows": (
        plain("N, S, 8", "0, -1, 4, 8"),
        "warning",
        "n runs only where S is divisible by 4: not at S = 1",
    ),
    "rows that are stacked": (
        plain("S, 1280", "-1, 5120"),
        "warning",
        "n runs only where S is divisible by 4: not at S = 1",
    ),
    "rows that are cut anew": (
        plain("N, 6", "-1, 4"),
        "warning",
        "n runs only where N is divisible by 2: not at N = 1",
    ),
    "a frame of a signal": (plain("L", "-1, 160"), "warning", "n runs only where L is divisible by 160: not at L = 1"),
    "windows of a pool": (
        pooled("N, 8, H", "0, 2, -1, 7", "2"),
        "warning",
        "n runs only where floor(H/2) is divisible by 7: not at H = 2",
    ),
    "inputs that must agree": (
        computed("N, S", "t = Shape(z) y = Reshape(x, t)", ", float[M, S] z"),
        "note",
        "n runs only where N = M: not at N = 1, M = 2",
    ),
}


@pytest.mark.parametrize("case", FOUND)
def test_what_is_said(case: str, tmp_path: Path) -> None:
    text, severity, message = FOUND[case]
    found = conditions(text, tmp_path)

    assert [(each.severity, each.message) for each in found] == [(severity, message)]
    assert found[0].fixable is not True


HEALTHY = {
    "a batch": plain("N, 3, 4", "-1, 12"),
    "heads": plain("N, S, 8", "0, 0, 2, 4"),
    "heads of a computed batch": computed(
        "N, S, 8",
        "n = Shape <end = 1> (x) s = Shape <start = 1, end = 2> (x) t = Concat <axis = 0> (n, s, two, rest)"
        " y = Reshape(x, t)",
    ),
    "batch and heads joined": plain("N, S, 4, 8", "-1, 4, 8"),
    "split by what divides": plain("N, 6", "2, -1"),
    "a size of 0": plain("N, S", "0, -1"),
    "what a pool has made even": computed(
        "N, 8, H",
        "h = MaxPool <kernel_shape = [2], strides = [2]> (x) d = Concat <axis = 2> (h, h)"
        " v = Shape <start = 2> (h) u = Constant <value_ints = [0, 8]> () t = Concat <axis = 0> (u, v, two)"
        " y = Reshape(d, t)",
    ),
    "a target that an input gives": computed("N, S", "y = Reshape(x, t)", ", int64[2] t"),
    "a number of elements that only a run tells": computed(
        "N, S", "z = NonZero(x) t = Constant <value_ints = [-1, 4]> () y = Reshape(z, t)"
    ),
    "a size that is fixed already": computed(
        "N, S, 8",
        "a = Add(x, p) t = Constant <value_ints = [-1, 4, 8]> () y = Reshape(a, t)",
        ", float[1, 16, 8] p",
    ),
    "an operator that is fixed already": computed(
        "N, S, 8",
        "c = Concat <axis = 1> (x, x, x) d = Concat <axis = 1> (p, p, p, x) a = Add(c, d)"
        " t = Constant <value_ints = [0, 4, -1]> () y = Reshape(a, t)",
        ", float[N, 4, 8] p",
    ),
}


@pytest.mark.parametrize("case", HEALTHY)
def test_a_healthy_model_has_none(case: str, tmp_path: Path) -> None:
    assert conditions(HEALTHY[case], tmp_path) == []


def test_the_same_condition_is_said_once(tmp_path: Path) -> None:
    """A warning holds for all that follows; what is less than it too, and what is more is said."""
    text = """g (float[N, S, 8] x) => (float[] a, float[] b, float[] c, float[] y)
        <int64[4] t = {0, -1, 4, 8}, int64[4] u = {0, -1, 2, 8}, int64[4] v = {0, -1, 8, 8}> {
        a = Reshape(x, t) b = Reshape(x, t) c = Reshape(x, u) y = Reshape(x, v) }"""
    found = conditions(text, tmp_path)

    assert [(each.node, each.message.partition(": ")[2]) for each in found] == [
        ("n0", "not at S = 1"),
        ("n", "not at S = 4"),
    ]


def test_an_error_is_said_of_each_node(tmp_path: Path) -> None:
    text = """g (float[N, S, 8] x) => (float[] a, float[] y) <int64[3] t = {-1, 4, 8}> {
        a = Reshape(x, t) y = Reshape(x, t) }"""

    assert [(each.node, each.severity) for each in conditions(text, tmp_path)] == [("n0", "error"), ("n", "error")]


def test_what_another_operator_refuses_is_no_finding(tmp_path: Path) -> None:
    """A sum of S and of four times floor(S/4) needs an S that windows of 4 divide."""
    text = """g (float[N, S, 8] x) => (float[] y)
        <int64[1] four = {4}, int64[1] one = {1}, int64[1] zero = {0}, int64[4] t = {0, -1, 4, 8}> {
        s = Shape <start = 1, end = 2> (x) q = Div(s, four) e = Mul(q, four) c = Slice(x, zero, e, one)
        d = Add(x, c) m = ReduceSum(d) r = Add(x, m) y = Reshape(r, t) }"""

    assert conditions(text, tmp_path) == []


SWALLOWED = {
    "[N, 512] by [1, -1]": (plain("N, 512", "1, -1"), ["absorbed-dim"]),
    "a length that gets a first axis": (plain("seq, 8", "1, -1, 8"), []),
    "a length within the only sample": (
        "g (float[1, S, 8] x) => (float[] y) <int64[2] t = {-1, 8}, int64[3] u = {1, -1, 4}> {"
        " h = Reshape(x, t) r = Relu(h) y = Reshape(r, u) }",
        [],
    ),
    "a batch that is called so": (
        "g (float[T, batch, 8] x) => (float[] y) <int64[2] t = {1, -1}> {"
        " h = Transpose <perm = [1, 0, 2]> (x) y = Reshape(h, t) }",
        ["absorbed-dim"],
    ),
}


@pytest.mark.parametrize("case", SWALLOWED)
def test_what_is_swallowed(case: str, tmp_path: Path) -> None:
    text, codes = SWALLOWED[case]

    assert [each.code for each in check(written(text, tmp_path)) if each.code == "absorbed-dim"] == codes
