"""Files that are cut, damaged, hostile or something else: each is refused in one clear phrase."""

from __future__ import annotations

import errno
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

from onereshape.formats.tensors.tensor import Tensor
from onereshape.formats.tensors.tensor_files import read_tensor, write_tensor
from onereshape.ground.errors import FormatError
from onereshape.ground.numpy_types import Array
from tests.formats.tensors import refusal, same


def header(descr: str = "'<f4'", order: str = "False", dims: str = "(2, 3)", extra: str = "") -> bytes:
    """The start of a .npy file."""
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {dims}{extra}}}\n".encode("latin-1")
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


UNSOUND_NPY = {
    "": "is empty",
    "1,2,3\n": "is not a .npy file: its first bytes are not NumPy's signature",
    "\x93NUMPY": "is not a .npy file: its first bytes are not NumPy's signature",
    "\x93NUMPY\x04\x00\x10\x00": "has version 4 of the .npy format, and only 1, 2 and 3 are known",
    "\x93NUMPY\x01\x00\x10": "is cut off within its header",
    "\x93NUMPY\x01\x00\x10\x00{": "is cut off within its header",
    "\x93NUMPY\x02\x00\xff\xff\xff\x7f{": "has a header of 2147483647 bytes, beyond the limit of 10000",
    "\x93NUMPY\x01\x00\x04\x00f(x)": "has a header that is not a Python literal",
    "\x93NUMPY\x03\x00\x02\x00\x00\x00\xff\xff": "has a header that is not a Python literal",
    "\x93NUMPY\x01\x00\x10\x27" + "(" * 10000: "has a header that is not a Python literal",
    "\x93NUMPY\x01\x00\x02\x00[]": "has a header without exactly 'descr', 'fortran_order' and 'shape'",
    header(extra=", 'x': 1").decode("latin-1"): "has a header without exactly 'descr', 'fortran_order' and 'shape'",
    header(dims="[2, 3]").decode("latin-1"): "has a header whose shape is [2, 3]",
    header(dims="(2, -3)").decode("latin-1"): "has a header whose shape is (2, -3)",
    header(dims="(2, True)").decode("latin-1"): "has a header whose shape is (2, True)",
    header(order="0").decode("latin-1"): "has a header whose fortran_order is 0",
    header("'float33'").decode("latin-1"): "has items of an unknown type: 'float33'",
    header("''").decode("latin-1"): "has items of an unknown type: ''",
    header("3").decode("latin-1"): "has items of an unknown type: 3",
    header("[('a',)]").decode("latin-1"): "has items of an unknown type: [('a',)]",
    header("('<f4', (2,))").decode("latin-1"): "has items that are arrays: ('<f4', (2,))",
    header("'|O'").decode("latin-1"): "holds pickled Python objects, which could run any code and are never loaded",
    header("[('a', '|O')]").decode("latin-1"): (
        "holds pickled Python objects, which could run any code and are never loaded"
    ),
    header().decode("latin-1") + 23 * "x": "is cut off: 24 bytes announced for [2, 3], 23 found",
    header().decode("latin-1") + 25 * "x": "has something after its array: 24 bytes announced for [2, 3], 25 found",
}


