"""Samples that meet behind an operator which neither rules nor terms know: runs alone must tell.

A model that names its batch is left as it is where it answers like itself.  A small world of ways in which samples
meet, behind operators of onnxruntime that nothing here knows: each is refused, and rows behind the same are not.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Final

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onereshape as orx
from onereshape.graphs.operators import RECORDS as RULES
from onereshape.ground.errors import FixError
from onereshape.prove.runs import sample_by_sample
from onereshape.prove.runs.neighbours import _COMPANY, _MANY, _made, turns_of
from onereshape.prove.values.input_roles import InputRole
from onereshape.terms.records import RECORDS as TERMS
from tests.budget import part
from tests.models import model
from tests.prove.certifying import both, built

HEAD: Final = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
UNKNOWN: Final = {
    "SampleOp": "u = com.microsoft.SampleOp(x)",
    "CDist": 'u = com.microsoft.CDist <metric = "euclidean"> (x, w)',
}
NUMBERS: Final = {
    "zero": np.array([0]),
    "z": np.array(0),
    "one": np.array([1]),
    "at": np.array(1),
    "two": np.array([2]),
    "six": np.array([6]),
    "hundred": np.array([100]),
    "minus": np.array([-1]),
    "far": np.array([-1000]),
    "end": np.array([1 << 40]),
    "tiny": np.array(1e-7, np.float32),
    "small": np.array(0.01, np.float32),
    "hot": np.array([[1], [0], [0], [0], [0], [0]], np.float32),
    "much": np.array(1e8, np.float32),
    "more": np.array(1e20, np.float32),
    "none": np.array(0, np.float32),
    "w": np.random.default_rng(5).standard_normal((6, 6)).astype(np.float32),
}
ROWS: Final = {
    "each element": "m = Relu(u)",
    "a softmax": "m = Softmax <axis = 1> (u)",
    "the largest": "v, i = TopK(u, one) m = Sub(u, v)",
    "running sums": "m = CumSum(u, at)",
    "a mean": "q = ReduceMean <axes = [1]> (u) m = Sub(u, q)",
    "a product": "m = MatMul(u, w)",
    "a gate": "g = Greater(u, much) m = Where(g, none, u)",
    "the norm": "m = LpNormalization <axis = 1> (u)",
}
COUNT: Final = "s = Shape(u) n = Gather(s, zero)"
MEETING: Final = {
    "the mean": "m = ReduceMean <axes = [0]> (u)",
    "the largest": "m = ReduceMax <axes = [0]> (u)",
    "the smallest": "m = ReduceMin <axes = [0]> (u)",
    "the sum": "m = ReduceSum(u, zero)",
    "the largest of all": "m = ReduceMax <keepdims = 0> (u)",
    "a softmax": "m = Softmax <axis = 0> (u)",
    "running sums": "m = CumSum(u, z)",
    "sums of those before": "m = CumSum <exclusive = 1> (u, z)",
    "sums of those after": "m = CumSum <exclusive = 1, reverse = 1> (u, z)",
    "sorted": f"{COUNT} m, i = TopK <axis = 0> (u, n)",
    "places in order": f"{COUNT} v, i = TopK <axis = 0> (u, n) m = Cast <to = 1> (i)",
    "the median": f"{COUNT} v, i = TopK <axis = 0> (u, n) k = Div(n, two) m = Gather(v, k)",
    "the first": "m = Gather(u, zero)",
    "the last": "m = Gather(u, minus)",
    "backwards": "m = Slice(u, minus, far, zero, minus)",
    "how many there are": f"{COUNT} c = Cast <to = 1> (n) m = Mul(u, c)",
    "more than six": f"{COUNT} k = Greater(n, six) m = Where(k, none, u)",
    "more than a hundred": f"{COUNT} k = Greater(n, hundred) m = Where(k, none, u)",
    "the norm": "m = LpNormalization <axis = 0> (u)",
    "each with each": "t = Transpose(u) g = MatMul(u, t) h = MatMul(g, u) m = Mul(h, small)",
    "one scale": "a, b, c = DynamicQuantizeLinear(u) m = DequantizeLinear(a, b, c)",
    "the variance": "q = ReduceMean <axes = [0]> (u) d = Sub(u, q) e = Mul(d, d) m = ReduceMean <axes = [0]> (e)",
    "which is the largest": "i = ArgMax <axis = 0> (u) m = Cast <to = 1> (i)",
    "how many are positive": "g = Greater(u, none) c = Cast <to = 1> (g) m = ReduceSum(c, zero)",
    "those that are equal": (
        "a = Unsqueeze(u, zero) b = Unsqueeze(u, one) e = Equal(a, b) f = Cast <to = 1> (e)"
        " p = ReduceMin <axes = [2], keepdims = 0> (f) c = ReduceSum(p, one) m = Mul(c, u)"
    ),
    "a little of the mean": "q = ReduceMean <axes = [0]> (u) m = Mul(q, tiny)",
    "beyond a bound": "q = ReduceMax <keepdims = 0> (u) g = Greater(q, much) m = Where(g, none, u)",
    "beneath a bound": "q = ReduceMin <keepdims = 0> (u) h = Neg(q) g = Greater(h, much) m = Where(g, none, u)",
    "far beyond a bound": "q = ReduceMax <keepdims = 0> (u) g = Greater(q, more) m = Where(g, none, u)",
    "the first, beyond a bound": (
        "q = ReduceMax <keepdims = 0> (u) g = Greater(q, more) f = Where(g, none, u) a = Gather(f, zero)"
        " r = Slice(u, one, end, zero) m = Concat <axis = 0> (a, r)"
    ),
    "no number": "q = ReduceMax <keepdims = 0> (u) g = IsNaN(q) m = Where(g, none, u)",
}
NEVER: Final = {("CDist", "beneath a bound")}
"""Distances are no less than 0: nothing meets."""
BY_COMPANY: Final = (
    "more than six",
    "more than a hundred",
    "beyond a bound",
    "beneath a bound",
    "far beyond a bound",
    "the first, beyond a bound",
    "no number",
)
"""What only other company shows."""


def made(folder: Path, unknown: str, body: str) -> Path:
    proto = model(f"g (float[N, 6] x) => (float[N, 6] y) {{ {UNKNOWN[unknown]} {body} y = Add(x, m) }}", HEAD)
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in NUMBERS.items())
    path = folder / "m.onnx"
    onnx.save(proto, path)
    return path


def test_nothing_knows_these_operators() -> None:
    assert not any((domain, name) in TERMS for name in UNKNOWN for domain in ("", "com.microsoft"))
    assert not any(RULES[name].batch for name in UNKNOWN if name in RULES)


@pytest.mark.parametrize(("name", "unknown"), [*part(product(MEETING, UNKNOWN), 2)])
def test_samples_that_meet_are_refused(name: str, unknown: str, tmp_path: Path) -> None:
    path = made(tmp_path, unknown, MEETING[name])

    if (unknown, name) in NEVER:
        assert orx.fix(path, batch=True).certificate.status == "certified"
        return
    with pytest.raises(FixError) as refusal:
        orx.fix(path, batch=True)
    assert refusal.value.code in {"no-batching-rule", "mixes-samples", "cannot-free"}


@pytest.mark.parametrize(("name", "unknown"), [*part(product(ROWS, UNKNOWN), 2)])
def test_rows_are_left_as_they_are(name: str, unknown: str, tmp_path: Path) -> None:
    given = orx.load(made(tmp_path, unknown, ROWS[name]))

    fixed = orx.fix(given, batch=True)

    assert fixed.model is given
    assert fixed.certificate.status == "certified"
    assert "; no sample changed beside others of 14 kinds; not proven: " in fixed.certificate.reason
    assert {"N": 17} in fixed.certificate.compared
    assert "beside samples that are no numbers" in fixed.certificate.extremes


@pytest.mark.parametrize("name", BY_COMPANY)
def test_without_other_company_they_would_not_be_seen(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bug that is planted here: nobody looks at what is beside a sample."""
    monkeypatch.setattr(sample_by_sample, "run_company", lambda *_, **_named: None)

    assert orx.fix(made(tmp_path, "SampleOp", MEETING[name]), batch=True).certificate.status == "certified"


