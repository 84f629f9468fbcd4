"""The files of a case, format by format: a sound one, damaged in the ways that the format has."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

import ml_dtypes
import numpy as np
import onnx
import zarr
from onnx import numpy_helper, printer

from tests.formats.test_onednn_graph import graph, operator, tensor
from tests.formats.test_openvino_ir import V10
from tests.fuzz import graphs, odd
from tests.fuzz.messages import scrambled
from tests.fuzz.trees import json_text, scrambled_json, scrambled_xml

Files = dict[str, bytes]


def _onnx_bytes(random: Random) -> Files:
    return {"m.onnx": odd.damaged(graphs.sound(random).SerializeToString(), random), "w.bin": bytes(64)}


def _onnx_graph(random: Random) -> Files:
    proto = graphs.sound(random)
    graphs.damaged(proto, random)
    return {"m.onnx": proto.SerializeToString(), "w.bin": bytes(range(64))}


def _onnx_packed(random: Random) -> Files:
    proto = graphs.sound(random)
    if random.random() < 0.5:
        graphs.damaged(proto, random)
        return {"m.onnx.gz": gzip.compress(proto.SerializeToString(), mtime=0)}
    return {"m.onnx.gz": odd.damaged(gzip.compress(proto.SerializeToString(), mtime=0), random)}


@lru_cache(maxsize=64)
def _text(content: bytes) -> bytes:
    return printer.to_text(onnx.ModelProto.FromString(content)).encode()


def _onnx_text(random: Random) -> Files:
    content = _text(graphs.sound(random).SerializeToString())
    words = content.split(b" ")
    for _ in range(random.choice([0, 1, 1])):
        place, other = random.randrange(len(words)), random.randrange(len(words))
        words[place] = random.choice([words[other], b"", words[place] * 2, odd.text(random, []).encode()])
    return {"m.onnxtxt": odd.damaged(b" ".join(words), random) if random.random() < 0.3 else b" ".join(words)}


_DTYPES: list[Any] = [
    np.float32, np.int64, np.bool_, np.float16, np.complex64, np.uint8, np.int16, ">f8", "S3", "U2", "M8[s]", "O", "V3",
    ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e4m3fn, [("a", "<i4"), ("b", "<f4")],
]  # fmt: skip


def _array(random: Random) -> Any:
    dims = random.choice([(2, 3, 4), (2, 3), (6,), (), (0, 3), (1, 1), (4, 6)])
    count = int(np.prod(dims))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = np.arange(count).astype(random.choice(_DTYPES[:7] * 3 + _DTYPES[7:])).reshape(dims)
    return np.asfortranarray(array) if random.random() < 0.2 else array


def _npy_content(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def _npy(random: Random) -> Files:
    content = _npy_content(_array(random))
    if random.random() < 0.6:
        return {"x.npy": _headed(content, random)}
    return {"x.npy": odd.damaged(content, random) if random.random() < 0.5 else content}


_HEADERS = [
    "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
    "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
    "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}",
]

_ODD_WORDS = [
    "", "None,", "'|O',", "'<U99999999',", f"({'9' * 5000},", "(1e9,", "(True,", "(-1,", "((1,),", "lambda:0",
    "'\\ud800':", "'<f4\\x00',", "1_0,", "[", "{" * 300, "-" * 3000 + "1,", "'>M8[25Y]',", "('<f4', (2,)),", "0o7,",
    "1j,",
]  # fmt: skip


def _headed(content: bytes, random: Random) -> bytes:
    """An .npy whose header is one of Python's own, damaged in its words."""
    words = random.choice(_HEADERS).split(" ")
    for _ in range(random.choice([0, 0, 1, 1, 2])):
        place = random.randrange(len(words))
        drawn = [words[place] * 2, f"({odd.integer(random)},", f"{odd.integer(random)})", f"{odd.text(random, [])!r},"]
        words[place] = random.choice(drawn + _ODD_WORDS)
    header = " ".join(words).encode("utf-8", "replace")
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    version = random.choice([1] * 9 + [2, 3, 4])
    length = len(header) if random.random() < 0.95 else odd.integer(random) % 2**16
    head = struct.pack("<H" if version == 1 else "<I", length & 0xFFFF)
    return b"\x93NUMPY" + bytes([version, random.choice([0] * 19 + [1])]) + head + header + (content + bytes(24))[-24:]


def _npz(random: Random) -> Files:
    """An archive: of damaged members, of odd names, or damaged itself."""
    file = io.BytesIO()
    packing = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(file, "w", packing) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(random.choice([0, 1, 1, 1, 1, 1, 2])):
            name = random.choice(["x.npy", "x.npy", "x.npy", "y.npy", "x", " ", "../x.npy", "/x.npy", "é.npy"])
            content = _npy_content(_array(random))
            member = zipfile.ZipInfo(name)  # which has the same time whenever it is made
            archive.writestr(member, _headed(content, random) if random.random() < 0.3 else content, packing)
    content = file.getvalue()
    return {"x.npz": odd.damaged(content, random) if random.random() < 0.5 else content}