class TestUnsoundNpy:
    @pytest.mark.parametrize(("content", "why"), UNSOUND_NPY.items(), ids=range(len(UNSOUND_NPY)))
    def test_refused(self, content: str, why: str, tmp_path: Path) -> None:
        path = tmp_path / "a.npy"
        path.write_bytes(content.encode("latin-1"))

        assert refusal(path) == why

    @pytest.mark.parametrize("dims", [(0, *[1] * 64), (0, 2**63)])
    def test_beyond_numpy(self, dims: tuple[int, ...], tmp_path: Path) -> None:
        (tmp_path / "a.npy").write_bytes(header(dims=str(dims)))

        assert refusal(tmp_path / "a.npy").startswith("has dims that NumPy cannot hold (")

    def test_objects_are_not_unpickled(self, tmp_path: Path) -> None:
        class Bomb:
            def __reduce__(self) -> tuple[Any, ...]:
                return (Path(tmp_path / "burst").touch, ())

        np.save(tmp_path / "a.npy", np.array([Bomb()], object), allow_pickle=True)
        np.savez(tmp_path / "b.npz", x=np.array([Bomb()], object))
        assert "pickled" in refusal(tmp_path / "a.npy")
        with pytest.raises(FormatError, match="pickled"):
            read_tensor(str(tmp_path / "b.npz"))

        assert not (tmp_path / "burst").exists()

    def test_not_a_file(self, tmp_path: Path) -> None:
        (tmp_path / "dir.npy").mkdir()
        os.mkfifo(tmp_path / "pipe.npy")
        assert refusal(tmp_path / "dir.npy") == "is a folder"
        assert refusal(tmp_path / "pipe.npy") == "is not a regular file"
        assert refusal(tmp_path / "none.npy") == "No such file or directory"
        assert refusal(tmp_path / "x.txt") == "is not named as a tensor file; the names end in .npy, .npz, .pb"

    @pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.pb"])
    def test_no_permission(self, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_tensor(str(tmp_path / name), Tensor(np.zeros(3)))

        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

        monkeypatch.setattr(Path, "open", refuse)
        monkeypatch.setattr(zipfile.ZipFile, "__init__", refuse)
        monkeypatch.setattr(zipfile.ZipFile, "__del__", lambda _: None)
        assert refusal(tmp_path / name) == "Permission denied"


def edited(edit: Callable[[Any], None], array: Array | None = None) -> bytes:
    """A tensor of ONNX, float [2, 3] unless said otherwise, with something changed."""
    proto = numpy_helper.from_array(np.zeros((2, 3), np.float32) if array is None else array)
    edit(proto)
    return bytes(proto.SerializeToString())


def set_fields(**fields: Any) -> Callable[[Any], None]:
    def edit(proto: Any) -> None:
        for name, value in fields.items():
            if isinstance(value, list):
                getattr(proto, name)[:] = value
            else:
                setattr(proto, name, value)

    return edit


NOT_A_TENSOR = "is no ONNX tensor: it has no element type (a whole model, or another message?)"
UNSOUND_PB = {
    "empty": (b"", "is empty"),
    "noise": (bytes(range(200)), "is no ONNX tensor: its bytes are not a protobuf TensorProto"),
    "text": (b"not a tensor", "is no ONNX tensor: its bytes are not a protobuf TensorProto"),
    "a model": (onnx.ModelProto(ir_version=10, producer_name="x").SerializeToString(), NOT_A_TENSOR),
    "type 99": (edited(set_fields(data_type=99)), "has elements of type 99, which ONNX does not define"),
    "cut": (edited(set_fields(raw_data=bytes(23))), "has 23 bytes, but [2, 3] of float needs 24"),
    "dims": (edited(set_fields(dims=[2, 4])), "has 24 bytes, but [2, 4] of float needs 32"),
    "negative": (edited(set_fields(dims=[-2, -3])), "has a negative dim: [-2, -3]"),
    "no data": (edited(set_fields(raw_data=b"")), "has 0 of float_data, but [2, 3] of float needs 6"),
    "twice": (edited(set_fields(float_data=[1.0])), "has its data twice, in float_data and raw_data"),
    "long int4": (
        edited(set_fields(raw_data=bytes(9)), np.zeros((2, 3), ml_dtypes.int4)),
        "has 9 bytes, but [2, 3] of int4 needs 3",
    ),
    "long uint2": (
        edited(set_fields(raw_data=bytes(3)), np.zeros((2, 3), ml_dtypes.uint2)),
        "has 3 bytes, but [2, 3] of uint2 needs 2",
    ),
    "strings": (
        edited(set_fields(string_data=[b"a"]), np.array(["a", "b"], object)),
        "has 1 of string_data, but [2] of string needs 2",
    ),
    "raw strings": (
        edited(set_fields(data_type=8)),
        "has 0 of string_data, but [2, 3] of string needs 6",
    ),
    "range": (
        edited(set_fields(raw_data=b"", dims=[2], int32_data=[1, 300]), np.zeros(2, np.uint8)),
        "has 300 in int32_data, which is no uint8",
    ),
    "uint32": (
        edited(set_fields(raw_data=b"", dims=[1], uint64_data=[2**32]), np.zeros(1, np.uint32)),
        "has 4294967296 in uint64_data, which is no uint32",
    ),
    "bool": (
        edited(set_fields(raw_data=b"", dims=[1], int32_data=[2]), np.zeros(1, np.bool_)),
        "has 2 in int32_data, which is no bool",
    ),
    "float16": (
        edited(set_fields(raw_data=b"", dims=[1], int32_data=[65536]), np.zeros(1, np.float16)),
        "has 65536 in int32_data, which is no float16",
    ),
    "segment": (edited(lambda proto: proto.segment.SetInParent()), "is one segment of a larger tensor"),
    "name": (
        edited(set_fields(name="NAME")).replace(b"NAME", b"\xff" * 4),
        "has a name or a description that is not UTF-8",
    ),
    "65 dims": (edited(set_fields(raw_data=b"", dims=[0, *[1] * 64])), None),
}


class TestUnsoundPb:
    def test_a_type_of_no_reshape(self, tmp_path: Path) -> None:
        (tmp_path / "a.pb").write_bytes(edited(set_fields(data_type=27)))
        known = hasattr(TensorProto, "FLOAT6E2M3")  # to the installed onnx
        why = "float6e2m3, which no Reshape takes" if known else "27, which ONNX does not define"
        assert refusal(tmp_path / "a.pb") == f"has elements of type {why}"

    @pytest.mark.parametrize(("content", "why"), UNSOUND_PB.values(), ids=UNSOUND_PB)
    def test_refused(self, content: bytes, why: str | None, tmp_path: Path) -> None:
        (tmp_path / "a.pb").write_bytes(content)
        found = refusal(tmp_path / "a.pb")
        if why is None:
            assert found.startswith("has dims that NumPy cannot hold (")
        else:
            assert found == why


def external(path: Path, location: str, **more: str) -> None:
    """Writes a tensor of three floats whose data are elsewhere."""
    proto = TensorProto(data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **more}.items():
        proto.external_data.add(key=key, value=value)
    path.write_bytes(proto.SerializeToString())


class TestExternalData:
    def test_beside_the_file(self, tmp_path: Path) -> None:
        values = np.arange(3, dtype=np.float32)
        (tmp_path / "w.bin").write_bytes(b"pad." + values.tobytes() + b"rest")
        external(tmp_path / "a.pb", "w.bin", offset="4", length="12", unheard_of="x")
        tensor = read_tensor(str(tmp_path / "a.pb"))
        assert same(tensor.array, values)
        write_tensor(str(tmp_path / "b.pb"), tensor)
        (tmp_path / "w.bin").unlink()

        assert same(read_tensor(str(tmp_path / "b.pb")).array, values)

    @pytest.mark.parametrize(
        "location", ["../w.bin", "/w.bin", "x/../../w.bin", "..\\w.bin", "C:\\w.bin", "link.bin", "loop.bin"]
    )
    def test_outside_its_folder(self, location: str, tmp_path: Path) -> None:
        (tmp_path / "in").mkdir()
        (tmp_path / "w.bin").write_bytes(bytes(12))
        (tmp_path / "in" / "link.bin").symlink_to(tmp_path / "w.bin")
        (tmp_path / "in" / "loop.bin").symlink_to(tmp_path / "in" / "loop.bin")
        external(tmp_path / "in" / "a.pb", location)
        why = f"its data are in {location!r}, outside its own folder, and are not read"
        assert refusal(tmp_path / "in" / "a.pb") == why

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ({"location": "none.bin"}, "its data are in 'none.bin', which is not a file beside it"),
            ({"location": ""}, "has its data in another file, and does not say in which"),
            ({"offset": "many"}, "has external data at offset 'many' of length None, which are no numbers"),
            ({"length": ""}, "has external data at offset '0' of length '', which are no numbers"),
            ({"length": "-1"}, "has external data at offset '0' of length '-1', which are no numbers"),
            ({"length": "13"}, "has 13 bytes in 'w.bin', but [3] of float needs 12"),
            ({"length": "11"}, "has 11 bytes in 'w.bin', but [3] of float needs 12"),
            ({"offset": "1"}, "has 11 bytes in 'w.bin', but [3] of float needs 12"),
            ({"offset": "1", "length": "12"}, "has 11 bytes in 'w.bin', but [3] of float needs 12"),
            ({"offset": "99"}, "has 0 bytes in 'w.bin', but [3] of float needs 12"),
        ],
    )
    def test_not_to_be_had(self, said: dict[str, str], why: str, tmp_path: Path) -> None:
        (tmp_path / "w.bin").write_bytes(bytes(12))
        external(tmp_path / "a.pb", **{"location": "w.bin", **said})
        assert refusal(tmp_path / "a.pb") == why

    def test_no_permission(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "w.bin").write_bytes(bytes(12))
        external(tmp_path / "a.pb", "w.bin")
        real = Path.open

        def refuse(path: Path, mode: str) -> Any:
            if path.name == "w.bin":
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return real(path, mode)

        monkeypatch.setattr(Path, "open", refuse)
        assert refusal(tmp_path / "a.pb") == "its data in 'w.bin' cannot be read (Permission denied)"


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb"])
def test_damage_is_refused_or_harmless(suffix: str, tmp_path: Path) -> None:
    """Whatever bit of a file is turned and wherever it ends, nothing but a FormatError comes out."""
    path = tmp_path / f"a{suffix}"
    write_tensor(str(path), Tensor(np.arange(6, dtype=np.int16).reshape(2, 3), "x"))
    whole = path.read_bytes()
    damaged = [whole[:end] for end in range(len(whole))]
    damaged += [
        whole[:index] + bytes([byte ^ turned]) + whole[index + 1 :]
        for index, byte in enumerate(whole)
        for turned in (1, 0x80, 0xFF)
    ]
    refused = 0
    for content in damaged:
        path.unlink()  # a file that is written over is flushed to the disk by some systems, each time
        path.write_bytes(content)
        try:
            read_tensor(str(path))
        except FormatError:
            refused += 1
    assert len(whole) <= refused < len(damaged)  # another value is none the file could tell