def test_a_little_is_seen_too(tmp_path: Path) -> None:
    """A ten-billionth of the mean is far below what floats may differ by."""
    body = "q = ReduceMean <axes = [0]> (u) r = Mul(q, tiny) t = Mul(r, tiny) v = Mul(t, tiny) m = Add(u, v)"

    with pytest.raises(FixError):
        orx.fix(made(tmp_path, "SampleOp", body), batch=True)


@pytest.mark.parametrize("place", range(len(_COMPANY)))
def test_what_is_beside_a_sample_stays_inside_its_type(place: int) -> None:
    company = _COMPANY[place]
    for dtype in (np.float16, np.float32, np.float64, np.int8, np.uint8, np.int32, np.int64, np.bool_):
        for suit in (
            InputRole("float"),
            InputRole("index", 2, 5),
            InputRole("mask"),
            InputRole("integer"),
            InputRole("bool"),
        ):
            found = _made(np.ones((2, 3), dtype), suit, company)
            assert (found.shape, found.dtype) == ((2, 3), np.dtype(dtype))
            if suit.kind == "index" and dtype not in (np.float16, np.float32, np.float64, np.bool_):
                assert ((found >= 2) & (found < 5)).all()


MANY: Final = {
    "the mean": "q = ReduceMean <axes = [0]> (x) m = Where(k, q, x)",
    "running sums": "q = CumSum(x, z) m = Where(k, q, x)",
    "a slice": "c = Min(n, hundred) m = Slice(x, zero, c, zero)",
}


