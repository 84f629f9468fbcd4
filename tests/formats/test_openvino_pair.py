"""An IR whose .xml and .bin are replaced: the pair on the disk is a whole model at every moment, for every reader."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import pytest

from onereshape.cli import main
from onereshape.formats.model import load, save
from onereshape.formats.openvino import openvino_ir
from onereshape.formats.openvino.openvino_ir import root_of
from onereshape.formats.openvino.openvino_pair import write_pair
from onereshape.formats.openvino.openvino_xml import encoded, parsed
from onereshape.ground.errors import FormatError
from tests.backends.converting import core
from tests.models import model

NAMES = [
    "a b",
    " a ",
    "a,b",
    "a\\b",
    "a\\,b",
    "\\",
    "a\nb",
    "a\rb",
    "a\tb",
    "<&\"'>",
    "a\x7fb",
    "é😀",
    "a\u2028b",
    "]]>",
]
NOT_XML = ["a\0b", "a\x01b", "a\x1b[31m", "a\x1f", "a\ufffeb", "a\uffff"]


def converted(target: str, out: str = "o.xml", name: str = "x") -> None:
    """Writes the IR of one Reshape."""
    count = target.count(",") + 1
    dims = ", ".join("abc"[:count])
    proto = model(f"g (float[2, 3] x) => (float[{dims}] y) <int64[{count}] t = {{{target}}}> {{ y = Reshape(x, t) }}")
    node = proto.graph.node[0]
    node.name, node.input[0], proto.graph.input[0].name = f"{name}_node", name, name
    Path("m.onnx").write_bytes(proto.SerializeToString())
    assert main(["convert", "m.onnx", "--to", "openvino", "-o", out]) == 0


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(path: str = "o.xml") -> tuple[Any, Any]:
    """The targets, by our reader and by OpenVINO's."""
    constants = [node for node in core().read_model(path).get_ops() if node.get_type_name() == "Constant"]
    return load(path).reshapes[0].target, tuple(constants[0].get_data().tolist())


def watched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is read after every rename."""
    found: list[Any] = []
    replace = os.replace

    def renamed(source: str, target: str) -> None:
        replace(source, target)
        found.append(read())

    monkeypatch.setattr(os, "replace", renamed)
    return found


@pytest.mark.parametrize(("old", "new"), [("3,2,1", "-1"), ("-1", "3,2,1"), ("6", "-1")])
def test_after_every_rename_it_is_the_old_or_the_new(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    converted(old)
    before = read()
    Path("fresh").mkdir()
    converted(new, "fresh/o.xml")
    after = read("fresh/o.xml")
    found = watched(monkeypatch)
    converted(new)

    assert found == [before, after, after, after, after]
    assert Path("o.xml").read_bytes() == Path("fresh/o.xml").read_bytes()
    assert Path("o.bin").read_bytes() == Path("fresh/o.bin").read_bytes()


def test_the_same_constants_are_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    converted("6")
    found = watched(monkeypatch)
    converted("6", name="z")

    assert len(found) == 1


def test_a_saved_ir_takes_its_weights_along(monkeypatch: pytest.MonkeyPatch) -> None:
    converted("3,2,1", "from.xml")
    converted("6")
    found = watched(monkeypatch)
    save(load("from.xml"), "o.xml")

    assert [pair[0] for pair in found] == [(6,), *4 * [(3, 2, 1)]]
    assert Path("o.xml").read_bytes() == Path("from.xml").read_bytes()
    assert Path("o.bin").read_bytes() == Path("from.bin").read_bytes()


def test_a_pair_that_is_replaced_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The .xml is read, then both are replaced, then the .bin is looked at: it is the new model, not a mixture."""
    converted("2,3")
    find = openvino_ir.__dict__["find_reshapes"]
    replaced: list[None] = []

    def meanwhile(*words: Any) -> Any:
        if not replaced:
            replaced.append(None)
            converted("3,2")
        return find(*words)

    monkeypatch.setattr(openvino_ir, "find_reshapes", meanwhile)
    assert load("o.xml").reshapes[0].target == (3, 2)


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_are_read_back(name: str) -> None:
    converted("6", name=name)
    found = core().read_model("o.xml")

    assert load("o.xml").reshapes[0].name == f"{name}_node"
    assert found.inputs[0].get_names() == {name}
    assert f"{name}_node" in {node.get_friendly_name() for node in found.get_ops()}
    assert main(["convert", "o.xml", "--to", "onnx-13", "-o", "again.onnx"]) == 0
    assert load("again.onnx").ir.graph.inputs[0].name == name


def test_a_name_as_openvino_writes_it() -> None:
    parameter = openvino.opset8.parameter([2, 3], np.float32)
    parameter.output(0).set_names({"a\\\\b"})
    reshape = openvino.opset8.reshape(parameter, np.array([6]), special_zero=False)
    openvino.save_model(openvino.Model([reshape], [parameter]), "theirs.xml", compress_to_fp16=False)

    assert main(["convert", "theirs.xml", "--to", "onnx-13", "-o", "again.onnx"]) == 0
    assert load("again.onnx").ir.graph.inputs[0].name == "a\\\\b"


@pytest.mark.parametrize("name", NOT_XML, ids=ascii)
def test_names_that_xml_has_no_words_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AssertionError):
        converted("6", name=name)
    said = capsys.readouterr().err

    assert "XML has no words for the character" in said
    assert "\x1b" not in said
    assert not Path("o.xml").exists()


@pytest.mark.parametrize("name", ["a\ud800b", "a\x08", "\udcff"], ids=ascii)
def test_a_changed_model_that_xml_has_no_words_for(name: str) -> None:
    converted("6")
    loaded = load("o.xml")
    root_of(loaded).set("name", name)
    with pytest.raises(FormatError, match="XML has no words"):
        save(loaded, "p.xml")


@pytest.mark.parametrize("text", ["a\rb", "a\r\nb"])
def test_text_that_would_change_on_its_way(text: str) -> None:
    net = parsed(b"<net><a/></net>", "o.xml")
    net[0].text = text
    with pytest.raises(FormatError, match="would not read back as it is"):
        encoded(net, "o.xml")


def test_a_folder_in_the_place_of_the_bin() -> None:
    converted("6")
    Path("o.bin").unlink()
    Path("o.bin").mkdir()
    with pytest.raises(FormatError, match="is a folder"):
        write_pair("o.xml", b"<net/>", io.BytesIO(b"x"))
