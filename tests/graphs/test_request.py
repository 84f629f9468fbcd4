"""What may be asked to be free, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.graphs.request import requested
from onereshape.ground.errors import FixError, ReshapeError
from tests.checking import written

TEXT = """g (float[2, 16] ids, float[2, 16, 8] hidden, float[4, 2] state, float scalar, float[B, ?] named)
    => (float[2, 16] y) <float[3] w = {1, 2, 3}> { y = Relu(ids) }"""


def ask(folder: Path, batch: Any = None, free: Any = None, text: str = TEXT) -> dict[str, dict[int, str]]:
    return requested(orx.load(written(text, folder)), batch, free)


def test_nothing_is_asked(tmp_path: Path) -> None:
    assert ask(tmp_path) == ask(tmp_path, batch=False) == {}


def test_the_batch_of_all_inputs_that_share_its_size(tmp_path: Path) -> None:
    assert ask(tmp_path, batch=True) == {"ids": {0: "N"}, "hidden": {0: "N"}}


def test_the_batch_of_named_axes(tmp_path: Path) -> None:
    assert ask(tmp_path, batch={"ids": 0, "state": -1}) == {"ids": {0: "N"}, "state": {1: "N"}}
    assert ask(tmp_path, batch={"named": 0, "ids": 0}) == {"named": {0: "B"}, "ids": {0: "B"}}
    assert ask(tmp_path, batch={"named": 1}) == {"named": {1: "N"}}


def test_a_name_that_is_taken_is_not_the_batch(tmp_path: Path) -> None:
    text = TEXT.replace("[B, ?]", "[N, N_1]")

    assert ask(tmp_path, batch={"ids": 0}, text=text) == {"ids": {0: "N_2"}}
    loaded = orx.load(written(TEXT, tmp_path))
    loaded.ir.graph.outputs[0].shape = ir.Shape(["2*N", 16])
    assert requested(loaded, batch={"ids": 0}) == {"ids": {0: "N_1"}}


def test_a_first_input_that_has_a_name(tmp_path: Path) -> None:
    text = "g (float[B, 2] x, float[B] z, float[3] w, float[C] v) => (float[?, ?] y) { y = Relu(x) }"

    expected = {"x": {0: "B"}, "w": {0: "B"}, "v": {0: "B"}}
    assert ask(tmp_path, batch={"x": 0, "w": 0, "v": 0}, text=text) == expected
    assert ask(tmp_path, batch=True, text=text) == {"x": {0: "B"}, "z": {0: "B"}}


def test_a_first_input_that_is_a_scalar_or_unknown(tmp_path: Path) -> None:
    text = "g (float s, float[?, 2] x, float[?] z) => (float[?, ?] y) { y = Relu(x) }"

    assert ask(tmp_path, batch=True, text=text) == {"x": {0: "N"}, "z": {0: "N"}}


def test_free_dims(tmp_path: Path) -> None:
    free = {"ids": {1: "S"}, "hidden": {-2: "S", 2: "H"}, "named": {0: "B", 1: "Q"}}
    expected = {"ids": {1: "S"}, "hidden": {1: "S", 2: "H"}, "named": {0: "B", 1: "Q"}}

    assert ask(tmp_path, free=free) == expected
    assert ask(tmp_path, free={"ids": {}}) == {}


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (
        {"free": {"id": {0: "N"}}},
        "unknown-input",
        "the model has no input 'id' (did you mean 'ids'?); its inputs are ids, hidden, state, scalar, named",
    ),
    ({"batch": {"IDS": 0}}, "unknown-input", "the model has no input 'IDS' (did you mean 'ids'?); its inputs are"),
    ({"batch": {"w": 0}}, "unknown-input", "the model has no input 'w'; its inputs are"),
    ({"batch": {"ids": 2}}, "axis-range", "the input ids has 2 dims, so it has no axis 2"),
    ({"free": {"ids": {-3: "N"}}}, "axis-range", "the input ids has 2 dims, so it has no axis -3"),
    ({"batch": {"scalar": 0}}, "axis-range", "the input scalar has 0 dims, so it has no axis 0"),
    ({"batch": {"ids": "0"}}, "bad-usage", "an axis of ids is '0', not an integer"),
    ({"batch": {"ids": True}}, "bad-usage", "an axis of ids is True, not an integer"),
    ({"batch": {}}, "bad-usage", 'batch is {}, not True or a mapping such as {"input": 0}'),
    ({"batch": "ids"}, "bad-usage", "batch is 'ids', not True or a mapping"),
    ({"free": {"ids": 0}}, "bad-usage", "free is {'ids': 0}, not a mapping such as"),
    ({"batch": True, "free": {"ids": {0: "N"}}}, "bad-usage", "a batch and other dims are freed one after the other"),
    (
        {"free": {"named": {0: "N"}}},
        "already-dynamic",
        "axis 0 of the input named is already dynamic: its name is B, not N",
    ),
    ({"free": {"ids": {0: "2N"}}}, "bad-name", "'2N' is no name of a dim: letters, digits and _, and no digit first"),
    ({"free": {"ids": {0: "a b"}}}, "bad-name", "'a b' is no name of a dim"),
    ({"free": {"ids": {0: 5}}}, "bad-name", "5 is no name of a dim"),
    (
        {"free": {"ids": {0: "S"}, "hidden": {1: "S"}}},
        "name-taken",
        "S would name two sizes: ids[0] = 2 and hidden[1] = 16",
    ),
    ({"free": {"ids": {1: "S", -1: "T"}}}, "asked-twice", "axis 1 of the input ids is asked for twice, as S and as T"),
    ({"batch": {"ids": 0, "state": 0}}, "batch-sizes", "the batch has two sizes: ids[0] = 2 and state[0] = 4"),
]


@pytest.mark.parametrize(("asked", "code", "message"), REFUSED)
def test_what_is_refused(asked: dict[str, Any], code: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ReshapeError) as refusal:
        ask(tmp_path, **asked)

    assert refusal.value.code == code
    assert refusal.value.usage
    assert refusal.value.sentence.startswith(message)
    assert isinstance(refusal.value, FixError) or code == "bad-usage"


@pytest.mark.parametrize(
    ("inputs", "why"), [("", "the model has no inputs"), ("float x", "none has an axis that is declared")]
)
def test_no_batch(inputs: str, why: str, tmp_path: Path) -> None:
    text = f"g ({inputs}) => (float[2] y) {{ y = Constant <value_floats = [1.0, 2.0]> () }}"
    with pytest.raises(FixError, match=f"no input carries a batch: {why}"):
        ask(tmp_path, batch=True, text=text)


def test_an_input_of_unknown_rank(tmp_path: Path) -> None:
    text = "g (float[] x, float[1] z) => (float[1] y) { y = Relu(z) }"
    loaded = orx.load(written(text, tmp_path))
    loaded.ir.graph.inputs[0].shape = None

    assert requested(loaded, batch=True) == {"z": {0: "N"}}
    with pytest.raises(FixError, match="the rank of the input x is not declared, so none of its axes can be freed"):
        requested(loaded, batch={"x": 0})


def test_an_initializer_in_the_list_of_inputs_is_none(tmp_path: Path) -> None:
    text = "g (float[3] w, float[1, 3] x) => (float[1, 3] y) <float[3] w = {1, 2, 3}> { y = Add(x, w) }"

    assert ask(tmp_path, batch=True, text=text) == {"x": {0: "N"}}
    with pytest.raises(FixError, match="the model has no input 'w'; its inputs are x"):
        ask(tmp_path, batch={"w": 0}, text=text)
