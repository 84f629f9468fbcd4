"""node_named(): the Reshape that is meant by a name, a place, or what is short for a place; and what names none."""

from __future__ import annotations

from pathlib import Path

import pytest

import onereshape as orx
from onereshape.formats.model import Model
from onereshape.formats.naming import node_named
from onereshape.ground.errors import ReshapeError
from tests.models import model

TEXT = """g (float[2, 6] x, bool c) => (float[?, ?] y) <int64[2] s = {3, 4}> {
    a = Reshape(x, s)
    b = Reshape(a, s)
    d = If (c) <
        then_branch = yes () => (float[?, ?] p) { p = Reshape(b, s) },
        else_branch = no () => (float[?, ?] q) { q = Reshape(b, s) }
    >
    y = local.f(d)
}
<domain: "local", opset_import: ["" : 18]>
f (v) => (w) { t = Constant <value_ints = [2, 6]> () w = Reshape(v, t) }"""


@pytest.fixture
def held(tmp_path: Path) -> Model:
    made = model(TEXT, '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>')
    made.graph.node[0].name = "attn/Reshape"
    made.graph.node[1].name = "Reshape#0"
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    return orx.load(tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("attn/Reshape", "graph/Reshape#0"),
        ("graph/Reshape#0", "graph/Reshape#0"),
        ("graph/Reshape#1", "graph/Reshape#1"),
        ("Reshape#1", "graph/Reshape#1"),
        ("Reshape#0", "graph/Reshape#1"),  # which has that name
        ("graph/If#0/else_branch/Reshape#0", "graph/If#0/else_branch/Reshape#0"),
        ("If#0/then_branch/Reshape#0", "graph/If#0/then_branch/Reshape#0"),
        ("else_branch/Reshape#0", "graph/If#0/else_branch/Reshape#0"),
        ("local::f/Reshape#0", "local::f/Reshape#0"),
    ],
)
def test_what_is_meant(held: Model, text: str, place: str) -> None:
    assert node_named(held, text).place == place


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("atn/Reshap", "no Reshape is named 'atn/Reshap' (did you mean 'attn/Reshape' or 'Reshape#0'?)"),
        ("q", "no Reshape is named 'q'; there is 'attn/Reshape' and 4 more"),
        ("Reshape#9", "no Reshape is named 'Reshape#9' (did you mean 'graph/Reshape#1' or 'graph/Reshape#0'?)"),
        ("Reshape", "no Reshape is named 'Reshape' (did you mean 'Reshape#0' or 'attn/Reshape'?)"),
        ("", "no Reshape is named ''; there is 'attn/Reshape' and 4 more"),
    ],
)
def test_what_names_none(held: Model, text: str, message: str) -> None:
    with pytest.raises(ReshapeError) as caught:
        node_named(held, text)

    assert caught.value.code == "bad-usage"
    assert caught.value.sentence == f"{held.path}: {message}"


def test_a_short_place_in_several_branches(tmp_path: Path) -> None:
    made = model(TEXT.replace("a = Reshape(x, s)", "a = Relu(x)").replace("b = Reshape(a, s)", "b = Relu(a)"))
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    held = orx.load(tmp_path / "m.onnx")
    with pytest.raises(ReshapeError) as caught:
        node_named(held, "Reshape#0")

    places = "graph/If#0/then_branch/Reshape#0, graph/If#0/else_branch/Reshape#0, local::f/Reshape#0"
    assert caught.value.sentence.endswith(f"3 Reshapes are named 'Reshape#0'; take one by its place: {places}")
