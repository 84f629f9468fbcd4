"""Large weights stay the bytes of the file: nobody sees a mark, and what is written is what onnx would write."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import numpy_helper, parser

import onereshape as orx
from onereshape.formats.onnx.onnx_bulk import BulkTensor
from onereshape.formats.onnx.onnx_large import write_large
from onereshape.formats.onnx.onnx_lists import lists_of, message
from onereshape.ground.errors import FormatError

MARK = b"onereshape bulk"
WIDE = 1 << 15


def model(**more: object) -> onnx.ModelProto:
    """A model with two weights that are large, and one that is not."""
    made = parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[1, 32768] x) => (float[1, 32768] y, float16[2, 32768] h)
        { a = Add(x, w)  t = Mul(a, s)  y = Reshape(t, target)  h = Identity(half) }"""
    )
    rng = np.random.default_rng(0)
    for name, array in {
        "w": rng.standard_normal((1, WIDE), np.float32),
        "s": np.array([2], np.float32),
        "half": rng.standard_normal((2, WIDE)).astype(np.float16),
        "target": np.array([1, WIDE]),
        **more,
    }.items():
        made.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save(model(), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


def test_the_elements_are_those_of_the_file_and_are_not_copied(path: Path) -> None:
    found = orx.load(path)
    held = {name: value.const_value for name, value in found.ir.graph.initializers.items()}
    assert {name for name, each in held.items() if isinstance(each, BulkTensor)} == {"w", "half"}
    for tensor in model().graph.initializer:
        mine = held[tensor.name]
        assert mine is not None
        assert np.array_equal(mine.numpy(), numpy_helper.to_array(tensor))
        assert mine.tobytes() == tensor.raw_data
        assert mine.dtype.value == tensor.data_type
    assert held["w"] is not None
    assert not held["w"].numpy().flags.owndata


def test_what_others_write_has_the_elements(path: Path) -> None:
    found = orx.load(path)
    for proto in (found.proto(), ir.to_proto(found.ir), ir.to_proto(found.ir.clone())):
        assert MARK not in proto.SerializeToString()
        assert [*proto.graph.initializer] == [*model().graph.initializer]


@pytest.mark.parametrize("name", ["copy.onnx", "copy.onnx.gz"])
def test_an_unchanged_model_is_written_as_it_was(path: Path, tmp_path: Path, name: str) -> None:
    first = tmp_path / name
    orx.save(orx.load(path), first)
    assert orx.load(first).proto() == model()
    content = first.read_bytes()
    orx.save(orx.load(first), first)
    assert first.read_bytes() == content
    assert path.suffix != first.suffix or path.read_bytes() == content


def test_it_is_written_as_it_was_when_the_file_is_gone(path: Path) -> None:
    content, found = path.read_bytes(), orx.load(path)
    path.unlink()
    orx.save(found, path)
    assert path.read_bytes() == content


def test_a_changed_model_has_its_weights(path: Path, tmp_path: Path) -> None:
    found = orx.load(path)
    found.ir.graph.inputs[0].shape = ir.Shape(["N", WIDE])
    found.save(tmp_path / "changed.onnx")
    wanted = model()
    wanted.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    assert onnx.load(tmp_path / "changed.onnx") == wanted


def test_a_weight_that_was_given_another_name(path: Path, tmp_path: Path) -> None:
    found = orx.load(path)
    found.ir.graph.initializers["w"].name = "v"
    found.save(tmp_path / "changed.onnx")
    written = {each.name: each.raw_data for each in onnx.load(tmp_path / "changed.onnx").graph.initializer}
    assert written["v"] == model().graph.initializer[0].raw_data
    assert "w" not in written
    assert MARK not in (tmp_path / "changed.onnx").read_bytes()


def test_a_weight_that_comes_from_another_file(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.onnx"
    onnx.save(model(w=np.ones((1, WIDE), np.float32) * 3), other)
    one, two = orx.load(path), orx.load(other)
    one.ir.graph.initializers["w"].const_value = two.ir.graph.initializers["half"].const_value
    one.save(tmp_path / "changed.onnx")
    assert MARK not in (tmp_path / "changed.onnx").read_bytes()
    written = {each.name: each for each in onnx.load(tmp_path / "changed.onnx").graph.initializer}
    assert model().graph.initializer[2].raw_data in {each.raw_data for each in written.values()}
    assert MARK not in one.proto().SerializeToString()


def test_a_weight_that_is_an_input_or_declared_too(tmp_path: Path) -> None:
    made = model()
    made.graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info("w", 1, [1, WIDE]))
    made.graph.value_info.add().CopyFrom(onnx.helper.make_tensor_value_info("half", 10, [2, WIDE]))
    onnx.save(made, tmp_path / "model.onnx")
    found = orx.load(tmp_path / "model.onnx")
    orx.save(found, tmp_path / "copy.onnx")
    assert (tmp_path / "copy.onnx").read_bytes() == (tmp_path / "model.onnx").read_bytes()
    found.ir.graph.inputs[0].shape = ir.Shape(["N", WIDE])
    found.save(tmp_path / "changed.onnx")
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    assert onnx.load(tmp_path / "changed.onnx") == made


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda tensor: pickle.loads(pickle.dumps(tensor))])  # noqa: S301
def test_a_copy_has_the_elements(path: Path, copied: Callable[[BulkTensor], BulkTensor]) -> None:
    held = orx.load(path).ir.graph.initializers["w"].const_value
    assert isinstance(held, BulkTensor)
    assert copied(held).tobytes() == held.tobytes()


def test_bytes_in_memory_are_held_too(path: Path) -> None:
    found = orx.load(path.read_bytes())
    assert isinstance(found.ir.graph.initializers["w"].const_value, BulkTensor)
    assert found.proto() == model()


def test_weights_of_another_length_are_refused(tmp_path: Path) -> None:
    made = model()
    made.graph.initializer[0].dims[1] = WIDE - 1
    onnx.save(made, tmp_path / "model.onnx")
    with pytest.raises(FormatError, match="initializer w has 32768 of the 32767 elements"):
        orx.load(tmp_path / "model.onnx")


def test_weights_of_a_large_message_go_to_their_file(path: Path, tmp_path: Path) -> None:
    found = orx.load(path)
    proto, lists = message(found.ir)
    assert {*lists} == {*lists_of(found.ir)}
    assert len(lists) == 2
    write_large(proto, str(tmp_path / "large.onnx"), "", lists)
    (first, *_), (wanted, *_) = onnx.load(tmp_path / "large.onnx").graph.initializer, model().graph.initializer
    assert first.raw_data == wanted.raw_data
    assert (tmp_path / "large.onnx").stat().st_size < WIDE
