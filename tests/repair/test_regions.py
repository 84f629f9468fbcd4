"""RoiAlign of several samples: a constant says of which image each region is, and counts them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from onnx import parser, save

import onereshape as orx
from onereshape.ground.errors import FixError
from tests.shaped_models import HEAD

NOT_EACH: Final = "it picks by i from the 2 samples that the model was exported with, and not from each sample its own"
ROWS: Final = "float[4, 4] r = {0, 0, 4, 4, 1, 1, 3, 3, 0, 0, 4, 4, 1, 1, 3, 3}"
FREED: Final = {
    "one region of each": (
        "g (float[2, 2, 8, 8] x, float[2, 4] r) => (float[2, 2, 1, 1] y) <int64[2] i = {0, 1}>"
        " { y = RoiAlign(x, r, i) }"
    ),
    "the same two of each": (
        f"g (float[2, 2, 8, 8] x) => (float[4, 2, 1, 1] y) <int64[4] i = {{0, 0, 1, 1}}, {ROWS}>"
        " { y = RoiAlign(x, r, i) }"
    ),
    "the second image of each": (
        f"g (float[2, 2, 2, 8, 8] x) => (float[4, 2, 1, 1] y) <int64[4] i = {{1, 1, 3, 3}}, {ROWS},"
        " int64[4] t = {4, 2, 8, 8}> { q = Reshape(x, t) y = RoiAlign(q, r, i) }"
    ),
}
REFUSED: Final = {
    "the other one": ("float[2, 4] r", "2", "<int64[2] i = {1, 0}>", NOT_EACH),
    "the first one": ("float[2, 4] r", "2", "<int64[2] i = {0, 0}>", NOT_EACH),
    "three of two": (
        "float k",
        "3",
        "<int64[3] i = {0, 0, 1}, float[3, 4] r = {0, 0, 4, 4, 0, 0, 4, 4, 0, 0, 4, 4}>",
        "it has 3 regions for 2 samples",
    ),
}


def written(text: str, folder: Path) -> Path:
    path = folder / "m.onnx"
    save(parser.parse_model(HEAD + text), path)
    return path


@pytest.mark.parametrize("name", FREED)
def test_regions_that_count_their_images_are_freed(name: str, tmp_path: Path) -> None:
    fixed = orx.fix(written(FREED[name], tmp_path), batch=True)

    assert fixed.certificate.status == "proven"
    assert fixed.certificate.proof.always


@pytest.mark.parametrize("name", REFUSED)
def test_regions_of_other_images_are_refused(name: str, tmp_path: Path) -> None:
    given, count, constants, why = REFUSED[name]
    text = f"g (float[2, 2, 8, 8] x, {given}) => (float[{count}, 2, 1, 1] y) {constants} {{ y = RoiAlign(x, r, i) }}"
    with pytest.raises(FixError) as refusal:
        orx.fix(written(text, tmp_path), batch=True)

    assert why in refusal.value.sentence


def test_numbers_of_samples_pick_from_images_of_samples_alone(tmp_path: Path) -> None:
    """A Range over N is left alone where the images are those of the samples, and refused where all share them."""
    count = "s = Shape <end = 1> (r) q = Squeeze(s) i = Range(z, q, o) y = RoiAlign(x, r, i)"
    constants = "<int64 z = {0}, int64 o = {1}>"
    own = f"g (float[N, 2, 8, 8] x, float[N, 4] r) => (float[N, 2, 1, 1] y) {constants} {{ {count} }}"
    shared = f"g (float[4, 2, 8, 8] x, float[N, 4] r) => (float[N, 2, 1, 1] y) {constants} {{ {count} }}"

    assert not orx.fix(written(own, tmp_path), batch=True).changes
    with pytest.raises(FixError) as refusal:
        orx.fix(written(shared, tmp_path), batch={"r": 0})
    assert "it would pick by the numbers of the samples from what is not the batch" in refusal.value.sentence


def test_a_number_that_is_fed_is_one_of_an_image(tmp_path: Path) -> None:
    text = (
        "g (float[1, 2, 8, 8] x, float[1, 2, 4] b, int64[1, 2] n) => (float[2, 2, 1, 1] y) <int64[1] two = {2},"
        " int64[2] t = {2, 4}> { r = Reshape(b, t) i = Reshape(n, two) y = RoiAlign(x, r, i) }"
    )

    assert orx.fix(written(text, tmp_path), batch=True).certificate.holds
