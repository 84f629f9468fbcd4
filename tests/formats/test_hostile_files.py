"""Model files that are cut, damaged, hostile or something else: each is refused in one phrase, in little memory."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from onereshape.formats.model import load
from onereshape.formats.model_formats import SUFFIXES
from onereshape.ground.errors import FormatError
from tests.formats.test_onednn_graph import graph, operator
from tests.formats.test_openvino_ir import by_hand
from tests.models import PEAK, external, model, small, write


def refusal(path: str | Path) -> str:
    """Why a file is not read, without its name."""
    with pytest.raises(FormatError) as found:
        load(path)

    error = found.value
    assert error.code == "unreadable"
    assert error.fields["path"] == str(path)
    assert "\n" not in error.sentence
    return str(error.fields["why"])


def circle() -> onnx.ModelProto:
    return model("g (float[2] x, int64[1] s) => (y) { y = Reshape(b, s) a = Add(x, y) b = Relu(a) }")


def self_calling() -> onnx.ModelProto:
    function = '<domain: "local", opset_import: ["" : 21, "local" : 1]> f (v) => (w) { w = local.f(v) }'
    return model(f"g (float[2] x) => (y) {{ y = local.f(x) }} {function}")


def captured_circle() -> onnx.ModelProto:
    """A branch that uses what its own If makes."""
    proto = model(
        "g (float[2] x, bool c) => (y) { y = If <then_branch = a () => (float[2] t) { t = Relu(y) },"
        " else_branch = b () => (float[2] e) { e = Relu(x) }> (c) }"
    )
    assert proto.graph.node[0].attribute[0].g.node[0].input[0] == "y"
    return proto


def with_shape(tensor: TensorProto) -> onnx.ModelProto:
    proto = small()
    proto.graph.initializer[0].CopyFrom(tensor)
    return proto


def without(field: str) -> onnx.ModelProto:
    proto = small()
    proto.ClearField(field)
    return proto


def of_opset(version: int) -> onnx.ModelProto:
    proto = small()
    proto.opset_import[0].version = version
    return proto


BILLION = TensorProto(name="shape", data_type=TensorProto.INT64, dims=[10**9])
TOO_LONG = "initializer shape holds 1000000000 integers for the target of graph/Reshape#0, more than 65536"

ONNX = {
    "no graph": (without("graph"), "is no ONNX model: it has no IR version or no graph (cut off, or another message?)"),
    "no IR version": (without("ir_version"), "is no ONNX model: it has no IR version or no graph (cut off, or"),
    "no opset": (without("opset_import"), "is no ONNX model: it imports no opset (cut off?)"),
    "a future opset": (of_opset(99), "has a Reshape at graph/Reshape#0 of opset 99, and only 1 to 28 are known"),
    "opset 0": (of_opset(0), "has a Reshape at graph/Reshape#0 of opset 0, and only 1 to 28 are known"),
    "a circle": (circle(), "its nodes are in a circle: Reshape -> Add -> Relu -> Reshape"),
    "a circle through a branch": (captured_circle(), "its nodes are in a circle: If -> If"),
    "a function that calls itself": (self_calling(), "its functions call one another in a circle: f -> f"),
    "a billion integers that are not there": (
        with_shape(BILLION),
        "initializer shape has 0 of the 1000000000 elements that its dims announce",
    ),
    "integers that are not there": (
        with_shape(TensorProto(name="shape", data_type=TensorProto.INT64, dims=[9])),
        "initializer shape has 0 of the 9 elements that its dims announce",
    ),
    "a part of an integer": (
        with_shape(TensorProto(name="shape", data_type=TensorProto.INT64, dims=[2], raw_data=bytes(12))),
        "initializer shape has 1.5 of the 2 elements that its dims announce",
    ),
    "a negative dim": (
        with_shape(TensorProto(name="shape", data_type=TensorProto.INT64, dims=[-2])),
        "initializer shape has a negative dim: [-2]",
    ),
    "a type that is none": (
        with_shape(TensorProto(name="shape", data_type=99, dims=[2], raw_data=bytes(16))),
        "is not a sound ONNX model: 99 is not a valid DataType",
    ),
    "a name twice": (
        model("g (float[2] x) => (y) { y = Relu(x) y = Abs(x) }"),
        "its value 'y' is made twice, by Relu and Abs",
    ),
}


class TestOnnx:
    @pytest.mark.parametrize("case", ONNX)
    def test_unsound(self, case: str, tmp_path: Path) -> None:
        proto, why = ONNX[case]
        assert refusal(write(proto, tmp_path / "model.onnx")).startswith(why)

    def test_a_name_that_is_not_utf_8(self, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx"
        proto = small()
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
        proto.graph.node[0].attribute.add(name="allowzero", type=onnx.AttributeProto.INT, i=0)
        content = proto.SerializeToString()
        sound = "is not a sound ONNX model: "
        for name, why in {
            b"Reshape": "has a name that is not UTF-8",
            b"allowzero": f"{sound}Key must be a string, not <class 'bytes'>",
            b"shape": f"{sound}Value name must be a string, not <class 'bytes'>",
            b"batch": f"{sound}",
        }.items():
            path.write_bytes(content.replace(name, b"\xff" * len(name)))
            assert refusal(path).startswith(why)

    @pytest.mark.parametrize("name", [b"unused", b"spare", b"agraph", b"then_unused"])
    def test_a_name_that_no_node_has_and_that_is_not_utf_8(self, name: bytes, tmp_path: Path) -> None:
        proto = model(
            "agraph (float[2] x, float[2] unused, bool b) => (float[2] y) <float[1] spare = {1}> {"
            " y = If (b) <then_branch = then_unused () => (float[2] t) { t = Relu(x) },"
            " else_branch = e () => (float[2] f) { f = Abs(x) }> }"
        )
        path = tmp_path / "model.onnx"
        path.write_bytes(proto.SerializeToString().replace(name, b"\xff" * len(name)))
        assert "UTF-8" in refusal(path) or "must be a string" in refusal(path)

    def test_every_cut_is_refused_or_sound(self, tmp_path: Path) -> None:
        """A message that ends between two fields may be whole; whatever is read must be viewed without a crash."""
        content = small().SerializeToString()
        path = tmp_path / "model.onnx"
        read = 0
        for length in range(len(content)):
            path.write_bytes(content[:length])
            try:
                load(path)
                read += 1
            except FormatError as error:
                assert error.code == "unreadable"  # noqa: PT017
        assert read <= 2

    def test_damaged_bytes(self, tmp_path: Path) -> None:
        content = bytearray(small().SerializeToString())
        draw = random.Random(1)  # noqa: S311
        path = tmp_path / "model.onnx"
        for _ in range(400):
            damaged = content.copy()
            for _ in range(draw.randint(1, 4)):
                damaged[draw.randrange(len(damaged))] = draw.randrange(256)
            path.write_bytes(damaged)
            try:
                found = load(path).reshapes
            except FormatError as error:
                assert error.code == "unreadable"  # noqa: PT017
                continue
            for entry in found:
                dims = [*(entry.data or ()), *(entry.target or ()), *(entry.output or ())]
                assert all(dim is None or isinstance(dim, int | str) for dim in dims)
                assert all(isinstance(text, str) for text in (entry.name, entry.target_from, *entry.attributes))

    @pytest.mark.parametrize(
        "location",
        ["../w.bin", "a/../../w.bin", "/etc/hostname", "C:\\w.bin", "..\\w.bin", "\\w.bin", "", "link", "loop"],
    )
    @pytest.mark.parametrize("used", [True, False], ids=["target", "weight"])
    def test_external_data_outside(self, location: str, used: bool, tmp_path: Path) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        (tmp_path / "w.bin").write_bytes(np.array([-1, 3]).tobytes())
        (folder / "link").symlink_to(tmp_path / "w.bin")
        (folder / "loop").symlink_to(folder / "loop")
        proto = small()
        tensor = external("shape" if used else "w", [2], location, TensorProto.INT64)
        if used:
            proto.graph.initializer[0].CopyFrom(tensor)
        else:
            proto.graph.initializer.append(tensor)

        why = refusal(write(proto, folder / "model.onnx"))
        assert "outside its own folder" in why or "which is no file" in why

    @pytest.mark.parametrize("place", ["a branch", "a function", "a constant"])
    def test_external_data_outside_wherever_they_hide(self, place: str, tmp_path: Path) -> None:
        tensor = external("w", [2], "../w.bin", TensorProto.INT64)
        constant = helper.make_node("Constant", [], ["k"])
        constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t.CopyFrom(tensor)
        if place == "a function":
            function = '<domain: "local", opset_import: ["" : 21]> f (v) => (w) { w = Relu(v) }'
            proto = model(f"g (float[2] x) => (y) {{ y = local.f(x) }} {function}")
            proto.functions[0].node.append(constant)
        else:
            proto = captured_circle()
            branch = proto.graph.node[0].attribute[0].g
            branch.node[0].input[0] = "x"
            if place == "a branch":
                branch.initializer.append(tensor)
            else:
                branch.node.append(constant)

        assert (
            refusal(write(proto, tmp_path / "model.onnx"))
            == "the data of 'w' are in '../w.bin', outside its own folder"
        )

    def test_external_data_that_are_not_all_there(self, tmp_path: Path) -> None:
        (tmp_path / "w.bin").write_bytes(bytes(20))
        path = tmp_path / "model.onnx"
        for said, why in {
            (8, 16): "the data of 'shape' are at bytes 8 to 24 of 'w.bin', which has 20 bytes",
            (-8, 16): "the data of 'shape' are at bytes -8 to 8 of 'w.bin', which has 20 bytes",
            (0, 8): "the data of 'shape' are 8 bytes long, but its dims need 16",
        }.items():
            tensor = external("shape", [2], "w.bin", TensorProto.INT64, offset=said[0], length=said[1])
            found = refusal(write(with_shape(tensor), path))
            assert why in found or "not a sound ONNX model" in found
        assert refusal(write(with_shape(external("shape", [2], "w.bin", TensorProto.INT64, offset=8)), path)) == (
            "the data of 'shape' are at bytes 8 to 24 of 'w.bin', which has 20 bytes"
        )
        assert refusal(write(with_shape(external("shape", [2], "gone", TensorProto.INT64)), path)) == (
            "the data of initializer shape are in 'gone', which is not there"
        )

    def test_a_billion_external_integers(self, tmp_path: Path) -> None:
        with (tmp_path / "w.bin").open("wb") as file:
            file.truncate(8 * 10**9)
        proto = with_shape(external("shape", [10**9], "w.bin", TensorProto.INT64))
        assert refusal(write(proto, tmp_path / "model.onnx")) == TOO_LONG

    def test_a_fifo_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        proto = with_shape(external("shape", [2], "fifo", TensorProto.INT64))
        assert refusal(write(proto, tmp_path / "model.onnx")) == "the data of 'shape' are in 'fifo', which is no file"
        os.mkfifo(tmp_path / "fifo.onnx")
        assert refusal(tmp_path / "fifo.onnx") == "is not a regular file"

    def test_deep_branches(self, tmp_path: Path) -> None:
        """A thousand graphs, each in an attribute of a node of the next; built by hand, for onnx refuses to."""
        graph = b""
        for _ in range(1000):
            for field in (6, 5, 1):  # g of an attribute, attribute of a node, node of a graph
                graph = bytes([field << 3 | 2]) + varint(len(graph)) + graph
        path = tmp_path / "model.onnx"
        path.write_bytes(b"\x08\x08" + b"\x3a" + varint(len(graph)) + graph)
        assert refusal(path) == "is no ONNX model: its bytes are not a protobuf ModelProto"


def varint(number: int) -> bytes:
    found = []
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


class TestPackedAndTextual:
    def test_a_gzip_bomb(self, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx.gz"
        path.write_bytes(gzip.compress(bytes(100 << 20), 9))
        assert refusal(path) == "unpacks to more than 67108864 bytes, which no model of its size does"

    @pytest.mark.parametrize("cut", [slice(-4), slice(1, None)])
    def test_no_gzip(self, cut: slice, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx.gz"
        path.write_bytes(gzip.compress(small().SerializeToString())[cut])
        assert "gzip file" in refusal(path)

    @pytest.mark.parametrize(
        "text",
        [
            "g (" + "seq(" * 200_000 + "float" + ")" * 200_000 + " x) => (y) { y = Relu(x) }",
            "g (" + 'seq(")"' * 100 + " x)",
            "g (float x) => (y) {" + " y = If <a = g () => (float t) {" * 1000,
        ],
        ids=["types", "hidden", "graphs"],
    )
    def test_deep_texts(self, text: str, tmp_path: Path) -> None:
        """Onnx's own parser overruns the stack on the first."""
        path = tmp_path / "model.onnxtxt"
        path.write_text(f'<ir_version: 8, opset_import: ["" : 18]> {text}', encoding="utf-8")
        assert refusal(path) == "has brackets within brackets, more than 64 deep"

    @pytest.mark.parametrize("content", [b"", b"g (", b"\xff\xfe", b"(" * 50])
    def test_no_texts(self, content: bytes, tmp_path: Path) -> None:
        path = tmp_path / "model.onnxtxt"
        path.write_bytes(content)
        assert refusal(path).startswith(("is no textual ONNX model: ", "is empty"))


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE net [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12))
    + ']><net version="11">&m;</net>'
)
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE net [<!ENTITY a SYSTEM "file:///etc/passwd">]><net version="11">&a;</net>'
DECLARES = "declares a document type or entities, which no IR needs and which are not read"

