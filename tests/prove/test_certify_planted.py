"""Repairs that are wrong, each refused; and the right ones beside them, which are not."""

from __future__ import annotations

import pytest

from tests.prove.certifying import FLAT, batch, built

# The planted repairs that are wrong: (original, repaired, status, a part of the reason).

SEQUENCE = """(float[{n}, 4, 3] x) => (float[{n}, 4, 3] y) <int64[2] k = {{-1, 3}}, int64[3] back = {{{back}}}> {{
    t = Transpose <perm = [1, 0, 2]> (x)
    r = Reshape(t, k)
    s = Softmax <axis = 1> (r)
    b = Reshape(s, back)
    y = {last}
}}"""
MEAN = """(float[{n}, 6] x) => (float[{n}, 6] y) <int64[2] k = {{{k}}}, int64[1] last = {{1}}> {{
    r = Reshape(x, k)
    m = ReduceMean <keepdims = 1> (r{axes})
    y = Sub(x, m)
}}"""
ORDER = """(float[{n}, 6] x) => (float[{n}, 6] y)
    <int64[1] a = {{-1}}, int64[1] b = {{-100}}, int64[1] z = {{0}}> {{ y = {y} }}"""
FACTOR = "(float[{n}, 6] x) => (float[{n}, 6] y) <float[1] f = {{{f}}}> {{ y = Mul(x, f) }}"
UP_TO_TWO = """(float[N, 6] x) => (float[N, 6] y)
    <int64 two = {2}, int64 z = {0}, float one = {1.0}, float other = {1.5}> {
    s = Shape(x)
    n = Gather(s, z)
    few = LessOrEqual(n, two)
    f = Where(few, one, other)
    y = Mul(x, f)
}"""
CHANNELS = """(float[{n}, 2, 20] x) => (float[{n}, 2, 20] y) <float[2, 1] f = {{640.0, {f}}}> {{ y = Mul(x, f) }}"""
SAME = """(float[{n}, 6] x) => (float[{n}, 6] y) <float[1] z = {{0.0}}, float[6] c = {{1, 2, 3, 4, 5, 6}}> {{
    m = Mul(x, z)
    y = Add(m, c)
}}"""
DOUBLE = """(float[N, 3, 4] x) => (double[N, 12] y) <int64[2] k = {0, 12}> {
    r = Reshape(x, k)
    y = Cast <to = 11> (r)
}"""

