"""Habits of released files: dims of -1, nodes out of order, ends beyond all samples, states, whole reductions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

import onereshape as orx
from onereshape.graphs.edit import Change
from onereshape.ground.errors import FixError
from onereshape.ground.isolation.budget import checked
from onereshape.prove.evidence import Carried
from onereshape.prove.runs.growing import grown
from onereshape.repair.last_word import declared_outputs, with_batch
from onereshape.repair.step import Wish
from onereshape.repair.unrepaired import AsItIs

Dims = list[int | str]


def value(name: str, dims: Dims) -> onnx.ValueInfoProto:
    found = helper.make_tensor_value_info(name, TensorProto.FLOAT, [0 if dim == -1 else dim for dim in dims])
    for axis, dim in enumerate(dims):
        if dim == -1:
            found.type.tensor_type.shape.dim[axis].dim_value = -1
    return found


def saved(  # noqa: PLR0913, PLR0917 - all that a model is
    folder: Path,
    nodes: list[onnx.NodeProto],
    inputs: dict[str, Dims],
    outputs: dict[str, Dims],
    constants: dict[str, np.ndarray],
    opset: int = 13,
) -> Path:
    graph = helper.make_graph(
        nodes,
        "g",
        [value(name, dims) for name, dims in inputs.items()],
        [value(name, dims) for name, dims in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


def test_a_dim_of_minus_one_is_not_known(tmp_path: Path) -> None:
    weights = np.ones((4, 3, 3, 3), np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    path = saved(tmp_path, [node], {"x": [-1, 3, -1, -1]}, {"y": [-1, 4, -1, -1]}, {"w": weights})

    assert orx.check(path, batch=True) == []
    assert orx.fix(path, batch=True).changes == ()


def test_a_node_that_is_taken_out_is_told(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["x", "k"], ["d"], name="dead"), helper.make_node("Relu", ["x"], ["y"])]
    path = saved(tmp_path, nodes, {"x": ["N", 3]}, {"y": ["N", 3]}, {"k": np.array([1, 3])})

    fixed = orx.fix(path, batch=True)

    assert fixed.notes == ("dead, which no output needs, would fail at several samples and was taken out",)
    assert fixed.certificate.status == "proven"


def test_a_model_that_is_right_already_is_not_rewritten(tmp_path: Path) -> None:
    """Whatever a rule would change in it; what it declares falsely is mended all the same."""
    reshape = [helper.make_node("Reshape", ["x", "k"], ["y"])]
    for target, declared, left in ([0, 3], "N", True), ([0, 3], 1, False), ([1, 3], "N", False):
        path = saved(tmp_path, reshape, {"x": ["N", 3]}, {"y": [declared, 3]}, {"k": np.array(target)})
        given = orx.load(path)
        change = Change("baked-dim", "n", "Reshape", "k", "initializer k", "needless", "[0, 3]", "[-1, 3]")
        fixed = orx.fix(given, batch=True)
        freed = {"x": {0: "N"}}
        wish = Wish(certify=True, unwitnessed=False, seed=0, limit=checked(60, None), progress=None)
        found = AsItIs(given, wish).in_place_of(replace(fixed, changes=(change,), freed=freed))

        assert (found is not None) == left
        if found is not None:
            assert found.model is given
            assert found.notes == ("its batch is right at any size already",)
            assert found.certificate.status == "proven"


def test_dims_that_are_called_unknown_are_not_one_size(tmp_path: Path) -> None:
    """An `?` at several axes, the batch among them, is not one name that they share."""
    nodes = [helper.make_node("Shape", ["x"], ["s"], start=2), helper.make_node("Concat", ["one", "s"], ["t"], axis=0)]
    nodes.append(helper.make_node("Reshape", ["x", "t"], ["y"]))
    path = saved(tmp_path, nodes, {"x": ["?", 1, "?", "?"]}, {"y": ["?", "?", "?"]}, {"one": np.array([1])}, opset=15)

    fixed = orx.fix(path, batch=True)

    assert [str(dim) for dim in fixed.model.ir.graph.inputs[0].shape or ()] == ["N", "1", "None", "None"]
    assert any(each["x[2]"] != each["x[3]"] for each in fixed.certificate.compared)
    assert fixed.certificate.status == "proven"


@pytest.mark.parametrize(
    ("inside", "declared", "note"),
    [
        (-1, "N", ""),
        ("N", "N", ""),
        (-1, -1, ""),
        (1, "N", "value a was declared [1, 3], with a fixed size at axis 0, which carries N"),
        ("N", 1, "output y was declared [1, 3], with a fixed size at axis 0, which carries N"),
        (1, 1, "output y was declared [1, 3], with a fixed size at axis 0, which carries N, and so were 1 more"),
    ],
)
def test_a_model_is_rewritten_for_what_it_declares_only_where_that_is_false(
    inside: int | str, declared: int | str, note: str, tmp_path: Path
) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["y"])]
    path = saved(tmp_path, nodes, {"x": ["N", 3]}, {"y": [declared, 3]}, {})
    proto = onnx.load(path)
    proto.graph.value_info.append(value("a", [inside, 3]))
    onnx.save(proto, path)
    given = orx.load(path)

    fixed = orx.fix(given, batch=True)

    assert fixed.notes == ((note,) if note else ())
    assert (fixed.model is given) == (not note)
    assert fixed.certificate is None or fixed.certificate.status == "proven"


def test_an_output_that_is_declared_without_dims_has_none_declared_then(tmp_path: Path) -> None:
    """Paddle's exporter writes `[]` for dims that it does not know, which says that there are none."""
    path = saved(tmp_path, [helper.make_node("Relu", ["x"], ["y"])], {"x": [-1, 3]}, {"y": []}, {})
    (told,) = orx.check(path, batch=True)

    fixed = orx.fix(path, batch=True)

    assert (told.code, told.fixable) == ("declared-mismatch", True)
    assert fixed.notes == ("output y was declared [], without axis 0, which carries N",)
    assert fixed.certificate.status == "proven"
    assert fixed.model.ir.graph.outputs[0].shape is None
    assert orx.check(fixed.model, batch=True) == []