@pytest.mark.parametrize("batch", ["N", "1"])
@pytest.mark.parametrize("name", MANY)
def test_what_is_proven_at_some_batches_does_not_outweigh_a_rule(name: str, batch: str, tmp_path: Path) -> None:
    """Samples that meet where there are more than a hundred: few of them show nothing, on numbers or on terms."""
    count = "s = Shape(x) n = Gather(s, zero) k = Greater(n, hundred)"
    text = f"g (float[{batch}, 6] x) => (float[{batch}, 6] y) {{ {count} {MANY[name]} y = Relu(m) }}"
    proto = model(text, HEAD)
    proto.graph.initializer.extend(numpy_helper.from_array(array, key) for key, array in NUMBERS.items())
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)

    if batch == "1" and name == "a slice":  # a size of one sample is 1 in all of them
        assert orx.fix(path, batch=True).certificate.proof.always
        return
    with pytest.raises(FixError):
        orx.fix(path, batch=True)


NUMBERED: Final = {
    "a byte": "b = Cast <to = 3> (r) i = Cast <to = 7> (b)",
    "a cycle": "i = Mod(r, hundred)",
    "an end": "i = Min(r, hundred)",
}


@pytest.mark.parametrize("name", NUMBERED)
def test_numbers_of_many_samples_are_held_against_each_sample(name: str, tmp_path: Path) -> None:
    """The first hundred samples have the right number each; those after them have that of another sample."""
    count = "s = Shape(x) n = Gather(s, z) r = Range(z, n, at)"
    proto = model(f"g (float[N, 6] x) => (float[N, 6] y) {{ {count} {NUMBERED[name]} y = Gather(x, i) }}", HEAD)
    proto.graph.initializer.extend(numpy_helper.from_array(array, key) for key, array in NUMBERS.items())
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)

    with pytest.raises(FixError):
        orx.fix(path, batch=True)


@pytest.mark.parametrize("pieces", _MANY)
def test_pieces_have_no_rhythm(pieces: int) -> None:
    """Samples that are moved along by any number, or of which the last ones are replaced by one, are seen."""
    turns = turns_of(pieces)
    moved = [turns[by:] + turns[:by] for by in range(1, pieces)]
    ended = [turns[:end] + [turns[end - 1]] * (pieces - end) for end in range(1, pieces - 1)]

    assert turns not in [*moved, *ended]


PERCENT = """(float[{n}, 4] x) => (float[{n}, 4] y)
    <int64 many = {{{many}}}, float more = {{1.01}}, float one = {{1}}, int64[1] first = {{0}}> {{
    d = Shape(x) n = Gather(d, first) c = {op}(n, many) g = Where(c, more, one) y = Mul(x, g)
}}"""


@pytest.mark.parametrize(("op", "many"), [("GreaterOrEqual", 100), ("GreaterOrEqual", 9), ("Equal", 2)])
def test_a_little_difference_at_numbers_of_samples_of_which_terms_say_nothing(op: str, many: int) -> None:
    """The terms are put beside each other at N = 1, 3, 5 and 7: elsewhere a percent need not be rounding."""
    one, free = (built(PERCENT.format(n=n, op=op, many=many)) for n in (1, "N"))
    found = both(one, free)

    assert found.proof is not None
    assert found.proof.holds
    assert found.status == "differs"
    assert "rounding" not in found.reason
