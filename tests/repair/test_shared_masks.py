"""Places that a mask of all samples says: how many there are only the run knows."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from onnx import parser, save

import onereshape as orx
from onereshape.ground.errors import FixError
from tests.shaped_models import HEAD

PLACES: Final = "nz = NonZero(m) t = Transpose(nz)"
COUNT: Final = "s = Shape(t) first = Constant <value_ints = [0]> () k = Gather(s, first)"
REFUSED: Final = {
    "GatherND": f"g (float[1, 5] x, bool[1, 5] m) => (float[k] y) {{ {PLACES} y = GatherND(x, t) }}",
    "ScatterND": f"g (float[1, 5] x, bool[1, 5] m, float[k] u) => (float[1, 5] y)"
    f" {{ {PLACES} y = ScatterND(x, t, u) }}",
}


def written(text: str, folder: Path) -> Path:
    path = folder / "m.onnx"
    save(parser.parse_model(HEAD + text), path)
    return path


@pytest.mark.parametrize("op", REFUSED)
def test_numbers_of_samples_are_not_added_to_places_that_only_the_run_counts(op: str, tmp_path: Path) -> None:
    with pytest.raises(FixError) as refusal:
        orx.fix(written(REFUSED[op], tmp_path), batch={"x": 0})

    assert refusal.value.sentence == f"{op} of y ({op}): how many of t each sample has is known at run time only"


@pytest.mark.parametrize("axis", [0, 1])
def test_an_assignment_by_the_mask_of_all_samples_is_a_where(axis: int, tmp_path: Path) -> None:
    dims = "[1, 5]" if axis == 0 else "[5, 1]"
    text = (
        f"g (float{dims} x, bool{dims} m) => (float{dims} y) <float[1] seven = {{7}}>"
        f" {{ {PLACES} {COUNT} e = Expand(seven, k) y = ScatterND(x, t, e) }}"
    )

    fixed = orx.fix(written(text, tmp_path), batch={"x": axis})

    assert [node.op_type for node in fixed.model.ir.graph] == ["Where"]
    assert [(each.name, each.axis) for each in fixed.certificate.outputs] == [("y", axis)]


@pytest.mark.parametrize("written_there", [0, 1])
def test_truths_are_assigned_without_a_where(written_there: int, tmp_path: Path) -> None:
    """onnxruntime has none of them."""
    text = (
        f"g (bool[1, 5] x, bool[1, 5] m) => (bool[1, 5] y) <bool[1] v = {{{written_there}}}>"
        f" {{ {PLACES} {COUNT} e = Expand(v, k) y = ScatterND(x, t, e) }}"
    )

    fixed = orx.fix(written(text, tmp_path), batch=True)

    assert fixed.certificate.holds
    assert "Where" not in [node.op_type for node in fixed.model.ir.graph]


def test_places_that_a_constant_lists_are_no_mask(tmp_path: Path) -> None:
    text = (
        "g (float[1, 5] x) => (float[1, 5] y, int64[2, k] z) <float[1] seven = {7}>"
        " { t = Constant <value = int64[1, 2] {0, 3}> () y = ScatterND(x, t, seven) z = NonZero(x) }"
    )

    with pytest.raises(FixError, match="it lists the places of all samples"):
        orx.fix(written(text, tmp_path), batch={"x": 0})
