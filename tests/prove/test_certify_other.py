"""Certificates of freed dims other than a batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.prove.evidence import Noise
from onereshape.prove.runs import truth, wanted
from onereshape.prove.runs.trial import Trial
from tests.models import external, model
from tests.prove.certifying import built, other

POOL = """(float[1, {s}, 8] x) => (float[1, {t}, 8] y)
    <int64[3] k = {{{k}}}, float[8] b = {{1, 2, 3, 4, 5, 6, 7, 8}}> {{
    r = Reshape(x, k)
    y = {last}
}}"""


def pool(size: str | int, k: str = "1, -1, 8", last: str = "Add(r, b)") -> ir.Model:
    return built(POOL.format(s=size, t=size, k=k, last=last))


def promised(sizes: Mapping[str, int]) -> dict[str, tuple[int | None, ...]]:
    return {"y": (1, sizes["S"], None)}


def test_another_dim() -> None:
    found = other(pool(4, "1, 4, 8"), pool("S"), promised=promised)

    assert (found.status, found.holds) == ("unwitnessed", False)
    assert (found.compared, found.ran) == (({"S": 4},), ({"S": 8}, {"S": 2}, {"S": 5}, {"S": 12}))
    assert (found.refused, found.witnesses, found.fitted) == ((), (), ())
    assert found.reason == (
        "compared at S = 4 (the exported size); ran at S = 8, 2, 5, 12: what it answers there was compared with nothing"
    )


def test_another_dim_with_a_witness() -> None:
    found = other(pool(4, "1, 4, 8"), pool("S"), promised=promised, witnesses=(pool(7),))

    assert (found.status, found.holds) == ("certified", True)
    assert (found.compared, found.ran) == (({"S": 4}, {"S": 7}), ({"S": 8}, {"S": 2}, {"S": 5}, {"S": 12}))
    assert found.reason == "compared at S = 4, 7; the largest difference is 0; only ran at S = 8, 2, 5, 12"
    machine = found.to_json()
    assert (machine["compared"], machine["ran"]) == ([*found.compared], [*found.ran])


def test_another_dim_that_has_other_dims_than_promised() -> None:
    found = other(pool(4), pool("S"), promised=lambda sizes: {"y": (1, sizes["S"] + sizes["S"] // 8, 8)})

    assert found.status == "differs"
    assert found.reason == "output 'y' has dims [1, 8, 8] at S = 8, and [1, 9, 8] were inferred"


def test_another_dim_that_is_declared_as_before() -> None:
    stale = built(POOL.format(s="S", t=4, k="1, -1, 8", last="Add(r, b)"))

    assert other(pool(4), stale).reason == "output 'y' is declared to have 4 at axis 1, and has 8 at S = 8"


def test_another_dim_that_runs_nowhere_else() -> None:
    found = other(pool(4, "1, 4, 8"), pool("S", "1, 4, 8"))

    assert found.status == "failed"
    assert found.reason.startswith("the repaired model runs with no other size of S: Reshape: The input tensor")
    assert len(found.refused) == 8
    assert found.refused[0].sizes == {"S": 8}


def test_sizes_that_must_divide_are_limits() -> None:
    k = "1, -1, 16"
    body = POOL.replace("float[8] b = {{1, 2, 3, 4, 5, 6, 7, 8}}", "int64[3] back = {{1, -1, 8}}")
    models = [built(body.format(s=size, t=size, k=k, last="Reshape(r, back)")) for size in (4, "S")]
    found = other(*models, promised=promised)

    assert found.status == "unwitnessed"
    assert [refused.sizes for refused in found.refused] == [{"S": 5}]
    assert "Reshape" in found.refused[0].why


def test_a_witness_confirms_or_contradicts() -> None:
    """The wrong repair is right at the original size, where the length is the 4 that was baked in."""
    body = """(float[1, {s}, 8] x) => (float[1, {s}, 8] y) <int64 one = {{1}}, float baked = {{{c}}}> {{
        s = Shape(x)
        i = Gather(s, one)
        length = Cast <to = 1> (i)
        y = Mul(x, {n})
    }}"""
    four, eight = (built(body.format(s=size, c=float(size), n="baked")) for size in (4, 8))
    free, baked = (built(body.format(s="S", c=4.0, n=name)) for name in ("length", "baked"))
    found = other(four, free, witnesses=(eight,))

    assert found.status == "certified"
    assert found.witnesses == ({"S": 8},)
    assert other(four, baked).status == "unwitnessed"  # which only the witness can know to be wrong
    wrong = other(four, baked, witnesses=(eight,))
    assert wrong.status == "differs"
    assert "at S = 8" in wrong.reason
    same = other(four, free, witnesses=(four,))
    assert (same.status, "so shows nothing" in same.reason) == ("untested", True)


def test_a_witness_with_weights_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(np.arange(8, dtype=np.float32).tobytes())
    body = "agraph (float[1, {s}, 8] x) => (float[1, {s}, 8] y) {{ y = Mul(x, w) }}"
    four, free = (built(body[7:].format(s=s), w=np.arange(8, dtype=np.float32)) for s in ("4", "S"))
    proto = model(body.format(s=8))
    proto.graph.initializer.append(external("w", [8], "w.bin", offset=0, length=32))
    (tmp_path / "witness.onnx").write_bytes(proto.SerializeToString())

    assert other(four, free, witnesses=(ir.load(tmp_path / "witness.onnx"),)).holds


def test_an_index_into_a_dim_that_becomes_smaller() -> None:
    body = "(float[1, {s}, 3] x, int64[5] i) => (float[1, 5, 3] y) {{ y = Gather <axis = 1> (x, i) }}"
    found = other(built(body.format(s=40)), built(body.format(s="S")))

    assert found.status == "unwitnessed"
    assert found.refused == ()


def test_a_witness_of_another_model() -> None:
    stranger = built("(float[1, 8, 8] z) => (float[1, 8, 8] y) { y = Neg(z) }")

    assert other(pool(4), pool("S"), witnesses=(stranger,)).reason == (
        "the witness has the inputs ['z'], and the original has ['x']"
    )


def test_a_wrong_answer_at_the_original_size() -> None:
    found = other(pool(4), pool("S", last="Sub(r, b)"))

    assert found.status == "differs"
    assert "at S = 4" in found.reason


def test_another_dim_of_a_blind_model() -> None:
    body = "(float[1, {s}] x) => (float[1, {s}] y) <float z = {{0.0}}> {{ y = Mul(x, z) }}"

    assert other(built(body.format(s=4)), built(body.format(s="S"))).status == "untested"


def test_two_dims_are_changed_together_and_alone() -> None:
    body = "(float[1, {h}, {w}] x) => (float[1, {w}, {h}] y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}"
    free = built(body.format(h="H", w="W"))
    found = other(
        built(body.format(h=4, w=6)),
        free,
        freed={"x": {1: "H", 2: "W"}},
        promised=lambda sizes: {"y": (1, sizes["W"], sizes["H"])},
    )

    assert found.status == "unwitnessed"
    assert found.compared == ({"H": 4, "W": 6},)
    assert {"H": 8, "W": 12} in found.ran
    assert {"H": 8, "W": 6} in found.ran
    assert {"H": 4, "W": 12} in found.ran
    assert found.reason.startswith("compared at (H, W) = (4, 6) (the exported sizes); ran at (H, W) = (8, 12), (2, 3)")
    tied = built("""(float[1, H, W] x) => (float[1, W, H] y) <int64[3] k = {1, -1, 4}> {
        r = Reshape(x, k)
        y = Transpose <perm = [0, 2, 1]> (r)
    }""")
    wrong = other(
        built(body.format(h=6, w=4)),
        tied,
        freed={"x": {1: "H", 2: "W"}},
        promised=lambda sizes: {"y": (1, sizes["W"], sizes["H"])},
    )
    assert wrong.status == "differs"


def test_a_witness_that_differs_in_one_of_two_dims() -> None:
    """What W does was compared at its exported size alone, so nothing of it is certified."""
    body = "(float[1, {h}, {w}] x) => (float[1, {w}, {h}] y) {{ y = Transpose <perm = [0, 2, 1]> (x) }}"
    freed = {"x": {1: "H", 2: "W"}}
    original, free = built(body.format(h=4, w=6)), built(body.format(h="H", w="W"))
    half = other(original, free, freed=freed, witnesses=(built(body.format(h=5, w=6)),))
    whole = other(original, free, freed=freed, witnesses=(built(body.format(h=5, w=7)),))

    assert (half.status, half.compared) == ("unwitnessed", ({"H": 4, "W": 6}, {"H": 5, "W": 6}))
    assert half.reason.startswith(
        "compared at (H, W) = (4, 6), (5, 6), but with no other W than the exported; ran at (H, W) = (8, 12)"
    )
    assert whole.status == "certified"


def test_a_witness_that_has_nothing_to_say() -> None:
    """At its size everything is cut away, and what is empty equals everything that is empty."""
    body = """(float[1, {s}, 8] x) => (float[1, {t}, 8] y) <int64[1] two = {{2}}, int64[1] end = {{100}},
        int64[1] one = {{1}}> {{ y = Slice(x, two, end, one) }}"""
    found = other(
        built(body.format(s=4, t=2)), built(body.format(s="S", t="T")), witnesses=(built(body.format(s=2, t=0)),)
    )

    assert found.status == "untested"
    assert found.reason == "no output of the witness (S = 2) depends on what is fed, and so it shows nothing"


def test_what_the_original_differs_from_itself_by_is_granted_beside_a_witness_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A percent behind a gate of the witness alone: too much, unless the original differs as much from itself."""
    body = """(float[1, {s}] x) => (float[1, {s}] y) <float limit = {{1000}}, float more = {{{more}}}> {{
        c = Greater(x, limit)
        m = Mul(x, more)
        y = Where(c, m, x)
    }}"""
    four, nine, free = (built(body.format(s=s, more=more)) for s, more in ((4, "1.0"), (9, "1.01"), ("S", "1.0")))
    assert other(four, free, witnesses=(nine,)).status == "differs"

    settle = wanted.settle

    def noisy(trial: Trial, *others: Any) -> None:
        trial.evidence.append(Noise("y", 100.0))
        settle(trial, *others)

    monkeypatch.setattr(truth, "settle", noisy)
    assert other(four, free, witnesses=(nine,)).status == "certified"