PLANTED = {
    "N at home on another axis": (
        SEQUENCE.format(n="1", back="4, 1, 3", last="Transpose <perm = [1, 0, 2]> (b)"),
        SEQUENCE.format(n="N", back="-1, 4, 3", last="Identity(b)"),
        "differs",
        "output 'y' differs by 0.",
    ),
    "an absorbed -1 that keeps the dims": (
        MEAN.format(n="1", k="1, -1", axes=""),
        MEAN.format(n="N", k="1, -1", axes=""),
        "differs",
        "at N = 2",
    ),
    "an absorbed -1": (
        FLAT.format(n="1", k=1),
        "(float[N, 3, 4] x) => (float[a, b] y) <int64[2] k = {1, -1}> { y = Reshape(x, k) }",
        "differs",
        "output 'y' has dims [1, 24] at N = 2, and should have [2, 12]",
    ),
    "samples swapped": (
        ORDER.format(n="1", y="Identity(x)"),
        ORDER.format(n="N", y="Slice(x, a, b, z, a)"),
        "differs",
        "at N = 2",
    ),
    "off by a hundredth": (FACTOR.format(n="1", f="1.0"), FACTOR.format(n="N", f="1.01"), "differs", "at N = 1"),
    "tiny, and off by a hundredth": (
        FACTOR.format(n="1", f="0.000001"),
        FACTOR.format(n="N", f="0.00000101"),
        "differs",
        "at N = 1, where its scale is ",
    ),
    "tiny beside something large, and off by a hundredth": (
        CHANNELS.format(n="1", f="0.00001"),
        CHANNELS.format(n="N", f="0.0000101"),
        "differs",
        "at N = 1",
    ),
    "right at 2 and wrong at 3": (FACTOR.format(n="1", f="1.0"), UP_TO_TWO, "differs", "at N = 3"),
    "a constant": (
        SAME.format(n="1"),
        SAME.format(n="N"),
        "untested",
        "no output depends on the",
    ),
    "still baked": (FLAT.format(n="1", k=1), FLAT.format(n="N", k=1), "failed", "at N = 2: Reshape: The input tensor"),
    "another type": (
        FLAT.format(n="1", k=1),
        DOUBLE,
        "differs",
        "output 'y' is float64 and was float32",
    ),
    "other dims beside the batch": (
        FLAT.format(n="1", k=1).replace("float[1, 12] y", "float[a, b] y"),
        "(float[N, 3, 4] x) => (float[a, b, c] y) { y = Identity(x) }",
        "differs",
        "output 'y' has dims [1, 3, 4] at N = 1, and should have [1, 12]",
    ),
    "an output that is not there": (
        FLAT.format(n="1", k=1),
        FLAT.format(n="N", k=0).replace("y", "z"),
        "failed",
        "the repaired model has the outputs ['z'], and the original has ['y']",
    ),
    "nothing freed": (
        FLAT.format(n="1", k=1),
        FLAT.format(n="1", k=0),
        "failed",
        "input 'x' still has 1 at axis 0, not N",
    ),
    "declared as before": (
        FLAT.format(n="1", k=1),
        FLAT.format(n="N", k=0).replace("float[N, 12]", "float[1, 12]"),
        "differs",
        "output 'y' is declared to have 1 at axis 0, and has 2 at N = 2",
    ),
    "an operator that nobody knows": (
        FLAT.format(n="1", k=1),
        FLAT.format(n="N", k=0).replace("Reshape", "local.Reshape"),
        "failed",
        "onnxruntime cannot load the repaired model: ",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_wrong_repair_is_refused(name: str) -> None:
    original, repaired, status, reason = PLANTED[name]
    found = batch(built(original), built(repaired))

    assert not found.holds
    assert (found.status, reason in found.reason) == (status, True), found.reason


RIGHT = {
    "N at home on another axis": SEQUENCE.format(n="N", back="4, -1, 3", last="Transpose <perm = [1, 0, 2]> (b)"),
    "an absorbed -1 that keeps the dims": MEAN.format(n="N", k="-1, 6", axes=", last"),
    "tiny, and off by a hundredth": FACTOR.format(n="N", f="0.000001"),
    "tiny beside something large, and off by a hundredth": CHANNELS.format(n="N", f="0.00001"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_repair_of_the_same_is_certified(name: str) -> None:
    """What was refused above was refused for what was planted."""
    assert batch(built(PLANTED[name][0]), built(RIGHT[name])).holds


OFFSET = """(float[{n}, 5, 3] x, int64[{n}] i) => (float[{n}, 3] y) <int64[2] k = {{-1, 3}}> {{
    flat = Reshape(x, k)
    y = Gather(flat, i)
}}"""


def test_a_lost_offset_of_the_batch() -> None:
    freed = {"x": {0: "N"}, "i": {0: "N"}}
    right = """(float[N, 5, 3] x, int64[N] i) => (float[N, 3] y)
        <int64[2] k = {-1, 3}, int64 z = {0}, int64 one = {1}, int64 five = {5}> {
        flat = Reshape(x, k)
        s = Shape(x)
        n = Gather(s, z)
        r = Range(z, n, one)
        o = Mul(r, five)
        j = Add(i, o)
        y = Gather(flat, j)
    }"""
    original = built(OFFSET.format(n="1"))
    wrong = batch(original, built(OFFSET.format(n="N")), freed=freed)

    assert wrong.status == "differs"
    assert "at N = 2" in wrong.reason
    assert batch(original, built(right), freed=freed).holds


# What is added and taken away again is rounded to what is next to it; the engine makes one weight of both, and rounds
# nothing.  No sum has an order here: the noise is the same in every kernel, and on every machine.
NOISY = """(float[{n}, 1, 32] x) => (float[{n}, 1, 32] y)
    <float[1, 1, 1] w = {{1.0}}, float[1] far = {{{far}}}, float[1] one = {{1.0}}, float[1] z = {{0.0}},
     float more = {{{more}}}>
    {{
    h = Conv(x, w, far)
    t = BatchNormalization <epsilon = 0.0> (h, one, z, far, one)
    y = Add(t, more)
}}"""
NOISE = [
    ("0.0", "0.00005", "certified", False),
    ("0.0", "0.0002", "differs", False),
    ("4000.0", "0.0002", "certified", True),
    ("4000.0", "0.0006", "differs", True),
    ("200000.0", "0.01", "untested", False),
]


@pytest.mark.parametrize(("far", "more", "status", "widened"), NOISE)
def test_the_noise_of_the_original(far: str, more: str, status: str, widened: bool) -> None:
    """What is allowed grows with the distance of the original from itself, but only so far."""
    original = built(NOISY.format(n="1", far=far, more="0.0"))
    found = batch(original, built(NOISY.format(n="N", far=far, more=more)))

    assert found.status == status, found
    assert (found.outputs[0].widened > 1) == widened
