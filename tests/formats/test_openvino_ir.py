"""OpenVINO IR files: save(load(f)) changes nothing, and the view says what the file says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import onnx
import openvino as ov
import pytest
from openvino import opset1, opset8, opset13

from onereshape.arrays.operator import Reshape
from onereshape.formats.model import Model, load, refreshed, save
from onereshape.formats.model_data import ReshapeNode
from onereshape.formats.openvino.openvino_ir import root_of
from onereshape.ground.errors import FormatError
from tests.models import model as onnx_text

F32 = ov.Type.f32


def plain(opset: Any) -> ov.Model:
    data = opset.parameter([2, 3, 4], F32, name="x")
    result = opset.reshape(data, opset.constant(np.array([0, -1], np.int64), name="c"), special_zero=True)
    result.set_friendly_name("r")
    return ov.Model([result], [data], "plain")


def dynamic() -> ov.Model:
    """Intervals, unknown dims, an unknown rank, a target at run time, other integers, a scalar, an empty target."""
    bounded = opset13.parameter(ov.PartialShape([ov.Dimension(1, 10), -1, 6, ov.Dimension(2, -1)]), F32, name="bounded")
    free = opset13.parameter(ov.PartialShape.dynamic(), ov.Type.i8, name="free")
    shape = opset13.parameter([3], ov.Type.i32, name="shape")
    scalar = opset13.parameter([], F32, name="scalar")
    one = opset13.parameter([1], ov.Type.boolean, name="one")
    relu = opset13.relu(bounded)
    results = [
        opset13.reshape(bounded, opset13.constant(np.array([0, -1, 4], np.int32)), special_zero=True, name="a"),
        opset13.reshape(free, shape, special_zero=False, name="b"),
        opset13.reshape(scalar, opset13.constant(np.array([1, 1], np.int16)), special_zero=False, name="c"),
        opset13.reshape(one, opset13.constant(np.array([], np.int64)), special_zero=False, name="d"),
        opset13.reshape(relu, opset13.shape_of(free), special_zero=False, name="e"),
    ]
    return ov.Model(results, [bounded, free, shape, scalar, one], "dynamic")


def branches() -> ov.Model:
    """A Reshape in each branch of an If."""
    bodies = []
    for target in ([6], [3, 2]):
        inner = opset8.parameter([2, 3], F32, name="inner")
        inside = opset8.reshape(inner, opset8.constant(np.array(target, np.int64)), special_zero=False)
        bodies.append((ov.Model([opset8.result(inside)], [inner], "body"), inner))
    data, condition = opset8.parameter([2, 3], F32, name="x"), opset8.parameter([], ov.Type.boolean, name="c")
    node = opset8.if_op(condition)
    node.set_then_body(bodies[0][0])
    node.set_else_body(bodies[1][0])
    node.set_input(data.output(0), bodies[0][1], bodies[1][1])
    output = node.set_output(bodies[0][0].get_results()[0], bodies[1][0].get_results()[0])
    return ov.Model([opset8.result(output)], [data, condition], "branches")


def converted() -> ov.Model:
    """From ONNX, with weights that compression turns into fp16."""
    proto = onnx_text(
        "g (float[N, 6] x) => (float[a, b] y) <int64[2] s = {-1, 3}> { w = Mul(x, k) y = Reshape(w, s) }",
    )
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.ones((64, 1, 6), np.float32), "k"))
    return ov.Core().read_model(proto.SerializeToString(), b"")


MODELS: dict[str, Callable[[], ov.Model]] = {
    "opset1": lambda: plain(opset1),
    "opset8": lambda: plain(opset8),
    "opset13": lambda: plain(opset13),
    "dynamic": dynamic,
    "branches": branches,
    "converted": converted,
}

V10 = """<?xml version="1.0" ?>
<!-- written by hand -->
<net name="old" version="10">
\t<layers>
\t\t<layer id="0" name="x" type="Parameter" version="opset1">
\t\t\t<data shape="2,3,4" element_type="f16"/>
\t\t\t<output><port id="0" precision="FP16"><dim>2</dim><dim>3</dim><dim>4</dim></port></output>
\t\t</layer>
\t\t<layer id="1" name="c" type="Const" version="opset1">
\t\t\t<data element_type="i32" offset="4" shape="2" size="8"/>
\t\t\t<output><port id="1" precision="I32"><dim>2</dim></port></output>
\t\t</layer>
\t\t<layer id="2" name="r" type="Reshape" version="opset1">
\t\t\t<data special_zero="True"/>
\t\t\t<input><port id="0"><dim>2</dim><dim>3</dim><dim>4</dim></port><port id="1"><dim>2</dim></port></input>
\t\t\t<output><port id="2" precision="FP16"><dim>2</dim><dim>12</dim></port></output>
\t\t</layer>
\t\t<layer id="3" name="out" type="Result" version="opset1">
\t\t\t<input><port id="0"><dim>2</dim><dim>12</dim></port></input>
\t\t</layer>
\t</layers>
\t<edges>
\t\t<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
\t\t<edge from-layer="1" from-port="1" to-layer="2" to-port="1"/>
\t\t<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
\t</edges>
\t<meta_data><cli_parameters a="b &amp; c"/></meta_data>
</net>
"""


def by_hand(folder: Path, old: str = "", new: str = "") -> Path:
    """The version 10 IR, with a text in it replaced."""
    assert old in V10
    (folder / "old.xml").write_text(V10.replace(old, new), encoding="utf-8")
    (folder / "old.bin").write_bytes(b"\xff" * 4 + np.array([0, -1], np.int32).tobytes())
    return folder / "old.xml"


def canonical(path: Path) -> str:
    return ET.canonicalize(from_file=path, with_comments=True)


@pytest.fixture(params=MODELS)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    ov.save_model(MODELS[request.param](), tmp_path / "model.xml", compress_to_fp16=request.param == "converted")
    return tmp_path / "model.xml"


def entries(make: Callable[[], ov.Model], folder: Path) -> dict[str, ReshapeNode]:
    ov.save_model(make(), folder / "model.xml")
    return {entry.name: entry for entry in load(folder / "model.xml").reshapes}


class TestRoundTrip:
    """save(load(f)) gives f."""

    def test_beside_and_elsewhere(self, written: Path) -> None:
        found = load(written)
        (written.parent / "other").mkdir()
        for again in (written.parent / "again.xml", written.parent / "other" / "model.xml", written):
            save(found, again)

            assert again.read_bytes() == written.read_bytes()
            assert again.with_suffix(".bin").read_bytes() == written.with_suffix(".bin").read_bytes()
        assert ov.Core().read_model(written.parent / "again.xml").get_ops()

    def test_a_change_changes_nothing_else(self, written: Path) -> None:
        found = load(written)
        before = canonical(written)
        root_of(found).set("name", "changed")
        save(found, written)

        assert canonical(written) == re.sub('<net name="[^"]*"', '<net name="changed"', before)
        assert before != canonical(written)

    def test_by_hand(self, tmp_path: Path) -> None:
        path = by_hand(tmp_path)
        found = load(path)
        save(found, tmp_path / "again.xml")
        assert (tmp_path / "again.xml").read_text(encoding="utf-8") == V10

        next(root_of(found).iter("meta_data")).set("k", "v")
        save(found, tmp_path / "changed.xml")
        changed = ET.canonicalize(V10.replace("<meta_data>", '<meta_data k="v">'))
        assert ET.canonicalize(from_file=tmp_path / "changed.xml") == changed

    def test_the_bin_of_the_same_name_is_left_alone(self, tmp_path: Path) -> None:
        path = by_hand(tmp_path)
        before = path.with_suffix(".bin").stat()
        save(load(path), path)

        after = path.with_suffix(".bin").stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)

    def test_a_bin_that_changed_meanwhile(self, tmp_path: Path) -> None:
        found = load(by_hand(tmp_path))
        (tmp_path / "old.bin").write_bytes(bytes(5))
        with pytest.raises(FormatError, match=r"'old\.bin' has changed since the model was read"):
            save(found, tmp_path / "again.xml")
        assert not (tmp_path / "again.xml").exists()

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        found = load(by_hand(tmp_path))
        with pytest.raises(FormatError, match="its folder does not exist"):
            save(found, tmp_path / "none" / "again.xml")


class TestView:
    """One entry per Reshape, with what the file says and nothing more."""

    def test_an_entry(self, tmp_path: Path) -> None:
        ov.save_model(plain(opset13), tmp_path / "model.xml")
        found: Model = load(tmp_path / "model.xml")
        (entry,) = found.reshapes

        assert (found.format, root_of(found).tag) == ("openvino", "net")
        assert (entry.name, entry.place, entry.spec.name) == ("r", "net/Reshape#0", "openvino")
        assert (entry.data, entry.target, entry.output) == ((2, 3, 4), (0, -1), (2, 12))
        assert (entry.element_type, entry.target_type, entry.target_from) == ("f32", "i64", "Const c")
        op = Reshape(entry.spec, **entry.attributes)
        assert op(np.zeros((2, 3, 4), np.float32), entry.target).shape == (2, 12)  # type: ignore[arg-type]

    def test_what_is_not_known(self, tmp_path: Path) -> None:
        found = entries(dynamic, tmp_path)

        assert {name: entry.data for name, entry in found.items()} == {
            "a": ((1, 10), None, 6, (2, None)),
            "b": None,
            "c": (),
            "d": (1,),
            "e": (None, None, 6, None),  # the ports of a layer have no intervals
        }
        assert {name: entry.target for name, entry in found.items()} == {
            "a": (0, -1, 4),
            "b": (None, None, None),
            "c": (1, 1),
            "d": (),
            "e": None,
        }
        assert {name: entry.output for name, entry in found.items()} == {
            "a": (None, None, 4),
            "b": (None, None, None),
            "c": (1, 1),
            "d": (),
            "e": None,
        }
        assert (found["b"].target_from, found["b"].target_type, found["b"].element_type) == ("input shape", "i32", "i8")
        assert found["e"].target_from.startswith("computed by ShapeOf ")
        assert (found["c"].target_type, found["d"].element_type) == ("i16", "boolean")

    def test_branches(self, tmp_path: Path) -> None:
        found = entries(branches, tmp_path).values()

        assert {entry.place: entry.target for entry in found} == {
            "net/If#0/then_body/Reshape#0": (6,),
            "net/If#0/else_body/Reshape#0": (3, 2),
        }

    def test_version_10_gives_types_only_where_they_go_out(self, tmp_path: Path) -> None:
        (entry,) = load(by_hand(tmp_path)).reshapes

        assert (entry.data, entry.target, entry.output) == ((2, 3, 4), (0, -1), (2, 12))
        assert (entry.element_type, entry.target_type, entry.attributes) == ("f16", "i32", {"special_zero": True})

    def test_version_10_after_any_other_layer(self, tmp_path: Path) -> None:
        (entry,) = load(by_hand(tmp_path, 'type="Parameter"', 'type="Relu"')).reshapes
        assert (entry.data, entry.element_type) == ((2, 3, 4), "f16")

    def test_many_elements_beside_one_another(self, tmp_path: Path) -> None:
        assert load(by_hand(tmp_path, "<meta_data>", "<meta_data>" + "<a/>" * 1000)).reshapes

    @pytest.mark.parametrize(
        ("data", "attributes"),
        [
            ("<data/>", {}),
            ("", {}),
            ('<data special_zero="false"/>', {"special_zero": False}),
            ('<data special_zero="0"/>', {"special_zero": False}),
            ('<data special_zero="maybe"/>', {"special_zero": "maybe"}),
        ],
    )
    def test_a_missing_flag_is_missing(self, data: str, attributes: dict[str, Any], tmp_path: Path) -> None:
        (entry,) = load(by_hand(tmp_path, '<data special_zero="True"/>', data)).reshapes
        assert entry.attributes == attributes

    @pytest.mark.parametrize(
        ("text", "dim"), [("?", None), ("-1", None), ("2..5", (2, 5)), ("2..", (2, None)), ("..5", (0, 5)), ("7", 7)]
    )
    def test_dims(self, text: str, dim: Any, tmp_path: Path) -> None:
        (entry,) = load(by_hand(tmp_path, 'shape="2,3,4"', f'shape="2, {text},4"')).reshapes
        assert entry.data == (2, dim, 4)

    def test_a_layer_without_a_name(self, tmp_path: Path) -> None:
        (entry,) = load(by_hand(tmp_path, ' name="r"', "")).reshapes
        assert (entry.name, entry.place) == ("net/Reshape#0", "net/Reshape#0")

    def test_an_edge_that_is_missing(self, tmp_path: Path) -> None:
        edge = '<edge from-layer="1" from-port="1" to-layer="2" to-port="1"/>'
        (entry,) = load(by_hand(tmp_path, edge, "")).reshapes
        assert (entry.target, entry.target_from) == ((None, None), "missing")

    def test_a_constant_of_two_dims_is_no_target(self, tmp_path: Path) -> None:
        (entry,) = load(by_hand(tmp_path, 'shape="2" size', 'shape="1,2" size')).reshapes
        assert (entry.target, entry.target_from) == (None, "Const c, which has dims [1, 2]")

    def test_refreshed_after_a_change(self, tmp_path: Path) -> None:
        found = load(by_hand(tmp_path))
        del found.reshapes[0].node.find("data").attrib["special_zero"]

        assert refreshed(found).reshapes[0].attributes == {}


HOSTILE = {
    "an edge to nowhere": ('to-layer="3"', 'to-layer="9"', "an edge from layer '2' to layer '9'"),
    "an id twice": ('id="3" name', 'id="2" name', "a layer whose id is '2', which is no number or given twice"),
    "a circle": ('from-layer="0" from-port="0"', 'from-layer="2" from-port="2"', "its layers are in a circle: 2 -> 2"),
    "an offset outside": ('offset="4"', 'offset="5"', "Const c is at bytes 5 to 13 of 'old.bin', which has 12"),
    "a negative offset": ('offset="4"', 'offset="-4"', "offset '-4' and size '8', which are no numbers"),
    "a foreign digit": ('offset="4"', 'offset="٤"', "which are no numbers"),
    "no size": (' size="8"', "", "offset '4' and size None, which are no numbers"),
    "a size too small": ('size="8"', 'size="4"', "Const c has 4 bytes, but 2 of i32 need 8"),
    "a billion integers": (
        'shape="2" size',
        'shape="1000000000" size',
        "Const c holds 1000000000 integers for a target, more than 65536",
    ),
    "a dim that is none": ("<dim>2</dim></port></input>", "<dim>two</dim></port></input>", None),
    "another version": (
        'version="10"',
        'version="7"',
        "is version 7 of <net>, and only OpenVINO IRs (<net>) of version",
    ),
    "another document": ("net", "svg", "is version 10 of <svg>, and only OpenVINO IRs"),
}


class TestHostile:
    """Each is refused in one phrase."""

    @pytest.mark.parametrize("case", HOSTILE)
    def test_refused(self, case: str, tmp_path: Path) -> None:
        old, new, why = HOSTILE[case]
        path = by_hand(tmp_path, old, new)
        if why is None:
            assert load(path).reshapes  # nobody asked for that dim
            return
        with pytest.raises(FormatError) as refusal:
            load(path)

        assert refusal.value.code == "unreadable"
        assert why in refusal.value.sentence

    def test_a_bin_that_is_cut_off(self, tmp_path: Path) -> None:
        path = by_hand(tmp_path)
        (tmp_path / "old.bin").write_bytes(bytes(11))
        with pytest.raises(FormatError, match=r"Const c is at bytes 4 to 12 of 'old\.bin', which has 11"):
            load(path)

    def test_a_bin_that_is_missing(self, tmp_path: Path) -> None:
        path = by_hand(tmp_path)
        (tmp_path / "old.bin").unlink()
        with pytest.raises(FormatError, match=r"Const c is in 'old\.bin', which is not beside it"):
            load(path)
