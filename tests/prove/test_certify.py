"""Certificates of a freed batch: given to a repaired model that answers as the original does."""

from __future__ import annotations

import json
from typing import Any

import onnx_ir as ir
import pytest

from onereshape.prove.engines.engine import Session
from onereshape.prove.evidence import Carried
from tests.prove.certifying import batch, both, built, flat, same


def test_a_right_repair_is_certified() -> None:
    found = batch(flat("1", 1), flat("N", 0), seed=5)

    assert found.holds
    assert found.status == "certified"
    assert (found.compared, found.ran) == (({"N": 1}, {"N": 2}, {"N": 3}, {"N": 5}), ())
    assert found.reason == "compared at N = 1, 2, 3, 5; the largest difference is 0"
    (output,) = found.outputs
    assert (output.name, output.axis, output.difference, output.blind) == ("y", 0, 0.0, False)
    assert output.scale > 1
    assert output.elements == 11 * 12
    assert found.engine.startswith("onnxruntime 1.")
    assert (found.seed, found.relative, found.absolute) == (5, 1e-3, 1e-4)


def test_a_certificate_is_json() -> None:
    found: Any = batch(flat("1", 1), flat("N", 0)).to_json()

    assert json.loads(json.dumps(found)) == found
    assert (found["ran"], found["refused"], found["held"], found["fitted"], found["witnesses"]) == ([], [], [], [], [])
    assert found["extremes"] == ["large", "negative", "huge", "equal"]
    assert found["status"] == "certified"
    assert found["outputs"][0]["name"] == "y"


def test_who_watches_sees_every_step() -> None:
    seen: list[tuple[int, int, str]] = []
    both(flat("1", 1), flat("N", 0), progress=lambda *step: seen.append(step))

    assert [step[0] for step in seen] == list(range(8))
    assert [step[1] for step in seen] == [12] + [7] * 7
    assert [step[2] for step in seen] == [
        "terms",
        *(f"original, {number} of 3" for number in (1, 2, 3)),
        *("N = 1", "N = 2", "N = 3"),
        "proven",
    ]


def test_an_input_that_carries_no_batch_is_the_same_for_all() -> None:
    body = "(float[{n}, 6] x, float[1, 6] w) => (float[{n}, 6] y) {{ y = Mul(x, w) }}"

    assert batch(built(body.format(n="1")), built(body.format(n="N"))).holds


def test_an_output_that_carries_no_batch() -> None:
    body = "(float[{n}, 6] x, float[6] w) => (float[{n}, 6] y, float[6] z) {{ y = Mul(x, w) z = Neg(w) }}"
    outputs = {"y": Carried(0), "z": None}
    found = batch(built(body.format(n="1")), built(body.format(n="N")), outputs=outputs)

    assert found.holds
    assert [(output.axis, output.blind) for output in found.outputs] == [(0, False), (None, False)]
    mixing = """(float[{n}, 6] x, float[6] w) => (float[{n}, 6] y, float[6] z) <int64[1] a = {{0}}> {{
        y = Mul(x, w)
        z = ReduceSum <keepdims = 0> (x, a)
    }}"""
    assert batch(built(mixing.format(n="1")), built(mixing.format(n="N")), outputs=outputs).status == "differs"


def test_a_blind_output_is_named_beside_one_that_sees() -> None:
    body = """(float[{n}, 6] x) => (float[{n}, 6] y, float[{n}, 1] p) <int64[1] a = {{1}}> {{
        y = Neg(x)
        m = ReduceMax(x, a)
        p = Softmax <axis = 1> (m)
    }}"""
    found = batch(built(body.format(n="1")), built(body.format(n="N")), outputs={"y": Carried(0), "p": Carried(0)})

    assert found.holds
    assert [output.blind for output in found.outputs] == [False, True]
    assert found.reason.endswith("; not tested, the same for all samples: p")


