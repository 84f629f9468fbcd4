"""Models that take any batch already, and that no rule frees: a Loop through the samples, an axis lost at one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx_ir as ir
import pytest
from onnx import parser, save

import onereshape as orx
from onereshape.ground.errors import FixError
from onereshape.repair import last_word, unrepaired
from onereshape.repair.batch.search import batch_plan
from onereshape.terms.batches import LOST_AXIS, NEW_AXIS
from onereshape.terms.prove import prove_batch
from tests.shaped_models import HEAD, read

_WHILE = (
    "g (float[N, 3] x) => (float[M, 3] y) <int64[1] first = {0}, int64 many = {9223372036854775807}, float none = {0},"
    " int64 zero = {0}, int64 one = {1}> { s = Shape<end = 1>(x) n = Squeeze(s, first) f = Cast<to = 1>(n)"
    " c = Less(none, f) u, y = Loop(many, c, zero) <body = b (int64 i, bool a, int64 k) =>"
    " (bool d, int64 j, float[3] w) { j = Add(k, one) h = Cast<to = 1>(j) g = Cast<to = 1>(n) d = Less(h, g)"
    " p = Unsqueeze(k, first) e = Gather<axis = 0>(x, p) q = Squeeze(e, first) w = OWN }> }"
)
_APPENDED = (
    "g (float[N, 3] x) => (float[N, 3] y) <int64[1] first = {0}> { s = Shape<end = 1>(x) n = Squeeze(s, first)"
    " o = SequenceEmpty() q = Loop(n, , o) <body = b (int64 i, bool c, seq(float[3]) a) => (bool d, seq(float[3]) w)"
    " { d = Identity(c) e = Gather<axis = 0>(x, i) r = Softmax<axis = 0>(e) w = SequenceInsert(a, r) }>"
    " y = ConcatFromSequence<axis = 0, new_axis = 1>(q) }"
)
_LONG = (
    "g (float[N, T] x) => (float[M, k, 1600] y) <int64[1] first = {0}, int64[3] parts = {0, -1, 1600}, int64 zero ="
    " {0}> { q = Reshape(x, parts) s = Shape<end = 1>(x) n = Squeeze(s, first) u, y = Loop(n, , zero) <body ="
    " b (int64 i, bool c, int64 k) => (bool d, int64 j, float[m, 1600] v) { d = Identity(c) j = Identity(k)"
    " v = Gather<axis = 0>(q, i) }> }"
)


def written(text: str, folder: Path) -> str:
    path = folder / "m.onnx"
    save(parser.parse_model(HEAD + text), path)
    return str(path)


@pytest.mark.parametrize("text", [_WHILE.replace("OWN", "Softmax<axis = 0>(q)"), _APPENDED], ids=["while", "appended"])
def test_a_loop_through_the_samples_is_left_as_it_is(text: str, tmp_path: Path) -> None:
    fixed = orx.fix(written(text, tmp_path), batch={"x": 0})

    assert fixed.certificate.status == "proven"
    assert fixed.changes == ()
    assert fixed.notes == ()


MIXING = {
    "the first sample in each turn": _WHILE.replace("w = OWN", "o = Gather<axis = 0>(x, zero) w = Add(q, o)"),
    "as much as there are turns": _WHILE.replace("OWN", "Mul(q, g)"),
    "the turn": _WHILE.replace("OWN", "Mul(q, h)"),
    "all of them": _WHILE.replace("w = OWN", "o = ReduceMax<keepdims = 0>(x) w = Sub(q, o)"),
}


@pytest.mark.parametrize("name", MIXING)
def test_a_loop_in_which_samples_meet_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(FixError) as refused:
        orx.fix(written(MIXING[name], tmp_path), batch={"x": 0})

    assert refused.value.code in {"cannot-free", "mixes-samples"}


def test_how_often_a_loop_turns_is_no_mixing_by_itself() -> None:
    with pytest.raises(FixError) as refused:
        batch_plan(read(_WHILE.replace("OWN", "Neg(q)")), {"x": 0}, "N", 1)

    assert refused.value.sentence == (
        "Cast of f (Cast): what it does depends on how many samples there are: n grows with N"
    )


def test_what_counts_turns_and_more_is_mixing() -> None:
    text = (
        _WHILE.replace("OWN", "Neg(q)")
        .replace("(float[M, 3] y)", "(float[M, 3] y, float z)")
        .replace("c = Less", "z = Neg(f) c = Less")
    )
    with pytest.raises(FixError) as refused:
        batch_plan(read(text), {"x": 0}, "N", 1)

    assert refused.value.code == "mixes-samples"


def test_lengths_of_sounds_are_tried_at_one_sample(tmp_path: Path) -> None:
    """16,000 entries of each of 16,000 samples would be too many."""
    fixed = orx.fix(written(_LONG, tmp_path), batch={"x": 0})

    assert fixed.changes == ()
    assert {16000} < {sizes["T"] for sizes in fixed.certificate.compared}


_SQUEEZED = (
    "g (float[N, 3] x) => (OUTPUT y) <float[3, 1] w = {1, 2, 3}> { z = MatMul(x, w) s = Squeeze(z) y = LAST(s) }"
)


@pytest.mark.parametrize("output", ["float[N]", "float"])
def test_an_axis_that_is_lost_at_one_sample_is_told(output: str, tmp_path: Path) -> None:
    text = _SQUEEZED.replace("OUTPUT", output).replace("LAST", "Sigmoid")
    fixed = orx.fix(written(text, tmp_path), batch={"x": 0})

    assert fixed.certificate.status == "proven"
    assert fixed.changes == ()
    assert fixed.notes == ("output y has no axis for the batch where that is 1",)


@pytest.mark.parametrize("last", ["Softmax<axis = -1>", "CumSum0", "Hardmax<axis = -1>"])
def test_samples_that_meet_after_it_are_refused(last: str, tmp_path: Path) -> None:
    text = _SQUEEZED.replace("OUTPUT", "float[N]").replace("LAST(s)", f"{last}(s)")
    text = text.replace("CumSum0(s)", "Sub(s, m)").replace("y = Sub", "m = ReduceMax<keepdims = 0>(s) y = Sub")
    with pytest.raises(FixError):
        orx.fix(written(text, tmp_path), batch={"x": 0})


def test_terms_of_an_axis_that_is_lost_at_one_sample() -> None:
    model = read(_SQUEEZED.replace("OUTPUT", "float[N]").replace("LAST", "Sigmoid"))
    lost = prove_batch(model, model, {"x": 0}, places={"y": LOST_AXIS}, seed=7)
    new = prove_batch(model, model, {"x": 0}, places={"y": NEW_AXIS}, seed=7)

    assert (lost.verdict, lost.always) == ("proven", False)
    assert (new.verdict, new.reason) == ("other", "output 'y' has dims [] at N = 1, and should have [1]")


def test_samples_of_an_axis_that_is_lost_must_be_their_own() -> None:
    text = _SQUEEZED.replace("OUTPUT", "float[N]").replace("LAST(s)", "Sub(s, m)")
    model: ir.Model = read(text.replace("y = Sub", "m = ReduceMax<keepdims = 0>(s) y = Sub"))

    assert prove_batch(model, model, {"x": 0}, places={"y": LOST_AXIS}, seed=7).verdict == "other"


_PHASES = (
    "g (float[N, 3] x GIVEN) => (float[N, 3] y) <CONSTANTS> { m = ReduceMean(x) t = Sub(x, m)"
    " y = If(training) <then_branch = a () => (float[N, 3] u) { u = Neg(t) },"
    " else_branch = b () => (float[N, 3] v) { v = Neg(x) }> }"
)


def test_what_only_a_branch_needs_that_is_never_taken_mixes_nothing(tmp_path: Path) -> None:
    """Keras leaves the means over a batch that training takes behind a phase that is a constant."""
    text = _PHASES.replace("GIVEN", "").replace("CONSTANTS", "bool training = {0}")
    fixed = orx.fix(written(text, tmp_path), batch={"x": 0})

    assert fixed.changes == ()
    assert fixed.certificate.proof.always


@pytest.mark.parametrize(
    ("given", "constants"),
    [(", bool training", ""), ("", "bool training = {1}"), (", bool training", "bool training = {0}")],
)
def test_a_branch_that_may_be_taken_mixes(given: str, constants: str, tmp_path: Path) -> None:
    text = _PHASES.replace("GIVEN", given).replace("<CONSTANTS>", f"<{constants}>" if constants else "")
    with pytest.raises(FixError, match="mixes the samples"):
        orx.fix(written(text, tmp_path), batch={"x": 0})


def test_a_batch_that_is_a_number_is_never_right_already(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So nobody asks whether the model could be left as it is: that takes as long as the certificate."""
    asked: list[object] = []
    first = last_word.first_proof

    def proof(*given: Any, **how: Any) -> Any:
        asked.append(given)
        return first(*given, **how)

    monkeypatch.setattr(last_word, "first_proof", proof)
    body = "g (float[B, 6] x) => (float[B, 6] y) <int64[2] t = {1, 6}> { r = Reshape(x, t) y = Softmax(r) }"

    for batch, times in (("1", 0), ("N", 1)):
        fixed = orx.fix(written(body.replace("B", batch), tmp_path), batch={"x": 0})
        assert (len(fixed.changes), len(asked)) == (1, times)


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (_WHILE.replace("OWN", "Softmax<axis = 0>(q)"), None),
        (_APPENDED, None),
        (_LONG, "warning"),
        (_SQUEEZED.replace("OUTPUT", "float[N]").replace("LAST", "Sigmoid"), "warning"),
        ("g (float[N, 3] x) => (float[N, 3] y) { m = ReduceMax<keepdims = 1>(x) y = Sub(x, m) }", "error"),
        ("g (float[1, 3] x) => (float[1, 3] y) { y = Softmax<axis = 0>(x) }", "error"),
    ],
    ids=["while", "appended", "long", "squeezed", "mixing", "fixed and mixing"],
)
def test_check_says_no_more_than_fix(text: str, severity: str | None, tmp_path: Path) -> None:
    """An error only where nothing but a proof would be believed, and nothing where the terms give one."""
    path = written(text, tmp_path)
    found = [each.severity for each in orx.check(path, batch={"x": 0}) if each.code == "cannot-free"]

    assert found == ([] if severity is None else [severity])
    if severity == "error":
        with pytest.raises(FixError):
            orx.fix(path, batch={"x": 0})
    else:
        assert orx.fix(path, batch={"x": 0}).changes == ()


def test_samples_that_meet_in_the_terms_are_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever size its other dims may need to run."""
    asked: list[object] = []
    monkeypatch.setattr(unrepaired, "certificate_of", lambda *given: asked.append(given))
    text = "g (float[N, T] x) => (float[N, T] y) { q, s, z = DynamicQuantizeLinear(x) y = DequantizeLinear(q, s, z) }"
    with pytest.raises(FixError, match="it takes one scale from all samples"):
        orx.fix(written(text, tmp_path), batch={"x": 0})

    assert not asked


def test_a_right_model_with_other_named_dims_is_told_so_before_any_rule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The terms are asked at some sizes of the other dims; no rule is."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("onereshape.repair.batch_work.batch_work", never)
    text = "g (float[N, H, W] x) => (float[N, H, W] y) { a = Relu(x) y = Softmax <axis = -1> (a) }"
    save(parser.parse_model(f"{HEAD} {text}"), tmp_path / "m.onnx")
    given = orx.load(tmp_path / "m.onnx")

    fixed = orx.fix(given, batch=True)

    assert fixed.model is given
    assert (fixed.certificate.status, fixed.certificate.for_all) == ("proven", True)
    assert len({each["H"] for each in fixed.certificate.compared}) > 2
