"""Whatever a model calls its nodes, tensors and dims, or itself: each line printed is ours, and JSON is exact."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote
from xml.sax.saxutils import quoteattr

import numpy as np
import onnx
import pytest

from onereshape.cli import conform
from onereshape.cli.bar import bar
from onereshape.cli.commands import module_of
from onereshape.ground.text import printable
from tests.checking import MODELS, proto
from tests.laws.texts_world import (
    BAKED,
    CONTROLS,
    MIXING,
    PLAIN,
    UNSEEN,
    VICIOUS,
    Captured,
    asked,
    checked,
    each_name,
    exact,
    file_name,
    findings,
    ours,
    renamed,
    run,
    written,
)


def told(text: str) -> int:
    """How many lines there are, without those that say what to type next: no name that is endless is typed."""
    return sum(": next, for " not in line for line in text.rstrip("\n").split("\n"))


class TestCheck:
    @each_name
    def test_findings(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        plain, paths = checked(tmp_path / "plain", PLAIN), checked(tmp_path / "vicious", name)
        code, text = run(capsys, "check", "--batch", *paths)
        assert (code, told(text)) == (1, told(run(capsys, "check", "--batch", *plain)[1]))
        annotations = run(capsys, "check", "--batch", *paths, "--format", "github")[1]
        assert told(text) == told(annotations) + 1
        assert not re.search("%(?!25|3A|2C)", annotations)
        assert all(re.match(r"::\w+ file=[^,:]+,title=[^,:]+::", line) for line in annotations.splitlines())

        found = asked(capsys, "check", "--batch", *paths)
        exact(found, asked(capsys, "check", "--batch", *plain), name)
        assert [model["path"] for model in found["models"]] == paths

        log = json.loads(run(capsys, "check", "--batch", *paths, "--format", "sarif")[1])
        for result, finding in zip(log["runs"][0]["results"], findings(found), strict=True):
            (place,) = result["locations"]
            assert place["logicalLocations"][0]["fullyQualifiedName"] == finding["node"]
            uri = place["physicalLocation"]["artifactLocation"]["uri"]
            assert unquote(uri.removeprefix("file://"), errors="surrogateescape") in paths
            ours(message := result["message"]["text"])
            assert not re.search(r"\]\(|(?<!\{)\{(\{\{)*(?!\{)", message)

    @each_name
    def test_what_cannot_be_asked(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        path = written(tmp_path, BAKED, name)
        for words in (["--batch", f"{name}:0"], ["--free", f"{name}x:0={name}"], ["--free", f"{name}x:0"]):
            code, text = run(capsys, "check", path, *words)
            assert (code, text.count("\n")) == (2, 1)
            assert run(capsys, "check", path, *words, "--json")[0] == 2
        assert run(capsys, "check", path, path, "--batch", "no:0")[1].count("\n") == 3

    def test_functions_and_foreign_operators(self, tmp_path: Path, capsys: Captured) -> None:
        for name in VICIOUS.values():
            made = proto("g (float[2, 3] x) => (float[a] y) { y = local.f(x) }")
            made.opset_import.add(domain=name, version=1)
            inner = onnx.helper.make_node("Reshape", ["x", "t"], ["y"], name=name)
            target = onnx.helper.make_node("Constant", [], ["t"], name=name, value_ints=[4])
            imports = [onnx.helper.make_operatorsetid("", 18)]
            made.functions.append(onnx.helper.make_function(name, name, ["x"], ["y"], [target, inner], imports))
            made.graph.node[0].domain, made.graph.node[0].op_type = name, name
            made.graph.node.append(onnx.helper.make_node(name, ["x"], ["z"], name=name, domain=name))
            path = tmp_path / "m.onnx"
            path.write_bytes(made.SerializeToString())
            for words in (["check"], ["check", "--format", "sarif"], ["fix", "-o", "o.onnx"]):
                assert run(capsys, words[0], str(path), "--batch", *words[1:])[0] in {1, 2}
            assert run(capsys, "convert", str(path), "--node", "n", "--to", "openvino", "-o", "o.xml")[0] == 2

    def test_colours_come_after_the_door(
        self, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module_of("check"), "paint", lambda: lambda text, what: f"<{what}>{text}</>")
        for name in VICIOUS.values():
            run(capsys, "check", written(tmp_path, MODELS["baked-dim"], name))


class TestFix:
    @each_name
    def test_a_repair(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        words = ["--batch", "--diff", "--no-certify", "-o", str(tmp_path / "o.onnx")]
        path, plain = written(tmp_path, BAKED, name), written(tmp_path, BAKED, PLAIN)
        lines = [run(capsys, "fix", each, *words)[1].count("\n") for each in (path, plain)]
        assert lines[0] == lines[1]
        exact(asked(capsys, "fix", path, *words), asked(capsys, "fix", plain, *words), name)
        text = run(capsys, "fix", path, *words[:-1], str(tmp_path / "o\n.onnx"))[1]
        assert (text.count("\n"), text.count("o\\n.onnx")) == (lines[0], 2)

    @pytest.mark.parametrize("name", ["controls", "GitHub, on a line of its own", "unseen"])
    def test_a_certificate(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        path = written(tmp_path, BAKED, VICIOUS[name])
        code, text = run(capsys, "fix", path, "--batch", "-o", str(tmp_path / "o.onnx"))
        assert (code, "proven: " in text) == (0, True)
        found = asked(capsys, "fix", path, "--batch", "-o", str(tmp_path / "o.onnx"))
        assert [output["name"] for output in found["certificate"]["outputs"]] == [f"{VICIOUS[name]}y"]

    @each_name
    def test_a_refusal(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        path = written(tmp_path, MIXING, name)
        code, text = run(capsys, "fix", path, "--batch", "-o", str(tmp_path / f"{file_name(name)}.onnx"))
        assert (code, text.count("\n")) == (1, 3)

    def test_what_onnxruntime_says(self, tmp_path: Path, capsys: Captured) -> None:
        for name in VICIOUS.values():
            made = proto("g (float[1, 6] x) => (float[1, 6] y) { h = Relu(x) y = Add(h, h) }")
            made.graph.value_info.add().CopyFrom(onnx.helper.make_tensor_value_info("h", onnx.TensorProto.INT64, [3]))
            path = tmp_path / "m.onnx"
            path.write_bytes(renamed(made, name))
            code, text = run(capsys, "fix", str(path), "--batch", "-o", str(tmp_path / "o.onnx"))
            assert code in {1, 2}
            assert text.count("\n") == 2

    @each_name
    def test_the_bar(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = Terminal()
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "1000")
        with bar("certifying") as progress:
            assert progress is not None
            progress(1, 2, name)
        drawn = stream.getvalue()
        conform._progress(name, 1, 2)
        assert printable(name)[:20] in stream.getvalue()
        for sign in CONTROLS + UNSEEN:
            assert sign in "\n\r\x1b\u2500" or sign not in stream.getvalue()
        assert name not in stream.getvalue() or name == printable(name)
        assert "\x1b]" not in drawn
        assert "[link=x]" not in name or "[bold red]x[/] [link=x]" in drawn


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class TestCertify:
    @each_name
    def test_of_two_models(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        path, proof = written(tmp_path, BAKED, name), str(tmp_path / f"{file_name(name)}.json")
        repaired = str(tmp_path / f"{file_name(name)} o.onnx")
        assert run(capsys, "fix", path, "--batch", "-o", repaired, "--certificate", proof)[0] == 0
        code, text = run(capsys, "certify", path, repaired, "--batch")
        assert (code, text.count("\n"), text.startswith("proven: ")) == (0, 1, True)
        found = asked(capsys, "certify", path, repaired, "--batch")
        assert [each["name"] for each in found["certificate"]["proof"]["outputs"]] == [f"{name}y"]
        code, text = run(capsys, "certify", "--proof", proof)
        assert (code, text.count("\n")) == (0, 2)


class TestConvert:
    @each_name
    def test_to_another_opset(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        words = ["--to", "onnx-13", "-o", str(tmp_path / f"{file_name(name)} o.onnx")]
        path, plain = written(tmp_path, BAKED, name), written(tmp_path, BAKED, PLAIN)
        assert run(capsys, "convert", path, *words)[1].count("\n") == 2
        found, wanted = (asked(capsys, "convert", each, *words) for each in (path, plain))
        assert found["proof"].pop("seed") != wanted["proof"].pop("seed")
        exact(found, wanted, name)

    @each_name
    def test_one_node(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        path = written(tmp_path, MODELS["chain"], name)
        words = ["--to", "onnx-13", "-o", str(tmp_path / "o.onnx"), "--node"]  # an .xml cannot hold every name
        for node in (f"{name}n", "graph/Reshape#1"):
            assert asked(capsys, "convert", path, *words, node)["nodes"][0]["name"] == f"{name}n"
            assert run(capsys, "convert", path, *words, node)[1].count("\n") == 1
        assert run(capsys, "convert", path, *words, name)[1].count("\n") == 1

    @each_name
    def test_a_name_that_two_have(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        made = proto(MODELS["chain"])
        for node in made.graph.node:
            node.name = name
        (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
        words = ["--to", "openvino", "-o", str(tmp_path / "o.xml"), "--node", name]
        code, text = run(capsys, "convert", str(tmp_path / "m.onnx"), *words)
        assert (code, text.count("\n")) == (2, 1)
        assert "take one by its place: graph/Reshape#0, graph/Reshape#1" in text


class TestOtherModels:
    @each_name
    def test_onednn(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        tensors = [{"id": 0, "dtype": "f32", "shape": [2, 3]}, {"id": 1, "dtype": "f32", "shape": [9]}]
        attributes = {"special_zero": {"type": "bool", "value": 0}, "shape": {"type": "s64[]", "value": [4]}}
        operator = {"id": 7, "name": name, "kind": "StaticReshape", "attrs": attributes}
        graph = {"version": name, "graph": [operator | {"inputs": tensors[:1], "outputs": tensors[1:]}]}
        self.held(tmp_path / f"{file_name(name)}.json", json.dumps(graph), name, capsys)
        broken = json.dumps({"graph": [operator | {"inputs": name, "outputs": name, "kind": name, name: name}]})
        for text in (broken, broken.replace("}", ',"a\\u001b":0,"a\\u001b":1}'), broken[:-3], name):
            self.refused(tmp_path / "broken.json", text, capsys)

    @each_name
    def test_openvino(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        held = re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", name)
        text = IR.format(name=quoteattr(held, {sign: f"&#{ord(sign)};" for sign in "\t\n\r\x85\u2028"}), size=8)
        self.held(tmp_path / f"{file_name(name)}.xml", text, held, capsys)
        for broken in (
            text[:-9],
            text.replace('"8"', quoteattr(held)),
            text.replace("IR", name),
            text.replace("0", held),
        ):
            self.refused(tmp_path / "broken.xml", broken, capsys)

    @staticmethod
    def held(path: Path, text: str, name: str, capsys: Captured) -> None:
        path.write_bytes(text.encode())
        path.with_suffix(".bin").write_bytes(np.array([4], np.int64).tobytes())
        code, said = run(capsys, "check", str(path))
        assert (code, said.count("\n")) == (1, 2)
        assert {finding["node"] for finding in findings(asked(capsys, "check", str(path)))} == {name}
        run(capsys, "check", str(path), "--format", "github")
        run(capsys, "convert", str(path), "--to", "onnx", "-o", str(path.with_suffix(".onnx")))

    @staticmethod
    def refused(path: Path, text: str, capsys: Captured) -> None:
        path.write_bytes(text.encode(errors="surrogatepass"))
        code, said = run(capsys, "check", str(path))
        assert code in {0, 1, 2}
        assert code < 2 or said.count("\n") == 1
        run(capsys, "check", str(path), "--json")
        run(capsys, "convert", str(path), "--node", "x", "--to", "onnx", "-o", str(path.with_suffix(".onnx")))


IR = """<?xml version="1.0"?><net name={name} version="11"><layers>
<layer id="0" name={name} type="Parameter" version="opset1"><data shape="2,3" element_type="f32"/>
<output><port id="0" precision="FP32" names={name}><dim>2</dim><dim>3</dim></port></output></layer>
<layer id="1" name={name} type="Const" version="opset1"><data element_type="i64" shape="1" offset="0" size="{size}"/>
<output><port id="0" precision="I64"><dim>1</dim></port></output></layer>
<layer id="2" name={name} type="Reshape" version="opset1"><data special_zero="false"/>
<input><port id="0"><dim>2</dim><dim>3</dim></port><port id="1"><dim>1</dim></port></input>
<output><port id="2" precision="FP32"><dim>4</dim></port></output></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/></edges></net>
"""
