"""A repaired model takes whatever the original takes: its preconditions are the original's."""

from __future__ import annotations

import onnx_ir as ir
import pytest

from onereshape.terms.prove import prove_batch, prove_same
from tests.models import model

BODY = "agraph (int64[{n}, 2] i) => (float[{n}, 2] y) <float[5] w = {{1, 2, 3, 4, 5}}, int64 l = {{5}}> {{ {body} }}"
BARE = "y = Gather(w, i)"
BOUND = "m = Mod(i, l) y = Gather(w, m)"


def made(body: str, n: str = "1") -> ir.Model:
    return ir.from_proto(model(BODY.format(n=n, body=body)))


@pytest.mark.parametrize(("before", "after", "verdict"), [
    (BARE, BARE, "proven"),
    (BARE, BOUND, "proven"),
    (BOUND, BOUND, "proven"),
    (BOUND, BARE, "not proven"),  # an engine refuses 5, which the original takes for 0
])  # fmt: skip
def test_indices_that_there_are(before: str, after: str, verdict: str) -> None:
    same = prove_same(made(before), made(after), [{}], seed=3)
    batch = prove_batch(made(before), made(after, "N"), {"i": 0}, seed=3)
    assert (same.verdict, batch.verdict) == (verdict, verdict)
    if verdict != "proven":
        assert "Gather y: it takes only indices that are there" in same.reason
