"""Tensor files: what is read is what was written, and a file that is not sound is refused without a trace."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp
from onnx import TensorProto, helper, numpy_helper

from onereshape.formats.tensors import npy
from onereshape.formats.tensors.tensor import Tensor
from onereshape.formats.tensors.tensor_files import read_tensor, write_tensor
from onereshape.ground import dtypes
from onereshape.ground.dtypes import ElementType
from onereshape.ground.errors import FormatError
from onereshape.ground.numpy_types import Array
from tests.formats.tensors import ONNX_TYPES, refusal, same, sample, saved, write_refusal

NAMELESS = "V1"

every_type = pytest.mark.parametrize("row", ONNX_TYPES, ids=lambda row: row.name)


class TestEveryType:
    def test_there_are_26(self) -> None:
        assert len(ONNX_TYPES) == 26

    @every_type
    def test_pb_to_pb(self, row: ElementType, tmp_path: Path) -> None:
        proto = numpy_helper.from_array(sample(row), "x")
        proto.doc_string = "what it is"
        proto.metadata_props.add(key="k", value="v")
        (tmp_path / "a.pb").write_bytes(proto.SerializeToString())
        write_tensor(str(tmp_path / "b.pb"), read_tensor(str(tmp_path / "a.pb")))

        again = onnx.TensorProto.FromString((tmp_path / "b.pb").read_bytes())
        assert again == proto

    @every_type
    @pytest.mark.parametrize("suffix", [".npy", ".npz"])
    def test_pb_to_numpy_to_pb(self, row: ElementType, suffix: str, tmp_path: Path) -> None:
        write_tensor(str(tmp_path / "a.pb"), Tensor(sample(row), "x"))
        write_tensor(str(tmp_path / f"b{suffix}"), read_tensor(str(tmp_path / "a.pb")))
        back = read_tensor(str(tmp_path / f"b{suffix}"), element_type=row)
        write_tensor(str(tmp_path / "c.pb"), Tensor(back.array, "x"))

        assert (tmp_path / "c.pb").read_bytes() == (tmp_path / "a.pb").read_bytes()

    @every_type
    def test_typed_fields_of_a_pb(self, row: ElementType, tmp_path: Path) -> None:
        """Data in float_data, int32_data and the like instead of raw_data, as helper.make_tensor writes them."""
        array = sample(row)
        if row.numpy is not None and row.numpy.kind in "fcV":
            array = np.arange(12).reshape(3, 4).astype(row.numpy)
        values = array.reshape(-1).tolist() if row is dtypes.STRING else array.reshape(-1)
        proto = helper.make_tensor("x", getattr(TensorProto, str(row.onnx).upper()), array.shape, values)
        assert not proto.raw_data
        (tmp_path / "a.pb").write_bytes(proto.SerializeToString())

        assert same(read_tensor(str(tmp_path / "a.pb")).array, array)

    @every_type
    def test_npy_is_what_numpy_saves(self, row: ElementType, tmp_path: Path) -> None:
        array = sample(row)
        if row is dtypes.STRING:
            array = array.astype(np.str_)
        write_tensor(str(tmp_path / "a.npy"), Tensor(array))
        assert (tmp_path / "a.npy").read_bytes() == saved(array)

        assert same(read_tensor(str(tmp_path / "a.npy"), element_type=row).array, array)

    def test_without_a_type_said(self, tmp_path: Path) -> None:
        """Only the types that share V1 need to be said; all the others come back by themselves."""
        for row in ONNX_TYPES:
            array = sample(row).astype(np.str_) if row is dtypes.STRING else sample(row)
            write_tensor(str(tmp_path / "a.npy"), Tensor(array))
            back = read_tensor(str(tmp_path / "a.npy")).array
            if dtypes.stored_as("<V1").count(row):
                assert back.dtype == NAMELESS, row.name
            else:
                assert back.dtype == array.dtype, row.name
            assert back.tobytes() == array.tobytes()


ordinary = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.floating_dtypes(),
    hnp.complex_number_dtypes(),
    hnp.unicode_string_dtypes(),
    hnp.byte_string_dtypes(),
    hnp.datetime64_dtypes(),
)


class TestNpy:
    @settings(deadline=None)
    @given(
        array=ordinary.flatmap(lambda d: hnp.arrays(d, hnp.array_shapes(min_dims=0, min_side=0, max_side=4))),
        fortran=st.booleans(),
        version=st.sampled_from([(1, 0), (2, 0), (3, 0)]),
    )
    def test_read_is_load_and_write_is_save(
        self, array: Array, fortran: bool, version: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "x.npy"
        with path.open("wb") as file:
            np.lib.format.write_array(file, np.asarray(array, order="F" if fortran else "C"), version)
        read, loaded = read_tensor(str(path)).array, np.load(path)
        assert same(read, loaded)
        assert read.flags.f_contiguous == loaded.flags.f_contiguous
        write_tensor(str(path), Tensor(read))
        assert path.read_bytes() == saved(loaded)

    def test_cut_off_while_it_is_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A mapped file would end the process."""
        path = tmp_path / "a.npy"
        np.save(path, np.arange(10_000))
        check = npy.check_length

        def cut(*words: Any) -> None:
            check(*words)
            os.truncate(path, 5000)

        monkeypatch.setattr(npy, "check_length", cut)
        with pytest.raises(FormatError, match="has changed while it was read"):
            read_tensor(str(path), mapped=False)

    def test_is_mapped_into_memory(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.zeros((2, 3)))
        base = read_tensor(str(tmp_path / "a.npy")).array.base
        assert isinstance(base, np.memmap)

    def test_big_endian_bfloat16(self, tmp_path: Path) -> None:
        """Ml_dtypes write >V2, which np.load takes for V2 with the bytes the wrong way round."""
        array = np.array([1, 2.5, -3], ml_dtypes.bfloat16)
        np.save(tmp_path / "a.npy", array.astype(array.dtype.newbyteorder(">")))
        assert b"'>V2'" in (tmp_path / "a.npy").read_bytes()

        assert same(read_tensor(str(tmp_path / "a.npy")).array, array)

    def test_python_2_header(self, tmp_path: Path) -> None:
        whole = saved(np.zeros((2, 3))).replace(b"(2, 3), }  ", b"(2L, 3L), }")
        (tmp_path / "a.npy").write_bytes(whole)

        assert read_tensor(str(tmp_path / "a.npy")).array.shape == (2, 3)

    def test_void_resaved_by_numpy_is_still_bfloat16(self, tmp_path: Path) -> None:
        array = np.array([1, 2.5, -3], ml_dtypes.bfloat16)
        np.save(tmp_path / "a.npy", array.view("V2"))

        assert same(read_tensor(str(tmp_path / "a.npy")).array, array)

    def test_a_large_array_is_written_in_chunks(self, tmp_path: Path) -> None:
        array = np.arange(5_000_000, dtype=np.float64).reshape(1000, 5000)
        for each in (array, array.T, array[::2, ::3]):
            write_tensor(str(tmp_path / "a.npy"), Tensor(each))
            assert same(np.load(tmp_path / "a.npy"), each)


