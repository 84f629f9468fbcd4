"""A layer whose drawing turns its inputs stays what it was: what is spread for the batch is spread before it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import openvino as ov
import pytest
from openvino import opset1, opset5

import onereshape as orx
from onereshape.formats.openvino.openvino_ir import save

_SIZE = 5


def _held(array: Any, kind: Any = np.float32) -> Any:
    return opset1.constant(np.asarray(array, kind))


def _model(path: Path, op: str, ways: int) -> None:
    """A sequence whose first states and lengths are constants for one sample."""
    random = np.random.default_rng(0)
    gates, states = {"LSTM": (4, 2), "GRU": (3, 1), "RNN": (1, 1)}[op]
    data = opset1.parameter([1, 4, 2], ov.Type.f32, "x")
    first = [_held(random.normal(size=(1, ways, _SIZE))) for _ in range(states)]
    dims = (gates * _SIZE, 2), (gates * _SIZE, _SIZE), (gates * _SIZE,)
    weights = [_held(random.normal(size=(ways, *each))) for each in dims]
    make = getattr(opset5, f"{op.lower()}_sequence")
    made = make(data, *first, _held([4], np.int64), *weights, _SIZE, "bidirectional" if ways == 2 else "reverse")
    made.set_friendly_name("sequence")
    flat = opset1.reshape(made.output(0), _held([1, -1], np.int64), False)
    ov.serialize(ov.Model([flat], [data], "sequence"), path)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("ways", [1, 2])
def test_a_sequence_keeps_its_layer(op: str, ways: int, tmp_path: Path) -> None:
    before, after = tmp_path / "before.xml", tmp_path / "after.xml"
    _model(before, op, ways)

    save(orx.fix(str(before), batch=True).model, str(after))

    layers = [*ET.parse(after).iter("layer")]  # noqa: S314 - our own file
    kinds = Counter(layer.get("type") for layer in layers)
    kept = [layer.get("name") for layer in layers if layer.get("type") == f"{op}Sequence"]
    assert kept == ["sequence"]
    assert kinds.keys() <= {
        "Parameter",
        "Const",
        "ShapeOf",
        "Gather",
        "Concat",
        "Broadcast",
        f"{op}Sequence",
        "Reshape",
        "Result",
    }
    _check_rows(before, after)


def _check_rows(before: Path, after: Path) -> None:
    """Each sample of several as if it were alone."""
    data = np.random.default_rng(1).normal(size=(3, 4, 2)).astype(np.float32)
    core = ov.Core()
    one, many = (
        core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        for path in (before, after)
    )
    together = many([data])[0]
    alone = np.concatenate([np.array(one([data[place : place + 1]])[0]) for place in range(3)])
    assert np.allclose(together, alone, atol=1e-5)