def test_an_output_of_the_first_sample_is_not_that_of_all() -> None:
    body = """(float[{n}, 6] x) => (float[{n}, 6] y, float[6] z) <int64 first = {{0}}> {{
        y = Neg(x)
        z = Gather(x, first)
    }}"""
    outputs = {"y": Carried(0), "z": None}

    assert batch(built(body.format(n="1")), built(body.format(n="N")), outputs=outputs).status == "differs"


def test_no_output_carries_the_batch() -> None:
    body = "(float[{n}, 6] x, float[6] w) => (float[6] y) {{ y = Neg(w) }}"
    found = batch(built(body.format(n="1")), built(body.format(n="N")), outputs={"y": None})

    assert (found.status, found.reason) == ("untested", "no output carries the batch")


def test_a_type_that_neither_model_declares() -> None:
    def cast(n: str, to: int) -> ir.Model:
        found = built(f"(float[{n}, 6] x) => (float[{n}, 6] y) {{ y = Cast <to = {to}> (x) }}")
        found.graph.outputs[0].type = None
        return found

    assert batch(cast("1", 1), cast("N", 1)).holds
    assert batch(cast("1", 1), cast("N", 11)).reason == "output 'y' is float64 and was float32"


def test_samples_inside_an_axis() -> None:
    """Two halves of the channels outside the batch: the axis is 2 * N * 3."""
    body = """(float[{n}, 6] x) => (float[{m}] y) <int64[3] k = {{{k}, 2, 3}}, int64[1] all = {{-1}}> {{
        r = Reshape(x, k)
        t = Transpose <perm = [1, 0, 2]> (r)
        y = Reshape(t, all)
    }}"""
    original, repaired = built(body.format(n="1", m="6", k=1)), built(body.format(n="N", m="M", k=0))

    assert batch(original, repaired, outputs={"y": Carried(0, 2, 3)}).holds
    assert batch(original, repaired, outputs={"y": Carried(0, 2, None)}).holds
    assert batch(original, repaired, outputs={"y": Carried(0, 1, 6)}).status == "differs"
    assert "finds no batch" in batch(original, repaired, outputs={"y": Carried(0, 4, 3)}).reason


PAIRS = """(float[{n}, 4] x) => (float[{n}, 4] y) <int64[3] k = {{{k}}}, int64[2] back = {{-1, 4}}> {{
    r = Reshape(x, k)
    m = Softmax <axis = {axis}> (r)
    y = Reshape(m, back)
}}"""


def test_a_batch_of_two_is_also_run_one_by_one() -> None:
    original = built(PAIRS.format(n="2", k="1, 2, 4", axis=2))
    found = batch(original, built(PAIRS.format(n="N", k="1, -1, 4", axis=2)), size=2)

    assert found.holds
    assert found.compared == ({"N": 2}, {"N": 4}, {"N": 6}, {"N": 10}, {"N": 1})
    in_pairs = batch(original, built(PAIRS.format(n="N", k="-1, 2, 4", axis=2)), size=2)
    assert in_pairs.status == "failed"
    assert "at N = 1: Reshape: " in in_pairs.reason


def test_an_original_that_mixes_its_samples() -> None:
    original, repaired = (built(PAIRS.format(n=n, k="-1, 1, 4", axis=0)) for n in ("2", "N"))
    found = batch(original, repaired, size=2)

    assert found.status == "differs"
    assert found.reason.startswith(
        "the original mixes the 2 samples of its batch: output 'y' of a sample differs by 0."
    )


def test_a_sample_that_depends_on_its_place() -> None:
    """Row 1 of the batch of two has weights of its own, which no single sample can have."""
    body = "(float[{n}, 3] x) => (float[{n}, 3] y) <float[2, 1] w = {{1.0, 2.0}}> {{ y = Mul(x, w) }}"
    found = batch(built(body.format(n="2")), built(body.format(n="N")), size=2)

    assert found.status == "differs"
    assert "mixes the 2 samples" in found.reason


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "double"])
def test_other_floats(dtype: str) -> None:
    kind = {"float16": 10, "bfloat16": 16, "double": 11}[dtype]
    body = """(T[{n}, 6] x) => (T[{n}, 6] y) <float f = {{{f}}}> {{
        w = Cast <to = 1> (x)
        s = Softmax <axis = 1> (w)
        t = Mul(s, f)
        y = Cast <to = K> (t)
    }}"""
    body = body.replace("T[", f"{dtype}[").replace("K", str(kind))
    original = built(body.format(n="1", f="1.0"))

    assert batch(original, built(body.format(n="N", f="1.0"))).holds
    assert batch(original, built(body.format(n="N", f="1.15"))).status == "differs"


