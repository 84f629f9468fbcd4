"""`onereshape run`: what it writes, and that nothing is harmed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from onereshape.cli import main, run
from tests.commands import Captured, refused, said
from tests.formats.tensors import ONNX_TYPES, sample


@pytest.mark.usefixtures("here")
class TestRun:
    def test_without_an_output(self, here: Path, capsys: Captured) -> None:
        assert said(capsys, "run", "x.npy", "--target", "0,-1") == "x.npy: float32 [2, 3, 4] -> [2, 12]\n"
        assert [path.name for path in here.iterdir()] == ["x.npy"]

    @pytest.mark.parametrize("output", ["y.npy", "y.npz", "y.pb"])
    def test_with_an_output(self, output: str, capsys: Captured) -> None:
        out = said(capsys, "run", "x.npy", "--target", "-1,4", "--spec", "onnx-5", "-o", output)
        assert out == f"x.npy: float32 [2, 3, 4] -> [6, 4]\nwritten to {output}\n"
        said(capsys, "run", output, "--target", "0,2,2", "-o", "z.npy")
        assert np.load("z.npy").tolist() == np.arange(24.0).reshape(6, 2, 2).tolist()

    def test_json(self, capsys: Captured) -> None:
        expected = {
            "json_version": 1,
            "input": "x.npy",
            "array": None,
            "dtype": "float32",
            "data": [2, 3, 4],
            "output": [2, 12],
            "spec": "onnx-25",
            "written": None,
        }
        assert json.loads(said(capsys, "run", "x.npy", "--target", "0,-1", "--json")) == expected
        out = said(capsys, "run", "x.npy", "--target", "0,-1", "--json", "-o", "y.npz")
        assert json.loads(out) == expected | {"written": "y.npz"}

    @pytest.mark.parametrize("row", ONNX_TYPES, ids=lambda row: row.name)
    def test_every_type(self, row: Any, capsys: Captured) -> None:
        """From .pb to .npy to .pb, reshaped twice, with nothing lost."""
        Path("a.pb").write_bytes(numpy_helper.from_array(sample(row)).SerializeToString())
        said(capsys, "run", "a.pb", "--target", "-1,2", "-o", "b.npy")
        out = said(capsys, "run", "b.npy", "--target", "3,4", "--dtype", row.onnx, "-o", "c.pb")
        assert out == f"b.npy: {row.name} [6, 2] -> [3, 4]\nwritten to c.pb\n"
        assert Path("c.pb").read_bytes() == Path("a.pb").read_bytes()

    def test_a_pb_keeps_its_name(self, capsys: Captured) -> None:
        proto = numpy_helper.from_array(np.zeros((2, 3)), "weights")
        proto.doc_string = "of the first layer"
        Path("a.pb").write_bytes(proto.SerializeToString())
        said(capsys, "run", "a.pb", "--target", "6", "-o", "b.pb")
        again = onnx.TensorProto.FromString(Path("b.pb").read_bytes())
        assert (again.name, again.doc_string) == ("weights", "of the first layer")
        said(capsys, "run", "a.pb", "--target", "6", "-o", "b.npz")
        assert list(np.load("b.npz")) == ["weights"]

    def test_an_array_of_several(self, capsys: Captured) -> None:
        np.savez("a.npz", w=np.zeros((2, 3)), b=np.ones(4))
        message = "a.npz: holds 2 arrays, choose with --array: w, b  [unreadable]"
        assert refused(capsys, "run", "a.npz", "--target", "-1") == (2, message)
        said(capsys, "run", "a.npz", "--array", "w", "--target", "-1", "-o", "c.npz")
        assert list(np.load("c.npz")) == ["w"]

    def test_fortran_and_big_endian(self, capsys: Captured) -> None:
        array = np.asarray(np.arange(24, dtype=">i4").reshape(2, 3, 4), order="F")
        np.save("f.npy", array)
        said(capsys, "run", "f.npy", "--target", "-1", "-o", "g.npy")
        assert np.load("g.npy").tolist() == list(range(24))
        assert np.load("g.npy").dtype == ">i4"

    def test_types_are_checked(self, capsys: Captured) -> None:
        code, message = refused(capsys, "run", "x.npy", "--target", "3")
        assert (code, message.partition("\n")[0]) == (1, "data has 24 elements, but the target asks for 3")
        np.save("i.npy", np.zeros(3, np.int64))
        code, message = refused(capsys, "run", "i.npy", "--target", "3", "--spec", "onnx-1")
        assert code == 1
        assert message.startswith("data of type int64 is refused: allowed since onnx Reshape-5")
        np.save("d.npy", np.zeros(3, "M8[s]"))
        code, message = refused(capsys, "run", "d.npy", "--target", "3")
        assert code == 1
        assert message.startswith("data of type datetime64[s] is refused")


@pytest.mark.usefixtures("here")
class TestNamelessItems:
    """NumPy's files have one name, V1, for nine types."""

    @pytest.fixture(autouse=True)
    def _int4(self, here: Path) -> None:
        np.save(here / "i4.npy", np.arange(6).reshape(2, 3).astype(ml_dtypes.int4))

    def test_moved_where_every_type_is_allowed(self, capsys: Captured) -> None:
        assert said(capsys, "run", "i4.npy", "--target", "-1", "-o", "b.npy").startswith("i4.npy: V1 [2, 3] -> [6]\n")
        assert Path("b.npy").read_bytes()[-6:] == bytes(range(6))

    def test_asked_for_where_some_are(self, capsys: Captured) -> None:
        message = (
            "i4.npy: does not say which type its 1-byte items are, and onnx Reshape-21 does not take all of "
            "float8_e4m3fn, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu, float4_e2m1fn, int4, uint4, int2, uint2: "
            "give --dtype  [unreadable]"
        )
        assert refused(capsys, "run", "i4.npy", "--target", "-1", "--spec", "onnx-21") == (2, message)
        out = said(capsys, "run", "i4.npy", "--target", "-1", "--spec", "onnx-21", "--dtype", "i4")
        assert out == "i4.npy: int4 [2, 3] -> [6]\n"

    def test_refused_where_none_is(self, capsys: Captured) -> None:
        code, message = refused(capsys, "run", "i4.npy", "--target", "-1", "--spec", "onnx-13")
        assert code == 1
        assert message.startswith("data of type V1 is refused: it stands for one of float8_e4m3fn, ")

    def test_asked_for_by_onnx(self, here: Path, capsys: Captured) -> None:
        message = "b.pb: an ONNX tensor names its type, and items stored as V1 have none: give --dtype  [unwritable]"
        assert refused(capsys, "run", "i4.npy", "--target", "-1", "-o", "b.pb") == (2, message)
        assert sorted(path.name for path in here.iterdir()) == ["i4.npy", "x.npy"]

    def test_a_type_that_does_not_exist(self, capsys: Captured) -> None:
        code, message = refused(capsys, "run", "i4.npy", "--target", "-1", "--dtype", "itn4")
        assert code == 2
        assert message.startswith("'itn4' is not an element type (did you mean 'int4'?); they are float32, ")