XML = {
    "an entity bomb": (BOMB.encode(), DECLARES),
    "an outside entity": (OUTSIDE.encode(), DECLARES),
    "an outside document type": (b'<!DOCTYPE net SYSTEM "http://localhost/x.dtd"><net version="11"/>', DECLARES),
    "deep": (
        b'<net version="11">' + b"<a>" * 1_000_000,
        "is not sound XML: elements within elements, more than 256 deep",
    ),
    "empty": (b"", "is not sound XML: no element found"),
    "cut off": (b'<net version="11"><layers>', "is not sound XML: no element found"),
    "another encoding": (b'<?xml version="1.0" encoding="nope"?><net/>', "is not sound XML: unknown encoding"),
}


@pytest.mark.parametrize("case", XML)
def test_xml(case: str, tmp_path: Path) -> None:
    content, why = XML[case]
    path = tmp_path / "model.xml"
    path.write_bytes(content)
    assert refusal(path).startswith(why)


@pytest.mark.parametrize("suffix", SUFFIXES)
class TestEverySuffix:
    def test_random_bytes(self, suffix: str, tmp_path: Path) -> None:
        draw = random.Random(suffix)  # noqa: S311
        path = tmp_path / f"model{suffix}"
        for size in (1, 2, 10, 100, 10_000, 1_000_000):
            path.write_bytes(draw.randbytes(size))
            assert refusal(path)

    def test_the_files_of_the_others(self, suffix: str, tmp_path: Path) -> None:
        contents = {
            ".onnx": small().SerializeToString(),
            ".onnx.gz": gzip.compress(small().SerializeToString()),
            ".xml": by_hand(tmp_path).read_bytes(),
            ".json": str(graph(operator())).replace("'", '"').encode(),
            ".npy": b"\x93NUMPY\x01\x00",
            ".pkl": b"\x80\x04\x95\x1f\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
        }
        for other, content in contents.items():
            if other != suffix:
                path = tmp_path / f"model{suffix}"
                path.write_bytes(content)
                assert refusal(path)

    def test_no_file(self, suffix: str, tmp_path: Path) -> None:
        (tmp_path / f"folder{suffix}").mkdir()
        assert refusal(tmp_path / f"folder{suffix}") == "is a folder"
        assert refusal(tmp_path / f"gone{suffix}") == "No such file or directory"


