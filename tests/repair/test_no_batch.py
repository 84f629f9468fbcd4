"""Models of one sample without an axis for several: that is what is said of them, and not that samples are mixed."""

from __future__ import annotations

from pathlib import Path

import pytest

import onereshape as orx
from onereshape.ground.errors import FixError
from tests.graphs.test_axes_of_names import saved

NONE = {
    "features": ("float[13] x", "y = Softmax<axis = 0>(x)"),
    "features beside constants": ("float[3] x", "c = Constant<value_floats = [1.0, 2.0, 3.0]>() y = Add(x, c)"),
    "features over time": ("float[18, time] x", "y = Softmax<axis = 0>(x)"),
    "features over time, with an axis": ("float[18, T] x", "u = Unsqueeze(x, zero) y = Softmax<axis = 1>(u)"),
    "features that get an axis": ("float[13] x", "u = Unsqueeze(x, zero) y = Softmax<axis = 1>(u)"),
    "features that a Reshape gives one": ("float[5, 4] x", "s = Cast<to = 1>(x) u = Reshape(s, t) y = Conv(u, w)"),
    "a grey picture": ("float[1, H, W] x", "n = Mul(x, k) u = Unsqueeze(n, zero) y = Conv(u, w1)"),
}
CONSTANTS = (
    "int64[1] zero = {0}, int64[1] one = {1}, int64[3] t = {1, 5, 4}, float[1, 5, 1] w = {1, 2, 3, 4, 5}, "
    "float[1, 1, 1, 1] w1 = {3}, float[1] k = {0.5}"
)
SOME = {
    "one of them is as it is": ("float[1, 4] x", "y = Softmax<axis = 0>(x)"),
    "several": ("float[8, 4] x", "y = Softmax<axis = 0>(x)"),
    "several, of names": ("float[8, N] x", "y = Softmax<axis = 0>(x)"),
    "it is put in front beside others": (
        "float[1, 4] x",
        "u = Unsqueeze(x, zero) v = Softmax<axis = 0>(x) d = Sub(u, v) y = Softmax<axis = 1>(d)",
    ),
    "numbers beside rows": ("float[8] x, float[8, 4] z", "s = Softmax<axis = 0>(x) n = Neg(z) y = MatMul(s, n)"),
    "an axis behind the first": ("float[1, 4] x", "u = Unsqueeze(x, one) y = Softmax<axis = 0>(u)"),
}


def model(folder: Path, inputs: str, nodes: str) -> Path:
    return saved(folder, f"g ({inputs}) => (float[] y) <{CONSTANTS}> {{ {nodes} }}")


@pytest.mark.parametrize("case", NONE)
def test_there_is_no_batch(tmp_path: Path, case: str) -> None:
    path = model(tmp_path, *NONE[case])
    for asked in (orx.fix, orx.check):
        with pytest.raises(
            FixError, match=r"no input carries a batch: x is \[.*\], one sample without an axis"
        ) as refusal:
            asked(path, batch=True)
        assert refusal.value.code == "no-batch"
    with pytest.raises(FixError) as named:
        orx.fix(path, batch={"x": 0})
    assert named.value.code in {"mixes-samples", "cannot-free"}


@pytest.mark.parametrize("case", SOME)
def test_samples_are_mixed(tmp_path: Path, case: str) -> None:
    path = model(tmp_path, *SOME[case])
    with pytest.raises(FixError) as refusal:
        orx.fix(path, batch=True)

    assert refusal.value.code == "mixes-samples"
    assert [each.code for each in orx.check(path, batch=True) if each.severity == "error"] == ["cannot-free"]


def test_the_node_that_shows_it_is_named_and_sample_by_sample_it_works(tmp_path: Path) -> None:
    path = model(tmp_path, *NONE["a grey picture"])
    with pytest.raises(FixError) as refusal:
        orx.fix(path, batch=True)

    why = "x is [1, H, W], one sample without an axis for several (Unsqueeze of u puts one in front); export the model"
    assert refusal.value.sentence.startswith(f"no input carries a batch: {why}")
    (note,) = refusal.value.__notes__
    assert note.startswith("with --per-sample (per_sample=True)")
    fixed = orx.fix(path, batch=True, per_sample=True)
    assert fixed.freed == {"x": {0: "N"}}
