"""Equal words mean equal functions: algebra that would make them equal for others is tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.terms.prove import prove_same
from tests.laws.terms_pairs import PAIRS, Pair
from tests.models import model
from tests.running import run


def protos(pair: Pair) -> list[onnx.ModelProto]:
    header = f'<ir_version: 10, opset_import: ["" : {pair.opset}]>'
    return [model(f"agraph {pair.signature} {body}", header) for body in (pair.one, pair.two)]


def _same(one: list[Any], two: list[Any]) -> bool:
    return all(
        mine.shape == theirs.shape and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
        for mine, theirs in zip(one, two, strict=True)
    )


@pytest.mark.parametrize("pair", PAIRS, ids=[pair.name for pair in PAIRS])
def test_different_functions_have_different_words(pair: Pair) -> None:
    one, two = protos(pair)

    assert not _same(run(one, **pair.feeds), run(two, **pair.feeds)), "the pair shows nothing"
    for seed in (1, 2):
        assert prove_same(ir.from_proto(one), ir.from_proto(two), [{}], seed=seed).verdict != "proven"
