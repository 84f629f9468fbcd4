"""Whole numbers are drawn, and spelled, as the plugin of a machine divides them: it cuts, or rounds down."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
from openvino import opset1, opset3
import pytest

from onereshape.formats.openvino_ir import load
from onereshape.openvino import dividing
from onereshape.openvino.image import image
from tests.openvino.law import CORE, alone, ours
from tests.openvino.spelled import Node, wrong

LEFT = np.array([-7, 7, -7, 7, -6, 0, -1, 1, 9])
RIGHT = np.array([2, -2, -2, 2, 4, -3, 3, -3, 3])
KINDS = [np.int16, np.int32, np.int64]


def divided(kind: type[np.integer], folder: Path) -> Path:
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
def test_what_is_drawn_answers_as_this_machine(kind: type[np.integer], tmp_path: Path) -> None:
    path, given = divided(kind, tmp_path), [LEFT.astype(kind), RIGHT.astype(kind)]
    (theirs,), (drawn,) = alone(CORE.read_model(path), given), ours(image(load(str(path))), given)

    assert drawn.dtype == theirs.dtype == kind
    assert drawn.tolist() == theirs.tolist()


@pytest.mark.parametrize("down", [False, True])
def test_both_ways_are_drawn(down: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dividing, "ROUNDS_DOWN", down)
    for kind in KINDS:
        given = [LEFT.astype(kind), RIGHT.astype(kind)]
        (drawn,) = ours(image(load(str(divided(kind, tmp_path)))), given)
        assert drawn.tolist() == (np.floor if down else np.trunc)(LEFT / RIGHT).tolist()


@pytest.mark.parametrize("down", [False, True])
def test_both_ways_are_spelled(down: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a machine that rounds down was told is right on one that cuts, too."""
    monkeypatch.setattr(dividing, "ROUNDS_DOWN", down or dividing.ROUNDS_DOWN)

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
    monkeypatch.setattr(dividing, "ROUNDS_DOWN", down)
    kinds = [[node.op_type for node in image(load(str(sized(tmp_path, below=each)))).graph] for each in (False, True)]

    assert "Mod" not in kinds[0]
    assert ("Mod" in kinds[1]) == down