def test_another_name(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    why = "is not a model file that is known here; their names end in .onnx, .onnx.gz, .onnxtxt, .xml, .json"
    assert refusal(tmp_path / "notes.txt") == why
    assert refusal("a\0b.onnx") == "is not a path"


@pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
def test_little_memory_and_little_time(tmp_path: Path) -> None:
    """All that is hostile by its size, in a process that may not grow by more than 300 MB."""
    write(with_shape(BILLION), tmp_path / "billion.onnx")
    write(with_shape(external("shape", [10**9], "w.bin", TensorProto.INT64)), tmp_path / "external.onnx")
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(8 * 10**9)
    with (tmp_path / "hole.onnx").open("wb") as file:
        file.truncate(2**33)
    for name in ("hole.xml", "hole.json"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(2**33)
    (tmp_path / "bomb.onnx.gz").write_bytes(gzip.compress(bytes(1 << 28), 9))
    (tmp_path / "bomb.xml").write_text(BOMB, encoding="utf-8")
    (tmp_path / "deep.json").write_text('{"graph": ' + "[" * 1_000_000, encoding="utf-8")
    code = f"""{PEAK}
import glob
import onnx, onnx_ir
from onereshape.ground.errors import FormatError
from onereshape.formats.model import load
before = peak()
for name in sorted(glob.glob("*.*")):
    try:
        load(name)
    except FormatError:
        print(name)
print(peak() - before)
"""
    start = time.monotonic()
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)  # noqa: S603
    *refused, grown = run.stdout.split()

    assert refused == [
        "billion.onnx",
        "bomb.onnx.gz",
        "bomb.xml",
        "deep.json",
        "external.onnx",
        "hole.json",
        "hole.onnx",
        "hole.xml",
        "w.bin",
    ]
    assert int(grown) < 300_000
    assert time.monotonic() - start < 30
