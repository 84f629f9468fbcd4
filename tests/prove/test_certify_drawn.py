"""Wrong repairs that only the right sizes find: sizes that are fed, dims of size 1, sizes that are equal."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.prove import words
from onereshape.prove.engines.engine import Refusal, Session
from onereshape.prove.runs.settings import Chooser, Setting, held
from onereshape.prove.values.draw import Manner, draw
from onereshape.prove.values.input_roles import roles_of
from onereshape.prove.values.size_values import STYLES
from tests.prove.certifying import batch, built, same

# How many entries an input s has, what is done with them, and a repair that takes them for ones or for equal.
FED: dict[str, tuple[int, str, str]] = {
    "Split": (
        2,
        "a, b = Split <axis = 2> (x, s) y = Concat <axis = 2> (b, a)",
        "a, b = Split <axis = 2, num_outputs = 2> (x) y = Concat <axis = 2> (b, a)",
    ),
    "Expand": (3, "e = Expand(one, s) f = ReduceSum <keepdims = 0> (e) y = Mul(x, f)", "y = Identity(x)"),
    "Tile": (1, "e = Tile(one, s) f = ReduceSum <keepdims = 0> (e) y = Mul(x, f)", "y = Identity(x)"),
    "Tile, in a part": (
        1,
        "t = Concat <axis = 0> (s, oneint) r = Reshape(one, square) e = Tile(r, t) f = ReduceSum <keepdims = 0> (e) "
        "y = Mul(x, f)",
        "y = Identity(x)",
    ),
    "Pad": (2, "e = Pad(one, s) f = Shape(e) g = Cast <to = 1> (f) y = Mul(x, g)", "y = Mul(x, three)"),
    "Slice": (1, "e = Slice(many, zero, s) f = ReduceSum <keepdims = 0> (e) y = Mul(x, f)", "y = Identity(x)"),
    "ConstantOfShape": (
        2,
        "e = ConstantOfShape <value = float[1] {1}> (s) f = ReduceSum <keepdims = 0> (e) y = Mul(x, f)",
        "y = Identity(x)",
    ),
    "TopK": (1, "e, i = TopK(many, s) f = ReduceSum <keepdims = 0> (e) y = Mul(x, f)", "y = Mul(x, nine)"),
    "Resize": (
        1,
        'e = Resize <mode = "nearest"> (many, , , s) f = ReduceSum <keepdims = 0> (e) y = Mul(x, f)',
        "y = Identity(x)",
    ),
    "Reshape": (
        2,
        "e = Reshape(many, s) f = ReduceMax <keepdims = 1> (e, oneint) g = ReduceSum <keepdims = 0> (f) y = Mul(x, g)",
        "f = ReduceSum <keepdims = 0> (many) y = Mul(x, f)",
    ),
    "ReduceSum": (
        1,
        "f = ReduceSum <keepdims = 1> (pair, s) g = ReduceMax <keepdims = 0> (f) y = Mul(x, g)",
        "y = Mul(x, seven)",
    ),
}
HEAD = """(float[{n}, 3, 4] x, int64[{k}] s) => (float[{n}, 3, 4] y)
    <float[1] one = {{1}}, float[1] three = {{3}}, float[1] nine = {{9}}, float[1] seven = {{7}}, int64[1] zero = {{0}},
    int64[1] oneint = {{1}}, int64[2] square = {{1, 1}}, float[6] many = {{1, 2, 9, 4, 5, 6}},
    float[2, 2] pair = {{1, 2, 3, 4}}> {{ {nodes} }}"""


def pair(name: str, *, wrong: bool) -> tuple[ir.Model, ir.Model]:
    count, right, planted = FED[name]
    nodes = planted if wrong else right
    return (
        built(HEAD.format(n=1, k=count, nodes=right)),
        built(HEAD.format(n="N", k=count, nodes=nodes)),
    )


@pytest.mark.parametrize("name", FED)
def test_what_is_fed_as_a_size_is_more_than_ones(name: str) -> None:
    found = batch(*pair(name, wrong=False))
    assert found.holds, found.reason
    assert found.held == ()

    wrong = batch(*pair(name, wrong=True))
    assert wrong.status == "differs", wrong.reason


# The axes of a Squeeze, a Range, a Loop: what is drawn must run, and is not the same every time.
TAKEN = {
    "axes that are 1": ("float[1, 2, 1] x, int64[1] s", "y = Squeeze(x, s)"),
    "axes that are new": ("float[2, 3] x, int64[2] s", "y = Unsqueeze(x, s)"),
    "an axis to count along": ("float[2, 3] x, int64 s", "y = CumSum(x, s)"),
    "axes to sum over": ("float[2, 3, 4] x, int64[2] s", "y = ReduceSum(x, s)"),
    "axes of a slice": ("float[5, 6, 7] x, int64[2] s", "y = Slice(x, from, to, s)"),
    "starts": ("float[5, 6] x, int64[2] s", "y = Slice(x, s, to)"),
    "steps": ("float[5, 6] x, int64[2] s", "y = Slice(x, from, to, axes, s)"),
    "a range": ("int64 s, int64 b, int64 c", "y = Range(s, b, c)"),
    "a diagonal": ("float[4, 4] x, int64 s", "y = Trilu(x, s)"),
    "a depth": ("int64[3] x, int64 s", "y = OneHot(x, s, values)"),
    "a split of a named dim": ("float[2, T] x, int64[3] s", "a, b, c = Split <axis = -1> (x, s) y = Neg(b)"),
    "pads of some axes": ("float[2, 3] x, int64[2] s", "y = Pad(x, s, , one)"),
    "repeats": ("float[2, 3] x, int64[2] s", "y = Tile(x, s)"),
    "a target": ("float[4, 3, 2] x, int64[2] s", "y = Reshape(x, s)"),
    "a target of what nobody knows": ("float[4, 3, 2] x, int64[2] s", "b = NonZero(x) y = Reshape(b, s)"),
    "dims to broadcast to": ("float[3, 1] x, int64[4] s", "y = Expand(x, s)"),
    "sizes of an image": ("float[1, 2, 4, 4] x, int64[4] s", "y = Resize(x, , , s)"),
    "scales of an image": ("float[1, 2, 4, 4] x, float[4] s", "y = Resize(x, , s)"),
    "trips": (
        "float[3] x, int64 s",
        "y = Loop (s, , x) <body = b (int64 i, bool c, float[3] a) => (bool d, float[3] e) "
        "{ d = Identity(c) e = Add(a, a) }>",
    ),
    "lengths": ("float[5, 2, 3] x, int64[2] s", "y = ReverseSequence <time_axis = 0, batch_axis = 1> (x, s)"),
}
CONSTANTS = """<int64[2] from = {0, 0}, int64[2] to = {4, 4}, int64[2] axes = {0, 1}, int64[1] one = {1},
    float[2] values = {0, 1}>"""


@pytest.mark.parametrize("name", TAKEN)
def test_the_engine_takes_sizes_that_are_drawn(name: str) -> None:
    inputs, nodes = TAKEN[name]
    found = built(f"({inputs}) => (float[a] y) {CONSTANTS} {{ {nodes} }}")
    found.graph.outputs[0].shape = None
    found.graph.outputs[0].type = None
    session = Session(found, ".")
    taken = set()
    for seed in range(12):
        for style in STYLES[:-1]:
            feeds = draw(found, np.random.default_rng(seed), {"T": 7}, manner=Manner(style=style))
            try:
                session.run(feeds)
            except Refusal:
                continue
            taken.add(feeds["s"].tobytes())
            break

    ones = np.ones_like(feeds["s"]).tobytes()
    assert taken - {ones}
    assert len(taken) > 1 or name == "a target of what nobody knows"


def test_a_split_is_uneven_where_there_is_a_way() -> None:
    found = built("(float[2, 6] x, int64[3] s) => (float[2, a] y) { a, b, c = Split <axis = 1> (x, s) y = Neg(a) }")
    for seed in range(20):
        sizes = draw(found, np.random.default_rng(seed), {})["s"]
        assert sizes.sum() == 6
        assert len(set(sizes.tolist())) > 1


def test_what_could_not_be_drawn_is_said() -> None:
    """Six entries are wanted whatever is fed, so that nothing but ones is taken."""
    body = """(float[{n}, 6] x, int64[2] r) => (float[{n}, 6] y) <float[1, 6] w = {{1, 2, 3, 4, 5, 6}},
        int64[2] k = {{1, 6}}> {{
        t = Tile(w, r)
        u = Reshape(t, k)
        y = Mul(x, u)
    }}"""
    found = batch(built(body.format(n=1)), built(body.format(n="N")))

    assert found.holds
    assert found.held == ("input 'r' was always [1, 1]",)
    assert found.reason == ("compared at N = 1, 2, 3, 5; the largest difference is 0; input 'r' was always [1, 1]")


def test_settings_that_were_all_alike() -> None:
    one, two = Setting({"S": 4}, {"s": np.array([1, 2])}), Setting({"S": 1}, {"s": np.array([1, 2])})

    assert [*map(words.held, held([one, one]))] == ["S was always 4", "input 's' was always [1, 2]"]
    assert [*map(words.held, held([one, two]))] == ["input 's' was always [1, 2]"]


# Other dims that the model names: each of them is 1 once, they differ from each other, and from N.
GATED = """(float[{n}, S, T] x) => (float[{n}, S, T] y)
    <int64[1] n = {{0}}, int64[1] s = {{1}}, int64[1] t = {{2}}, int64 one = {{1}}, float[1] zero = {{0}}> {{
    d = Shape(x)
    dn = Gather(d, n)
    ds = Gather(d, s)
    dt = Gather(d, t)
    c = {gate}
    y = Where(c, zero, x)
}}"""
GATES = {
    "S is 1": "Equal(ds, one)",
    "T is 1": "Equal(dt, one)",
    "S is not T": "Not(same) ",
    "N is above 1 and S is not N": "And(more, other)",
    "S is above 1 and N is not": "Greater(ds, dn)",
    "T is below S": "Less(dt, ds)",
}
BEFORE = {
    "S is not T": "same = Equal(ds, dt) ",
    "N is above 1 and S is not N": "more = Greater(dn, one) is = Equal(ds, dn) other = Not(is) ",
}


UNGATED = "(float[{n}, S, T] x) => (float[{n}, S, T] y) {{ y = Identity(x) }}"


def test_without_a_gate_they_are_alike() -> None:
    fixed, free = (built(UNGATED.format(n=n)) for n in (1, "N"))

    assert batch(fixed, free).holds
    assert same(free, free).holds


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("kind", ["batch", "same"])
def test_other_dims_have_other_sizes(gate: str, kind: str) -> None:
    planted = GATED.replace("c = {gate}", BEFORE.get(gate, "") + f"c = {GATES[gate]}")
    if kind == "batch":
        found = batch(built(UNGATED.format(n=1)), built(planted.format(n="N")))
    else:
        found = same(built(UNGATED.format(n="N")), built(planted.format(n="N")))

    assert found.status == "differs", found.reason


def test_the_sizes_of_other_dims_are_named() -> None:
    body = "(float[{n}, S, T] x) => (float[{n}, S, T] y) {{ y = Neg(x) }}"
    found = batch(built(body.format(n=1)), built(body.format(n="N")))

    assert found.held == ()
    for name in ("S", "T"):
        assert 1 in {each[name] for each in found.compared}
        assert len({each[name] for each in found.compared}) > 2
    assert all(len(set(each.values())) == 3 for each in found.compared if each["N"] > 1)
    assert found.reason.startswith("compared at (N, S, T) = (1, 4, 6), (2, ")


def test_dims_that_must_be_equal_or_divide_are_found() -> None:
    equal = "(float[{n}, S] x, float[{n}, T] z) => (float[{n}, S] y) {{ y = Add(x, z) }}"
    freed = {"x": {0: "N"}, "z": {0: "N"}}
    found = batch(built(equal.format(n=1)), built(equal.format(n="N")), freed=freed)
    assert found.holds
    assert found.held == ()

    divides = """(float[{n}, S, 2] x) => (float[{n}, R, 32] y) <int64[3] k = {{0, -1, 32}}> {{ y = Reshape(x, k) }}"""
    found = batch(built(divides.format(n=1)), built(divides.format(n="N")))
    assert found.holds
    assert {each["S"] for each in found.compared} == {16, 32}


def test_a_dim_that_has_but_one_size() -> None:
    body = "(float[{n}, S] x) => (float[{n}, 4] y) <float[4] w = {{1, 2, 3, 4}}, int64[2] k = {{-1, 4}}> {{ "
    body += "a = Reshape(x, k) b = Add(x, w) y = Add(a, b) }}"
    found = batch(built(body.format(n=1)), built(body.format(n="N")))

    assert found.holds, found.reason
    assert found.held == ("S was always 4",)


def test_the_batch_has_a_size_that_no_other_dim_has() -> None:
    """1, 2, 3 and 5 are dims of the model, and the repair is right at these alone."""
    body = "(float[{n}, 2, 3, 5] x) => (float[{n}, 2, 3, 5] y) {{ y = Identity(x) }}"
    planted = """(float[N, 2, 3, 5] x) => (float[N, 2, 3, 5] y) <int64[1] first = {0}, float[1] zero = {0},
        int64[4] known = {1, 2, 3, 5}, int64[1] none = {0}> {
        d = Shape(x)
        n = Gather(d, first)
        e = Equal(n, known)
        i = Cast <to = 7> (e)
        s = ReduceSum(i)
        c = Equal(s, none)
        y = Where(c, zero, x)
    }"""
    found = batch(built(body.format(n=1)), built(planted))

    assert found.status == "differs"
    assert "at N = 6" in found.reason


def test_settings_are_the_same_for_the_same_seed() -> None:
    found = built("(float[S, T] x, int64[2] s) => (float[a, b] y) { y = Expand(x, s) }")
    chooser = Chooser(found, roles_of(found), {}, (), 7)
    first = Setting({"S": 4, "T": 6}, {"s": np.array([1, 6])})

    def values() -> list[tuple[dict[str, int], list[int]]]:
        others = chooser.others(1, Manner(), first, (2,))
        return [(dict(each.sizes), each.values["s"].tolist()) for each in others]

    assert values() == values()
    assert len({str(each) for each in values()}) > 4


def test_an_output_that_shows_nothing_at_some_sizes_is_named() -> None:
    """Without its first place a sequence of one is empty."""
    made = built("""(float[S, 3] x) => (float[R, 3] y, float[S, 3] z) <int64[1] one = {1}, int64[1] end = {99}> {
        y = Slice(x, one, end)
        z = Neg(x)
    }""")
    found = same(made, made)

    assert found.holds
    assert "; y was empty or not finite at S = 1" in found.reason


def test_dims_without_a_name_vary_too() -> None:
    def made(n: str, op: str) -> ir.Model:
        found = built(f"(float[{n}, a] x) => (float[{n}, a] y) <int64[1] at = {{1}}, int64[1] four = {{4}}> {{ {op} }}")
        for value in (*found.graph.inputs, *found.graph.outputs):
            assert value.shape is not None
            value.shape = ir.Shape([value.shape[0], None])
        return found

    original, right = (made(n, "y = Neg(x)") for n in ("1", "N"))
    wrong = made("N", "d = Shape(x) w = Gather(d, at) c = Equal(w, four) m = Neg(x) y = Where(c, m, x)")
    found = batch(original, right)

    assert found.holds
    assert len({each["x[1]"] for each in found.compared}) > 2
    assert batch(original, wrong).status == "differs"


def test_dims_without_a_name_are_not_one_size() -> None:
    """A repair that is right only where two of them are equal is found."""
    body = "(float[{n}, ?, ?] x) => (float[{n}, ?, ?] y) {{ t = Transpose <perm = [0, 2, 1]> (x) {last} }}"
    original, right = (built(body.format(n=n, last="y = Identity(t)")) for n in ("1", "N"))
    wrong = built(body.format(n="N", last="s = Shape(x) y = Reshape(t, s)"))

    assert batch(original, right).holds
    assert batch(original, right).held == ()
    assert batch(original, wrong).status == "differs"


ALIKE = {
    "at one axis": (
        "(float[{n}, ?, ?] x, float[{n}, ?] m) => (float[{n}, ?, ?] y) <int64[1] a = {{2}}> {{"
        " u = Unsqueeze(m, a) y = Concat <axis = 2> (x, u) }}",
        ("m[1] and x[1] were always equal",),
    ),
    "all of them": (
        "(float[{n}, ?, ?] x, float[{n}, ?] m) => (float[{n}, ?, ?] y) <int64[1] a = {{2}}> {{"
        " t = Transpose <perm = [0, 2, 1]> (x) u = Unsqueeze(m, a) y = Concat <axis = 2> (x, t, u) }}",
        ("m[1], x[1] and x[2] were always equal",),
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_dims_without_a_name_that_must_be_equal_are_and_it_is_said(name: str) -> None:
    body, held = ALIKE[name]
    original, repaired = (built(body.format(n=n)) for n in ("1", "N"))
    found = batch(original, repaired, freed={"x": {0: "N"}, "m": {0: "N"}})

    assert (found.status, found.held) == ("certified", held)
    assert f"; {held[0]}" in found.reason
    assert len({each["x[1]"] for each in found.compared}) > 2


def test_what_is_equal_in_some_runs_only_is_not_said() -> None:
    settings = [Setting({"a": 4, "b": 4, "c": 4}, {}), Setting({"a": 2, "b": 2, "c": 4}, {})]

    assert [*map(words.held, held(settings))] == ["c was always 4", "a and b were always equal"]


def test_a_model_of_one_size_is_compared_at_it() -> None:
    made = built("(float[2, 3] x) => (float[3, 2] y) <int64[2] k = {3, 2}> { y = Reshape(x, k) }")
    found = same(made, made)

    assert (found.compared, found.ran) == (({},), ())
    assert found.reason == "compared at the sizes of the original; the largest difference is 0"


def test_no_input_is_drawn_that_would_be_huge() -> None:
    original = built("(float[2, H, W, T] x) => (float[2, H, W, T] y) { y = Relu(x) }")
    chooser = Chooser(original, {}, {"N": 2}, ())

    assert [list(each.values()) for each in chooser.first(16)] == [[16, 24, 32], [16, 16, 16]]
    assert [list(each.values()) for each in chooser.first(64)] == [[64, 96, 128], [64, 64, 64]]
    assert not list(chooser.first(224))


def test_few_samples_of_large_images() -> None:
    original = built("(float[N, 16, H, W] x) => (float[N, 16, H, W] y) { y = Relu(x) }")
    chooser = Chooser(original, {}, {}, ())

    assert [[each[name] for name in "NHW"] for each in chooser.first(64)] == [[3, 64, 64]]
