"""Certificates that are kept: what is in the file, checking it again, and files that lie."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.checking import written
from tests.commands import Captured, ran
from tests.models import external, model

BAKED = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }"
FIXING = ("fix", "m.onnx", "-o", "out.onnx", "--batch", "--certificate", "proof.json")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kept(here: Path, capsys: Captured) -> dict[str, Any]:
    written(BAKED, here)
    code, said, _ = ran(capsys, *FIXING)
    assert (code, said.splitlines()[-1]) == (0, "the certificate is kept in proof.json")
    found: dict[str, Any] = json.loads((here / "proof.json").read_text())
    return found


def test_what_a_kept_certificate_says(here: Path, capsys: Captured) -> None:
    found = kept(here, capsys)

    assert found["says"].startswith("proven: for all N >= 1 each output element")
    assert found["asked"] == {"batch": {"x": 0}, "conditions": []}
    assert {found[role]["path"] for role in ("original", "repaired")} == {"m.onnx", "out.onnx"}
    assert all(len(found[role]["sha256"]) == 64 for role in ("original", "repaired"))
    assert found["versions"].keys() == {"onereshape", "numpy", "onnx", "onnx-ir", "onnxruntime"}
    certificate = found["certificate"]
    assert (certificate["status"], certificate["seed"]) == ("proven", 0)
    assert [each["name"] for each in certificate["proof"]["outputs"]] == ["y"]


def test_it_is_checked_again(here: Path, capsys: Captured) -> None:
    before = kept(here, capsys)["certificate"]["proof"]["seed"]

    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")
    again = json.loads(ran(capsys, "certify", "--proof", "proof.json", "--json")[1])

    assert (code, said.splitlines()[-1]) == (0, "proof.json says the same")
    assert said.startswith("proven: for all N >= 1 ")
    assert (again["holds"], again["other"]) == (True, [])
    assert again["certificate"]["proof"]["seed"] != before


def test_it_finds_the_models_from_where_it_lies(here: Path, capsys: Captured) -> None:
    (here / "models").mkdir()
    (here / "proofs").mkdir()
    written(BAKED, here / "models")
    ran(capsys, "fix", "models/m.onnx", "-o", "out.onnx", "--batch", "--certificate", "proofs/p.json")

    assert ran(capsys, "certify", "--proof", "proofs/p.json")[0] == 0
    (here / "models" / "m.onnx").rename(here / "moved.onnx")
    assert ran(capsys, "certify", "--proof", "proofs/p.json")[0] == 2
    assert ran(capsys, "certify", "--proof", "proofs/p.json", "moved.onnx", "out.onnx")[0] == 0


@pytest.mark.parametrize("name", ["m.onnx", "out.onnx"])
def test_another_file_is_named(name: str, here: Path, capsys: Captured) -> None:
    kept(here, capsys)
    content = (here / name).read_bytes()
    (here / name).write_bytes(content + b"\x32\x01x")  # the domain of the model

    code, _, error = ran(capsys, "certify", "--proof", "proof.json")

    assert code == 1
    assert f"{name} is not the file that proof.json was made for: its SHA-256 is " in error


def test_other_weights_are_named(here: Path, capsys: Captured) -> None:
    text = "agraph (float[1, 3] x) => (float[1, 3] y) <int64[2] t = {1, 3}> { z = Mul(x, w) y = Reshape(z, t) }"
    saved = model(text)
    saved.graph.initializer.append(external("w", [3], "w.bin"))
    onnx.save(saved, here / "m.onnx")
    (here / "w.bin").write_bytes(np.arange(3, dtype=np.float32).tobytes())
    assert ran(capsys, *FIXING)[0] == 0
    assert ran(capsys, "certify", "--proof", "proof.json")[0] == 0
    (weights,) = json.loads((here / "proof.json").read_text())["original"]["data"]
    (here / weights).write_bytes(np.arange(3, 6, dtype=np.float32).tobytes())

    code, _, error = ran(capsys, "certify", "--proof", "proof.json")

    assert code == 1
    assert f"its weights in {weights!r} are others" in error


def test_dims_other_than_the_batch_with_their_witness(here: Path, capsys: Captured) -> None:
    body = "g (float[1, {s}, 8] x) => (float[1, {s}, 2, 4] y) <int64[4] t = {{1, {s}, 2, 4}}> {{ y = Reshape(x, t) }}"
    written(body.format(s=6), here)
    written(body.format(s=9), here, "nine.onnx")
    words = ("fix", "m.onnx", "-o", "out.onnx", "--free", "x:1=S", "--witness", "nine.onnx", "--certificate", "p.json")

    assert ran(capsys, *words)[0] == 0
    assert json.loads((here / "p.json").read_text())["asked"]["free"] == {"x": {"1": "S"}}
    assert ran(capsys, "certify", "--proof", "p.json")[0] == 0


def test_what_nobody_witnessed_is_not_certified_by_being_kept(here: Path, capsys: Captured) -> None:
    written("g (float[1, 6, 8] x) => (float[1, 48] y) <int64[2] t = {1, 48}> { y = Reshape(x, t) }", here)
    words = ("fix", "m.onnx", "-o", "out.onnx", "--free", "x:1=S", "--unwitnessed", "--certificate", "p.json")

    assert ran(capsys, *words)[0] == 0
    code, said, _ = ran(capsys, "certify", "--proof", "p.json")
    assert (code, said.splitlines()[-1]) == (1, "p.json says the same")


def test_a_simplified_model_with_its_conditions(here: Path, capsys: Captured) -> None:
    body = """g (float[N, 2, 3] x) => (float[N, 6] y) <int64[1] six = {-1}, int64[1] zero = {0}> {
        s = Shape(x) n = Gather <axis = 0> (s, zero) t = Concat <axis = 0> (n, six) y = Reshape(x, t)
    }"""
    written(body, here)

    assert ran(capsys, "fix", "m.onnx", "-o", "out.onnx", "--simplify", "--certificate", "p.json")[0] == 0
    code, said, _ = ran(capsys, "certify", "--proof", "p.json")
    assert (code, said.partition(":")[0]) == (0, "proven")


PAIRS = """g (float[1, {s}] x) => (float[{h}, 2] y) <int64[2] k = {{{h}, 2}}> {{ y = Reshape(x, k) }}"""


def in_pairs(here: Path, capsys: Captured) -> dict[str, Any]:
    """The kept certificate of a model that only runs at even sizes."""
    for size in (8, 12):
        written(PAIRS.format(s=size, h=size // 2), here, f"{size}.onnx")
    words = ("fix", "8.onnx", "--like", "12.onnx", "--free", "x:1=S", "-o", "out.onnx", "--certificate", "proof.json")
    assert ran(capsys, *words)[0] == 0
    found: dict[str, Any] = json.loads((here / "proof.json").read_text())
    return found


def test_what_was_fitted_is_checked_at_sizes_that_its_conditions_allow(here: Path, capsys: Captured) -> None:
    """10 is asked for in place of 5."""
    found = in_pairs(here, capsys)

    assert found["asked"]["conditions"] == ["S is divisible by 2"]
    assert found["certificate"]["ran"] == [{"S": 16}, {"S": 4}, {"S": 10}, {"S": 24}]
    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")
    assert (code, said.splitlines()[-1]) == (0, "proof.json says the same")


@pytest.mark.parametrize("conditions", [[], ["S is divisible by 1"]])
def test_a_condition_that_is_kept_from_the_reader(conditions: list[str], here: Path, capsys: Captured) -> None:
    found = in_pairs(here, capsys)
    found["asked"]["conditions"] = conditions
    (here / "proof.json").write_text(json.dumps(found))

    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")

    assert (code, said.splitlines()[2]) == (1, "  'S is divisible by 2' is no condition there, and it is one")


LIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "for every N": lambda found: found["certificate"]["proof"].update(always=False),
    "at other sizes": lambda found: found["certificate"].update(compared=[{"N": 1}, {"N": 1000}]),
    "terms at other sizes": lambda found: found["certificate"]["proof"].update(sizes=[{"N": 64}]),
    "only certified": lambda found: found["certificate"].update(status="certified"),
    "another output": lambda found: found["certificate"]["outputs"].append(
        {"name": "z", "axis": 0, "outer": 1, "elements": 1}
    ),
    "no proof": lambda found: found["certificate"].update(proof=None),
    "in its words": lambda found: found.update(says="proven: for all N, whatever is fed"),
    "in the words of the certificate": lambda found: found["certificate"].update(reason="it is as it should be"),
    "another tolerance": lambda found: found["certificate"].update(absolute=1e-9),
    "evidence of other sizes": lambda found: found["certificate"]["evidence"].append(
        {"record": "compared", "sizes": {"N": 1000}, "outputs": []}
    ),
    "less evidence": lambda found: found["certificate"].update(evidence=[]),
    "an older certificate of other sizes": lambda found: (
        found["certificate"].pop("evidence"),
        found["certificate"].update(compared=[{"N": 1}, {"N": 1000}]),
    ),
    "an older certificate of values that were not fed": lambda found: (
        found["certificate"].pop("evidence"),
        found["certificate"].update(extremes=["every"]),
    ),
    "values that were not fed": lambda found: found["certificate"].update(extremes=["every"]),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_file_that_says_something_else(lie: str, here: Path, capsys: Captured) -> None:
    found = kept(here, capsys)
    LIES[lie](found)
    (here / "proof.json").write_text(json.dumps(found))

    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")

    assert code == 1
    assert said.splitlines()[1] == "proof.json says something else:"


def test_a_file_from_before_another_expression_was_called_other(here: Path, capsys: Captured) -> None:
    found = kept(here, capsys)
    found["certificate"]["proof"].update(verdict="differs")
    (here / "proof.json").write_text(json.dumps(found))

    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")

    assert (code, said.splitlines()[2]) == (1, "  proof verdict is other there, and now it is proven")


def test_a_file_from_before_evidence_was_kept_is_checked_thoroughly(here: Path, capsys: Captured) -> None:
    found = kept(here, capsys)
    found["certificate"].pop("evidence")
    reason = found["certificate"]["reason"].replace("N = 1, 2, 3;", "N = 1, 2, 3, 5;")
    found["certificate"].update(compared=[{"N": 1}, {"N": 2}, {"N": 3}, {"N": 5}], extremes=["large"], reason=reason)
    found["says"] = f"proven: {reason}"
    (here / "proof.json").write_text(json.dumps(found))

    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")

    assert "N = 1, 2, 3, 5" in reason
    assert (code, said.splitlines()[-1]) == (0, "proof.json says the same")


def test_an_output_that_loses_its_axis_at_one_sample(here: Path, capsys: Captured) -> None:
    written("g (float[N, 4] x) => (float[A] y) { y = Squeeze(x) }", here)

    code, said, _ = ran(capsys, "fix", "m.onnx", "-o", "out.onnx", "--batch", "--certificate", "p.json")
    assert (code, said.splitlines()[-1]) == (0, "the certificate is kept in p.json")

    code, said, _ = ran(capsys, "certify", "--proof", "p.json")
    assert (code, said.splitlines()[-1]) == (0, "p.json says the same")


def test_a_file_that_calls_a_wrong_model_proven(here: Path, capsys: Captured) -> None:
    """Its digests are right, and what it says of them is not."""
    found = kept(here, capsys)
    wrong = BAKED.replace("[1, ", "[N, ").replace("{1, 2, 3}", "{-1, 2, 3}")
    written(wrong.replace("y = Reshape(x, t)", "z = Reshape(x, t) y = Neg(z)"), here, "out.onnx")
    from onereshape.formats.model import load
    from onereshape.repair.proof_file import digests

    found["repaired"] |= digests(load("out.onnx"))
    (here / "proof.json").write_text(json.dumps(found))

    code, said, _ = ran(capsys, "certify", "--proof", "proof.json")

    assert code == 1
    assert said.startswith("differs: output 'y' differs by ")


DAMAGED: dict[str, Callable[[dict[str, Any]], Any]] = {
    "says": lambda found: found.update(says=None),
    "certificate.reason": lambda found: found["certificate"].pop("reason"),
    "certificate": lambda found: found.pop("certificate"),
    "certificate.status": lambda found: found["certificate"].update(status="splendid"),
    "certificate.kind": lambda found: found["certificate"].update(kind=3),
    "certificate.seed": lambda found: found["certificate"].update(seed=-1),
    "certificate.outputs": lambda found: found["certificate"].update(outputs=[{"name": "y", "axis": 0, "outer": 0}]),
    "certificate.proof.verdict": lambda found: found["certificate"]["proof"].update(verdict=[]),
    "certificate.proof.always": lambda found: found["certificate"]["proof"].update(always="yes"),
    "certificate.equivalence": lambda found: found["certificate"].update(equivalence=7),
    "certificate.equivalence.verdict": lambda found: found["certificate"].update(equivalence={"verdict": 3}),
    "original": lambda found: found.update(original="m.onnx"),
    "original.path": lambda found: found["original"].update(path="/etc/passwd"),
    "repaired.path": lambda found: found["repaired"].update(path="a\0b"),
    "repaired.sha256": lambda found: found["repaired"].update(sha256="abc"),
    "repaired.data": lambda found: found["repaired"].update(data=[]),
    "asked": lambda found: found.update(asked=7),
    "asked.batch": lambda found: found["asked"].update(batch={"x": "0"}),
    "asked.free": lambda found: found.update(asked={"free": {"x": {"one": "S"}}}),
    "asked.conditions": lambda found: found["asked"].update(conditions=[3]),
    "versions": lambda found: found.update(versions={"numpy": 2}),
}


@pytest.mark.parametrize("field", DAMAGED)
def test_a_damaged_field_is_named(field: str, here: Path, capsys: Captured) -> None:
    found = kept(here, capsys)
    DAMAGED[field](found)
    (here / "proof.json").write_text(json.dumps(found))

    code, said, error = ran(capsys, "certify", "--proof", "proof.json")

    assert (code, said) == (2, "")
    assert f"is not a certificate that can be checked: its field {field!r} is missing or wrong" in error


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"9" * 10_000, "is not JSON"),
        (b"[]", "is not a certificate that onereshape keeps"),
        (b'{"form": "onereshape certificate", "version": 2}', "is a certificate of version 2, and 1 is known here"),
        (b" " * ((1 << 24) + 1), "has more than 16777216 bytes, and no certificate has"),
    ],
)
def test_what_is_no_certificate(content: bytes, why: str, here: Path, capsys: Captured) -> None:
    (here / "p.json").write_bytes(content)

    code, said, error = ran(capsys, "certify", "--proof", "p.json")

    assert (code, said) == (2, "")
    assert f"p.json: {why}" in error


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--certificate", "m.onnx"], "m.onnx is the input itself"),
        (["--certificate", "out.onnx"], "out.onnx is where the model is written"),
        (["--certificate", "p.json", "--no-certify"], "--no-certify makes no certificate"),
    ],
)
def test_where_none_can_be_kept(words: list[str], why: str, here: Path, capsys: Captured) -> None:
    written(BAKED, here)

    code, _, error = ran(capsys, "fix", "m.onnx", "-o", "out.onnx", "--batch", *words)

    assert code == 2
    assert why in error
    assert [path.name for path in here.iterdir()] == ["m.onnx"]


def test_in_place_there_is_no_original_left(here: Path, capsys: Captured) -> None:
    written(BAKED, here)

    code, _, error = ran(capsys, "fix", "m.onnx", "--in-place", "--batch", "--certificate", "p.json")

    assert code == 2
    assert "--in-place leaves no original" in error


def test_the_certificate_of_a_model_that_is_right_as_it_is_can_be_checked(here: Path, capsys: Captured) -> None:
    kept(here, capsys)

    code, said, _ = ran(capsys, "fix", "out.onnx", "-o", "again.onnx", "--batch", "--certificate", "p.json")
    assert (code, said.endswith("byte for byte\nthe certificate is kept in p.json\n")) == (0, True)

    code, said, _ = ran(capsys, "certify", "--proof", "p.json")
    assert (code, "proven" in said) == (0, True)


def test_nothing_to_repair_may_be_nothing_to_keep(here: Path, capsys: Captured) -> None:
    """Where rules say so, and no proof was asked for."""
    written("g (float[N, 6] x) => (seq(float[N, 6]) y) { r = Relu(x) y = SequenceConstruct(r, x) }", here)

    code, said, _ = ran(capsys, "fix", "m.onnx", "-o", "again.onnx", "--batch", "--certificate", "p.json")

    assert (code, said.endswith("byte for byte, so there is no certificate to keep\n")) == (0, True)
    assert not (here / "p.json").exists()
