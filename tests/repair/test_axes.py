"""Where the batch is, if nobody says it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

import onereshape as orx
from onereshape.graphs.backtracking import GAVE_UP, Patience
from onereshape.graphs.likely_batch import Declared, Shapes, likely_axes, other_axes, other_starts
from onereshape.ground.errors import FixError
from onereshape.repair import batch_work
from onereshape.repair.batch import search
from onereshape.repair.batch.search import BatchPlan, batch_plan, fresh_patience
from tests.repair.test_released_habits import saved
from tests.shaped_models import read

LIKELY: list[tuple[Shapes, dict[str, int]]] = [
    ({"x": (1, 3), "y": (1, 4)}, {"x": 0, "y": 0}),
    ({"x": (2, 3), "y": (1, 4)}, {"x": 0}),
    ({"x": ("batch", 3), "h": (2, "batch", 8)}, {"x": 0, "h": 1}),
    ({"x": ("seq", "batch", 3), "h": (2, "batch", 8)}, {"x": 1, "h": 1}),
    ({"x": ("T", "batchSize", 3)}, {"x": 1}),
    ({"img": ("H", "W", 3), "kps": ("N", 10)}, {"kps": 0}),
    ({"img": ("height", "width", 3), "boxes": ("batch_size", 4)}, {"boxes": 0}),
    ({"x": ("seq_len", 576), "h": (1, 1, 128)}, {"x": 0}),
    ({"x": ("unk__57", "unk__58", 32), "h": ("unk__59", 256)}, {"x": 0}),
    ({"x": (None, 3), "y": (None, 4)}, {"x": 0, "y": 0}),
    ({"x": ("d0", 3)}, {"x": 0}),
    ({"x": ("seq", 3), "mask": ("S",)}, {"x": 0}),
    ({"x": ("num_nodes", 16), "edge": (2, "num_edges")}, {"x": 0}),
]


@pytest.mark.parametrize(("shapes", "axes"), LIKELY)
def test_what_is_likely(shapes: Shapes, axes: dict[str, int]) -> None:
    assert likely_axes(shapes) == axes


@pytest.mark.parametrize("dims", [("H", "W", 3), ("height", "width", 3), ("img_width", "img_height"), ("rows", "cols")])
def test_a_picture_alone_has_no_batch(dims: tuple[Declared, ...]) -> None:
    with pytest.raises(FixError) as refusal:
        likely_axes({"img": dims})

    assert refusal.value.code == "no-batch"
    assert "one sample without an axis for several" in refusal.value.sentence
    assert "--batch img:0" in refusal.value.sentence


def test_states_of_the_same_dims_move_together_and_the_first_input_stays() -> None:
    shapes: Shapes = {"x": (1, 1, 64), "h": (1, 1, 8), "c": (1, 1, 8)}

    assert [*other_axes(shapes, {"x": 0, "h": 0, "c": 0})] == [[{"x": 0, "h": 1, "c": 1}]]


def test_other_names_may_be_the_batch_too() -> None:
    shapes: Shapes = {"x": ("a", "b", 3), "h": ("c", 8), "k": ("d", 8), "t": ("time", 8)}

    assert [*other_axes(shapes, {"x": 0})] == [[{"x": 0, "h": 0, "k": 0}]]


def test_time_first_then_a_batch_of_one() -> None:
    assert [*other_starts({"x": (16, 1, 64)}, {"x": 0}, mixes=False)] == [{"x": 1}]
    assert [*other_starts({"x": ("seq_len", 1, 64), "y": (5,)}, {"x": 0}, mixes=False)] == [{"x": 1}]


def recurrent(layers: int) -> tuple[list[onnx.NodeProto], dict[str, np.ndarray]]:
    """A GRU over [N, 5, 3], batch first, with its state as an input and as an output."""
    rng = np.random.default_rng(0)
    directions = {1: "forward", 2: "bidirectional"}[layers]
    nodes = [
        helper.make_node("Transpose", ["x"], ["steps"], perm=[1, 0, 2]),
        helper.make_node("GRU", ["steps", "w", "r", "", "", "h"], ["all", "hn"], hidden_size=4, direction=directions),
        helper.make_node("Squeeze", ["all", "one"] if layers == 1 else ["all"], ["flat"]),
        helper.make_node("Transpose", ["flat"], ["y"], perm=[1, 0, 2]),
    ]
    constants = {
        "w": rng.standard_normal((layers, 12, 3)).astype(np.float32),
        "r": rng.standard_normal((layers, 12, 4)).astype(np.float32),
        "one": np.array([1]),
    }
    if layers == 2:
        nodes[2:] = [helper.make_node("Identity", ["all"], ["y"])]
    return nodes, constants


def test_a_state_that_cannot_carry_the_batch_at_axis_0(tmp_path: Path) -> None:
    nodes, constants = recurrent(1)
    path = saved(tmp_path, nodes, {"x": [1, 5, 3], "h": [1, 1, 4]}, {"y": [1, 5, 4], "hn": [1, 1, 4]}, constants)
    fixed = orx.fix(path, batch=True)

    assert {name: [*dims] for name, dims in fixed.freed.items()} == {"x": [0], "h": [1]}
    assert fixed.certificate.status == "proven"
    (note,) = fixed.notes
    assert note.startswith("took h:1, as the batch at x:0 h:0 cannot be freed: ")
    assert [finding.code for finding in orx.check(path, batch=True)] == ["fixed-batch"]


def test_all_places_share_what_may_be_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes, constants = recurrent(1)
    path = saved(tmp_path, nodes, {"x": [1, 5, 3], "h": [1, 1, 4]}, {"y": [1, 5, 4], "hn": [1, 1, 4]}, constants)
    patient = [fresh_patience()]
    monkeypatch.setattr(batch_work, "fresh_patience", patient.pop)
    planned: list[tuple[dict[str, int], Patience]] = []

    def plan(model: ir.Model, axes: dict[str, int], *others: Any, patience: Patience) -> BatchPlan:
        planned.append((axes, patience))
        return batch_plan(model, axes, *others, patience=patience)

    monkeypatch.setattr(batch_work, "batch_plan", plan)
    orx.fix(path, batch=True, certify=False)

    assert [axes for axes, _ in planned] == [{"x": 0, "h": 0}, {"x": 0, "h": 1}]
    assert planned[0][1] is planned[1][1]


def test_a_state_that_comes_out_for_each_sample_goes_in_for_each(tmp_path: Path) -> None:
    nodes, constants = recurrent(2)
    outputs: dict[str, list[int | str]] = {"y": [5, 2, 1, 4], "hn": [2, 1, 4]}
    path = saved(tmp_path, nodes, {"x": [1, 5, 3], "h": [2, 1, 4]}, outputs, constants)
    fixed = orx.fix(path, batch=True)

    assert {name: [*dims] for name, dims in fixed.freed.items()} == {"x": [0], "h": [1]}
    assert fixed.certificate.status == "proven"
    assert fixed.notes == ("took h:1 too, as hn, which has its dims, carries the batch there",)
    again = orx.certify(path, fixed.model, batch=True)
    assert again.status == "proven"


def test_names_that_differ_are_one_batch_where_they_must_be(tmp_path: Path) -> None:
    nodes = [helper.make_node("Concat", ["a", "b"], ["y"], axis=1)]
    path = saved(tmp_path, nodes, {"a": ["unk__1", 3], "b": ["unk__2", 3]}, {"y": ["unk__3", 6]}, {})
    fixed = orx.fix(path, batch=True)

    assert fixed.changes == ()
    assert fixed.notes[0].startswith("took b:0, as the batch at a:0 cannot be freed: ")


def test_names_that_differ_are_written_as_one(tmp_path: Path) -> None:
    nodes = [helper.make_node("Concat", ["a", "b"], ["c"], axis=1), helper.make_node("Reshape", ["c", "t"], ["y"])]
    inputs: dict[str, list[int | str]] = {"a": ["unk__1", 3], "b": ["unk__2", 3]}
    path = saved(tmp_path, nodes, inputs, {"y": ["unk__3", 3, 2]}, {"t": np.array([1, 3, 2])})
    fixed = orx.fix(path, batch=True)

    assert fixed.certificate.status == "proven"
    assert {str(value.shape[0]) for value in fixed.model.ir.graph.inputs if value.shape is not None} == {"unk__1"}


def test_a_sequence_that_the_model_runs_along_is_no_batch(tmp_path: Path) -> None:
    nodes = [helper.make_node("Softmax", ["x"], ["y"], axis=0)]
    path = saved(tmp_path, nodes, {"x": ["seq_len", 4]}, {"y": ["seq_len", 4]}, {})
    with pytest.raises(FixError, match=r"no input carries a batch: x is \[seq_len, 4\], one sample"):
        orx.fix(path, batch=True)


def test_several_places_are_told_and_none_is_taken(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Softmax", ["h"], ["z"], axis=0)]
    inputs: dict[str, list[int | str]] = {"x": [1, 5], "h": [1, 1, 1, 4]}
    path = saved(tmp_path, nodes, inputs, {"y": [1, 5], "z": [1, 1, 1, 4]}, {})
    with pytest.raises(FixError, match="say it: --batch x:0 h:1 or --batch x:0 h:2"):
        orx.fix(path, batch=True)
    assert orx.fix(path, batch={"x": 0, "h": 2}).certificate.status == "proven"


def test_a_stack_of_states_goes_in_as_it_comes_out(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Split", ["cache"], ["a", "b"], axis=0),
        helper.make_node("Squeeze", ["a", "zero"], ["a1"]),
        helper.make_node("Squeeze", ["b", "zero"], ["b1"]),
        helper.make_node("Add", ["a1", "x"], ["a2"]),
        helper.make_node("Mul", ["b1", "a2"], ["y"]),
        helper.make_node("Unsqueeze", ["a2", "zero"], ["a3"]),
        helper.make_node("Unsqueeze", ["y", "zero"], ["b3"]),
        helper.make_node("Concat", ["a3", "b3"], ["out"], axis=0),
    ]
    inputs: dict[str, list[int | str]] = {"x": [1, 4, 3], "cache": [2, 1, 4, 3]}
    path = saved(tmp_path, nodes, inputs, {"y": [1, 4, 3], "out": [2, 1, 4, 3]}, {"zero": np.array([0])})
    fixed = orx.fix(path, batch=True)

    assert {name: [*dims] for name, dims in fixed.freed.items()} == {"x": [0], "cache": [1]}
    assert [str(value.shape) for value in fixed.model.ir.graph.outputs] == ["[N,4,3]", "[2,N,4,3]"]
    assert fixed.certificate.status == "proven"


@pytest.mark.parametrize("steps", [0, 5_000])
def test_a_search_that_gives_up_says_so(steps: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(search, "_MOST_STEPS_BACK", steps)
    text = "g (float[1, 4, 3] x) => (float[4, 3] y) { a = Squeeze(x) y = Softmax<axis = 0>(a) }"
    with pytest.raises(FixError, match="its sum runs along axis 0") as refusal:
        batch_plan(read(text), {"x": 0}, "N", 1)
    told = [GAVE_UP] if not steps else []

    assert getattr(refusal.value, "__notes__", []) == told
    ir.save(read(text), tmp_path / "m.onnx")
    (finding,) = [each for each in orx.check(tmp_path / "m.onnx", batch={"x": 0}) if each.code == "cannot-free"]
    assert (GAVE_UP in finding.message) == bool(told)


@pytest.mark.parametrize(
    "made", ["v = Mul(c, w) u = Neg(v)", "u = Expand(w, t)"], ids=["it has the rows", "it says how many"]
)
def test_rows_that_are_no_constant_come_from_one(made: str) -> None:
    text = (
        "g (float[2, 3] x, float[3] w) => (float[2, 3] y) <float[2, 3] c = {1, 2, 3, 1, 2, 3}, int64[2] t = {2, 3}>"
        f" {{ {made} y = Add(x, u) }}"
    )
    with pytest.raises(FixError) as refusal:
        batch_plan(read(text), {"x": 0}, "N", 2)

    why = "its input u has 2 rows for the samples, and is not a constant: it is computed from the constant"
    assert refusal.value.sentence == f"Add of y (Add): {why} {'t' if 'Expand' in made else 'c'}"
