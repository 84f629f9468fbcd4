"""Real exports: each becomes batch-dynamic and is right by the arbiter, or is refused for the true reason."""

from __future__ import annotations

from pathlib import Path

import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.ground.errors import FixError
from tests.arbiter import Entry, entries, verdict
from tests.budget import part

CORPUS = entries(Path(__file__).parent.parent / "data" / "corpus")
MIXING = {
    "neg_minibatch_std.dynamo.onnx": "node_mean (ReduceMean) mixes the samples: it reduces axis 0, which is N",
    "neg_minibatch_std.ts.onnx": "/ReduceMean (ReduceMean) mixes the samples: it reduces axis 0, which is N",
}
FREED = [entry for entry in CORPUS if entry.path.name not in MIXING]


@pytest.mark.parametrize("entry", [*part(FREED, 2)], ids=lambda e: e.path.name)
def test_the_batch_is_freed(entry: Entry) -> None:
    original = entry.path.read_bytes()

    fixed = orx.fix(entry.path, batch=entry.batch)

    assert fixed.certificate.holds
    assert verdict(entry, ir.to_proto(fixed.model.ir).SerializeToString()) == ("pass", "")
    assert entry.path.read_bytes() == original


@pytest.mark.parametrize("entry", [e for e in CORPUS if e.path.name in MIXING], ids=lambda e: e.path.name)
def test_samples_that_are_mixed_are_not_freed(entry: Entry) -> None:
    with pytest.raises(FixError) as refusal:
        orx.fix(entry.path, batch=entry.batch)

    assert refusal.value.sentence == MIXING[entry.path.name]


@pytest.mark.parametrize("entry", [*part(FREED, 6)], ids=lambda e: e.path.name)
def test_what_is_fixed_has_nothing_left_and_is_fixed_once(entry: Entry, tmp_path: Path) -> None:
    first, second = tmp_path / "first.onnx", tmp_path / "second.onnx"
    orx.save(orx.fix(entry.path, batch=entry.batch, certify=False).model, first)

    assert [finding for finding in orx.check(first, batch=entry.batch) if finding.severity != "note"] == []
    orx.save(orx.fix(first, batch=entry.batch).model, second)
    assert second.read_bytes() == first.read_bytes()
