"""Models as people hold them: every kind is taken everywhere, and none is changed."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import numpy_helper, printer

import onereshape as orx
from onereshape.formats.model import Model, refreshed
from onereshape.formats.onnx import onnx_encoding, onnx_held, onnx_large
from onereshape.formats.onnx.onnx_graphs import external_tensors
from onereshape.ground.errors import ReshapeError
from tests.budget import part
from tests.formats.given import YOLO, said, snapshot
from tests.models import external, model, rich, small

CORPUS = sorted(Path("tests/data/corpus").glob("*.onnx"))

KINDS: dict[str, tuple[Callable[[str], Any], str]] = {
    "path": (Path, "{path}"),
    "bytes": (lambda path: Path(path).read_bytes(), "bytes"),
    "bytearray": (lambda path: bytearray(Path(path).read_bytes()), "bytes"),
    "memoryview": (lambda path: memoryview(Path(path).read_bytes()), "bytes"),
    "file": (lambda path: io.BytesIO(Path(path).read_bytes()), "file object"),
    "ModelProto": (onnx.load, "ModelProto {graph}"),
    "onnx_ir.Model": (ir.load, "onnx_ir.Model {graph}"),
}
"""How each kind is made of a file, and what it is called."""


class TestEveryKind:
    @pytest.mark.parametrize("kind", KINDS)
    def test_is_loaded_checked_and_repaired_alike(self, kind: str) -> None:
        make, called = KINDS[kind]
        found = orx.load(make(YOLO))
        expected = orx.load(YOLO)

        assert found.path == called.format(path=YOLO, graph=expected.ir.graph.name)
        assert (found.format, found.reshapes) == ("onnx", expected.reshapes)
        here, there = (orx.check(given, batch=True) for given in (make(YOLO), YOLO))
        assert [replace(each, next=None) for each in here] == [replace(each, next=None) for each in there]
        fixed = orx.fix(make(YOLO), batch=True, certify=False)
        assert fixed.changes == orx.fix(YOLO, batch=True, certify=False).changes
        assert orx.check(fixed.model, batch=True) == []

    @pytest.mark.parametrize("kind", ["bytes", "file", "ModelProto", "onnx_ir.Model"])
    def test_is_certified_and_saved(self, kind: str, tmp_path: Path) -> None:
        make, _ = KINDS[kind]
        fixed = orx.fix(make(YOLO), batch=True)

        assert fixed.certificate.status == "proven"
        assert orx.certify(make(YOLO), fixed.model.proto(), batch=True).status == "proven"
        orx.save(make(YOLO), tmp_path / "same.onnx")
        expected = ir.to_proto(ir.load(YOLO)) if kind == "onnx_ir.Model" else onnx.load(YOLO)
        assert onnx.load(tmp_path / "same.onnx") == expected
        fixed.model.save(tmp_path / "fixed.onnx")
        assert onnx.load(tmp_path / "fixed.onnx") == fixed.model.proto()

    @pytest.mark.parametrize("kind", ["bytes", "ModelProto", "onnx_ir.Model"])
    @pytest.mark.parametrize("listed", [False, True])
    def test_is_another_export_or_a_witness(self, kind: str, listed: bool) -> None:
        make, _ = KINDS[kind]
        a, b, c = (make(f"tests/data/sizes/bert.dynamo.{name}.onnx") for name in "ABC")

        found = orx.fix(a, like=[c] if listed else c, witness=(b,) if listed else b)

        assert found.certificate.status == "proven"

    def test_a_model_is_taken_as_it_is(self) -> None:
        found = orx.load(YOLO)

        assert orx.load(found) is found

    def test_a_subclass(self) -> None:
        class Bytes(bytes):
            pass

        class Graph(ir.Model):
            pass

        held = ir.load(YOLO)
        assert orx.load(Bytes(Path(YOLO).read_bytes())).reshapes == orx.load(YOLO).reshapes
        assert orx.load(Graph(held.graph, ir_version=8)).path == f"onnx_ir.Model {held.graph.name}"

    @pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # torch's own
    def test_programs_of_torch_go_there_and_back(self) -> None:
        import torch

        class Flat(torch.nn.Module):
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return torch.nn.functional.relu(x).reshape(1, -1)

        program = torch.onnx.export(Flat().eval(), (torch.zeros(1, 3, 4),), dynamo=True, verbose=False)
        assert program is not None
        before = snapshot(program.model)
        found = orx.fix(program, batch=True)

        assert found.model.path == "ONNXProgram"
        assert found.certificate.status == "proven"
        assert snapshot(program.model) == before
        program.model = found.model.ir
        x = torch.randn(5, 3, 4)
        assert torch.equal(program(x)[0], torch.relu(x).reshape(5, 12))

    def test_results_go_on_to_onnxruntime(self) -> None:
        import onnxruntime

        fixed = orx.fix(onnx.load(YOLO), batch=True, certify=False)
        session = onnxruntime.InferenceSession(fixed.model.proto().SerializeToString())
        x = np.zeros([3, 8, 16, 16], np.float32)

        assert {output.shape[0] for output in session.run(None, {"x": x})} == {3}

    def test_nothing_is_imported_to_be_asked(self) -> None:
        code = (
            "import sys, onereshape as orx, io, pathlib; "
            f"content = pathlib.Path({YOLO!r}).read_bytes(); orx.load(io.BytesIO(content)); orx.load(content); "
            "print([name for name in ('torch', 'openvino', 'onnxruntime') if name in sys.modules])"
        )
        run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

        assert run.stdout.strip() == "[]"


class TestNothingIsChanged:
    @pytest.mark.parametrize("path", [*part(CORPUS, 5)], ids=lambda path: path.stem)
    def test_of_what_is_given(self, path: Path) -> None:
        for given in (onnx.load(path), ir.load(path)):
            before = snapshot(given)
            orx.check(given, batch=True)
            for copy in (True, False):
                try:
                    orx.fix(given, batch=True, simplify=True, certify=False, copy=copy)
                except ReshapeError as refusal:
                    assert refusal.code == "mixes-samples"  # noqa: PT017 - a refusal must change nothing either
            assert snapshot(given) == before

    @pytest.mark.parametrize("path", [*part(CORPUS, 2)], ids=lambda path: path.stem)
    def test_on_the_way_through(self, path: Path) -> None:
        proto, graph = onnx.load(path), ir.load(path)

        assert orx.load(proto).proto() == proto
        assert orx.load(graph).proto() == ir.to_proto(graph)
        assert orx.load(path).proto() == proto

    def test_what_onnx_ir_has_no_place_for(self) -> None:
        proto = rich()
        inside = [tensor for tensor in proto.graph.initializer if tensor.data_location != onnx.TensorProto.EXTERNAL]
        assert len(inside) < len(proto.graph.initializer)
        del proto.graph.initializer[:]
        proto.graph.initializer.extend(inside)

        assert orx.load(proto).proto() == proto

    def test_the_message_is_no_part_of_the_model(self) -> None:
        proto = small()
        found = orx.load(proto)
        found.proto().graph.node[0].name = "other"
        proto.graph.node[0].op_type = "Other"
        proto.graph.initializer[0].int64_data[0] = 7

        assert found.proto() == small()
        assert found.reshapes == orx.load(small()).reshapes == refreshed(found).reshapes

    def test_nodes_without_an_order(self) -> None:
        proto = model("g (float[2, 3] x) => (float[2, 3] y) { t = Relu(x) y = Neg(t) }")
        proto.graph.node.insert(0, proto.graph.node.pop())
        given = ir.from_proto(proto)
        before = snapshot(given)

        assert [node.op_type for node in orx.load(given).ir.graph] == ["Relu", "Neg"]
        assert snapshot(given) == before

    def test_what_some_tool_found_out_of_a_value_is_left_to_it(self) -> None:
        given = ir.from_proto(model("g (float[2, 3] x) => (float[3, 2] y) { y = Transpose<perm = [1, 0]>(x) }"))
        tensor = given.graph[0].outputs[0].const_value = ir.tensor(np.zeros([3, 2], np.float32), name="known")
        found = orx.load(given)

        assert found.ir.graph[0].outputs[0].const_value is None
        assert given.graph[0].outputs[0].const_value is tensor

    @pytest.mark.parametrize("suffix", ["onnx", "onnx.gz", "onnxtxt"])
    def test_bytes_are_written_as_they_were(self, suffix: str, tmp_path: Path) -> None:
        message = small().SerializeToString()
        content = {"onnx": message, "onnx.gz": gzip.compress(message), "onnxtxt": printer.to_text(small()).encode()}[
            suffix
        ]
        orx.load(content).save(tmp_path / f"same.{suffix}")

        assert (tmp_path / f"same.{suffix}").read_bytes() == content
        (tmp_path / "named_otherwise").write_bytes(content)
        assert orx.load(tmp_path / "named_otherwise").proto().graph.node[0].op_type == "Reshape"

    def test_other_formats(self, tmp_path: Path) -> None:
        layers = (
            '<layer id="0" name="x" type="Parameter" version="opset1"><data shape="?,6" element_type="f32"/>'
            '<output><port id="0" precision="FP32"><dim>-1</dim><dim>6</dim></port></output></layer>'
            '<layer id="1" name="y" type="Result" version="opset1"><input><port id="0"><dim>-1</dim><dim>6</dim></port>'
            "</input></layer>"
        )
        edges = '<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges>'
        xml = f'<?xml version="1.0"?><net name="n" version="11"><layers>{layers}</layers>{edges}</net>'.encode()
        json = b'{"version": "3.0", "graph": [], "input_ports": [], "output_ports": []}'
        for content, suffix, kind in ((xml, "xml", "openvino"), (json, "json", "onednn")):
            found = orx.load(content)
            found.save(tmp_path / f"same.{suffix}")
            assert (found.format, found.path) == (kind, "bytes")
            assert (tmp_path / f"same.{suffix}").read_bytes() == content
            assert orx.check(content) == []
            assert said(found, lambda model: model.ir) == "bytes is no ONNX model, and has no onnx_ir.Model"
            assert said(found, Model.proto) == "bytes is no ONNX model, and has no ModelProto"
        const = xml.replace(b'type="Parameter"', b'type="Const"')
        why = "is an OpenVINO IR with constants, which are in its .bin: give the path of its .xml or an openvino.Model"
        assert said(const) == f"bytes: {why}"


class TestWeightsInOtherFiles:
    def saved(self, folder: Path, location: str = "w.bin") -> onnx.ModelProto:
        body = "(float[1, 4] x) => (float[1, 4] y) <int64[2] s = {1, 4}> { t = Add(x, w) y = Reshape(t, s) }"
        proto = model(f"g {body}")
        proto.graph.initializer.append(external("w", [4], location, offset=0, length=16))
        if location == "w.bin":
            (folder / location).write_bytes(np.arange(4, dtype=np.float32).tobytes())
            (folder / "m.onnx").write_bytes(proto.SerializeToString())
        return proto

    def test_are_found_where_the_model_says(self, tmp_path: Path) -> None:
        self.saved(tmp_path)
        given = ir.load(tmp_path / "m.onnx")
        before = snapshot(given)
        found = orx.fix(given, batch=True)

        assert found.certificate.status == "proven"
        assert found.model.folder == str(tmp_path)
        arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in found.model.proto().graph.initializer}
        assert arrays["w"].tolist() == [0, 1, 2, 3]
        assert snapshot(given) == before
        found.model.save(tmp_path / "n.onnx")
        assert orx.certify(tmp_path / "m.onnx", tmp_path / "n.onnx", batch=True).status == "proven"
        (tmp_path / "else").mkdir()
        why = "its weights are in 'w.bin' beside the model that was read; save it in that folder, or have "
        where = tmp_path / "else" / "n.onnx"
        assert said(found.model, lambda model: model.save(where)).startswith(f"{where}: {why}")
        assert [str(tensor.base_dir) for tensor in external_tensors(given)] == [str(tmp_path)]

    def test_in_the_working_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.saved(tmp_path)
        monkeypatch.chdir(tmp_path)
        given = ir.load("m.onnx")
        found = orx.load(given)
        monkeypatch.chdir("/")

        assert [tensor.base_dir for tensor in external_tensors(given)] == [""]
        assert len(found.proto().graph.initializer[1].raw_data) == 16

    def test_of_a_message_are_nowhere(self, tmp_path: Path) -> None:
        proto = self.saved(tmp_path)
        why = "the data of 'w' are in the file 'w.bin', and nothing here says in which folder: "

        assert said(proto) == f"ModelProto g: {why}give the path of the model, or an onnx_ir.load(path)"
        assert said(proto.SerializeToString()).startswith(f"bytes: {why}")
        assert said(ir.from_proto(proto)) == (
            "onnx_ir.Model g: the data of 'w' are in the file 'w.bin', which is not in the working folder: "
            "onnx_ir.external_data.set_base_dir(model.graph, FOLDER) says where"
        )

    @pytest.mark.parametrize("location", ["../w.bin", "/etc/passwd", "a/../../w.bin", "C:\\w.bin", "link.bin"])
    def test_outside_of_the_folder_are_not_read(self, location: str, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "w.bin").write_bytes(bytes(16))
        (tmp_path / "in" / "link.bin").symlink_to(tmp_path / "w.bin")
        given = ir.from_proto(self.saved(tmp_path, location))
        ir.external_data.set_base_dir(given.graph, tmp_path / "in")

        assert said(given) == f"onnx_ir.Model g: the data of 'w' are in {location!r}, outside its own folder"

    def test_in_several_folders(self, tmp_path: Path) -> None:
        proto = self.saved(tmp_path)
        proto.graph.initializer.append(external("v", [4], "w.bin", offset=0, length=16))
        given = ir.from_proto(proto)
        for tensor, folder in zip(external_tensors(given), ("/a", "/b"), strict=True):
            tensor.base_dir = folder

        assert said(given) == (
            "onnx_ir.Model g: its data are in files of several folders, '/a' and '/b': save it to one first"
        )

    def test_that_are_gone_or_cut_off(self, tmp_path: Path) -> None:
        self.saved(tmp_path)
        found = orx.load(ir.load(tmp_path / "m.onnx"))
        (tmp_path / "w.bin").write_bytes(bytes(8))
        assert said(found, Model.proto) == "onnx_ir.Model g: the data of initializer w are cut off in 'w.bin'"
        assert "which has 8 bytes" in said(ir.load(tmp_path / "m.onnx"))
        (tmp_path / "w.bin").unlink()
        assert said(found, Model.proto) == (
            "onnx_ir.Model g: the data of initializer w in 'w.bin' cannot be read (No such file or directory)"
        )


class TestLargeModels:
    """What no message can hold, with a limit that tests can reach."""

    @pytest.fixture(autouse=True)
    def small_messages(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (onnx_large, onnx_held, onnx_encoding):
            monkeypatch.setattr(module, "LARGEST", 30_000)

    def large(self) -> onnx.ModelProto:
        proto = model(
            "g (float[1, 100] x) => (float[1, 100] y) <int64[2] s = {1, 100}> { t = MatMul(x, w) y = Reshape(t, s) }"
        )
        weights = np.random.default_rng(0).standard_normal([100, 100]).astype(np.float32)
        proto.graph.initializer.append(numpy_helper.from_array(weights, "w"))
        proto.graph.initializer[1].doc_string = "weights"
        proto.graph.initializer.append(numpy_helper.from_array(np.arange(5000, dtype=np.int8), "unused"))
        return proto

    @pytest.mark.parametrize("make", [lambda proto: proto, ir.from_proto], ids=["ModelProto", "onnx_ir.Model"])
    def test_are_saved_with_their_weights_beside(self, make: Any, tmp_path: Path) -> None:
        given = make(self.large())
        found = orx.fix(given, batch=True, certify=False).model
        found.save(tmp_path / "m.onnx")

        again = onnx.load(tmp_path / "m.onnx")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
        assert (tmp_path / "m.onnx").stat().st_size < 3000
        arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in again.graph.initializer}
        for tensor in self.large().graph.initializer[1:]:
            assert np.array_equal(arrays[tensor.name], numpy_helper.to_array(tensor))
        onnx.checker.check_model(tmp_path / "m.onnx")
        assert [finding.code for finding in orx.check(tmp_path / "m.onnx", batch=True)] == ["identity"]
        why = "its weights, over 2 GiB, go to 'm.onnx.data', which is there already: remove it first"
        where = tmp_path / "m.onnx"
        assert said(found, lambda model: model.save(where)) == f"{where}: {why}"
        where = tmp_path / "m.onnx.gz"
        why = "has more than 2 GiB of weights, which neither a packed nor a textual model holds"
        assert said(found, lambda model: model.save(where)) == f"{where}: {why}"
        size = sum(numpy_helper.to_array(tensor).nbytes for tensor in self.large().graph.initializer[1:]) + 32
        why = "bytes of weights, and a ModelProto holds less than 2 GiB: save(path) writes it"
        assert said(found, Model.proto).startswith(f"{found.path}: has {size}"[:-2])
        assert said(found, Model.proto).endswith(why)

    def test_nothing_is_left_of_what_cannot_be_written(self, tmp_path: Path) -> None:
        proto = self.large()
        constant = numpy_helper.from_array(np.zeros([100, 100], np.float32), "c")
        proto.graph.node.append(onnx.helper.make_node("Constant", [], ["c"], value=constant))

        assert "has more than 2 GiB in its nodes" in said(
            orx.load(proto), lambda model: model.save(tmp_path / "m.onnx")
        )
        assert [*tmp_path.iterdir()] == []