def test_inputs_whose_first_dim_is_not_known_share_the_batch(tmp_path: Path) -> None:
    nodes = [helper.make_node("Mul", ["x", "z"], ["a"]), helper.make_node("Reshape", ["a", "t"], ["y"])]
    inputs: dict[str, Dims] = {"x": [-1, 4], "z": [-1, 4]}
    path = saved(tmp_path, nodes, inputs, {"y": [1, 2, 2]}, {"t": np.array([1, 2, 2])})
    fixed = orx.fix(path, batch=True)

    assert [change.after for change in fixed.changes] == ["[0, 2, 2]"]
    assert fixed.certificate.status == "proven"


def test_nodes_out_of_order_are_sorted(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["a", "t"], ["y"]), helper.make_node("Neg", ["x"], ["a"])]
    path = saved(tmp_path, nodes, {"x": [1, 4]}, {"y": [1, 2, 2]}, {"t": np.array([1, 2, 2])})
    fixed = orx.fix(path, batch=True)

    assert fixed.certificate.status == "proven"
    assert [node.op_type for node in fixed.model.ir.graph] == ["Neg", "Reshape"]


@pytest.mark.parametrize("end", [10**9, 2**31 - 1, 2**63 - 1])
def test_an_end_that_no_batch_reaches_is_the_end(end: int, tmp_path: Path) -> None:
    node = helper.make_node("Slice", ["x", "a", "b", "c"], ["y"])
    bounds = {"a": np.array([0]), "b": np.array([end]), "c": np.array([0])}
    path = saved(tmp_path, [node], {"x": ["N", 4]}, {"y": ["N", 4]}, bounds)

    assert orx.check(path, batch=True) == []
    assert orx.fix(path, batch=True).changes == ()


def test_an_end_that_a_batch_may_reach_is_rewritten(tmp_path: Path) -> None:
    node = helper.make_node("Slice", ["x", "a", "b", "c"], ["y"])
    bounds = {"a": np.array([0]), "b": np.array([1000]), "c": np.array([0])}
    path = saved(tmp_path, [node], {"x": ["N", 4]}, {"y": ["N", 4]}, bounds)

    assert [change.before for change in orx.fix(path, batch=True).changes] == ["[1000]"]


def test_a_name_is_followed_to_the_axis_that_has_it(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReduceSum", ["s", "zero"], ["a"], keepdims=0),
        helper.make_node("Add", ["x", "a"], ["b"]),
        helper.make_node("Reshape", ["b", "t"], ["y"]),
    ]
    inputs: dict[str, Dims] = {"x": ["batch", 4], "s": [2, "batch", 4]}
    constants = {"zero": np.array([0]), "t": np.array([1, 2, 2])}
    path = saved(tmp_path, nodes, inputs, {"y": ["batch", 2, 2]}, constants)
    fixed = orx.fix(path, batch=True)

    assert [change.after for change in fixed.changes] == ["[0, 2, 2]"]
    assert fixed.certificate.status == "proven"


