"""Results: what a prompt shows of them, what machines are given, and names that mean harm."""

from __future__ import annotations

import copy
import json
import pickle
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings

import onereshape as orx
from onereshape.checks.findings.finding import Finding, Findings
from onereshape.ground.text import as_json, brief
from onereshape.prove.certificate import joined
from onereshape.rule.shape import Shape
from tests.checking import proto
from tests.checks.results import HOSTILE, NAMES, STATUSES, certificate, change, every, finding, fixed, proof

LONGEST = 119
ENDLESS = "x" * 10_000_000
YOLO = "tests/data/corpus/hand_yolo_head.ts.onnx"


def check_line(text: str) -> None:
    assert text.isprintable(), "a name reached the prompt as more than text"
    assert "\n" not in text


def check(name: str) -> None:
    for result in every(name):
        text = repr(result)
        for line in text.split("\n") if isinstance(result, Findings) else [text]:
            check_line(line)
            assert len(line) <= (25_000 if isinstance(result, Shape) else LONGEST + 2)  # escapes are longer than signs


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_prompt_shows_one_short_line(name: str) -> None:
    check(name)


def test_a_repair_whose_weights_were_read_from_their_file_can_be_pickled(tmp_path: Path) -> None:
    made = proto("g (float[1, 6] x) => (float[1, 9] y) <int64[2] t = {1, 6}> { h = Reshape(x, t) y = MatMul(h, w) }")
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((6, 9), np.float32), "w"))
    onnx.save_model(made, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=100)
    repaired = orx.fix(tmp_path / "m.onnx", batch=True)
    again = pickle.loads(pickle.dumps(repaired))  # noqa: S301 - ours

    assert again.model.proto() == repaired.model.proto()
    assert copy.deepcopy(repaired).certificate == repaired.certificate


@given(NAMES)
@settings(max_examples=60, deadline=None)
def test_whatever_the_names(name: str) -> None:
    check(name)


def test_names_without_end_take_no_time() -> None:
    results = every(ENDLESS)
    started = time.process_time()
    for result in results:
        repr(result)

    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (finding("a"), "Finding(baked-dim, a: a)"),
        (change("a"), "Change(baked-dim, a: a -> a)"),
        (proof("N"), "Proof(proven at (N, S) = (1, 4), (2, 4))"),
        (proof("N", always=True), "Proof(proven for all N >= 1 and S = 4)"),
        (proof("N", verdict="other"), "Proof(other: N)"),
        (proof("y").outputs[0], "OutputTerms(y, batch at axis 0, 6 elements)"),
        (certificate("N"), "Certificate(certified at N = 1, 2, only ran at N = 3)"),
        (certificate("N", ran=False), "Certificate(certified at N = 1, 2)"),
        (
            certificate("N", "proven"),
            "Certificate(proven for all N >= 1 and S = 4, compared at N = 1, 2, only ran at N = 3)",
        ),
        (certificate("S", "fitted"), "Certificate(fitted on S = 1, 2)"),
        (certificate("S", "unwitnessed"), "Certificate(unwitnessed, compared at S = 1, only ran at S = 3)"),
        (certificate("N", "differs"), "Certificate(differs: output 'N' differs by 0.5 at N = 2)"),
        (certificate("why", "failed"), "Certificate(failed: why cannot load the repaired model: why)"),
        (certificate("why", "untested"), "Certificate(untested: why; no sample changed beside others of 1 kind)"),
        (
            joined(certificate("S", "fitted"), certificate("N", ran=False)),
            "Certificate(fitted in two steps: fitted on S = 1, 2; then the batch at N = 1, 2)",
        ),
        (certificate("y").outputs[0], "OutputAnswer(y, batch at axis 0, difference 0.5 of 2, 12 elements)"),
        (certificate("y").outputs[1], "OutputAnswer(yb, no batch, difference nan of 0, 12 elements)"),
        (certificate("N").refused[0], "RefusedSize(N = 9: N)"),
        (certificate("N").refused[1], "RefusedSize(the sizes of the original: N)"),
        (fixed("N"), "Fixed(1 change, certified at N = 1, 2, only ran at N = 3)"),
        (fixed("N", changes=(), certificate=None), "Fixed(no changes, no certificate)"),
        (orx.spec("onnx"), "spec('onnx-25')"),
        (orx.spec("onnx").flag, "Flag(allowzero)"),
        (orx.reshape, "<function onereshape.reshape>"),
        (Shape(["N", "\x1b"], ["N >= 1"]), "Shape [N, \\x1b] if N >= 1"),
        (Findings(), "[]"),
        (Findings([finding("a"), finding("b")]), "[Finding(baked-dim, a: a),\n Finding(baked-dim, b: b)]"),
    ],
    ids=str,
)
def test_what_is_shown(result: Any, expected: str) -> None:
    assert repr(result) == expected


def test_nothing_is_called_proven_that_is_not() -> None:
    shown = {status: repr(certificate("N", status)) for status in STATUSES}

    assert [status for status, text in shown.items() if "proven" in text.replace("not proven", "")] == ["proven"]
    assert [status for status, text in shown.items() if "certified" in text] == ["certified"]


def test_of_many_findings_the_first_are_shown() -> None:
    lines = repr(Findings([finding("a")] * 431)).split("\n")

    assert len(lines) == 51
    assert lines[-1] == " ... and 381 more]"


def test_an_operator_with_an_array_is_one_line() -> None:
    check_line(repr(orx.Reshape("onednn-static", shape=np.arange(1, 3000), special_zero=True)))
    check_line(repr(orx.Reshape("onnx").bind(range(1, 60_000))))


def test_what_check_gives_is_a_list() -> None:
    found = orx.check(YOLO, batch=True)

    assert isinstance(found, list)
    assert found == list(found)
    assert found[:2] == [found[0], found[1]]
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301
    assert type(copy.copy(found)) is Findings
    assert all(isinstance(each, Finding) for each in found)
    assert Findings() == []


@given(NAMES)
@settings(max_examples=40, deadline=None)
def test_machines_get_json(name: str) -> None:
    """Exactly: names as they are, lists for tuples, and nothing that JSON lacks but NaN, which no field holds."""
    for result in every(name):
        if hasattr(result, "to_json"):
            machine = result.to_json()
            assert json.loads(json.dumps(machine, allow_nan=False)) == machine
    assert finding(name).to_json()["node"] == name


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(TypeError, match="a ndarray is not JSON"):
        as_json({"x": np.zeros(3)})


@pytest.mark.parametrize("length", range(100, 140))
def test_a_line_is_cut_where_it_is_too_long(length: int) -> None:
    text = brief("Kind", "x" * length)

    assert len(text) == min(length + 6, LONGEST)
    assert text.endswith("...)") == (length + 6 > LONGEST)


def test_a_repair_in_two_steps_says_both() -> None:
    folder = "tests/data/sizes/"
    found = orx.fix(folder + "bert.dynamo.A.onnx", like=folder + "bert.dynamo.C.onnx", batch=True)

    assert repr(found).startswith(
        "Fixed(28 changes, fitted in two steps: fitted on input_ids_1 = 12, 23; then the batch at "
    )
