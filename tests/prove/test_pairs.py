"""The bench of optimised models: what it plants shows, its judge sees what is broken, and nothing ends it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from bench.pair_judge import Judge, listed
from bench.pair_plants import KINDS, Plant, plants
from bench.pair_worker import differing_operators, ours, pair, replayed
from bench.pairs import Worker, confirmed, planted, tables

import onereshape as orx

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
WEIGHTS = ", ".join(f"{each:.3f}" for each in np.random.default_rng(3).standard_normal(144))
# It has a place for every kind of planted change.
TEXT = f"""<ir_version: 9, opset_import: ["" : 18]>
agraph (float[1, 4, 6, 6] x) => (float[6, 5, 5] y)
<float[4, 4, 3, 3] w = {{{WEIGHTS}}}, float[4] one = {{1.5, 0.5, 2, 1}}, float[4] none = {{0.1, 0.2, -0.3, 0}},
 float[4] var = {{0.5, 0.2, 1, 0.4}}, int64[3] target = {{6, 5, 5}}, int64[2] rows = {{1, 3}}>
{{
  conv = Conv<pads = [0, 0, 1, 1]>(x, w)
  normal = BatchNormalization<epsilon = 0.00001>(conv, one, none, none, var)
  some = Gather<axis = 1>(normal, rows)
  both = Concat<axis = 1>(some, normal)
  leaky = LeakyRelu<alpha = 0.1>(both)
  flat = Reshape(leaky, target)
  turned = Transpose<perm = [0, 2, 1]>(flat)
  soft = Softmax<axis = 1>(turned)
  y = Sub(turned, soft)
}}"""


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "given" / "model.onnx"
    path.parent.mkdir()
    onnx.save(onnx.parser.parse_model(TEXT), path)
    return path


def judge_of(path: Path) -> Judge:
    (entry,) = listed(path.parent)
    return Judge(entry)


def visible(path: Path, kind: str) -> Plant:
    """The first change that shows."""
    judge = judge_of(path)
    drawn = plants(onnx.load(path), list(KINDS).index(kind), 5)
    return next(plant for plant in drawn if judge.changed(plant.model.SerializeToString(), 0) is not None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_change_of_every_kind_is_planted_and_seen(original: Path, kind: str, tmp_path: Path) -> None:
    """The model that was given is as it was, and the certificate confirms the change no more than the judge."""
    plant = visible(original, kind)
    path = tmp_path / "planted" / "model.onnx"
    path.parent.mkdir()
    onnx.save(plant.model, path)

    assert plant.kind == kind
    assert judge_of(original).judged(plant.model.SerializeToString()).kind == "unlike"
    assert judge_of(original).judged(original.read_bytes()) == ("right", "", 0.0)
    said = ours(original, path, 60)
    assert (said["status"], said["counterexample"]) == ("differs", "replays")


def test_the_same_seed_plants_the_same(original: Path) -> None:
    one, other = (visible(original, "element") for _ in range(2))

    assert one.where == other.where
    assert one.model == other.model


def replaced(*changes: tuple[str, str]) -> bytes:
    text = TEXT
    for one, other in changes:
        assert one in text
        text = text.replace(one, other)
    return bytes(onnx.parser.parse_model(text).SerializeToString())


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ([("0.1, 0.2, -0.3, 0}", "0.1000001, 0.2, -0.3, 0}")], "right"),
        ([("alpha = 0.1", "alpha = 0.2")], "unlike"),
        ([("(float[6, 5, 5] y)", "(float[6, 5, 5] z)"), ("y = Sub", "z = Sub")], "other outputs"),
        ([("{6, 5, 5}", "{6, 25, 1}"), ("(float[6, 5, 5] y)", "(float[a, b, c] y)")], "other outputs"),
        ([("{6, 5, 5}", "{6, 5, 4}"), ("(float[6, 5, 5] y)", "(float[a, b, c] y)")], "does not run"),
        ([("y = Sub(turned, soft)", "y = Sub(turned, missing)")], "does not load"),
    ],
)
def test_what_is_broken_is_seen(original: Path, changes: list[tuple[str, str]], kind: str) -> None:
    made = replaced(*changes)

    assert judge_of(original).judged(made).kind == kind
    assert (judge_of(original).changed(made, 0) is not None) == (kind == "unlike")


def test_a_random_original_is_not_judged(tmp_path: Path) -> None:
    text = "agraph (float[4] x) => (float[4] y) { noise = RandomNormalLike(x) y = Add(x, noise) }"
    path = tmp_path / "random.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {text}'), path)

    assert judge_of(path).judged(path.read_bytes()).kind == "unjudged"


def test_a_counterexample_is_run_again(original: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.onnx"
    other.write_bytes(replaced(("alpha = 0.1", "alpha = 0.2")))
    shown = orx.certify(original, other).counterexample

    assert shown is not None
    assert shown.what == "value"
    assert replayed(shown, original, other) == "replays"
    assert replayed(None, original, other) == "none"
    assert replayed(shown, original, original).startswith("does not replay: [")
    assert replayed(replace(shown, values=("0.0", "1e6")), original, other).startswith("does not replay: [")
    assert replayed(replace(shown, what="dims"), original, other) == "does not replay: alike"
    assert replayed(replace(shown, output="z"), original, other) == "does not replay: KeyError: 'z'"


def test_a_pair_is_a_row(tmp_path: Path) -> None:
    """What is not installed, or raises, is an error in its row; what is planted is told with its certificate."""
    asked = {
        "folder": str(CORPUS), "model": "hand_yolo_head.ts.onnx", "tool": "ort-basic", "cache": str(tmp_path),
        "plant": 0, "seed": 1, "timeout": 60, "theirs": False,
    }  # fmt: skip
    row: dict[str, Any] = {"model": asked["model"], "tool": asked["tool"]}
    for part in pair(asked):
        row.update(part)

    assert (row["judged"], row["ours"]["status"]) == ("right", "proven")
    assert row["operators"]["Constant"] < 0
    assert (row["plant"]["kind"], confirmed(planted([row]))) == ("element", 0)
    assert (tmp_path / "hand_yolo_head.ts.ort-basic.onnx").exists()
    assert "| ort-basic | 1 of 1 | 1 | 0 | 0 |" in tables([row])
    assert "| element | 1 | 0 |" in tables([row])
    wrong = {**row, "plant": {**row["plant"], "ours": {**row["plant"]["ours"], "status": "equivalent"}}}
    assert "| element | 1 | 1 |" in tables([wrong])
    assert f"element in {asked['model']} by ort-basic" in tables([wrong])


def test_a_worker_that_ends_is_a_row_and_another_one_answers(tmp_path: Path) -> None:
    worker = Worker(10)
    asked = {"folder": str(tmp_path), "model": "none.onnx", "tool": "ort-basic"}
    try:
        assert worker.ask(asked)["failed"] == "KeyError: 'none.onnx'"
        assert worker.process is not None
        worker.process.kill()
        worker.process.wait()
        assert worker.ask(asked)["failed"] == "KeyError: 'none.onnx'"
    finally:
        worker.stop()


def test_operators_are_told_apart() -> None:
    path = CORPUS / "hand_yolo_head.ts.onnx"

    assert differing_operators(path, path) == {}