def test_integers_are_equal_or_not() -> None:
    body = """(float[{n}, 50] x) => (int64[{n}] y) <int64 more = {{{more}}}> {{
        z = ArgMax <axis = 1, keepdims = 0> (x)
        y = Add(z, more)
    }}"""
    original = built(body.format(n="1", more=0))

    assert batch(original, built(body.format(n="N", more=0))).holds
    wrong = batch(original, built(body.format(n="N", more=1)))
    assert (wrong.status, wrong.outputs[0].difference) == ("differs", 1.0)


@pytest.mark.parametrize("taken", [0, -1])
def test_an_output_without_a_batch_is_put_beside_the_answer_to_each_sample(taken: int) -> None:
    body = """(float[{n}, 6] x) => (float[{n}, 6] y, float[6] z) <int64 i = {{{taken}}}> {{
        y = Neg(x)
        z = Gather(x, i)
    }}"""
    found = batch(
        built(body.format(n=1, taken=0)), built(body.format(n="N", taken=taken)), outputs={"y": Carried(0), "z": None}
    )

    assert found.status == "differs"
    assert found.reason.startswith("output 'z' differs by ")
    assert "at N = 2, where" in found.reason


def test_texts_that_are_others() -> None:
    body = '(string[{n}, 2] x) => (string[{n}, 2] y) <string k = {{"{k}"}}> {{ y = StringConcat(x, k) }}'
    one, right, wrong = (built(body.format(n=n, k=k)) for n, k in ((1, "a"), ("N", "a"), ("N", "b")))

    assert batch(one, right).status == "certified"
    assert batch(one, wrong).reason == "output 'y' has other texts at N = 1"
    assert same(right, wrong).reason == "output 'y' has other texts at N = 4"


def test_strings() -> None:
    body = "(string[{n}, 2] x) => (string[{n}, 2] y) {{ y = Identity(x) }}"

    assert batch(built(body.format(n="1")), built(body.format(n="N"))).holds


def test_a_random_original_is_untested() -> None:
    body = "(float[{n}, 6] x) => (float[{n}, 6] y) {{ r = RandomNormalLike(x) y = Add(x, r) }}"
    found = batch(built(body.format(n="1")), built(body.format(n="N")))

    assert found.status == "untested"
    assert found.reason.startswith("the original does not repeat itself: output 'y' differs by ")


def test_values_that_overflow_are_drawn_smaller() -> None:
    """e^(400 |x|) is infinite for nearly all that is drawn first, and infinite minus infinite is no number."""
    body = """(float[{n}, 1] x) => (float[{n}, 1] y, float[{n}, 1] minus) <float f = {{400.0}}> {{
        minus = Neg(x)
        s = Mul(x, f)
        a = Abs(s)
        e = Exp(a)
        z = Sub(e, e)
        y = Add(z, x)
    }}"""
    outputs = {"y": Carried(0), "minus": Carried(0)}
    found = batch(built(body.format(n="1")), built(body.format(n="N")), outputs=outputs)

    assert found.status == "certified", found.reason
    assert [output.blind for output in found.outputs] == [False, False]
    assert found.outputs[1].scale < 0.25


def test_not_a_number_everywhere_is_untested() -> None:
    body = "(float[{n}, 6] x) => (float[{n}, 6] y) {{ s = Sub(x, x) z = Div(s, s) y = Add(z, x) }}"
    found = batch(built(body.format(n="1")), built(body.format(n="N")))

    assert (found.status, found.outputs[0].elements) == ("untested", 0)
    assert found.reason == "no output depends on the sample (never finite: y)"


