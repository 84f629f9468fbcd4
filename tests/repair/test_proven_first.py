"""A model that names its batch is held against the terms before any rule: what they prove right is not planned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import parser, save

import onereshape as orx
from onereshape.ground.errors import FixError
from onereshape.ground.isolation.budget import late
from onereshape.repair import batch_work, last_word, unrepaired
from tests.shaped_models import HEAD

_RIGHT = "g (float[N, 6] x) => (float[N, 2, 3] y) <int64[3] t = {0, 2, 3}> { r = Reshape(x, t) y = Softmax(r) }"
_BAKED = _RIGHT.replace("{0, 2, 3}", "{1, 2, 3}")
_MIXING = "g (float[N, 6] x) => (float[N, 6] y) { m = ReduceMax<keepdims = 1>(x) y = Sub(x, m) }"

_PHASES = (
    "g (float[N, 3] x) => (float[N, 3] y) <bool training = {0}> { m = ReduceMean(x) t = Sub(x, m)"
    " y = If(training) <then_branch = a () => (float[N, 3] u) { u = Neg(t) },"
    " else_branch = b () => (float[N, 3] v) { v = Neg(x) }> }"
)
"""A mean over all samples, for a branch that is never taken: a rule refuses it."""


def written(text: str, folder: Path) -> Path:
    path = folder / "m.onnx"
    save(parser.parse_model(HEAD + text), path)
    return path


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The models for which rules are asked to plan a batch."""
    asked: list[Any] = []
    work = batch_work.batch_work

    def watched(model: Any, *given: Any, **how: Any) -> Any:
        asked.append(model)
        return work(model, *given, **how)

    monkeypatch.setattr(batch_work, "batch_work", watched)
    return asked


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The axes of each batch for which the terms are asked before any run."""
    asked: list[Any] = []
    first = last_word.first_proof

    def watched(*given: Any, **how: Any) -> Any:
        asked.append(given[2])
        return first(*given, **how)

    monkeypatch.setattr(last_word, "first_proof", watched)
    return asked


@pytest.mark.parametrize("batch", [True, {"x": 0}])
@pytest.mark.parametrize("dim", ["N", "batch", "?"])
def test_a_right_model_comes_back_proven_and_no_rule_is_asked(
    dim: str, batch: Any, tmp_path: Path, rules: list[Any]
) -> None:
    given = orx.load(written(_RIGHT.replace("N", dim), tmp_path))
    fixed = orx.fix(given, batch=batch)

    assert fixed.model is given
    assert (fixed.changes, fixed.conditions, fixed.notes) == ((), (), ())
    assert fixed.certificate.status == "proven"
    assert fixed.certificate.for_all
    assert fixed.freed == {"x": {0: "N" if dim == "?" else dim}}
    assert not rules


def test_a_rule_that_refuses_a_right_model_is_not_asked(tmp_path: Path, rules: list[Any]) -> None:
    fixed = orx.fix(written(_PHASES, tmp_path), batch=True)

    assert (fixed.changes, fixed.certificate.status) == ((), "proven")
    assert not rules


@pytest.mark.parametrize("text", [_RIGHT.replace("N", "1"), _BAKED.replace("N", "1")], ids=["declared", "baked"])
def test_a_batch_that_is_a_number_is_planned_first(
    text: str, tmp_path: Path, rules: list[Any], proofs: list[Any]
) -> None:
    fixed = orx.fix(written(text, tmp_path), batch=True)

    assert fixed.certificate.status == "proven"
    assert (len(rules), len(proofs)) == (1, 0)


def test_a_wrong_model_that_names_its_batch_is_repaired(tmp_path: Path, rules: list[Any], proofs: list[Any]) -> None:
    fixed = orx.fix(written(_BAKED, tmp_path), batch=True)

    assert [each.after for each in fixed.changes] == ["[0, 2, 3]"]
    assert fixed.certificate.status == "proven"
    assert (len(rules), len(proofs)) == (1, 1)


@pytest.mark.parametrize("axes", [True, {"x": 0}])
def test_a_model_that_mixes_is_put_to_the_terms_once_for_each_place(
    axes: Any, tmp_path: Path, proofs: list[Any]
) -> None:
    with pytest.raises(FixError, match="mixes the samples"):
        orx.fix(written(_MIXING, tmp_path), batch=axes)

    assert len(proofs) == len({str(each) for each in proofs})
    assert {"x": {0: "N"}} in proofs


def test_without_a_certificate_nothing_is_asked(tmp_path: Path, rules: list[Any], proofs: list[Any]) -> None:
    given = orx.load(written(_RIGHT, tmp_path))
    fixed = orx.fix(given, batch=True, certify=False)

    assert fixed.model is given
    assert fixed.certificate is None
    assert (len(rules), len(proofs)) == (1, 0)


def test_a_model_that_is_simplified_is_planned(tmp_path: Path, rules: list[Any]) -> None:
    fixed = orx.fix(written(_RIGHT, tmp_path), batch=True, simplify=True)

    assert not fixed.changes
    assert len(rules) == 1


_LEFT = {
    "samples beside others": (
        "g (float[N, 6] x) => (float[1, M] y) <int64[2] t = {1, -1}> { y = Reshape(x, t) }",
        1,
        "",
    ),
    "another axis than the declared one": (
        "g (float[N, 6] x) => (float[N, M] y) <int64[2] t = {1, -1}> { y = Reshape(x, t) }",
        1,
        "",
    ),
    "a number inside": (
        "g (float[N, 6] x) => (float[N, 6] y) <float[1, 6] a> { a = Neg(x) y = Relu(a) }",
        0,
        "value a was declared [1, 6], with a fixed size at axis 0, which carries N",
    ),
    "a number at an output": (
        "g (float[N, 6] x) => (float[1, 6] y) { y = Relu(x) }",
        0,
        "output y was declared [1, 6], with a fixed size at axis 0, which carries N",
    ),
    "a node that fails": (
        "g (float[N, 6] x) => (float[N, 6] y) <int64[2] t = {1, 6}> { [dead] d = Reshape(x, t) y = Relu(x) }",
        0,
        "dead, which no output needs, would fail at several samples and was taken out",
    ),
    "a state": (
        "g (float[N, 6] x, float[1, 6] h) => (float[N, 6] y) { y = Add(x, h) }",
        0,
        "took h:0 too, as y, which has its dims, carries the batch there",
    ),
}


@pytest.mark.parametrize("name", _LEFT)
def test_a_right_model_for_which_rules_do_more_is_planned(name: str, tmp_path: Path, rules: list[Any]) -> None:
    """The terms are those of the outputs, and hold for each of these."""
    text, changes, note = _LEFT[name]
    given = orx.load(written(text, tmp_path))
    fixed = orx.fix(given, batch=True)

    assert rules
    assert fixed.model is not given
    assert len(fixed.changes) == changes
    assert fixed.notes[:1] == ((note,) if note else ())
    assert fixed.certificate.status == "proven"


def test_beside_other_names_no_rule_is_asked_either(tmp_path: Path, rules: list[Any]) -> None:
    """The terms are asked at some T first; runs choose the sizes that the certificate has."""
    text = (
        "g (float[N, 6, T] x) => (float[N, 2, 3, T] y) <int64[4] t = {0, 2, 3, -1}>"
        " { r = Reshape(x, t) y = Softmax<axis = 2>(r) }"
    )
    given = orx.load(written(text, tmp_path))
    fixed = orx.fix(given, batch=True)

    assert fixed.model is given
    assert fixed.certificate.for_all
    assert not rules


def test_what_is_fed_as_sizes_is_for_rules_first(tmp_path: Path, rules: list[Any]) -> None:
    text = (
        "g (float[N, 6] x, int64[1] t) => (float[N, A] y) <int64[1] zero = {0}, int64[1] one = {1}>"
        " { y = Slice(x, zero, t, one) }"
    )
    given = orx.load(written(text, tmp_path))

    assert orx.fix(given, batch={"x": 0}).model is given
    assert len(rules) == 1


def test_what_the_terms_have_no_time_for_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: list[Any]
) -> None:
    def over(*_given: Any, **_how: Any) -> Any:
        raise late(1)

    monkeypatch.setattr(unrepaired, "certificate_of", over)
    given = orx.load(written(_RIGHT, tmp_path))
    fixed = orx.fix(given, batch=True)

    assert fixed.model is given
    assert fixed.certificate is None
    assert len(rules) == 1