class TestSaidTypes:
    def test_wrong_for_a_named_type(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.zeros(3, np.float32))
        assert refusal(tmp_path / "a.npy", element_type=dtypes.named("bf16")) == "holds float32, not bfloat16"
        assert refusal(tmp_path / "a.npy", element_type=dtypes.named("nf4")) == "holds float32, not nf4"

    def test_float8_e5m2_has_a_name(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.zeros(3, ml_dtypes.float8_e5m2))
        assert refusal(tmp_path / "a.npy", element_type=dtypes.named("int4")) == "holds float8_e5m2, not int4"

    @pytest.mark.parametrize("name", ["bfloat16", "string", "nf4", "int8"])
    def test_wrong_size(self, name: str, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.zeros(3, ml_dtypes.int4))
        if name == "int8":
            assert read_tensor(str(tmp_path / "a.npy"), element_type=dtypes.named(name)).array.dtype == np.int8
        else:
            why = f"holds items of 1 byte(s), which cannot be {name}"
            assert refusal(tmp_path / "a.npy", element_type=dtypes.named(name)) == why

    def test_a_nameless_type_is_not_written_to_onnx(self, tmp_path: Path) -> None:
        why = "an ONNX tensor names its type, and items stored as V1 have none: give --dtype"
        assert write_refusal(tmp_path / "a.pb", Tensor(np.zeros(3, "V1"))) == why
        assert write_refusal(tmp_path / "a.pb", Tensor(np.zeros(3, "M8[s]"))) == "ONNX has no type for datetime64[s]"


