"""Equivalent: what is said of two given models that are one formula of real numbers, and of those that are not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import onereshape as orx
from onereshape.cli import main
from onereshape.formats.model import load
from onereshape.prove import run_both as certifying
from onereshape.prove.certificate import Certificate
from onereshape.prove.certify import CertifyQuestion
from onereshape.prove.counterexample import Counterexample
from onereshape.prove.runs.comparison import Comparison
from onereshape.repair.proof_file import digests, keep
from tests.checking import written
from tests.commands import Captured, ran
from tests.prove.certifying import built

MODEL = "(float[a, 3] x) => (float[a, 3] y) <float[3] w = {{1, 2, {last}}}, float[3] b = {{0.5, -1, 2}}> {{ {body} }}"
DISTRIBUTED = "p = Mul(x, w) q = Mul(b, w) y = Add(p, q)"
TOGETHER = "s = Add(x, b) y = Mul(s, w)"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def two(folder: Path, one: str = TOGETHER, other: str = DISTRIBUTED, last: str = "3") -> tuple[str, str]:
    """Two models, of which the second has this last weight, and the first a 3."""
    written(f"g {MODEL.format(body=one, last='3')}", folder, "a.onnx")
    written(f"g {MODEL.format(body=other, last=last)}", folder, "b.onnx")
    return "a.onnx", "b.onnx"


def test_another_expression_of_the_same_formula(here: Path, capsys: Captured) -> None:
    code, said, _ = ran(capsys, "certify", *two(here))

    assert code == 0
    assert re.fullmatch(
        r"equivalent: at a = 4, [\d, ]+ the same formula of real numbers; constants agree within 1e-06; "
        r"onnxruntime's answers differ by at most \d[\d.e+-]* on what was drawn\n",
        said,
    )


def test_the_certificate(here: Path) -> None:
    found = orx.certify(*two(here))

    assert (found.status, found.holds, found.suffices, found.counterexample) == ("equivalent", True, True, None)
    assert found.proof is not None
    assert not found.proof.holds
    assert found.equivalence is not None
    assert (found.equivalence.verdict, found.equivalence.tolerance) == ("equivalent", 1e-6)
    assert {0, 1, 4} <= {each["a"] for each in found.equivalence.sizes}
    assert found.to_json()["equivalence"] == found.equivalence.to_json()
    assert found.summary.startswith("equivalent at a = ")


@pytest.mark.parametrize(
    ("last", "status"),
    [("3.0000002", "equivalent"), ("3.0003", "not proven"), ("3.3", "differs")],
)
def test_a_weight_within_the_tolerance_beyond_it_and_beyond_that_of_runs(last: str, status: str, here: Path) -> None:
    found = orx.certify(*two(here, last=last))

    assert (found.status, found.holds) == (status, status == "equivalent"), found
    assert (found.counterexample is not None) == (status == "differs")
    assert (found.equivalence is None) == (status == "differs")


def test_a_gate_that_no_drawn_input_opens_is_no_equivalence(here: Path, capsys: Captured) -> None:
    names = two(here)
    gate = "p = Mul(x, w) g = Greater(p, far) s = Where(g, w, x) t = Add(s, b) y = Mul(t, w)"
    written(f"g {MODEL.replace('<', '<float far = {{1e30}}, ').format(body=gate, last=3)}", here, "b.onnx")

    code, said, _ = ran(capsys, "certify", *names)

    assert code == 1
    assert said.startswith("not proven: output 'y' is another formula")
    assert said.endswith("; drawn inputs showed no difference, but others may\n")


def test_what_the_reading_cannot_follow_is_decided_by_runs(here: Path) -> None:
    """Neither reading knows the operator; behind it both models are the same expression but for its rewriting."""
    text = """<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
        g (float[a, 3] x) => (float[a, 3] y) <float[3] w = {{1, 2, 3}}> {{
            u = com.microsoft.SampleOp(x) {body} }}"""
    bodies = {"a.onnx": "s = Add(u, w) y = Mul(s, w)", "b.onnx": "p = Mul(u, w) q = Mul(w, w) y = Add(p, q)"}
    for name, body in bodies.items():
        onnx.save(onnx.parser.parse_model(text.format(body=body)), here / name)
    found = orx.certify("a.onnx", "b.onnx")

    assert found.status == "certified"
    assert found.equivalence is not None
    assert found.equivalence.verdict == "unknown"
    assert f"; whether it is the same formula is not known: {found.equivalence.reason}" in found.reason


def test_what_is_proven_is_not_read_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("asked")

    monkeypatch.setattr(certifying, "same_formula", never)

    assert orx.certify(*two(here, other=TOGETHER)).status == "proven"
    assert orx.certify(*two(here, last="4")).status == "differs"
    with pytest.raises(AssertionError, match="asked"):
        orx.certify(*two(here))


def test_a_repair_is_never_equivalent() -> None:
    one, other = (built(MODEL.format(body=body, last=3)) for body in (TOGETHER, DISTRIBUTED))
    found: Certificate = certifying.certify(one, other, {}, Comparison(), base_dir=".")

    assert (found.status, found.equivalence) == ("not proven", None)


def kept(names: tuple[str, str]) -> dict[str, Any]:
    """The certificate of two models, as a file has it."""
    found = orx.certify(*names)
    models = {role: [(name, digests(load(name)))] for role, name in zip(("original", "repaired"), names, strict=True)}
    keep("proof.json", models, CertifyQuestion(), found)
    told: dict[str, Any] = json.loads(Path("proof.json").read_text())
    return told


def test_a_kept_certificate_is_made_again(here: Path, capsys: Captured) -> None:
    told = kept(two(here))

    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")

    assert told["says"].startswith("equivalent: ")
    assert (code, said.splitlines()[-1]) == (0, "proof.json says the same")
    assert said.startswith("equivalent: ")


LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "a tighter tolerance": lambda found: found["equivalence"].update(tolerance=1e-9),
    "other sizes": lambda found: found["equivalence"].update(sizes=[{"a": 64}]),
    "proven": lambda found: found.update(status="proven"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_kept_certificate_that_says_more(lie: str, here: Path, capsys: Captured) -> None:
    told = kept(two(here))
    LIES[lie](told["certificate"])
    (here / "proof.json").write_text(json.dumps(told))

    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")

    assert code == 1
    assert said.splitlines()[1] == "proof.json says something else:"


def test_a_kept_certificate_from_before_there_were_these_fields(here: Path, capsys: Captured) -> None:
    told = kept(two(here, other=TOGETHER))
    assert (told["certificate"].pop("equivalence"), told["certificate"].pop("counterexample")) == (None, None)
    (here / "proof.json").write_text(json.dumps(told))

    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")

    assert (code, said.splitlines()[-1]) == (0, "proof.json says the same")


def test_with_a_batch_nothing_is_equivalent(here: Path) -> None:
    written(f"g {MODEL.format(body=TOGETHER, last=3).replace('[a,', '[1,')}", here, "one.onnx")
    found = orx.certify("one.onnx", two(here)[1], batch=True)

    assert (found.status, found.equivalence) == ("not proven", None)


def test_a_file_that_an_optimiser_does_not_load_again_is_run_as_it_is(tmp_path: Path) -> None:
    """What onnxruntime's basic level makes of a BERT is refused by its own default level, and is right."""
    original, made = Path("tests/data/corpus/bert.ts.onnx"), tmp_path / "basic.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(made)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(original, options)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with pytest.raises(Exception, match="replace the existing tensor"):
        onnxruntime.InferenceSession(made, options)

    found = orx.certify(original, made)

    assert found.holds
    assert found.held == ("onnxruntime loads it only where it is told not to optimise it",)
    assert found.held[0] in found.reason

    wrong = onnx.load(made)
    weight = max(wrong.graph.initializer, key=lambda each: len(each.raw_data))
    weight.raw_data = (1.5 * np.frombuffer(weight.raw_data, np.float32)).astype(np.float32).tobytes()
    onnx.save(wrong, tmp_path / "wrong.onnx")
    example = orx.certify(original, tmp_path / "wrong.onnx").counterexample
    assert isinstance(example, Counterexample)
    example.save(str(tmp_path / "x.npz"))
    for name, code in (("wrong.onnx", 1), ("basic.onnx", 0)):
        assert main(["certify", str(original), str(tmp_path / name), "--replay", str(tmp_path / "x.npz")]) == code


def test_a_file_that_is_loaded_in_no_way_fails() -> None:
    original = Path("tests/data/corpus/bert.ts.onnx")
    broken = onnx.load(original)
    broken.graph.node.append(onnx.helper.make_node("Nothing", [broken.graph.input[0].name], ["more"], domain="nobody"))
    broken.opset_import.append(onnx.helper.make_opsetid("nobody", 1))

    found = orx.certify(original, broken)

    assert found.status == "failed"
    assert found.reason.startswith("onnxruntime cannot load the repaired model: ")


def test_where_no_dim_is_free_no_sizes_are_named(here: Path) -> None:
    for name, last in (("a.onnx", "3"), ("b.onnx", "4")):
        written(f"g {MODEL.format(body=TOGETHER, last=last).replace('[a,', '[2,')}", here, name)

    found = orx.certify("a.onnx", "b.onnx")

    assert re.fullmatch(r"output 'y' differs by [\d.]+, where its scale is [\d.]+", found.reason)
