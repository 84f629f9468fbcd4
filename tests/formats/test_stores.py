"""`onereshape run` on stores: Zarr and .npy in bounded memory, resumed, and nothing half-written under a name."""

from __future__ import annotations

import json
import os
import pty
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zarr

from onereshape.formats.stores import stream
from onereshape.formats.stores.npy_files import create_npy
from onereshape.formats.stores.passes import Pass
from onereshape.formats.stores.reshape_store import open_store
from onereshape.formats.stores.zarr_arrays import create_zarr
from onereshape.ground.errors import FormatError
from tests.commands import Captured, refused, said
from tests.formats.stored import DATA, files, folder_with_stores, held, opened, run, stored  # noqa: F401 - a fixture
from tests.strategies import Dims


@pytest.mark.usefixtures("here")
class TestRun:
    def test_a_store(self, capsys: Captured) -> None:
        expected = "x.zarr: float32 [4, 6] -> [3, 8]\nwritten to y.zarr in chunks of [1, 6]\n"
        assert said(capsys, *run("x.zarr", "--target", "3,-1", "-o", "y.zarr")) == expected
        assert held("y.zarr").tolist() == DATA.reshape(3, 8).tolist()
        assert files() == ["x.npy", "x.zarr", "y.zarr"]

    def test_without_an_output(self, capsys: Captured) -> None:
        assert said(capsys, *run("x.zarr", "--target", "-1")) == "x.zarr: float32 [4, 6] -> [24]\n"
        assert files() == ["x.npy", "x.zarr"]

    @pytest.mark.parametrize("source", ["x.zarr", "x.npy"])
    @pytest.mark.parametrize("sink", ["y.zarr", "y.npy"])
    def test_from_each_kind_to_each(self, source: str, sink: str, capsys: Captured) -> None:
        said(capsys, *run(source, "--target", "8,3", "-o", sink, "--memory", "4GB"))
        assert held(sink).tolist() == DATA.reshape(8, 3).tolist()

    def test_a_file_is_as_numpy_writes_it(self, capsys: Captured) -> None:
        said(capsys, *run("x.npy", "--target", "8,3", "-o", "y.npy", "--memory", "4GB"))
        np.save("z.npy", DATA.reshape(8, 3))
        assert Path("y.npy").read_bytes() == Path("z.npy").read_bytes()

    def test_fortran_order(self, capsys: Captured) -> None:
        np.save("f.npy", np.asfortranarray(DATA))
        said(capsys, *run("f.npy", "--target", "8,3", "-o", "y.npy", "--memory", "4GB"))
        assert held("y.npy").tolist() == DATA.reshape(8, 3).tolist()

    def test_a_large_file_in_fortran_order_is_not_read_whole(
        self, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("onereshape.cli.run_stores._LARGE", 10)
        np.save("f.npy", np.asfortranarray(DATA))
        assert "passes" in json.loads(said(capsys, *run("f.npy", "--target", "8,3", "-o", "y.npy", "--json")))
        assert held("y.npy").tolist() == DATA.reshape(8, 3).tolist()

    def test_chunks(self, capsys: Captured) -> None:
        out = said(capsys, *run("x.zarr", "--target", "2,12", "-o", "y.zarr", "--chunks", "-1,5"))
        assert out.endswith("in chunks of [2, 5]\n")
        assert opened("y.zarr").chunks == (2, 5)
        assert held("y.zarr").tolist() == DATA.reshape(2, 12).tolist()

    @pytest.mark.parametrize("scheduler", ["threads", "processes"])
    def test_schedulers(self, scheduler: str, capsys: Captured) -> None:
        memory = ("--memory", "64GB")  # this process holds whatever other tests have loaded
        said(capsys, *run("x.zarr", "--target", "3,8", "-o", "y.zarr", "--scheduler", scheduler, *memory))
        assert held("y.zarr").tolist() == DATA.reshape(3, 8).tolist()

    @pytest.mark.parametrize("version", [2, 3])
    def test_what_belongs_to_elements_stays(self, version: Any, capsys: Captured) -> None:
        from numcodecs import GZip
        from zarr.codecs import GzipCodec

        compressor = GZip(level=3) if version == 2 else GzipCodec(level=3)
        attributes = {"units": "K", "_ARRAY_DIMENSIONS": ["a", "b"]}
        more = {"dimension_names": ["a", "b"]} if version == 3 else {"order": "F"}
        options: dict[str, Any] = {"compressors": compressor, "fill_value": 7, "attributes": attributes, **more}
        stored("v.zarr", DATA, (2, 3), zarr_format=version, **options)
        said(capsys, *run("v.zarr", "--target", "3,8", "-o", "y.zarr"))
        found = opened("y.zarr")

        assert found.metadata.zarr_format == version
        assert found.compressors == opened("v.zarr").compressors
        assert found.fill_value == 7
        assert found.attrs.asdict() == {"units": "K"}
        assert held("y.zarr").tolist() == DATA.reshape(3, 8).tolist()
        if version == 3:
            assert found.metadata.dimension_names is None

    def test_names_of_axes_stay_with_the_dims(self, capsys: Captured) -> None:
        stored("v.zarr", DATA, (2, 3), dimension_names=["a", "b"])
        said(capsys, *run("v.zarr", "--target", "0,0", "-o", "y.zarr"))
        assert opened("y.zarr").metadata.dimension_names == ("a", "b")

    def test_shards(self, capsys: Captured) -> None:
        stored("s.zarr", DATA, (1, 3), shards=(4, 6))
        said(capsys, *run("s.zarr", "--target", "3,8", "-o", "y.zarr"))
        assert held("y.zarr").tolist() == DATA.reshape(3, 8).tolist()

    @pytest.mark.parametrize("version", [2, 3])
    def test_an_array_of_a_group(self, version: Any, capsys: Captured) -> None:
        group = zarr.create_group("g.zarr", zarr_format=version)
        for name, data in (("a", DATA), ("b", -DATA)):
            group.create_array(name, shape=DATA.shape, chunks=(2, 3), dtype=DATA.dtype)[...] = data
        said(capsys, *run("g.zarr", "--array", "b", "--target", "3,8", "-o", "y.zarr"))
        assert held("y.zarr").tolist() == (-DATA).reshape(3, 8).tolist()

    def test_missing_chunks_are_the_fill_value(self, capsys: Captured) -> None:
        zarr.create_array("e.zarr", shape=(4, 6), chunks=(2, 3), dtype="i4", fill_value=5)
        said(capsys, *run("e.zarr", "--target", "24", "-o", "y.zarr"))
        assert held("y.zarr").tolist() == [5] * 24

    @pytest.mark.parametrize(("dims", "target"), [((), "1,1"), ((1, 1), "[]"), ((0, 3), "3,0"), ((2, 0), "-1,7")])
    @pytest.mark.parametrize("sink", ["y.zarr", "y.npy"])
    def test_the_smallest(self, dims: Dims, target: str, sink: str, capsys: Captured) -> None:
        stored("e.zarr", np.ones(dims, np.float32), tuple(max(1, dim) for dim in dims))
        flag = ["--allowzero", "1"] if target == "3,0" else []
        answer = json.loads(said(capsys, *run("e.zarr", "--target", target, "-o", sink, "--json", *flag)))
        assert list(held(sink).shape) == answer["output"]
        assert (held(sink) == 1).all()

    def test_items_without_a_name(self, capsys: Captured) -> None:
        np.save("b.npy", DATA.astype(ml_dtypes.bfloat16))
        out = said(capsys, *run("b.npy", "--target", "3,8", "-o", "y.npy", "--memory", "4GB"))
        assert out.startswith("b.npy: bfloat16 [4, 6] -> [3, 8]\n")
        assert np.load("y.npy").tobytes() == DATA.astype(ml_dtypes.bfloat16).tobytes()

    def test_json(self, capsys: Captured) -> None:
        words = run("x.zarr", "--target", "3,8", "-o", "y.zarr", "--json", "--chunks", "3,4")
        assert json.loads(said(capsys, *words)) == {
            "json_version": 1,
            "input": "x.zarr",
            "array": None,
            "dtype": "float32",
            "data": [4, 6],
            "output": [3, 8],
            "spec": "onnx-25",
            "written": "y.zarr",
            "chunks": [3, 4],
            "passes": 1,
            "resumed": 0,
        }


@pytest.mark.usefixtures("here")
class TestRefused:
    """A clear error, the right exit code, and nothing under the output's name."""

    @pytest.mark.parametrize(
        ("words", "code", "message"),
        [
            (("x.zarr", "--target", "5,5", "-o", "y.zarr"), 1, "data has 24 elements, but the target asks for 25"),
            (("x.zarr", "--target", "0,0,0", "-o", "y.zarr"), 1, "target[2] is 0 and copies data[2]"),
            (
                ("g.zarr", "--target", "-1", "-o", "y.zarr"),
                2,
                "g.zarr: is a group and no array; --array chooses one of: a, b",
            ),
            (("g.zarr", "--array", "c", "--target", "-1"), 2, "g.zarr: has no array 'c'; --array chooses one of: a, b"),
            (("no.zarr", "--target", "-1", "-o", "y.zarr"), 2, "no.zarr: does not exist"),
            (("file.zarr", "--target", "-1"), 2, "file.zarr: is not a folder, as a Zarr store is"),
            (("empty.zarr", "--target", "-1"), 2, "empty.zarr: is not a Zarr store: neither zarr.json nor .zarray"),
            (("bad.zarr", "--target", "-1"), 2, "bad.zarr: is not a Zarr array that can be read"),
            (("no.npy", "--target", "-1", "-o", "y.zarr"), 2, "no.npy: No such file or directory"),
            (("x.zarr", "--target", "-1", "-o", "old.zarr"), 2, "old.zarr: exists already, and a store is never"),
            (("x.zarr", "--target", "-1", "-o", "x.zarr"), 2, "x.zarr is the input itself, which is never changed"),
            (("x.zarr", "--target", "-1", "-o", "no/y.zarr"), 2, "no/y.zarr: its folder does not exist"),
            (("x.zarr", "--target", "-1", "-o", "x.npy/y.zarr"), 2, "x.npy/y.zarr: Not a directory"),
            (("x.zarr", "--target", "-1", "-o", "y.npz"), 2, "a .zarr: only .zarr and .npy are reshaped a block"),
            (("x.zarr", "--target", "-1", "-o", "y"), 2, "a .zarr: only .zarr and .npy are reshaped a block"),
            (("x.npy", "--target", "-1", "-o", "y.pb", "--memory", "1GB"), 2, "--memory: only .zarr and .npy"),
            (("x.zarr", "--target", "-1", "-o", "y.npy", "--chunks", "4"), 2, "--chunks: y.npy has none"),
            (("x.zarr", "--target", "-1", "-o", "y.zarr", "--chunks", "4,4"), 2, "--chunks 4,4: it takes a positive"),
            (("x.zarr", "--target", "-1", "-o", "y.zarr", "--chunks", "0"), 2, "--chunks 0: it takes a positive size"),
            (
                ("x.zarr", "--target", "-1", "-o", "y.zarr", "--memory", "lots"),
                2,
                "--memory lots: write a whole number",
            ),
            (("x.zarr", "--target", "-1", "-o", "y.zarr", "--memory", "1kB"), 2, "1,000 bytes of memory are too few"),
            (("x.zarr", "--target", "-1", "-o", "y.zarr", "--scheduler", "gpu"), 2, "--scheduler gpu: it is threads,"),
            (("x.zarr", "--target", "-1", "--array", "a"), 2, "x.zarr: is an array and no group that holds"),
            (
                ("x.npy", "--target", "-1", "--array", "a", "--memory", "4GB"),
                2,
                "x.npy: holds a single array, and none",
            ),
            (("x.zarr", "--target", "-1", "--dtype", "int4"), 2, "x.zarr: holds float32, not int4"),
            (("i8.zarr", "--target", "-1", "--spec", "onnx-1"), 1, "data of type int8 is refused"),
            (("b.npy", "--target", "-1", "-o", "y.zarr"), 2, "y.zarr: Zarr has no name for items of type V1"),
            (("c.npy", "--target", "-1", "-o", "y.zarr"), 2, "y.zarr: Zarr cannot hold"),
        ],
    )
    def test_what_and_why(self, words: tuple[str, ...], code: int, message: str, capsys: Captured) -> None:
        group = zarr.create_group("g.zarr")
        group.create_array("a", shape=(1,), dtype="f4")
        group.create_array("b", shape=(1,), dtype="f4")
        Path("file.zarr").write_text("no", encoding="ascii")
        Path("empty.zarr").mkdir()
        Path("bad.zarr").mkdir()
        Path("bad.zarr/zarr.json").write_text('{"zarr_format": 3, "node_type": "array"}', encoding="ascii")
        stored("old.zarr", DATA, (4, 6))
        stored("i8.zarr", DATA.astype(np.int8), (4, 6))
        np.save("b.npy", DATA.astype(ml_dtypes.float8_e4m3fn))
        np.save("c.npy", DATA.astype(ml_dtypes.float8_e5m2))
        before = files()
        found, text = refused(capsys, "run", *words)

        assert (found, text[: len(message)]) == (code, message)
        assert files() == before
        assert held("old.zarr").tolist() == DATA.tolist()

    def test_an_address_that_nobody_answers(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("onereshape.formats.stores.cluster._PATIENCE", "300ms")
        words = run("x.zarr", "--target", "-1", "-o", "y.zarr", "--scheduler", "tcp://127.0.0.1:9")
        code, text = refused(capsys, *words)
        assert code == 2
        assert text.startswith("--scheduler tcp://127.0.0.1:9: no Dask scheduler answers there (")

    def test_a_damaged_chunk(self, capsys: Captured) -> None:
        chunk = next(path for path in Path("x.zarr").rglob("*") if path.is_file() and path.name != "zarr.json")
        chunk.write_bytes(b"damaged")
        code, text = refused(capsys, *run("x.zarr", "--target", "-1", "-o", "y.zarr"))
        assert code == 2
        assert text.startswith("x.zarr: cannot be read at ['")
        assert files() == ["x.npy", "x.zarr"]

    def test_a_store_that_vanishes_is_not_taken_for_an_empty_one(self, here: Path) -> None:
        source = open_store("x.zarr")
        sink = create_zarr(here / "s.zarr", (24,), (24,), source.store, "s.zarr")
        work = stream.StoreWork(
            source.store, "x.zarr", "y.zarr", here / "y.zarr", (4, 6), source.store, (), source.seen
        )
        job = stream._job(source.store, "x.zarr", sink, work, (4, 6), Pass((24,), (24,), (24,)))
        job(0)
        shutil.rmtree("x.zarr")
        with pytest.raises(FormatError, match="every worker must see the same files"):
            job(0)

    @pytest.mark.parametrize("sink", ["y.zarr", "y.npy"])
    def test_a_full_disk(self, sink: str) -> None:
        """A limit on the size of files stands for a full disk: the same calls fail."""
        data = np.arange(10**5, dtype=np.float32).reshape(100, -1)
        stored("large.zarr", data, (20, 1000), compressors=None)

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

        words = [sys.executable, "-m", "onereshape", *run("large.zarr", "--target", "-1", "-o", sink)]
        found = subprocess.run(words, preexec_fn=limited, capture_output=True, text=True, check=False)  # noqa: S603

        assert found.returncode == 2, found.stderr
        assert found.stderr == f"onereshape: {sink}: File too large  [unwritable]\n"
        assert files() == ["large.zarr", "x.npy", "x.zarr"]

    def test_room_is_taken_before_anything_is_written(self, here: Path) -> None:
        """A memory map of a file with holes would end the process when the disk is full."""
        file = create_npy(here / "y.npy", (1000, 1000), np.dtype(np.float32))
        assert Path(file.path).stat().st_blocks * 512 >= 4_000_000

    def test_without_dask_and_zarr(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in sys.modules if name.startswith("onereshape.formats.stores")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "zarr", None)
        code, text = refused(capsys, *run("x.zarr", "--target", "-1"))
        assert code == 2
        assert text.startswith("arrays beyond memory need zarr, which is not installed: pip install 'onereshape[dask]'")

    def test_attributes_that_are_none(self, capsys: Captured) -> None:
        stored("old.zarr", DATA, (2, 3), zarr_format=2)
        Path("old.zarr/.zattrs").write_text('["a"]', encoding="ascii")
        code, text = refused(capsys, *run("old.zarr", "--target", "-1", "-o", "y.zarr"))
        assert (code, text) == (2, "old.zarr: '.zattrs' in it is not a JSON object  [unreadable]")


@pytest.mark.usefixtures("here")
def test_memory_is_bounded() -> None:
    """320 MB go through a process that may take 250 MB, 100 to 150 of which are Python and its libraries."""
    array = zarr.create_array("large.zarr", shape=(2560, 32768), chunks=(32, 32768), dtype="f4", compressors=None)
    for start in range(0, 2560, 32):
        array[start : start + 32] = np.arange(32 * 32768, dtype=np.float32).reshape(32, 32768) + start
    code = (
        "import re, sys\nfrom pathlib import Path\nfrom onereshape.cli import main\n"
        "answer = main(sys.argv[1:])\n"
        "print(re.search('VmHWM:\\\\s+(\\\\d+)', Path('/proc/self/status').read_text())[1], answer)"
    )
    words = [*run("large.zarr", "--target", "5120,-1", "-o", "y.zarr", "--memory", "250MB")]
    found = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)  # noqa: S603
    peak, answer = found.stdout.split()[-2:]

    assert answer == "0", found.stderr
    assert int(peak) * 1024 <= 250_000_000
    made = opened("y.zarr")
    assert made.shape == (5120, 16384)
    assert (made[64:128] == np.arange(32 * 32768, dtype=np.float32).reshape(64, 16384) + 32).all()


@pytest.mark.usefixtures("here")
def test_a_bar_on_a_terminal_only() -> None:
    master, slave = pty.openpty()
    words = [sys.executable, "-m", "onereshape", *run("x.zarr", "--target", "-1", "-o", "y.zarr")]
    found = subprocess.run(words, stdout=subprocess.PIPE, stderr=slave, text=True, check=True)  # noqa: S603
    os.close(slave)
    shown = os.read(master, 10_000).decode()
    os.close(master)

    assert "blocks" in shown
    assert "blocks" not in found.stdout
