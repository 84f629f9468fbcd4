"""Dims that a file calls None, null or ?: they have no name, and two of them need not be equal."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
import pytest
from onnx import parser

import onereshape as orx
from onereshape.formats.model import load
from tests.commands import Captured, said
from tests.shaped_models import HEAD

WORDS = ("None", "none", "null", "NaN", "nil", "*", "?", "-1", "unknown", "undefined", "n/a", "", " ")
_TWO = (
    "g (float[A, B, 4] x, float[C, 6] z) => (float[D, E, 4] y, float[F, 2, 3] w) <int64[3] t = {-1, 2, 3}>"
    " { y = Softmax<axis = 2>(x) w = Reshape(z, t) }"
)
_SHARED = "g (float[A, 4] x, float[B, 4] z) => (float[C, 4] y) { y = Add(x, z) }"


def first_dim(given: ir.Model) -> str | None:
    """What the first dim of the first input is called."""
    shape = given.graph.inputs[0].shape
    assert shape is not None
    dim = shape[0]
    assert isinstance(dim, ir.SymbolicDim)
    return dim.value


def named(text: str, word: str | int, folder: Path) -> str:
    """The model of a text with each of its names in the place of which stands this word."""
    model = parser.parse_model(HEAD + text)
    for value in (*model.graph.input, *model.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                setattr(dim, "dim_param" if isinstance(word, str) else "dim_value", word)
    onnx.save(model, folder / "m.onnx")
    return str(folder / "m.onnx")


@pytest.mark.parametrize("word", WORDS)
def test_a_dim_of_no_name_is_unknown(word: str, tmp_path: Path) -> None:
    given = load(named(_TWO, word, tmp_path)).ir

    dims = [dim for value in (*given.graph.inputs, *given.graph.outputs) for dim in value.shape]
    assert [dim for dim in dims if not isinstance(dim, int) and dim.value is not None] == []


@pytest.mark.parametrize("word", ["dynamic", "batch", "none_of_them", "unknown_0", "N"])
def test_every_other_word_is_a_name(word: str, tmp_path: Path) -> None:
    given = load(named(_TWO, word, tmp_path)).ir

    assert first_dim(given) == word


@pytest.mark.parametrize("word", WORDS)
def test_certificates_call_the_batch_n(word: str, tmp_path: Path) -> None:
    path = named(_TWO, word, tmp_path)

    found = orx.certify(path, path, batch=True)
    assert found.status == "proven"
    assert found.reason.startswith("for all N >= 1")
    assert "None" not in found.reason


def test_certify_names_it_on_the_command_line(capsys: Captured, tmp_path: Path) -> None:
    path = named(_SHARED, "None", tmp_path)

    assert "for all N >= 1" in said(capsys, "certify", path, path, "--batch")


@pytest.mark.parametrize("word", [*WORDS, -1, -7])
def test_what_needs_no_repair_is_written_as_it_was(word: str | int, tmp_path: Path) -> None:
    path = named(_TWO, word, tmp_path)
    fixed = orx.fix(path, batch=True)
    fixed.model.save(str(tmp_path / "out.onnx"))

    assert fixed.changes == ()
    assert (tmp_path / "out.onnx").read_bytes() == Path(path).read_bytes()


def test_two_of_one_word_are_not_one_size(tmp_path: Path) -> None:
    text = "g (float[A, B] x) => (float[C] y) <int64[1] one = {1}> { s = ReduceSum(x, one) y = Squeeze(s, one) }"
    path = named(text, "None", tmp_path)

    assert {tuple(sizes) for sizes in orx.certify(path, path).compared} == {("x[0]", "x[1]")}


def test_beside_what_is_repaired_words_are_forgotten(tmp_path: Path) -> None:
    text = "g (float[1, 6, A] x) => (float[1, 2, 3, A] y) <int64[4] t = {1, 2, 3, -1}> { y = Reshape(x, t) }"
    fixed = orx.fix(named(text, "None", tmp_path), batch={"x": 0})
    fixed.model.save(str(tmp_path / "out.onnx"))

    written = onnx.load(tmp_path / "out.onnx").graph
    dims = [each.type.tensor_type.shape.dim[-1] for each in (*written.input, *written.output)]
    assert [dim.HasField("dim_param") or dim.HasField("dim_value") for dim in dims] == [False, False]
    assert fixed.certificate.status == "proven"


def test_a_model_in_memory_is_read_alike_and_stays_as_it_is(tmp_path: Path) -> None:
    given = ir.load(named(_TWO, "None", tmp_path))

    assert orx.certify(given, given, batch=True).reason.startswith("for all N >= 1")
    assert first_dim(given) == "None"