@pytest.mark.parametrize("opset", [11, 13, 18])
@pytest.mark.parametrize("op", ["ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2"])
def test_one_sample_that_is_reduced_to_a_number(op: str, opset: int, tmp_path: Path) -> None:
    nodes = [helper.make_node(op, ["x"], ["a"], keepdims=1), helper.make_node("Div", ["x", "a"], ["y"])]
    path = saved(tmp_path, nodes, {"x": [1, 4, 3]}, {"y": [1, 4, 3]}, {}, opset)
    fixed = orx.fix(path, batch=True)

    assert [(change.before, change.after) for change in fixed.changes] == [("[0, 1, 2]", "[1, 2]")]
    assert fixed.certificate.status == "proven"


def test_samples_that_are_reduced_together_are_not_taken_apart(tmp_path: Path) -> None:
    node = helper.make_node("ReduceMean", ["x"], ["y"], keepdims=1)
    for batch in (2, "N"):
        path = saved(tmp_path, [node], {"x": [batch, 4, 3]}, {"y": [1, 1, 1]}, {})
        with pytest.raises(orx.ReshapeError, match="mixes the samples"):
            orx.fix(path, batch=True)


FAR = helper.make_node("CDist", ["x", "near"], ["y"], domain="com.microsoft", metric="euclidean")
"""An operator of onnxruntime's own that no rule knows, and no term."""
NEAR = {"near": np.array([[1, 2], [3, 5]], np.float32)}


def test_a_model_that_works_already_is_left_as_it_is(tmp_path: Path) -> None:
    path = saved(tmp_path, [FAR], {"x": ["N", 2]}, {"y": ["N", 2]}, NEAR)
    model = orx.load(path)
    fixed = orx.fix(model, batch=True)

    assert fixed.model is model
    assert (fixed.changes, fixed.certificate.status) == ((), "certified")


def test_an_operator_without_a_rule_is_not_believed_of_a_fixed_batch(tmp_path: Path) -> None:
    path = saved(tmp_path, [FAR], {"x": [1, 2]}, {"y": [1, 2]}, NEAR)

    with pytest.raises(orx.ReshapeError, match="CDist has no batching rule"):
        orx.fix(path, batch=True)


def test_a_declaration_that_the_terms_prove_is_enough(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Shape", ["w"], ["s"]),
        helper.make_node("Mul", ["s", "none"], ["pads"]),
        helper.make_node("Pad", ["x", "pads"], ["y"]),
    ]
    inputs: dict[str, Dims] = {"x": [1, 4], "w": [2, 3, 2, 3]}
    path = saved(tmp_path, nodes, inputs, {"y": [1, 4]}, {"none": np.zeros(4, np.int64)})
    fixed = orx.fix(path, batch={"x": 0})

    assert (fixed.changes, fixed.certificate.status) == ((), "proven")
    assert str(fixed.model.ir.graph.inputs[0].shape) == "[N,4]"
    assert str(fixed.model.ir.graph.outputs[0].shape) == "[N,4]"


@pytest.mark.parametrize(
    ("place", "declared"),
    [(Carried(0), "[N,6400,1]"), (Carried(2), "[1,6400,N]"), (None, "[1,6400,1]"), (Carried(1, 1, 6400), None)],
)
def test_a_declaration_that_makes_rows_of_rows_is_not_enough(place: Carried | None, declared: str | None) -> None:
    relu = helper.make_node("Relu", ["x"], ["y"])
    graph = helper.make_graph([relu], "g", [value("x", [1, 6400, 1])], [value("y", [1, 6400, 1])])
    original = ir.from_proto(helper.make_model(graph))
    copy = original.clone()

    assert declared_outputs(original, copy, {"y": place}, "N") == (declared is not None)
    assert declared is None or str(copy.graph.outputs[0].shape) == declared


def test_a_declaration_beside_other_names_is_not_believed(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["a"], axes=[1], keepdims=1),
        helper.make_node("Reshape", ["a", "t"], ["y"]),
    ]
    inputs: dict[str, Dims] = {"x": [4, "S", "T", "M"]}
    path = saved(tmp_path, nodes, inputs, {"y": ["A", 1, 12]}, {"t": np.array([-1, 0, 12])})

    with pytest.raises(orx.ReshapeError, match="Reshape"):
        orx.fix(path, batch=True)


