"""What the plugins of machines do in their own way is drawn, and spelled, as that of this machine does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
import torch
from openvino import opset1, opset3, opset14
from torch.nn import functional

from onereshape.formats.ir_as_onnx import dividing
from onereshape.formats.ir_as_onnx.layers import windows
from onereshape.formats.ir_as_onnx.machine import ARM
from onereshape.formats.ir_as_onnx.to_onnx import image
from onereshape.formats.openvino.openvino_ir import load
from tests.formats.layers.law import CORE, alone, ours
from tests.formats.layers.spelled import Node, wrong

LEFT = np.array([-7, 7, -7, 7, -6, 0, -1, 1, 9])
RIGHT = np.array([2, -2, -2, 2, 4, -3, 3, -3, 3])
KINDS: list[Any] = [np.int16, np.int32, np.int64]


def divided(kind: Any, folder: Path) -> Path:
    given = [opset1.parameter([9], kind, name) for name in "ab"]
    ov.serialize(ov.Model([opset1.divide(*given)], given, "divided"), folder / "m.xml")
    return folder / "m.xml"


def sized(folder: Path, *, below: bool) -> Path:
    """Half of a size; or the other half, -(-n / 2), which is that of a number below 0."""
    x = opset1.parameter([-1, 4], np.float32, "x")
    n = opset1.gather(opset3.shape_of(x, "i64"), opset1.constant(np.array([0])), opset1.constant(np.int64(0)))
    half = opset1.divide(opset1.negative(n) if below else n, opset1.constant(np.array([2])))
    ov.serialize(ov.Model([opset1.negative(half) if below else half], [x], "sized"), folder / "m.xml")
    return folder / "m.xml"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_answers_as_this_machine(kind: Any, tmp_path: Path) -> None:
    path, given = divided(kind, tmp_path), [LEFT.astype(kind), RIGHT.astype(kind)]
    (theirs,), (drawn,) = alone(CORE.read_model(path), given), ours(image(load(str(path))), given)

    assert drawn.dtype == theirs.dtype == kind
    assert drawn.tolist() == theirs.tolist()


@pytest.mark.parametrize("down", [False, True])
def test_both_ways_are_drawn(down: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dividing, "ARM", down)
    for kind in KINDS:
        given = [LEFT.astype(kind), RIGHT.astype(kind)]
        (drawn,) = ours(image(load(str(divided(kind, tmp_path)))), given)
        assert drawn.tolist() == (np.floor if down else np.trunc)(LEFT / RIGHT).tolist()


@pytest.mark.parametrize("down", [False, True])
def test_both_ways_are_spelled(down: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a machine that rounds down was told is right on one that cuts, too."""
    monkeypatch.setattr(dividing, "ARM", down or ARM)

    assert (
        wrong([Node("Div", (LEFT, RIGHT)), Node("Div", (LEFT, (RIGHT,))), Node("Div", ((LEFT,), RIGHT))], tmp_path)
        == []
    )


@pytest.mark.parametrize("below", [False, True])
def test_halves_of_sizes(below: bool, tmp_path: Path) -> None:
    path = sized(tmp_path, below=below)
    drawn = image(load(str(path)))
    for n in range(6):
        given = [np.zeros((n, 4), np.float32)]
        assert [each.tolist() for each in ours(drawn, given)] == [
            each.tolist() for each in alone(CORE.read_model(path), given)
        ]


@pytest.mark.parametrize("down", [False, True])
def test_of_a_size_it_is_one_node(down: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the rules know better than three."""
    monkeypatch.setattr(dividing, "ARM", down)
    kinds = [[node.op_type for node in image(load(str(sized(tmp_path, below=each)))).graph] for each in (False, True)]

    assert "Mod" not in kinds[0]
    assert ("Mod" in kinds[1]) == down


@pytest.mark.parametrize("arm", [False, True])
def test_windows_beyond_the_pads(arm: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On Arm only the pads count, as in torch; elsewhere all that a window reaches."""
    x = opset1.parameter([2, 2, 8, 7], np.float32, "x")
    words = [2, 2], [1, 1], [1, 1], [3, 3], False, "ceil_torch", "explicit"
    ov.serialize(ov.Model([opset14.avg_pool(x, *words)], [x], "pool"), tmp_path / "m.xml")
    monkeypatch.setattr(windows, "ARM", arm)
    given = np.random.default_rng(3).normal(size=(2, 2, 8, 7)).astype(np.float32)
    (drawn,) = ours(image(load(str(tmp_path / "m.xml"))), [given])
    data = torch.from_numpy(given)
    like_torch = functional.avg_pool2d(data, 3, 2, 1, ceil_mode=True)
    whole = functional.avg_pool2d(functional.pad(data, (1, 1, 1, 2)), 3, 2)

    np.testing.assert_allclose(drawn, (like_torch if arm else whole).numpy(), rtol=1e-5, atol=1e-5)