@pytest.mark.usefixtures("here")
class TestNothingIsHarmed:
    @pytest.mark.parametrize("output", ["x.npy", "./x.npy", "link.npy"])
    def test_the_input_is_no_output(self, output: str, here: Path, capsys: Captured) -> None:
        (here / "link.npy").symlink_to(here / "x.npy")
        before = Path("x.npy").read_bytes()
        message = f"{output} is the input itself, which is never changed: name another OUT  [bad-usage]"
        assert refused(capsys, "run", "x.npy", "--target", "-1", "-o", output) == (2, message)
        assert Path("x.npy").read_bytes() == before

    @pytest.mark.parametrize("words", [("--target", "5"), ("--target", "-1", "--spec", "onx"), ("--target", "a")])
    def test_an_existing_output(self, words: tuple[str, ...], here: Path, capsys: Captured) -> None:
        (here / "y.npy").write_bytes(b"before")
        refused(capsys, "run", "x.npy", *words, "-o", "y.npy")
        assert (here / "y.npy").read_bytes() == b"before"
        assert sorted(path.name for path in here.iterdir()) == ["x.npy", "y.npy"]

    def test_an_output_of_no_known_kind(self, here: Path, capsys: Captured) -> None:
        message = "y.txt: is not named as a tensor file; the names end in .npy, .npz, .pb  [unwritable]"
        assert refused(capsys, "run", "x.npy", "--target", "-1", "-o", "y.txt") == (2, message)
        assert [path.name for path in here.iterdir()] == ["x.npy"]

    def test_too_little_memory(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        def exhaust(*_: Any, **__: Any) -> None:
            raise MemoryError

        monkeypatch.setattr(run, "read_tensor", exhaust)
        message = "there is not enough memory for this  [bad-usage]"
        assert refused(capsys, "run", "x.npy", "--target", "-1") == (2, message)

    def test_an_interrupt(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(run, "read_tensor", interrupt)
        assert main(["run", "x.npy", "--target", "-1"]) == 130
        assert capsys.readouterr() == ("", "")