def test_samples_that_meet_are_refused_though_the_batch_is_free(tmp_path: Path) -> None:
    node = helper.make_node("ReduceMax", ["x"], ["y"], axes=[0], keepdims=1)
    path = saved(tmp_path, [node], {"x": ["N", 4]}, {"y": [1, 4]}, {})

    with pytest.raises(orx.ReshapeError, match="mixes the samples"):
        orx.fix(path, batch=True)


def test_samples_that_meet_beside_an_operator_without_a_rule_are_refused(tmp_path: Path) -> None:
    """Nobody knows SampleOp; but what chooses by the largest of all samples mixes them, whatever SampleOp does."""
    nodes = [
        helper.make_node("SampleOp", ["x"], ["a"], domain="com.microsoft"),
        helper.make_node("Neg", ["a"], ["b"]),
        helper.make_node("ReduceMax", ["x"], ["top"], keepdims=0),
        helper.make_node("Greater", ["top", "low"], ["above"]),
        helper.make_node("Less", ["top", "high"], ["below"]),
        helper.make_node("And", ["above", "below"], ["gate"]),
        helper.make_node("Where", ["gate", "x", "b"], ["y"]),
    ]
    bounds = {"low": np.array(2.5e4, np.float32), "high": np.array(2.6e4, np.float32)}  # no drawn input is there
    path = saved(tmp_path, nodes, {"x": ["N", 4]}, {"y": ["N", 4]}, bounds)
    model = onnx.load(path)
    if all(each.domain != "com.microsoft" for each in model.opset_import):
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, path)

    with pytest.raises(orx.ReshapeError, match=r"ReduceMax\) mixes the samples: it reduces axis 0"):
        orx.fix(path, batch=True)


def test_where_outputs_have_their_samples_is_seen_by_running(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonMaxSuppression", ["boxes", "scores", "most"], ["picked"]),
        helper.make_node("Size", ["picked"], ["count"]),
        helper.make_node("Cast", ["count"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["x", "real"], ["y"]),
    ]
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 2, 2]]], np.float32)
    constants = {"boxes": boxes, "scores": np.ones((1, 1, 2), np.float32), "most": np.array([1])}
    path = saved(tmp_path, nodes, {"x": ["A", "B"]}, {"y": ["C", "D"]}, constants)
    copy, _ = with_batch(orx.load(path).ir, {"x": {0: "A"}})

    assert grown(copy, {"x": {0: "A"}}, 1, "") == {"y": Carried(0, 1, None)}
    assert grown(copy, {"x": {1: "B"}}, 1, "") == {"y": Carried(1, 1, None)}


def test_a_state_of_a_model_that_no_rule_frees_is_found_by_running(tmp_path: Path) -> None:
    nodes = [FAR, helper.make_node("Add", ["y", "state"], ["z"])]
    inputs: dict[str, Dims] = {"x": [-1, 2], "state": [3, -1, 2]}
    path = saved(tmp_path, nodes, inputs, {"z": [3, -1, 2]}, NEAR)
    fixed = orx.fix(path, batch=True)

    assert fixed.notes == ("took state:1: runs show that the batch is there too",)
    assert fixed.certificate is not None
    assert (fixed.changes, fixed.certificate.status) == ((), "certified")


@pytest.mark.parametrize(
    ("left", "right", "turned", "said"), [((1, 3), (1, 4), "transA", 0), ((4, 1), (3, 1), "transB", 1)]
)
def test_a_matrix_that_is_turned_is_named_by_its_own_axis(
    left: tuple[int, int], right: tuple[int, int], turned: str, said: int, tmp_path: Path
) -> None:
    node = helper.make_node("FusedMatMul", ["x", "z"], ["y"], "n", domain="com.microsoft")
    node.attribute.append(helper.make_attribute(turned, 1))
    path = saved(tmp_path, [node], {"x": [*left], "z": [*right]}, {"y": ["a", "b"]}, {})

    with pytest.raises(FixError) as refusal:
        orx.fix(path, batch={"x" if turned == "transA" else "z": said})

    assert refusal.value.sentence == f"n (FusedMatMul) mixes the samples: it sums over axis {said}, which is N"