EMPTY = """(float[{n}, 6] x) => (float[{n}, 0] y, float[{n}, 6] z) <int64[1] a = {{6}}, int64[1] b = {{9}},
    int64[1] one = {{1}}> {{ y = Slice(x, a, b, one) {z} }}"""


def test_an_empty_output_shows_nothing() -> None:
    """Whatever the repaired model does on the way to it, empty equals empty."""
    alone = EMPTY.replace(", float[{n}, 6] z", "").replace("{z}", "")
    found = batch(built(alone.format(n="1")), built(alone.format(n="N")))
    assert (found.status, found.outputs[0].elements) == ("untested", 0)
    assert found.reason == "no output depends on the sample (empty in every run: y)"

    outputs = {"y": Carried(0), "z": Carried(0)}
    beside = [built(EMPTY.format(n=n, z="z = Neg(x)")) for n in ("1", "N")]
    seen = batch(*beside, outputs=outputs)
    assert seen.holds
    assert seen.reason.endswith("; not tested, empty in every run: y")


def test_an_output_without_the_batch_that_is_never_finite_is_said() -> None:
    body = """(float[{n}, 6] x, float[6] w) => (float[{n}, 6] y, float[6] z) {{
        y = Mul(x, w)
        s = Sub(w, w)
        z = Div(s, s)
    }}"""
    found = batch(built(body.format(n="1")), built(body.format(n="N")), outputs={"y": Carried(0), "z": None})

    assert found.holds
    assert found.reason.endswith("; not tested, never finite: z")


def test_infinities_must_be_at_the_same_places() -> None:
    body = """(float[{n}, 6] x) => (float[{n}, 6] y) <float[6] m = {{1, 1, 1, 1, 1, {last}}}> {{
        i = Log(m)
        y = Add(i, x)
    }}"""
    original = built(body.format(n="1", last="0"))

    assert batch(original, built(body.format(n="N", last="0"))).holds
    wrong = batch(original, built(body.format(n="N", last="1")))
    assert wrong.status == "differs"
    assert "a value that is not finite" in wrong.reason
    machine: Any = wrong.to_json()
    assert machine["outputs"][0]["difference"] is None


def test_no_samples_say_nothing() -> None:
    found = batch(built("(float[0, 3] x) => (float[0, 3] y) { y = Relu(x) }"), flat("N", 0), size=0)

    assert (found.status, found.reason) == (
        "untested",
        "the original has 0 samples, which say nothing of what one gives",
    )


@pytest.mark.parametrize("thorough", [False, True])
def test_what_is_proven_is_run_a_little_or_all_that_may_differ(thorough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each distinct input is run once by the original; with `thorough` nothing is left out."""
    fed: list[dict[str, Any]] = []
    run = Session.run

    def counted(self: Session, feeds: Any) -> Any:
        fed.append(feeds)
        return run(self, feeds)

    monkeypatch.setattr(Session, "run", counted)
    found = both(flat("1", 1), flat("N", 0), thorough=thorough)

    assert (found.status, found.for_all) == ("proven", True)
    if thorough:
        assert found.extremes[:4] == ("large", "negative", "huge", "equal")
        assert "beside samples that are no numbers" in found.extremes
        assert [each["N"] for each in found.compared] == [1, 2, 3, 5, 4, 8, 17, 130]
    else:
        assert found.extremes == ()
        assert [feeds["x"].shape[0] for feeds in fed] == [1, 1, 1, 1, 2, 3]
        assert len({feeds["x"].tobytes() for feeds in fed[:3]}) == 3


def test_terms_that_prove_it_at_some_batches_only_leave_all_to_be_run() -> None:
    body = "(float[{n}, 4] x) => (float[{n}, 4] y) <int64[1] zero = {{0}}, int64[1] far = {{100}}> {{ y = {op} }}"
    cut = built(body.format(n="N", op="Slice(x, zero, far, zero)"))
    found = both(built(body.format(n=1, op="Identity(x)")), cut)

    assert found.status == "differs"
    assert found.proof is not None
    assert not found.proof.always