class TestNpz:
    def test_several(self, tmp_path: Path) -> None:
        path = tmp_path / "a.npz"
        np.savez(path, w=np.zeros((2, 3)), b=np.ones(4))
        assert refusal(path) == "holds 2 arrays, choose with --array: w, b"
        assert refusal(path, array="q") == "holds no array 'q', only w, b"
        tensor = read_tensor(str(path), array="b")
        assert tensor.name == "b"

        assert same(tensor.array, np.ones(4))

    def test_compressed(self, tmp_path: Path) -> None:
        array = np.arange(3_000_000)
        np.savez_compressed(tmp_path / "a.npz", array)

        assert same(read_tensor(str(tmp_path / "a.npz")).array, array)

    def test_written_as_numpy_does(self, tmp_path: Path) -> None:
        arrays: dict[str, Any] = {"layer/w": np.eye(3)}
        np.savez(tmp_path / "a.npz", **arrays)
        write_tensor(str(tmp_path / "b.npz"), Tensor(np.eye(3), "layer/w"))
        assert (tmp_path / "b.npz").read_bytes() == (tmp_path / "a.npz").read_bytes()
        write_tensor(str(tmp_path / "c.npz"), Tensor(np.eye(3)))

        assert list(np.load(tmp_path / "c.npz")) == ["arr_0"]

    def test_a_name_that_zip_would_cut(self, tmp_path: Path) -> None:
        why = write_refusal(tmp_path / "a.npz", Tensor(np.eye(3), "a\0b"))
        assert why == r"an archive cannot hold the name 'a\x00b'"

    def test_no_array(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
            archive.writestr("readme.txt", "nothing here")
        assert refusal(tmp_path / "a.npz") == "holds no array"

    def test_not_a_zip(self, tmp_path: Path) -> None:
        (tmp_path / "a.npz").write_bytes(b"PK no")
        assert refusal(tmp_path / "a.npz") == "is not a sound zip archive (File is not a zip file)"

    def test_an_offset_before_the_start(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", x=np.zeros(3))
        whole = (tmp_path / "a.npz").read_bytes()
        (tmp_path / "a.npz").write_bytes(whole[40:])
        assert refusal(tmp_path / "a.npz").startswith("is not a sound zip archive (Bad offset")  # Python words the rest

    def test_a_name_chosen_elsewhere(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.zeros(3))
        why = "holds a single tensor; only an .npz holds arrays by name"
        assert refusal(tmp_path / "a.npy", array="w") == why

    def test_checksum(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", x=np.zeros(100))
        whole = bytearray((tmp_path / "a.npz").read_bytes())
        whole[whole.index(b"\0" * 100) + 50] = 1
        (tmp_path / "a.npz").write_bytes(whole)
        assert refusal(tmp_path / "a.npz") == "is not a sound zip archive (Bad CRC-32 for file 'x.npy')"


class TestStrings:
    def test_bytes_that_are_not_text(self, tmp_path: Path) -> None:
        """Exact from .pb to .pb, refused for .npy, which holds only text."""
        proto = TensorProto(data_type=TensorProto.STRING, dims=[2], string_data=[b"ok", b"\xff\xfe"])
        (tmp_path / "a.pb").write_bytes(proto.SerializeToString())
        tensor = read_tensor(str(tmp_path / "a.pb"))
        assert tensor.array.tolist() == ["ok", b"\xff\xfe"]
        write_tensor(str(tmp_path / "b.pb"), tensor)
        assert onnx.TensorProto.FromString((tmp_path / "b.pb").read_bytes()) == proto

        why = "string 1 is not UTF-8, and .npy files hold only text"
        assert write_refusal(tmp_path / "c.npy", tensor) == why

    def test_a_last_nul_would_be_lost(self, tmp_path: Path) -> None:
        why = "string 0 ends with a NUL, which the fixed width of .npy files would lose"
        assert write_refusal(tmp_path / "c.npz", Tensor(np.array(["a\0", "b"], object))) == why

    @pytest.mark.parametrize("dims", [(), (0,), (2, 0), (1, 1)])
    def test_few(self, dims: tuple[int, ...], tmp_path: Path) -> None:
        array = np.full(dims, "", object)
        write_tensor(str(tmp_path / "a.npy"), Tensor(array))
        assert np.load(tmp_path / "a.npy").dtype == "U1"
        write_tensor(str(tmp_path / "b.pb"), read_tensor(str(tmp_path / "a.npy")))

        assert same(read_tensor(str(tmp_path / "b.pb")).array, array)

    def test_bytes_of_numpy(self, tmp_path: Path) -> None:
        np.save(tmp_path / "a.npy", np.array([b"a", b"\xff"]))
        write_tensor(str(tmp_path / "b.pb"), read_tensor(str(tmp_path / "a.npy")))

        assert read_tensor(str(tmp_path / "b.pb")).array.tolist() == ["a", b"\xff"]

    @pytest.mark.parametrize("point", [0xD800, 0x7FFFFFFF])
    def test_text_that_is_no_unicode(self, point: int, tmp_path: Path) -> None:
        array = np.array([point], np.uint32).view("<U1")
        why = "a string of it is not valid Unicode, and ONNX strings are UTF-8"
        assert write_refusal(tmp_path / "a.pb", Tensor(array)) == why


@pytest.mark.parametrize("dims", [(), (0,), (2, 0, 3), (1,)])
@pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb"])
@pytest.mark.parametrize("order", "<>")
def test_small_arrays_in_either_byte_order(dims: tuple[int, ...], suffix: str, order: str, tmp_path: Path) -> None:
    array = np.full(dims, 7, f"{order}i4")
    write_tensor(str(tmp_path / f"a{suffix}"), Tensor(array))
    back = read_tensor(str(tmp_path / f"a{suffix}")).array
    assert back.shape == dims
    assert back.tolist() == array.tolist()