def _pb(random: Random) -> Files:
    array: Any = random.choice(
        [np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(4), np.array([["a", "b"]], object)]
    )
    proto = numpy_helper.from_array(array, "x")
    if random.random() < 0.3:
        proto.data_location = onnx.TensorProto.EXTERNAL
        location = random.choice(["w.bin", "../decoy/kept.bin", "out.npy", "x.pb", ""])
        proto.external_data.add(key="location", value=location)
        proto.external_data.add(key="length", value=random.choice(["24", "32", "9" * 5000, "-1", ""]))
    for _ in range(random.choice([0, 1, 1, 2])):
        scrambled(proto, random)
    content = proto.SerializeToString()
    return {"x.pb": odd.damaged(content, random) if random.random() < 0.2 else content, "w.bin": bytes(32)}


def _ir(random: Random) -> Files:
    root = ET.fromstring(V10.replace("\t", ""))  # noqa: S314 - ours
    weights = b"\xff" * 4 + np.array([0, -1], np.int32).tobytes()
    if random.random() < 0.8:
        scrambled_xml(root, random)
    content = ET.tostring(root)
    if random.random() < 0.3:
        content = odd.damaged(content, random)
    files = {"m.xml": content, "m.bin": odd.damaged(weights, random) if random.random() < 0.2 else weights}
    if random.random() < 0.1:
        del files["m.bin"]
    return files


def _onednn(random: Random) -> Files:
    kinds = ["StaticReshape", "Reshape", "DynamicReshape", "ReLU"]
    shape = [tensor(2, [2], "s64", "constant")]
    operators = []
    for number in range(random.choice([1, 1, 2])):
        kind = random.choice(kinds)
        made = operator(kind, f"r{number}")
        made["inputs"] += shape if kind in {"Reshape", "DynamicReshape"} else []
        operators.append(made)
    value: Any = graph(*operators)
    if random.random() < 0.9:
        value = scrambled_json(value, random)
    content = json_text(value)
    return {"m.json": odd.damaged(content, random) if random.random() < 0.2 else content}


@lru_cache(maxsize=64)
def _store(version: int, kind: int) -> Files:
    """A small sound store, by the names of its files."""
    dtype: Any = [np.float32, np.int64, np.bool_, ">i2", "U3", np.complex64][kind % 6]
    data = np.arange(24).reshape(4, 6).astype(dtype)
    options: dict[str, Any] = {"chunks": (2, 3)} if kind < 6 else {"chunks": (4, 6), "fill_value": None}
    if version == 3 and kind >= 8:
        options |= {"chunks": (2, 3), "shards": (4, 6)}
    if kind >= 6 and "fill_value" in options and version == 3:
        del options["fill_value"]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "x.zarr")
        made = zarr.create_array(path, shape=data.shape, dtype=data.dtype, zarr_format=version, **options)  # type: ignore[arg-type]
        made[...] = data
        made.attrs["units"] = "m"
        return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def _zarr(version: int) -> Callable[[Random], Files]:
    def files(random: Random) -> Files:
        found = dict(_store(version, random.randrange(10)))
        names = sorted(found)
        said = [name for name in names if name.endswith(("zarr.json", ".zarray", ".zattrs"))]
        chunks = [name for name in names if name not in said]
        for _ in range(random.choice([1, 1, 2])):
            if random.random() < 0.75:
                name = random.choice(said)
                found[name] = _damaged_json(found.get(name, b"{}"), random)
            else:
                name = random.choice(chunks)
                found[name] = odd.damaged(found.get(name, b""), random)
            if random.random() < 0.05:
                found.pop(random.choice(names), None)
        return found

    return files


def _damaged_json(content: bytes, random: Random) -> bytes:
    try:
        value = json.loads(content)
    except ValueError:
        return odd.damaged(content, random)
    return json_text(scrambled_json(value, random))


def _nothing(_: Random) -> Files:
    return {}


KINDS: dict[str, tuple[float, Callable[[Random], Files]]] = {
    "onnx-graph": (40, _onnx_graph),
    "onnx-bytes": (8, _onnx_bytes),
    "onnx.gz": (2, _onnx_packed),
    "onnxtxt": (6, _onnx_text),
    "npy": (8, _npy),
    "npz": (5, _npz),
    "pb": (6, _pb),
    "ir": (8, _ir),
    "onednn": (6, _onednn),
    "zarr2": (4, _zarr(2)),
    "zarr3": (4, _zarr(3)),
    "infer": (3, _nothing),
}
"""Each kind of case with its share and the maker of its files; the first file is what the command is given."""
