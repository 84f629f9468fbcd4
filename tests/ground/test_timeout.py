"""The time of a whole command: what was shown when it is over is said, and nothing else."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import onereshape as orx
from onereshape.cli import main
from onereshape.ground.errors import FixError
from onereshape.ground.isolation.budget import Limits, OutOfTime, late, limited, limits, whole
from onereshape.prove.engines.engine import Session
from onereshape.prove.runs import asking, term_runs
from tests.commands import Captured
from tests.models import model

HEAD: Final = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
UNKNOWN: Final = "y = com.microsoft.SampleOp(h)"
"""An operator that neither rules nor terms know: runs alone must tell."""
MEETS: Final = "q = ReduceMax <keepdims = 0> (h) k = Greater(q, far) s = Where(k, q, nil) t = Add(h, s)"
"""Only beside a sample that is far beyond the usual is another one changed."""


def saved(folder: Path, body: str, **arrays: np.ndarray) -> Path:
    proto = model(f"g (float[N, 6] x) => (float[N, 6] y) {{ {body} }}", HEAD)
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    onnx.save(proto, folder / "m.onnx")
    return folder / "m.onnx"


def slow(folder: Path) -> Path:
    """A run takes minutes, and no number of turns tells it: they are what the model is fed."""
    turns = "z = Loop(, c, x) <body = b (int64 i, bool d, float[n, 6] a) => (bool e, float[m, 6] f) { "
    turns += "f = Abs(a) g = ReduceMax <keepdims = 0> (f) e = Greater(far, g) }>"
    return saved(folder, f"{turns} y = Relu(z)", c=np.array(True), far=np.array(1e30, np.float32))


def test_a_command_ends_when_its_time_is_over(tmp_path: Path, capsys: Captured) -> None:
    path, began = slow(tmp_path), time.monotonic()

    code = main(["certify", str(path), str(path), "--batch", "--timeout", "2", "--json"])

    assert time.monotonic() - began < 30
    found = json.loads(capsys.readouterr().out)
    assert code == 1
    assert found["certificate"]["status"] == "out-of-time"
    assert found["certificate"]["reason"] == "after 2 s: nothing was compared"


def test_nothing_is_written_then(tmp_path: Path) -> None:
    text = "r = Reshape(x, k) z = Loop(, c, r) <body = b (int64 i, bool d, float[n, 6] a) => (bool e, float[m, 6] f) { "
    text += "f = Abs(a) g = ReduceMax <keepdims = 0> (f) e = Greater(far, g) }> y = Relu(z)"
    path = saved(tmp_path, text, c=np.array(True), far=np.array(1e30, np.float32), k=np.array([1, 6]))
    out = tmp_path / "o.onnx"

    assert main(["fix", str(path), "-o", str(out), "--simplify", "--batch", "--timeout", "2"]) == 1
    assert not out.exists()


def test_who_asks_inside_has_no_more_time() -> None:
    with limited(whole(5, None)):
        outer = limits().until
        assert whole(100, None).until == outer
        assert whole(1, None).until < outer
    assert limits().until == float("inf")


def test_terms_leave_half_of_the_time_for_runs() -> None:
    with limited(whole(100, None)):
        assert 49 < term_runs.allowed().seconds <= 50
        assert term_runs.allowed().deadline == limits().until
    with limited(Limits(7, 10**9)):
        assert term_runs.allowed().seconds == 7


@dataclass
class Ends:
    """A clock that is over when so many answers were asked for."""

    after: int
    asked: int = 0

    def rules(self, patch: pytest.MonkeyPatch) -> None:
        def check(limit: Limits) -> None:
            self.asked += 1
            if self.asked > self.after and limit.until < float("inf"):
                raise late(limit.seconds)

        patch.setattr(Limits, "check", check)


def ended(path: Path, after: int, monkeypatch: pytest.MonkeyPatch, **asked: Any) -> tuple[str, str, bool]:
    """The status and the words where the time is over after so many answers, and whether it was."""
    clock = Ends(after)
    with monkeypatch.context() as patched:
        clock.rules(patched)
        try:
            found = orx.certify(path, path, batch=True, **asked)
        except OutOfTime as over:
            return "out-of-time", over.sentence, True
    return found.status, found.reason, clock.asked > after


def test_whenever_it_ends_what_was_shown_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path, f"h = Relu(x) {UNKNOWN}")
    seen: dict[str, set[str]] = {}
    for after in range(0, 90, 2):
        status, reason, over = ended(path, after, monkeypatch)
        seen.setdefault(status, set()).add(reason)
        if status == "certified":
            assert "no sample changed beside others of 14 kinds" in reason
            assert over == ("not compared at N = " in reason)
        else:
            assert status == "out-of-time"
            assert over
    assert seen.keys() == {"out-of-time", "certified"}
    assert "after 300 s: nothing was compared" in seen["out-of-time"]
    assert any("after 300 s: compared at N = 1, 2; the largest" in each for each in seen["out-of-time"])
    assert any("no sample changed beside others of 1" in each for each in seen["out-of-time"])
    assert any(", 130 (after 300 s)" in each for each in seen["certified"])


def test_what_would_be_seen_later_is_never_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = {"far": np.array(1e20, np.float32), "nil": np.array(0, np.float32)}
    path = saved(tmp_path, f"g = Relu(x) h = com.microsoft.SampleOp(g) {MEETS} y = com.microsoft.SampleOp(t)", **arrays)
    found = {ended(path, after, monkeypatch)[0] for after in range(0, 90, 3)}

    assert found == {"out-of-time", "differs"}


def test_what_is_proven_stays_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of large inputs the terms come first, and the runs after them."""
    text = "g (float[N, 3, 256, 256] x) => (float[N, 3, 256, 256] y) { y = Relu(x) }"
    onnx.save(model(text, HEAD), tmp_path / "m.onnx")
    status, reason, _ = ended(tmp_path / "m.onnx", 6, monkeypatch)

    assert status == "out-of-time"
    assert "for all N >= 1 each output element is the same expression of its own sample's inputs" in reason


