"""For every N: what is wrong at some N is never said to hold always, and what is healthy is."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.terms.proof import Proof
from onereshape.terms.prove import prove_batch
from tests.laws.terms_sizes import HARMLESS, RIGHT, WRONG, Sized
from tests.models import model
from tests.running import session


def protos(case: Sized) -> list[onnx.ModelProto]:
    header = f'<ir_version: 10, opset_import: ["" : {case.opset}]>'
    out = f", {case.out}" if case.out else ""
    return [
        model(f"agraph ({case.kind}[{first}, {case.dims}] x) => (float[{first}{out}] z) {body}", header)
        for first, body in (("1", case.one or case.many), ("N", case.many))
    ]


def proof(case: Sized, seed: int = 1) -> Proof:
    one, many = (ir.from_proto(each) for each in protos(case))
    return prove_batch(one, many, {"x": 0}, places={"z": (0, 1)}, seed=seed)


def is_right(case: Sized, samples: int) -> bool:
    """Whether onnxruntime gives for N samples what it gives for each."""
    one, many = (session(each) for each in protos(case))
    dims = [int(each) for each in case.dims.split(",")]
    rows = np.random.default_rng(samples).standard_normal((samples, *dims)).astype(np.float32)
    wanted = [one.run(None, {"x": row[None]})[0] for row in rows]
    try:
        got: Any = many.run(None, {"x": rows})[0]
    except Exception:  # noqa: BLE001 - it does not run at all
        return False
    return got.shape == (samples, *wanted[0].shape[1:]) and np.allclose(got, np.concatenate(wanted), 1e-5, 1e-6)


@pytest.mark.parametrize("case", WRONG, ids=[case.name for case in WRONG])
def test_what_is_wrong_somewhere_does_not_hold_always(case: Sized) -> None:
    assert is_right(case, 1)
    assert not is_right(case, case.bad), "the case shows nothing"
    found = proof(case)
    assert not found.always
    assert found.verdict != "proven" or case.bad not in [each["N"] for each in found.sizes]


@pytest.mark.parametrize("case", RIGHT, ids=[case.name for case in RIGHT])
def test_what_is_right_everywhere_holds_always(case: Sized) -> None:
    assert all(is_right(case, samples) for samples in (1, 2, 5, 101))
    found = proof(case)
    assert (found.verdict, found.always, found.not_always) == ("proven", True, "")


@pytest.mark.parametrize("case", HARMLESS, ids=[case.name for case in HARMLESS])
def test_what_is_right_in_an_odd_way_is_not_said_to_differ_in_its_numbers(case: Sized) -> None:
    assert proof(case).verdict in {"proven", "not proven", "other"}
