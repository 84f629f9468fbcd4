"""The bench of IRs: what it says of answers, of processes that are lost, and of a file that was repaired by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import openvino
import pytest
from bench import openvino_corpus
from bench.openvino_corpus import counts, kind_of, lines, shown
from bench.openvino_judge import ours
from bench.released import Child

from tests.openvino_models import CASES
from tests.repair.openvino_arbiter import read

PASS, REFUSED = {"found": "pass", "why": ""}, {"found": "refused", "why": "no  rule", "code": "no-rule"}
ROWS: list[dict[str, Any]] = [
    {"model": "a", "onnx": PASS, "ir": PASS, "reshape": {"found": "wrong", "why": "w"}, "set_batch": REFUSED},
    {"model": "b", "onnx": PASS, "ir": REFUSED, "reshape": PASS, "set_batch": PASS},
    {"model": "c", "onnx": REFUSED, "ir": {"found": "blind", "why": "all alike"}, "reshape": PASS, "set_batch": PASS},
    {"model": "d", "onnx": PASS, "not converted": "AveragePool"},
]


def test_the_table_counts_what_was_converted() -> None:
    assert counts(ROWS) == {
        "onnx": {"pass": 2, "refused": 1},
        "ir": {"pass": 1, "refused": 1, "untested": 1},
        "reshape": {"wrong": 1, "pass": 2},
        "set_batch": {"refused": 1, "pass": 2},
    }
    assert "4 models, 3 converted" in shown(ROWS)
    assert "of 2 that pass as ONNX, 1 pass as IR (50.0%)" in shown(ROWS)
    assert "refused as IR: 1 no-rule" in shown(ROWS)


def test_only_what_is_no_pass_is_said() -> None:
    said = ["\n".join(lines(row)) for row in ROWS]

    assert said[0] == ""
    assert said[1] == "ir   refused  b: no rule\n"
    assert said[2] == "onnx refused  c: no rule\nir   untested c: all alike\n"
    assert said[3] == "openvino does not convert d: AveragePool\n"
    noted = {**ROWS[0], "ir": {**PASS, "note": "3 samples: y has other values"}}
    assert lines(noted)[0] == "ir   the engine alone differs, a: 3 samples: y has other values"


def test_a_process_that_is_lost_costs_its_own_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    right, lost = Child(0, json.dumps(PASS), "", 1.0, 0), Child(-11, "", "", 1.0, 0)
    monkeypatch.setattr(openvino_corpus, "run", lambda words, _: lost if "reshape" in words else right)
    found = openvino_corpus._peers(CASES["noted"].entry(tmp_path / "a.onnx"), tmp_path / "a.xml", 2)

    assert (kind_of(found["reshape"]), kind_of(found["set_batch"])) == ("crash", "pass")


def test_an_answer_is_kept_for_its_key(tmp_path: Path) -> None:
    asked = []

    def ask() -> dict[str, Any]:
        asked.append(1)
        return {"found": "pass"}

    for key in ("one", "one", "two", None, "two"):
        assert openvino_corpus._kept(tmp_path / "answer.json", key, ask) == {"found": "pass"}
    assert len(asked) == 2


def test_a_repaired_file_passes_and_a_spoilt_one_does_not(tmp_path: Path) -> None:
    """OpenVINO itself mends the one Reshape that stands before a MatMul, and writes what it mended."""
    path, out = CASES["flattened"].save(tmp_path / "model.xml"), tmp_path / "out.xml"
    entry = CASES["flattened"].entry(path)
    model = read(path)
    model.reshape([-1, 3, 8, 8])
    openvino.save_model(model, out, compress_to_fp16=False)

    assert ours(entry, path, out)["found"] == "pass"
    out.write_text(out.read_text(encoding="utf-8").replace('names="y"', 'names="z"'), encoding="utf-8")
    assert ours(entry, path, out)["found"] == "lost"
    assert ours(entry, path, path)["found"] == "refused"
