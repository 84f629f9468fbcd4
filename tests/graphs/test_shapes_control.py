"""The shapes of branches, loops and functions."""

from __future__ import annotations

from typing import Any

import pytest

from onereshape.graphs.shapes import facts_of
from tests.shaped_models import dims, read, values

BRANCHES = """g (float[N, 4] x, bool c) => (float[a, b] y) {
    y = If (c) <
        then_branch = yes () => (float[p, q] p) { t = Constant <value_ints = [-1, 2]> () p = Reshape(x, t) },
        else_branch = no () => (float[p, q] q) { q = OTHER }
    >
}"""


@pytest.mark.parametrize(
    ("other", "expected"),
    [("Concat <axis = 1> (x, x)", (None, None)), ("Transpose(x)", (None, None)), ("Relu(x)", (None, None))],
)
def test_branches_that_differ(other: str, expected: tuple[Any, ...]) -> None:
    shapes = facts_of(read(BRANCHES.replace("OTHER", other)))
    found = dims(shapes)["y"]

    assert dims(shapes)["p"] == ("2*N", 2)
    assert tuple(None if dim in shapes.unnamed else dim for dim in found) == expected


def test_branches_that_agree() -> None:
    text = BRANCHES.replace("q = OTHER", "u = Constant <value_ints = [-1, 2]> () q = Reshape(x, u)")

    assert dims(facts_of(read(text)))["y"] == ("2*N", 2)


def test_a_branch_of_which_nothing_is_known() -> None:
    head = '<ir_version: 10, opset_import: ["" : 18, "custom" : 1]>\n'
    found = dims(facts_of(read(BRANCHES.replace("OTHER", "custom.Foo(x)"), head)))

    assert "y" not in found
    assert found["p"] == ("2*N", 2)


LOOP = """g (float[N, 4] x, int64 m, bool c) => (float[a, b] y, float[a, b] z, float[d, a, b] w) {
    y, z, w = Loop (m, c, x, x) <
        body = again (int64 i, bool k, float[p, q] same, float[p, q] more)
            => (bool on, float[p, q] same_out, float[p, q] more_out, float[p, q] each) {
            on = Identity(k)
            same_out = Relu(same)
            more_out = Concat <axis = 0> (more, x)
            each = Identity(same_out)
        }
    >
}"""


def test_what_a_loop_carries() -> None:
    shapes = facts_of(read(LOOP))
    found = dims(shapes)

    assert found["y"] == found["same"] == found["same_out"] == ("N", 4)
    assert [found[name][1] for name in ("z", "more", "more_out")] == [4, 4, 4]
    assert found["more"][0] in shapes.unnamed
    assert found["z"][0] in shapes.unnamed
    assert found["z"][0] != found["more"][0]
    assert found["w"][0] in shapes.unnamed
    assert len(found["w"]) == 3  # without an iteration nobody knows the dims of what each would have given


def test_the_trip_count_is_a_limit_only() -> None:
    text = LOOP.replace("int64 m, ", "").replace("y, z, w =", "m = Constant <value_int = 3> () y, z, w =")
    shapes = facts_of(read(text))

    assert dims(shapes)["w"][0] in shapes.unnamed


def test_a_loop_that_changes_the_rank() -> None:
    text = LOOP.replace("Concat <axis = 0> (more, x)", "Unsqueeze(more, zero)").replace(
        "y, z, w =", "zero = Constant <value_ints = [0]> () y, z, w ="
    )
    found = dims(facts_of(read(text)))

    assert "z" not in found
    assert "more" not in found
    assert found["y"] == ("N", 4)


CALLS = """g (float[N, 4] x, float[2, 6] z) => (float[a, b] y, float[c, d] w) {
    y = local.halves <width = 2> (x)
    w = local.halves <width = 3> (z)
}
<domain: "local", opset_import: ["" : 18]>
halves <width> (data) => (out) {
    flat = Constant <value_ints = [-1]> ()
    size = Constant <value_int: int = @width> ()
    last = Unsqueeze(size, zero)
    zero = Constant <value_ints = [0]> ()
    target = Concat <axis = 0> (flat, last)
    even = Relu(data)
    out = Reshape(even, target)
}"""
LOCAL = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>\n'


def test_the_body_of_a_function() -> None:
    model = read(CALLS.replace("    w = local.halves <width = 3> (z)\n", "    w = Relu(z)\n"), LOCAL)
    found = dims(facts_of(model))

    assert found["data"] == found["even"] == ("N", 4)
    assert found["target"] == (2,)


def test_calls_of_a_function_that_differ() -> None:
    model = read(CALLS, LOCAL)
    shapes = facts_of(model)
    found = dims(shapes)

    assert {*found["even"], *found["data"]} <= shapes.unnamed
    assert found["zero"] == (1,)
    assert values(shapes)["zero"] == (0,)


def test_values_cross_the_borders_of_functions() -> None:
    model = read(
        """g (float[N, 4] x, float[M] z) => (float[a, b] y) {
        s = local.lead(x)
        u = local.doubled(s)
        y = Expand(z, u)
        t = Reshape(x, u)
    }
    <domain: "local", opset_import: ["" : 18]>
    lead (data) => (first) { all = Shape(data) zero = Constant <value_ints = [0]> () first = Gather(all, zero) }
    <domain: "local", opset_import: ["" : 18]>
    doubled (v) => (w) { two = Constant <value_ints = [2]> () w = Mul(v, two) }
    """,
        LOCAL,
    )
    shapes = facts_of(model)

    assert values(shapes)["s"] == ("N",)
    assert values(shapes)["u"] == ("2*N",)
    assert values(shapes)["v"] == ("N",)
    assert shapes.conditions.get(model.graph[3]) == ("N = 0",) or model.graph[3] in shapes.errors
