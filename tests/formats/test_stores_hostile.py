"""Stores from strangers: links, pipes, bombs, codecs that run code, metadata that lie.  One line, nothing written."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr
from numcodecs import (
    BZ2,
    LZ4,
    LZMA,
    AsType,
    BitRound,
    Blosc,
    Delta,
    FixedScaleOffset,
    GZip,
    Quantize,
    Shuffle,
    Zlib,
    Zstd,
)

from onereshape.formats.stores.codecs import CodecError, decompress
from tests.commands import Captured, refused, said
from tests.formats.stored import DATA, files, folder_with_stores, held, run, stored  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("here")
OUT = ("--target", "-1", "-o", "y.zarr")


def chunk(path: str) -> Path:
    """Some chunk of a store."""
    return next(one for one in sorted(Path(path).rglob("*")) if one.is_file() and not one.name.startswith((".z", "z")))


def refusal(capsys: Captured, path: str, *words: str) -> str:
    """What is said, in one line, by a run that writes nothing."""
    before = files()
    code, text = refused(capsys, *run(path, *(words or OUT)))
    assert code == 2
    assert text.count("\n") <= 1
    assert files() == before
    return text


class TestFiles:
    """What lies where chunks and metadata should."""

    @pytest.mark.parametrize("version", [2, 3])
    @pytest.mark.parametrize("target", ["/etc/hostname", "secret", "x.zarr/zarr.json"])
    def test_a_chunk_that_is_a_link(self, version: Any, target: str, capsys: Captured) -> None:
        Path("secret").write_bytes(DATA[:2, :3].tobytes())
        stored("v.zarr", DATA, (2, 3), zarr_format=version, compressors=None)
        one = chunk("v.zarr")
        one.unlink()
        one.symlink_to(Path(target).absolute())
        assert "is a symbolic link, and links in a store are not followed" in refusal(capsys, "v.zarr")

    def test_a_folder_that_is_a_link(self, capsys: Captured) -> None:
        shutil.move("x.zarr/c/0", "elsewhere")
        Path("x.zarr/c/0").symlink_to(Path("elsewhere").absolute())
        assert "'c/0' in it is a symbolic link" in refusal(capsys, "x.zarr")

    @pytest.mark.parametrize("name", ["zarr.json", "c/0/0"])
    def test_a_pipe(self, name: str, capsys: Captured) -> None:
        Path("x.zarr", name).unlink()
        os.mkfifo(Path("x.zarr", name))
        assert f"{name!r} in it is not a regular file" in refusal(capsys, "x.zarr")

    @pytest.mark.parametrize("words", [OUT, ("--target", "-1", "-o", "y.npy", "--memory", "1GB")])
    def test_an_input_that_is_a_pipe(self, words: tuple[str, ...], capsys: Captured) -> None:
        os.mkfifo("p.npy")
        assert "is not a regular file" in refusal(capsys, "p.npy", *words)

    @pytest.mark.parametrize("name", ["zarr.json", "c/0/0"])
    def test_a_folder_in_place_of_a_file(self, name: str, capsys: Captured) -> None:
        Path("x.zarr", name).unlink()
        Path("x.zarr", name).mkdir()
        assert f"{name!r} in it is not a regular file" in refusal(capsys, "x.zarr")

    def test_metadata_that_are_a_link(self, capsys: Captured) -> None:
        Path("x.zarr/zarr.json").rename("zarr.json")
        Path("x.zarr/zarr.json").symlink_to(Path("zarr.json").absolute())
        assert "'zarr.json' in it is a symbolic link" in refusal(capsys, "x.zarr")

    def test_a_store_may_be_a_link_itself(self, capsys: Captured) -> None:
        Path("link.zarr").symlink_to("x.zarr")
        said(capsys, *run("link.zarr", *OUT))
        assert held("y.zarr").tolist() == DATA.reshape(-1).tolist()

    @pytest.mark.parametrize(
        "name", ["..", "../x.zarr", "/etc", "", ".", "a/../a", "a//b", "a\nb", "\x1b[31m", "a" * 5000]
    )
    def test_names_of_arrays(self, name: str, capsys: Captured) -> None:
        zarr.create_group("g.zarr").create_array("a", shape=(1,), dtype="f4")
        text = refusal(capsys, "g.zarr", "--array", name, *OUT)
        assert text.isascii()
        assert len(text) < 400

    @pytest.mark.parametrize("version", [2, 3])
    def test_an_array_in_groups_of_a_group(self, version: Any, capsys: Captured) -> None:
        inner = zarr.create_group("g.zarr", zarr_format=version).create_group("a").create_group("b")
        inner.create_array("c", shape=(4, 6), chunks=(2, 3), dtype="f4")[...] = DATA
        assert "--array chooses one of: a/b/c" in refusal(capsys, "g.zarr", "--array", "a/b", *OUT)
        said(capsys, *run("g.zarr", "--array", "a/b/c", *OUT))
        assert held("y.zarr").tolist() == DATA.reshape(-1).tolist()

    def test_consolidated_metadata_are_not_believed(self, capsys: Captured) -> None:
        group = zarr.create_group("g.zarr", zarr_format=2)
        group.create_array("a", shape=(4, 6), chunks=(2, 3), dtype="f4")[...] = DATA
        zarr.consolidate_metadata("g.zarr")
        told = json.loads(Path("g.zarr/.zmetadata").read_text(encoding="utf-8"))
        told["metadata"]["a/.zarray"]["compressor"] = {"id": "pickle"}
        Path("g.zarr/.zmetadata").write_text(json.dumps(told), encoding="utf-8")
        said(capsys, *run("g.zarr", "--array", "a", *OUT))
        assert held("y.zarr").tolist() == DATA.reshape(-1).tolist()


ZEROS = bytes(1 << 23)
BOMBS: dict[str, Callable[[], bytes]] = {
    "gzip": lambda: gzip.compress(ZEROS),
    "zlib": lambda: zlib.compress(ZEROS),
    "bz2": lambda: bz2.compress(ZEROS),
    "lzma": lambda: lzma.compress(ZEROS, preset=0),
    "zstd": lambda: Zstd().encode(ZEROS),
    "lz4": lambda: LZ4().encode(ZEROS),
    "blosc": lambda: Blosc(cname="zstd").encode(ZEROS),
}


class TestCodecs:
    @pytest.mark.parametrize("name", BOMBS)
    def test_a_bomb(self, name: str) -> None:
        with pytest.raises(CodecError, match="larger than its metadata announce"):
            decompress(name, BOMBS[name](), 1000)

    @pytest.mark.parametrize("name", BOMBS)
    def test_what_is_no_bomb(self, name: str) -> None:
        assert decompress(name, BOMBS[name](), len(ZEROS)) == ZEROS

    @pytest.mark.parametrize("name", BOMBS)
    def test_damaged(self, name: str) -> None:
        """A few thousand damaged chunks: an error, or bytes, and never the end of the process."""
        draw = np.random.default_rng(0)
        whole = {"blosc": Blosc(cname="lz4").encode(np.arange(3000) % 7), "lz4": LZ4().encode(np.arange(3000) % 7)}
        good = whole.get(name) or BOMBS[name]()[:3000]
        for _ in range(200):
            bad = bytearray(good)
            for place in draw.integers(0, min(len(bad), int(draw.choice([20, 3000]))), 3):
                bad[place] = int(draw.choice([0, 1, 127, 128, 255]))
            try:
                made = decompress(name, bytes(bad[: int(draw.integers(1, len(bad) + 1))]), 24_000)
            except CodecError:
                continue
            assert len(made) <= 1.1 * 24_000

    def test_streams_one_after_the_other(self) -> None:
        assert decompress("gzip", gzip.compress(b"ab") + gzip.compress(b"cd"), 4) == b"abcd"

    def test_zstandard_that_does_not_say_its_size(self) -> None:
        frame = bytes.fromhex("28b52ffd0058") + struct.pack("<I", 4 << 3 | 1)[:3] + b"abcd"
        assert decompress("zstd", frame, 4) == b"abcd"
        with pytest.raises(CodecError):
            decompress("zstd", frame, 3)

    @pytest.mark.parametrize("version", [2, 3])
    def test_a_bomb_in_a_store_takes_no_memory(self, version: int) -> None:
        """256 KB become 256 MB; little of it is there before it is refused."""
        compressor = {"id": "gzip"} if version == 2 else {"name": "gzip", "configuration": {"level": 1}}
        array(version, shape=[10**5], chunks=[10**5], compressor=compressor)
        Path("v.zarr/0" if version == 2 else "v.zarr/c/0").write_bytes(16 * gzip.compress(bytes(1 << 24)))
        peak, text = measured(*run("v.zarr", *OUT, "--memory", "300MB"))
        assert "it is larger than its metadata announce" in text
        assert peak < 300_000_000

    def test_a_shard_whose_index_lies(self) -> None:
        stored("s.zarr", np.arange(64, dtype=np.float32).reshape(8, 8), (2, 2), shards=(4, 4), compressors=None)
        one = chunk("s.zarr")
        with one.open("r+b") as file:
            content = file.read()
            index = np.frombuffer(content[-4 * 16 - 4 : -4], "<u8").copy()
            index[0::2], index[1::2] = 0, 1 << 33
            file.truncate(1 << 33)
            file.seek((1 << 33) - 4 * 16 - 4)
            import google_crc32c

            file.write(index.tobytes() + struct.pack("<I", google_crc32c.value(index.tobytes())))
        peak, text = measured(*run("s.zarr", "--target", "0,0", "-o", "y.zarr", "--chunks", "2,2", "--memory", "300MB"))
        assert "bytes to be read, where its metadata allow" in text
        assert peak < 300_000_000

    def test_a_chunk_that_is_a_huge_file(self, capsys: Captured) -> None:
        stored("v.zarr", DATA, (2, 3), compressors=None)
        os.truncate(chunk("v.zarr"), 1 << 40)
        assert "has 1,099,511,627,776 bytes to be read, where its metadata allow" in refusal(capsys, "v.zarr")

    @pytest.mark.parametrize("version", [2, 3])
    @pytest.mark.parametrize(
        "name",
        [
            "pickle",
            "json2",
            "msgpack2",
            "vlen-utf8",
            "vlen-bytes",
            "vlen-array",
            "categorize",
            "zfpy",
            "pcodec",
            "nonsense",
        ],
    )
    def test_codecs_that_are_not_plainly_data(self, version: int, name: str, capsys: Captured) -> None:
        if version == 2:
            array(2, filters=[{"id": name}])
        else:
            array(3, compressor={"name": f"numcodecs.{name}", "configuration": {"id": name}})
        assert f"uses the codec '{name}', which is not among those that are read" in refusal(capsys, "v.zarr")

    def test_a_pickle_is_not_loaded(self, capsys: Captured) -> None:
        import pickle

        class Planted:
            def __reduce__(self) -> Any:
                return os.mkdir, ("planted",)

        array(2, filters=[{"id": "pickle"}], dtype="|O")
        Path("v.zarr/0").write_bytes(pickle.dumps(Planted()))
        assert "holds Python objects" in refusal(capsys, "v.zarr")
        array(2, filters=[{"id": "pickle"}])
        refusal(capsys, "v.zarr")
        assert "planted" not in files()

    @pytest.mark.parametrize("kind", ["O", "|O", "object", "V10", "U5", [["a", "O"]], 7, "<f4\x00"])
    def test_types_within_codecs(self, kind: Any, capsys: Captured) -> None:
        array(2, filters=[{"id": "delta", "dtype": kind, "astype": "<f4"}])
        assert "gives the codec delta a type that is not read" in refusal(capsys, "v.zarr")

    @pytest.mark.parametrize("version", [2, 3])
    def test_the_codecs_that_are_read(self, version: Any, capsys: Captured) -> None:
        import numcodecs
        from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

        older = [
            numcodecs.Zlib(),
            numcodecs.BZ2(),
            numcodecs.LZMA(preset=1),
            LZ4(),
            Zstd(),
            Blosc(),
            numcodecs.GZip(),
            None,
        ]
        newer = [BloscCodec(), GzipCodec(), ZstdCodec(), None]
        for number, one in enumerate(older if version == 2 else newer):
            name = f"{number}.zarr"
            filters: Any = [numcodecs.Delta("<f4"), numcodecs.Shuffle(4)] if version == 2 and number % 2 else None
            stored(name, DATA, (2, 3), zarr_format=version, compressors=one, filters=filters)
            said(capsys, *run(name, "--target", "-1", "-o", f"y{name}"))
            assert held(f"y{name}").tolist() == DATA.reshape(-1).tolist()


def array(version: int, **changes: Any) -> None:
    """v.zarr, an array of these metadata."""
    shutil.rmtree("v.zarr", ignore_errors=True)
    Path("v.zarr").mkdir()
    told: dict[str, Any]
    shape, chunks = changes.pop("shape", [4]), changes.pop("chunks", [4])
    compressor = changes.pop("compressor", None)
    if version == 2:
        told = {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": "<f4", "compressor": compressor}
        told |= {"fill_value": 0, "filters": None, "order": "C"}
        Path("v.zarr/.zattrs").write_text(raw(changes.pop("attributes", {})), encoding="utf-8")
    else:
        Path("v.zarr/c").mkdir()
        told = {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "float32", "fill_value": 0}
        told |= {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}}}
        told |= {"chunk_key_encoding": {"name": "default"}, "attributes": {}}
        told |= {
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, *([compressor] if compressor else [])]
        }
    path = Path("v.zarr", ".zarray" if version == 2 else "zarr.json")
    path.write_text(raw(told | changes), encoding="utf-8")


def raw(content: Any) -> str:
    """JSON, in which {"raw": TEXT} stands for a text that need be none."""
    text = content if isinstance(content, str) else json.dumps(content)
    return re.sub(r'\{"raw": "([^"]*)"\}', r"\1", text)


def measured(*words: str) -> tuple[int, str]:
    """The most memory that a run takes, and its refusal."""
    code = (
        "import re, sys\nfrom pathlib import Path\nfrom onereshape.cli import main\n"
        "assert main(sys.argv[1:]) == 2\n"
        "print(re.search('VmHWM:\\\\s+(\\\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    found = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)  # noqa: S603
    assert found.stderr.count("\n") == 1
    return int(found.stdout) * 1024, found.stderr


def each(field: str, *values: Any) -> list[dict[str, Any]]:
    return [{field: value} for value in values]


DEEP = {"raw": "[" * 100_000}
DIGITS = {"raw": "9" * 5000}
METADATA: list[dict[str, Any]] = [
    *each("shape", [-1], [1.5], [True], ["4"], "4", None, 4, {}, [10**30], [[4]], [4, 4], [DIGITS], [DEEP]),
    *each("chunks", [0], [-1], [1.5], [True], None, [10**30], [4, 4], [], [DIGITS]),
    {"shape": [10**12], "chunks": [1]},
    {"shape": [10**6, 10**6], "chunks": [1, 1]},
    {"shape": [1] * 1000, "chunks": [1] * 1000},
    {"shape": [1] * 40, "chunks": [1] * 40},
    {"shape": [10**15], "chunks": [10**15]},
    {"fill_value": DIGITS},
    {"fill_value": DEEP},
    {"fill_value": [1, 2]},
    {"fill_value": {}},
    {"zarr_format": 9},
    {"zarr_format": {"raw": "NaN"}},
]
BY_VERSION: dict[int, list[dict[str, Any]]] = {
    2: [
        *each("dtype", "<f3", "", None, 7, "|O", [], [["a"]], "<U2000000000", "|V2000000000", "T", "float", DEEP),
        *each("filters", "x", [7], [{}], [{"id": 7}], [{"id": []}], {}, [None], [[]], [{"id": "delta"}]),
        *each("compressor", "x", 7, [], [1], {"id": "blosc", "clevel": []}, {"id": "zlib", "x": 1}),
        *each("attributes", "[1]", "7", "nonsense", "{", "", raw(DEEP), '{"a": ' + "9" * 5000 + "}"),
        {"order": "X"},
        {"order": 7},
        {"dimension_separator": "//"},
        {"dimension_separator": 7},
    ],
    3: [
        *each("data_type", "float3", "", None, 7, "string", "bytes", {"name": "x"}, {"name": "string"}, [], DEEP),
        *each("codecs", [], None, 7, "bytes", [7], [{}], [{"name": 7}], [[]], {}, [{"name": "bytes"}] * 3),
        *each("attributes", 7, [], "x", DEEP, {"a": DIGITS}),
        *each("chunk_grid", None, 7, {}, {"name": "x"}, {"name": "regular"}, {"name": "rectilinear"}),
        *each("chunk_key_encoding", None, 7, {"name": "x"}, {"name": "default", "configuration": 7}),
        {"node_type": "x"},
        {"node_type": 7},
        {"storage_transformers": [{"name": "x"}]},
        {"dimension_names": ["a", "b", "c"]},
        {"dimension_names": 7},
        {"codecs": [{"name": "sharding_indexed"}]},
        {
            "codecs": [
                {"name": "sharding_indexed", "configuration": {"chunk_shape": [0], "codecs": [{"name": "bytes"}]}}
            ]
        },
        {
            "codecs": [
                {"name": "sharding_indexed", "configuration": {"chunk_shape": [3], "codecs": [{"name": "bytes"}]}}
            ]
        },
        {
            "codecs": [
                {
                    "name": "sharding_indexed",
                    "configuration": {"chunk_shape": [1], "codecs": [{"name": "sharding_indexed"}]},
                }
            ]
        },
        {
            "shape": [10**9],
            "chunks": [10**9],
            "codecs": [
                {"name": "sharding_indexed", "configuration": {"chunk_shape": [1], "codecs": [{"name": "bytes"}]}}
            ],
        },
    ],
}


@pytest.mark.parametrize("version", [2, 3])
def test_metadata(version: int, capsys: Captured) -> None:
    """What no array has: refused in one line; what is merely odd: read as it stands."""
    odd = 0
    for changes in [*METADATA, *BY_VERSION[version]]:
        array(version, **changes)
        before = files()
        from onereshape.cli import main

        code = main(run("v.zarr", *OUT, "--memory", "4GB"))
        text = capsys.readouterr().err
        if code == 0:
            odd += 1
            shutil.rmtree("y.zarr")
            continue
        assert (code, text.count("\n")) == (2, 1), (changes, text)
        assert "onereshape: v.zarr: " in text or "bytes of memory are too few" in text, (changes, text)
        assert "[unforeseen]" not in text
        assert len(text) < 500
        assert files() == before
    assert odd <= 8


@pytest.mark.parametrize("attributes", ['{"a": NaN, "b": [Infinity, {"c": null}]}', '{"a": 1e999}'])
@pytest.mark.parametrize("version", [2, 3])
def test_attributes_that_are_odd(version: int, attributes: str, capsys: Captured) -> None:
    """Python has always written NaN there, and so do many stores."""
    array(version, attributes=attributes if version == 2 else json.loads(attributes))
    said(capsys, *run("v.zarr", *OUT))
    assert "a" in zarr.open_array("y.zarr").attrs.asdict()


UNWRITABLE: list[tuple[Any, dict[str, Any]]] = [
    (Zlib(), {"level": 99}),
    (Zlib(), {"level": "x"}),
    (GZip(), {"level": -7}),
    (BZ2(), {"level": 0}),
    (Zstd(), {"level": 10**30}),
    (LZ4(), {"acceleration": "x"}),
    (LZMA(), {"check": 99}),
    (Blosc(), {"cname": "nope"}),
    (Blosc(), {"shuffle": 77}),
    (Blosc(), {"blocksize": 1 << 33}),
]


@pytest.mark.parametrize(("codec", "options"), UNWRITABLE, ids=str)
def test_options_that_only_an_encoder_refuses(codec: Any, options: dict[str, Any], capsys: Captured) -> None:
    """They are those of the input, which can be read with any."""
    stored("v.zarr", DATA + 1, (2, 3), zarr_format=2, compressors=codec)
    path = Path("v.zarr/.zarray")
    told = json.loads(path.read_text(encoding="utf-8"))
    told["compressor"] |= options
    path.write_text(json.dumps(told), encoding="utf-8")
    said(capsys, *run("v.zarr", "--target", "-1", "-o", "y.npy"))
    assert "[unwritable]" in refusal(capsys, "v.zarr")


FILTERS = [
    Delta("f4"),
    Quantize(1, "f4"),
    BitRound(3),
    FixedScaleOffset(offset=0.1, scale=3, dtype="f4", astype="i4"),
    AsType("f2", "f4"),
    Shuffle(4),
]


@pytest.mark.parametrize("one", FILTERS, ids=lambda one: str(one.codec_id))
def test_no_filter_changes_a_value(one: Any, capsys: Captured) -> None:
    """Neither those of honest stores, nor those of stores whose chunks were never made with them."""
    values = np.random.default_rng(0).normal(size=(60, 40)).astype("f4") * 1000
    stored("v.zarr", values, (7, 9), zarr_format=2, filters=[one])
    said(capsys, *run("v.zarr", "--target", "40,60", "-o", "y.zarr"))
    assert held("y.zarr").tobytes() == held("v.zarr").tobytes()


def test_threads_that_fail_at_once() -> None:
    """Each waits for what the others still read, and none for another that waits."""
    code = "from concurrent.futures import ThreadPoolExecutor as Pool\n"
    code += "from onereshape.formats.stores.zarr_arrays import settle\n"
    code += "with Pool(8) as pool: list(pool.map(lambda _: settle(), range(64)))\n"
    command = [sys.executable, "-P", "-c", code]
    assert subprocess.run(command, check=False, timeout=60).returncode == 0  # noqa: S603
