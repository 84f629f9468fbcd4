"""What the free dims are called, beside the names that a model has already, and those of sizes that nobody knows."""

from __future__ import annotations

import onnx_ir as ir
import pytest

from onereshape.ground.errors import FixError
from onereshape.repair.fitting.plan import LikePlan, like_plan
from tests.models import model

BODY = """agraph (float[{s}, 4] x, float[{z}, 2] z) => (float[{s}, 4] y, int64[2, k] places, float[m, 2] w)
    <int64[2] t = {{{s}, 4}}> {{
    y = Reshape(x, t)
    places = NonZero(x)
    w = Relu(z)
}}"""


def export(size: int, other: str) -> ir.Model:
    return ir.from_proto(model(BODY.format(s=size, z=other)))


def planned(called: str | None, other: str = "N") -> LikePlan:
    return like_plan(export(12, other), [export(23, other)], {} if called is None else {"x": {0: called}})


@pytest.mark.parametrize(("called", "other"), [("S", "N"), ("_d0", "N"), ("_d_0", "_d0"), ("S", "_d0")])
def test_a_name_is_no_size_of_which_nothing_is_known(called: str, other: str) -> None:
    found = planned(called, other).promised({called: 30})

    assert found == {"y": (30, 4), "places": (2, None), "w": (None, 2)}


def test_a_dim_that_nobody_named_has_no_name_of_another() -> None:
    assert planned(None).freed == {"x": {0: "x_0"}}
    assert planned(None, "x_0").freed == {"x": {0: "x_0_"}}


def test_an_input_without_dims_in_one_export_is_told() -> None:
    bare = export(23, "N")
    bare.graph.inputs[0].shape = None

    with pytest.raises(FixError, match="input x has no dims in one of them"):
        like_plan(export(12, "N"), [bare], {})
