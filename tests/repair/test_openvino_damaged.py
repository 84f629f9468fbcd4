"""Damaged IRs: each is refused in one sentence, or read as far as it goes; no other error comes out."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import openvino
import pytest
from openvino import opset13 as op

import onereshape as orx
from onereshape.checks.summary import summary
from onereshape.ground.errors import ReshapeError
from tests.openvino_models import given, i64, model


def written(folder: Path) -> Path:
    """Two named layers, and a constant: `x` [1, 4, 8] -> `relu` -> `flat` [1, 32]."""
    x = given("x", [1, 4, 8])
    relu = op.relu(x)
    relu.set_friendly_name("relu")
    flat = op.reshape(relu, i64(1, 32), special_zero=False)
    flat.set_friendly_name("flat")
    made = model([x], y=op.add(flat, op.constant(np.ones((1, 32), np.float32))))
    openvino.save_model(made, folder / "model.xml", compress_to_fp16=False)
    return folder / "model.xml"


def layer(net: ET.Element, name: str) -> ET.Element:
    return next(each for each in net.iter("layer") if name in {each.get("name"), each.get("type")})


def no_output(net: ET.Element) -> None:
    relu = layer(net, "relu")
    relu.remove(next(relu.iter("output")))


def a_dim_in_words(net: ET.Element) -> None:
    next(layer(net, "x").iter("dim")).text = "many"


def no_type(net: ET.Element) -> None:
    del layer(net, "relu").attrib["type"]


def no_element_type(net: ET.Element) -> None:
    del next(layer(net, "Const").iter("data")).attrib["element_type"]


def two_ports(net: ET.Element) -> None:
    side = next(layer(net, "Const").iter("output"))
    ET.SubElement(side, "port", {"id": "7", "precision": "I64"})


DAMAGES = {
    "a layer without outputs": (no_output, "ReLU relu has no output", "ReLU relu has no output"),
    "a dim that is no number": (a_dim_in_words, "ok", "openvino cannot load the original model"),
    "a layer without a type": (no_type, "layer relu has no type", "layer relu has no type"),
    "a Const without a type": (no_element_type, "has no element_type", "has no element_type"),
    "a Const with two ports": (two_ports, "ok", "openvino cannot load the original model"),
}
"""What is done to a sound file, and what `check` and `fix` say then."""


def said(path: Path, *, repaired: bool) -> str:
    """The refusal, or `ok`; an error of another kind comes out."""
    try:
        if repaired:
            orx.save(orx.fix(path, batch=True).model, path.with_name("out.xml"))
        else:
            orx.check(path, batch=True)
    except ReshapeError as error:
        return str(error)
    return "ok"


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_damaged_is_said(name: str, tmp_path: Path) -> None:
    damage, checked, fixed = DAMAGES[name]
    path = written(tmp_path)
    tree = ET.parse(path)  # noqa: S314 - our own file
    damage(tree.getroot())
    tree.write(path)

    assert checked in said(path, repaired=False)
    assert fixed in said(path, repaired=True)
    assert not (tmp_path / "out.xml").exists()
    assert summary(orx.load(path))["inputs"]["x"] == [None if name == "a dim that is no number" else 1, 4, 8]


def test_what_is_not_damaged_is_repaired(tmp_path: Path) -> None:
    assert said(written(tmp_path), repaired=True) == "ok"
