"""Outputs that an export of one sample has without a batch: they get a new first axis for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import onereshape as orx
from onereshape.graphs.shapes import facts_of
from onereshape.ground.errors import FixError
from onereshape.terms.batches import NEW_AXIS
from onereshape.terms.prove import prove_batch
from tests.prove.certifying import built
from tests.repair.test_released_habits import saved
from tests.running import session

Node = onnx.NodeProto


def node(op: str, *names: str, **attributes: Any) -> Node:
    return helper.make_node(op, [*names[:-1]], [names[-1]], **attributes)


CASES: dict[str, tuple[list[Node], dict[str, Any], list[int | str], list[int | str], list[int | str]]] = {
    "squeeze": ([node("Squeeze", "x", "zero", "y")], {"zero": np.array([0])}, [1, 8], [8], ["N", 8]),
    "flatten": ([node("Reshape", "x", "t", "y")], {"t": np.array([8, 2])}, [1, 4, 2, 2], [8, 2], ["N", 8, 2]),
    "take": ([node("Gather", "x", "i", "y", axis=0)], {"i": np.array(0)}, [1, 4, 3], [4, 3], ["N", 4, 3]),
    "inside": (
        [node("Transpose", "x", "a", perm=[1, 0, 2]), node("Reshape", "a", "t", "y")],
        {"t": np.array([4, 3])},
        [1, 4, 3],
        [4, 3],
        ["N", 4, 3],
    ),
    "named": ([node("Squeeze", "x", "zero", "y")], {"zero": np.array([0])}, [1, "S", 3], ["S", 3], ["N", "S", 3]),
    "named twice": (
        [node("Reshape", "x", "t", "y")],
        {"t": np.array([-1, 3, 2])},
        [1, "S", 3, 2],
        ["S", 3, 2],
        ["N", "S", 3, 2],
    ),
    "kept": ([node("Relu", "x", "y")], {}, [1, 8], [1, 8], ["N", 8]),
    "several samples": ([node("Reshape", "x", "t", "y")], {"t": np.array([16])}, [2, 8], [16], ["8*N"]),
}


def run(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    found: np.ndarray = session(model, optimized=True).run(None, {"x": x})[0]
    return found


@pytest.mark.parametrize("name", CASES)
def test_one_sample_on_each_entry_of_the_new_axis(name: str, tmp_path: Path) -> None:
    nodes, constants, given, before, after = CASES[name]
    path = saved(tmp_path, nodes, {"x": given}, {"y": before}, constants)
    fixed = orx.fix(path, batch=True)
    output = fixed.model.ir.graph.outputs[0]

    assert [str(dim) for dim in output.shape or ()] == [str(dim) for dim in after]
    assert fixed.certificate.status == "proven"
    if given[0] != 1:
        return
    dims = [dim if isinstance(dim, int) else 5 for dim in given[1:]]
    x = np.random.default_rng(0).standard_normal((3, *dims)).astype(np.float32)
    orx.save(fixed.model, tmp_path / "out.onnx")
    original, repaired = onnx.load(path), onnx.load(tmp_path / "out.onnx")
    alone = [run(original, x[place : place + 1]) for place in range(3)]
    wanted = np.concatenate(alone) if name == "kept" else np.stack(alone)
    assert np.array_equal(run(repaired, x), wanted)
    assert bool(fixed.notes) == (name != "kept")
    assert orx.certify(path, tmp_path / "out.onnx", batch=True).status == "proven"


def test_the_rank_is_kept_where_that_is_asked(tmp_path: Path) -> None:
    nodes, constants, given, before, _ = CASES["squeeze"]
    path = saved(tmp_path, nodes, {"x": given}, {"y": before}, constants)
    fixed = orx.fix(path, batch=True, new_axis=False)

    assert [str(dim) for dim in fixed.model.ir.graph.outputs[0].shape or ()] == ["8*N"]
    assert fixed.certificate.status == "proven"
    assert fixed.notes == ()


def test_who_reads_an_output_inside_reads_it_as_before(tmp_path: Path) -> None:
    nodes = [node("Squeeze", "x", "zero", "y"), node("Relu", "y", "z")]
    path = saved(tmp_path, nodes, {"x": [1, 8]}, {"y": [8], "z": [8]}, {"zero": np.array([0])})
    fixed = orx.fix(path, batch=True)

    assert [str(value.shape) for value in fixed.model.ir.graph.outputs] == ["[N,8]", "[N,8]"]
    assert fixed.certificate.status == "proven"


def test_a_wrong_new_axis_is_found(tmp_path: Path) -> None:
    """The samples in another order, or a sample's entries among others', are not what each gives alone."""
    nodes, constants, given, before, _ = CASES["flatten"]
    path = saved(tmp_path, nodes, {"x": given}, {"y": before}, constants)
    wrong = [
        node("Reshape", "x", "t", "flat"),
        node("Reshape", "flat", "u", "apart"),
        node("Transpose", "apart", "y", perm=[1, 0, 2]),
    ]
    graph = helper.make_graph(
        wrong,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4, 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 8, 2])],
        [onnx.numpy_helper.from_array(np.array(dims), name) for name, dims in (("t", [-1, 2]), ("u", [8, -1, 2]))],
    )
    bad = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(bad, tmp_path / "bad.onnx")

    assert orx.certify(path, tmp_path / "bad.onnx", batch=True).status == "differs"


SCALARS: dict[str, tuple[list[Node], dict[str, Any], list[int | str], list[int | str], list[str]]] = {
    "squeeze": ([node("Squeeze", "x", "y")], {}, [1, 1], [], ["N"]),
    "reshape": ([node("Reshape", "x", "t", "y")], {"t": np.array([], np.int64)}, [1, 1], [], ["N"]),
    "reduce": ([node("ReduceMean", "x", "y", keepdims=0)], {}, [1, 4], [], ["N"]),
    "reduce, then more": (
        [node("ReduceMean", "x", "m", keepdims=0), node("Exp", "m", "e"), node("Mul", "e", "two", "y")],
        {"two": np.array(2, np.float32)},
        [1, 4],
        [],
        ["N"],
    ),
    "between": (
        [node("Squeeze", "x", "s"), node("Sigmoid", "s", "z"), node("Unsqueeze", "z", "zero", "y")],
        {"zero": np.array([0])},
        [1, 1],
        [1],
        ["N"],
    ),
    "unbind of names": (
        [node("Gather", "x", "i", "y")],
        {"i": np.array(0)},
        [1, "S", "T"],
        ["S", "T"],
        ["N", "S", "T"],
    ),
}


@pytest.mark.parametrize("name", SCALARS)
def test_last_nodes_that_leave_no_place(name: str, tmp_path: Path) -> None:
    nodes, constants, given, before, after = SCALARS[name]
    path = saved(tmp_path, nodes, {"x": given}, {"y": before}, constants)
    fixed = orx.fix(path, batch=True)
    orx.save(fixed.model, tmp_path / "out.onnx")
    dims = [dim if isinstance(dim, int) else 5 for dim in given[1:]]
    x = np.random.default_rng(0).standard_normal((3, *dims)).astype(np.float32)
    alone = [run(onnx.load(path), x[place : place + 1]) for place in range(3)]

    assert fixed.certificate.status == "proven"
    assert [str(dim) for dim in fixed.model.ir.graph.outputs[0].shape or ()][: len(after)] == after
    assert np.allclose(run(onnx.load(tmp_path / "out.onnx"), x).reshape(3, -1), np.stack(alone).reshape(3, -1))
    assert "cannot-free" not in [finding.code for finding in orx.check(path, batch=True)]


def test_a_value_that_others_read_is_not_taken_out(tmp_path: Path) -> None:
    nodes = [node("Squeeze", "x", "y"), node("Add", "y", "y", "z")]
    path = saved(tmp_path, nodes, {"x": [1, 1]}, {"y": [], "z": []}, {})
    with pytest.raises(FixError, match="and no other can take it"):
        orx.fix(path, batch=True)


@pytest.mark.parametrize(("body", "verdict"), [("y = Identity(x)", "proven"), ("y = Reshape(t, s)", "other")])
def test_the_terms_see_a_new_axis(body: str, verdict: str) -> None:
    """The right repair of a flatten, and one that mixes the samples."""
    original = built("(float[1, 2, 3] x) => (float[2, 3] y) <int64[2] s = {2, 3}> { y = Reshape(x, s) }")
    repaired = built(
        "(float[N, 2, 3] x) => (float[N, 2, 3] y) <int64[3] s = {-1, 2, 3}>"
        f" {{ t = Transpose <perm = [1, 0, 2]> (x) {body} }}"
    )
    found = prove_batch(original, repaired, {"x": 0}, places={"y": NEW_AXIS}, seed=7)

    assert found.verdict == verdict
    assert prove_batch(original, repaired, {"x": 0}, places={"y": (0, 1)}, seed=7).verdict == "other"


def test_a_size_without_a_name_is_said_by_its_place(tmp_path: Path) -> None:
    flat = [node("Reshape", "x", "t", "y")]
    path = saved(tmp_path, flat, {"x": [1, -1, 3]}, {"y": [-1, 3]}, {"t": np.array([-1, 3])})

    fixed = orx.fix(path, batch=True)

    assert fixed.notes == (
        "output y is [N, x[1], 3], with a new axis for the batch that one sample had not (--no-new-axis: [N*x[1], 3])",
    )
    kept = orx.fix(path, batch=True, new_axis=False)
    assert str(kept.model.ir.graph.outputs[0].shape) == "[None,3]"

    turned = [node("Transpose", "x", "a", perm=[1, 0, 2, 3]), node("Reshape", "a", "t", "y")]
    path = saved(tmp_path, turned, {"x": [1, -1, -1, 3]}, {"y": [-1, 3]}, {"t": np.array([-1, 3])})
    with pytest.raises(FixError, match=r"it would carry the batch inside x\[1\]"):
        orx.fix(path, batch=True)


def test_a_size_inside_is_said_by_the_first_value_that_has_it() -> None:
    text = "(float[1, ?, ?] x) => (float[1, ?, 4] y) <float[4, 3, 1] w> { a = Relu(x) y = Neg(a) }"
    facts = facts_of(built(text))

    assert facts.in_words("the size _d0*N of _d1 and _d10, not_d0") == "the size x[1]*N of x[2] and _d10, not_d0"
    assert facts.in_words("nothing of it") == "nothing of it"
