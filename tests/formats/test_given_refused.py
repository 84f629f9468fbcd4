"""What is given as a model and is none, or is damaged: each refusal is one sentence, whatever it is given as."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.formats import held as door
from onereshape.ground.errors import FormatError, ReshapeError
from tests.formats.damaging import damaged, graphs
from tests.formats.given import YOLO, said, snapshot
from tests.models import model, small

TAKEN = "a path, bytes, a binary file, an onnx.ModelProto, onnx_ir.Model, ONNXProgram or openvino.Model"


class Reader:
    """A file that does what it is told."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def read(self, _size: int = -1) -> Any:
        answer = self.answers.pop(0) if self.answers else b""
        if isinstance(answer, BaseException):
            raise answer
        return answer


class TestFiles:
    def test_in_any_pieces(self) -> None:
        content = Path(YOLO).read_bytes()
        pieces = [content[place : place + 7] for place in range(0, len(content), 7)]

        assert orx.load(Reader(*pieces)).proto() == onnx.load(YOLO)

    def test_that_are_open(self, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(small().SerializeToString())
        with path.open("rb") as file:
            assert orx.load(file).path == f"file {path}"
            why = "is empty, or was read to its end already: seek(0) goes back"
            assert said(file) == f"file {path}: {why}"
            file.seek(0)
            assert len(orx.load(file).reshapes) == 1
        assert said(file) == f"file {path}: cannot be read: ValueError: read of closed file"
        with path.open(encoding="latin-1") as text:
            assert said(text) == f'file {path}: is open as text: open it with "rb"'

    @pytest.mark.parametrize(
        ("answers", "why"),
        [
            (["text"], 'gives text: open it with "rb"'),
            ([None], "gives a NoneType where bytes are read"),
            ([3], "gives a int where bytes are read"),
            ([OSError(5, "Input/output error")], "cannot be read: Input/output error"),
            ([b"\x08", RuntimeError("\x1b[2J\nno")], "cannot be read: RuntimeError: \\x1b[2J"),
            ([b"nothing"] * 3, "begins like no model that is known here, which are ONNX (protobuf, gzip or text), "
             "OpenVINO (.xml) and oneDNN (.json); a path is given as a str"),
        ],
    )  # fmt: skip
    def test_that_do_not_give_a_model(self, answers: list[Any], why: str) -> None:
        assert said(Reader(*answers)) == f"file object: {why}"

    def test_without_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Endless:
            name = "\x1b[31m"

            def __init__(self, content: bytes) -> None:
                self.content, self.count = content, 0

            def read(self, _size: int) -> bytes:
                self.count += 1
                return self.content

        zeros = Endless(bytes(5000))
        assert "begins like no model" in said(zeros)
        assert zeros.count == 1
        monkeypatch.setattr(door, "_LARGEST", 100_000)
        why = "has more than 100000 bytes, which no model has without external data"
        assert said(Endless(b"\x08" * 5000)) == f"file \\x1b[31m: {why}"

    def test_an_interrupt_is_heard(self) -> None:
        with pytest.raises(KeyboardInterrupt):
            orx.load(Reader(KeyboardInterrupt()))


class BytesPath:
    def __fspath__(self) -> bytes:
        return b"model.onnx"


class TestWhatIsNoModel:
    @pytest.mark.parametrize(
        ("given", "why"),
        [
            (None, f"a model is given as {TAKEN}, not as NoneType"),
            (3, f"a model is given as {TAKEN}, not as int"),
            ([YOLO], f"a model is given as {TAKEN}, not as list"),
            ({}, f"a model is given as {TAKEN}, not as dict"),
            (BytesPath(), "a model is given as a BytesPath of bytes; make it one of str"),
            (onnx.GraphProto(), f"a model is given as {TAKEN}, not as GraphProto; onnx.helper.make_model(graph) makes "
             "a model of it"),
            (onnx.ModelProto(), "ModelProto: is no ONNX model: it has no IR version or no graph (cut off, or another "
             "message?)"),
            (b"", "bytes: is empty"),
            (b"model.onnx", "bytes: begins like no model that is known here, which are ONNX (protobuf, gzip or text), "
             "OpenVINO (.xml) and oneDNN (.json); a path is given as a str"),
            (b"\x08\x0a", "bytes: is no ONNX model: it has no IR version or no graph (cut off, or another message?)"),
            (b"\x08", "bytes: is no ONNX model: its bytes are not a protobuf ModelProto"),
            (b"\x1f\x8b\x08", "bytes: is a gzip file that is cut off, or that something follows"),
            (b"<ir_version: 8", "bytes: is no textual ONNX model: [ParseError at position (line: 1 column: 15)]"),
            (b"<net", "bytes: is not sound XML: unclosed token: line 1, column 0"),
            (b"{", "bytes: is not sound JSON: Expecting property name enclosed in double quotes: "
             "line 1 column 2 (char 1)"),
        ],
        ids=lambda given: type(given).__name__,
    )  # fmt: skip
    def test_is_refused_in_one_sentence(self, given: Any, why: str) -> None:
        assert said(given) == why
        assert said(given, orx.check) == why
        assert said(given, lambda each: orx.fix(each, batch=True)) == why
        assert said(given, lambda each: orx.save(each, "never.onnx")) == why
        assert not Path("never.onnx").exists()

    def test_a_view_that_was_released(self) -> None:
        view = memoryview(b"\x08")
        view.release()

        assert said(view) == "bytes: cannot be read: operation forbidden on released memoryview object"

    def test_modules_of_torch_and_results_are_sent_on(self) -> None:
        import torch

        assert said(torch.nn.ReLU()).endswith(
            "not as ReLU; torch.onnx.export(module, args, dynamo=True) makes an ONNXProgram of it"
        )
        assert said(orx.fix(small(), batch=True, certify=False)).endswith("not as Fixed; give its .model")

    def test_no_list_of_exports(self) -> None:
        why = f"like, or each of a list for it, is given as {TAKEN}, not as int"
        assert said(small(), lambda each: orx.fix(each, like=3)) == why  # type: ignore[arg-type]
        assert said(small(), lambda each: orx.fix(each, like=[3])).endswith("not as int")  # type: ignore[list-item]

    def test_names_are_shown_as_text(self) -> None:
        proto = small()
        proto.graph.name = "\x1b[2J" + "g" * 1000
        found = orx.load(proto)

        assert found.path.startswith(r"ModelProto \x1b[2Jggg")
        assert len(found.path) < 150
        assert repr(found).startswith(r"Model(onnx, ModelProto \x1b[2Jggg")
        assert repr(found).endswith("ggg, 1 Reshape)")
        assert len(repr(found)) < 120


class TestGraphsOfOnnxIr:
    def graph(self) -> ir.Model:
        return ir.from_proto(
            model("g (float[2, 3] x) => (float[2, 3] y) <float[3] w = {1, 2, 3}> { t = Add(x, w) y = Neg(t) }")
        )

    def test_a_circle(self) -> None:
        given = self.graph()
        add, neg = given.graph
        add.replace_input_with(0, neg.outputs[0])
        add.name, neg.name = "add", "neg"

        assert said(given) == "onnx_ir.Model g: its nodes are in a circle: add -> neg -> add"

    def test_a_value_from_nowhere(self) -> None:
        given = self.graph()
        given.graph[0].replace_input_with(0, ir.Value(name="nowhere"))

        assert said(given).startswith("onnx_ir.Model g: is not a sound ONNX model: ")

    def test_two_values_of_one_name(self) -> None:
        given = self.graph()
        given.graph[0].outputs[0].name = "x"

        assert said(given) == (
            "onnx_ir.Model g: has two values called 'x': onnx_ir.passes.common.NameFixPass() renames one"
        )

    def test_an_initializer_without_a_value(self) -> None:
        given = self.graph()
        given.graph.initializers["w"].const_value = None

        assert said(given) == "onnx_ir.Model g: its initializer 'w' has no value"

    def test_functions_and_all_that_is_said_of_them(self) -> None:
        body = "(float[1, 4] x) => (float[1, 4] y) { y = local.f(x) }"
        inner = "f (a) => (b) { s = Constant<value_ints = [1, 4]>() b = Reshape(a, s) }"
        proto = model(f'g {body} <domain: "local", opset_import: ["" : 21]> {inner}')
        proto.functions[0].doc_string = "doc"
        proto.functions[0].metadata_props.add(key="k", value="v")
        given = ir.from_proto(proto)
        before = snapshot(given)

        assert orx.load(given).proto() == ir.to_proto(given)
        assert orx.load(proto).proto() == proto
        assert len(orx.fix(given, batch=True).changes) == 1
        assert snapshot(given) == before


@pytest.mark.parametrize("seed", range(60))
def test_damaged_models_are_refused_alike_whatever_they_are_given_as(seed: int, tmp_path: Path) -> None:
    sound = graphs()
    proto = damaged(sound[seed % len(sound)], seed)
    path = tmp_path / "m.onnx"
    path.write_bytes(proto.SerializeToString())
    answers = [_answer(path), *(_answer(given) for given in (path.read_bytes(), io.BytesIO(path.read_bytes()), proto))]

    assert answers == [answers[0]] * 4
    before = proto.SerializeToString()
    try:
        graph = ir.from_proto(proto)
    except Exception:  # noqa: BLE001 - nobody holds such a one
        return
    _answer(graph)  # in our words, whatever it is
    assert proto.SerializeToString() == before


def _answer(given: Any) -> Any:
    try:
        return [(found.code, found.place, found.message) for found in orx.check(given, batch=True)]
    except ReshapeError as refusal:
        return refusal.code, refusal.sentence.partition(": ")[2]


@pytest.mark.parametrize("seed", range(40))
def test_damaged_bytes(seed: int) -> None:
    random = np.random.default_rng(seed)
    content = bytearray(Path(YOLO).read_bytes() if seed % 2 else gzip.compress(small().SerializeToString()))
    for _ in range(1 + seed % 5):
        content[random.integers(len(content))] = random.integers(256)
    del content[random.integers(1, len(content)) if seed % 3 == 0 else len(content) :]

    why = ""
    try:
        orx.load(content)
    except FormatError as refusal:
        why = refusal.sentence

    assert not why or why.startswith("bytes: ")