def test_a_refusal_stays_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, clock = saved(tmp_path, f"h = Relu(x) {UNKNOWN}"), Ends(9)
    clock.rules(monkeypatch)

    with pytest.raises(FixError) as refusal:
        orx.fix(path, batch=True, timeout=77)

    assert refusal.value.code == "no-batching-rule"
    notes = getattr(refusal.value, "__notes__", [])
    assert "whether it works all the same was not found out: the time was over after 77 s" in notes


def fitting(folder: Path, meet: str) -> Path:
    """Words, their mask and spans of them, all of which must be of sizes that fit each other: 7, 7 and 7 * 12."""
    text = f"""g (float[N, S, 4] x, int64[N, T] mask, int64[N, U] spans) => (float[N, S, 4] y) {{
        m = Cast <to = 1> (mask)
        u = Unsqueeze(m, two)
        p = Mul(x, u)
        q = Cast <to = 1> (spans)
        r = Reshape(q, table)
        s = ReduceSum(r, two)
        t = Unsqueeze(s, two)
        v = Add(p, t)
        {meet}
    }}"""
    proto = model(text, HEAD)
    arrays = {"two": np.array([2]), "table": np.array([0, 37, 12]), "odd": np.array([7, 11, 13])}
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items())
    onnx.save(proto, folder / "m.onnx")
    return folder / "m.onnx"


def runs_of(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What any model is run on from now on."""
    runs: list[object] = []
    run = Session.run

    def counted(session: Session, feeds: dict[str, Any]) -> dict[str, Any]:
        runs.append(feeds)
        return run(session, feeds)

    monkeypatch.setattr(Session, "run", counted)
    return runs


def test_where_only_a_proof_is_of_use_nothing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = runs_of(monkeypatch)

    with pytest.raises(FixError) as refusal:
        orx.fix(fitting(tmp_path, "w = ReduceMax(v) y = Sub(v, w)"), batch=True)

    assert refusal.value.code == "mixes-samples"
    assert runs == []


def test_a_search_for_what_a_model_takes_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that is drawn fits: no search goes on for ever."""
    runs = runs_of(monkeypatch)
    monkeypatch.setattr(asking, "_MOST_REFUSALS", 12)
    path = fitting(tmp_path, "o = Reshape(v, odd) y = com.microsoft.SampleOp(o)")

    with pytest.raises(FixError, match=r"onnxruntime cannot run the original model: .* \(one of 12 that it refused\)"):
        orx.certify(path, path, batch=True)
    assert len(runs) <= 2 * 12
